"""Golden cases are complete: every operation and every code has its own."""

import re
from collections import Counter
from pathlib import Path

import pytest

from mdplan.diagnostics import Code
from mdplan.operations import OPERATIONS
from tests.golden_case import CASES, Case, find_cases

REPOSITORY = Path(__file__).parents[2]
LEAST_ACCEPTED, LEAST_REFUSED = 5, 3

# What no folder of files can show: a state of the disk, another process or user, or another verb.
SHOWN_BY_A_TEST = {
    Code.ALIAS_CONFLICT: "tests/unit/test_storage_commit.py",
    Code.APPROVAL_REQUIRED: "tests/unit/test_history.py",
    Code.COMMIT_IN_DOUBT: "tests/unit/test_storage_faults.py",
    Code.CONFLICT_LATE_WRITE: "tests/unit/test_storage_late_writes.py",
    Code.HARDLINK_REFUSED: "tests/unit/test_storage_file_kinds.py",
    Code.IO_ERROR: "tests/unit/test_storage_faults.py",
    Code.JOURNAL_CORRUPT: "tests/unit/test_history.py",
    Code.LOCK_TIMEOUT: "tests/unit/test_storage_lock.py",
    Code.LOCK_UNSUPPORTED: "tests/unit/test_storage_lock.py",
    Code.NESTING_LIMIT: "tests/unit/test_stat.py",
    Code.NOT_UNDOABLE: "tests/unit/test_history.py",
    Code.NO_SPACE: "tests/unit/test_storage_faults.py",
    Code.OWNER_CHANGE: "tests/unit/test_storage_file_kinds.py",
    Code.PERMISSION_DENIED: "tests/unit/test_storage_file_kinds.py",
    Code.PLAN_REJECTED: "tests/review/test_reviewing.py",
    Code.READ_ONLY: "tests/unit/test_storage_file_kinds.py",
    Code.RECOVERY_CONFLICT: "tests/unit/test_storage_recovery.py",
    Code.RECOVERY_REQUIRED: "tests/unit/test_storage_recovery.py",
    Code.STATE_DIR_UNSAFE: "tests/unit/test_storage_lock.py",
    Code.TARGET_BUSY: "tests/unit/test_storage_faults.py",
    Code.WEAK_CAS: "tests/unit/test_storage_late_writes.py",
}


def codes_of(case: Case) -> set[str]:
    """Codes that the expected files of `case` carry."""
    problems = case.expected("diagnostics.json")
    if problems is None:
        problems = (case.expected("report.json") or {}).get("warnings", [])
    return {problem["code"] for problem in problems}


@pytest.mark.parametrize("code", Code)
def test_code_is_shown(code: Code) -> None:
    cases = find_cases("diagnostics", code)

    if code in SHOWN_BY_A_TEST:
        test = REPOSITORY / SHOWN_BY_A_TEST[code]
        assert cases == [], "it has a case, so it needs no test in its place"
        assert f"Code.{code}" in test.read_text(encoding="utf-8"), f"{test.name} does not show it"
    else:
        assert len(cases) == 1, f"write a case below tests/cases/diagnostics/{code}"
        assert code in codes_of(cases[0])


def test_no_folder_is_named_after_a_code_that_is_gone() -> None:
    folders = {path.name for path in (CASES / "diagnostics").iterdir()}

    assert folders - set(Code) == set()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operation_has_accepted_and_refused_cases(operation: str) -> None:
    counts = Counter(case.is_accepted for case in find_cases("operations", operation))

    assert counts[True] >= LEAST_ACCEPTED, f"{operation} has {counts[True]} accepted cases"
    assert counts[False] >= LEAST_REFUSED, f"{operation} has {counts[False]} refused cases"


def test_cases_are_complete_and_hold_nothing_else() -> None:
    cases = find_cases()

    assert len(cases) > len(OPERATIONS)
    assert {str(case): problem for case in cases if (problem := problem_of(case))} == {}


def problem_of(case: Case) -> str | None:
    inputs = {case.before.name, "batch.json", "apply.json", "settings.json"}
    inputs |= {case.meanwhile.name} if case.meanwhile else set()
    expected = {case.after.name, "plan.diff"} if case.is_accepted else {"diagnostics.json"}
    files = {path.name for path in case.folder.iterdir()}
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", case.folder.name) and case.folder.name not in set(Code):
        return "its name is not in kebab case"
    if not expected <= files:
        return f"it lacks {sorted(expected - files)}"
    stray = files - expected - inputs - ({"report.json"} if case.is_accepted else set())
    return f"it has no use for {sorted(stray)}" if stray else None
