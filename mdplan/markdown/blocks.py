"""The block structure of a document, by the reference pass of markdown-it-py.

Only line numbers, headings' raw inline text and, to be compared with, the code of fences come back from the
parser; what is written is cut from the source by its span.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from mdplan.markdown.parser import MAX_NESTING, block_parser
from mdplan.text.lines import LineIndex
from mdplan.text.span import Span

if TYPE_CHECKING:
    from markdown_it.token import Token

# Where RecursionError stops the parser before its own limit does, this limit is safe on any stack.
_SAFE_NESTING: Final = 60


class BlockKind(StrEnum):
    """Kinds of blocks (CommonMark 0.31.2, sections 4 and 5; GFM tables)."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    FENCE = "fence"
    INDENTED_CODE = "indented code"
    HTML = "html"
    TABLE = "table"
    LIST = "list"
    LIST_ITEM = "list item"
    QUOTE = "quote"
    RULE = "thematic break"
    DEFINITION = "definition"


_CONTAINERS: Final = frozenset({BlockKind.LIST, BlockKind.LIST_ITEM, BlockKind.QUOTE})
# Kinds whose text is inline Markdown.
INLINE_KINDS: Final = frozenset({BlockKind.HEADING, BlockKind.PARAGRAPH, BlockKind.TABLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block. Lines are 1-based and inclusive; `span` holds those lines with their line ends.

    `depth` counts the containers around it (quotes, lists, list items): 0 is the root. `level` is that of
    a heading, else 0. `markup` is the parser's: the run of ``#``, or ``=`` or ``-``, for headings, the fence,
    the list marker. `content` is the raw inline text of headings and paragraphs, the info string of fences.
    `cells` are the header cells of a table, as inline text: without the backslash of an escaped pipe.
    `code` is the text in a fence, in LF, without the indentation and the marks of the containers around it.
    """

    kind: BlockKind
    first_line: int
    last_line: int
    span: Span
    depth: int
    level: int = 0
    markup: str = ""
    content: str = ""
    cells: tuple[str, ...] = ()
    code: str = ""


@dataclass(frozen=True)
class BlockTree:
    """All blocks in document order, containers before what they hold.

    `nesting_limit` is true when content was nested deeper than the parser goes, so that blocks may be
    missing behind that place.
    """

    blocks: tuple[Block, ...]
    nesting_limit: bool = False

    @cached_property
    def roots(self) -> tuple[Block, ...]:
        """Blocks that stand in no container."""
        return tuple(block for block in self.blocks if not block.depth)

    @cached_property
    def leaves(self) -> tuple[Block, ...]:
        """Blocks that hold no other blocks, in document order."""
        return tuple(block for block in self.blocks if block.kind not in _CONTAINERS)

    @cached_property
    def fences(self) -> tuple[Block, ...]:
        """Fenced code blocks of every depth, in document order: the index of each is what callers count."""
        return tuple(block for block in self.blocks if block.kind is BlockKind.FENCE)

    def fences_in(self, span: Span) -> tuple[Block, ...]:
        """Fenced code blocks that start in `span`."""
        first = bisect_left(self._fence_starts, span.start)
        return self.fences[first : bisect_left(self._fence_starts, span.end)]

    @cached_property
    def _fence_starts(self) -> list[int]:
        return [block.span.start for block in self.fences]

    def leaf_at(self, offset: int) -> Block | None:
        """Block without blocks in it whose lines hold the code point at `offset`."""
        index = bisect_right(self._leaf_starts, offset) - 1
        return self.leaves[index] if index >= 0 and offset < self.leaves[index].span.end else None

    def container_at(self, offset: int) -> Block | None:
        """Innermost quote or list item around the leaf whose lines hold the code point at `offset`."""
        index = bisect_right(self._leaf_starts, offset) - 1
        return self._leaf_containers[index] if index >= 0 else None

    def root_at(self, offset: int) -> Block | None:
        """Root block that holds the code point at `offset`."""
        index = bisect_right(self._root_starts, offset) - 1
        return self.roots[index] if index >= 0 and offset < self.roots[index].span.end else None

    def root_ending_at(self, offset: int) -> Block | None:
        """Root block whose last line ends at `offset`."""
        index = bisect_left(self._root_starts, offset) - 1
        return self.roots[index] if index >= 0 and self.roots[index].span.end == offset else None

    def leaves_in(self, span: Span) -> Iterator[Block]:
        """Leaf blocks that share a code point with `span`, or hold it if it is empty, in document order."""
        for index in range(bisect_right(self._leaf_ends, span.start), len(self.leaves)):
            leaf = self.leaves[index]
            if leaf.span.start > span.end:
                return
            if leaf.span.overlaps(span):
                yield leaf

    def inside(self, span: Span) -> Iterator[Block]:
        """Blocks that start in `span`."""
        for index in range(bisect_left(self._starts, span.start), len(self.blocks)):
            if self.blocks[index].span.start >= span.end:
                return
            yield self.blocks[index]

    @cached_property
    def _starts(self) -> list[int]:
        return [block.span.start for block in self.blocks]

    @cached_property
    def _leaf_containers(self) -> list[Block | None]:
        """By the index of each leaf, the innermost block around it."""
        found: list[Block | None] = []
        around: list[Block] = []
        for block in self.blocks:
            while around and around[-1].depth >= block.depth:
                around.pop()
            if block.kind in _CONTAINERS:
                around.append(block)
            else:
                found.append(around[-1] if around else None)
        return found

    @cached_property
    def _leaf_ends(self) -> list[int]:
        return [block.span.end for block in self.leaves]

    @cached_property
    def _leaf_starts(self) -> list[int]:
        return [block.span.start for block in self.leaves]

    @cached_property
    def _root_starts(self) -> list[int]:
        return [block.span.start for block in self.roots]


_KINDS: Final = {
    "heading_open": BlockKind.HEADING,
    "paragraph_open": BlockKind.PARAGRAPH,
    "fence": BlockKind.FENCE,
    "code_block": BlockKind.INDENTED_CODE,
    "html_block": BlockKind.HTML,
    "table_open": BlockKind.TABLE,
    "bullet_list_open": BlockKind.LIST,
    "ordered_list_open": BlockKind.LIST,
    "list_item_open": BlockKind.LIST_ITEM,
    "blockquote_open": BlockKind.QUOTE,
    "hr": BlockKind.RULE,
    "definition": BlockKind.DEFINITION,
}


def parse_blocks(text: str, lines: LineIndex, start: int = 0) -> BlockTree:
    """Blocks of `text` from the line start at offset `start` on (what stands before is front matter)."""
    # Without a final line end the parser loses lines of white space and the last line of a quote.
    body = text[start:] + "\n"
    tokens, nesting_limit = _tokens(body)
    before = lines.line_at(start) - 1 if start else 0
    if start and start == len(text):
        before = lines.count
    blocks = tuple(
        _block(token, kind, tokens, index, before, lines)
        for index, token in enumerate(tokens)
        if (kind := _KINDS.get(token.type)) is not None and token.map
    )
    return BlockTree(blocks, nesting_limit)


def _tokens(body: str) -> "tuple[list[Token], bool]":
    try:
        tokens = block_parser().parse(body)
    except RecursionError:
        return block_parser(_SAFE_NESTING).parse(body), True
    return tokens, any(token.level >= MAX_NESTING - 1 for token in tokens)


def _block(
    token: "Token", kind: BlockKind, tokens: "list[Token]", index: int, before: int, lines: LineIndex
) -> Block:
    assert token.map is not None
    first = token.map[0] + before + 1
    last = min(max(token.map[1] + before, first), lines.count)
    if kind in _CONTAINERS:
        last = _without_blank_tail(lines, first, last)
    content = token.info if kind is BlockKind.FENCE else ""
    if kind in {BlockKind.HEADING, BlockKind.PARAGRAPH}:
        content = tokens[index + 1].content
    return Block(
        kind=kind,
        first_line=first,
        last_line=last,
        span=lines.span(first, last),
        depth=token.level,
        level=int(token.tag[1]) if kind is BlockKind.HEADING else 0,
        markup=token.markup,
        content=content,
        cells=_header_cells(tokens, index) if kind is BlockKind.TABLE else (),
        code=token.content if kind is BlockKind.FENCE else "",
    )


def _header_cells(tokens: "list[Token]", table: int) -> tuple[str, ...]:
    """Contents of the first row of the table that opens at the index `table`."""
    cells: list[str] = []
    while tokens[table].type != "tr_close":
        if tokens[table].type == "inline":
            cells.append(tokens[table].content)
        table += 1
    return tuple(cells)


def _without_blank_tail(lines: LineIndex, first: int, last: int) -> int:
    """The maps of lists reach over the blank lines behind them; those belong to nobody."""
    while last > first and not lines.content(last).strip(" \t"):
        last -= 1
    return last


_FENCE_MARK: Final = re.compile(r"`{3,}|~{3,}")
_HTML_ENDS: Final = (
    (
        re.compile(r"<(script|pre|style|textarea)(?=[\s>]|$)", re.IGNORECASE),
        r"</(script|pre|style|textarea)>",
    ),
    (re.compile(r"<!--"), r"-->"),
    (re.compile(r"<\?"), r"\?>"),
    (re.compile(r"<!\[CDATA\["), r"\]\]>"),
    (re.compile(r"<![A-Za-z]"), r">"),
)


def is_left_open(block: Block, text: str) -> bool:
    """Whether a fence or an HTML block of kinds 1 to 5 misses its end, so that it swallows what follows.

    CommonMark 0.31.2, sections 4.5 and 4.6. `text` is that of the document.
    """
    source = text[block.span.start : block.span.end]
    if block.kind is BlockKind.FENCE:
        opener = _FENCE_MARK.search(source)
        # Blank lines at its end are code: the closing fence is the very last line.
        unended = source.removesuffix("\n").removesuffix("\r")
        last = unended.replace("\r", "\n").rsplit("\n", 1)[-1].strip(" \t>")
        closed = block.last_line > block.first_line and opener is not None
        return not (
            closed and opener is not None and len(last) >= len(opener[0]) and set(last) == {opener[0][0]}
        )
    if block.kind is BlockKind.HTML:
        head = source.lstrip(" \t")
        for opening, ending in _HTML_ENDS:
            if opening.match(head):
                return re.search(ending, source, re.IGNORECASE) is None
    return False


def ends_at_blank_line(block: Block, text: str) -> bool:
    """Whether `block` is HTML of kind 6 or 7, which a blank line ends (CommonMark 0.31.2, section 4.6)."""
    head = text[block.span.start : block.span.end].lstrip(" \t")
    return block.kind is BlockKind.HTML and not any(opening.match(head) for opening, _ in _HTML_ENDS)
