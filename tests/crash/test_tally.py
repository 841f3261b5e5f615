"""The table of what was tried has the numbers of all tests, also of those in other processes."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.tally import added, table, tally_into

REPOSITORY = Path(__file__).parents[2]
CONFTEST = """
from tests.crash.conftest import tally
from tests.crash.tally import crash_summary as pytest_terminal_summary
"""
TESTS = """
def test_first(tally):
    tally("kills", points=1000, states=20)

def test_second(tally):
    tally("kills", points=234)
    tally("model", errnos=5, violations=1)
    assert False
"""


def report(properties: list[tuple[str, object]], when: str = "call") -> pytest.TestReport:
    return pytest.TestReport("id", ("file", 1, "name"), {}, "passed", None, when, user_properties=properties)


def test_rows_add_up_the_calls_of_all_reports() -> None:
    properties: list[tuple[str, object]] = [("other", 1)]
    tally_into(lambda name, value: properties.append((name, value)))("kills", points=2, states=3)

    assert added([report(properties), report(properties), report(properties, "teardown")]) == {
        "kills": [4, 6, 0, 0]
    }
    assert added([report([])]) == {}


def test_table_ends_with_the_sums() -> None:
    lines = table({"kills": [1, 20, 0, 0], "model": [1, 3, 5, 0]})

    assert [line.split() for line in lines[1:]] == [
        ["kills", "1", "20", "0", "0"],
        ["model", "1", "3", "5", "0"],
        ["all", "2", "23", "5", "0"],
    ]


@pytest.mark.parametrize("workers", [0, 2])
def test_numbers_arrive_from_other_processes_and_failed_tests(tmp_path: Path, workers: int) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {REPOSITORY}\n")
    command = [sys.executable, "-m", "pytest", "-q", f"-n{workers}", "-p", "no:cacheprovider", tmp_path]
    run = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)

    assert "kills         1,234            20             0             0" in run.stdout, (
        run.stdout + run.stderr
    )
    assert "all           1,234            20             5             1" in run.stdout
