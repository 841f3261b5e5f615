"""Inline nodes of a document, found section by section when they are asked for."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final

from mdplan.markdown.blocks.block import Block
from mdplan.markdown.blocks.block_structure import parse_blocks
from mdplan.markdown.blocks.block_tree import BlockTree
from mdplan.markdown.blocks.pulldown import ParserFailure, is_nested_too_deep
from mdplan.markdown.inline.event_nodes import FoundNodes, find_nodes
from mdplan.markdown.inline.inline_node import InlineKind, InlineNode, document_order
from mdplan.markdown.inline.link_parts import link_target, normalized_label, unescape
from mdplan.text.lines import LineIndex, Span

__all__ = ["InlineKind", "InlineMap", "InlineNode"]

_FOOTNOTE: Final = re.compile(r"\[\^([^\]\s]+)\]")
_FOOTNOTE_DEFINITION: Final = re.compile(r"\[\^[^\]\s]+\]:")
_LABEL: Final = re.compile(r"\[(?!\^)(?P<label>(?:[^\[\]\\]|\\.)*)\]:", re.DOTALL)
_LINE_END: Final = re.compile(r"[\r\n]+[ \t>]*")


@dataclass(frozen=True)
class _Section:
    """Nodes of one section in document order, and where some may be that are not certain."""

    nodes: tuple[InlineNode, ...]
    undecided: tuple[Span, ...]

    def nodes_in(self, span: Span) -> Iterator[InlineNode]:
        """Nodes that share a code point with `span`."""
        first = bisect_right(self._reach, span.start)
        for index in range(first, len(self.nodes)):
            node = self.nodes[index]
            if node.span.start >= span.end and node.span.start > span.start:
                return
            if node.span.overlaps(span):
                yield node

    @cached_property
    def _reach(self) -> list[int]:
        """The largest end of each node and those before it."""
        return list(accumulate((node.span.end for node in self.nodes), max))


class InlineMap:
    """Inline nodes of one document. Nothing is parsed before the first question.

    Each section is parsed alone: an ATX heading at the root ends all blocks before it. What labels mean comes
    from the definitions of the whole document.
    """

    def __init__(
        self, text: str, lines: LineIndex, body_start: int = 0, tree: BlockTree | None = None
    ) -> None:
        """Map the Markdown in `text` from offset `body_start` on, the line start after the front matter.

        `tree` has the blocks of that text; without it they are parsed.
        """
        self._text = text
        self._lines = lines
        self._body_start = body_start
        self._known_tree = tree
        self._sections: dict[int, _Section] = {}

    @cached_property
    def definitions(self) -> Mapping[str, object]:
        """What labels mean, as the environment that markdown-it-py parses inline content with."""
        references = {
            label: {"href": node.href, "title": unescape(self._cut(node.title)[1:-1])}
            for label, node in self._definitions.items()
        }
        footnotes = {f":{label}": -1 for label in self._footnotes.values()}
        return {"references": references, "footnotes": {"refs": footnotes, "list": {}}}

    def nodes_in(self, span: Span) -> tuple[InlineNode, ...]:
        """Nodes that share a code point with `span`, or contain it if it is empty, in document order.

        A node comes before the nodes inside it.
        """
        return tuple(node for section in self._sections_in(span) for node in section.nodes_in(span))

    def undecided_in(self, span: Span) -> tuple[Span, ...]:
        """Spans that touch `span` and may hold nodes whose places are not certain.

        They are single nodes, root blocks on which the parser fails, or sections with lines nested too deep.
        """
        undecided = (each for section in self._sections_in(span) for each in section.undecided)
        return tuple(each for each in undecided if each.overlaps(span))

    def _sections_in(self, span: Span) -> Iterator[_Section]:
        first = max(bisect_right(self._starts, span.start) - 1, 0)
        last = max(bisect_right(self._starts, max(span.start, span.end - 1)), first + 1)
        for index in range(first, last):
            section = self._sections.get(index)
            if section is None:
                section = self._sections[index] = self._parse(self._section_span(index))
            yield section

    @cached_property
    def _tree(self) -> BlockTree:
        return self._known_tree or parse_blocks(self._text, self._lines, self._body_start)

    @cached_property
    def _starts(self) -> list[int]:
        """Where sections start; the first one starts with the body."""
        starts = self._tree.part_starts
        return [self._body_start, *(start for start in starts if start > self._body_start)]

    def _section_span(self, index: int) -> Span:
        is_last = index + 1 == len(self._starts)
        return Span(self._starts[index], len(self._text) if is_last else self._starts[index + 1])

    def _parse(self, span: Span) -> _Section:
        part = self._text[span.start : span.end]
        if is_nested_too_deep(part):
            return _Section((), (span,))
        found = self._find_nodes(span)
        if "]:" not in part:
            return _Section(found.nodes, found.undecided)
        first, last = (bisect_left(self._definition_starts, at) for at in (span.start, span.end))
        nodes, undecided = [*found.nodes], [*found.undecided]
        for block, node in self._definition_blocks[first:last]:
            if node is None:
                undecided.append(block.span)
            else:
                nodes.append(node)
        nodes.sort(key=document_order)
        return _Section(tuple(nodes), tuple(sorted(undecided)))

    def _find_nodes(self, span: Span) -> FoundNodes:
        """Nodes in `span`, which holds whole root blocks.

        Where the parser fails, it reads each root block alone. For a block that it fails on again,
        markdown-it-py decides whether there are nodes; as it does not know their places, they are undecided.
        """
        part = self._text[span.start : span.end]
        try:
            return find_nodes(self._text, span, self._footnotes_for(part), self._find_href)
        except ParserFailure:
            roots = [block.span for block in self._tree.inside(span) if not block.depth]
        if len(roots) > 1:
            found = [self._find_nodes(root) for root in roots]
            return FoundNodes(
                tuple(node for each in found for node in each.nodes),
                tuple(place for each in found for place in each.undecided),
            )
        from mdplan.markdown.inline.reference_inline import has_nodes

        return FoundNodes((), (span,) if has_nodes(part, self.definitions) else ())

    def _find_href(self, label: str) -> str | None:
        node = self._definitions.get(label)
        return None if node is None else node.href

    @cached_property
    def _definitions(self) -> dict[str, InlineNode]:
        """The definition of each label; the first one counts (CommonMark 0.31.2, section 4.7)."""
        found: dict[str, InlineNode] = {}
        for _, node in self._definition_blocks:
            if node is not None:
                found.setdefault(normalized_label(self._cut(node.label)), node)
        return found

    @cached_property
    def _definition_blocks(self) -> list[tuple[Block, InlineNode | None]]:
        if "]:" not in self._text:
            return []
        found = ((block, _definition(self._text, block.span)) for block in self._tree.definitions)
        return [
            (block, node)
            for block, node in found
            if node is not None
            or _FOOTNOTE_DEFINITION.search(self._text, block.span.start, block.span.end) is None
        ]

    @cached_property
    def _definition_starts(self) -> list[int]:
        return [block.span.start for block, _ in self._definition_blocks]

    def _footnotes_for(self, part: str) -> str:
        """Definitions of the footnotes that `part` refers to, and a heading that ends them."""
        labels = {match[1]: "" for match in _FOOTNOTE.finditer(part)} if "[^" in part else {}
        known = [label for label in labels if label.lower() in self._footnotes]
        return "".join(f"[^{label}]: x\n\n" for label in known) + "#\n" if known else ""

    @cached_property
    def _footnotes(self) -> dict[str, str]:
        """Labels of the footnotes that are defined, by their form in lower case."""
        found: dict[str, str] = {}
        for span in map(self._section_span, range(len(self._starts))):
            if _FOOTNOTE_DEFINITION.search(self._text, span.start, span.end) is None:
                continue
            try:
                nodes = find_nodes(self._text, span, "", self._find_href).nodes
            except ParserFailure:
                continue
            for node in nodes:
                if node.kind is InlineKind.FOOTNOTE_DEFINITION:
                    label = self._cut(node.label)
                    found.setdefault(label.lower(), label)
        return found

    def _cut(self, span: Span | None) -> str:
        return "" if span is None else _LINE_END.sub(" ", self._text[span.start : span.end])


def _definition(text: str, block: Span) -> InlineNode | None:
    """The link reference definition in the lines of `block` (CommonMark 0.31.2, section 4.7)."""
    label = _LABEL.search(text, block.start, block.end)
    target = link_target(text, label.end(), block.end) if label else None
    if label is None or target is None:
        return None
    end = target.title.end if target.title else target.destination.end
    return InlineNode(
        kind=InlineKind.DEFINITION,
        span=Span(label.start(), end),
        label=Span(*label.span("label")),
        destination=target.destination,
        title=target.title,
        href=target.href,
    )
