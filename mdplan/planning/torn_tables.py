"""Tables that edits around or inside their rows would tear."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.blocks import Block, BlockKind
from mdplan.markdown.outline import Outline
from mdplan.planning.build import BuiltFile
from mdplan.text.edit import TextEdit
from mdplan.text.lines import Span

_CELL_END: Final = re.compile(r"(?<!\\)\|")
_LISTED: Final = 5


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a table of the base, its line end left away; `place` is 0 for the header, 1 for the dashes."""

    line: int
    place: int
    span: Span


def torn_tables(built: BuiltFile) -> Problems:
    """OUTLINE_CHANGED for rows of tables that no edit replaces whole, and that would be none or lose cells.

    A row that stays as it is must be a row of a table, and the header and the dashes what they were. A row
    that is changed in part must not get more cells than its table has columns, and no line break.
    """
    lost = [row for block in _tables(built) for row in _lost_rows(built, block)]
    if not lost:
        return ()
    lines = [row.line for row in lost]
    listed = ", ".join(map(str, lines[:_LISTED])) + (", …" if len(lines) > _LISTED else "")
    noun = "row at line" if len(lines) == 1 else "rows at lines"
    return (
        Diagnostic(
            code=Code.OUTLINE_CHANGED,
            message=f"the {noun} {listed} would fall out of the table, or lose cells",
            hint="keep header, dashes and one row in each line; write `\\|` for a pipe in a cell; if "
            'that is wanted, send `"allowOutlineChange": true`',
            place=built.base.source.lines.position(lost[0].span.start),
        ),
    )


def _tables(built: BuiltFile) -> Iterator[Block]:
    """The tables of the base that the edits may have changed."""
    whole = Span(0, len(built.base.source.text))
    for old in (whole,) if built.changed is None else (old for old, _ in built.changed):
        yield from built.base.tree.tables_in(old)


def _rows(outline: Outline, block: Block) -> Iterator[_Row]:
    lines = outline.source.lines
    for place, line in enumerate(range(block.first_line, block.last_line + 1)):
        yield _Row(line, place, Span(lines.start(line), lines.content_end(line)))


def _lost_rows(built: BuiltFile, block: Block) -> Iterator[_Row]:
    near = [
        edit
        for edit in built.edits
        if edit.span.start <= block.span.end and edit.span.end >= block.span.start
    ]
    if not near and built.changed is None and len(built.edits) == 0:
        return
    for row in _rows(built.base, block):
        # A line without a pipe became a row because no blank line is above it: no harm if it is text again.
        if len(block.cells) > 1 and not _CELL_END.search(built.base.text_of(row.span)):
            continue
        edits = [each for each in near if _touches(each.span, row.span)]
        if any(_takes(each, row.span) for each in edits):
            continue
        if not _is_kept(built, block, row, edits):
            yield row


def _touches(edit: Span, row: Span) -> bool:
    return edit.overlaps(row) or row.start < edit.start < row.end


def _takes(edit: TextEdit, row: Span) -> bool:
    """Whether `edit` replaces the whole row, or an end of it with more than the row."""
    return edit.span.contains(row) or not row.contains(edit.span)


def _is_kept(built: BuiltFile, block: Block, row: _Row, edits: list[TextEdit]) -> bool:
    result = built.result
    start = built.edits.map_offset(row.span.start, after=not edits or edits[0].span.start > row.span.start)
    if start is None:
        return True
    lines = result.source.lines
    line = lines.line_at(start)
    if not edits and lines.start(line) != start:
        # Text was put before it, into its line.
        return True
    found = result.tree.leaf_at(lines.start(line)) or result.tree.leaf_at(start)
    if found is None or found.kind is not BlockKind.TABLE:
        return False
    if min(line - found.first_line, 2) != min(row.place, 2):
        return False
    if not edits:
        return len(found.cells) >= len(block.cells) or row.place > 0
    before = _cells(built.base.text_of(row.span))
    after = _cells(lines.content(line))
    has_break = any("\n" in edit.new_text or "\r" in edit.new_text for edit in edits)
    return not (after > max(before, len(found.cells)) or (has_break and after < before))


def _cells(row: str) -> int:
    text = row.strip(" \t>")
    return len(_CELL_END.findall(text)) + 1 - text.startswith("|") - (text.endswith("|") and len(text) > 1)
