"""Lines of a text, as CommonMark counts them.

A line ends at LF, CRLF or a lone CR and nowhere else (CommonMark 0.31.2, section 2.1), so
`str.splitlines`, which also splits at U+2028, form feeds and others, is never used.
"""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Final

from mdplan.text.lazy_pattern import lazy_pattern

_LINE_END = lazy_pattern(r"\r\n?|\n")


# --- Places in one text: offsets inside the core, lines and columns at the edges.


# Not frozen: an outline makes thousands, and freezing makes each one take three times as long.
@dataclass(slots=True, unsafe_hash=True, order=True)
class Span:
    """Half-open range ``[start, end)`` of code points in the text of one `Source`.

    Invariant: ``0 <= start <= end``.
    """

    start: int
    end: int

    def __post_init__(self) -> None:
        """Refuse a span that runs backwards: it could only come from a bug."""
        assert 0 <= self.start <= self.end, (self.start, self.end)

    def __len__(self) -> int:
        return self.end - self.start

    def contains(self, other: "Span") -> bool:
        """Whether `other` lies wholly inside, edges included."""
        return self.start <= other.start and other.end <= self.end

    def overlaps(self, other: "Span") -> bool:
        """Whether the two share at least one code point; spans that only touch do not."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Place of a code point for people: `line` and `col` are 1-based, columns count code points."""

    line: int
    col: int


class LineIndex:
    """Where each line of a text starts. Line numbers are 1-based; a final line end opens no line.

    The empty text has no line. Offsets are code points from the start of the text.
    """

    def __init__(self, text: str) -> None:
        """Index `text` in one pass, when it is first used."""
        self._text = text

    @cached_property
    def starts(self) -> list[int]:
        """Offset at which each line starts."""
        starts = [0, *(match.end() for match in _LINE_END.finditer(self._text))]
        if starts[-1] == len(self._text):
            starts.pop()
        return starts

    @cached_property
    def has_cr(self) -> bool:
        """Whether a line ends otherwise than by LF."""
        return "\r" in self._text

    @property
    def count(self) -> int:
        """Number of lines."""
        return len(self.starts)

    def line_at(self, offset: int) -> int:
        """Line of the code point at `offset`; the end of the text counts to the last line."""
        return max(bisect_right(self.starts, offset), 1)

    def start(self, line: int) -> int:
        """Offset of the first code point of `line`; for ``count + 1`` the end of the text."""
        starts = self.starts
        return starts[line - 1] if line <= len(starts) else len(self._text)

    def end(self, line: int) -> int:
        """Offset after the line end of `line`."""
        return self.start(line + 1)

    def content_end(self, line: int) -> int:
        """Offset after the last code point of `line`, before its line end."""
        end = self.end(line)
        if end > self.start(line) and self._text[end - 1] == "\n":
            end -= 1
        if end > self.start(line) and self._text[end - 1] == "\r":
            end -= 1
        return end

    def ending(self, line: int) -> str:
        """Line end of `line`: LF, CRLF, CR, or nothing for an unfinished last line."""
        return self._text[self.content_end(line) : self.end(line)]

    def span(self, first: int, last: int) -> Span:
        """Span of the lines `first` to `last` (inclusive) with their line ends."""
        return Span(self.start(first), self.end(last))

    def content(self, line: int) -> str:
        """Text of `line` without its line end."""
        return self._text[self.start(line) : self.content_end(line)]

    @property
    def line_ends(self) -> dict[str, int]:
        """How often each line end occurs; only those that do."""
        crlf = self._text.count("\r\n")
        ends = {"\n": self._text.count("\n") - crlf, "\r\n": crlf, "\r": self._text.count("\r") - crlf}
        return {end: count for end, count in ends.items() if count}

    def position(self, offset: int) -> Position:
        """Line and column of `offset`; after a final line end that is ``(count + 1, 1)``."""
        if offset == len(self._text) and self._text and self.ending(self.count):
            return Position(self.count + 1, 1)
        line = self.line_at(offset)
        return Position(line, offset - self.start(line) + 1)

    def offset(self, position: Position) -> int | None:
        """Offset of `position`, or None where the text has no such place.

        The opposite of `position`. A column may be one past the content of its line, which names the
        place before its line end; the place between CR and LF has no position of its own.
        """
        line, col = position.line, position.col
        if line == self.count + 1 and col == 1 and (line == 1 or self.ending(self.count)):
            return len(self._text)
        if not 1 <= line <= self.count or col < 1:
            return None
        offset = self.start(line) + col - 1
        return offset if offset <= self.content_end(line) else None


# To sort by it costs a fifth of what it takes to compare spans.
BY_PLACE: Final = attrgetter("start", "end")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Whole lines, 1-based and inclusive."""

    start: int
    end: int


# --- A place that is nearly what was asked for, as a value.


@dataclass(frozen=True, slots=True, kw_only=True)
class NearMiss:
    """A place that is nearly what was asked for. Lines and columns are 1-based, `end_line` is inclusive.

    `differs` names what differs, where, and what is there: ``dashes (U+2013, not U+002D) at column 9``.
    """

    line: int
    col: int
    end_line: int
    differs: str
