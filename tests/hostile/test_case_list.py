"""Each of the 72 numbered cases of hostile input has a test with its number in its name."""

import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
CASES = range(1, 73)
# `test_case_15_sibling…`, `test_path_is_refused…[case_01_parent]`, `test_65_arguments…`.
NUMBER = re.compile(r"(?:case_|::test_)(\d\d)(?=[_\]])")


def test_every_case_has_a_test_with_its_number() -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0", "-p", "no:cacheprovider"]
    collected = subprocess.run([*command, FOLDER], check=False, capture_output=True, encoding="utf-8")
    found = {int(number) for number in NUMBER.findall(collected.stdout)}

    assert [case for case in CASES if case not in found] == [], collected.stdout[-2000:]
