"""The table of hostile inputs has those of all tests, also of tests that failed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.tally import Entry, record_into, recorded, table

REPOSITORY = Path(__file__).parents[2]
CONFTEST = """
from tests.hostile.conftest import record
from tests.hostile.tally import hostile_summary as pytest_terminal_summary
"""
TESTS = """
def test_first(record):
    record("01 parent", "refused", 0.25)
    record("01 parent, in the middle", "refused", 0.5)

def test_second(record):
    record("65 unknown field", "server death", 1.5)
    assert False
"""


def report(properties: list[tuple[str, object]], when: str = "call") -> pytest.TestReport:
    return pytest.TestReport("id", ("file", 1, "name"), {}, "passed", None, when, user_properties=properties)


def test_inputs_are_read_from_the_calls_of_all_reports() -> None:
    properties: list[tuple[str, object]] = [("other", 1)]
    record_into(lambda name, value: properties.append((name, value)))("26 flips", "refused", 0.5)

    assert recorded([report(properties), report(properties, "teardown")]) == [
        Entry("26 flips", "refused", 0.5)
    ]


def test_unknown_outcome_is_a_fault_of_the_test() -> None:
    with pytest.raises(AssertionError):
        record_into(lambda name, value: None)("26 flips", "fine", 0.5)


def test_table_has_a_row_for_each_area_and_the_slowest_input() -> None:
    entries = [
        Entry("01 parent", "refused", 0.1),
        Entry("01 parent in the middle", "escaped", 0.1),
        Entry("64 bounds", "accepted as expected", 2.5),
        Entry("a symlink race", "refused", 0.2, 1000),
    ]

    assert [line.split("  ")[0] for line in table(entries)[1:-1]] == [
        "paths",
        "content",
        "besides the list",
        "all",
    ]
    assert [line.split()[-6:] for line in table(entries)[1:-1]] == [
        ["1", "2", "1", "0", "1", "0"],
        ["1", "1", "0", "1", "0", "0"],
        ["1", "1,000", "1,000", "0", "0", "0"],
        ["3", "1,003", "1,001", "1", "1", "0"],
    ]
    assert table(entries)[-1] == "slowest single input: 2.50 s, case 64 bounds"


@pytest.mark.parametrize("workers", [0, 2])
def test_inputs_arrive_from_other_processes_and_failed_tests(tmp_path: Path, workers: int) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {REPOSITORY}\n")
    command = [sys.executable, "-m", "pytest", "-q", f"-n{workers}", "-p", "no:cacheprovider", tmp_path]
    run = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)

    lines = {line.split("  ")[0]: line.split()[-6:] for line in run.stdout.splitlines()}
    assert lines["all"] == ["2", "3", "2", "0", "0", "1"], run.stdout + run.stderr
    assert "slowest single input: 1.50 s, case 65 unknown field" in run.stdout
