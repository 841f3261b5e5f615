"""`tests/requirements.toml` numbers what the project promises; each promise names the tests that keep it."""

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
RESPONSES = REPOSITORY / "tests" / "snapshots" / "responses"
GOLDEN_ANSWER = re.compile(
    r"tests/surfaces/test_toolset_(\w+)\.py::test_response_is_that_of_its_case\[([\w-]+)\]"
)
KEYS = {"id", "promise", "source", "tests"}


def load() -> list[dict[str, Any]]:
    return tomllib.loads((REPOSITORY / "tests" / "requirements.toml").read_text(encoding="utf-8"))[
        "requirement"
    ]


def problems_of(entry: dict[str, Any]) -> list[str]:
    if set(entry) != KEYS:
        return [f"its keys are {sorted(entry)}, not {sorted(KEYS)}"]
    problems = [] if re.fullmatch(r"[a-z]+(-[a-z]+)*-\d+", entry["id"]) else ["its id is not like `text-1`"]
    problems += [f"its {key} is empty" for key in ("promise", "source", "tests") if not entry[key]]
    problems += [problem for test in entry["tests"] if (problem := problem_of_test(test))]
    return problems


def problem_of_test(test: str) -> str | None:
    """Why `test` ("tests/unit/test_x.py::test_y" or "…::TestX::test_y[case]") is no test, if it is none."""
    if (found := GOLDEN_ANSWER.fullmatch(test)) and not (RESPONSES / found[1] / f"{found[2]}.json").is_file():
        return f"{test}: there is no such golden answer"
    file, *names = test.partition("[")[0].split("::")
    path = REPOSITORY / file
    if not re.fullmatch(r"tests/(?:\w+/)*test_\w+\.py", file) or not path.is_file():
        return f"{test}: there is no test file {file}"
    if not names or not names[-1].startswith("test"):
        return f"{test}: it names no test function"
    scope: list[ast.stmt] = ast.parse(path.read_text(encoding="utf-8")).body
    for name in names:
        found = [node for node in scope if getattr(node, "name", None) == name]
        if not found:
            return f"{test}: {file} has no {name}"
        scope = getattr(found[0], "body", [])
    return None


@pytest.mark.parametrize("entry", load(), ids=lambda entry: str(entry.get("id")))
def test_promise_is_kept_by_tests_that_exist(entry: dict[str, Any]) -> None:
    assert problems_of(entry) == []


def test_numbers_are_unique() -> None:
    counts = Counter(entry["id"] for entry in load())

    assert [number for number, count in counts.items() if count > 1] == []


HERE = "tests/tidy/test_requirements.py::test_numbers_are_unique"
SOUND = {"id": "text-1", "promise": "It holds.", "source": "DESIGN 4", "tests": [HERE]}


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({**SOUND, "tests": []}, "its tests is empty"),
        ({**SOUND, "promise": ""}, "its promise is empty"),
        ({**SOUND, "id": "Text 1"}, "its id is not like `text-1`"),
        ({**SOUND, "note": "x"}, "its keys are"),
        ({**SOUND, "tests": [HERE + "_not"]}, "has no test_numbers_are_unique_not"),
        ({**SOUND, "tests": ["tests/unit/test_gone_away.py::test_x"]}, "there is no test file"),
        ({**SOUND, "tests": ["tests/tidy/test_requirements.py"]}, "it names no test function"),
        (
            {
                **SOUND,
                "tests": ["tests/surfaces/test_toolset_text.py::test_response_is_that_of_its_case[x-y]"],
            },
            "there is no such golden answer",
        ),
    ],
)
def test_unkept_promise_is_found(entry: dict[str, Any], problem: str) -> None:
    assert problems_of(SOUND) == []
    assert problem in "; ".join(problems_of(entry))
