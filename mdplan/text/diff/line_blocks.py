"""Which lines of two texts differ."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final, NamedTuple, TypeVar

# How many pairs of lines one list of edits may compare where a text was replaced by a similar one. A
# pattern of repeated lines takes difflib 0.2 s at this size; past it the lines show as replaced.
_MAX_COMPARISONS: Final = 100_000

Line = TypeVar("Line", bytes, str)


class ComparedBlock(NamedTuple):
    """Half-open ranges of two lists of lines."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int

    @property
    def comparisons(self) -> int:
        """How many pairs of lines it has."""
        return (self.old_end - self.old_start) * (self.new_end - self.new_start)


class LineComparison:
    """Compares lists of lines, one pair after the other, within one allowance of work for all of them."""

    def __init__(self, comparisons: int = _MAX_COMPARISONS) -> None:
        """Start with an allowance of so many `comparisons` of two lines."""
        self.comparisons_left = comparisons

    def differing(self, old: list[Line], new: list[Line]) -> Iterator[ComparedBlock]:
        """The blocks of `old` and `new` that differ, in order; all lines outside them are the same."""
        if len(old) == 1 == len(new):
            # Most edits stay within their line.
            yield from () if old == new else (ComparedBlock(0, 1, 0, 1),)
            return
        for gap in _gaps(old, new):
            if 1 < gap.comparisons <= self.comparisons_left:
                self.comparisons_left -= gap.comparisons
                yield from _compare(old, new, gap)
            else:
                yield gap


def _gaps(old: list[Line], new: list[Line]) -> Iterator[ComparedBlock]:
    """Blocks that differ, between the lines that have only one possible counterpart."""
    whole = _trimmed(old, new, ComparedBlock(0, len(old), 0, len(new)))
    pairs: list[tuple[int, int]] = _anchors(old, new, whole) if whole.comparisons > 1 else []
    old_at, new_at = whole.old_start, whole.new_start
    for old_line, new_line in (*pairs, (whole.old_end, whole.new_end)):
        gap = _trimmed(old, new, ComparedBlock(old_at, old_line, new_at, new_line))
        if gap.old_start < gap.old_end or gap.new_start < gap.new_end:
            yield gap
        old_at, new_at = old_line + 1, new_line + 1


def _trimmed(old: list[Line], new: list[Line], block: ComparedBlock) -> ComparedBlock:
    """`block` without the first and last lines that both sides share."""
    old_start, old_end, new_start, new_end = block
    while old_start < old_end and new_start < new_end and old[old_start] == new[new_start]:
        old_start += 1
        new_start += 1
    while old_start < old_end and new_start < new_end and old[old_end - 1] == new[new_end - 1]:
        old_end -= 1
        new_end -= 1
    return ComparedBlock(old_start, old_end, new_start, new_end)


def _anchors(old: list[Line], new: list[Line], block: ComparedBlock) -> list[tuple[int, int]]:
    """Indexes of lines that are exactly once on both sides: the longest list that keeps their order.

    This is the idea of the patience diff. It takes the time of a sort, so it needs no limit.
    """
    old_count = Counter(old[block.old_start : block.old_end])
    new_count = Counter(new[block.new_start : block.new_end])
    place = {new[at]: at for at in range(block.new_start, block.new_end) if new_count[new[at]] == 1}
    pairs = [
        (at, place[old[at]])
        for at in range(block.old_start, block.old_end)
        if old[at] in place and old_count[old[at]] == 1
    ]
    lowest: list[int] = []  # For each length the lowest line of `new` at which a list so long can end,
    ends: list[int] = []  # and the pair that is there.
    before: list[int] = []
    for index, (_, new_line) in enumerate(pairs):
        length = bisect_left(lowest, new_line)
        before.append(ends[length - 1] if length else -1)
        lowest[length : length + 1] = [new_line]
        ends[length : length + 1] = [index]
    chosen: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chosen.append(pairs[index])
        index = before[index]
    return chosen[::-1]


def _compare(old: list[Line], new: list[Line], gap: ComparedBlock) -> Iterator[ComparedBlock]:
    """The blocks inside `gap` that differ."""
    matcher = SequenceMatcher(
        None, old[gap.old_start : gap.old_end], new[gap.new_start : gap.new_end], autojunk=False
    )
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag != "equal":
            yield ComparedBlock(
                gap.old_start + old_start,
                gap.old_start + old_end,
                gap.new_start + new_start,
                gap.new_start + new_end,
            )
