"""Renders a merge as text, with conflict markers where a person must decide."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mdplan.merge.pieces import Origin, Piece, Texts, result_lines

# The path of the section, or of the key, around a 0-based line of ours.
PathAt = Callable[[int], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Conflict:
    """A place that needs a person: the section by its path, why, and the text of each side.

    `line` is the 1-based line of ours.
    """

    path: tuple[str, ...]
    reason: str
    line: int
    base: str
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True)
class MergedText:
    """Lines that the merge wrote and no side has: `what` it did, in which section, and the new lines."""

    path: tuple[str, ...]
    what: str
    text: str


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge: `text` has markers where there are `conflicts`; `note` says why it is git's, if it is.

    `decisions` are the lines that no side has.
    """

    text: str
    conflicts: tuple[Conflict, ...]
    note: str = ""
    decisions: tuple[MergedText, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether no conflict is left."""
        return not self.conflicts


@dataclass(frozen=True, slots=True)
class MarkerStyle:
    """Style of conflict markers: their length, and the names of the sides."""

    size: int = 7
    ours: str = "ours"
    theirs: str = "theirs"


def lines_of(text: str) -> list[str]:
    """Lines of `text`, each with LF, the last one too."""
    return [line + "\n" for line in text.removesuffix("\n").split("\n")] if text else []


def final_end(base: str, ours: str, theirs: str) -> bool:
    """Whether the result ends with a line end: by the side that changed that."""
    old, own, other = (text.endswith("\n") or not text for text in (base, ours, theirs))
    return other if own == old else own


def rendered(
    texts: Texts, pieces: Sequence[Piece], path_at: PathAt, style: MarkerStyle, *, has_final_end: bool
) -> Merge:
    """`pieces` of `texts` as one text, with the conflicts and decisions in it."""
    parts: list[str] = []
    conflicts: list[Conflict] = []
    decisions: list[MergedText] = []
    for piece in pieces:
        if piece.note:
            decisions.append(MergedText(path_at(piece.ours.start), piece.note, "".join(piece.merged)))
        if piece.origin is not Origin.CONFLICT:
            parts += (line.text for line in result_lines(texts, [piece]))
            continue
        found = _conflict(texts, piece, path_at)
        conflicts.append(found)
        parts += _marked(found, style)
    text = "".join(parts)
    text = text if has_final_end or conflicts else text.removesuffix("\n")
    return Merge(text, tuple(conflicts), decisions=tuple(decisions))


def _conflict(texts: Texts, piece: Piece, path_at: PathAt) -> Conflict:
    base, own, other = (
        "".join(texts.part(lines, where)) for lines, where in zip(texts, piece.ranges, strict=True)
    )
    line = min(piece.ours.start, max(len(texts.ours) - 1, 0))
    return Conflict(path_at(piece.ours.start), piece.reason, line + 1, base, own, other)


def _marked(found: Conflict, style: MarkerStyle) -> Iterator[str]:
    where = f": {' / '.join(found.path)}" if found.path else ""
    yield f"{'<' * style.size} {style.ours}{where}\n"
    yield found.ours
    yield f"{'=' * style.size}\n"
    yield found.theirs
    yield f"{'>' * style.size} {style.theirs}{where}\n"
