"""The scanner against the reference pass, and the smallest text that shows how they differ."""

import re

from mdplan.markdown.blocks.block import BlockKind
from mdplan.markdown.blocks.block_tree import BlockTree
from mdplan.markdown.blocks.blocks import parse_blocks
from mdplan.markdown.blocks.scanned_blocks import ScannedBlocks
from mdplan.text.lines import LineIndex

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")


def differs(text: str, start: int = 0) -> bool:
    """Whether a block, the place of a part, or what a part can hold is not what the reference pass gives."""
    lines = LineIndex(text)
    expected = parse_blocks(text, lines, start, reference=True)
    scanned = ScannedBlocks(text, lines, start)
    if not scanned.is_complete:
        return False
    if BlockTree(scanned).blocks != expected.blocks or expected.nesting_limit:
        return True
    rows = BlockTree(scanned).heading_rows
    if tuple(map(rows.block, range(len(rows)))) != expected.headings:
        return True
    holding = {kind: set(scanned.holding(kind)) for kind in {block.kind for block in expected.blocks}}
    return any(not _is_honest(scanned, part, holding) for part in range(len(scanned.starts)))


def _is_honest(scanned: ScannedBlocks, part: int, holding: dict[BlockKind, set[int]]) -> bool:
    blocks = scanned.blocks(part)
    begins = blocks[0].depth == 0 and blocks[0].span.start == scanned.starts[part]
    is_held = all(part in holding[block.kind] for block in blocks)
    return begins and is_held and all(scanned.may_hold(part, (block.kind,)) for block in blocks)


def difference(text: str) -> str | None:
    """The same in as few of the lines of `text` as can be; None where both agree."""
    if not differs(text):
        return None
    lines = _LINES.findall(text)
    at = 0
    while at < len(lines):
        fewer = lines[:at] + lines[at + 1 :]
        if differs("".join(fewer)):
            lines, at = fewer, 0
        else:
            at += 1
    return "".join(lines)
