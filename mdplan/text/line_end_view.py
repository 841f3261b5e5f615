"""A text as callers write it, with every line end as one LF, and the way back to the real offsets."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from itertools import accumulate
from typing import Final

from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, Span

# `\r\n`, `\r?\n` and `(?:\r\n|\n)` as regular expressions spell them, after an even run of backslashes.
_SPELT_LINE_END: Final = lazy_pattern(r"(?<!\\)((?:\\\\)*)(?:\\r\??\\n|\(\?:\\r\\n\|\\n\))")


def to_lf(text: str) -> str:
    """`text` with every CRLF and lone CR as LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def lf_pattern(pattern: str, *, is_regex: bool) -> str:
    """`pattern` as it finds text of the view, where all line ends are LF, also those that a regex spells."""
    pattern = to_lf(pattern)
    return _SPELT_LINE_END.sub(r"\g<1>\\n", pattern) if is_regex else pattern


def with_line_ends(text: str, line_end: str) -> str:
    """`text` with every line end as `line_end`."""
    text = to_lf(text)
    return text if line_end == "\n" else text.replace("\n", line_end)


def lines_of(text: str) -> list[str]:
    """Lines of `text`, which has LF line ends, without these; the last line end may be left out."""
    return text.removesuffix("\n").split("\n") if text else []


class LineEndView:
    """`text` with LF line ends. A text that has no other ones is its own view, at no cost."""

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
        """Span of the real text that `span` of the view stands for."""
        return Span(self._to_text(span.start), self._to_text(span.end))

    def line_end_around(self, offset: int) -> str:
        """Line end that new text at `offset` of the real text takes, as the function of that name says."""
        return "\n" if self._is_lf_alone else line_end_around(self._lines, offset)

    def span_in_view(self, span: Span) -> Span:
        """Span of the view that `span` of the real text stands for; it cuts no CRLF in two."""
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
    """Line end that new text at `offset` takes: that of the line before it, else of its own, else LF."""
    if lines.count:
        line = lines.line_at(offset)
        before = line - 1 if offset == lines.start(line) or not lines.ending(line) else line
        if before >= 1 and lines.ending(before):
            return lines.ending(before)
        if lines.ending(line):
            return lines.ending(line)
    return "\n"


# --- Short hashes of lines, which make of a line number an address that proves itself: ``12:a3f``.

LEAST_DIGITS: Final = 3


class LineHashes:
    """Hashes of the lines of one text, without their line ends. Lines are 1-based."""

    def __init__(self, lines: LineIndex) -> None:
        """Hash all of `lines`."""
        self._digests = [_digest(lines.content(number)) for number in range(1, lines.count + 1)]

    def address(self, line: int) -> str:
        """``12:a3f``: three digits of the hash, or more where lines of another text begin with the same."""
        digest = self._digests[line - 1]
        distinct = self._distinct
        place = bisect_left(distinct, digest)
        near = distinct[max(place - 1, 0) : place] + distinct[place + 1 : place + 2]
        length = max([LEAST_DIGITS, *(common_start(digest, other) + 1 for other in near)])
        return f"{line}:{digest[:length]}"

    def places(self, start: str, end: str, distance: int) -> Sequence[int]:
        """The lines of the hash `start` that have a line of the hash `end` so many lines after them.

        `start` may be several hashes with commas between them, those of the lines from there on.
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
    """How many items (characters, lines) at the start of both are the same."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(left), len(right)))


def common_edges(left: Sequence[object], right: Sequence[object]) -> tuple[int, int]:
    """How many items at the start of both are the same, and how many of the others at the end."""
    start = common_start(left, right)
    return start, common_start(left[start:][::-1], right[start:][::-1])
