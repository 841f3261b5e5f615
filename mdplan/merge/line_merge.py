"""Merge of three texts by lines, as diff3 does it: what both sides changed at one place is a conflict."""

from collections.abc import Iterator, Sequence
from typing import Final

from mdplan.merge.pieces import BOTH_CHANGED, Origin, Piece, Texts
from mdplan.text.diff import ComparedBlock, LineComparison

# Pairs of lines that one comparison of two texts may look at beyond lines that occur once.
_COMPARISONS: Final = 400_000


def merge_lines(texts: Texts, base: range, ours: range, theirs: range) -> list[Piece]:
    """The pieces of the merge of these lines of `texts`, in order; changes that touch each other conflict."""
    old, own, other = (
        texts.part(lines, where) for lines, where in zip(texts, (base, ours, theirs), strict=True)
    )
    own_changes, other_changes = _changes(old, own), _changes(old, other)
    pieces: list[Piece] = []
    at, ours_at, theirs_at = base.start, ours.start, theirs.start
    for own_group, other_group in _groups(own_changes, other_changes):
        start = base.start + min(block.old_start for block in (*own_group, *other_group))
        end = base.start + max(block.old_end for block in (*own_group, *other_group))
        if start > at:
            length = start - at
            pieces.append(_kept(range(at, start), ours_at, theirs_at))
            ours_at, theirs_at = ours_at + length, theirs_at + length
        ours_range = range(ours_at, ours_at + end - start + _growth(own_group))
        theirs_range = range(theirs_at, theirs_at + end - start + _growth(other_group))
        pieces += _changed(texts, range(start, end), ours_range, theirs_range)
        at, ours_at, theirs_at = end, ours_range.stop, theirs_range.stop
    if at < base.stop:
        pieces.append(_kept(range(at, base.stop), ours_at, theirs_at))
    return pieces


def _changes(old: list[str], new: list[str]) -> list[ComparedBlock]:
    """The blocks that differ; lines that were added or deleted among equal ones are as far down as can be.

    So two sides that add the same lines add them at the same place.
    """
    blocks = list(LineComparison(_COMPARISONS).differing(old, new))
    found: list[ComparedBlock] = []
    following = [*((each.old_start, each.new_start) for each in blocks[1:]), (len(old), len(new))]
    for block, (end, new_end) in zip(blocks, following, strict=False):
        at, stop, new_at, new_stop = block
        is_added, is_deleted = at == stop, new_at == new_stop
        while stop < end and new_stop < new_end and is_added != is_deleted:
            if (new[new_at] != new[new_stop]) if is_added else (old[at] != old[stop]):
                break
            at, stop, new_at, new_stop = at + 1, stop + 1, new_at + 1, new_stop + 1
        found.append(ComparedBlock(at, stop, new_at, new_stop))
    return found


def kept_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The lines of `old` that `new` kept, each with its place in `new`."""
    at = shift = 0
    for block in LineComparison().differing(list(old), list(new)):
        yield from ((line, line + shift) for line in range(at, block.old_start))
        at, shift = block.old_end, block.new_end - block.old_end
    yield from ((line, line + shift) for line in range(at, len(old)))


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
    # Compared in one order, so that swapped sides conflict in the same lines.
    is_swapped = other < own
    pair = (other, own) if is_swapped else (own, other)
    for found in LineComparison(_COMPARISONS).differing(*pair):
        here, there = range(found.old_start, found.old_end), range(found.new_start, found.new_end)
        here, there = (there, here) if is_swapped else (here, there)
        start, other_start = piece.ours.start + here.start, piece.theirs.start + there.start
        if start > at:
            yield _common(nothing, range(at, start), range(other_at, other_start))
        at, other_at = piece.ours.start + here.stop, piece.theirs.start + there.stop
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
