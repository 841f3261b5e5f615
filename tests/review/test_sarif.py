"""Warnings and refusals as SARIF: complete, in place, and valid by the official schema where there is one."""

import json
import os
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from mdplan.diagnostics import Code, Diagnostic
from mdplan.review.sarif import sarif_log
from mdplan.text.span import Position

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


def test_log_is_json_that_everybody_reads() -> None:
    text = json.dumps(sarif_log(PROBLEMS, "bot.yml"), ensure_ascii=False)

    assert json.loads(text.encode("utf-8"))["version"] == "2.1.0"


def test_nothing_wrong_is_an_empty_run() -> None:
    assert sarif_log([], "bot.yml")["runs"][0]["results"] == []


@pytest.mark.parametrize("problems", [PROBLEMS, []])
def test_log_obeys_the_official_schema(problems: list[Diagnostic]) -> None:
    path = os.environ.get("MDPLAN_SARIF_SCHEMA")
    if not path:
        pytest.skip("MDPLAN_SARIF_SCHEMA names no copy of the SARIF 2.1.0 schema: it is not validated")
    Draft7Validator(json.loads(Path(path).read_bytes())).validate(sarif_log(problems, "bot.yml"))
