"""The parser reads what GitHub reads where its presets do not."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.decisions import Verdict
from mdplan.diagnostics import Code, Diagnostic
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import OpenPlan, ReviewService
from mdplan.markdown import block_tree as block_structure
from mdplan.markdown import parser as pulldown
from mdplan.markdown.block_tree import is_left_open, parse_blocks
from mdplan.markdown.blocks import ParseTimeout, check_deadline, extend_parse_time, parse_time, with_deadline
from mdplan.markdown.inline import InlineMap
from mdplan.markdown.lists import ListItem, MarkdownList
from mdplan.markdown.outline import Outline
from mdplan.markdown.parser import ParserFailure, PreparedText, event_batches, is_nested_too_deep
from mdplan.markdown.reference_parser import block_parser, html_parser, parse_reference_blocks
from mdplan.markdown.tables import TableSource
from mdplan.operations import OPERATIONS
from mdplan.operations.base import Resolution
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.text.lines import LineIndex, Span
from mdplan.text.source import Source
from mdplan.text.visible import display_width
from tests.support.case_tables import CaseTables
from tests.unit.test_planning import steps

CASE_TABLES = CaseTables(__file__)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# a | b\n--|--\nx | y\n", ["heading_open", "paragraph_open"]),
        ("## a|\n--\n", ["heading_open", "paragraph_open"]),
        ("| a |\n---\n", ["heading_open"]),
        ("a|\n--\n", ["heading_open"]),
        ("| a |\n|---|\n", ["table_open", "thead_open", "tr_open", "th_open"]),
        ("a\n:-\n", ["paragraph_open"]),
        ("|a\n:-\n", ["table_open", "thead_open", "tr_open", "th_open"]),
        ("x\n| a |\n|-|\n", ["paragraph_open", "table_open", "thead_open", "tr_open", "th_open"]),
        ("[a]: javascript:x\n===\n", ["definition", "paragraph_open"]),
        ("<div>\n# B\n</div>\n", ["html_block"]),
        (
            "- " * 100 + "a\n\n# b\n",
            [*["bullet_list_open", "list_item_open"] * 100, "paragraph_open", "heading_open"],
        ),
    ],
)
def test_blocks_have_their_kinds_and_lines(text: str, expected: list[str]) -> None:
    tokens = block_parser().parse(text)

    assert [
        token.type for token in tokens if token.nesting > 0 or token.type in {"definition", "html_block"}
    ] == expected


def test_destinations_are_not_normalized() -> None:
    (paragraph,) = [token for token in html_parser().parse("[a](<b c%20ü>)") if token.type == "inline"]

    assert paragraph.children is not None
    assert paragraph.children[0].attrs == {"href": "b c%20ü"}


# --- The adapter of pulldown-cmark: offsets, prepared texts, failures.

TEXTS = st.text(st.sampled_from("aé€😀\n\r\t#>-*[]`|:\0\f\ud800 "), max_size=3000)


@given(TEXTS)
def test_prepared_text_keeps_every_offset(text: str) -> None:
    prepared = PreparedText(text)

    assert len(prepared.text) == len(text)
    at = 0
    for index, character in enumerate(prepared.text):
        assert prepared.offset(at) == index
        at += len(character.encode())


@given(TEXTS)
def test_ranges_are_within_the_text_at_character_boundaries(text: str) -> None:
    prepared = PreparedText(text)
    data = prepared.text.encode()

    for batch in event_batches(prepared.text):
        for _, place in batch:
            assert 0 <= place["start"] <= place["end"] <= len(data)
            assert len(data[: place["start"]].decode()) == prepared.offset(place["start"])


@CASE_TABLES.parametrize("text", "expected")
def test_text_is_prepared_where_pulldown_deviates(text: str, expected: str) -> None:
    assert PreparedText(text).text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("> " * 201, True),
        ("a\n" + "- " * 201, True),
        ("> " * 200, False),
        ("- " * 150 + "\n" + "> " * 150, False),
    ],
)
def test_lines_with_too_many_markers_are_detected(text: str, expected: bool) -> None:
    assert is_nested_too_deep(text) == expected


class PanicException(BaseException):
    """What a panic in Rust raises."""


def test_panic_becomes_an_ordinary_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_: object, **__: object) -> None:
        raise PanicException

    monkeypatch.setattr(pulldown.pyromark, "events_with_range", panic)

    with pytest.raises(ParserFailure):
        list(event_batches("a"))


def test_undefined_references_are_links_on_request() -> None:
    asked: list[str] = []

    def is_label(label: str) -> bool:
        asked.append(label)
        return label == "a"

    events = [event for batch in event_batches("[a] [b]", is_label) for event, _ in batch]

    assert asked == ["a", "b"]
    assert sum("Link" in str(event) and "Start" in event for event in events) == 1


# --- Parsers stop when their time is over, and what others do does not count.


def ticking() -> Callable[[], float]:
    """A clock that goes on by a second whenever somebody looks at it."""
    seconds: Iterator[int] = count()
    return lambda: next(seconds)


def ask() -> None:
    for _ in range(200):
        check_deadline()


def nodes(text: str) -> object:
    return InlineMap(parse_blocks(text, LineIndex(text))).nodes_in(Span(0, len(text)))


HARD = {
    "headings": lambda: Outline(Source.from_text("# a\n" * 500)).parse(),
    "items": lambda: Outline(Source.from_text("- a\n- # b\n1. c\n" * 500)).blocks,
    "quotes": lambda: Outline(Source.from_text("> a\nb\n- c\n" * 500)).parse(),
    "a label without end": lambda: parse_reference_blocks("[\n" + "a\n" * 500),
    "lazy lines": lambda: parse_reference_blocks("- a\nb\n" * 500),
    "rows": lambda: parse_reference_blocks("|a|\n|-|\n" + "|b|\n" * 500),
    "columns": lambda: parse_reference_blocks("|x" * 9_000 + "\n" + "|-" * 9_000),
    "brackets": lambda: nodes("[a](b) " * 500),
    "stars": lambda: nodes("*a **a " * 500),
    "signs": lambda: nodes("<&\\\\" * 500),
    "cells": lambda: nodes("|`a`|\n|-|\n" + "|`b`|\n" * 500),
}


@pytest.mark.parametrize("parse", HARD.values(), ids=HARD)
def test_every_parser_stops_at_the_deadline(parse: Callable[[], object]) -> None:
    with parse_time(0, ticking()), pytest.raises(ParseTimeout):
        parse()


@pytest.mark.parametrize("parse", HARD.values(), ids=HARD)
def test_parsers_finish_without_or_within_a_deadline(parse: Callable[[], object]) -> None:
    parse()
    with parse_time(1_000_000, ticking()):
        parse()


def test_time_outside_parsers_does_not_count() -> None:
    with parse_time(10, ticking()):
        for _ in range(100):
            ask()


def test_parser_times_add_up_per_document() -> None:
    def ask_often(times: int) -> None:
        for _ in range(times):
            with_deadline(ask)()

    with parse_time(60, ticking()):
        ask_often(10)
        Outline(Source.from_text("a")).parse()
        ask_often(10)
    with parse_time(60, ticking()), pytest.raises(ParseTimeout):
        ask_often(20)


def test_outer_deadline_applies_inside_an_inner_one() -> None:
    with parse_time(0, ticking()), parse_time(1_000_000, ticking()), pytest.raises(ParseTimeout):
        with_deadline(ask)()


def test_parsers_work_again_after_a_timeout() -> None:
    with parse_time(0, ticking()), pytest.raises(ParseTimeout):
        with_deadline(ask)()

    with_deadline(ask)()
    with parse_time(1_000_000, ticking()):
        with_deadline(ask)()


# --- Past the deadline of parsing, every way says so and leaves all as it was: undo, plans that wait,
# review.

LONG = "# Top\n\n" + "- a\nb\n" * 2_000
EDIT = {"op": "insert_lines", "line": 1, "position": "after", "markdown": "Text."}
BATCH = {"file": "long.md", "edits": [EDIT]}


@pytest.fixture
def patient(tmp_path: Path) -> Engine:
    (tmp_path / "long.md").write_text(LONG, encoding="ascii")
    return Engine.open([tmp_path], settings=Settings(durability=Durability.PROCESS))


@pytest.fixture
def hurried(patient: Engine) -> Engine:
    """The same files, with no time to parse them."""
    return Engine(patient.workspace, Settings(durability=Durability.PROCESS, parse_seconds=1e-6))


def codes(problems: object) -> list[Code]:
    assert isinstance(problems, tuple), problems
    return [problem.code for problem in problems if isinstance(problem, Diagnostic)]


def planned(patient: Engine) -> str:
    report = patient.plan(BATCH)
    assert report.plan_id is not None
    return report.plan_id


def stale(patient: Engine, folder: Path) -> str:
    """Return a plan made before somebody changed the file."""
    plan_id = planned(patient)
    (folder / "long.md").write_text(LONG + "c\n", encoding="ascii")
    return plan_id


@pytest.mark.parametrize("dry_run", [False, True])
def test_undo_past_the_deadline_is_refused(
    patient: Engine, hurried: Engine, tmp_path: Path, dry_run: bool
) -> None:
    assert patient.apply({"planId": planned(patient)}).applied
    written, done = (tmp_path / "long.md").read_bytes(), patient.history().transactions

    assert codes(hurried.undo(dry_run=dry_run).diagnostics) == [Code.PARSE_TIMEOUT]

    assert (tmp_path / "long.md").read_bytes() == written
    assert patient.history().transactions == done
    assert patient.undo().applied


def test_rebased_undo_past_the_deadline_is_refused(patient: Engine, hurried: Engine, tmp_path: Path) -> None:
    assert patient.apply({"planId": planned(patient)}).applied
    with (tmp_path / "long.md").open("ab") as file:
        file.write(b"c\n")
    written = (tmp_path / "long.md").read_bytes()

    assert codes(hurried.undo(on_stale="rebase").diagnostics) == [Code.PARSE_TIMEOUT]

    assert (tmp_path / "long.md").read_bytes() == written
    assert patient.undo(on_stale="rebase").applied


def test_stale_plan_past_the_deadline_is_refused(patient: Engine, hurried: Engine, tmp_path: Path) -> None:
    plan_id = stale(patient, tmp_path)
    written = (tmp_path / "long.md").read_bytes()

    assert codes(hurried.apply({"planId": plan_id}).diagnostics) == [Code.PARSE_TIMEOUT]
    assert codes(hurried.show(plan_id).diagnostics) == [Code.PARSE_TIMEOUT]
    assert codes(hurried.diff_bytes(plan_id)) == [Code.PARSE_TIMEOUT]

    assert (tmp_path / "long.md").read_bytes() == written
    assert codes(patient.apply({"planId": plan_id}).diagnostics) == [Code.STALE_BASE]


def test_plan_on_its_base_is_applied_without_parsing(patient: Engine, hurried: Engine) -> None:
    assert hurried.apply({"planId": planned(patient)}).applied


def test_review_past_the_deadline_gives_the_reason(patient: Engine, hurried: Engine) -> None:
    opened = ReviewService(hurried).open(planned(patient))
    assert isinstance(opened, OpenPlan)

    assert codes(opened.file(0)) == [Code.PARSE_TIMEOUT]
    assert codes(opened.section(0, 0)) == [Code.PARSE_TIMEOUT]


def test_review_of_a_stale_plan_past_the_deadline_gives_the_reason(
    patient: Engine, hurried: Engine, tmp_path: Path
) -> None:
    plan_id = stale(patient, tmp_path)
    opened = ReviewService(hurried).open(plan_id)
    assert isinstance(opened, OpenPlan)

    assert codes(opened.stale) == [Code.PARSE_TIMEOUT]
    assert codes(opened.file(0)) == [Code.PARSE_TIMEOUT]
    assert codes(ReviewService(hurried).decide(plan_id, "somebody", Verdict.APPROVED)) == [Code.PARSE_TIMEOUT]


# --- Tables and lists as they stand in the source, and what looking things up in them costs.


def outline(text: str) -> Outline:
    return Outline(Source.from_text(dedent(text)))


# Tables.
def rows_of(table: TableSource) -> list[list[str]]:
    return [[table.text_in(row, at) for at in range(len(row.cells))] for row in table.rows]


@CASE_TABLES.parametrize("row", "cells", "outer_pipes", tuples=True)
def test_row_is_split_at_unescaped_pipes(
    row: str, cells: tuple[str, ...], outer_pipes: tuple[bool, bool]
) -> None:
    (table,) = outline(f"| x | y |\n|---|---|\n{row}\n").tables

    assert rows_of(table) == [[*cells]]
    assert (table.rows[0].leads, table.rows[0].trails) == outer_pipes


@pytest.mark.parametrize("prefix", ["> ", ">", "   ", "- ", "-\t", "12) ", "> - ", "- > ", ">\t", "- - "])
def test_table_in_containers_is_verified_and_its_rows_are_read(prefix: str) -> None:
    rest = "".join(mark if mark in ">\t" else " " for mark in prefix)
    (table,) = outline(f"{prefix}| a | b |\n{rest}|---|:-:|\n{rest}| 1 | 2 |\n").tables

    assert table.is_proven
    assert rows_of(table) == [["1", "2"]]
    assert table.alignments == ((False, False), (True, True))


def test_column_width_needs_a_majority_of_rows() -> None:
    (table,) = outline("""\
        | aa | bb | cc | dd
        |----|----|---|---
        | 1  | 2 | 3  | 4
        | 1 wide one  | 22 | 3  | 4
        """).tables

    assert table.widths == (4, 4, None, None)


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


@CASE_TABLES.parametrize("text", "is_spaced")
def test_list_with_blank_lines_between_items_is_loose(text: str, is_spaced: bool) -> None:
    assert outline(text).lists.outermost[0].is_spaced is is_spaced


@CASE_TABLES.parametrize("text", "position", "expected", tuples=True)
def test_marker_has_its_column_and_content_indentation(
    text: str, position: int, expected: tuple[str, str, str, str]
) -> None:
    base = outline(text)
    marker = base.lists.marker(base.lists.outermost[0], position)

    assert marker is not None
    assert (marker.text, marker.prefix, marker.spacing, marker.indentation) == expected


@CASE_TABLES.parametrize("text", "is_open")
def test_fence_is_closed_only_by_its_last_line(text: str, is_open: bool) -> None:
    (fence,) = outline(text).blocks

    assert fence.kind is block_structure.BlockKind.FENCE
    assert is_left_open(fence, text) is is_open


# Costs.
EDITS = CASE_TABLES.value("EDITS")


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


def test_limit_grows_with_the_documents_that_are_read_besides() -> None:
    def ask_often() -> None:
        for _ in range(20):
            with_deadline(ask)()

    with parse_time(60, ticking()):
        extend_parse_time(60)
        ask_often()
    with parse_time(60, ticking()), pytest.raises(ParseTimeout):
        ask_often()
