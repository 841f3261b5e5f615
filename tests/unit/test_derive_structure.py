"""Batches derived by structure: they name keys, sections, items, rows and code blocks."""

from typing import Any

import pytest

from mdplan.derive.derivation import Derivation, derive_batch
from mdplan.markdown.format_detection import document_format
from mdplan.markdown.outline.outline import Outline
from mdplan.memory.memory_planner import RequestedFile
from mdplan.text.source import Source

GUIDE = """\
---
title: Tea
tags: [a, b]
draft: true
---

# Guide

Intro words that are here.

## Install

Run it:

```sh
pip install tea
```

- one item
- two items

## Use

| Tea | Minutes |
| --- | --- |
| Black | 3 |
| Green | 2 |

### Below

Text of below.

## Last

The end of it.
"""
BELOW = "### Below\n\nText of below.\n\n"
DATA = "# names\nname: tea\nnav:\n  - Home: index.md\n  - About: about.md\nlist: [1, 2, 3]\n"


def edits_of(old: str, new: str, name: str = "a.md") -> list[dict[str, Any]]:
    outlines = (Outline(Source.from_text(text), document_format(name, text)) for text in (old, new))
    found = derive_batch(*outlines, RequestedFile(name, None, None), prefers_structure=True)
    assert isinstance(found, Derivation)
    assert found.batch is not None
    return found.batch.get("edits", [found.batch])


@pytest.mark.parametrize(
    ("before", "after", "edit"),
    [
        ("title: Tea", "title: Coffee", {"op": "set_value", "key": "title", "value": "Coffee"}),
        ("[a, b]", "[a, b, c]", {"op": "add_to_list", "key": "tags", "value": "c"}),
        ("[a, b]", "[b]", {"op": "remove_from_list", "key": "tags", "value": "a"}),
        ("draft: true\n", "", {"op": "delete_value", "key": "draft", "expectedValue": True}),
        ("tags:", "by: Kim\ntags:", {"op": "set_value", "key": "by", "value": "Kim", "after": "title"}),
        ("## Install", "## Setup", {"op": "rename_heading", "heading": "Install", "newTitle": "Setup"}),
        ("### Below", "## Below", {"op": "set_heading_level", "heading": "Below", "level": 2}),
        ("Intro words that are here.", "Other\ntext.", {"op": "replace_section", "heading": "Guide"}),
        (BELOW, "", {"op": "delete_section", "heading": "Below"}),
        ("## Last", "## New\n\nText.\n\n## Last", {"op": "insert_section", "position": "after"}),
        ("The end of it.\n", "The end of it.\n\nMore.\n", {"op": "append_to_section", "markdown": "More."}),
        ("Run it:", "First.\n\nRun it:", {"op": "prepend_to_section", "markdown": "First."}),
        ("- two", "- new\n- two", {"op": "add_list_item", "after": "one item", "item": "new"}),
        ("- one item\n", "", {"op": "remove_list_item", "item": "- one item"}),
        ("pip install tea", "uv add tea", {"op": "replace_code_block", "markdown": "uv add tea"}),
        (
            "| Black | 3 |",
            "| Black | 4 |",
            {"op": "upsert_table_row", "key": "Black", "row": {"Minutes": "4"}},
        ),
        ("| Green | 2 |", "| Green | 2 |\n| White | 5 |", {"op": "upsert_table_row", "key": "White"}),
        ("| Black | 3 |\n", "", {"op": "delete_table_row", "keyColumn": "Tea", "key": "Black"}),
    ],
)
def test_derived_edit_names_the_changed_element(before: str, after: str, edit: dict[str, Any]) -> None:
    [found] = edits_of(GUIDE, GUIDE.replace(before, after))

    assert found.items() >= edit.items()


def test_section_that_moves_is_not_written_again() -> None:
    use = GUIDE[GUIDE.index("## Use") : GUIDE.index("## Last")]
    [edit] = edits_of(GUIDE, GUIDE.replace(use, "") + "\n" + use.rstrip() + "\n")

    assert edit["op"] == "move_section"
    assert "markdown" not in edit


def test_edits_are_in_the_order_of_their_places() -> None:
    new = (
        GUIDE.replace("title: Tea", "title: Coffee")
        .replace("- one item\n", "")
        .replace("Green | 2", "Green | 1")
    )

    assert [edit["op"] for edit in edits_of(GUIDE, new)] == [
        "set_value",
        "remove_list_item",
        "upsert_table_row",
    ]


def test_keys_of_a_data_file_are_named() -> None:
    edits = edits_of(DATA, DATA.replace("about.md", "more.md").replace("2, 3", "3"), "a.yaml")

    assert [(edit["op"], edit["key"]) for edit in edits] == [
        ("set_value", "nav[1].About"),
        ("remove_from_list", "list"),
    ]


def test_name_with_a_dot_is_a_key_as_it_is() -> None:
    old = "---\nms.date: 01/02/2026\n---\n\nText.\n"
    [edit] = edits_of(old, old.replace("01/02", "03/04"))

    assert edit["key"] == "ms.date"


def test_text_that_no_key_edit_can_write_becomes_a_line_edit() -> None:
    edits = edits_of(DATA, DATA.replace("name: tea", "name:   'coffee'").replace("2, 3", "3"), "a.yaml")

    assert [edit["op"] for edit in edits] == ["replace_lines", "remove_from_list"]


def test_conflicting_edits_are_replaced_by_line_edits() -> None:
    old = "# A\n\n## B\n\n- one\n\n## C\n\nText.\n"
    edits = edits_of(old, "# A\n\n### B\n\n- one\n- two\n\n## D\n\nText.\n")

    assert [edit["op"] for edit in edits] == ["replace_lines", "insert_lines", "rename_heading"]
