"""The merge of three documents: lines first, then units where lines conflict, then the guards."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from mdplan.merge.conflict_markers import MarkerStyle, Merge, final_end, lines_of, rendered
from mdplan.merge.gaps import joined, with_gaps
from mdplan.merge.guards import MatchedSide, flaws, unpadded
from mdplan.merge.line_merge import kept_lines, split_conflict
from mdplan.merge.pieces import (
    Origin,
    Piece,
    ResultLine,
    Texts,
    conflict,
    is_conflict,
    marked_lines,
    result_lines,
    swapped,
)
from mdplan.merge.shortening import shortened
from mdplan.merge.trees.document_tree import DocumentTree
from mdplan.merge.trees.tree_merge import TreeMerge

_ROUNDS: Final = 4
_STRICT: Final = "only a merge that is not strict decides this: {}"


def merge_documents(
    base: str, ours: str, theirs: str, style: MarkerStyle | None = None, *, is_strict: bool = False
) -> Merge:
    """Merge the Markdown texts `ours` and `theirs`, which both come from `base`.

    All three have LF line ends. Where lines do not conflict, the result has the lines of both sides; where
    they do, items, table rows, definitions, new sections and sentences are merged. What a guard refuses is a
    conflict. Where it `is_strict`, lines that no side has are conflicts as well.
    """
    if theirs in {ours, base}:
        return Merge(ours, ())
    if ours == base:
        return Merge(theirs, ())
    short = shortened(Texts(*[lines_of(text) for text in (base, ours, theirs)]))
    texts = short.texts
    documents = [DocumentTree(lines) for lines in texts]
    pieces = _merged(texts, documents, is_strict=is_strict)
    if any(is_conflict(piece) for piece in pieces):
        # What is clean with the sides swapped is clean: whichever side is ours.
        reversed_texts = Texts(texts.base, texts.theirs, texts.ours)
        other = _merged(reversed_texts, [documents[at] for at in (0, 2, 1)], is_strict=is_strict)
        if not any(is_conflict(piece) for piece in other):
            pieces = [swapped(piece) for piece in other]
    pieces = [part for piece in joined(texts, pieces) for part in split_conflict(texts, piece)]
    found = rendered(
        texts,
        pieces,
        partial(_path, documents[1]),
        style or MarkerStyle(),
        has_final_end=final_end(base, ours, theirs),
    )
    conflicts = (
        replace(
            each,
            line=short.ours[each.line - 1] + 1 if each.line <= len(short.ours) else each.line,
            base=short.whole(each.base),
            ours=short.whole(each.ours),
            theirs=short.whole(each.theirs),
        )
        for each in found.conflicts
    )
    return replace(found, text=short.whole(found.text), conflicts=tuple(conflicts))


def _merged(texts: Texts, documents: Sequence[DocumentTree], *, is_strict: bool) -> list[Piece]:
    """The pieces of the result: by lines first if that is clean, else what has the fewest marked lines."""
    sides = _sides(documents)
    merged: list[list[Piece]] = []
    for lines_first in (True, False):
        pieces = TreeMerge(texts, documents, lines_first=lines_first).pieces()
        if is_strict:
            pieces = [conflict(each, _STRICT.format(each.note)) if each.note else each for each in pieces]
        merged.append(_guarded(texts, sides, with_gaps(texts, documents, pieces)))
        if not any(is_conflict(piece) for piece in merged[-1]):
            break
    return min(merged, key=marked_lines)


def first_flaw(base: str, ours: str, theirs: str, result: str) -> str:
    """Why `result`, a merge of the others without conflicts, must not be used; empty if nothing is wrong."""
    texts = Texts(*[lines_of(text) for text in (base, ours, theirs)])
    found = lines_of(result)
    own, other = ({new: old for old, new in kept_lines(side, found)} for side in (texts.ours, texts.theirs))
    lines = [ResultLine(line, 0, own.get(at), other.get(at)) for at, line in enumerate(found)]
    wrong = flaws(texts, _sides([DocumentTree(each) for each in texts]), lines)
    return next((flaw.reason for flaw in wrong), "")


def _sides(documents: Sequence[DocumentTree]) -> tuple[DocumentTree, MatchedSide, MatchedSide]:
    base, ours, theirs = documents
    return base, MatchedSide(base, ours), MatchedSide(base, theirs)


def _guarded(
    texts: Texts, sides: tuple[DocumentTree, MatchedSide, MatchedSide], pieces: list[Piece]
) -> list[Piece]:
    """`pieces` with a conflict wherever a guard refuses what would be merged."""
    for _ in range(_ROUNDS):
        lines = list(result_lines(texts, pieces))
        refused: dict[int, str] = {}
        for flaw in flaws(texts, sides, lines, _declared(texts, pieces)):
            number = _blamed(texts, pieces, lines[flaw.line].piece if lines else 0, flaw.lost)
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


def _declared(texts: Texts, pieces: Sequence[Piece]) -> frozenset[str] | None:
    """The lines that a merged piece has or replaces; None where conflicts keep lines from being counted."""
    if any(is_conflict(piece) for piece in pieces):
        return None
    merged = [piece for piece in pieces if piece.origin is Origin.MERGED]
    return frozenset(
        line
        for piece in merged
        for lines in (
            piece.merged,
            *(texts.part(side, where) for side, where in zip(texts, piece.ranges, strict=True)),
        )
        for line in lines
    )


def _blamed(texts: Texts, pieces: Sequence[Piece], number: int, lost: str) -> int | None:
    """The piece that a side changed and that has the line `lost`, or else that is nearest to `number`."""
    if pieces[number].origin is Origin.BOTH and not lost and any(is_conflict(each) for each in pieces):
        # The conflict explains it: the text is not whole without it.
        return None
    changed = [
        index
        for index in (*range(number, -1, -1), *range(number + 1, len(pieces)))
        if pieces[index].origin not in {Origin.BOTH, Origin.CONFLICT}
        and (pieces[index].ours or pieces[index].theirs)
    ]
    guilty = (index for index in changed if lost and lost in _all_lines(texts, pieces[index]))
    return next(guilty, next(iter(changed), None))


def _all_lines(texts: Texts, piece: Piece) -> set[str]:
    parts = (texts.part(side, where) for side, where in zip(texts, piece.ranges, strict=True))
    return {unpadded(line) for part in parts for line in part}


def _path(ours: DocumentTree, line: int) -> tuple[str, ...]:
    return ours.section_at(min(line, len(ours.lines) - 1)).path if ours.lines else ()
