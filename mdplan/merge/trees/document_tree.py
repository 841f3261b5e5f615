"""A document as a tree: sections, lists with their items, tables with their rows, and other blocks."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from mdplan.markdown.blocks import Block, BlockKind
from mdplan.markdown.headings import canonical_heading
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.merge.trees.front_matter_nodes import front_matter_node
from mdplan.merge.trees.merge_node import MEMBERS, MergeNode, MergeNodeKind
from mdplan.text.source import Source

_LINK: Final = re.compile(r"[*_~`]*\[!?\[?[^\]]*\]+(?:\(([^)\s]*)|\[([^\]]*)\])")
_MARKER: Final = re.compile(r"\s*(?:[-+*]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
_NUMBER: Final = re.compile(r"(\s*)\d+([.)])")
_LABEL: Final = re.compile(r"\s*\[([^\]]+)\]:")
_DEFINITIONS: Final = frozenset({BlockKind.DEFINITION, BlockKind.FOOTNOTE})


class DocumentTree:
    """One text: its `lines`, each with its LF, its `outline`, and the `root` of its tree."""

    def __init__(self, lines: Sequence[str]) -> None:
        """Parse the text with these `lines`."""
        self.lines = lines
        self.outline = Outline(Source.from_text("".join(lines)))

    @cached_property
    def root(self) -> MergeNode:
        """The whole document; its definitions after the last section are the last child."""
        blocks, lines = self.outline.blocks, self.outline.source.lines
        start = 0
        children: list[MergeNode] = []
        if self.outline.front_matter is not None:
            start = lines.line_at(self.outline.body_start - 1)
            children.append(front_matter_node(self.lines, start))
        at = self.outline.content_end
        last = next((number for number, block in enumerate(blocks) if block.span.start >= at), len(blocks))
        children += self._sections(_nested(blocks[:last], 0))
        children += self._runs(_nested(blocks[last:], 0))
        return self._node(MergeNodeKind.ROOT, range(0), len(self.lines), children=children)

    @cached_property
    def members(self) -> frozenset[int]:
        """Lines of items, rows, definitions and entries."""
        return frozenset(line for node in self.root.walk() if node.kind in MEMBERS for line in node.lines)

    @cached_property
    def item_starts(self) -> frozenset[int]:
        """Lines in which an item begins."""
        items = (each for each in self.outline.blocks if each.kind is BlockKind.LIST_ITEM)
        return frozenset(each.first_line - 1 for each in items)

    def section_at(self, line: int) -> Section:
        """The section around the 0-based `line`."""
        return self.outline.section_at(self.outline.source.lines.start(line + 1))

    def _sections(self, blocks: Sequence[list[Block]]) -> list[MergeNode]:
        headings = {each.heading_line: each for each in self.outline.sections[1:]}
        open_sections: list[tuple[Section | None, int, list[list[Block]], list[MergeNode]]] = [
            (None, 0, [], [])
        ]
        for group in blocks:
            section = headings.get(group[0].first_line) if group[0].kind is BlockKind.HEADING else None
            if section is None:
                open_sections[-1][2].append(group)
                continue
            # The anchor lines above a heading are blocks of their own, and belong to it.
            loose = open_sections[-1][2]
            while loose and loose[-1][0].first_line >= section.first_line:
                loose.pop()
            while len(open_sections) > 1 and open_sections[-1][1] >= section.level:
                self._close(open_sections)
            open_sections.append((section, section.level, [], []))
        while len(open_sections) > 1:
            self._close(open_sections)
        return [*self._runs(open_sections[0][2]), *open_sections[0][3]]

    def _close(
        self, open_sections: list[tuple[Section | None, int, list[list[Block]], list[MergeNode]]]
    ) -> None:
        section, _, blocks, subsections = open_sections.pop()
        if section is None or section.heading is None:
            return
        head = range(section.first_line - 1, section.heading.last_line)
        children = [*self._runs(blocks), *subsections]
        stop = children[-1].stop if children else head.stop
        node = self._node(
            MergeNodeKind.SECTION,
            head,
            stop,
            style="section",
            label=canonical_heading(section.title),
            children=children,
        )
        open_sections[-1][3].append(replace(node, level=section.level))

    def _runs(self, blocks: Sequence[list[Block]]) -> Iterator[MergeNode]:
        """Nodes for `blocks`; definitions that follow each other are one node."""
        run: list[MergeNode] = []
        for group in blocks:
            node = self._block(group)
            if node.kind is not MergeNodeKind.DEFINITION and run:
                yield self._set(MergeNodeKind.DEFINITIONS, run)
                run = []
            if node.kind is MergeNodeKind.DEFINITION:
                run.append(node)
            else:
                yield node
        if run:
            yield self._set(MergeNodeKind.DEFINITIONS, run)

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
            children = list(self._runs(below[first:]))
            head = self._written(range(where.start, children[0].lines.start))
        marker = _MARKER.match(self.lines[where.start])
        link = _LINK.match(self.lines[where.start], marker.end() if marker else 0)
        label = (link[1] or link[2] or "") if link else ""
        node = self._node(MergeNodeKind.ITEM, head, where.stop, label=label, children=children)
        return replace(node, text=_NUMBER.sub(r"\1#\2", node.text, count=1))

    def _row(self, line: int) -> MergeNode:
        text = row_text(self.lines[line])
        label = "rule" if set(text) <= set(":-|") else cells_of(self.lines[line])[0]
        return MergeNode(MergeNodeKind.ROW, range(line, line + 1), line + 1, text, label=label)

    def _set(self, kind: MergeNodeKind, members: Sequence[MergeNode], style: str = "") -> MergeNode:
        start, stop = members[0].lines.start, members[-1].stop
        return self._node(kind, range(start, start), stop, style=style, children=members)

    def _node(
        self,
        kind: MergeNodeKind,
        head: range,
        stop: int,
        *,
        style: str = "",
        label: str = "",
        children: Sequence[MergeNode] = (),
    ) -> MergeNode:
        text = "".join(self.lines[head.start : stop])
        return MergeNode(kind, head, stop, text, style, label, tuple(children))

    def _written(self, where: range) -> range:
        stop = where.stop
        while stop > where.start + 1 and not self.lines[stop - 1].strip():
            stop -= 1
        return range(where.start, stop)


def cells_of(row: str) -> list[str]:
    """The texts of the cells of the table row `row`."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().removeprefix("|").removesuffix("|"))]


def row_text(row: str) -> str:
    """What two rows share that differ in padding only: the texts of their cells."""
    return "|".join(re.sub("-+", "-", cell) if set(cell) <= set(":-") else cell for cell in cells_of(row))


def _nested(blocks: Sequence[Block], depth: int) -> list[list[Block]]:
    """The blocks at `depth`, each with those in it after it."""
    groups: list[list[Block]] = []
    for block in blocks:
        if block.depth == depth or not groups:
            groups.append([block])
        else:
            groups[-1].append(block)
    return groups
