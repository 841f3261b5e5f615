"""Lines of a text, as CommonMark counts them.

A line ends at LF, CRLF or a lone CR and nowhere else (CommonMark 0.31.2, section 2.1), so
`str.splitlines`, which also splits at U+2028, form feeds and others, is never used.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from mdplan.text.span import Position, Span

if TYPE_CHECKING:
    from mdplan.text.edit import EditList

_LINE_END = re.compile(r"\r\n?|\n")
_LF = re.compile(r"\n")
_NEAR = 4096
# Of texts so long a list of all starts of lines costs more than some questions without one.
_LONG = 50_000


class LineIndex:
    """Where each line of a text starts. Line numbers are 1-based; a final line end opens no line.

    The empty text has no line. Offsets are code points from the start of the text.
    """

    __slots__ = ("_before", "_count", "_has_cr", "_length", "_marks", "_starts", "_text")

    def __init__(self, text: str, lf_lines: int | None = None) -> None:
        """Index `text` in one pass, when somebody asks for a place.

        Of a text that is known to have no CR the number of lines may be given.
        """
        self._text = text
        self._length = len(text)
        self._starts: list[int] | None = None
        self._count = lf_lines
        self._has_cr: bool | None = None if lf_lines is None else False
        # Line starts before some edits, if they were known: those of this text are made of them when asked.
        self._before: tuple[list[int], tuple[int, ...], EditList] | None = None
        # What answers the first questions about a long text, which may be the only ones.
        self._marks: _Marks | None = None

    @property
    def starts(self) -> list[int]:
        """Offset at which each line starts."""
        if self._starts is None:
            before = self._before
            if before is None:
                self._starts = _line_starts(self._text, _LINE_END if self.has_cr else _LF)
            else:
                starts, behind, edits = before
                self._starts = _edited_starts([*starts, *behind], edits, self._length)
                self._before = None
        return self._starts

    def mark(self, starts: Sequence[int], lines: Sequence[int]) -> None:
        """Be told where some lines start, and their numbers, both in order: others are counted from these."""
        is_dense = len(starts) * _NEAR >= self._length >= _LONG
        if is_dense and self._marks is None and self._starts is None and not self.has_cr:
            self._marks = _Marks(self._text, starts, lines)

    def edited(self, edits: "EditList", text: str) -> "LineIndex":
        """Index of `text`, which `edits` made of this one's."""
        if self.has_cr or any("\r" in edit.new_text for edit in edits):
            return LineIndex(text)
        ends = self.count - (self._text[-1:] not in ("", "\n"))
        for edit in edits:
            ends += edit.new_text.count("\n") - self._text.count("\n", edit.span.start, edit.span.end)
        index = LineIndex(text, ends + (text[-1:] not in ("", "\n")))
        if self._starts is not None:
            index._before = self._starts, self._start_behind(), edits
        return index

    def _start_behind(self) -> tuple[int, ...]:
        """The line that the final line end would open, if it did; the first one of an empty text."""
        return (self._length,) if not self._text or self._text[-1] == "\n" else ()

    @property
    def has_cr(self) -> bool:
        """Whether a line ends otherwise than by LF."""
        if self._has_cr is None:
            self._has_cr = "\r" in self._text
        return self._has_cr

    @property
    def count(self) -> int:
        """Number of lines."""
        if self._count is None:
            is_counted = self._starts is None and not self.has_cr
            self._count = _lf_lines(self._text) if is_counted else len(self.starts)
        return self._count

    def line_at(self, offset: int) -> int:
        """Line that holds the code point at `offset`; the end of the text counts to the last line."""
        if self._starts is None and offset >= self._length - 1:
            return max(self.count, 1)
        if self._starts is None and offset >= self._length - _NEAR and not self.has_cr:
            # The end of a text is asked for more often than all else: then its lines are counted from there.
            behind = self._text.count("\n", offset) - self._text.endswith("\n")
            return self.count - behind
        marks = self._few_questions() if self._starts is None else None
        return max(bisect_right(self.starts, offset), 1) if marks is None else marks.line_at(offset)

    def start(self, line: int) -> int:
        """Offset of the first code point of `line`; for ``count + 1`` the end of the text."""
        marks = self._few_questions() if self._starts is None else None
        if marks is not None:
            return marks.start(line) if line <= self.count else self._length
        starts = self.starts
        return starts[line - 1] if line <= len(starts) else self._length

    def _few_questions(self) -> "_Marks | None":
        """What answers one more question about a long text; None where all starts of lines shall do it."""
        if self._length < _LONG or self._before is not None:
            return None
        if self._marks is None:
            if self.has_cr:
                return None
            self._marks = _Marks.evenly(self._text)
        # To look once at as much as the text has costs what all starts of lines cost.
        return self._marks if self._marks.looked_at <= self._length else None

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
        if not self.has_cr:
            # All lines but perhaps the last have one.
            count = self.count - (self._text[-1:] not in ("", "\n"))
            return {"\n": count} if count else {}
        return dict(Counter(match[0] for match in _LINE_END.finditer(self._text)))

    @property
    def majority_line_end(self) -> str | None:
        """The most frequent line end; None in a text without any."""
        ends = self.line_ends
        return max(ends, key=lambda end: ends[end]) if ends else None

    def position(self, offset: int) -> Position:
        """Line and column of `offset`; after a final line end that is ``(count + 1, 1)``."""
        if offset == self._length and self._text and self.ending(self.count):
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
            return self._length
        if not 1 <= line <= self.count or col < 1:
            return None
        offset = self.start(line) + col - 1
        return offset if offset <= self.content_end(line) else None


class _Marks:
    """Some places of a text in LF, each with the number of its line, from which other lines are counted.

    Both are in order; the start of the text need not be among them. `looked_at` are the code points that were
    looked at so far.
    """

    __slots__ = ("_lines", "_places", "_starts", "_text", "looked_at")

    def __init__(self, text: str, places: Sequence[int], lines: Sequence[int]) -> None:
        self._text = text
        self._places = places
        self._lines = lines
        # Those that were asked for: the next question is often about the same line, or one beside it.
        self._starts: dict[int, int] = {}
        self.looked_at = 0

    @classmethod
    def evenly(cls, text: str) -> "_Marks":
        """Marks all over `text`, counted in one pass."""
        places = range(0, len(text), _NEAR)
        counts = (text.count("\n", at, at + _NEAR) for at in places)
        return cls(text, places, list(accumulate(counts, initial=1)))

    def line_at(self, offset: int) -> int:
        """As `LineIndex.line_at`, for a place before the end."""
        place, number = self._mark(bisect_right(self._places, offset) - 1)
        self.looked_at += offset - place
        return number + self._text.count("\n", place, offset)

    def start(self, line: int) -> int:
        """As `LineIndex.start`, for a line that is there."""
        starts, text = self._starts, self._text
        if line in starts:
            return starts[line]
        if line - 1 in starts:
            place = starts[line - 1]
            at = text.find("\n", place) + 1
        elif line + 1 in starts:
            place = starts[line + 1]
            at = text.rfind("\n", 0, place - 1) + 1
        else:
            # A mark on the line itself may stand behind its start.
            place, number = self._mark(bisect_left(self._lines, line) - 1)
            at = place
            for _ in range(line - number):
                at = text.find("\n", at) + 1
        self.looked_at += abs(at - place)
        starts[line] = at
        return at

    def _mark(self, index: int) -> tuple[int, int]:
        """The place with this index and its line; the start of the text stands before the first one."""
        return (0, 1) if index < 0 else (self._places[index], self._lines[index])


class LinesOfPart:
    """The lines of a part of a text in LF, with their numbers and places in all of it.

    Nothing else of the text is looked at. `part` begins at `offset`, behind so many lines, and the text of so
    many lines in all has `length` code points.
    """

    __slots__ = ("_before", "_length", "_lines", "_offset", "count")

    def __init__(self, part: str, offset: int, lines_before: int, *, count: int, length: int) -> None:
        """Index `part`."""
        self._lines = LineIndex(part)
        self._offset, self._before = offset, lines_before
        self._length = length
        self.count = count

    def span(self, first: int, last: int) -> Span:
        """As `LineIndex.span`."""
        found = self._lines.span(first - self._before, last - self._before)
        return Span(found.start + self._offset, min(found.end + self._offset, self._length))

    def content(self, line: int) -> str:
        """As `LineIndex.content`."""
        return self._lines.content(line - self._before)


def _edited_starts(starts: list[int], edits: "EditList", length: int) -> list[int]:
    """Line starts after `edits`; `starts` has those before, and the one behind the final line end."""
    result: list[int] = []
    at = shift = 0
    for edit, span in zip(edits, edits.result_spans, strict=True):
        stop = bisect_right(starts, edit.span.start, lo=at)
        result += [start + shift for start in starts[at:stop]] if shift else starts[at:stop]
        result += [span.start + match.end() for match in _LF.finditer(edit.new_text)]
        at = bisect_right(starts, edit.span.end, lo=stop)
        shift = span.end - edit.span.end
    result += [start + shift for start in starts[at:]] if shift else starts[at:]
    if result and result[-1] == length:
        result.pop()
    return result


def _lf_lines(text: str) -> int:
    return text.count("\n") + (text[-1:] not in ("", "\n"))


def _line_starts(text: str, ends: re.Pattern[str]) -> list[int]:
    if not text:
        return []
    starts = [0, *[match.end() for match in ends.finditer(text)]]
    if starts[-1] == len(text):
        starts.pop()
    return starts
