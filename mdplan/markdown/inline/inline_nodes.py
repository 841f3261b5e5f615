"""Inline nodes of a document with exact source spans.

The parser's tokens have no columns. Here the block pass gives the content of each block, the recorded inline
pass gives the nodes in that content, and the columns of the content, proven against the source text, put
them into the source. What cannot be proven is undecided, never guessed.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final

from mdplan.markdown.blocks.block import WITH_CONTENT, Block, BlockKind
from mdplan.markdown.blocks.block_tree import BlockTree
from mdplan.markdown.inline.inline_blocks import (
    BlockShape,
    InlineBlock,
    InlineBlocks,
    merged_environments,
    parse_inline_blocks,
)
from mdplan.markdown.inline.inline_columns import (
    ContentColumns,
    SourceLines,
    heading_columns,
    joined_lines,
    paragraph_columns,
    row_columns,
)
from mdplan.markdown.inline.inline_node import InlineKind, InlineNode, document_order
from mdplan.markdown.inline.inline_parts import read_target
from mdplan.markdown.inline.inline_pieces import InlinePieces
from mdplan.markdown.inline.inline_recorder import MARKUP, Recording, record_nodes, record_without_labels
from mdplan.markdown.inline.wiki_links import wiki_links
from mdplan.text.lines import LineIndex
from mdplan.text.span import Span

__all__ = ["InlineKind", "InlineMap", "InlineNode"]

_BLANK_LINE: Final = "\n\n"
_FOOTNOTE: Final = "[^"
# So far a blank line is looked for: texts without any are not searched again and again.
_NEAR: Final = 2_000
# What is left of a word; nothing where it is too long.
_WORD: Final = re.compile(r"\S{0,2000}+(?!\S)")
_WITH_COLUMNS: Final = frozenset({BlockKind.TABLE, BlockKind.DEFINITION})


@dataclass(frozen=True)
class _Found:
    """What one block holds; spans in the source. `nodes` are in document order."""

    nodes: tuple[InlineNode, ...] = ()
    undecided: tuple[Span, ...] = ()

    def nodes_in(self, span: Span) -> Iterator[InlineNode]:
        """Nodes that share a code point with `span`: a paragraph can have as many as it likes."""
        first = bisect_right(self._reach, span.start)
        for index in range(first, len(self.nodes)):
            node = self.nodes[index]
            if node.span.start >= span.end and node.span.start > span.start:
                return
            if node.span.overlaps(span):
                yield node

    @cached_property
    def _reach(self) -> list[int]:
        """How far each node, or one before it, reaches."""
        return list(accumulate((node.span.end for node in self.nodes), max))


_NOTHING: Final = _Found()


class InlineMap:
    """Inline nodes of one document, parsed block by block when they are asked for.

    Nothing is parsed before the first question, which costs a block pass of the pieces that it touches and of
    those that define labels.
    """

    def __init__(
        self, text: str, lines: LineIndex, body_start: int = 0, tree: BlockTree | None = None
    ) -> None:
        """Map the Markdown in `text` from offset `body_start` on, the line start behind the front matter.

        It is cut into pieces where the parts of `tree` start; without a tree it is one piece.
        """
        self._text = text
        self._lines = lines
        self._source = SourceLines(lines)
        self._tree = tree
        self._pieces = InlinePieces(text, lines, body_start, tree)
        # How much of the text was searched for footnotes.
        self._searched = 0
        self._blocks: dict[int, InlineBlocks] = {}
        self._found: dict[tuple[int, int], _Found] = {}
        self._found_in_leaves: dict[int, _Found] = {}

    @property
    def definitions(self) -> Mapping[str, object]:
        """What labels can mean: the environment of the block pass, with link references and footnotes."""
        return self._environment

    @cached_property
    def _environment(self) -> dict[str, object]:
        environments = (self._blocks_of(piece).environment for piece in self._pieces.defining)
        return merged_environments(environments)

    def is_plain(self, span: Span) -> bool:
        """Whether no node can touch `span`; False is not certain.

        Inline content begins behind a blank line, and a node with its mark, or with the word that has one:
        nothing has to be parsed where none stands before the end of `span`.
        """
        text, start = self._text, max(span.start - _NEAR, 0)
        first = text.rfind(_BLANK_LINE, start, span.start)
        word = _WORD.match(text, span.end)
        if (first < 0 and start) or word is None:
            return False
        return MARKUP.search(text, max(first, start), word.end()) is None and self._keeps_within_limits(span)

    def _keeps_within_limits(self, span: Span) -> bool:
        """Whether no text around `span` can be nested too deep, or stand in a footnote: False is not certain.

        What was scanned is not, but for footnotes in each other, which the scanner does not know.
        """
        if self._tree is None or not self._tree.is_scanned:
            return False
        # To list all of them pays where many matches ask.
        lists_all = self._searched >= len(self._text)
        if lists_all and not self._footnotes:
            return True
        start, end = self._pieces.reach(span)
        if lists_all:
            return bisect_left(self._footnotes, start) == bisect_left(self._footnotes, end)
        self._searched += end - start
        return self._text.find(_FOOTNOTE, start, end + 1) < 0

    @cached_property
    def _footnotes(self) -> list[int]:
        """Where a footnote, or a reference to one, may start."""
        places: list[int] = []
        at = self._text.find(_FOOTNOTE)
        while at >= 0:
            places.append(at)
            at = self._text.find(_FOOTNOTE, at + len(_FOOTNOTE))
        return places

    def nodes_in(self, span: Span) -> tuple[InlineNode, ...]:
        """Nodes that share a code point with `span`, or hold it if it is empty, in document order.

        A node stands before the nodes inside of it.
        """
        return tuple(node for found in self._found_in(span) for node in found.nodes_in(span))

    def undecided_in(self, span: Span) -> tuple[Span, ...]:
        """Stretches that touch `span` and may hold nodes whose places could not be proven.

        They are single nodes, lines of whole blocks, or all lines behind the nesting limit.
        """
        undecided = [each for found in self._found_in(span) for each in found.undecided]
        if not self._keeps_within_limits(span):
            for piece in self._pieces.touching(span):
                unparsed = self._blocks_of(piece).unparsed_from
                if unparsed is not None:
                    undecided.append(self._lines.span(unparsed, self._lines.count))
        return tuple(each for each in undecided if each.overlaps(span))

    def _found_in(self, span: Span) -> Iterator[_Found]:
        leaves = self._leaves_in(span)
        if leaves is None:
            yield from self._found_in_pieces(span)
            return
        for leaf in leaves:
            found = self._found_in_leaves.get(leaf.span.start)
            if found is None:
                found = self._in_contents(_inline_block(leaf)) if leaf.kind in WITH_CONTENT else _NOTHING
                self._found_in_leaves[leaf.span.start] = found
            yield found

    def _leaves_in(self, span: Span) -> tuple[Block, ...] | None:
        """The leaf blocks that touch `span`, where nothing else has to be known of them; else None.

        Of tables and definitions it is the columns, of footnotes and deep nesting where they end.
        """
        if self._tree is None or not self._keeps_within_limits(span):
            return None
        leaves = tuple(self._tree.leaves_in(span))
        return None if any(leaf.kind in _WITH_COLUMNS for leaf in leaves) else leaves

    def _found_in_pieces(self, span: Span) -> Iterator[_Found]:
        first = self._lines.line_at(span.start)
        last = self._lines.line_at(max(span.start, span.end - 1))
        for piece in self._pieces.touching(span):
            blocks = self._blocks_of(piece).blocks
            start = bisect_left(blocks, first, key=lambda block: block.last_line)
            stop = bisect_right(blocks, last, key=lambda block: block.first_line)
            for index in range(start, stop):
                found = self._found.get((piece, index))
                if found is None:
                    found = self._found[piece, index] = self._find(blocks[index])
                yield found

    def _blocks_of(self, piece: int) -> InlineBlocks:
        blocks = self._blocks.get(piece)
        if blocks is None:
            span = self._pieces.span(piece)
            lines_before = bisect_left(self._lines.starts, span.start)
            blocks = parse_inline_blocks(self._text[span.start : span.end], lines_before)
            self._blocks[piece] = blocks
        return blocks

    def _find(self, block: InlineBlock) -> _Found:
        match block.shape:
            case BlockShape.DEFINITION:
                return self._in_whole_block(block, _definition(block, self._source))
            case BlockShape.FOOTNOTE_DEFINITION:
                return self._in_whole_block(block, _footnote_definition(block, self._source))
            case BlockShape.PARAGRAPH | BlockShape.HEADING | BlockShape.ROW:
                return self._in_contents(block)

    def _in_whole_block(self, block: InlineBlock, node: InlineNode | None) -> _Found:
        return self._undecided_block(block) if node is None else _Found((node,))

    def _undecided_block(self, block: InlineBlock) -> _Found:
        return _Found(undecided=(self._lines.span(block.first_line, block.last_line),))

    def _in_contents(self, block: InlineBlock) -> _Found:
        if not any(MARKUP.search(content) for content in block.contents):
            return _Found()
        nodes: list[InlineNode] = []
        undecided: list[Span] = []
        for content, columns in zip(block.contents, self._columns(block), strict=True):
            if not MARKUP.search(content):
                continue
            if columns is None:
                return self._undecided_block(block)
            try:
                recorded = self._recorded(content)
            except RecursionError:
                return self._undecided_block(block)
            wiki = wiki_links(content, recorded.nodes, recorded.undecided)
            inner = sorted([*recorded.nodes, *wiki], key=document_order)
            nodes += (node.moved(columns.span) for node in inner)
            undecided += map(columns.span, recorded.undecided)
        return _Found(tuple(nodes), tuple(undecided))

    def _recorded(self, content: str) -> Recording:
        """The nodes of `content`. Telling what labels mean takes all definitions, and few need it."""
        recorded = record_without_labels(content) if _FOOTNOTE not in content else None
        return record_nodes(content, self._environment) if recorded is None else recorded

    def _columns(self, block: InlineBlock) -> Iterable[ContentColumns | None]:
        if block.shape is BlockShape.ROW:
            return row_columns(block.contents, block.first_line, block.columns[0], self._source)
        (content,) = block.contents
        if block.shape is BlockShape.HEADING:
            return (heading_columns(content, block.first_line, self._source),)
        return (paragraph_columns(content, block.first_line, block.last_line, self._source),)


def _inline_block(leaf: Block) -> InlineBlock:
    """A paragraph or heading of the tree as one with inline content."""
    is_atx = leaf.kind is BlockKind.HEADING and leaf.markup.startswith("#")
    is_setext = leaf.kind is BlockKind.HEADING and not is_atx
    return InlineBlock(
        shape=BlockShape.HEADING if is_atx else BlockShape.PARAGRAPH,
        first_line=leaf.first_line,
        # Without its underline.
        last_line=leaf.last_line - is_setext,
        contents=(leaf.content,),
    )


def _definition(block: InlineBlock, source: SourceLines) -> InlineNode | None:
    """Link reference definition (CommonMark 0.31.2, section 4.7), proven against what the parser read."""
    label, destination, title = block.contents
    content, columns = joined_lines(block.first_line, block.columns, source)
    target = read_target(content, len(label) + 3, len(content))
    if (
        not content.startswith(f"[{label}]:")
        or target is None
        or (target.href, target.title_text) != (destination, title)
        or target.end != len(content)
    ):
        return None
    end = target.title.end if target.title else target.destination.end
    node = InlineNode(
        kind=InlineKind.DEFINITION,
        span=Span(0, end),
        label=Span(1, 1 + len(label)),
        destination=target.destination,
        title=target.title,
        href=destination,
    )
    return node.moved(columns.span)


def _footnote_definition(block: InlineBlock, source: SourceLines) -> InlineNode | None:
    """The mark of a footnote definition (GFM as on GitHub)."""
    (label,) = block.contents
    content, columns = joined_lines(block.first_line, block.columns, source)
    mark = f"[^{label}]:"
    if not content.startswith(mark):
        return None
    node = InlineNode(
        kind=InlineKind.FOOTNOTE_DEFINITION, span=Span(0, len(mark)), label=Span(2, 2 + len(label))
    )
    return node.moved(columns.span)
