"""Candidates that name tasks, list items, rows of tables and code blocks."""

import re
from collections.abc import Iterator
from itertools import chain

from mdplan.derive.candidate import CandidateEdits, Edit
from mdplan.derive.section_candidates import proven_address
from mdplan.derive.version_change import Change, ChangedRun
from mdplan.markdown.blocks.block_structure import Block
from mdplan.markdown.elements.lists import PlacedItem
from mdplan.markdown.elements.tables import TableRow, TableSource
from mdplan.markdown.outline.outline import Outline
from mdplan.text.line_end_view import to_lf

_MARKER = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])[ \t]+")


def task_candidates(change: Change, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """A task whose box changes."""
    if not hunk.old_end - hunk.old_start == 1 == hunk.new_end - hunk.new_start:
        return
    before, after = _item(change.old, hunk.old_start + 1), _item(change.new, hunk.new_start + 1)
    if before is None or after is None or None in (before.item.mark, after.item.mark):
        return
    if before.item.text == after.item.text:
        yield CandidateEdits.of("set_task", item=before.item.text, done=after.item.mark != " ")


def element_candidates(change: Change, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """Items, rows and code blocks that change. Lines say each of these in fewer tokens."""
    if hunk.is_insertion:
        parts = (_added_items, _added_rows)
    elif hunk.new_start == hunk.new_end:
        parts = (_removed_items, _deleted_rows)
    else:
        parts = (_other_cells, _other_code)
    yield from chain.from_iterable(part(change, hunk) for part in parts)


def _added_items(change: Change, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """Items of one line, each with a neighbour that stays."""
    items = [_item(change.new, line) for line in _lines(change.new, hunk.new_start, hunk.new_end)]
    listing = items[0].listing if items and items[0] is not None else None
    if listing is None or any(each is None or each.listing is not listing for each in items):
        return
    found = [each for each in items if each is not None]
    if any(each.item.first_line != each.item.last_line for each in found):
        return
    texts = [
        _MARKER.sub("", change.new.source.lines.content(each.item.first_line), count=1) for each in found
    ]
    before, after = found[0].position, found[-1].position + 1
    if before > 0:
        place = {"after": listing.items[before - 1].text}
    elif after < len(listing.items):
        place = {"before": listing.items[after].text}
    else:
        return
    address = proven_address(change, change.old.section_at(_start(change, hunk)))
    yield CandidateEdits(
        tuple(
            edit
            for text in texts
            for edit in CandidateEdits.of("add_list_item", **address, **place, item=text).edits
        )
    )


def _removed_items(change: Change, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """Items of one line, each with its marker, so that it proves all that goes."""
    items = [_item(change.old, line) for line in _lines(change.old, hunk.old_start, hunk.old_end)]
    found = [each.item for each in items if each is not None]
    if found and len(found) == len(items) and all(each.first_line == each.last_line for each in found):
        lines = [change.old.source.lines.content(each.first_line).strip() for each in found]
        edits = (CandidateEdits.of("remove_list_item", item=line).edits for line in lines)
        yield CandidateEdits(tuple(chain.from_iterable(edits)))


def _added_rows(change: Change, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """Rows at the end of a table."""
    rows = [_row(change.new, line) for line in _lines(change.new, hunk.new_start, hunk.new_end)]
    before = _row(change.old, hunk.old_start)
    if before is None or not rows or before[1].line != before[0].block.last_line:
        return
    edits: list[Edit] = []
    for each in rows:
        key = _key(*each) if each is not None else None
        if each is None or key is None:
            return
        table, row = each
        cells = {
            name: table.text_in(row, column)
            for column, name in enumerate(table.columns)
            if column != key and table.text_in(row, column)
        }
        edits += _row_edit(change, before[0], key, table.text_in(row, key), cells)
    yield CandidateEdits(tuple(edits))


def _deleted_rows(change: Change, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    rows = [_row(change.old, line) for line in _lines(change.old, hunk.old_start, hunk.old_end)]
    edits: list[Edit] = []
    for each in rows:
        key = _key(*each) if each is not None else None
        if each is None or key is None:
            return
        edits += _row_edit(change, each[0], key, each[0].text_in(each[1], key), None)
    if edits:
        yield CandidateEdits(tuple(edits))


def _other_cells(change: Change, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """Cells of rows, one by one, whose keys stay."""
    count = hunk.old_end - hunk.old_start
    if count != hunk.new_end - hunk.new_start:
        return
    edits: list[Edit] = []
    for step in range(count):
        old, new = _row(change.old, hunk.old_start + step + 1), _row(change.new, hunk.new_start + step + 1)
        key = _key(*old) if old is not None else None
        if old is None or new is None or key is None or old[0].columns != new[0].columns:
            return
        (table, row), (after, changed) = old, new
        cells = {
            name: after.text_in(changed, column)
            for column, name in enumerate(table.columns)
            if after.text_in(changed, column) != table.text_in(row, column)
        }
        if not cells or table.text_in(row, key) != after.text_in(changed, key):
            return
        edits += _row_edit(change, table, key, table.text_in(row, key), cells)
    yield CandidateEdits(tuple(edits))


def _row_edit(
    change: Change, table: TableSource, column: int, key: str, row: dict[str, str] | None
) -> tuple[Edit, ...]:
    """The edit of the row `key`; it goes where there is no `row`."""
    op = "delete_table_row" if row is None else "upsert_table_row"
    address = proven_address(change, change.old.section_at(table.block.span.start))
    fields = {"keyColumn": table.columns[column], "key": key, "row": row}
    return CandidateEdits.of(op, **address, **fields).edits


def _key(table: TableSource, row: TableRow) -> int | None:
    """The first column with a name whose cell in `row` is no other row's."""
    for column, name in enumerate(table.columns):
        text = table.text_in(row, column)
        is_named = name and table.columns.count(name) == 1
        if is_named and text and [table.text_in(each, column) for each in table.rows].count(text) == 1:
            return column
    return None


def _other_code(change: Change, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """A code block most of whose lines change."""
    old = _fence(change.old, hunk.old_start + 1, hunk.old_end)
    new = _fence(change.new, hunk.new_start + 1, hunk.new_end)
    if old is None or new is None or 2 * (hunk.old_end - hunk.old_start) < old.last_line - old.first_line - 1:
        return
    section = change.old.section_at(old.span.start)
    fences = change.old.tree.fences_in(section.span)
    place = {"codeBlock": {"index": fences.index(old)}, "expectedText": old.code.removesuffix("\n")}
    code = to_lf(new.code).removesuffix("\n")
    address = {
        name: value for name, value in proven_address(change, section).items() if name != "sectionSha256"
    }
    yield CandidateEdits.of("replace_code_block", **address, **place, markdown=code)


def _fence(outline: Outline, first: int, last: int) -> Block | None:
    """The code block that the 1-based lines `first` to `last` are the code of, or a part of that."""
    return next(
        (each for each in outline.tree.fences if each.first_line < first <= last < each.last_line), None
    )


def _lines(outline: Outline, start: int, end: int) -> list[int]:
    """The 1-based numbers of those of the 0-based lines ``[start, end)`` that are not blank."""
    return [line for line in range(start + 1, end + 1) if outline.source.lines.content(line).strip()]


def _start(change: Change, hunk: ChangedRun) -> int:
    return max(change.old_span(hunk.old_start, hunk.old_start).start - 1, 0)


def _item(outline: Outline, line: int) -> PlacedItem | None:
    """The list item that starts at `line`, 1-based."""
    placed = (
        PlacedItem(listing, position)
        for listing in outline.lists.all
        if listing.block.first_line <= line <= listing.last_line
        for position in range(len(listing.items))
    )
    return next((each for each in placed if each.item.first_line == line), None)


def _row(outline: Outline, line: int) -> tuple[TableSource, TableRow] | None:
    """The row of a table at `line`, 1-based, and its table."""
    tables = (each for each in outline.tables if each.block.first_line + 1 < line <= each.block.last_line)
    table = next(tables, None)
    return None if table is None else (table, table.rows[line - table.block.first_line - 2])
