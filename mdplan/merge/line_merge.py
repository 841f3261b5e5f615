"""Merge of three texts by lines, as diff3 does it: what both sides changed at one place is a conflict."""

from collections.abc import Iterator, Sequence
from typing import Final

from mdplan.merge.pieces import BOTH_CHANGED, Origin, Piece, Texts
from mdplan.text.diff.line_blocks import ComparedBlock, LineComparison

# Pairs of lines that one comparison of two texts may look at beyond lines that occur once.
_COMPARISONS: Final = 400_000


def merge_lines(texts: Texts) -> list[Piece]:
    """The pieces of the merge of `texts`, in order; changes that touch each other are one conflict."""
    ours = list(LineComparison(_COMPARISONS).differing(list(texts.base), list(texts.ours)))
    theirs = list(LineComparison(_COMPARISONS).differing(list(texts.base), list(texts.theirs)))
    pieces: list[Piece] = []
    at = ours_at = theirs_at = 0
    for own, other in _groups(ours, theirs):
        start = min(block.old_start for block in (*own, *other))
        end = max(block.old_end for block in (*own, *other))
        if start > at:
            length = start - at
            pieces.append(_kept(range(at, start), ours_at, theirs_at))
            ours_at, theirs_at = ours_at + length, theirs_at + length
        ours_range = range(ours_at, ours_at + end - start + _growth(own))
        theirs_range = range(theirs_at, theirs_at + end - start + _growth(other))
        pieces += _changed(texts, range(start, end), ours_range, theirs_range)
        at, ours_at, theirs_at = end, ours_range.stop, theirs_range.stop
    if at < len(texts.base):
        pieces.append(_kept(range(at, len(texts.base)), ours_at, theirs_at))
    return pieces


def _kept(base: range, ours: int, theirs: int) -> Piece:
    return Piece(
        origin=Origin.BOTH,
        base=base,
        ours=range(ours, ours + len(base)),
        theirs=range(theirs, theirs + len(base)),
    )


def _growth(blocks: Sequence[ComparedBlock]) -> int:
    return sum((each.new_end - each.new_start) - (each.old_end - each.old_start) for each in blocks)


def _groups(
    ours: Sequence[ComparedBlock], theirs: Sequence[ComparedBlock]
) -> Iterator[tuple[list[ComparedBlock], list[ComparedBlock]]]:
    """Changes of both sides that touch each other in the base."""
    group: tuple[list[ComparedBlock], list[ComparedBlock]] = ([], [])
    end = -1
    for block, side in sorted([*((each, 0) for each in ours), *((each, 1) for each in theirs)]):
        if block.old_start > end and (group[0] or group[1]):
            yield group
            group = ([], [])
        group[side].append(block)
        end = max(end, block.old_end)
    if group[0] or group[1]:
        yield group


def _changed(texts: Texts, base: range, ours: range, theirs: range) -> Iterator[Piece]:
    old, own, other = (
        texts.part(lines, where)
        for lines, where in ((texts.base, base), (texts.ours, ours), (texts.theirs, theirs))
    )
    if own == other:
        yield Piece(origin=Origin.BOTH, base=base, ours=ours, theirs=theirs)
        return
    origin = Origin.THEIRS if own == old else Origin.OURS if other == old else Origin.CONFLICT
    yield Piece(origin=origin, base=base, ours=ours, theirs=theirs, reason=BOTH_CHANGED)


def split_conflict(texts: Texts, piece: Piece) -> Iterator[Piece]:
    """A conflict without the lines that both sides have, as git shows it; other pieces as they are."""
    if piece.origin is not Origin.CONFLICT or not piece.ours or not piece.theirs:
        yield piece
        return
    own, other = texts.part(texts.ours, piece.ours), texts.part(texts.theirs, piece.theirs)
    at, other_at = piece.ours.start, piece.theirs.start
    base, nothing = piece.base, range(piece.base.stop, piece.base.stop)
    for block in LineComparison(_COMPARISONS).differing(own, other):
        start, other_start = piece.ours.start + block.old_start, piece.theirs.start + block.new_start
        if start > at:
            yield _common(nothing, range(at, start), range(other_at, other_start))
        at, other_at = piece.ours.start + block.old_end, piece.theirs.start + block.new_end
        yield Piece(
            origin=Origin.CONFLICT,
            base=base,
            ours=range(start, at),
            theirs=range(other_start, other_at),
            reason=piece.reason,
        )
        base = nothing
    if at < piece.ours.stop:
        yield _common(nothing, range(at, piece.ours.stop), range(other_at, piece.theirs.stop))


def _common(base: range, ours: range, theirs: range) -> Piece:
    return Piece(origin=Origin.BOTH, base=base, ours=ours, theirs=theirs)
