"""Merge three document trees: match siblings, follow moves, and merge conflicting nodes by parts."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import groupby, pairwise, takewhile
from typing import Any, Final, NamedTuple

from rapidfuzz import fuzz

from mdplan.markdown.blocks import BOX, Block, BlockKind, check_deadline, check_deadline_often
from mdplan.markdown.headings import canonical_heading
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.merge.lines import (
    BOTH_CHANGED,
    Origin,
    Piece,
    Texts,
    changed_version,
    conflict,
    is_conflict,
    lines_of,
    merge_lines,
    origin_of,
    result_lines,
)
from mdplan.merge.siblings import (
    MOST_PAIRS,
    MOVED,
    WITH_DELETED,
    FirstPlace,
    Pairs,
    SiblingPlace,
    alike,
    merged_order,
    named_siblings,
    same_siblings,
)
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span
from mdplan.text.source import Source
from mdplan.values import Struct, replace

_NOTHING: Final = range(0)
_ADDED_HERE: Final = "both sides added text at this place"


# --- Nodes of the merge tree


class MergeNodeKind(StrEnum):
    """The kind of a node; a `LEAF` is merged by lines."""

    ROOT = "root"
    SECTION = "section"
    FRONT_MATTER = "front matter"
    LIST = "list"
    ITEM = "item"
    TABLE = "table"
    ROW = "row"
    DEFINITIONS = "definitions"
    DEFINITION = "definition"
    LEAF = "leaf"


class MergeNode(Struct):
    """0-based lines: `head`, then `children`, up to `stop`, without trailing blank lines.

    - `style`: must be equal for nodes to match: the block kind or list marker.
    - `label`: its name among siblings: a section title, the link of an item.
    - `text`: equal for matching nodes: rows without padding, numbered items without number.
    - `level`: of a section's heading.
    """

    kind: MergeNodeKind
    head: range
    stop: int
    text: str
    style: str = ""
    label: str = ""
    children: tuple["MergeNode", ...] = ()
    level: int = 0

    @property
    def lines(self) -> range:
        """The lines of the node and its children."""
        return range(self.head.start, self.stop)

    def walk(self) -> Iterator["MergeNode"]:
        """Yield it and its descendants, in order."""
        yield self
        for child in self.children:
            yield from child.walk()


class Three(NamedTuple):
    """A node in base, ours and theirs; None if absent."""

    base: MergeNode | None
    ours: MergeNode | None
    theirs: MergeNode | None

    @property
    def any(self) -> MergeNode:
        """The node in a side, or in the base."""
        return next(node for node in (self.ours, self.theirs, self.base) if node is not None)


class DocumentTree:
    """A text: its `lines` with LF, `outline`, and the `root` of its tree."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.outline = Outline(Source.from_text("".join(lines)))

    @cached_property
    def root(self) -> MergeNode:
        """The root; trailing definitions are its last child."""
        source = self.outline.source
        children: list[MergeNode] = []
        if self.outline.front_matter is not None:
            where = self._written(range(source.lines.line_at(self.outline.body_start - 1)))
            children.append(self._node(MergeNodeKind.FRONT_MATTER, where, where.stop))
        children += self._content(self.outline.sections[0])
        children += self._runs(Span(self.outline.content_end, len(source.text)))
        return self._node(MergeNodeKind.ROOT, range(0), len(self.lines), children=tuple(children))

    @cached_property
    def members(self) -> frozenset[int]:
        """Lines of items, rows and definitions."""
        return frozenset(line for node in self.root.walk() if node.kind in MEMBERS for line in node.lines)

    @cached_property
    def item_starts(self) -> Sequence[int]:
        """The first lines of items, in order."""
        items = (each for each in self.outline.blocks if each.kind is BlockKind.LIST_ITEM)
        return sorted({each.first_line - 1 for each in items})

    @cached_property
    def item_gap(self) -> int:
        """The usual number of blank lines between items of unnested lists."""
        around = (
            each for each in self.root.walk() if each.kind in {MergeNodeKind.ROOT, MergeNodeKind.SECTION}
        )
        lists = (
            child.children for each in around for child in each.children if child.kind is MergeNodeKind.LIST
        )
        gaps = Counter(below.head.start - above.stop for items in lists for above, below in pairwise(items))
        return next((count for count, _ in gaps.most_common(1)), 0)

    def section_at(self, line: int) -> Section:
        """Return the section around the 0-based `line`."""
        return self.outline.section_at(self.outline.source.lines.start(line + 1))

    @cached_property
    def _groups(self) -> list[list[Block]]:
        return _nested(self.outline.blocks, 0)

    def _content(self, section: Section) -> list[MergeNode]:
        """Return the nodes of the own body of `section`, and its subsections."""
        body = Span(section.body.start, min(section.body.end, self.outline.content_end))
        return [*self._runs(body), *map(self._section, self.outline.children(section))]

    def _section(self, section: Section) -> MergeNode:
        assert section.heading is not None, "only the first section has none"
        head = range(section.first_line - 1, section.heading.last_line)
        children = tuple(self._content(section))
        return self._node(
            MergeNodeKind.SECTION,
            head,
            children[-1].stop if children else head.stop,
            style="section",
            label=canonical_heading(section.title),
            children=children,
            level=section.level,
        )

    def _runs(self, where: Span) -> Iterator[MergeNode]:
        """Yield the nodes of the blocks in `where`."""
        first, stop = (
            bisect_left(self._groups, at, key=lambda group: group[0].span.start)
            for at in (where.start, where.end)
        )
        yield from self._joined(self._groups[first:stop])

    def _joined(self, groups: Sequence[list[Block]]) -> Iterator[MergeNode]:
        """Yield nodes for `groups`, joining successive definitions."""
        nodes = map(self._block, groups)
        for is_set, run in groupby(nodes, lambda node: node.kind is MergeNodeKind.DEFINITION):
            if is_set:
                yield self._set(MergeNodeKind.DEFINITIONS, list(run))
            else:
                yield from run

    def _block(self, group: list[Block]) -> MergeNode:
        block = group[0]
        where = self._written(range(block.first_line - 1, block.last_line))
        if block.kind is BlockKind.LIST:
            items = [self._item(each) for each in _nested(group[1:], block.depth + 1)]
            return self._set(MergeNodeKind.LIST, items, block.kind + block.markup)
        if block.kind is BlockKind.TABLE:
            return self._set(MergeNodeKind.TABLE, [self._row(line) for line in where])
        if block.kind in _DEFINITIONS:
            found = _LABEL.match(self.lines[where.start])
            label = " ".join(found[1].casefold().split()) if found else ""
            return self._node(MergeNodeKind.DEFINITION, where, where.stop, style=block.kind, label=label)
        return self._node(MergeNodeKind.LEAF, where, where.stop, style=block.kind)

    def _item(self, group: list[Block]) -> MergeNode:
        item = group[0]
        where = self._written(range(item.first_line - 1, item.last_line))
        below = _nested(group[1:], item.depth + 1)
        first = next((number for number, each in enumerate(below) if each[0].kind is BlockKind.LIST), None)
        children: list[MergeNode] = []
        head = where
        if first is not None and below[first][0].first_line > item.first_line:
            children = list(self._joined(below[first:]))
            head = self._written(range(where.start, children[0].lines.start))
        marker = _MARKER.match(self.lines[where.start])
        link = _LINK.match(self.lines[where.start], marker.end() if marker else 0)
        label = (link[1] or link[2] or "") if link else ""
        node = self._node(MergeNodeKind.ITEM, head, where.stop, label=label, children=tuple(children))
        return replace(node, text=_ITEM_NUMBER.sub(r"\1#\2", node.text, count=1))

    def _row(self, line: int) -> MergeNode:
        text = row_text(self.lines[line])
        label = "rule" if set(text) <= set(":-|") else cells_of(self.lines[line])[0]
        return MergeNode(MergeNodeKind.ROW, range(line, line + 1), line + 1, text, label=label)

    def _set(self, kind: MergeNodeKind, members: Sequence[MergeNode], style: str = "") -> MergeNode:
        start, stop = members[0].lines.start, members[-1].stop
        return self._node(kind, range(start, start), stop, style=style, children=tuple(members))

    def _node(self, kind: MergeNodeKind, head: range, stop: int, **more: Any) -> MergeNode:  # noqa: ANN401 (its other fields)
        return MergeNode(kind, head, stop, "".join(self.lines[head.start : stop]), **more)

    def _written(self, where: range) -> range:
        stop = where.stop
        while stop > where.start + 1 and not self.lines[stop - 1].strip():
            stop -= 1
        return range(where.start, stop)


class TreeMerge:
    """The merge of three documents, node by node."""

    def __init__(self, texts: Texts, documents: Sequence[DocumentTree], *, lines_first: bool) -> None:
        """Merge `documents` with the lines `texts`.

        `lines_first`: do not compare siblings individually if they merge by lines.
        """
        self.texts = texts
        self.roots = Three(*(each.root for each in documents))
        self.lines_first = lines_first

    def pieces(self) -> list[Piece]:
        """Return the merged pieces, without the blank lines between nodes."""
        children = [each.children if each else () for each in self.roots]
        first = [
            each[0] if each and each[0].kind is MergeNodeKind.FRONT_MATTER else None for each in children
        ]
        if not any(first):
            return self._siblings(*children)
        below = (each[node is not None :] for each, node in zip(children, first, strict=True))
        return [*self._node(Three(*first)), *self._siblings(*below)]

    def _siblings(
        self, base: Sequence[MergeNode], ours: Sequence[MergeNode], theirs: Sequence[MergeNode]
    ) -> list[Piece]:
        versions = base, ours, theirs
        by_lines = merge_lines(self.texts, *map(_lines, versions))
        if self.lines_first and not any(map(is_conflict, by_lines)):
            return by_lines
        check_deadline_often()
        known = named_siblings(versions, matches, new_in_both)
        order = merged_order(*(list(each) for each in known))
        if order is None:
            return self._disputed(versions, MOVED)
        nodes = {name: Three(*(each.get(name) for each in known)) for each in known for name in each}
        indexes = [{name: index for index, name in enumerate(each)} for each in known]
        around = [None if place.known is None else nodes[place.known] for place in order]
        pieces: list[Piece] = []
        for place, before, after in zip(order, around, [*around[1:], None], strict=True):
            pieces += self._node(before) if before is not None else ()
            if not place.gone:
                pieces += self._added(place, nodes, before, after)
                continue
            runs = [
                [at[name] for name in names]
                for at, names in zip(indexes, (place.gone, place.ours, place.theirs), strict=True)
            ]
            if any(run and run[-1] - run[0] >= len(run) for run in runs):
                return self._disputed(versions, MOVED)
            parts = [[side[at] for at in run] for side, run in zip(versions, runs, strict=True)]
            pieces += self._disputed(parts, place.reason)
        return pieces

    def _disputed(self, versions: Sequence[Sequence[MergeNode]], reason: str) -> list[Piece]:
        """Return siblings that need a decision, as a conflict on the lines that both changed."""
        ranges = [_lines(each) for each in versions]
        by_lines = merge_lines(self.texts, *ranges)
        if any(map(is_conflict, by_lines)):
            return by_lines
        base, ours, theirs = ranges
        return [Piece(origin=Origin.CONFLICT, base=base, ours=ours, theirs=theirs, reason=reason)]

    def _added(
        self,
        place: SiblingPlace[FirstPlace],
        nodes: dict[FirstPlace, Three],
        before: Three | None,
        after: Three | None,
    ) -> Iterator[Piece]:
        """Yield what the sides add at one place."""
        ours, theirs = ([nodes[name] for name in names] for names in (place.ours, place.theirs))
        sections, blocks = (
            [
                [each for each in side if (each.any.kind is MergeNodeKind.SECTION) is is_section]
                for side in (ours, theirs)
            ]
            for is_section in (True, False)
        )
        if blocks[0] and blocks[1]:
            yield from self._both_added(blocks[0], blocks[1], before, after)
        else:
            yield from (piece for each in (*blocks[0], *blocks[1]) for piece in self._node(each))
        # Deeper sections first, which would otherwise end up below those of the other side. Levels of
        # siblings never increase, so this is the only valid order, and it is symmetric.
        sections.sort(key=_deepest_and_highest, reverse=True)
        yield from (piece for each in (*sections[0], *sections[1]) for piece in self._node(each))

    def _both_added(
        self, ours: Sequence[Three], theirs: Sequence[Three], before: Three | None, after: Three | None
    ) -> Iterator[Piece]:
        """Merge blocks that both sides add at one place: set members are all added, others conflict.

        Members are sorted if each side kept its neighbours sorted; otherwise theirs come first.
        """
        kinds = {each.any.kind for each in (*ours, *theirs)}
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
        old, own, other = (self._raw(index, node) for index, node in enumerate(three))
        origin = origin_of(old, own, other)
        if origin is not Origin.CONFLICT:
            return [_piece(origin, three)] if origin is not Origin.BOTH or ours else []
        if ours is None or theirs is None:
            return self._deleted(three)
        if ours.kind is MergeNodeKind.FRONT_MATTER:
            return self._front_matter(three)
        if not ours.children and not theirs.children and not (base and base.children):
            return merge_leaf(self.texts, three)
        head = [] if ours.kind in SETS else merge_leaf(self.texts, _heads(three))
        pieces = [*head, *self._siblings(*(each.children if each else () for each in three))]
        if ours.kind is MergeNodeKind.LIST:
            pieces = renumbered(self.texts, three, pieces)
        return pieces

    def _front_matter(self, three: Three) -> list[Piece]:
        """Merge front matter that both sides changed: by lines, else by keys."""
        # This needs YAML, which loads more slowly than most merges run.
        from mdplan.merge.data import merged_front_matter

        whole = _piece(Origin.MERGED, three)
        pieces = merge_lines(self.texts, *whole.ranges)
        found = merged_front_matter(*("".join(self._raw(at, node) or ()) for at, node in enumerate(three)))
        has_conflict = any(map(is_conflict, pieces))
        if found is None or (has_conflict and not found.is_clean):
            return pieces
        if not found.is_clean:
            reason = found.conflicts[0].reason
            return [each if each.origin is Origin.BOTH else conflict(each, reason) for each in pieces]
        if not has_conflict and found.text == "".join(line.text for line in result_lines(self.texts, pieces)):
            return pieces
        note = next((each.what for each in found.decisions if each.text), "")
        return [replace(whole, merged=tuple(lines_of(found.text)), note=note)]

    def _deleted(self, three: Three) -> list[Piece]:
        """Merge a node that one side deleted and the other changed: changed parts conflict."""
        base, ours, theirs = three
        kept = ours or theirs
        if base is None or kept is None:
            return []
        if not (base.children and kept.children):
            return [_piece(Origin.CONFLICT, three, WITH_DELETED)]
        pieces = [] if kept.kind in SETS else [_piece(Origin.CONFLICT, _heads(three), WITH_DELETED)]
        pairs = matches(base.children, kept.children)
        back = {new: old for old, new in pairs.items()}
        for index, child in enumerate(kept.children):
            before = base.children[back[index]] if index in back else None
            if before is None or before.text != child.text:
                part = Three(before, child, None) if ours else Three(before, None, child)
                pieces += self._deleted(part) if before else [_piece(Origin.CONFLICT, part, WITH_DELETED)]
        return pieces

    def _raw(self, index: int, node: MergeNode | None) -> list[str] | None:
        return None if node is None else list(self.texts[index][node.lines.start : node.stop])


def _are_sorted(members: Sequence[Three | None]) -> bool:
    """Return True if at least three members are sorted, so that it is not by chance."""
    keys = [_sort_key(each) for each in members if each]
    return len(keys) > 2 and all(left <= right for left, right in pairwise(keys))


def _sort_key(three: Three) -> str:
    return re.sub(r"\W+", " ", three.any.text).strip().casefold()


def _deepest_and_highest(sections: Sequence[Three]) -> tuple[int, int]:
    levels = [each.any.level for each in sections]
    return max(levels, default=0), min(levels, default=0)


def _lines(nodes: Sequence[MergeNode]) -> range:
    return range(nodes[0].lines.start, nodes[-1].stop) if nodes else _NOTHING


def _heads(three: Three) -> Three:
    """Return `three` without descendants."""
    return Three(*(replace(each, stop=each.head.stop, children=()) if each else None for each in three))


def _piece(origin: Origin, three: Three, reason: str = BOTH_CHANGED) -> Piece:
    base, ours, theirs = (each.lines if each else _NOTHING for each in three)
    return Piece(origin=origin, base=base, ours=ours, theirs=theirs, reason=reason)


# Set members: both sides may add some at the same place.
MEMBERS: Final = frozenset({MergeNodeKind.ITEM, MergeNodeKind.ROW, MergeNodeKind.DEFINITION})

# Nodes that consist only of children.
SETS: Final = frozenset({MergeNodeKind.LIST, MergeNodeKind.TABLE, MergeNodeKind.DEFINITIONS})


# --- A document as a tree: sections, lists with items, tables with rows, and other blocks

_LINK: Final = lazy_pattern(r"[*_~`]*\[!?\[?[^\]]*\]+(?:\(([^)\s]*)|\[([^\]]*)\])")
_MARKER: Final = lazy_pattern(rf"\s*(?:[-+*]|\d+[.)])\s+(?:{BOX}\s+)?")
_ITEM_NUMBER: Final = lazy_pattern(r"(\s*)\d+([.)])")
_LABEL: Final = lazy_pattern(r"\s*\[([^\]]+)\]:")
_DEFINITIONS: Final = frozenset({BlockKind.DEFINITION, BlockKind.FOOTNOTE})


def cells_of(row: str) -> list[str]:
    """Return the cell texts of a table row."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().removeprefix("|").removesuffix("|"))]


def row_text(row: str) -> str:
    """Return a row without padding, for comparison."""
    return "|".join(re.sub("-+", "-", cell) if set(cell) <= set(":-") else cell for cell in cells_of(row))


def _nested(blocks: Sequence[Block], depth: int) -> list[list[Block]]:
    """Group blocks by those at `depth`."""
    groups: list[list[Block]] = []
    for block in blocks:
        if block.depth == depth or not groups:
            groups.append([block])
        else:
            groups[-1].append(block)
    return groups


# --- Merging one block that both sides changed: by lines, cells, sentences, or task box

_LIST_ITEM: Final = lazy_pattern(rf"(\s*(?:[-+*]|\d+[.)])\s+)({BOX}(?=\s))?(.*)", re.DOTALL)
_SENTENCE: Final = lazy_pattern(r"(?<=[.!?])(?=[ ]+\S)")

# Lines without separable sentences.
_NO_PROSE: Final = ("|", "#", "<", "[")
_BOTH_NEW: Final = "both sides added nearly the same"


def merge_leaf(texts: Texts, three: Three) -> list[Piece]:
    """Merge a block, or the first lines of an item or section, that both sides changed."""
    base, ours, theirs = three
    if ours is None or theirs is None:
        return []
    ranges = _piece(Origin.BOTH, three).ranges
    origin = origin_of(*texts.parts(*ranges))
    if origin is not Origin.CONFLICT:
        return [_piece(origin, three)]
    if base is None:
        return [_piece(Origin.CONFLICT, three, _BOTH_NEW)]
    origin = origin_of(base.text, ours.text, theirs.text)
    if origin in {Origin.OURS, Origin.THEIRS}:
        # One side changed only padding or the number.
        return [_piece(origin, three)]
    return [_by_parts(texts, ours.kind, piece) for piece in merge_lines(texts, *ranges)]


def _by_parts(texts: Texts, kind: MergeNodeKind, piece: Piece) -> Piece:
    """Merge a one-line conflict by its parts, if the changes are independent."""
    if not is_conflict(piece) or not len(piece.base) == len(piece.ours) == len(piece.theirs) == 1:
        return piece
    merge, note = _PARTS.get(kind, (None, ""))
    merged = merge(*map("".join, texts.parts(*piece.ranges))) if merge else None
    if merged is None:
        return piece
    return replace(piece, origin=Origin.MERGED, merged=(merged,), note=note)


def _cells(base: str, ours: str, theirs: str) -> str | None:
    if len({len(cells_of(row)) for row in (base, ours, theirs)}) > 1 or len(cells_of(base)) < 2:
        return None
    old, own, other = (re.split(r"(?<!\\)(\|)", row) for row in (base, ours, theirs))
    return _each(old, own, other)


def _item(base: str, ours: str, theirs: str) -> str | None:
    found = [_LIST_ITEM.fullmatch(line) for line in (base, ours, theirs)]
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
    """Merge the parts of a line; None if both sides changed the same one."""
    if not len(base) == len(ours) == len(theirs):
        return None
    parts: list[str] = []
    for old, own, other in zip(base, ours, theirs, strict=True):
        origin = origin_of(old.strip(), own.strip(), other.strip())
        if origin is Origin.CONFLICT:
            merged = within(old, own, other) if within else None
        else:
            merged = other if origin is Origin.THEIRS else own
        if merged is None:
            return None
        parts.append(merged)
    return "".join(parts)


def _sentences(base: str, ours: str, theirs: str) -> str | None:
    """Merge a long line by sentences, if an unchanged one separates the changes; else None."""
    if any(line.lstrip().startswith(_NO_PROSE) for line in (base, ours, theirs)):
        return None
    texts = Texts(*(_SENTENCE.split(line) for line in (base, ours, theirs)))
    if len(texts.base) < 3:
        return None
    pieces = merge_lines(texts, *(range(len(each)) for each in texts))
    if any(is_conflict(piece) for piece in pieces):
        return None
    return "".join(line.text for line in result_lines(texts, pieces))


# How to merge one line of a kind, and the note about it.
_PARTS: Final[dict[MergeNodeKind, tuple[Callable[[str, str, str], str | None], str]]] = {
    MergeNodeKind.ROW: (_cells, "a row has the cells of both sides"),
    MergeNodeKind.ITEM: (_item, "an item has the box, the text or the sentences of both sides"),
    MergeNodeKind.LEAF: (_sentences, "a line has the sentences of both sides"),
}


# --- Matching nodes of two or three versions

# The minimum similarity in per cent for a match, or for two new texts to be too similar.
_SAME: Final = 60
_ALIKE: Final = 85

# The size limit for comparisons: the product of both lengths.
_MOST_CHARACTERS: Final = 16_000_000

# Nodes that differ if their labels do, however similar.
_NAMED: Final = frozenset({MergeNodeKind.SECTION, MergeNodeKind.DEFINITION, MergeNodeKind.ROW})


def matches(old: Sequence[MergeNode], new: Sequence[MergeNode]) -> dict[int, int]:
    """Match the siblings `old` to `new`, by index."""

    def alike_in(where: range, new_where: range) -> Pairs:
        pairs = dict(alike(where, new_where, lambda at, new_at: _is_same(old[at], new[new_at])))
        left = [at for at in where if at not in pairs]
        new_left = [at for at in new_where if at not in pairs.values()]
        rewritten = list(zip(left, new_left, strict=False))
        if len(left) == len(new_left) and all(_can_be_rewritten(old[at], new[to]) for at, to in rewritten):
            pairs |= rewritten
        return pairs.items()

    return same_siblings([_name(each) for each in old], [_name(each) for each in new], alike_in)


def new_in_both(ours: Sequence[MergeNode], theirs: Sequence[MergeNode]) -> dict[int, int]:
    """Match new siblings of both sides that are equal or too similar."""
    pairs: dict[int, int] = {}
    by_name: dict[Hashable, deque[int]] = defaultdict(deque)
    for index, node in enumerate(theirs):
        for name in (_name(node), _label(node)):
            by_name[name].append(index)
    taken: set[int] = set()
    for index, node in enumerate(ours):
        free = None
        for name in (_name(node), *((_label(node),) if node.label else ())):
            same = by_name[name]
            while same and same[0] in taken:
                same.popleft()
            free = same[0] if same and free is None else free
        if free is None and len(ours) * len(theirs) <= MOST_PAIRS:
            free = next(
                (each for each, other in enumerate(theirs) if each not in taken and _is_alike(node, other)),
                None,
            )
        if free is not None:
            pairs[index] = free
            taken.add(free)
    return pairs


def _name(node: MergeNode) -> Hashable:
    """Return a key that is equal for siblings that certainly match."""
    return _label(node) if node.kind is MergeNodeKind.SECTION else (node.kind, node.style, node.text)


def _label(node: MergeNode) -> Hashable:
    return (node.kind, node.style, "label", node.label)


def _can_be_rewritten(old: MergeNode, new: MergeNode) -> bool:
    """Return True if `new` may be a complete rewrite of `old`: nodes with a name may not."""
    has_name = old.kind is MergeNodeKind.SECTION or old.label or new.label
    return not has_name and (old.kind, old.style) == (new.kind, new.style)


def _is_same(old: MergeNode, new: MergeNode) -> bool:
    if (old.kind, old.style) != (new.kind, new.style):
        return False
    if old.kind is MergeNodeKind.SECTION or old.kind in SETS:
        return _shared_lines(old, new)
    if old.label or new.label:
        return old.label == new.label
    return _likeness(old, new) >= _SAME


def _shared_lines(old: MergeNode, new: MergeNode) -> bool:
    """Return True if the nodes share at least half of their lines, without headings."""
    own, other = (
        Counter(line for child in node.children for line in child.text.split("\n") if line.strip())
        for node in (old, new)
    )
    return 2 * (own & other).total() >= max(1, min(own.total(), other.total()))


def _is_alike(left: MergeNode, right: MergeNode) -> bool:
    if (left.kind, left.style) != (right.kind, right.style) or left.kind in _NAMED:
        return False
    return _likeness(left, right) >= _ALIKE


def _likeness(left: MergeNode, right: MergeNode) -> float:
    """Return the similarity in per cent; 0 below `_SAME` and for long texts."""
    texts = left.text, right.text
    if left.kind is MergeNodeKind.ITEM:
        texts = _MARKER.sub("", left.text, count=1), _MARKER.sub("", right.text, count=1)
    if len(texts[0]) * len(texts[1]) > _MOST_CHARACTERS:
        return 0
    check_deadline()
    return fuzz.ratio(*texts, score_cutoff=_SAME)


# --- Numbers of a list after a merge

RENUMBERED: Final = "items were renumbered"
_NUMBER: Final = lazy_pattern(r"(\s*)(\d+)([.)].*)", re.DOTALL)


def renumbered(texts: Texts, lists: Sequence[MergeNode | None], pieces: Sequence[Piece]) -> list[Piece]:
    """Return `pieces` of a merged list, renumbered if all versions in `lists` count up."""
    numbers = [_numbers(lines, each) for lines, each in zip(texts, lists, strict=True)]
    if not all(_counts_up(each) for each in numbers) or max(map(len, numbers)) < 2:
        return list(pieces)
    base, ours, theirs = (each[0] if each else None for each in numbers)
    number = changed_version(base, ours, theirs) or 0
    starts = [{item.lines.start for item in each.children} if each else set() for each in lists]
    result: list[Piece] = []
    for piece in pieces:
        if is_conflict(piece):
            number += max(
                len(starts[side].intersection(where)) for side, where in enumerate(piece.ranges) if side
            )
            result.append(piece)
            continue
        for part in _items(texts, piece, starts):
            changed, is_item = _with_number(texts, part, starts, number)
            number += is_item
            result.append(changed)
    return result


def _numbers(lines: Sequence[str], node: MergeNode | None) -> list[int]:
    """Return the item numbers; -1 for items without."""
    markers = [_NUMBER.match(lines[item.lines.start]) for item in (node.children if node else ())]
    return [int(each[2]) if each else -1 for each in markers]


def _counts_up(numbers: Sequence[int]) -> bool:
    return not numbers or (numbers[0] >= 0 and numbers == [*range(numbers[0], numbers[0] + len(numbers))])


def _items(texts: Texts, piece: Piece, starts: Sequence[set[int]]) -> Iterator[Piece]:
    """Split `piece` at the start of items."""
    lines = list(result_lines(texts, [piece]))
    cuts = [
        at for at, line in enumerate(lines) if at and (line.ours in starts[1] or line.theirs in starts[2])
    ]
    if not cuts or piece.origin is Origin.MERGED:
        yield piece
        return
    for at, stop in zip((0, *cuts), (*cuts, len(lines)), strict=True):
        ranges = [
            where[at:stop] if len(where) == len(lines) else where if not at else where[:0]
            for where in piece.ranges
        ]
        yield replace(piece, base=ranges[0], ours=ranges[1], theirs=ranges[2])


def _with_number(texts: Texts, piece: Piece, starts: Sequence[set[int]], number: int) -> tuple[Piece, bool]:
    """Return `piece` with `number`, and True if it starts an item."""
    lines = list(result_lines(texts, [piece]))
    if not lines or not (lines[0].ours in starts[1] or lines[0].theirs in starts[2]):
        return piece, False
    match = _NUMBER.match(lines[0].text)
    if not match or int(match[2]) == number:
        return piece, True
    growth = len(str(number)) - len(match[2])
    merged = [f"{match[1]}{number}{match[3]}", *(_indented(line.text, growth) for line in lines[1:])]
    return replace(piece, origin=Origin.MERGED, merged=tuple(merged), note=RENUMBERED), True


def _indented(line: str, growth: int) -> str:
    """Return an indented `line` shifted by `growth` spaces."""
    if not line.startswith(" ") or not line.strip():
        return line
    return " " * growth + line if growth > 0 else line.removeprefix(" " * -growth)


# --- Blank lines between the pieces of a merge

# A line in each of the three texts, or None.
_Places = Sequence[int | None]


def with_gaps(texts: Texts, documents: Sequence[DocumentTree], pieces: Sequence[Piece]) -> list[Piece]:
    """Insert the blank lines between `pieces`, whose empty ranges give positions.

    Between neighbours in a side, that side's blank lines are used, merged by lines; between others, adjacent
    ones, but none between members of a tight list. The start and end keep the blank lines of the sides.
    """
    result: list[Piece] = []
    stops: _Places = [0, 0, 0]
    at = [0, 0, 0]
    for piece in pieces:
        ranges = [where or range(place, place) for where, place in zip(piece.ranges, at, strict=True)]
        placed = replace(piece, base=ranges[0], ours=ranges[1], theirs=ranges[2])
        if _has_lines(placed):
            starts = [where.start if where else None for where in ranges]
            result += _gap_piece(_gap(texts, documents, stops, starts), at)
            stops = [where.stop if where else None for where in ranges]
        at = [where.stop for where in ranges]
        result.append(placed)
    return [*result, *_gap_piece(_gap(texts, documents, stops, [*map(len, texts)]), at)]


def joined(texts: Texts, pieces: Sequence[Piece]) -> list[Piece]:
    """Join conflicts that are separated only by blank lines."""
    result: list[Piece] = []
    blanks: list[Piece] = []
    for piece in pieces:
        if result and is_conflict(result[-1]):
            if piece.origin is Origin.MERGED and not "".join(piece.merged).strip():
                blanks.append(piece)
                continue
            if is_conflict(piece) and _touch(texts, result[-1], piece):
                last = result.pop()
                base, ours, theirs = (
                    range(left.start if left else right.start, right.stop if right else left.stop)
                    for left, right in zip(last.ranges, piece.ranges, strict=True)
                )
                piece = replace(last, base=base, ours=ours, theirs=theirs)  # noqa: PLW2901
                blanks = []
        result += [*blanks, piece]
        blanks = []
    return [*result, *blanks]


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
        return changed_version(base, ours, theirs) or ()
    if ours is not None or theirs is not None:
        return ours or theirs or ()
    # Deletions on both sides can create new neighbours, and new ends.
    is_start, is_end = stops == [0, 0, 0], starts == [*map(len, texts)]
    if is_start or is_end:
        return changed_version(*(_blank_end(lines, is_end=is_end) for lines in texts))
    return ["\n"] * _blanks_beside(texts, documents, stops, starts)


def _blank(lines: Sequence[str], start: int, stop: int) -> Sequence[str] | None:
    """Return the lines from `start` to `stop` if they are blank; else None."""
    between = lines[start:stop]
    return None if start > stop or any(line.strip() for line in between) else between


def _blank_end(lines: Sequence[str], *, is_end: bool) -> Sequence[str]:
    """Return the leading blank lines, or with `is_end` the trailing ones."""
    order = reversed(lines) if is_end else lines
    return list(takewhile(lambda line: not line.strip(), order))


def _blanks_beside(texts: Texts, documents: Sequence[DocumentTree], stops: _Places, starts: _Places) -> int:
    """Return the number of blank lines between pieces that are adjacent in neither side."""
    sides = list(zip(texts, documents, stops, starts, strict=True))[1:]
    beside: list[tuple[int, bool]] = []
    are_members: list[bool] = []
    for lines, document, stop, start in sides:
        edges: list[tuple[int | None, int | None]] = []
        if stop is not None:
            edges.append((stop - 1, next((at for at in range(stop, len(lines)) if lines[at].strip()), None)))
            are_members.append(stop - 1 in document.members)
        if start is not None:
            edges.append((next((at for at in range(start - 1, -1, -1) if lines[at].strip()), None), start))
            are_members.append(start in document.members)
        beside += [
            (below - above - 1, {above, below} <= document.members)
            for above, below in edges
            if above is not None and below is not None
        ]
    if all(are_members):
        # Gaps around a list do not matter inside it.
        return min((count for count, is_inside in beside if is_inside), default=documents[1].item_gap)
    return max(1, *(count for count, _ in beside)) if beside else 1
