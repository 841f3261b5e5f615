"""The blank lines between the pieces of a merge."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from mdplan.merge.pieces import Origin, Piece, Texts, is_conflict
from mdplan.merge.trees.document_tree import DocumentTree

# A place in each of the three texts; None in those that do not have it.
_Places = tuple[int | None, int | None, int | None]


def with_gaps(texts: Texts, documents: Sequence[DocumentTree], pieces: Sequence[Piece]) -> list[Piece]:
    """`pieces` with the blank lines between them; their empty ranges say where they are.

    Between two pieces that follow each other in a side are the blank lines of that side, merged as lines are.
    Between others are those next to them: none between members of a tight list. Before the first piece and
    after the last one are those at that end of the sides.
    """
    found: list[Piece] = []
    stops: _Places = (0, 0, 0)
    at = [0, 0, 0]
    for piece in pieces:
        ranges = [where or range(place, place) for where, place in zip(piece.ranges, at, strict=True)]
        placed = replace(piece, base=ranges[0], ours=ranges[1], theirs=ranges[2])
        if _has_lines(placed):
            base, ours, theirs = ((where.start if where else None) for where in ranges)
            found += _gap_piece(_gap(texts, documents, stops, (base, ours, theirs)), at)
            base, ours, theirs = ((where.stop if where else None) for where in ranges)
            stops = (base, ours, theirs)
        at = [where.stop for where in ranges]
        found.append(placed)
    ends = (len(texts.base), len(texts.ours), len(texts.theirs))
    return [*found, *_gap_piece(_gap(texts, documents, stops, ends), at)]


def joined(texts: Texts, pieces: Sequence[Piece]) -> list[Piece]:
    """`pieces` with one conflict for those that nothing but blank lines part."""
    found: list[Piece] = []
    blanks: list[Piece] = []
    for piece in pieces:
        if found and is_conflict(found[-1]):
            if piece.origin is Origin.MERGED and not "".join(piece.merged).strip():
                blanks.append(piece)
                continue
            if is_conflict(piece) and _touch(texts, found[-1], piece):
                last = found.pop()
                base, ours, theirs = (
                    range(left.start if left else right.start, right.stop if right else left.stop)
                    for left, right in zip(last.ranges, piece.ranges, strict=True)
                )
                piece = replace(last, base=base, ours=ours, theirs=theirs)  # noqa: PLW2901
                blanks = []
        found += [*blanks, piece]
        blanks = []
    return [*found, *blanks]


def _touch(texts: Texts, left: Piece, right: Piece) -> bool:
    places = zip(texts, left.ranges, right.ranges, strict=True)
    return all(
        not before or not after or _blank(lines, before.stop, after.start) is not None
        for lines, before, after in places
    )


def _has_lines(piece: Piece) -> bool:
    if piece.origin is Origin.MERGED:
        return bool(piece.merged)
    if is_conflict(piece):
        return bool(piece.ours or piece.theirs)
    return bool(piece.theirs if piece.origin is Origin.THEIRS else piece.ours)


def _gap_piece(lines: Sequence[str], at: Sequence[int]) -> list[Piece]:
    base, ours, theirs = (range(place, place) for place in at)
    piece = Piece(origin=Origin.MERGED, base=base, ours=ours, theirs=theirs, merged=tuple(lines))
    return [piece] if lines else []


def _gap(texts: Texts, documents: Sequence[DocumentTree], stops: _Places, starts: _Places) -> Sequence[str]:
    base, ours, theirs = (
        None if stop is None or start is None else _blank(lines, stop, start)
        for lines, stop, start in zip(texts, stops, starts, strict=True)
    )
    if ours is not None and theirs is not None:
        return theirs if ours == base else ours
    if ours is not None or theirs is not None:
        return ours or theirs or ()
    # What one side deletes next to what the other deletes can leave new neighbours, and new ends.
    is_start, is_end = stops == (0, 0, 0), starts == tuple(map(len, texts))
    if is_start or is_end:
        base, ours, theirs = (_blank_end(lines, is_end=is_end) for lines in texts)
        return theirs if ours == base else ours
    return ["\n"] * _blanks_beside(texts, documents, stops, starts)


def _blank(lines: Sequence[str], start: int, stop: int) -> Sequence[str] | None:
    """The lines from `start` up to `stop` if they are blank; else None."""
    between = lines[start:stop]
    return None if start > stop or any(line.strip() for line in between) else between


def _blank_end(lines: Sequence[str], *, is_end: bool) -> Sequence[str]:
    """The blank lines that `lines` begin with, or where it `is_end` those that they end with."""
    order = reversed(lines) if is_end else lines
    return list(takewhile(lambda line: not line.strip(), order))


def _blanks_beside(texts: Texts, documents: Sequence[DocumentTree], stops: _Places, starts: _Places) -> int:
    """How many blank lines go between two pieces that follow each other in no side."""
    sides = list(zip(texts, documents, stops, starts, strict=True))[1:]
    beside: list[int] = []
    are_members: list[bool] = []
    for lines, document, stop, start in sides:
        if stop is not None and stop < len(lines):
            after = next((at for at in range(stop, len(lines)) if lines[at].strip()), None)
            beside += [] if after is None else [after - stop]
        if start:
            before = next((at for at in range(start - 1, -1, -1) if lines[at].strip()), None)
            beside += [] if before is None else [start - 1 - before]
        are_members += [] if stop is None else [stop - 1 in document.members]
        are_members += [] if start is None else [start in document.members]
    if all(are_members):
        return min(beside, default=0)
    return max(1, *beside) if beside else 1
