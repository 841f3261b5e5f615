"""Pieces of the three texts of a merge, in the order of the result."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple

# The reason of a conflict that no rule for Markdown asked for.
BOTH_CHANGED: Final = "both sides changed these lines"


class Origin(StrEnum):
    """Where the lines of a piece come from."""

    BOTH = "both"
    OURS = "ours"
    THEIRS = "theirs"
    MERGED = "merged"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Half-open ranges of 0-based lines of `base`, `ours` and `theirs`, and which of them the result has.

    A merged piece has lines of its own, `merged`. A conflict has a `reason` in words. A `note` says in words
    what the merge decided by itself.
    """

    origin: Origin
    base: range
    ours: range
    theirs: range
    merged: tuple[str, ...] = ()
    reason: str = ""
    note: str = ""

    @property
    def ranges(self) -> tuple[range, range, range]:
        """Its lines in base, ours and theirs."""
        return self.base, self.ours, self.theirs


class ResultLine(NamedTuple):
    """A line of the result, its piece, and its lines in the sides; None where a side does not have it."""

    text: str
    piece: int
    ours: int | None
    theirs: int | None


class Texts(NamedTuple):
    """Lines of the three texts, each with its LF."""

    base: Sequence[str]
    ours: Sequence[str]
    theirs: Sequence[str]

    def part(self, lines: Sequence[str], where: range) -> list[str]:
        """The lines `where` of one of the texts."""
        return list(lines[where.start : where.stop])


def result_lines(texts: Texts, pieces: Iterable[Piece]) -> Iterator[ResultLine]:
    """The lines of a result; of a conflict none."""
    for number, piece in enumerate(pieces):
        if piece.origin is Origin.BOTH:
            for ours, theirs in zip(piece.ours, piece.theirs, strict=True):
                yield ResultLine(texts.ours[ours], number, ours, theirs)
        elif piece.origin is Origin.OURS:
            yield from (ResultLine(texts.ours[at], number, at, None) for at in piece.ours)
        elif piece.origin is Origin.THEIRS:
            yield from (ResultLine(texts.theirs[at], number, None, at) for at in piece.theirs)
        elif piece.origin is Origin.MERGED:
            for index, line in enumerate(piece.merged):
                yield ResultLine(line, number, _nth(piece.ours, index), _nth(piece.theirs, index))


def _nth(where: range, index: int) -> int | None:
    return where[min(index, len(where) - 1)] if where else None


def is_conflict(piece: Piece) -> bool:
    """Whether a person must decide."""
    return piece.origin is Origin.CONFLICT


def marked_lines(pieces: Iterable[Piece]) -> int:
    """Lines of both sides in conflicts."""
    return sum(len(piece.ours) + len(piece.theirs) for piece in pieces if is_conflict(piece))


def conflict(piece: Piece, reason: str) -> Piece:
    """`piece` as a conflict."""
    return Piece(origin=Origin.CONFLICT, base=piece.base, ours=piece.ours, theirs=piece.theirs, reason=reason)


_SWAPPED: Final = {Origin.OURS: Origin.THEIRS, Origin.THEIRS: Origin.OURS}


def swapped(piece: Piece) -> Piece:
    """`piece` of a merge in which ours and theirs change places."""
    origin = _SWAPPED.get(piece.origin, piece.origin)
    return replace(piece, origin=origin, ours=piece.theirs, theirs=piece.ours)
