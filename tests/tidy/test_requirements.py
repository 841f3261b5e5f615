"""`tests/requirements.md` lists what the project promises; a marker of a test names what it checks."""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
ROW = re.compile(r"^\| ([a-z]+(?:-[a-z]+)*-\d+) \| \S.* \| \S.* \|$", re.MULTILINE)
MARKER = re.compile(
    r"^@pytest\.mark\.requirement\(([^)]*)\)\n(?:[@ )].*\n)*(?:async )?def test_", re.MULTILINE
)


def listed() -> list[str]:
    return ROW.findall((TESTS / "requirements.md").read_text(encoding="utf-8"))


@cache
def checked() -> frozenset[str]:
    answers = (TESTS / "snapshots" / "responses").rglob("*.json")
    named = [name for path in answers for name in json.loads(path.read_bytes()).get("requirements", ())]
    for path in TESTS.rglob("test_*.py"):
        for names in MARKER.findall(path.read_text(encoding="utf-8")):
            named += re.findall(r'"([^"]+)"', names)
    return frozenset(named)


def test_each_requirement_is_checked_by_a_test() -> None:
    assert sorted(set(listed()) - checked()) == []


def test_each_marker_names_a_requirement() -> None:
    assert sorted(checked() - set(listed())) == []


def test_requirements_are_unique() -> None:
    assert [name for name, count in Counter(listed()).items() if count > 1] == []
