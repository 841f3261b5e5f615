"""Each of the 72 numbered cases of hostile input has a test: a marker or the ID of a parameter names it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.conftest import COLLECTED

FOLDER = Path(__file__).parent
CASES = range(1, 73)
# `test_path_is_refused…[case_01_parent]`, and what the conftest adds for `@pytest.mark.hostile_case(15)`.
NUMBER = re.compile(r"case_(\d\d)(?=[_\]])")


def test_every_case_has_a_test_with_its_number(request: pytest.FixtureRequest) -> None:
    names = request.config.stash[COLLECTED]
    modules = {name.partition("::")[0].rpartition("/")[2] for name in names}
    if modules != {path.name for path in FOLDER.glob("test_*.py")}:
        names = everything_collected()
    found = {int(number) for number in NUMBER.findall("\n".join(names))}

    assert [case for case in CASES if case not in found] == [], "\n".join(names)[-2000:]


def everything_collected() -> list[str]:
    """Names and cases of the tests of the folder, where this run has not collected all of them."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0", "-p", "no:cacheprovider"]
    collected = subprocess.run([*command, FOLDER], check=False, capture_output=True, encoding="utf-8")
    return collected.stdout.splitlines()
