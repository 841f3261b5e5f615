"""Soft line breaks of paragraphs: read as blanks to find text, and kept when the text is replaced."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from mdplan.markdown.blocks.block_structure import BlockKind
from mdplan.markdown.outline.outline import Outline
from mdplan.text.lines import Span

# A line end with the marks and the indentation of the next line. What follows is text of the paragraph.
_BREAK: Final = re.compile(r"[ \t]*\n[ \t]*(?:>[ \t]*)*(?=[^\s>])")
# At the end of a line these make a hard break (CommonMark 0.31.2, section 6.7).
_HARD: Final = re.compile(r"(?:  |\\)\n")
# A line of a paragraph that began like this would begin another block.
_BLOCK_START: Final = re.compile(r"(?:[-+*>]|#{1,6}|\d{1,9}[.)]|=+|-+|(?:`{3}|~{3}).*)(?:\s|$)")
_BLANK: Final = " "


@dataclass(frozen=True, slots=True)
class SoftBreak:
    """A soft break at the index `at` of a text in which a blank represents it, and its `text` with LF."""

    at: int
    text: str


class JoinedText:
    """The view of a document in which each soft break of `within`, a span of the source, is one blank."""

    def __init__(self, outline: Outline, within: Span) -> None:
        view = outline.view.text
        self.breaks = _soft_breaks(outline, within)
        starts = [*(span.start for span in self.breaks), len(view)]
        ends = [0, *(span.end for span in self.breaks)]
        pieces = [view[end:start] for end, start in zip(ends, starts, strict=True)]
        self.text = _BLANK.join(pieces)
        # How much shorter the text is after so many breaks.
        self._shorter = [0, *accumulate(len(span) - 1 for span in self.breaks)]
        self._blanks = [span.start - less for span, less in zip(self.breaks, self._shorter, strict=False)]
        self._view = view

    def span_of_view(self, span: Span) -> Span:
        """The span that represents `span` of the view."""
        return Span(self._of_view(span.start), self._of_view(span.end))

    def span_in_view(self, span: Span) -> Span:
        """The span of the view that `span` represents."""
        return Span(self._in_view(span.start), self._in_view(span.end))

    def breaks_in(self, span: Span) -> tuple[SoftBreak, ...]:
        """The soft breaks in `span`, counted from its start."""
        first, stop = bisect_left(self._blanks, span.start), bisect_left(self._blanks, span.end)
        return tuple(
            SoftBreak(self._blanks[number] - span.start, self._view[each.start : each.end])
            for number, each in enumerate(self.breaks[first:stop], first)
        )

    def _in_view(self, offset: int) -> int:
        return offset + self._shorter[bisect_left(self._blanks, offset)]

    def _of_view(self, offset: int) -> int:
        before = bisect_right([span.end for span in self.breaks], offset)
        inside = before < len(self.breaks) and self.breaks[before].start < offset
        return self._blanks[before] + 1 if inside else offset - self._shorter[before]


def with_breaks(new_text: str, old_text: str, breaks: Sequence[SoftBreak]) -> tuple[str, SoftBreak | None]:
    """`new_text` with the `breaks` of `old_text` at the blanks of the same number, or the nearest.

    A break that finds no blank is given back, the first of them, for the text around it.
    """
    blanks = [
        match.start()
        for match in re.finditer(_BLANK, new_text)
        if not _BLOCK_START.match(new_text, match.end())
    ]
    placed: list[tuple[int, SoftBreak]] = []
    left: SoftBreak | None = None
    free = 0
    for each in breaks:
        wanted = min(old_text.count(_BLANK, 0, each.at), len(blanks) - 1)
        if free < len(blanks):
            free = max(free, wanted)
            placed.append((blanks[free], each))
            free += 1
        elif left is None:
            left = each
    for at, each in reversed(placed):
        new_text = new_text[:at] + each.text + new_text[at + 1 :]
    return new_text, left


def _soft_breaks(outline: Outline, within: Span) -> list[Span]:
    """The soft breaks of the paragraphs that `within` touches, as spans of the view."""
    view = outline.view
    found: list[Span] = []
    for leaf in outline.tree.leaves_in(within):
        if leaf.kind is BlockKind.PARAGRAPH and leaf.last_line > leaf.first_line:
            lines = view.span_in_view(leaf.span)
            found += (
                Span(*match.span())
                for match in _BREAK.finditer(view.text, lines.start, lines.end)
                if not _HARD.search(view.text, max(match.start() - 1, 0), match.end())
            )
    return found
