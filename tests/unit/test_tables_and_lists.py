"""Tables and lists as they stand in the source, and what looking things up in them costs."""

from textwrap import dedent

import pytest

from mdplan.markdown import block_tree as block_structure
from mdplan.markdown.block_tree import is_left_open
from mdplan.markdown.lists import ListItem, MarkdownList
from mdplan.markdown.outline import Outline
from mdplan.markdown.tables import Alignment, TableSource
from mdplan.operations import OPERATIONS
from mdplan.operations.base import Resolution
from mdplan.text.source import Source
from mdplan.text.visible import display_width
from tests.unit.test_planning_cost import steps


def outline(text: str) -> Outline:
    return Outline(Source.from_text(dedent(text)))


# Tables.


def rows_of(table: TableSource) -> list[list[str]]:
    return [[table.text_in(row, at) for at in range(len(row.cells))] for row in table.rows]


@pytest.mark.parametrize(
    ("row", "cells", "outer_pipes"),
    [
        ("| a | b |", ["a", "b"], (True, True)),
        ("a | b", ["a", "b"], (False, False)),
        ("|a", ["a"], (True, False)),
        ("a|", ["a"], (False, True)),
        ("||", [""], (True, True)),
        ("| a \\| b | `c \\| d` |", ["a | b", "`c | d`"], (True, True)),
        ("a\\|", ["a|"], (False, False)),
        ("| a | b | c |", ["a", "b", "c"], (True, True)),
        ("\u00a0a\u00a0|\tb", ["a", "b"], (False, False)),
    ],
)
def test_row_is_split_at_unescaped_pipes(row: str, cells: list[str], outer_pipes: tuple[bool, bool]) -> None:
    (table,) = outline(f"| x | y |\n|---|---|\n{row}\n").tables

    assert rows_of(table) == [cells]
    assert (table.rows[0].leads, table.rows[0].trails) == outer_pipes


@pytest.mark.parametrize("prefix", ["> ", ">", "   ", "- ", "-\t", "12) ", "> - ", "- > ", ">\t", "- - "])
def test_table_in_containers_is_verified_and_its_rows_are_read(prefix: str) -> None:
    rest = "".join(mark if mark in ">\t" else " " for mark in prefix)
    (table,) = outline(f"{prefix}| a | b |\n{rest}|---|:-:|\n{rest}| 1 | 2 |\n").tables

    assert table.is_proven
    assert rows_of(table) == [["1", "2"]]
    assert table.alignments == (Alignment.NONE, Alignment.CENTER)


def test_column_width_needs_a_majority_of_rows() -> None:
    (table,) = outline("""\
        | aa | bb | cc | dd
        |----|----|---|---
        | 1  | 2 | 3  | 4
        | 1 wide one  | 22 | 3  | 4
        """).tables

    assert table.widths == (4, 4, None, None)


def test_column_is_found_by_written_then_rendered_then_canonical_name() -> None:
    (table,) = outline("| Size | *Size* | size! | `a` |  |\n|-|-|-|-|-|\n").tables

    names = ("Size", "*Size*", "size!", "SIZE", "a", "", "b")
    assert [table.columns_named(name) for name in names] == [(0,), (1,), (2,), (0, 1, 2), (3,), (), ()]


def test_wide_characters_take_two_columns_and_combining_ones_none() -> None:
    assert [display_width(text) for text in ("ab", "日本", "e\u0301", "\u200d", "é")] == [2, 4, 1, 0, 1]


# Lists.


def told(listing: MarkdownList) -> tuple[object, ...]:
    return (listing.block.first_line, listing.block.markup, [tell(item) for item in listing.items])


def tell(item: ListItem) -> object:
    return item.text if not item.lists else (item.text, [told(listing) for listing in item.lists])


def test_lists_are_read_with_nested_items() -> None:
    base = outline("""\
        - a
          - b

            more
          1. c
        - # d
        * e
        lazy
        > - f
        - > - g

        <!-- -->
        7) h
        """)

    lists = base.lists
    assert [told(each) for each in lists.outermost] == [
        (1, "-", [("a", [(2, "-", ["b"]), (5, ".", ["c"])]), "d"]),
        (7, "*", ["e lazy"]),
        (9, "-", ["f"]),
        (10, "-", [""]),
        (13, ")", ["h"]),
    ]
    assert [each.index for each in lists.all] == [0, None, None, 1, 2, 3, None, 4]


@pytest.mark.parametrize(
    ("text", "is_spaced"),
    [
        ("- a\n- b\n", False),
        ("- a\n\n- b\n- c\n", True),
        ("- a\n\n  b\n- c\n", False),
        ("- a\n\n  b\n", True),
        ("> - a\n>\n> - b\n", True),
        ("> - a\n> - b\n>\n", False),
    ],
)
def test_list_with_blank_lines_between_items_is_loose(text: str, is_spaced: bool) -> None:
    assert outline(text).lists.outermost[0].is_spaced is is_spaced


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("- a\n", 0, ("-", "", " ", "  ")),
        ("12)   a\n", 0, ("12)", "", "   ", "      ")),
        ("-\ta\n", 0, ("-", "", "\t", "    ")),
        ("-\n  a\n", 0, ("-", "", " ", "  ")),
        ("-    a\n", 0, ("-", "", "    ", "     ")),
        ("-     code\n", 0, ("-", "", " ", "  ")),
        ("> - a\n> - b\n", 1, ("-", "> ", " ", "  ")),
    ],
)
def test_marker_has_its_column_and_content_indentation(
    text: str, position: int, expected: tuple[str, str, str, str]
) -> None:
    base = outline(text)
    marker = base.lists.marker(base.lists.outermost[0], position)

    assert marker is not None
    assert (marker.text, marker.prefix, marker.spacing, marker.indentation) == expected


def test_marker_after_another_is_indented_by_its_width() -> None:
    base = outline("1. - a\n   - b\n")
    marker = base.lists.marker(base.lists.all[1], 0)

    assert marker is not None
    assert (marker.prefix, base.text_of(marker.span)) == ("   ", "-")


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ("```\n", True),
        ("```\n\n", True),
        ("```\n\n\n", True),
        ("```\n```\n", False),
        ("```\r\n```\r\n", False),
        ("```\r```\r", False),
        ("```\n\n```", False),
    ],
)
def test_fence_is_closed_only_by_its_last_line(text: str, is_open: bool) -> None:
    (fence,) = outline(text).blocks

    assert fence.kind is block_structure.BlockKind.FENCE
    assert is_left_open(fence, text) is is_open


# Costs.


EDITS = {
    "upsert_table_row": {"keyColumn": "Key", "key": "k{}", "row": {"Value": "new"}},
    "delete_table_row": {"keyColumn": "Key", "key": "k{}"},
    "add_list_item": {"item": "new", "after": "task {}"},
    "remove_list_item": {"item": "task {}"},
    "set_task": {"item": "task {}", "done": True},
}


def steps_of_last(op: str, size: int) -> int:
    """Steps of an edit at the end of a table or list so long, when others were resolved before it."""
    text = "| Key | Value |\n|---|---|\n" + "".join(f"| k{at} | v |\n" for at in range(size))
    text += "\n" + "".join(f"- [ ] task {at}\n" for at in range(size))
    base = outline(text)
    edits = [
        {name: value.format(at) if isinstance(value, str) else value for name, value in EDITS[op].items()}
        for at in (0, size - 2)
    ]
    first, last = (OPERATIONS[op].model_validate({"op": op, **edit}) for edit in edits)
    assert isinstance(first.resolve(base), Resolution)
    return steps(lambda: last.resolve(base))


@pytest.mark.parametrize("op", EDITS)
def test_edit_cost_does_not_depend_on_table_or_list_length(op: str) -> None:
    assert steps_of_last(op, 800) < 1.3 * steps_of_last(op, 100)
