"""Lines of a text as CommonMark counts them, spans, newlines, and hashes of lines.

A line ends at LF, CRLF or a lone CR and nowhere else (CommonMark 0.31.2, section 2.1), so
`str.splitlines`, which also splits at U+2028, form feeds and others, is never used.
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

# --- Spans and positions: offsets inside the core, lines and columns at its edges.


class Span(Struct, order=True):
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
        """Return True if `other` is inside, edges included."""
        return self.start <= other.start and other.end <= self.end

    def overlaps(self, other: "Span") -> bool:
        """Return True if both share a code point; spans that only touch do not."""
        return self.start < other.end and other.start < self.end


class Position(Struct, order=True):
    """Place of a code point for people: `line` and `col` are 1-based, columns count code points."""

    line: int
    col: int


class LineIndex:
    """Where each line of a text starts. Line numbers are 1-based; a final newline does not start a line.

    The empty text has no line. Offsets are code points from the start of the text.
    """

    def __init__(self, text: str) -> None:
        """Index `text` in one pass, when it is first used."""
        self.text = text

    @cached_property
    def starts(self) -> list[int]:
        """Return the offset at which each line starts."""
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
        """Return True if a line ends with CR or CRLF."""
        return "\r" in self.text

    @property
    def count(self) -> int:
        """Return the number of lines."""
        return len(self.starts)

    def line_at(self, offset: int) -> int:
        """Return the line of the code point at `offset`; the end of the text belongs to the last line."""
        return max(bisect_right(self.starts, offset), 1)

    def start(self, line: int) -> int:
        """Return the offset of the first code point of `line`; for ``count + 1`` the end of the text."""
        starts = self.starts
        return starts[line - 1] if line <= len(starts) else len(self.text)

    def end(self, line: int) -> int:
        """Return the offset after the newline of `line`."""
        return self.start(line + 1)

    def content_end(self, line: int) -> int:
        """Return the offset after the last code point of `line`, before its newline."""
        end = self.end(line)
        if end > self.start(line) and self.text[end - 1] == "\n":
            end -= 1
        if end > self.start(line) and self.text[end - 1] == "\r":
            end -= 1
        return end

    def ending(self, line: int) -> str:
        """Return the newline of `line`: LF, CRLF, CR, or nothing for an unfinished last line."""
        return self.text[self.content_end(line) : self.end(line)]

    def span(self, first: int, last: int) -> Span:
        """Return the span of the lines `first` to `last` (inclusive) with their newlines."""
        return Span(self.start(first), self.end(last))

    def content(self, line: int) -> str:
        """Return the text of `line` without its newline."""
        return self.text[self.start(line) : self.content_end(line)]

    @property
    def with_ends(self) -> list[str]:
        """Return the lines with their newlines."""
        return [self.text[start:end] for start, end in pairwise((*self.starts, len(self.text)))]

    def has_text(self, line: int) -> bool:
        """Return True if `line` is not blank."""
        return bool(self.content(line).strip(" \t"))

    def last_with_text(self, first: int, last: int) -> int:
        """Return the last of the lines `first` to `last` that is not blank; else the one before `first`."""
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
        """Return line and column of `offset`; after a final newline that is ``(count + 1, 1)``."""
        if offset == len(self.text) and self.text and self.ending(self.count):
            return Position(self.count + 1, 1)
        line = self.line_at(offset)
        return Position(line, offset - self.start(line) + 1)

    def offset(self, position: Position) -> int | None:
        """Return the offset of `position`, the inverse of that method; None if the text has no such position.

        A column may be one past the content of its line, before its newline. There is no position between CR
        and LF.
        """
        line, col = position.line, position.col
        if line == self.count + 1 and col == 1 and (line == 1 or self.ending(self.count)):
            return len(self.text)
        if not 1 <= line <= self.count or col < 1:
            return None
        offset = self.start(line) + col - 1
        return offset if offset <= self.content_end(line) else None


# Sorting by this key takes a fifth of the time of comparing spans.
BY_PLACE: Final = attrgetter("start", "end")


class Lines(Struct, kw_only=True):
    """Whole lines, 1-based and inclusive."""

    start: int
    end: int


class NearMiss(Struct, kw_only=True):
    """A place that is nearly what was asked for. Lines and columns are 1-based, `end_line` is inclusive.

    `differs` names what differs, where, and what is there: ``dashes (U+2013, not U+002D) at column 9``.
    """

    line: int
    col: int
    end_line: int
    differs: str


# --- Newlines: texts of callers have LF, and are matched against a view with LF of the real text.

# `\r\n`, `\r?\n` and `(?:\r\n|\n)` as regular expressions spell them, after an even number of backslashes.
_SPELT_LINE_END: Final = lazy_pattern(r"(?<!\\)((?:\\\\)*)(?:\\r\??\\n|\(\?:\\r\\n\|\\n\))")


def to_lf(text: str) -> str:
    """Return `text` with every CRLF and lone CR as LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def lf_pattern(pattern: str, *, is_regex: bool) -> str:
    """Return `pattern` for the view, where all newlines are LF, also those that a regex spells out."""
    pattern = to_lf(pattern)
    return _SPELT_LINE_END.sub(r"\g<1>\\n", pattern) if is_regex else pattern


def with_line_ends(text: str, line_end: str) -> str:
    """Return `text` with every newline as `line_end`."""
    text = to_lf(text)
    return text if line_end == "\n" else text.replace("\n", line_end)


def lines_of(text: str) -> list[str]:
    """Split `text`, which has LF newlines, into lines without them; the last newline may be missing."""
    return text.removesuffix("\n").split("\n") if text else []


def text_range(lines: Sequence[str], blanks: str | None = None) -> range:
    """Return the indexes from the first of `lines` that is not blank to the last.

    A blank line has only `blanks`, or any white space, as in an INI file.
    """
    with_text = [index for index, line in enumerate(lines) if line.strip(blanks)]
    return range(with_text[0], with_text[-1] + 1) if with_text else range(0)


class LineEndView:
    """A `text` with LF newlines. A text that has no others is its own view, at no cost."""

    __slots__ = ("_is_lf_alone", "_lines", "_starts", "text")

    def __init__(self, text: str, lines: LineIndex) -> None:
        """Make the view of `text`, whose line table is `lines`."""
        self.text = to_lf(text) if lines.has_cr else text
        self._is_lf_alone = self.text is text
        self._lines = lines
        self._starts: list[int] | None = None
        if len(self.text) != len(text):
            lengths = (len(line) + 1 for line in self.text.split("\n"))
            self._starts = [0, *accumulate(lengths)]

    def span_in_text(self, span: Span) -> Span:
        """Return the span of the real text for `span` of the view."""
        return Span(self._to_text(span.start), self._to_text(span.end))

    def line_end_around(self, offset: int) -> str:
        """Return the newline for new text at `offset` of the real text, like the function of that name."""
        return "\n" if self._is_lf_alone else line_end_around(self._lines, offset)

    def span_in_view(self, span: Span) -> Span:
        """Return the span of the view for `span` of the real text, which does not split a CRLF."""
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
    """Return the newline for new text at `offset`: that of the line before it, else of its own, else LF."""
    if lines.count:
        line = lines.line_at(offset)
        before = line - 1 if offset == lines.start(line) or not lines.ending(line) else line
        if before >= 1 and lines.ending(before):
            return lines.ending(before)
        if lines.ending(line):
            return lines.ending(line)
    return "\n"


# --- Addresses of lines that contain a short hash of the line: ``12:a3f``.
LEAST_DIGITS: Final = 3


class LineHashes:
    """Hashes of the lines of one text, without their newlines. Lines are 1-based."""

    def __init__(self, lines: LineIndex) -> None:
        """Hash all of `lines`."""
        self._digests = [_digest(lines.content(number)) for number in range(1, lines.count + 1)]

    def address(self, line: int) -> str:
        """Return the address of `line`: three digits of its hash, or more if another line's begins alike."""
        digest = self._digests[line - 1]
        distinct = self._distinct
        index = bisect_left(distinct, digest)
        near = distinct[max(index - 1, 0) : index] + distinct[index + 1 : index + 2]
        length = max([LEAST_DIGITS, *(common_start(digest, other) + 1 for other in near)])
        return f"{line}:{digest[:length]}"

    def places(self, start: str, end: str, distance: int) -> Sequence[int]:
        """Return the lines with the hash `start` that have a line with the hash `end` `distance` lines below.

        `start` may be several hashes separated by commas, those of successive lines.
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


# --- The common start and end of two sequences.


def common_start(left: Sequence[object], right: Sequence[object]) -> int:
    """Count the items (characters, lines) at the start that both share."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(left), len(right)))


def common_edges(left: Sequence[object], right: Sequence[object]) -> tuple[int, int]:
    """Count the items at the start that both share, and those of the others at the end."""
    start = common_start(left, right)
    return start, common_start(left[start:][::-1], right[start:][::-1])
