"""Tables, lists and tasks of real documents: what is added and removed again leaves no trace.

Another parser, cmark-gfm, sees the new row or item, and nothing else that is new. `make test` takes a sample
of files and blocks, MDPLAN_FULL=1 all files and more of each (tests/corpus/sample.py).
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mdplan.markdown.lists import MarkdownList, PlacedItem
from mdplan.markdown.outline import Outline
from mdplan.markdown.tables import TableSource
from mdplan.operations import OPERATIONS
from mdplan.operations.base import Resolution
from mdplan.planning.build import BuiltFile
from mdplan.text.source import Source
from tests.conftest import FULL
from tests.corpus.sample import (
    affordable,
    as_it_is,
    files_of,
    in_turn,
    spread,
    with_crlf,
    without_final_newline,
)
from tests.edit_trials import Document
from tests.rendered_page import Page

pytestmark = pytest.mark.timeout(3600 if FULL else 300)

SHARDS = 16 if FULL else 1
# Of each document so many tables, lists and tasks.
BLOCKS = 12 if FULL else 3
NEW = "Zq7 text"
ITEM = re.compile(rb"^([ \t]*[-*+] )(?=[A-Za-z])", re.MULTILINE)
CHECKED = 'checked=""'
ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
NEW_ROW = re.compile(rf"<tr>\n<td[^>]*>{NEW}</td>\n(?:<td[^>]*></td>\n)*</tr>\n")
NEW_ITEM = re.compile(rf"<li>(?:{NEW}|\n<p>{NEW}</p>\n)</li>\n")
EMPTY_BODY = "<tbody>\n</tbody>\n"

# Every reason for which an edit of these tests may be refused, with a document that proves it.
REASONS = {
    "header": "no header of the table is the name of one column alone",
    "key": "no cell of the column of keys is a key of one row alone",
    "open item": "the item ends in a fence or comment that is not closed",
}
# What is not looked at, and what need not be as it was.
EXCUSES = {
    "other parser": "the other parser sees fewer tables, so that its page proves nothing",
    "blank line": "text stood right behind the list that would have continued the new item",
}

Edit = dict[str, Any]


VARIANTS = (as_it_is, with_crlf, without_final_newline)


def documents(corpus: Path, shard: int) -> Iterator[Document]:
    return in_turn(corpus, files_of(corpus, first=3, step=72)[shard::SHARDS], VARIANTS)


@dataclass
class Counts:
    """What came of the edits of one shard."""

    done: int = 0
    excused: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def expect(self, holds: bool, document: Document, line: int, otherwise: object) -> None:
        if not holds:
            self.problems.append(f"{document.name}:{line}: {otherwise}")

    def judge(self, capsys: pytest.CaptureFixture[str], what: str) -> None:
        told = [f"{count} because {(REASONS | EXCUSES)[key]}" for key, count in self.excused.items()]
        with capsys.disabled():
            sys.stderr.write(f"\n{what}: {self.done} done, excused: {'; '.join(told) or 'none'}\n")
        assert self.done
        assert self.problems[:10] == []


def outline_of(data: bytes) -> Outline:
    source = Source.decode(data)
    assert isinstance(source, Source)
    return Outline(source)


def planned(counts: Counts, document: Document, line: int, edit: Edit) -> BuiltFile | None:
    outcome = document.plan(edit)
    if isinstance(outcome, BuiltFile):
        return outcome
    counts.expect(False, document, line, f"{edit['op']}: refused, {outcome[0]}")
    return None


def then(built: BuiltFile, document: Document) -> Document:
    """The document that `built` makes."""
    return Document(document.name, built.result.source.data)


each_shard = pytest.mark.parametrize("shard", range(SHARDS))


# Tables.


def key_column_of(table: TableSource) -> int | None:
    """The first column that its header names alone."""
    columns = range(len(table.columns))
    return next((at for at in columns if table.columns_named(table.columns[at]) == (at,)), None)


def own_cells(table: TableSource, keys: int) -> Iterator[tuple[int, Edit]]:
    """Edits that give rows the cells that they have."""
    named = [at for at, name in enumerate(table.columns) if table.columns_named(name) == (at,)]
    for row in spread(table.rows, BLOCKS):
        key = table.text_in(row, keys)
        if key and len(table.rows_with(keys, key)) == 1:
            cells = {table.columns[at]: table.text_in(row, at) for at in named}
            yield row.line, upsert(table, keys, key, cells)


def upsert(table: TableSource, keys: int, key: str, row: dict[str, str]) -> Edit:
    return at_table("upsert_table_row", table, keys, key) | {"row": row}


def at_table(op: str, table: TableSource, keys: int, key: str) -> Edit:
    return {"op": op, "table": {"index": table.index}, "keyColumn": table.columns[keys], "key": key}


@each_shard
def test_cells_that_get_their_own_values_do_not_change(
    corpus: Path, shard: int, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = Counts()
    for document in documents(corpus, shard):
        for table in document.outline.tables:
            counts.expect(table.is_proven, document, table.block.first_line, "not proven")
            keys = key_column_of(table)
            edits = list(own_cells(table, keys)) if keys is not None else []
            if table.rows and not edits:
                counts.excused["header" if keys is None else "key"] += 1
            for line, edit in edits:
                outcome = OPERATIONS[edit["op"]].model_validate(edit).resolve(document.outline)
                is_no_op = isinstance(outcome, Resolution) and not outcome.edits
                counts.expect(is_no_op, document, line, outcome)
                counts.done += 1

    counts.judge(capsys, f"own cells, shard {shard}")


@pytest.mark.requirement("blocks-1")
@each_shard
def test_row_that_is_added_and_deleted_leaves_no_trace(
    corpus: Path, shard: int, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = Counts()
    for document in documents(corpus, shard):
        for table in spread(document.outline.tables, affordable(document, BLOCKS)):
            keys = key_column_of(table)
            if keys is None:
                counts.excused["header"] += 1
                continue
            line = table.block.first_line
            added = planned(counts, document, line, upsert(table, keys, NEW, {}))
            if added is None:
                continue
            check_row(counts, document, added, table, keys)
            deleted = planned(
                counts, then(added, document), line, at_table("delete_table_row", table, keys, NEW)
            )
            is_same = deleted is not None and deleted.result.source.data == document.data
            counts.expect(is_same, document, line, "other bytes")
            counts.done += 1

    counts.judge(capsys, f"rows, shard {shard}")


def check_row(counts: Counts, document: Document, built: BuiltFile, table: TableSource, keys: int) -> None:
    line = table.block.first_line
    read = built.result.tables[table.index]
    cells = [read.text_in(read.rows[-1], at) for at in range(len(read.columns))]
    expected = [NEW if at == keys else "" for at in range(len(table.columns))]
    counts.expect(cells == expected, document, line, cells)
    counts.expect(len(built.result.tables) == len(document.outline.tables), document, line, "tables")
    after = Page.of(built.result.source.data).body
    if document.page.body.count("<table>") != len(document.outline.tables) or NEW not in "".join(
        ROW.findall(after)
    ):
        counts.excused["other parser"] += 1
    elif keys == 0:
        page = NEW_ROW.sub("", after)
        same = page.replace(EMPTY_BODY, "") == document.page.body.replace(EMPTY_BODY, "")
        counts.expect(same, document, line, "another page")


# Lists.


def add(listing: MarkdownList, document: Document, place: Edit) -> Edit:
    return {"op": "add_list_item", "item": NEW, "list": {"index": listing.index}, **place}


PLACES: list[Edit] = [{}, {"position": "start"}]


@pytest.mark.requirement("blocks-1")
@each_shard
def test_item_that_is_added_and_removed_leaves_no_trace(
    corpus: Path, shard: int, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = Counts()
    for document in documents(corpus, shard):
        for listing in spread(document.outline.lists.outermost, affordable(document, BLOCKS)):
            for place in [*PLACES, *beside(document.outline, listing)]:
                check_item(counts, document, listing, add(listing, document, place))

    counts.judge(capsys, f"items, shard {shard}")


def beside(outline: Outline, listing: MarkdownList) -> Iterator[Edit]:
    """Places beside an item of `listing` that its text names alone, or under it."""
    for item in spread(listing.items, BLOCKS):
        if item.text and len(outline.lists.items_named(item.text)) == 1 and "\0" not in item.text:
            yield {"after": item.text}
            yield {"before": item.text}
            yield {"under": item.text}
            return


def check_item(counts: Counts, document: Document, listing: MarkdownList, edit: Edit) -> None:
    line = listing.block.first_line
    outcome = document.plan(edit)
    if not isinstance(outcome, BuiltFile):
        is_open = "not closed" in outcome[0].message and "under" in edit
        counts.excused["open item"] += is_open
        counts.expect(is_open, document, line, f"{edit}: refused, {outcome[0]}")
        return
    page = NEW_ITEM.sub("", Page.of(outcome.result.source.data).body)
    same = page.replace("<ul>\n</ul>\n", "") == document.page.body
    if "under" not in edit:
        counts.expect(same, document, line, f"{edit}: another page")
    removed = planned(counts, then(outcome, document), line, {"op": "remove_list_item", "item": NEW})
    if removed is not None and removed.result.source.data != document.data:
        is_blank_line = blank_lines(removed.result.source.data) == blank_lines(document.data) + 1
        counts.excused["blank line"] += is_blank_line
        counts.expect(is_blank_line, document, line, f"{edit}: other bytes")
    counts.done += 1


def blank_lines(data: bytes) -> int:
    return len(re.findall(rb"^[ \t>]*\r?$", data, re.MULTILINE))


# Tasks.


@each_shard
def test_task_toggled_twice_is_unchanged(
    corpus: Path, shard: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Few real documents have tasks, so their items are made tasks; in code these are look-alikes."""
    counts = Counts()
    for document in documents(corpus, shard):
        boxed = Document(f"{document.name} boxed", ITEM.sub(rb"\1[ ] ", document.data))
        for tried in (document, boxed):
            before = tasks_of(tried.outline)
            for placed in spread(named_alone(tried.outline, before), affordable(tried, BLOCKS)):
                flip_twice(counts, tried, before, placed)

    counts.judge(capsys, f"tasks, shard {shard}")


def flip_twice(counts: Counts, document: Document, before: Sequence[PlacedItem], placed: PlacedItem) -> None:
    item = placed.item
    edit = {"op": "set_task", "item": item.text, "done": item.mark == " "}
    flipped = planned(counts, document, item.first_line, edit)
    if flipped is None:
        return
    pairs = zip(before, tasks_of(flipped.result), strict=True)
    changed = [old.item.first_line for old, new in pairs if old.item.mark != new.item.mark]
    counts.expect(changed == [item.first_line], document, item.first_line, f"{changed} changed")
    page, now = document.page.body, Page.of(flipped.result.source.data).body
    counts.expect(now.count(CHECKED) - page.count(CHECKED) in {1, -1}, document, item.first_line, "page")
    back = planned(counts, then(flipped, document), item.first_line, edit | {"done": not edit["done"]})
    is_same = back is not None and back.result.source.data == document.data
    counts.expect(is_same, document, item.first_line, "other bytes")
    counts.done += 1


def tasks_of(outline: Outline) -> list[PlacedItem]:
    return [
        PlacedItem(listing, position)
        for listing in outline.lists.all
        for position, item in enumerate(listing.items)
        if item.mark is not None
    ]


def named_alone(outline: Outline, tasks: Sequence[PlacedItem]) -> list[PlacedItem]:
    named = outline.lists.items_named
    return [placed for placed in tasks if placed.item.text and len(named(placed.item.text)) == 1]
