"""Maps lines of an old text to the current one, so that edits can be rebased."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from mdplan.text.diff.line_blocks import ComparedBlock, LineComparison
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import LineIndex
from mdplan.text.span import Span


@dataclass(frozen=True)
class LineDrift:
    """The lines in which a text differs from what it became. Line ends count to their lines.

    `blocks` are 0-based, half-open and in order; the lines outside them are the same.
    """

    blocks: tuple[ComparedBlock, ...]
    edits: EditList

    @classmethod
    def between(cls, old: str, new: str) -> "LineDrift":
        """The drift from `old` to `new`, by one comparison of their lines."""
        old_lines, new_lines = LineIndex(old), LineIndex(new)
        blocks = tuple(LineComparison().differing(list(_lines(old, old_lines)), list(_lines(new, new_lines))))
        edits = tuple(
            TextEdit(
                Span(old_lines.start(block.old_start + 1), old_lines.start(block.old_end + 1)),
                new[new_lines.start(block.new_start + 1) : new_lines.start(block.new_end + 1)],
            )
            for block in blocks
        )
        return cls(blocks, EditList(edits))

    def block_near(self, lines: LineIndex, span: Span) -> ComparedBlock | None:
        """The first block that changed a line of `span`, or one next to them; None when there is none.

        `lines` are those of the old text, and `span` is one of it. The edges of the text count as lines
        next to its first and last one, so what comes before the first line is near it.
        """
        before, behind = _surroundings(lines, span)
        index = bisect_right(self._ends, before)
        if index < len(self.blocks) and self.blocks[index].old_start + 1 <= behind:
            return self.blocks[index]
        return None

    def carried(self, span: Span) -> Span:
        """A `span` of the old text, with no block near it, in the new one."""
        start, end = self.edits.map_offset(span.start), self.edits.map_offset(span.end)
        assert start is not None, "no block is near"
        assert end is not None, "no block is near"
        return Span(start, end)

    @cached_property
    def _ends(self) -> list[int]:
        """The line after each block, 1-based."""
        return [block.old_end + 1 for block in self.blocks]


def _surroundings(lines: LineIndex, span: Span) -> tuple[int, int]:
    """The lines before and after those of `span`, 1-based; 0 and ``count + 1`` are the edges of the text."""
    is_between = span.start == span.end and span.start == lines.start(lines.line_at(span.start))
    if span.start == span.end == lines.start(lines.count + 1) and _is_ended(lines):
        return lines.count, lines.count + 1
    first = lines.line_at(span.start)
    if is_between:
        return first - 1, first
    return first - 1, lines.line_at(max(span.start, span.end - 1)) + 1


def _is_ended(lines: LineIndex) -> bool:
    return lines.count == 0 or lines.ending(lines.count) != ""


def _lines(text: str, lines: LineIndex) -> Iterator[str]:
    return (text[lines.start(line) : lines.end(line)] for line in range(1, lines.count + 1))
