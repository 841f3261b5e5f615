"""The page of rules agrees with the code."""

import json
import re
from pathlib import Path

import pytest

from mdplan.engine.engine import Engine
from mdplan.field_names import BATCH_SYNONYMS, EDIT_SYNONYMS
from mdplan.markdown.headings import canonical_heading, heading_title
from mdplan.markdown.matches import EXCLUDED_BY_DEFAULT
from mdplan.markdown.tables import NodeKind
from mdplan.planning.results import MOST_MATCHES as LISTED
from mdplan.text.pattern import MOST_MATCHES, MOST_PARTS
from tests.conftest import REPOSITORY

PAGE = (REPOSITORY / "docs" / "reference" / "semantics-rules.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """Cells of the first table below `heading`, as they stand there."""
    _, _, text = PAGE.partition(f"# {heading}\n")
    table = re.search(r"^\|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert table is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].splitlines()]


def code(cell: str) -> str:
    """The text of a cell that is one code span."""
    found = re.fullmatch(r"(`+) ?(.*?) ?\1", cell)
    assert found is not None, cell
    return found[2]


def test_canonical_headings_match_the_documented_table() -> None:
    for heading, canonical in rows("Canonical headings"):
        assert canonical_heading(heading_title(code(heading))) == code(canonical)


def test_skipped_node_kinds_are_the_documented_ones() -> None:
    told = {code(kind): default for kind, _, default in rows("What matches skip")}

    assert told == {kind: "skipped" if kind in EXCLUDED_BY_DEFAULT else "searched" for kind in NodeKind}


def test_limits_match_the_documented_numbers() -> None:
    assert f"more than {MOST_PARTS:,} parts" in PAGE
    assert f"more than {MOST_MATCHES:,} times" in PAGE
    assert f"the first {LISTED}, each" in PAGE


def test_documented_field_synonyms_are_accepted() -> None:
    told = {
        sent: code(meant)
        for cell, meant in rows("Other spellings")
        if meant.count("`") == 2
        for sent in re.findall(r"`(\w+)`", cell)
    }

    assert told == {**BATCH_SYNONYMS, **EDIT_SYNONYMS}


@pytest.mark.parametrize(
    ("edit", "places"),
    [
        ({"pattern": "x"}, ["3:5"]),
        ({"pattern": "`old`"}, ["3:7"]),
        ({"pattern": "old"}, ["3:13"]),
        ({"pattern": "old", "include": ["inlineCode", "linkDestinations"]}, ["3:8", "3:13", "5:5"]),
        ({"pattern": "(?<=u.*)x", "matchType": "regex"}, []),
        ({"pattern": "(?<=ü.*)x", "matchType": "regex"}, ["3:5"]),
        ({"pattern": "gone"}, []),
    ],
    ids=json.dumps,
)
def test_match_counts_follow_the_documented_rules(
    edit: dict[str, object], places: list[str], tmp_path: Path
) -> None:
    """Line 3 is an umlaut, an emoji of two code points, a tab, x, code, a word."""
    (tmp_path / "a.md").write_text("# A\n\nü👍🏽\tx `old` old\n\n[l](old)\n", encoding="utf-8")
    with Engine.open([tmp_path]) as engine:
        report = engine.plan({"file": "a.md", "edits": [{"op": "preview_match", **edit}]})

    assert [f"{match.line}:{match.col}" for match in report.edit_results[0].matches] == places
