"""Blocks by markdown-it-py, of a whole document or of a part that starts at the root.

Only line numbers, headings' raw inline text and, to be compared with, the code of fences come back from the
parser; what is written is cut from the source by its span.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from mdplan.markdown.blocks.block import CONTAINERS, Block, BlockKind
from mdplan.markdown.blocks.deadline import with_deadline
from mdplan.markdown.blocks.parser import MAX_NESTING, SAFE_NESTING, block_parser
from mdplan.text.lines import LineIndex, Span

if TYPE_CHECKING:
    from markdown_it.token import Token

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
    "footnote_reference_open": BlockKind.FOOTNOTE,
}


@dataclass(frozen=True, slots=True)
class ReferenceBlocks:
    """Blocks in document order, containers before what they contain.

    `nesting_limit` is true when content was nested deeper than the parser goes, so that blocks may be
    missing after that place.
    """

    blocks: tuple[Block, ...]
    nesting_limit: bool


class _PartLines(NamedTuple):
    """The lines of a part, and what of the document is before them."""

    lines: LineIndex
    start: int
    before: int


@with_deadline
def parse_reference_blocks(text: str, start: int = 0, lines_before: int = 0) -> ReferenceBlocks:
    """Blocks of `text`, a part of a document from the offset `start` on, after `lines_before` lines."""
    tokens, nesting_limit = _tokens(text)
    part = _PartLines(LineIndex(text), start, lines_before)
    blocks = tuple(
        _block(token, kind, tokens, index, part)
        for index, token in enumerate(tokens)
        if (kind := _KINDS.get(token.type)) is not None and token.map
    )
    return ReferenceBlocks(blocks, nesting_limit)


def _tokens(text: str) -> "tuple[list[Token], bool]":
    # Without a final line end the parser loses lines of white space and the last line of a quote.
    text = text if text.endswith(("\n", "\r")) else f"{text}\n"
    try:
        tokens = block_parser().parse(text)
    except RecursionError:
        return block_parser(SAFE_NESTING).parse(text), True
    return tokens, any(token.level >= MAX_NESTING - 1 for token in tokens)


def _block(token: "Token", kind: BlockKind, tokens: "list[Token]", index: int, part: _PartLines) -> Block:
    assert token.map is not None
    lines, first = part.lines, token.map[0] + 1
    last = min(max(token.map[1], first), lines.count)
    # The maps of lists reach over the blank lines after them.
    while kind in CONTAINERS and last > first and not lines.content(last).strip(" \t"):
        last -= 1
    content = token.info if kind is BlockKind.FENCE else ""
    if kind in {BlockKind.HEADING, BlockKind.PARAGRAPH}:
        content = tokens[index + 1].content
    return Block(
        kind=kind,
        first_line=part.before + first,
        last_line=part.before + last,
        span=Span(part.start + lines.start(first), part.start + lines.end(last)),
        depth=token.level,
        level=int(token.tag[1]) if kind is BlockKind.HEADING else 0,
        # Of a thematic break it repeats the character once too often.
        markup=token.markup[:1] if kind is BlockKind.RULE else token.markup,
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
