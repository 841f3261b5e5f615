"""A program that ignores the lock and writes during commits (case 56): it is never overwritten unnoticed."""

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.engine.plans import Planner
from mdplan.requests.batch import Batch
from mdplan.storage.filesystem import Step, StorageRefused
from mdplan.storage.lock import locked
from mdplan.storage.root import Root
from tests.concurrency.attempts import START, Log, digest
from tests.concurrency.crowd import REPOSITORY, Crowd, in_processes, started
from tests.concurrency.foreign_writer import PAUSE, RUN, STOP, Shared, content, version_of
from tests.concurrency.worker import SectionJob, count, open_engine
from tests.crash.aftermath import engine, in_memory, unclean
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


# The file of the other program is the last of them, so that its turn comes late in a commit.
NAMES = (*(f"ours-{number}.md" for number in range(6)), "theirs.md")
ANSWERS = frozenset({None, Code.STALE_BASE, Code.CONFLICT_LATE_WRITE})


@contextmanager
def writing(file: Path, shared: Shared, name: Path) -> Iterator[None]:
    """The other program, writing."""
    command = [sys.executable, "-m", "tests.concurrency.foreign_writer", file, name]
    with subprocess.Popen(command, cwd=REPOSITORY) as writer:
        while shared.version == 0:
            assert writer.poll() is None
        try:
            yield
        finally:
            shared.wish = STOP


@contextmanager
def paused(shared: Shared) -> Iterator[None]:
    """While the other program waits."""
    shared.wish = PAUSE
    while shared.heard != PAUSE:
        time.sleep(0)
    yield
    shared.wish = RUN


def attempt(engine: Engine, folder: Path, number: int) -> Code | None:
    """Put a line into all files, as they are now; what refused it."""
    files = []
    for name in NAMES:
        text = (folder / name).read_text()
        place = {"op": "insert_lines", "line": 1, "position": "after", "markdown": f"ours {number}"}
        files.append({"file": name, "baseSha256": digest(text), "edits": [place]})
    report = engine.apply({"files": files})
    return None if report.ok else report.diagnostics[0].code


def problems(folder: Path, shared: Shared, applied: list[int]) -> Iterator[str]:
    """What is wrong while the other program waits."""
    found = version_of((folder / NAMES[-1]).read_text())
    if found != shared.version:
        yield f"version {shared.version} was overwritten: {found} is there"
    lines = [f"ours {number}" for number in reversed(applied)]
    for name in NAMES[:-1]:
        if (folder / name).read_text().split("\n")[1 : len(lines) + 1] != lines:
            yield f"{name} is not as {len(applied)} commits have left it"
    yield from unclean(folder)


# At most this many attempts; stops earlier after enough late writes and successful commits.
@pytest.mark.parametrize(
    ("most", "late", "done"),
    [(150, 3, 3), pytest.param(2000, 50, 50, marks=[pytest.mark.slow, pytest.mark.timeout(900)])],
)
def test_newest_foreign_version_is_in_place_after_every_commit(most: int, late: int, done: int) -> None:
    met: Counter[Code | None] = Counter()
    violations: list[str] = []
    applied: list[int] = []
    with in_memory() as parent:
        folder = parent / "root"
        folder.mkdir()
        for name in NAMES:
            (folder / name).write_text(content(0))
        shared = Shared(parent / "shared")
        engine = open_engine(str(folder))
        with engine.workspace, writing(folder / NAMES[-1], shared, parent / "shared"):
            for number in range(most):
                code = attempt(engine, folder, number)
                met[code] += 1
                applied += [number] if code is None else []
                with paused(shared):
                    violations += problems(folder, shared, applied)
                if met[Code.CONFLICT_LATE_WRITE] >= late and met[None] >= done:
                    break
    assert violations == []
    assert set(met) <= ANSWERS
    assert met[None] + met[Code.CONFLICT_LATE_WRITE]


# --- Workers that are killed at any moment while others go on: what was answered stands, nothing is
# mixed.

EDITS = 6

# Steps of every commit of a file, with how often at most a worker lives to see them.
STEPS = {
    Step.EXCHANGE: 15,
    Step.STORE_COMMIT: 30,
    Step.STORE_DONE: 30,
    Step.CREATE: 20,
    Step.WRITE: 25,
    Step.SYNC: 30,
    Step.SYNC_DIRECTORY: 20,
    Step.UNLINK: 4,
    Step.READ: 80,
}

SLOW = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def crowd() -> Iterator[Crowd]:
    with in_memory() as folder:
        yield Crowd.of(folder, 3)


def first_line(crowd: Crowd, number: int) -> int:
    """The first line of a worker that no worker of that number has tried."""
    return EDITS * sum(1 for _ in crowd.logs.glob(f"{number}.round-*"))


def begin(crowd: Crowd, number: int, failpoint: str = "") -> subprocess.Popen[bytes]:
    first = first_line(crowd, number)
    (crowd.logs / f"{number}.round-{first}").touch()
    return started(crowd.job(number, first + EDITS, at_once=2, first=first), failpoint)


def check(crowd: Crowd, ends: list[int]) -> None:
    assert set(ends) <= {0, -signal.SIGKILL}
    kills = ends.count(-signal.SIGKILL)
    with engine(crowd.folder) as opened:
        assert opened.recover().ok
    crowd.check()
    assert kills


@pytest.mark.parametrize(("rounds", "workers"), [(1, 3), pytest.param(15, 6, marks=SLOW)])
def test_workers_that_are_killed_at_failpoints_lose_nothing(crowd: Crowd, rounds: int, workers: int) -> None:
    """In every round one worker survives."""
    draw = random.Random(rounds)
    ends: list[int] = []
    for _ in range(rounds):
        steps = [draw.choice(list(STEPS)) for _ in range(workers - 1)]
        failpoints = ["", *(f"{step}:{draw.randint(1, STEPS[step])}" for step in steps)]
        processes = [begin(crowd, number, failpoint) for number, failpoint in enumerate(failpoints)]
        ends += [process.wait() for process in processes]

    check(crowd, ends)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_workers_that_are_killed_from_outside_lose_nothing(crowd: Crowd) -> None:
    """Each worker dies at a random moment after a number of attempts."""
    draw = random.Random(1)
    ends: list[int] = []
    for _ in range(12):
        processes = {number: begin(crowd, number) for number in range(4)}
        wanted = {number: len(log(crowd, number)) + draw.randint(1, EDITS) for number in (1, 2, 3)}
        while any(processes[number].poll() is None for number in wanted):
            for number, attempts in wanted.items():
                if len(log(crowd, number)) >= attempts:
                    processes[number].kill()
            time.sleep(0.001)
        ends += [process.wait() for process in processes.values()]

    check(crowd, ends)


def log(crowd: Crowd, number: int) -> list[object]:
    return list(Log(crowd.logs / f"{number}.log").read())


# --- Programs that only read, without any lock, while others commit: no file is ever missing or torn.


@pytest.mark.parametrize(
    ("workers", "edits"), [(2, 8), pytest.param(4, 60, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
def test_readers_see_only_committed_contents(workers: int, edits: int) -> None:
    with in_memory() as folder:
        crowd = Crowd.of(folder, 4)
        stop = folder / "stop"
        command = [sys.executable, "-m", "tests.concurrency.reader", crowd.folder, stop, *crowd.names]
        readers = [
            subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) for _ in range(2)
        ]
        in_processes([crowd.job(number, edits, at_once=4) for number in range(workers)])
        stop.touch()
        seen = [json.loads(reader.communicate()[0]) for reader in readers]

        crowd.check(applied=workers * edits)
        applied = [attempt for attempt in crowd.attempts() if attempt.is_applied]
        for name in crowd.names:
            committed = {digest(START)} | {attempt.edges[name][1] for attempt in applied}
            assert [set(each[name]) - committed for each in seen] == [set(), set()]
            # At least the last content, which existed when the workers were told to end.
            assert all(each[name] for each in seen)


# --- A lock ends with the process that holds it; the lock file stays.

HOLDER = CASE_TABLES.value("HOLDER")


def test_lock_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    root = Root.open(tmp_path)
    command = [sys.executable, "-c", HOLDER, tmp_path]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StorageRefused) as refused, locked(root, timeout=0):
            pass
        holder.kill()
        holder.wait()
        with locked(root, timeout=0):
            pass
    root.close()

    assert [problem.code for problem in refused.value.problems] == [Code.LOCK_TIMEOUT]


# --- Batches that touch different sections of one file, each pinned by its own evidence: all of them
# land.

NAME = "shared.md"


def document(sections: int, value: int) -> str:
    return "# Shared\n" + "".join(f"\n## Section {number}\n\nValue: {value}.\n" for number in range(sections))


def change(number: int) -> dict[str, Any]:
    return {"file": NAME, "edits": [count(number, 0)]}


@pytest.mark.parametrize(
    ("workers", "edits"), [(3, 4), pytest.param(8, 40, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
def test_concurrent_counters_in_separate_sections_lose_no_increment(workers: int, edits: int) -> None:
    """No increment is refused, even once."""
    with in_memory() as folder:
        (folder / NAME).write_text(document(workers, 0))
        in_processes(
            [
                SectionJob(number=number, folder=str(folder), name=NAME, last=edits)
                for number in range(workers)
            ]
        )

        assert (folder / NAME).read_text() == document(workers, edits)
        assert list(unclean(folder)) == []


def test_batch_overtaken_after_planning_is_committed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / NAME).write_text(document(2, 0))
    slow, fast = open_engine(str(tmp_path)), open_engine(str(tmp_path))
    plan, planned = Planner.plan, []

    def overtaken(planner: Planner, batch: Batch, *more: Any) -> object:
        found = plan(planner, batch, *more)
        if planner is slow.planner:
            planned.append(batch)
            if len(planned) == 1:
                assert fast.apply(change(1)).applied
        return found

    monkeypatch.setattr(Planner, "plan", overtaken)
    with slow.workspace, fast.workspace:
        report = slow.apply(change(0))

    assert report.applied
    assert len(planned) == 2
    assert (tmp_path / NAME).read_text() == document(2, 1)
