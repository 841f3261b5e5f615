"""Blocks of one part of a document, made of the parser's events."""

from collections.abc import Iterable, Iterator

from mdplan.markdown.blocks.block import CONTAINERS, Block, BlockKind
from mdplan.markdown.blocks.deadline import with_deadline
from mdplan.markdown.blocks.definitions import add_definitions
from mdplan.markdown.blocks.event_tree import (
    DELIMITER_ROW,
    BlockNode,
    PartLines,
    is_doubtful_table,
    read_tree,
)
from mdplan.markdown.blocks.pulldown import ParserFailure, PreparedText
from mdplan.markdown.blocks.reference_blocks import parse_reference_blocks
from mdplan.text.lines import Span


@with_deadline
def parse_part(text: str, start: int, lines_before: int) -> tuple[Block, ...]:
    """Blocks of `text`, a part of a document that begins at the offset `start`, after `lines_before` lines.

    They are in document order, containers before what they contain. Where the parser may see another table
    than GitHub, markdown-it-py decides.
    """
    prepared = PreparedText(text)
    lines = PartLines(prepared.text)
    try:
        roots = read_tree(prepared, lines)
        add_definitions(roots, lines, prepared.text)
    except ParserFailure:
        return parse_reference_blocks(text, start, lines_before).blocks
    found: list[Block] = []
    for root in roots:
        _set_last_line(root, lines)
        found += _blocks(root, lines, start, lines_before)
    if any(_is_doubtful(leaf, lines) for root in roots for leaf in root.leaves()):
        others = parse_reference_blocks(text, start, lines_before).blocks
        # The headings of the document are known, and stay.
        if _headings(others) == _headings(found):
            return others
    return tuple(found)


def _is_doubtful(leaf: BlockNode, lines: PartLines) -> bool:
    """Whether GitHub may see a table where the parser sees none, or none where it sees one."""
    if leaf.kind is BlockKind.TABLE:
        return is_doubtful_table(lines.texts[leaf.first_line : leaf.last_line + 1])
    return leaf.kind is BlockKind.PARAGRAPH and DELIMITER_ROW.search(leaf.content) is not None


def _headings(blocks: Iterable[Block]) -> list[Block]:
    return [block for block in blocks if block.kind is BlockKind.HEADING]


def _set_last_line(node: BlockNode, lines: PartLines) -> None:
    """Let containers end with their last block; a quote also with lines that are nothing but its marks."""
    stack = [node]
    containers = []
    while stack:
        each = stack.pop()
        if each.kind in CONTAINERS:
            containers.append(each)
            stack += each.children
    # Inner ones first.
    for each in reversed(containers):
        last = max([each.first_line, *(child.last_line for child in each.children[-1:])])
        if each.kind is BlockKind.QUOTE:
            while each.last_line > last and not lines.texts[each.last_line].strip(" \t"):
                each.last_line -= 1
            last = max(last, each.last_line)
        each.last_line = last


def _blocks(root: BlockNode, lines: PartLines, start: int, before: int) -> Iterator[Block]:
    """The block that `root` is, and those in it."""
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        stack += [(child, depth + 1) for child in reversed(node.children)]
        yield Block(
            kind=node.kind,
            first_line=before + node.first_line + 1,
            last_line=before + node.last_line + 1,
            span=Span(start + lines.starts[node.first_line], start + lines.end(node.last_line)),
            depth=depth,
            level=node.level,
            markup=node.markup,
            content=node.content,
            cells=node.cells,
            code=node.code,
        )
