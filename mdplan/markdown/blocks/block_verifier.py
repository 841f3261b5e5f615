"""A second opinion on the blocks around edits: markdown-it-py must read them as pulldown-cmark does.

The two disagree on some lines that GitHub reads as pulldown-cmark does: text that continues a paragraph and
is indented like code, and text right below a definition. Where they disagree, these lines become plain text
for markdown-it-py, and it reads the part again.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from mdplan.markdown.blocks.block import CONTAINERS, Block, BlockKind
from mdplan.markdown.blocks.block_tree import BlockTree
from mdplan.markdown.blocks.deadline import with_deadline
from mdplan.markdown.blocks.reference_blocks import parse_reference_blocks
from mdplan.text.line_end_view import to_lf
from mdplan.text.span import Span

# After quote marks, if any, so much white space that code could begin.
_INDENTED: Final = re.compile(r"(?:[ \t]*>)*(?: {0,3}\t| {4})")
_TEXT: Final = "x"


@with_deadline
def first_unverified(tree: BlockTree, spans: Iterable[Span]) -> Block | None:
    """The first root block near one of `spans` that markdown-it-py reads otherwise; None if there is none.

    These are the root blocks that contain something of a span, or touch one, and those next to them.
    """
    if tree.is_reference:
        return None
    touched: dict[int, list[Span]] = {}
    for span in spans:
        for part in tree.parts_in(span):
            touched.setdefault(part, []).append(span)
    found = (_first_other(tree, part, near) for part, near in touched.items())
    return next((block for block in found if block is not None), None)


def _first_other(tree: BlockTree, part: int, spans: Sequence[Span]) -> Block | None:
    """The first unverified root block of one part."""
    blocks = tree.blocks_of(part)
    if not blocks:
        return None
    start, before = tree.part_starts[part], tree.lines_before_part(part)
    # The next part begins with a heading, which is read, too: no block of this part reaches over it.
    following = tree.part_headings[part : part + 1]
    source = tree.text[start : following[0].span.end if following else len(tree.text)]
    near = _near([list(root) for root in _roots((*blocks, *following))], spans)
    if _first_difference(near, parse_reference_blocks(source, start, before).blocks) is None:
        return None
    plain = _with_plain_text(source, before, blocks)
    return _first_difference(near, parse_reference_blocks(plain, start, before).blocks)


def _roots(blocks: Sequence[Block]) -> Iterator[Sequence[Block]]:
    """Each root block with those in it."""
    starts = [index for index, block in enumerate(blocks) if not block.depth]
    for start, stop in pairwise([*starts, len(blocks)]):
        yield blocks[start:stop]


def _near(roots: list[list[Block]], spans: Sequence[Span]) -> list[list[Block]]:
    """Those of `roots` that touch one of `spans`, and those next to them."""
    touching = {
        index
        for index, root in enumerate(roots)
        if any(root[0].span.start <= span.end and span.start <= root[0].span.end for span in spans)
    }
    return [root for index, root in enumerate(roots) if touching & {index - 1, index, index + 1}]


def _first_difference(roots: list[list[Block]], reference: Sequence[Block]) -> Block | None:
    """The first of `roots` that is none of those of `reference`."""
    known = {root[0].first_line: [*map(_shape, root)] for root in _roots(reference)}
    return next((root[0] for root in roots if known.get(root[0].first_line) != [*map(_shape, root)]), None)


def _shape(block: Block) -> tuple[object, ...]:
    """What both parsers must agree on: where a container ends is a matter of taste."""
    last_line = None if block.kind in CONTAINERS else block.last_line
    return block.kind, block.depth, block.level, block.first_line, last_line


def _with_plain_text(source: str, lines_before: int, blocks: Sequence[Block]) -> str:
    """`source`, the lines of `blocks`, with plain text for lines that markdown-it-py reads otherwise."""
    lines = to_lf(source).split("\n")
    is_behind_definition = False
    for block in blocks:
        is_underlined = block.kind is BlockKind.HEADING and not block.markup.startswith("#")
        if block.kind is BlockKind.PARAGRAPH or is_underlined:
            first = block.first_line - lines_before - 1
            stop = block.last_line - lines_before - is_underlined
            for index in range(first, stop):
                if is_behind_definition or (index > first and _INDENTED.match(lines[index])):
                    lines[index] = _TEXT
        is_behind_definition = block.kind is BlockKind.DEFINITION and not block.depth
    return "\n".join(lines)
