"""Merge of one block that both sides changed: by lines, cells, sentences, or the box of a task."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from mdplan.merge.line_merge import merge_lines
from mdplan.merge.pieces import BOTH_CHANGED, Origin, Piece, Texts, is_conflict
from mdplan.merge.trees.document_tree import cells_of
from mdplan.merge.trees.merge_node import MergeNodeKind, Three

_ITEM: Final = re.compile(r"(\s*(?:[-+*]|\d+[.)])\s+)(\[[ xX]\](?=\s))?(.*)", re.DOTALL)
_SENTENCE: Final = re.compile(r"(?<=[.!?])(?=[ ]+\S)")
# Lines of which a sentence cannot be told from its neighbours.
_NO_PROSE: Final = ("|", "#", "<", "[")
_REWRITTEN: Final = "both sides changed it"
_BOTH_NEW: Final = "both sides added nearly the same"
_OTHER_COLUMNS: Final = "one side changed the columns of the table"


def merge_leaf(texts: Texts, three: Three) -> list[Piece]:
    """The pieces of a block, or of the first lines of an item or section, that both sides changed."""
    base, ours, theirs = three
    if ours is None or theirs is None:
        return []
    lines = tuple(each.lines if each else range(0) for each in three)
    old, own, other = (texts.part(text, where) for text, where in zip(texts, lines, strict=True))
    whole = Piece(
        origin=Origin.CONFLICT,
        base=lines[0],
        ours=lines[1],
        theirs=lines[2],
        reason=_REWRITTEN if base else _BOTH_NEW,
    )
    if own == other:
        return [_as(whole, Origin.BOTH)]
    if old in (own, other):
        return [_as(whole, Origin.THEIRS if own == old else Origin.OURS)]
    if base is None:
        return [whole]
    if ours.text == base.text != theirs.text or theirs.text == base.text:
        # One side changed nothing but padding or the number.
        return [_as(whole, Origin.THEIRS if ours.text == base.text else Origin.OURS)]
    return [part for piece in merge_lines(texts, *lines) for part in [_by_parts(texts, ours.kind, piece)]]


def _as(piece: Piece, origin: Origin) -> Piece:
    return Piece(origin=origin, base=piece.base, ours=piece.ours, theirs=piece.theirs, reason=BOTH_CHANGED)


def _by_parts(texts: Texts, kind: MergeNodeKind, piece: Piece) -> Piece:
    """A conflict about one line as the line that has the changes of both sides, if they are independent."""
    if not is_conflict(piece) or not len(piece.base) == len(piece.ours) == len(piece.theirs) == 1:
        return piece
    base, ours, theirs = (
        text[where.start] for text, where in zip(texts, (piece.base, piece.ours, piece.theirs), strict=True)
    )
    merge, note = _PARTS.get(kind, (None, ""))
    merged = merge(base, ours, theirs) if merge else None
    if merged is None:
        return piece
    return replace(piece, origin=Origin.MERGED, merged=(merged,), note=note)


def _cells(base: str, ours: str, theirs: str) -> str | None:
    if len({len(cells_of(row)) for row in (base, ours, theirs)}) > 1 or len(cells_of(base)) < 2:
        return None
    old, own, other = (re.split(r"(?<!\\)(\|)", row) for row in (base, ours, theirs))
    return _each(old, own, other)


def _item(base: str, ours: str, theirs: str) -> str | None:
    found = [_ITEM.fullmatch(line) for line in (base, ours, theirs)]
    parts = [[each[1], each[2] or "", each[3]] for each in found if each]
    if len(parts) < 3:
        return _sentences(base, ours, theirs)
    old, own, other = parts
    return _each(old, own, other, within=_sentences)


def _each(
    base: Sequence[str],
    ours: Sequence[str],
    theirs: Sequence[str],
    within: Callable[[str, str, str], str | None] | None = None,
) -> str | None:
    """The parts of a line, each from the side that changed it; None where both did."""
    if not len(base) == len(ours) == len(theirs):
        return None
    parts: list[str] = []
    for old, own, other in zip(base, ours, theirs, strict=True):
        if other.strip() in {old.strip(), own.strip()}:
            parts.append(own)
        elif own.strip() == old.strip():
            parts.append(other)
        else:
            merged = within(old, own, other) if within else None
            if merged is None:
                return None
            parts.append(merged)
    return "".join(parts)


def _sentences(base: str, ours: str, theirs: str) -> str | None:
    """A long line both sides changed, if an unchanged sentence is between their changes; else None."""
    if any(line.lstrip().startswith(_NO_PROSE) for line in (base, ours, theirs)):
        return None
    texts = Texts(*(_SENTENCE.split(line) for line in (base, ours, theirs)))
    if len(texts.base) < 3:
        return None
    pieces = merge_lines(texts, *(range(len(each)) for each in texts))
    if any(is_conflict(piece) for piece in pieces):
        return None
    return "".join(
        chain.from_iterable(
            texts.part(texts.theirs, piece.theirs)
            if piece.origin is Origin.THEIRS
            else texts.part(texts.ours, piece.ours)
            for piece in pieces
        )
    )


# How one line of a kind is merged, and what the merge says of it.
_PARTS: Final[dict[MergeNodeKind, tuple[Callable[[str, str, str], str | None], str]]] = {
    MergeNodeKind.ROW: (_cells, "a row has the cells of both sides"),
    MergeNodeKind.ITEM: (_item, "an item has the box, the text or the sentences of both sides"),
    MergeNodeKind.LEAF: (_sentences, "a line has the sentences of both sides"),
}
