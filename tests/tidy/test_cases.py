"""Golden cases are complete: every operation and every code has its own."""

from collections import Counter
from pathlib import Path

import pytest

from docs.codegen.cases import FILE_ROLES
from mdplan.diagnostics import Code
from mdplan.operations import OPERATIONS
from tests.support.golden_cases import Case, find_cases

REPOSITORY = Path(__file__).parents[2]
LEAST_ACCEPTED, LEAST_REFUSED = 5, 3

# No golden case can show these: a state of the disk, another process or user, or another verb.
SHOWN_BY_A_TEST = {
    Code.ALIAS_CONFLICT: "tests/unit/test_storage_commit.py",
    Code.APPROVAL_REQUIRED: "tests/unit/test_history.py",
    Code.BLOCK_UNCLOSED: "tests/unit/test_links.yaml",
    Code.CHANGES_REQUESTED: "tests/review/test_reviewing.py",
    Code.COMMIT_IN_DOUBT: "tests/unit/test_storage_faults.py",
    Code.CONFLICT_LATE_WRITE: "tests/unit/test_storage_late_writes.py",
    Code.ENCODING_CHANGED: "tests/unit/test_links.yaml",
    Code.HARDLINK_REFUSED: "tests/unit/test_storage_files.py",
    Code.TASK_LOST: "tests/unit/test_links.yaml",
    Code.HEADING_LOST: "tests/unit/test_links.yaml",
    Code.IO_ERROR: "tests/unit/test_storage_faults.py",
    Code.JOURNAL_CORRUPT: "tests/unit/test_history.py",
    Code.LINE_ENDS_CHANGED: "tests/unit/test_links.yaml",
    Code.LOCK_TIMEOUT: "tests/unit/test_storage_store.py",
    Code.LOCK_UNSUPPORTED: "tests/unit/test_storage_store.py",
    Code.NESTING_LIMIT: "tests/unit/test_stat.py",
    Code.NOT_UNDOABLE: "tests/unit/test_history.py",
    Code.NO_SPACE: "tests/unit/test_storage_faults.py",
    Code.OWNER_CHANGE: "tests/hostile/test_file_kinds.py",
    Code.PERMISSION_DENIED: "tests/unit/test_storage_files.py",
    Code.PLAN_REJECTED: "tests/review/test_reviewing.py",
    Code.READ_ONLY: "tests/hostile/test_file_kinds.py",
    Code.RECOVERY_CONFLICT: "tests/unit/test_storage_recovery.py",
    Code.RECOVERY_REQUIRED: "tests/unit/test_storage_recovery.py",
    Code.REGION_UNBALANCED: "tests/unit/test_links.yaml",
    Code.STALE_DECISION: "tests/hostile/test_approval_bypasses.py",
    Code.STATE_DIR_UNSAFE: "tests/surfaces/test_store_faults.yaml",
    Code.TABLE_TORN: "tests/unit/test_links.yaml",
    Code.TARGET_BUSY: "tests/unit/test_storage_faults.py",
    Code.WEAK_CAS: "tests/unit/test_storage_late_writes.py",
}


def codes_of(case: Case) -> set[str]:
    """Codes that `case` expects."""
    problems = case.diagnostics if case.report is None else case.report.get("warnings")
    return {problem["code"] for problem in problems or []}


@pytest.mark.parametrize("code", Code)
def test_code_has_a_case_or_a_test(code: Code) -> None:
    cases = [case for case in find_cases("diagnostics") if case.text.title == code]

    if code in SHOWN_BY_A_TEST:
        test = REPOSITORY / SHOWN_BY_A_TEST[code]
        assert cases == [], "it has a case, so it needs no test"
        shown = f"[{code}, " if test.suffix == ".yaml" else f"Code.{code}"
        assert shown in test.read_text(encoding="utf-8"), f"{test.name} does not show it"
    else:
        assert len(cases) == 1, f"write a case `## {code}` in tests/cases/diagnostics.md"
        assert code in codes_of(cases[0])


def test_every_case_of_a_diagnostic_has_the_name_of_its_code() -> None:
    assert {case.text.title for case in find_cases("diagnostics")} - set(Code) == set()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operation_has_accepted_and_refused_cases(operation: str) -> None:
    counts = Counter(case.is_accepted for case in find_cases(f"operations/{operation}"))

    assert counts[True] >= LEAST_ACCEPTED, f"{operation} has {counts[True]} accepted cases"
    assert counts[False] >= LEAST_REFUSED, f"{operation} has {counts[False]} refused cases"


def test_names_of_cases_are_unique() -> None:
    counts = Counter(map(str, find_cases()))

    assert len(counts) > len(OPERATIONS)
    assert [name for name, count in counts.items() if count > 1] == []


def test_every_case_has_the_blocks_of_one_outcome() -> None:
    assert {str(case): problem for case in find_cases() if (problem := problem_of(case))} == {}


def problem_of(case: Case) -> str | None:
    roles = Counter(block.role for block in case.text.blocks)
    outcome = {"after", "report", "diff"} if case.is_accepted else {"diagnostics"}
    unused = roles.keys() - outcome - {"before", "concurrent", "batch", "apply", "settings"}
    if unused:
        return f"it has no use for {sorted(unused)}"
    if not case.has_expectation:
        return "it has neither `after` nor `diagnostics`"
    repeated = [role for role, count in roles.items() if count > 1 and role not in FILE_ROLES]
    return f"it has several blocks {repeated}" if repeated else None
