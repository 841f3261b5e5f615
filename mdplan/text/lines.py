"""Spans, lines as CommonMark counts them, newlines, and line hashes.

A line ends only at LF, CRLF or a lone CR (CommonMark 0.31.2, section 2.1), so `str.splitlines`, which also
splits at U+2028, form feeds and others, is never used.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from itertools import accumulate, pairwise
from operator import add, attrgetter
from typing import Final

from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.values import Struct

_LINE_END = lazy_pattern(r"\r\n?|\n")

# --- Spans and positions: offsets internally, lines and columns in the interface


class Span(Struct, order=True):
    """A half-open range ``[start, end)`` of characters in a `Source`."""

    start: int
    end: int

    def __post_init__(self) -> None:
        """Assert ``0 <= start <= end``."""
        assert 0 <= self.start <= self.end, (self.start, self.end)

    def __len__(self) -> int:
        return self.end - self.start

    def contains(self, other: "Span") -> bool:
        """Return True if `other` is inside, edges included."""
        return self.start <= other.start and other.end <= self.end

    def overlaps(self, other: "Span") -> bool:
        """Return True if both share a character; adjacent spans do not."""
        return self.start < other.end and other.start < self.end


def overlapping(spans: "Sequence[Span]", span: Span) -> Span | None:
    """Return one of `spans`, which are sorted and disjoint, that shares a character with `span`."""
    index = bisect_right(spans, span.start, key=attrgetter("end"))
    return spans[index] if index < len(spans) and spans[index].overlaps(span) else None


class Position(Struct, order=True):
    """A position in a text: 1-based `line` and `col`; columns count characters."""

    line: int
    col: int


class LineIndex:
    """The line table of a text. Lines are 1-based; a final newline does not start another line.

    The empty text has no lines. Offsets count characters.
    """

    def __init__(self, text: str) -> None:
        """Create the table; `text` is indexed on first use."""
        self.text = text

    @cached_property
    def starts(self) -> list[int]:
        """The offset of each line start."""
        if self.has_cr:
            starts = [0, *(match.end() for match in _LINE_END.finditer(self.text))]
        else:
            lines = self.text.split("\n")
            starts = [*map(add, accumulate(map(len, lines), initial=0), range(len(lines)))]
        if starts[-1] == len(self.text):
            starts.pop()
        return starts

    @cached_property
    def has_cr(self) -> bool:
        """True if a line ends with CR or CRLF."""
        return "\r" in self.text

    @property
    def count(self) -> int:
        """The number of lines."""
        return len(self.starts)

    def line_at(self, offset: int) -> int:
        """Return the line of the character at `offset`; the end of the text is on the last line."""
        return max(bisect_right(self.starts, offset), 1)

    def start(self, line: int) -> int:
        """Return the start of `line`; for ``count + 1``, the end of the text."""
        starts = self.starts
        return starts[line - 1] if line <= len(starts) else len(self.text)

    def end(self, line: int) -> int:
        """Return the end of `line`, after its newline."""
        return self.start(line + 1)

    def content_end(self, line: int) -> int:
        """Return the end of the content of `line`, before its newline."""
        end = self.end(line)
        if end > self.start(line) and self.text[end - 1] == "\n":
            end -= 1
        if end > self.start(line) and self.text[end - 1] == "\r":
            end -= 1
        return end

    def ending(self, line: int) -> str:
        """Return the newline of `line`: LF, CRLF, CR, or empty for an unfinished last line."""
        return self.text[self.content_end(line) : self.end(line)]

    def span(self, first: int, last: int) -> Span:
        """Return the span of the lines `first` to `last` (inclusive) with their newlines."""
        return Span(self.start(first), self.end(last))

    def content(self, line: int) -> str:
        """Return `line` without its newline."""
        return self.text[self.start(line) : self.content_end(line)]

    @property
    def with_ends(self) -> list[str]:
        """The lines with their newlines."""
        return [self.text[start:end] for start, end in pairwise((*self.starts, len(self.text)))]

    def has_text(self, line: int) -> bool:
        """Return True if `line` is not blank."""
        return bool(self.content(line).strip(" \t"))

    def last_with_text(self, first: int, last: int) -> int:
        """Return the last non-blank line from `first` to `last`, or ``first - 1``."""
        while last >= first and not self.has_text(last):
            last -= 1
        return last

    @property
    def line_ends(self) -> dict[str, int]:
        """Count the newlines of each kind that occurs."""
        crlf = self.text.count("\r\n")
        ends = {"\n": self.text.count("\n") - crlf, "\r\n": crlf, "\r": self.text.count("\r") - crlf}
        return {end: count for end, count in ends.items() if count}

    def position(self, offset: int) -> Position:
        """Return line and column of `offset`; after a final newline ``(count + 1, 1)``."""
        if offset == len(self.text) and self.text and self.ending(self.count):
            return Position(self.count + 1, 1)
        line = self.line_at(offset)
        return Position(line, offset - self.start(line) + 1)

    def offset(self, position: Position) -> int | None:
        """Return the offset of `position`, or None if it does not exist.

        A column may be one past the content of its line. There is no position between CR and LF.
        """
        line, col = position.line, position.col
        if line == self.count + 1 and col == 1 and (line == 1 or self.ending(self.count)):
            return len(self.text)
        if not 1 <= line <= self.count or col < 1:
            return None
        offset = self.start(line) + col - 1
        return offset if offset <= self.content_end(line) else None


# Five times as fast as comparing spans.
BY_PLACE: Final = attrgetter("start", "end")


class Lines(Struct, kw_only=True):
    """Whole lines, 1-based and inclusive."""

    start: int
    end: int


class NearMiss(Struct, kw_only=True):
    """Text similar to a text that was not found. Lines and columns are 1-based, `end_line` is inclusive.

    `differs` describes the difference: ``dashes (U+2013, not U+002D) at column 9``.
    """

    line: int
    col: int
    end_line: int
    differs: str


# --- Newlines: callers' texts use LF, and are matched against an LF view of the real text

# Newlines in regular expressions: `\r\n`, `\r?\n`, `(?:\r\n|\n)`, after an even number of backslashes.
_SPELT_LINE_END: Final = lazy_pattern(r"(?<!\\)((?:\\\\)*)(?:\\r\??\\n|\(\?:\\r\\n\|\\n\))")


def to_lf(text: str) -> str:
    """Return `text` with LF for every CRLF and lone CR."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def lf_pattern(pattern: str, *, is_regex: bool) -> str:
    """Return `pattern` for the LF view, including newlines spelled out in a regex."""
    pattern = to_lf(pattern)
    return _SPELT_LINE_END.sub(r"\g<1>\\n", pattern) if is_regex else pattern


def with_line_ends(text: str, line_end: str) -> str:
    """Return `text` with `line_end` for every newline."""
    text = to_lf(text)
    return text if line_end == "\n" else text.replace("\n", line_end)


def lines_of(text: str) -> list[str]:
    """Split `text` (LF newlines) into lines; the last newline is optional."""
    return text.removesuffix("\n").split("\n") if text else []


def text_range(lines: Sequence[str], blanks: str | None = None) -> range:
    """Return the index range from the first to the last non-blank line.

    Blank lines hold only `blanks`, or by default any whitespace, as in INI files.
    """
    with_text = [index for index, line in enumerate(lines) if line.strip(blanks)]
    return range(with_text[0], with_text[-1] + 1) if with_text else range(0)


class LineEndView:
    """An LF view of a text; free for texts that already use only LF."""

    __slots__ = ("_is_lf_alone", "_lines", "_starts", "text")

    def __init__(self, text: str, lines: LineIndex) -> None:
        """Create the view of `text` with the line table `lines`."""
        self.text = to_lf(text) if lines.has_cr else text
        self._is_lf_alone = self.text is text
        self._lines = lines
        self._starts: list[int] | None = None
        if len(self.text) != len(text):
            lengths = (len(line) + 1 for line in self.text.split("\n"))
            self._starts = [0, *accumulate(lengths)]

    def span_in_text(self, span: Span) -> Span:
        """Convert a span of the view to the real text."""
        return Span(self._to_text(span.start), self._to_text(span.end))

    def line_end_around(self, offset: int) -> str:
        """Return the newline for new text at `offset` of the real text, like `line_end_around`."""
        return "\n" if self._is_lf_alone else line_end_around(self._lines, offset)

    def span_in_view(self, span: Span) -> Span:
        """Convert a span of the real text, which must not split a CRLF, to the view."""
        return Span(self._to_view(span.start), self._to_view(span.end))

    def _to_text(self, offset: int) -> int:
        if self._starts is None:
            return offset
        line = bisect_right(self._starts, offset)
        return self._lines.start(line) + offset - self._starts[line - 1]

    def _to_view(self, offset: int) -> int:
        if self._starts is None:
            return offset
        line = self._lines.line_at(offset)
        if offset == self._lines.end(line):
            line += 1
        return min(self._starts[line - 1] + offset - self._lines.start(line), len(self.text))


def line_end_around(lines: LineIndex, offset: int) -> str:
    """Return the newline for new text at `offset`: that of the previous line, else of its line, else LF."""
    if lines.count:
        line = lines.line_at(offset)
        before = line - 1 if offset == lines.start(line) or not lines.ending(line) else line
        if before >= 1 and lines.ending(before):
            return lines.ending(before)
        if lines.ending(line):
            return lines.ending(line)
    return "\n"


# --- Line addresses with a short hash: ``12:a3f``
LEAST_DIGITS: Final = 3


class LineHashes:
    """Hashes of the lines of a text, without newlines. Lines are 1-based."""

    def __init__(self, lines: LineIndex) -> None:
        """Hash all of `lines`."""
        self._digests = [_digest(lines.content(number)) for number in range(1, lines.count + 1)]

    def address(self, line: int) -> str:
        """Return the address of `line`: three hex digits of its hash, or more to distinguish it."""
        digest = self._digests[line - 1]
        distinct = self._distinct
        index = bisect_left(distinct, digest)
        near = distinct[max(index - 1, 0) : index] + distinct[index + 1 : index + 2]
        length = max([LEAST_DIGITS, *(common_start(digest, other) + 1 for other in near)])
        return f"{line}:{digest[:length]}"

    def places(self, start: str, end: str, distance: int) -> Sequence[int]:
        """Return the lines with hash `start` that have hash `end` `distance` lines below.

        `start` may list the hashes of successive lines, separated by commas.
        """
        digests = self._digests
        first, *following = start.split(",")
        return [
            number
            for number, digest in enumerate(digests[: len(digests) - distance], start=1)
            if digest.startswith(first)
            and digests[number - 1 + distance].startswith(end)
            and all(map(str.startswith, digests[number : number + len(following)], following))
        ]

    @cached_property
    def _distinct(self) -> list[str]:
        return sorted(set(self._digests))


def _digest(content: str) -> str:
    return sha256(content.encode("utf-8", "surrogateescape")).hexdigest()


# --- Common start and end of two sequences


def common_start(left: Sequence[object], right: Sequence[object]) -> int:
    """Return the length of the common prefix."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(left), len(right)))


def common_edges(left: Sequence[object], right: Sequence[object]) -> tuple[int, int]:
    """Return the lengths of the common prefix, and of the common suffix of the rest."""
    start = common_start(left, right)
    return start, common_start(left[start:][::-1], right[start:][::-1])
