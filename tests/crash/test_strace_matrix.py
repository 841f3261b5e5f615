"""End the process at each system call of a commit, or make the call fail: no mixture, no false success."""

import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Exit
from tests.crash.aftermath import MIXED, NEW, OLD, in_memory, make_with_history
from tests.crash.commands import Commands, Ended
from tests.crash.strace import NO_FLAGS, Count, Fault, needs_strace
from tests.crash.trial import RECOVER, Trial
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

# By the calls that one system or another makes for the same thing.
CALLS = CASE_TABLES.value("CALLS", tuples=True)
# The same where every file has to get a second name, because no two can change places.
CALLS_WITHOUT_FLAGS = {"link": ("linkat",), "unlink": ("unlinkat",), "rename": ("rename", "renameat")}
WAYS = [(each, ()) for each in CALLS.items()] + [(each, (NO_FLAGS,)) for each in CALLS_WITHOUT_FLAGS.items()]
ERRORS = ("EIO", "ENOSPC", "EACCES", "EMFILE")
NOBODY = 65534
# What a program may end with that a failing disk stops.
ENDS = frozenset({Exit.DONE, Exit.REFUSED, Exit.STALE, Exit.ENVIRONMENT})


@pytest.fixture(scope="module", autouse=True)
def _strace() -> None:
    needs_strace()


@pytest.fixture
def trial(mdplan: Commands) -> Iterator[Trial]:
    with in_memory() as folder:
        yield Trial.of(mdplan, folder, make)


def make(folder: Path) -> None:
    """A file of another owner among them, where this user can make one."""
    make_with_history(folder)
    try:
        os.chown(folder / "docs" / "name.md", NOBODY, NOBODY)
    except PermissionError:
        return


def faults(trial: Trial, names: tuple[str, ...], beside: tuple[str, ...], error: str | None) -> list[Fault]:
    """Yield a fault for every call of the commit with one of these names, including persistent errors."""
    log = Count(names, trial.start.copy.with_name("calls"), beside)
    assert trial.run(watch=log).code == Exit.DONE
    return [
        Fault(name, nth, error, onward=onward, beside=beside)
        for name, count in log.read().items()
        for nth, onward in product(range(1, count + 1), (False, True) if error else (False,))
    ]


def promised(ended: Ended) -> tuple[set[str], set[str]]:
    """Return the states that this answer allows: now, and after recovery."""
    if ended.code == Exit.DONE:
        return {NEW}, {NEW}
    if not ended.out:
        # The outcome is open, and the program could not report it.
        return {OLD, NEW}, {OLD, NEW}
    codes = {problem["code"] for problem in ended.json["diagnostics"]}
    if Code.COMMIT_IN_DOUBT in codes:
        return {NEW}, {NEW}
    return {OLD, MIXED, NEW} if Code.RECOVERY_REQUIRED in codes else {OLD}, {OLD}


def problems_of(trial: Trial, fault: Fault) -> Iterator[str]:
    """What is wrong after a commit with that fault, and after its recovery."""
    ended = trial.run(watch=fault)
    yield from trial.torn()
    if fault.error is None:
        if not ended.killed:
            yield f"it was not killed: {ended}"
        after = {trial.promised()}
    else:
        if ended.code not in ENDS:
            yield f"it ended in no way that it should: {ended}"
            return
        now, after = promised(ended)
        if (found := trial.outcome()) not in now:
            yield f"the answer was {ended.code}, and all is {found}: {ended}"
    again = trial.mdplan.run(trial.folder, *RECOVER)
    if again.code != Exit.DONE:
        yield f"recovered: {again}"
    left = trial.outcome()
    if left not in after:
        yield f"after recovery all is {left}: {ended}"
    yield from trial.left(left)


@pytest.mark.parametrize("error", [None, *ERRORS])
@pytest.mark.parametrize(
    ("call", "beside"), WAYS, ids=[name + "-plain" * bool(beside) for (name, _), beside in WAYS]
)
def test_failed_system_call_leaves_a_consistent_commit_and_a_correct_report(
    trial: Trial, call: tuple[str, tuple[str, ...]], beside: tuple[str, ...], error: str | None
) -> None:
    name, names = call
    if name == "fchown" and os.geteuid() != 0:
        pytest.skip("needs root, to have a file of another owner")
    every = faults(trial, names, beside, error)
    violations = [f"{fault}: {problem}" for fault in every for problem in problems_of(trial, fault)]
    assert every
    assert violations == []
