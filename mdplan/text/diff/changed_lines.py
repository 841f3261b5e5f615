"""Which lines of a text its edits change, in line numbers as callers count them.

Unlike a diff, where lines end at LF alone, this goes by the lines of `LineIndex`, and two lines are the same
when their content is: a line that gets another line end keeps its place.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mdplan.text.diff.line_blocks import LineComparison
from mdplan.text.edit import EditList
from mdplan.text.lines import LineIndex


class ChangedLines(NamedTuple):
    """Lines ``[old_start, old_end)`` of the base that became lines ``[new_start, new_end)`` of the result.

    Line numbers are 1-based. One of the ranges may be empty; it then is before its line.
    """

    old_start: int
    old_end: int
    new_start: int
    new_end: int

    @property
    def shrinks_by(self) -> int:
        """How many lines fewer there are; negative where there are more."""
        return (self.old_end - self.old_start) - (self.new_end - self.new_start)


class KeptLines(NamedTuple):
    """Lines ``[start, end)`` of the base, 1-based, that are `shift` lines further down in the result."""

    start: int
    end: int
    shift: int


def changed_lines(base: LineIndex, edits: EditList, result: LineIndex) -> Iterator[ChangedLines]:
    """What `edits`, which turn `base` into `result`, do to its lines: in order, with kept lines between.

    Takes time in proportion to the edits and the lines that they touch.
    """
    comparison = LineComparison()
    current: ChangedLines | None = None
    for region in _regions(base, edits, result):
        old = [base.content(line) for line in range(region.old_start, region.old_end)]
        new = [result.content(line) for line in range(region.new_start, region.new_end)]
        for block in comparison.differing(old, new):
            found = ChangedLines(
                region.old_start + block.old_start,
                region.old_start + block.old_end,
                region.new_start + block.new_start,
                region.new_start + block.new_end,
            )
            if current is not None and current.old_end == found.old_start:
                current = ChangedLines(current.old_start, found.old_end, current.new_start, found.new_end)
                continue
            if current is not None:
                yield current
            current = found
    if current is not None:
        yield current


def kept_lines(changes: Sequence[ChangedLines], count: int) -> Iterator[KeptLines]:
    """The lines of a base of `count` lines that are outside all its `changes`, in order."""
    start = 1
    shift = 0
    for change in changes:
        if start < change.old_start:
            yield KeptLines(start, change.old_start, shift)
        start, shift = change.old_end, shift - change.shrinks_by
    if start <= count:
        yield KeptLines(start, count + 1, shift)


def _regions(base: LineIndex, edits: EditList, result: LineIndex) -> Iterator[ChangedLines]:
    """Whole lines that `edits` touch, and what they become.

    The line after an edit that ends at a line's start counts as touched, because the edit may have taken
    the line end before it. So does the line before one that starts after a CR, which LF would join.
    """
    growth = 0
    first = last = old_growth = 0
    for edit in edits:
        touched = max(bisect_right(base.starts, edit.span.start), 1)
        if touched > 1 and base.start(touched) == edit.span.start and base.ending(touched - 1) == "\r":
            touched -= 1
        if first and touched > last:
            yield _region(base, result, first, last, old_growth, growth)
            first = 0
        if not first:
            first, old_growth = touched, growth
        last = max(bisect_right(base.starts, edit.span.end), touched)
        growth += len(edit.new_text) - len(edit.span)
    if first:
        yield _region(base, result, first, last, old_growth, growth)


def _region(
    base: LineIndex, result: LineIndex, first: int, last: int, before: int, behind: int
) -> ChangedLines:
    """Lines `first` to `last` of `base`; `before` and `after` them the result is that much longer."""
    return ChangedLines(
        old_start=first,
        old_end=min(last, base.count) + 1,
        new_start=bisect_left(result.starts, base.start(first) + before) + 1,
        new_end=bisect_left(result.starts, base.end(last) + behind) + 1,
    )
