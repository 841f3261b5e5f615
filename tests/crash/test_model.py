"""A commit that is cut off anywhere, on a disk that loses all it may, is all old or all new in the end."""

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Problems, Severity
from mdplan.storage.filesystem import Durability, Step, StorageRefused
from tests.crash.checker import (
    EITHER,
    NEW,
    OLD,
    TRANSACTION,
    Checker,
    Crash,
    Found,
    Recover,
    State,
    before_answer,
    explicit,
)
from tests.crash.judge import documents, mixture
from tests.crash.model_disk import ModelDisk
from tests.crash.scenario import Change, Scenario, created, deleted, renamed, replaced
from tests.crash.tally import Tally

BEFORE = (replaced("before.md"),)
MIXED = (*replaced("a.md"), *created("x/y/new.md"), *deleted("d/gone.md"), *renamed("d/from.md", "to.md"))
FIRST, SECOND, THIRD = b"first\n", b"the second\n", b"this is the third\n"

LINKED = Scenario("rename-by-link", renamed("d/from.md", "to.md"), BEFORE, exchange=False)
UNDONE = Scenario(
    "undo-of-creation",
    tuple(Change(change.path, change.new, None) for change in created("x/y/new.md")),
    (created("x/y/new.md"),),
    removed_folders=("x", "x/y"),
)
SMALL = (
    Scenario("replace", replaced("a.md"), BEFORE),
    Scenario("create", created("new.md"), BEFORE),
    Scenario("create-in-new-folders", created("x/y/new.md"), BEFORE),
    Scenario("delete", deleted("d/gone.md"), BEFORE),
    Scenario("rename", renamed("d/from.md", "to.md"), BEFORE),
    # What is staged is in the history already, as what the commit before has displaced.
    Scenario("back", (Change("a.md", SECOND, FIRST),), ((Change("a.md", FIRST, SECOND),),)),
    Scenario("replace-by-link", replaced("a.md"), BEFORE, exchange=False),
    UNDONE,
    LINKED,
    Scenario("replace-by-copy", replaced("a.md"), BEFORE, exchange=False, links=False),
    Scenario("rename-by-copy", renamed("d/from.md", "to.md"), BEFORE, exchange=False, links=False),
    Scenario("mixed-without-syncs", MIXED, BEFORE, durability=Durability.PROCESS),
)
LARGE = (
    Scenario("three", replaced("a.md", "d/b.md", "d/c.md"), BEFORE),
    Scenario("mixed", MIXED, BEFORE),
    Scenario("mixed-by-link", MIXED, BEFORE, exchange=False),
    Scenario("mixed-by-copy", MIXED, BEFORE, exchange=False, links=False),
    Scenario("mixed-on-unsynced-files", MIXED, BEFORE, synced_bases=False),
    Scenario("mixed-where-moves-tear", MIXED, BEFORE, torn_moves=True),
)
CLUTTERED = (
    Scenario("first-commit", MIXED),
    Scenario("first-trial-of-exchange", replaced("a.md"), BEFORE, tries_exchange=True),
    Scenario(
        "after-an-unsynced-cleanup",
        (Change("a.md", SECOND, THIRD),),
        ((Change("a.md", FIRST, SECOND),),),
        synced_earlier=False,
    ),
    Scenario(
        "after-an-unsynced-cleanup-elsewhere",
        (Change("a.md", SECOND, THIRD),),
        (replaced("d/b.md"), (Change("a.md", FIRST, SECOND),)),
        synced_earlier=False,
    ),
)
# What a fault is tried on at each of its operations.
FAULTY = Scenario("some", (*replaced("a.md"), *created("x/new.md"), *deleted("d/gone.md")), BEFORE)
FORMS = pytest.mark.parametrize("recovery", [explicit, before_answer])


def scenarios(*chosen: Scenario, slow: tuple[Scenario, ...] = ()) -> pytest.MarkDecorator:
    """The test runs once with each of them, with those that are `slow` in the long run only."""
    quick = [pytest.param(each, id=each.name) for each in chosen]
    return pytest.mark.parametrize(
        "scenario", quick + [pytest.param(each, id=each.name, marks=pytest.mark.slow) for each in slow]
    )


def check(found: Found, tally: Tally, row: str = "model checker", errnos: int = 0) -> None:
    violations = len(found.violations)
    tally(row, points=found.points, states=found.states, errnos=errnos, violations=violations)

    assert found.states > 0
    assert not violations, "\n".join(found.violations)


@pytest.mark.requirement("commit-3")
@scenarios(*SMALL)
def test_nested_crashes_end_all_old_or_all_new(scenario: Scenario, tmp_path: Path, tally: Tally) -> None:
    checker = Checker(scenario, tmp_path)
    check(checker.check(checker.run()), tally)


@scenarios(*SMALL[:3], slow=SMALL[3:])
def test_receipts_stay_valid_after_nested_crashes(scenario: Scenario, tmp_path: Path, tally: Tally) -> None:
    checker = Checker(scenario, tmp_path)
    check(checker.check(checker.run(), recovery=before_answer), tally)


@scenarios(*SMALL, slow=LARGE)
def test_next_commit_succeeds_after_every_crash(scenario: Scenario, tmp_path: Path, tally: Tally) -> None:
    checker = Checker(scenario, tmp_path)
    disk = checker.run()
    states = {state.volume.key(): state for state in checker.crashed(disk, EITHER, NEW)}
    found = Found(len(disk.events) + 1, len(states))
    for state in states.values():
        found.violations += checker.goes_on(state)
    check(found, tally)


@scenarios(*LARGE[1:3], LARGE[4])
def test_crash_of_a_large_commit_ends_all_old_or_all_new(
    scenario: Scenario, tmp_path: Path, tally: Tally
) -> None:
    checker = Checker(scenario, tmp_path)
    check(checker.check(checker.run(), depth=0), tally)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@FORMS
@scenarios(*LARGE[:-1])
def test_nested_crashes_of_a_large_commit_end_all_old_or_all_new(
    scenario: Scenario, recovery: Recover, tmp_path: Path, tally: Tally
) -> None:
    checker = Checker(scenario, tmp_path)
    check(checker.check(checker.run(), recovery=recovery), tally)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@scenarios(LARGE[-1])
def test_nested_crash_with_torn_renames_ends_all_old_or_all_new(
    scenario: Scenario, tmp_path: Path, tally: Tally
) -> None:
    """Only once: the halves of moves make more states than can be followed to the end."""
    checker = Checker(scenario, tmp_path)
    check(checker.check(checker.run(), depth=1), tally)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@FORMS
@scenarios(*CLUTTERED)
def test_crash_among_many_unsynced_names_ends_all_old_or_all_new(
    scenario: Scenario, recovery: Recover, tmp_path: Path, tally: Tally
) -> None:
    checker = Checker(scenario, tmp_path)
    check(checker.check(checker.run(), depth=0, recovery=recovery), tally)


class FaultyDisk(ModelDisk):
    """A disk whose operation number `nth` (from 1) fails with EIO, and with `lasting` all after it."""

    nth = 0
    lasting = False
    reached = 0

    def reach(self, step: Step) -> None:
        self.reached += 1
        if self.reached == self.nth or (self.lasting and self.reached > self.nth > 0):
            raise OSError(errno.EIO, "EIO")


def failed(checker: Checker, nth: int, *, lasting: bool) -> tuple[FaultyDisk, Problems | None]:
    """The disk after a commit during which that operation failed; the problems if it was refused."""
    disk = checker.disk(checker.start, FaultyDisk)
    disk.reached, disk.nth, disk.lasting = 0, nth, lasting
    try:
        checker.commit(disk, checker.scenario.changes, TRANSACTION)
    except StorageRefused as refused:
        return disk, refused.problems
    return disk, None


def check_fault(checker: Checker, disk: FaultyDisk, problems: Problems | None) -> Found:
    """What is wrong at once after the commit that met the fault, and after a crash then."""
    codes = {problem.code for problem in problems or ()}
    left = documents(disk.volume.image())
    may_be = frozenset({NEW} if problems is None else {OLD})
    if Code.COMMIT_IN_DOUBT in codes:
        may_be = EITHER
    found = checker.check_states(
        checker.pending_transactions(disk.volume, may_be, (Crash(disk, len(disk.events), ""),)), depth=0
    )
    told = {Code.RECOVERY_REQUIRED, Code.COMMIT_IN_DOUBT} & codes
    warned = any(problem.severity is Severity.WARNING for problem in problems or ())
    if problems is not None and not told and not warned and left != checker.old:
        found.violations.append(f"refused with {codes}, and left {mixture(left, checker.old, checker.new)}")
    found.violations = [f"operation {disk.nth} failed: {violation}" for violation in found.violations]
    return found


def check_faults(scenario: Scenario, folder: Path, tally: Tally, *, lasting: bool) -> None:
    checker = Checker(scenario, folder)
    healthy, _ = failed(checker, 0, lasting=False)
    found = Found()
    for nth in range(1, healthy.reached + 1):
        disk, problems = failed(checker, nth, lasting=lasting)
        found += check_fault(checker, disk, problems)
    check(found, tally, errnos=healthy.reached)


@scenarios(FAULTY, slow=LARGE)
def test_failed_commit_is_all_old_or_all_new_and_reports_which(
    scenario: Scenario, tmp_path: Path, tally: Tally
) -> None:
    """Also when the power is lost right after its answer."""
    check_faults(scenario, tmp_path, tally, lasting=False)


@scenarios(FAULTY, slow=LARGE)
def test_commit_on_a_dying_disk_is_all_old_or_all_new_and_reports_which(
    scenario: Scenario, tmp_path: Path, tally: Tally
) -> None:
    check_faults(scenario, tmp_path, tally, lasting=True)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("lasting", [False, True])
@scenarios(FAULTY, *LARGE[1:3])
def test_rollback_after_a_fault_may_be_interrupted(
    scenario: Scenario, lasting: bool, tmp_path: Path, tally: Tally
) -> None:
    checker = Checker(scenario, tmp_path)
    healthy, _ = failed(checker, 0, lasting=False)

    def states() -> Iterator[State]:
        for nth in range(1, healthy.reached + 1):
            disk, problems = failed(checker, nth, lasting=lasting)
            if Code.COMMIT_IN_DOUBT not in {problem.code for problem in problems or ()}:
                yield from checker.crashed(disk, EITHER, NEW if problems is None else OLD)

    check(checker.check_states(states(), depth=0), tally, errnos=healthy.reached)
