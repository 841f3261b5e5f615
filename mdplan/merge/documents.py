"""The merge of three documents: lines first, then units where lines conflict, then the guards."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mdplan.merge.guards import Side, flaws
from mdplan.merge.line_merge import merge_lines, split_conflict
from mdplan.merge.pieces import Origin, Piece, Texts, conflict, result_lines
from mdplan.merge.unit_merge import resolve
from mdplan.merge.units import Units

_ROUNDS: Final = 4


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
class Merge:
    """A merge: `text` has markers where there are `conflicts`; `note` says why it is git's, if it is."""

    text: str
    conflicts: tuple[Conflict, ...]
    note: str = ""

    @property
    def is_clean(self) -> bool:
        """Whether no conflict is left."""
        return not self.conflicts


@dataclass(frozen=True, slots=True)
class MarkerStyle:
    """How conflicts are marked: with so many characters, and how the sides are named."""

    size: int = 7
    ours: str = "ours"
    theirs: str = "theirs"


def merge_documents(base: str, ours: str, theirs: str, style: MarkerStyle | None = None) -> Merge:
    """Merge the Markdown texts `ours` and `theirs`, which both come from `base`.

    All three have LF line ends. Where lines do not conflict, the result has the lines of both sides; where
    they do, items, table rows, definitions, new sections and sentences are merged. What a guard refuses is a
    conflict.
    """
    if theirs in {ours, base}:
        return Merge(ours, ())
    if ours == base:
        return Merge(theirs, ())
    texts = Texts(*[_lines(text) for text in (base, ours, theirs)])
    documents = tuple(Units(lines) for lines in (texts.base, texts.ours, texts.theirs))
    pieces = [
        part
        for piece in merge_lines(texts)
        for part in (resolve(texts, documents, piece) if piece.origin is Origin.CONFLICT else [piece])
    ]
    pieces = [part for piece in _guarded(texts, documents, pieces) for part in split_conflict(texts, piece)]
    return _rendered(texts, documents[1], pieces, style or MarkerStyle(), _final_end(base, ours, theirs))


def _lines(text: str) -> list[str]:
    """Lines of `text`, each with LF, the last one too."""
    return [line + "\n" for line in text.removesuffix("\n").split("\n")] if text else []


def _final_end(base: str, ours: str, theirs: str) -> bool:
    """Whether the result ends with a line end: by the side that changed that."""
    old, own, other = (text.endswith("\n") or not text for text in (base, ours, theirs))
    return other if own == old else own


def _guarded(texts: Texts, documents: Sequence[Units], pieces: list[Piece]) -> list[Piece]:
    """`pieces` with a conflict wherever a guard refuses what would be merged."""
    base, ours, theirs = documents
    sides = (base, Side(base, ours), Side(base, theirs))
    for _ in range(_ROUNDS):
        lines = list(result_lines(texts, pieces))
        refused: dict[int, str] = {}
        for flaw in flaws(texts, sides, pieces, lines):
            number = _changed_piece(pieces, lines[flaw.line].piece) if lines else None
            if number is not None:
                refused.setdefault(number, flaw.reason)
        if not refused:
            return pieces
        pieces = [
            conflict(piece, refused[number]) if number in refused else piece
            for number, piece in enumerate(pieces)
        ]
    return [
        piece if piece.origin is Origin.BOTH else conflict(piece, "the merge cannot be proven")
        for piece in pieces
    ]


def _changed_piece(pieces: Sequence[Piece], number: int) -> int | None:
    """The piece `number`, or where both sides have it the nearest one that a side changed."""
    candidates = [*range(number, -1, -1), *range(number + 1, len(pieces))]
    changed = (each for each in candidates if pieces[each].origin not in {Origin.BOTH, Origin.CONFLICT})
    if pieces[number].origin is Origin.BOTH and any(each.origin is Origin.CONFLICT for each in pieces):
        # The conflict explains it: the text is not whole without it.
        return None
    return next(changed, None)


def _rendered(
    texts: Texts,
    ours: Units,
    pieces: Sequence[Piece],
    style: MarkerStyle,
    ends: bool,  # noqa: FBT001 (private)
) -> Merge:
    parts: list[str] = []
    conflicts: list[Conflict] = []
    for piece in pieces:
        if piece.origin is not Origin.CONFLICT:
            parts += (line.text for line in result_lines(texts, [piece]))
            continue
        found = _conflict(texts, ours, piece)
        conflicts.append(found)
        parts += _marked(found, style)
    text = "".join(parts)
    return Merge(text if ends or conflicts else text.removesuffix("\n"), tuple(conflicts))


def _conflict(texts: Texts, ours: Units, piece: Piece) -> Conflict:
    line = min(piece.ours.start, max(len(texts.ours) - 1, 0))
    outline = ours.outline
    path = outline.section_at(outline.source.lines.start(line + 1)).path if texts.ours else ()
    return Conflict(
        path,
        piece.reason,
        line + 1,
        *(
            "".join(texts.part(lines, where))
            for lines, where in (
                (texts.base, piece.base),
                (texts.ours, piece.ours),
                (texts.theirs, piece.theirs),
            )
        ),
    )


def _marked(found: Conflict, style: MarkerStyle) -> Iterator[str]:
    where = f": {' / '.join(found.path)}" if found.path else ""
    yield f"{'<' * style.size} {style.ours}{where}\n"
    yield found.ours
    yield f"{'=' * style.size}\n"
    yield found.theirs
    yield f"{'>' * style.size} {style.theirs}{where}\n"
