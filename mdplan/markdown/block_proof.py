"""Proof that the blocks around some places are those of the reference pass."""

from collections.abc import Iterable

from mdplan.markdown.block import Block
from mdplan.markdown.block_pass import pass_blocks
from mdplan.markdown.block_tree import BlockTree
from mdplan.text.lines import LineIndex
from mdplan.text.span import Span


def first_unproven(tree: BlockTree, text: str, lines: LineIndex, spans: Iterable[Span]) -> Block | None:
    """First root block near one of `spans`, which are in order, that the reference pass sees otherwise.

    It looks at the root blocks that hold something of a span, and at those beside them. Blocks that come
    from the reference pass need no proof.
    """
    if not tree.is_scanned:
        return None
    for blocks, behind in tree.neighbourhoods(spans):
        # As in a whole document, one more line end follows its text.
        piece = text[blocks[0].span.start :] + "\n" if behind is None else text[blocks[0].span.start : behind]
        proven = set(pass_blocks(piece, lines, blocks[0].first_line - 1).blocks)
        if proven != set(blocks):
            roots = (block for block in blocks if not block.depth)
            return next((root for root in roots if root not in proven), blocks[0])
    return None
