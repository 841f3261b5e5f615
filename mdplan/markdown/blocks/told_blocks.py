"""Blocks of some whole lines at the root: told without a parser where they are plain, else passed.

Both ways give the same blocks. To load the parser takes longer than to look at a document.
"""

from typing import Final

from mdplan.markdown.blocks.block import Block
from mdplan.markdown.blocks.block_pass import pass_blocks
from mdplan.markdown.blocks.parse_time import timed
from mdplan.text.lines import LineIndex, LinesOfPart

# What the first line of a quote or list begins with.
_MARKS: Final = frozenset(">-+*0123456789")


@timed
def told_blocks(text: str, lines: LineIndex | LinesOfPart, lines_before: int) -> tuple[Block, ...]:
    """As `pass_blocks`, of lines that hold whole blocks."""
    found: tuple[Block, ...] | None
    if text.lstrip(" ")[:1] in _MARKS:
        from mdplan.markdown.blocks.plain_containers import plain_blocks

        found = plain_blocks(text, lines, lines_before)
    else:
        from mdplan.markdown.blocks.plain_text_blocks import plain_text_blocks

        found = plain_text_blocks(text, lines, lines_before)
    return pass_blocks(text, lines, lines_before).blocks if found is None else found
