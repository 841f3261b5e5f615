"""A commit or a recovery that is killed before any of its disk operations: all old or all new after that."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

import pytest

from mdplan.diagnostics import Code
from mdplan.storage.filesystem import FAILPOINT_VARIABLE, FileSystem
from mdplan.storage.names import NOTE
from tests.crash.aftermath import (
    MIXED,
    NEW,
    Saved,
    batch,
    in_memory,
    make,
    make_with_history,
    result_of,
    torn,
    transactions_on,
    unclean,
)
from tests.crash.commands import Commands
from tests.crash.trial import APPLY, RECOVER, Trial, changing
from tests.support.files import tree

PARTS = 4
STARTS = {"no history": make, "history": make_with_history}
Way = Callable[[Trial], Iterator[str]]


@pytest.fixture(params=STARTS)
def trial(request: pytest.FixtureRequest, mdplan: Commands) -> Iterator[Trial]:
    with in_memory() as folder:
        yield Trial.of(mdplan, folder, STARTS[request.param])


def by_a_person(trial: Trial) -> Iterator[str]:
    """`mdplan recover`, then the batch again, then its undo."""
    promised = trial.promised()
    ended = trial.mdplan.run(trial.folder, *RECOVER)
    if ended.code != 0:
        yield f"recovered: {ended}"
    yield from trial.left(promised)
    yield from trial.apply(promised)
    (transaction,) = transactions_on(trial.folder, "new/deep/made.md")
    ended = trial.mdplan.run(trial.folder, "undo", transaction, "--yes")
    if ended.code != 0 or tree(trial.folder) != trial.old:
        yield f"undone: {ended}"


def by_the_same_commit(trial: Trial) -> Iterator[str]:
    """Recover by committing the same batch."""
    yield from trial.apply(trial.promised())


def by_another_commit(trial: Trial) -> Iterator[str]:
    """A commit of another file, by which the files of the batch are recovered all the same."""
    promised = trial.promised()
    yield from trial.change_another()
    yield from trial.left(promised)


# A run of `make test` takes every fourth point.
SAMPLED = [pytest.param(part, marks=[pytest.mark.slow] if part else []) for part in range(PARTS)]
WAYS = (by_a_person, by_the_same_commit, by_another_commit)


def check_kills(trial: Trial, kills: Iterable[tuple[int, Way]]) -> None:
    """Kill the commit there, and recover in that way."""
    points: list[int] = []
    violations: list[str] = []
    for point, way in kills:
        points.append(point)
        where = f"{way.__name__} after a kill before {trial.steps[point - 1]}, {point} of {len(trial.steps)}"
        violations += (f"{where}: {problem}" for problem in (*trial.kill(point), *way(trial)))
    assert points
    assert violations == []


@pytest.mark.requirement("commit-3")
@pytest.mark.parametrize("part", SAMPLED)
def test_killed_commit_is_all_old_or_all_new_after_recovery(trial: Trial, part: int) -> None:
    """Before each operation that changes the disk, with one way of recovery after another."""
    kills = zip(changing(trial.steps), cycle(WAYS), strict=False)
    check_kills(trial, islice(kills, part, None, PARTS))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("way", WAYS)
def test_commit_killed_before_any_operation_is_all_old_or_all_new(trial: Trial, way: Way, part: int) -> None:
    """Kills before each operation; if nothing changes between two of them, with only one way of recovery."""
    changes = set(changing(trial.steps))
    every = range(1, len(trial.steps) + 1)
    kills = [point for point in every if point in changes or WAYS[point % len(WAYS)] is way]
    check_kills(trial, ((point, way) for point in kills[part::PARTS]))


def check_kills_of_recovery(trial: Trial, points: Sequence[int], every: int) -> None:
    """Kill the commit at `points`, then its recovery at each `every`-th change; recover again."""
    violations: list[str] = []
    kills = 0
    for number, point in enumerate(points):
        trial.kill(point)
        killed = Saved.of(trial.folder, trial.start.copy.with_name("killed"))
        promised = trial.promised()
        steps = trial.mdplan.run(trial.folder, *RECOVER).steps
        for inner in changing(steps)[number % every :: every]:
            killed.bring_back()
            ended = trial.mdplan.run(trial.folder, *RECOVER, signals={inner: signal.SIGKILL})
            assert ended.killed
            again = trial.mdplan.run(trial.folder, *RECOVER)
            where = (
                f"killed before {trial.steps[point - 1]}, {point} of {len(trial.steps)}, and its recovery "
                f"before {steps[inner - 1]}, {inner} of {len(steps)}"
            )
            problems = [] if again.code == 0 else [f"recovered again: {again}"]
            violations += (f"{where}: {problem}" for problem in (*problems, *trial.left(promised)))
            kills += 1
    assert kills
    assert violations == []


@pytest.mark.requirement("commit-3")
@pytest.mark.parametrize("part", SAMPLED)
def test_killed_recovery_runs_again(trial: Trial, part: int) -> None:
    """A sample of the next test."""
    check_kills_of_recovery(trial, changing(trial.steps)[part * 3 :: PARTS * 3], 5)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS))
def test_recovery_killed_before_any_change_runs_again(trial: Trial, part: int) -> None:
    check_kills_of_recovery(trial, changing(trial.steps)[part::PARTS], 1)


# --- The commit began under another state directory: a container without its volume, a job, `sudo`.


def by_another_user(trial: Trial) -> Iterator[str]:
    """Check that another user is told everything, and that recovery happens only on request."""
    killed = tree(trial.folder)
    is_visible = (trial.folder / NOTE).exists()
    ended = trial.mdplan.run(trial.folder, *APPLY, stdin=batch())
    problems = ended.json["diagnostics"] if is_visible else []
    if is_visible and {problem["code"] for problem in problems} != {Code.RECOVERY_REQUIRED}:
        yield f"applied over it: {ended}"
    if is_visible and not all(name in str(problems) for name in ("a.md", "docs/gone.md", "new/deep/made.md")):
        yield f"the files are not named: {ended}"
    for looks in (("plan", "-", "--json"), ("doctor", "--json"), RECOVER) if is_visible else ():
        ended = trial.mdplan.run(trial.folder, *looks, stdin=batch())
        if not re.search('--adopt|"foreign"', ended.out) or tree(trial.folder) != killed:
            yield f"{looks[0]}: {ended}"
    if is_visible:
        ended = trial.mdplan.run(trial.folder, *RECOVER, "--adopt", "--yes")
        if ended.code != 0 or trial.outcome() == MIXED or [*unclean(trial.folder)]:
            yield f"adopted as {trial.outcome()}: {ended}"
        ended = trial.mdplan.run(trial.folder, *APPLY, stdin=batch())
        if trial.outcome() != NEW:
            yield f"applied after that: {ended}"


@pytest.mark.requirement("commit-3")
@pytest.mark.parametrize("part", SAMPLED)
def test_commit_that_another_state_directory_began_is_refused_and_adopted_on_request(
    trial: Trial, part: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    violations: list[str] = []
    points = changing(trial.steps)[part::PARTS]
    for point in points:
        trial.kill(point)
        where = f"killed before {trial.steps[point - 1]}, {point} of {len(trial.steps)}"
        with monkeypatch.context() as patch:
            patch.setenv("MDPLAN_STATE_DIR", str(tmp_path / str(point)))
            violations += (f"{where}: {problem}" for problem in by_another_user(trial))
        left = tree(trial.folder)
        ended = trial.mdplan.run(trial.folder, *RECOVER)
        if ended.code != 0 or tree(trial.folder) != left or [*unclean(trial.folder)]:
            violations.append(f"{where}: recovered by the first: {ended}")
    assert points
    assert violations == []


def run_process(folder: Path, failpoint: str) -> subprocess.CompletedProcess[str]:
    """`python -m mdplan apply` with that failpoint."""
    return subprocess.run(
        [sys.executable, "-m", "mdplan", *APPLY],
        check=False,
        cwd=folder,
        env={**os.environ, FAILPOINT_VARIABLE: failpoint},
        input=json.dumps(batch()),
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "failpoint",
    [
        "exchange:3",
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in ("set-mode:2", "store-commit:2", "rename-new:1")
        ),
    ],
)
def test_failpoint_kills_the_program(tmp_path: Path, failpoint: str) -> None:
    """The program itself, started as people start it."""
    make(tmp_path)
    old = tree(tmp_path)

    assert run_process(tmp_path, failpoint).returncode == -signal.SIGKILL
    assert list(torn(tmp_path, old, result_of(old))) == []
    assert run_process(tmp_path, "").returncode == 0
    assert tree(tmp_path) == result_of(old)
    assert list(unclean(tmp_path)) == []


def test_failpoint_that_is_not_reached_does_nothing(tmp_path: Path) -> None:
    make(tmp_path)
    old = tree(tmp_path)

    assert run_process(tmp_path, "exchange:1000").returncode == 0
    assert tree(tmp_path) == result_of(old)


def test_unknown_failpoint_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelled one would make a test pass that tests nothing."""
    monkeypatch.setenv(FAILPOINT_VARIABLE, "renam")
    with pytest.raises(ValueError, match="renam"):
        FileSystem()
