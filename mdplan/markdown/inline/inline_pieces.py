"""A document in pieces whose inline content can be parsed alone."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from mdplan.markdown.blocks.block_tree import BlockTree
from mdplan.text.lines import LineIndex
from mdplan.text.span import Span

# Every definition of a label, of a link or a footnote, holds this.
_DEFINITION: Final = re.compile(r"\]:")
_FOOTNOTE: Final = re.compile(r"\[\^[^\]]*\]:")
# A part that begins so is a fence, and nothing else.
_FENCE: Final = re.compile(r" {0,3}(?:`{3,}+[^`\r\n]*+(?:[\r\n]|\Z)|~~~)")
_HEADING: Final = re.compile(r"#{1,6}(?:[ \t\r\n]|\Z)")
# In how many parts before a place a heading is looked for. Most sections have fewer.
_PARTS_OF_A_SECTION: Final = 50


class InlinePieces:
    """Root blocks of a document, one or some in each piece.

    The block tree knows no footnotes, which can hold the blocks behind them. So a piece that has one goes on
    to the next heading without indentation that follows a blank line: there everything else has ended.
    """

    def __init__(self, text: str, lines: LineIndex, body_start: int, tree: BlockTree | None) -> None:
        """Cut `text` from `body_start` on where the parts of `tree` start; nowhere without a tree."""
        self._text = text
        self._lines = lines
        self._body_start = body_start
        self._tree = tree

    @cached_property
    def _starts(self) -> Sequence[int]:
        """Where each piece starts; the first one where the body does."""
        if not self._part_starts:
            return [self._body_start]
        footnotes = {part for part in self._defining_parts if self._has(_FOOTNOTE, part)}
        starts: list[int] = []
        may_be_inside = False
        for part, start in enumerate(self._part_starts):
            if not may_be_inside or self._is_certain(start):
                starts.append(start)
                may_be_inside = False
            may_be_inside = may_be_inside or part in footnotes
        starts[0] = self._body_start
        return starts

    @property
    def _part_starts(self) -> Sequence[int]:
        return self._tree.part_starts if self._tree is not None else ()

    @cached_property
    def _defining_parts(self) -> list[int]:
        """Indexes of the parts of the tree that may define labels."""
        starts = self._part_starts
        matches = _DEFINITION.finditer(self._text, self._body_start)
        parts = sorted({max(bisect_right(starts, match.start()) - 1, 0) for match in matches})
        return [part for part in parts if not _FENCE.match(self._text, starts[part])]

    def _has(self, pattern: re.Pattern[str], part: int) -> bool:
        starts = self._part_starts
        end = starts[part + 1] if part + 1 < len(starts) else len(self._text)
        return pattern.search(self._text, starts[part], end) is not None

    def _is_certain(self, start: int) -> bool:
        if _HEADING.match(self._text, start) is None:
            return False
        line = self._lines.line_at(start)
        return line > 1 and not self._lines.content(line - 1).strip(" \t")

    def reach(self, span: Span) -> tuple[int, int]:
        """From where on a footnote could hold something of the parts of `span`, and where these end.

        It begins at the last place before it where all else has ended, found without a look at the whole
        document; in a long section it begins where the body does.
        """
        starts = self._part_starts
        first = bisect_right(starts, span.start) - 1
        behind = bisect_right(starts, span.end)
        nearest = range(first, max(first - _PARTS_OF_A_SECTION, -1), -1)
        certain = next((starts[part] for part in nearest if self._is_certain(starts[part])), self._body_start)
        return certain, starts[behind] if behind < len(starts) else len(self._text)

    @cached_property
    def defining(self) -> Sequence[int]:
        """Indexes of the pieces that can define labels, in order."""
        starts = self._part_starts
        if not starts:
            return [0]
        return sorted({bisect_right(self._starts, starts[part]) - 1 for part in self._defining_parts})

    def touching(self, span: Span) -> range:
        """Indexes of the pieces that hold something of `span`, or the place where it is empty."""
        first = max(bisect_right(self._starts, span.start) - 1, 0)
        return range(first, max(bisect_right(self._starts, max(span.start, span.end - 1)), first + 1))

    def span(self, index: int) -> Span:
        """Span of the piece with this index."""
        is_last = index + 1 == len(self._starts)
        return Span(self._starts[index], len(self._text) if is_last else self._starts[index + 1])
