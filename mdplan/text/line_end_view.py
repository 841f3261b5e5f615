"""A text as callers write it, with every line end as one LF, and the way back to the real offsets."""

import re
from bisect import bisect_right
from itertools import accumulate
from typing import Final

from mdplan.text.lines import LineIndex
from mdplan.text.span import Span

# `\r\n`, `\r?\n` and `(?:\r\n|\n)` as regular expressions spell them, after an even run of backslashes.
_SPELT_LINE_END: Final = re.compile(r"(?<!\\)((?:\\\\)*)(?:\\r\??\\n|\(\?:\\r\\n\|\\n\))")


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
