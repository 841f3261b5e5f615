"""Merge of three trees: siblings by what they are, moved or not, and what both sides changed part by part."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from mdplan.merge.line_merge import merge_lines
from mdplan.merge.pieces import BOTH_CHANGED, Origin, Piece, Texts, is_conflict, marked_lines
from mdplan.merge.trees.document_tree import DocumentTree
from mdplan.merge.trees.leaf_merge import merge_leaf
from mdplan.merge.trees.matching import matches, new_in_both
from mdplan.merge.trees.merge_node import MEMBERS, SETS, MergeNode, MergeNodeKind, Three
from mdplan.merge.trees.numbering import renumbered
from mdplan.merge.trees.sibling_order import SiblingPlace, merged_order

_NOTHING: Final = range(0)
_WITH_DELETED: Final = "deleted and changed"
_NEARLY_SAME: Final = "both sides added nearly the same"
_ADDED_HERE: Final = "both sides added text at this place"
_MOVED: Final = "both sides moved it"


# A sibling by where it is first: the text, 0 to 2, and its index there.
_Name = tuple[int, int]


class TreeMerge:
    """The merge of three documents, node by node."""

    def __init__(self, texts: Texts, documents: Sequence[DocumentTree], *, lines_first: bool) -> None:
        """Merge `documents`, which have the `texts`.

        With `lines_first`, siblings that merge line by line are not looked at one by one.
        """
        self.texts = texts
        self.roots = Three(*(each.root for each in documents))
        self.lines_first = lines_first

    def pieces(self) -> list[Piece]:
        """The pieces of the result, without the blank lines between nodes."""
        base, ours, theirs = self.roots
        return self._siblings(*(each.children if each else () for each in (base, ours, theirs)))

    def _siblings(
        self, base: Sequence[MergeNode], ours: Sequence[MergeNode], theirs: Sequence[MergeNode]
    ) -> list[Piece]:
        by_lines = merge_lines(self.texts, *(_lines(each) for each in (base, ours, theirs)))
        if self.lines_first and not any(is_conflict(piece) for piece in by_lines):
            return by_lines
        known = _known(base, ours, theirs)
        order = merged_order(*(list(each) for each in known))
        if order is None:
            whole = Piece(
                origin=Origin.CONFLICT,
                base=_lines(base),
                ours=_lines(ours),
                theirs=_lines(theirs),
                reason=_MOVED,
            )
            return min([whole], by_lines, key=marked_lines)
        nodes = {name: Three(*(each.get(name) for each in known)) for each in known for name in each}
        around = [None if place.known is None else nodes[place.known] for place in order]
        return [
            piece
            for place, before, after in zip(order, around, [*around[1:], None], strict=True)
            for piece in self._place(place, nodes, before, after)
        ]

    def _place(
        self, place: SiblingPlace[_Name], nodes: dict[_Name, Three], before: Three | None, after: Three | None
    ) -> Iterator[Piece]:
        if before is not None:
            yield from self._node(before)
        ours, theirs = ([nodes[name] for name in names] for names in (place.ours, place.theirs))
        sections = [
            [each for each in side if _kind(each) is MergeNodeKind.SECTION] for side in (ours, theirs)
        ]
        blocks = [
            [each for each in side if _kind(each) is not MergeNodeKind.SECTION] for side in (ours, theirs)
        ]
        if blocks[0] and blocks[1]:
            yield from self._both_added(blocks[0], blocks[1], before, after)
        else:
            yield from (piece for each in (*blocks[0], *blocks[1]) for piece in self._node(each))
        # The deeper ones first, which would else be below those of the other side; the levels of siblings
        # never rise, so this is the one order in which none is, if there is one, whichever side is ours.
        sections.sort(key=_deepest_and_highest, reverse=True)
        yield from (piece for each in (*sections[0], *sections[1]) for piece in self._node(each))

    def _both_added(
        self, ours: Sequence[Three], theirs: Sequence[Three], before: Three | None, after: Three | None
    ) -> Iterator[Piece]:
        """Blocks that both sides add at one place: members of one set are all added, others conflict.

        Members are sorted if each side sorted its own among their neighbours; else theirs are first.
        """
        kinds = {_kind(each) for each in (*ours, *theirs)}
        if len(kinds) == 1 and kinds <= MEMBERS:
            added = [*theirs, *ours]
            if all(_are_sorted([before, *side, after]) for side in (ours, theirs)):
                added.sort(key=_sort_key)
            yield from (piece for each in added for piece in self._node(each))
            return
        if len(ours) == len(theirs) == len(kinds) == 1 and kinds <= SETS:
            yield from self._node(Three(None, ours[0].ours, theirs[0].theirs))
            return
        yield Piece(
            origin=Origin.CONFLICT,
            base=_NOTHING,
            ours=_lines([each.ours for each in ours if each.ours]),
            theirs=_lines([each.theirs for each in theirs if each.theirs]),
            reason=_ADDED_HERE,
        )

    def _node(self, three: Three) -> list[Piece]:
        base, ours, theirs = three
        raw = [self._raw(index, node) for index, node in enumerate(three)]
        if raw[1] == raw[2]:
            return [_piece(Origin.BOTH, three)] if ours else []
        if raw[1] == raw[0]:
            return [_piece(Origin.THEIRS, three)]
        if raw[2] == raw[0]:
            return [_piece(Origin.OURS, three)]
        if ours is None or theirs is None:
            return self._deleted(three)
        if not ours.children and not theirs.children and not (base and base.children):
            return merge_leaf(self.texts, three)
        head = (
            []
            if ours.kind in SETS
            else merge_leaf(self.texts, Three(*(_head(each) if each else None for each in three)))
        )
        pieces = [*head, *self._siblings(*(each.children if each else () for each in three))]
        if ours.kind is MergeNodeKind.LIST:
            pieces = renumbered(self.texts, three, pieces)
        elif ours.kind is MergeNodeKind.FRONT_MATTER and any(map(is_conflict, pieces)):
            pieces = self._front_matter(three) or pieces
        return pieces

    def _front_matter(self, three: Three) -> list[Piece]:
        """Front matter merged by what its keys say, where its lines conflict; empty where that conflicts."""
        # It reads YAML, which takes longer to load than most merges.
        from mdplan.merge.trees.data_merge import BY_KEYS, merged_front_matter

        base, ours, theirs = ("".join(self._raw(index, each) or ()) for index, each in enumerate(three))
        merged = merged_front_matter(base, ours, theirs)
        if merged is None:
            return []
        whole = _piece(Origin.MERGED, three)
        return [replace(whole, merged=tuple(merged.splitlines(keepends=True)), note=BY_KEYS)]

    def _deleted(self, three: Three) -> list[Piece]:
        """What one side deleted and the other changed: the changed parts are conflicts."""
        base, ours, theirs = three
        kept = ours or theirs
        if base is None or kept is None:
            return []
        if not (base.children and kept.children):
            return [_piece(Origin.CONFLICT, three, _WITH_DELETED)]
        pieces = [] if kept.kind in SETS else [_conflict_of_head(three)]
        found = matches(base.children, kept.children)
        back = {new: old for old, new in found.items()}
        for index, child in enumerate(kept.children):
            before = base.children[back[index]] if index in back else None
            if before is None or before.text != child.text:
                part = Three(before, child, None) if ours else Three(before, None, child)
                pieces += self._deleted(part) if before else [_piece(Origin.CONFLICT, part, _WITH_DELETED)]
        return pieces

    def _raw(self, index: int, node: MergeNode | None) -> list[str] | None:
        return None if node is None else self.texts.part(self.texts[index], node.lines)


def _known(
    base: Sequence[MergeNode], ours: Sequence[MergeNode], theirs: Sequence[MergeNode]
) -> tuple[dict[_Name, MergeNode], dict[_Name, MergeNode], dict[_Name, MergeNode]]:
    """The siblings of the three texts in order, with the same name where they are the same."""
    own, other = matches(base, ours), matches(base, theirs)
    own_new = sorted({*range(len(ours))}.difference(own.values()))
    other_new = sorted({*range(len(theirs))}.difference(other.values()))
    both = new_in_both([ours[index] for index in own_new], [theirs[index] for index in other_new])
    own_names = {new: (0, old) for old, new in own.items()} | {index: (1, index) for index in own_new}
    other_names = {new: (0, old) for old, new in other.items()} | {index: (2, index) for index in other_new}
    other_names |= {other_new[right]: (1, own_new[left]) for left, right in both.items()}
    return (
        {(0, index): node for index, node in enumerate(base)},
        {own_names[index]: node for index, node in enumerate(ours)},
        {other_names[index]: node for index, node in enumerate(theirs)},
    )


def _are_sorted(members: Sequence[Three | None]) -> bool:
    """Whether at least three members are in the order of their texts, and so not by chance."""
    keys = [_sort_key(each) for each in members if each]
    return len(keys) > 2 and all(left <= right for left, right in pairwise(keys))


def _sort_key(three: Three) -> str:
    node = three.ours or three.theirs or three.base
    return re.sub(r"\W+", " ", node.text).strip().casefold() if node else ""


def _level(three: Three) -> int:
    node = three.ours or three.theirs
    return node.level if node else 0


def _deepest_and_highest(sections: Sequence[Three]) -> tuple[int, int]:
    levels = [_level(each) for each in sections]
    return max(levels, default=0), min(levels, default=0)


def _kind(three: Three) -> MergeNodeKind:
    node = three.ours or three.theirs or three.base
    return node.kind if node else MergeNodeKind.LEAF


def _lines(nodes: Sequence[MergeNode]) -> range:
    return range(nodes[0].lines.start, nodes[-1].stop) if nodes else _NOTHING


def _head(node: MergeNode) -> MergeNode:
    return MergeNode(node.kind, node.head, node.head.stop, node.text, node.style, node.label)


def _piece(origin: Origin, three: Three, reason: str = BOTH_CHANGED) -> Piece:
    base, ours, theirs = (each.lines if each else _NOTHING for each in three)
    return Piece(origin=origin, base=base, ours=ours, theirs=theirs, reason=reason)


def _conflict_of_head(three: Three) -> Piece:
    base, ours, theirs = (each.head if each else _NOTHING for each in three)
    return Piece(origin=Origin.CONFLICT, base=base, ours=ours, theirs=theirs, reason=_WITH_DELETED)
