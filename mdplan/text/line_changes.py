"""Which lines a list of edits changes.

Lines end at LF alone here, as git, GNU patch and dulwich have it in diffs: a CR, U+2028 or form feed
belongs to its line.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Final, NamedTuple

from mdplan.text.source import ByteEdit

# How many pairs of lines one list of edits may compare where a text was replaced by a similar one. A
# pattern of repeated lines takes difflib 0.2 s at this size; past it the lines show as replaced.
_MAX_COMPARISONS: Final = 100_000

_LINE: Final = re.compile(rb"[^\n]*\n|[^\n]+")


class LineChange(NamedTuple):
    """Whole lines `old` of the base, at its bytes ``[start, end)``, and the lines that replace them."""

    start: int
    end: int
    old: list[bytes]
    new: list[bytes]


def line_changes(base: bytes, edits: Sequence[ByteEdit]) -> Iterator[LineChange]:
    """The lines of `base` that sorted, disjoint `edits` change, in order.

    Takes time in proportion to the edits and the lines that they touch, not to `base`.
    """
    comparisons_left = _MAX_COMPARISONS
    for start, end, result in _regions(base, edits):
        old, new = split_lines(base[start:end]), split_lines(result)
        offsets = list(accumulate(map(len, old), initial=start))
        for gap in _gaps(old, new):
            blocks = [gap]
            if 1 < gap.comparisons <= comparisons_left:
                comparisons_left -= gap.comparisons
                blocks = _compare(old, new, gap)
            for block in blocks:
                yield LineChange(
                    start=offsets[block.old_start],
                    end=offsets[block.old_end],
                    old=old[block.old_start : block.old_end],
                    new=new[block.new_start : block.new_end],
                )


def split_lines(data: bytes) -> list[bytes]:
    """Lines with their LF; the last one may have none."""
    return _LINE.findall(data)


class _Block(NamedTuple):
    """Half-open ranges of two lists of lines."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int

    @property
    def comparisons(self) -> int:
        return (self.old_end - self.old_start) * (self.new_end - self.new_start)


def _regions(base: bytes, edits: Sequence[ByteEdit]) -> Iterator[tuple[int, int, bytes]]:
    """Byte ranges ``[start, end)`` of whole lines that `edits` touch, each with what it becomes.

    The line behind an edit that ends at a line's start counts as touched, because the edit may have
    taken the line end before it. So does everything that follows once the end of the base is touched.
    """
    start = end = at = 0
    pieces: list[bytes] = []
    for edit in edits:
        if pieces and end <= edit.start and end < len(base):
            yield start, end, b"".join((*pieces, base[at:end]))
            pieces = []
        if not pieces:
            start = at = max(end, base.rfind(b"\n", end, edit.start) + 1)
        pieces += (base[at : edit.start], edit.new)
        at = edit.end
        if end <= at:
            end = base.find(b"\n", at) + 1 or len(base)
    if pieces:
        yield start, end, b"".join((*pieces, base[at:end]))


def _gaps(old: list[bytes], new: list[bytes]) -> Iterator[_Block]:
    """Blocks that differ, between the lines that have only one possible counterpart."""
    whole = _trimmed(old, new, _Block(0, len(old), 0, len(new)))
    pairs = _anchors(old, new, whole) if whole.comparisons > 1 else []
    old_at, new_at = whole.old_start, whole.new_start
    for old_line, new_line in (*pairs, (whole.old_end, whole.new_end)):
        gap = _trimmed(old, new, _Block(old_at, old_line, new_at, new_line))
        if gap.old_start < gap.old_end or gap.new_start < gap.new_end:
            yield gap
        old_at, new_at = old_line + 1, new_line + 1


def _trimmed(old: list[bytes], new: list[bytes], block: _Block) -> _Block:
    """`block` without the first and last lines that both sides share."""
    old_start, old_end, new_start, new_end = block
    while old_start < old_end and new_start < new_end and old[old_start] == new[new_start]:
        old_start += 1
        new_start += 1
    while old_start < old_end and new_start < new_end and old[old_end - 1] == new[new_end - 1]:
        old_end -= 1
        new_end -= 1
    return _Block(old_start, old_end, new_start, new_end)


def _anchors(old: list[bytes], new: list[bytes], block: _Block) -> list[tuple[int, int]]:
    """Indexes of lines that stand exactly once on both sides: the longest list that keeps their order.

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
    ends: list[int] = []  # and the pair that stands there.
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


def _compare(old: list[bytes], new: list[bytes], gap: _Block) -> list[_Block]:
    """The blocks inside of `gap` that differ."""
    matcher = SequenceMatcher(
        None, old[gap.old_start : gap.old_end], new[gap.new_start : gap.new_end], autojunk=False
    )
    return [
        _Block(
            gap.old_start + old_start,
            gap.old_start + old_end,
            gap.new_start + new_start,
            gap.new_start + new_end,
        )
        for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes()
        if tag != "equal"
    ]
