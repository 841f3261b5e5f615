"""From inline content back to the source: columns, proven by comparing the text.

The parser hands out the content of a paragraph, heading or table cell without the marks of the quotes and
lists around it, and only its line numbers. Its rules trim content at its ends alone, so the content of each
line is the end of its source line. What does not compare equal has no columns.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from mdplan.markdown.blocks.parser import trim_characters
from mdplan.text.lines import LineIndex
from mdplan.text.span import Span

_CLOSING_SEQUENCE: Final = re.compile(r"[ \t]#+[ \t]*\Z")
_CELL_END: Final = re.compile(r"(?<!\\)\|")
# A tab that a container uses up in part leaves at most three columns, which show as spaces.
_MAX_PARTIAL_TAB: Final = 3
# Lines of nothing but no-break spaces and the like at the edges of a paragraph are not in its content.
_MAX_TRIMMED_LINES: Final = 8


class _Piece(NamedTuple):
    """A run of content that stands in the source in one piece.

    `at` is its start in the content, `start` and `end` are its place in the source; `lead` is the place
    behind the piece before it on the same line, else `start`.
    """

    at: int
    start: int
    end: int
    lead: int


class ContentColumns:
    """Where each place of one inline content is in the source."""

    __slots__ = ("_pieces", "_starts")

    def __init__(self, pieces: Sequence[_Piece]) -> None:
        """Take the pieces of the content in order; the first starts at 0."""
        self._pieces = pieces
        self._starts = [piece.at for piece in pieces]

    def offset(self, at: int) -> int:
        """Source offset of the place before the code point `at` of the content (or at its end)."""
        piece = self._pieces[bisect_right(self._starts, at) - 1]
        if at == piece.at:
            return piece.lead
        return min(piece.start + at - piece.at, piece.end)

    def span(self, span: Span) -> Span:
        """Source span of a span of the content."""
        return Span(self.offset(span.start), self.offset(span.end))


class SourceLines:
    """The lines of a source as the parser sees them: NUL is U+FFFD there (CommonMark 0.31.2, 2.3)."""

    __slots__ = ("_lines",)

    def __init__(self, lines: LineIndex) -> None:
        """Look at the text that has these `lines`."""
        self._lines = lines

    def content(self, line: int) -> str:
        """Text of the 1-based `line` without its line end."""
        return self._lines.content(line).replace("\0", "\ufffd")

    def start(self, line: int) -> int:
        """Offset of the first code point of `line`."""
        return self._lines.start(line)


def paragraph_columns(
    content: str, first_line: int, last_line: int, source: SourceLines
) -> ContentColumns | None:
    """Columns of the content of a paragraph or setext heading on these lines (1-based, inclusive)."""
    parts = content.split("\n")
    surplus = last_line - first_line + 1 - len(parts)
    if not 0 <= surplus <= _MAX_TRIMMED_LINES:
        return None
    found = [
        columns
        for skipped in range(surplus + 1)
        if (columns := _line_columns(parts, first_line + skipped, source)) is not None
    ]
    return found[0] if len(found) == 1 else None


def heading_columns(content: str, line: int, source: SourceLines) -> ContentColumns | None:
    """Columns of the content of an ATX heading on `line`: before the closing sequence, if it has one."""
    whole = source.content(line)
    closing = _CLOSING_SEQUENCE.search(whole)
    before = (whole[: closing.start()] if closing else whole).rstrip(trim_characters())
    if not before.endswith(content):
        return None
    start = source.start(line) + len(before) - len(content)
    return ContentColumns([_Piece(0, start, start + len(content), start)])


def row_columns(
    contents: Sequence[str], line: int, column: int, source: SourceLines
) -> tuple[ContentColumns | None, ...]:
    """Columns of the cells of a table row on `line`, whose text starts at the 0-based `column`.

    A pipe that a backslash escapes is content without the backslash (GFM, tables extension).
    """
    row = source.content(line)[column:]
    trimmed = row.strip(trim_characters())
    base = source.start(line) + column + len(row) - len(row.lstrip(trim_characters()))
    bounds = [0, *(match.end() for match in _CELL_END.finditer(trimmed)), len(trimmed) + 1]
    cells = [Span(start, end - 1) for start, end in pairwise(bounds)]
    if cells and not cells[0]:
        cells.pop(0)
    if cells and not cells[-1]:
        cells.pop()
    return tuple(
        _cell_columns(content, trimmed, cells[index], base) if index < len(cells) else None
        for index, content in enumerate(contents)
    )


def joined_lines(first_line: int, columns: Iterable[int], source: SourceLines) -> tuple[str, ContentColumns]:
    """The text of lines from these 0-based `columns` on, joined by line feeds, with its columns."""
    parts: list[str] = []
    pieces: list[_Piece] = []
    at = 0
    for line, column in enumerate(columns, first_line):
        part = source.content(line)[column:]
        start = source.start(line) + column
        pieces.append(_Piece(at, start, start + len(part), start))
        parts.append(part)
        at += len(part) + 1
    return "\n".join(parts), ContentColumns(pieces)


def _line_columns(parts: Sequence[str], first_line: int, source: SourceLines) -> ContentColumns | None:
    pieces: list[_Piece] = []
    at = 0
    for line, part in enumerate(parts, first_line):
        whole = source.content(line)
        if line == first_line + len(parts) - 1:
            whole = whole.rstrip(trim_characters())
        partial_tab = 0
        while not whole.endswith(part[partial_tab:]):
            if partial_tab == _MAX_PARTIAL_TAB or not part.startswith(" ", partial_tab):
                return None
            partial_tab += 1
        end = source.start(line) + len(whole)
        start = end - len(part) + partial_tab
        if partial_tab:
            pieces.append(_Piece(at, start, start, start))
        pieces.append(_Piece(at + partial_tab, start, end, start))
        at += len(part) + 1
    return ContentColumns(pieces)


def _cell_columns(content: str, row: str, cell: Span, base: int) -> ContentColumns | None:
    raw = row[cell.start : cell.end]
    if raw.replace("\\|", "|").strip(trim_characters()) != content or not content:
        return None
    start = cell.start + len(raw) - len(raw.lstrip(trim_characters()))
    end = cell.start + len(raw.rstrip(trim_characters()))
    pieces: list[_Piece] = []
    at = 0
    lead = start
    while True:
        backslash = row.find("\\|", start, end)
        stop = end if backslash < 0 else backslash
        if stop > start or backslash < 0:
            pieces.append(_Piece(at, base + start, base + stop, base + lead))
            at += stop - start
            lead = stop
        if backslash < 0:
            return ContentColumns(pieces)
        start = backslash + 1
