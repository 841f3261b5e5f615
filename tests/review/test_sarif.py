"""Warnings and refusals as SARIF: complete, in place, and valid by the official schema where there is one."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from mdplan.diagnostics import Code, Diagnostic
from mdplan.review.sarif import fixes_of, sarif_log
from mdplan.text.lines import Position
from mdplan.text.source import ByteEdit
from tests.file_diffs import creation_diff, deletion_diff, unified_diff

PROBLEMS = [
    Diagnostic.warning(Code.BROKEN_LINK, "the link resolves to nothing", "mend it", place=Position(3, 7)).at(
        file="docs/a b%é.md", edit_index=2
    ),
    Diagnostic(code=Code.STALE_BASE, message="moved on", file="name:b.md"),
    Diagnostic(code=Code.BATCH_TOO_LARGE, message="too much \udcff"),
]


def test_each_problem_is_a_result_at_its_place() -> None:
    (run,) = sarif_log(PROBLEMS, "bot.yml")["runs"]

    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [
        "BATCH_TOO_LARGE",
        "BROKEN_LINK",
        "STALE_BASE",
    ]
    assert [(result["ruleId"], result["ruleIndex"], result["level"]) for result in run["results"]] == [
        ("BROKEN_LINK", 1, "warning"),
        ("STALE_BASE", 2, "error"),
        ("BATCH_TOO_LARGE", 0, "error"),
    ]
    assert run["results"][0]["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "docs/a%20b%25%C3%A9.md", "uriBaseId": "ROOT"},
                "region": {"startLine": 3, "startColumn": 7},
            }
        }
    ]
    assert run["results"][0]["properties"] == {"editIndex": 2}
    assert run["results"][0]["message"]["text"] == "the link resolves to nothing. mend it"
    assert run["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "name%3Ab.md"
    assert run["results"][2]["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "bot.yml", "uriBaseId": "ROOT"},
        "region": {"startLine": 1},
    }


def test_sarif_log_encodes_as_utf_8() -> None:
    text = json.dumps(sarif_log(PROBLEMS, "bot.yml"), ensure_ascii=False)

    assert json.loads(text.encode("utf-8"))["version"] == "2.1.0"


def test_no_problems_give_an_empty_run() -> None:
    assert sarif_log([], "bot.yml")["runs"][0]["results"] == []


def results_of(diff: bytes) -> list[dict[str, Any]]:
    fixes = fixes_of(diff.decode("utf-8", "surrogateescape"))
    results: list[dict[str, Any]] = sarif_log([], "bot.yml", fixes)["runs"][0]["results"]
    return results


def fixed(text: str, results: list[dict[str, Any]]) -> str:
    """`text` with all fixes of `results`, as a reader of SARIF makes them."""
    lines = text.split("\n")
    starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines) + 1)]
    for result in reversed(results):
        (replacement,) = result["fixes"][0]["artifactChanges"][0]["replacements"]
        region = replacement["deletedRegion"]
        start = starts[region["startLine"] - 1] + region["startColumn"] - 1
        end = starts[region["endLine"] - 1] + region["endColumn"] - 1
        text = text[:start] + replacement["insertedContent"]["text"] + text[end:]
    return text


LINES = st.lists(st.sampled_from(["a", "b", "", "é🙂", "x\r", "```"]), max_size=12)


@given(LINES, LINES, LINES, LINES, st.sampled_from(["", "\n"]), st.sampled_from(["", "\n"]))
def test_sarif_fixes_give_the_planned_result(
    head: list[str], old: list[str], new: list[str], tail: list[str], end: str, new_end: str
) -> None:
    before, after = "\n".join([*head, *old, *tail]) + end, "\n".join([*head, *new, *tail]) + new_end
    data, result = before.encode(), after.encode()
    start = len("".join(f"{line}\n" for line in head).encode()) if old and new else 0
    kept = len("".join(f"\n{line}" for line in tail).encode()) if start and end == new_end == "" else 0
    edit = ByteEdit(start, len(data) - kept, result[start : len(result) - kept])
    results = results_of(unified_diff("docs/a.md", data, [edit])) if data and data != result else []

    assert data == b"" or fixed(before, results) == after
    for found in results:
        region = found["locations"][0]["physicalLocation"]["region"]
        assert 1 <= region["startLine"] <= region["endLine"] <= before.removesuffix("\n").count("\n") + 1


def test_fix_that_inserts_lines_includes_a_neighbouring_line() -> None:
    (first,) = results_of(unified_diff("a.md", b"one\n", [ByteEdit(0, 0, b"zero\n")]))
    (last,) = results_of(unified_diff("a.md", b"one\n", [ByteEdit(4, 4, b"two\n")]))

    made = [each["fixes"][0]["artifactChanges"][0]["replacements"][0] for each in (first, last)]
    assert [each["insertedContent"]["text"] for each in made] == ["zero\none\n", "one\ntwo\n"]
    assert [each["deletedRegion"]["startLine"] for each in made] == [1, 1]


def test_created_deleted_and_binary_files_have_no_fix() -> None:
    (invalid,) = results_of(unified_diff("a.md", b"one\n", [ByteEdit(0, 0, b"\xff")]))

    assert results_of(creation_diff("a.md", b"x\n") + deletion_diff("b.md", b"x\n")) == []
    assert "fixes" not in invalid


CHANGES = list(fixes_of(unified_diff("a b.md", b"one\ntwo", [ByteEdit(4, 7, b"2\n3")]).decode()))


@pytest.mark.parametrize("problems", [PROBLEMS, []])
def test_sarif_log_matches_the_official_schema(problems: list[Diagnostic]) -> None:
    path = os.environ.get("MDPLAN_SARIF_SCHEMA")
    if not path:
        pytest.skip("MDPLAN_SARIF_SCHEMA names no copy of the SARIF 2.1.0 schema: it is not validated")
    Draft7Validator(json.loads(Path(path).read_bytes())).validate(sarif_log(problems, "bot.yml", CHANGES))
