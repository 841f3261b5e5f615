"""Which lines a list of edits changes, as a diff has them.

Lines end at LF alone here, as git, GNU patch and dulwich have it in diffs: a CR, U+2028 or form feed
belongs to its line.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from mdplan.text.diff.line_blocks import LineComparison
from mdplan.text.source import ByteEdit

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
    comparison = LineComparison()
    for start, end, result in _regions(base, edits):
        old, new = split_lines(base[start:end]), split_lines(result)
        offsets = list(accumulate(map(len, old), initial=start))
        for block in comparison.differing(old, new):
            yield LineChange(
                start=offsets[block.old_start],
                end=offsets[block.old_end],
                old=old[block.old_start : block.old_end],
                new=new[block.new_start : block.new_end],
            )


def split_lines(data: bytes) -> list[bytes]:
    """Lines with their LF; the last one may have none."""
    return _LINE.findall(data)


def _regions(base: bytes, edits: Sequence[ByteEdit]) -> Iterator[tuple[int, int, bytes]]:
    """Byte ranges ``[start, end)`` of whole lines that `edits` touch, each with what it becomes.

    The line after an edit that ends at a line's start counts as touched, because the edit may have
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
