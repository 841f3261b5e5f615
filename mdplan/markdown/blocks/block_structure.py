"""The block structure of a document."""

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from mdplan.markdown.blocks.block import INLINE_KINDS, Block, BlockKind
from mdplan.markdown.blocks.block_tree import BlockTree
from mdplan.markdown.blocks.event_headings import DoubtfulText, parse_headings
from mdplan.markdown.blocks.pulldown import ParserFailure
from mdplan.markdown.blocks.reference_blocks import parse_reference_blocks
from mdplan.text.lines import LineIndex, Span

if TYPE_CHECKING:
    from mdplan.text.edit import EditList

__all__ = [
    "INLINE_KINDS",
    "Block",
    "BlockKind",
    "BlockTree",
    "ends_at_blank_line",
    "is_left_open",
    "parse_blocks",
    "reparse_blocks",
]


def parse_blocks(text: str, lines: LineIndex, start: int = 0) -> BlockTree:
    """Blocks of `text` from the line start at offset `start` on (before it is front matter).

    pulldown-cmark reads them. Where it fails, or may read headings otherwise than GitHub does, markdown-it-py
    reads them.
    """
    before = lines.line_at(start) - 1 if start else 0
    if start and start == len(text):
        before = lines.count
    try:
        return BlockTree(text, start, before, parse_headings(text[start:], start, before))
    except (DoubtfulText, ParserFailure):
        found = parse_reference_blocks(text[start:], start, before)
        return BlockTree.of_reference(text, start, before, found.blocks, nesting_limit=found.nesting_limit)


def reparse_blocks(
    tree: BlockTree, edits: "EditList", text: str, lines: LineIndex, start: int
) -> tuple[BlockTree, tuple[tuple[Span, Span], ...] | None]:
    """Blocks of `text`, the result of `edits` on the text of `tree`; only changed sections are parsed.

    All blocks end before an ATX heading in no container (CommonMark 0.31.2, section 4.2). So parsing begins
    with the last such heading before an edit, and ends with the first one after it, if that is a heading as
    before; else at the end. The second result are the pieces that were parsed, in the old text and in the new
    one; None where all was.
    """
    is_behind_start = bool(edits.edits) and edits.edits[0].span.start >= start
    if not tree.is_reference and tree.part_starts[0] == start and is_behind_start:
        try:
            return _reparse(tree, edits, text)
        except (DoubtfulText, ParserFailure):
            pass
    return parse_blocks(text, lines, start), None


def _reparse(
    tree: BlockTree, edits: "EditList", text: str
) -> tuple[BlockTree, tuple[tuple[Span, Span], ...]]:
    headings: list[Block] = []
    changed: list[tuple[Span, Span]] = []
    # How many headings of the tree are done, and how far the text after them has moved.
    done = growth = lines = 0
    runs = _edited_parts(tree, edits)
    for part, stop, grown in runs:
        start, before = tree.part_starts[part], tree.lines_before_part(part) + lines
        new_start, first = start + growth, _headings_before(tree, start)
        headings += [each.moved(growth, lines) for each in tree.headings[done:first]]
        if stop < len(tree.part_starts):
            heading = tree.part_headings[stop - 1]
            end = heading.span.start
            found = parse_headings(text[new_start : heading.span.end + grown], new_start, before)
            added = found[-1].first_line - heading.first_line if found else 0
            if found and found[-1] == heading.moved(grown, added):
                headings += found[:-1]
                changed.append((Span(start, end), Span(new_start, end + grown)))
                done, growth, lines = _headings_before(tree, end), grown, added
                continue
        headings += parse_headings(text[new_start:], new_start, before)
        changed.append((Span(start, len(tree.text)), Span(new_start, len(text))))
        done = len(tree.headings)
        break
    headings += [each.moved(growth, lines) for each in tree.headings[done:]]
    return tree.edited(text, headings, runs[0][0]), tuple(changed)


def _edited_parts(tree: BlockTree, edits: "EditList") -> list[tuple[int, int, int]]:
    """Runs of parts that `edits` touch: the first one, the one after them, and the growth of the text."""
    runs: list[tuple[int, int, int]] = []
    growth = 0
    for edit in edits:
        growth += len(edit.new_text) - len(edit.span)
        part = _part_before(tree, edit.span.start)
        stop = max(part + 1, bisect_left(tree.part_starts, edit.span.end))
        if runs and part < runs[-1][1]:
            part, last, _ = runs.pop()
            stop = max(stop, last)
        runs.append((part, stop, growth))
    return runs


def _part_before(tree: BlockTree, offset: int) -> int:
    """The last part whose heading ends at `offset` or before it; after a lone CR a LF may be inserted."""
    part = tree.part_at(offset)
    while part:
        end = tree.part_headings[part - 1].span.end
        if end + tree.text.endswith("\r", 0, end) <= offset:
            break
        part -= 1
    return part


def _headings_before(tree: BlockTree, offset: int) -> int:
    return bisect_left(tree.headings, offset, key=lambda heading: heading.span.start)


_FENCE_MARK: Final = re.compile(r"`{3,}|~{3,}")
# Most commands never ask for these, so they are compiled when one does.
_HTML_ENDS: Final = (
    (r"(?i:<(script|pre|style|textarea)(?=[\s>]|$))", r"(?i:</(script|pre|style|textarea)>)"),
    (r"<!--", r"-->"),
    (r"<\?", r"\?>"),
    (r"<!\[CDATA\[", r"\]\]>"),
    (r"<![A-Za-z]", r">"),
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
        if block.last_line == block.first_line or opener is None:
            return True
        return len(last) < len(opener[0]) or set(last) != {opener[0][0]}
    if block.kind is BlockKind.HTML:
        head = source.lstrip(" \t")
        for opening, ending in _HTML_ENDS:
            if re.match(opening, head):
                return re.search(ending, source) is None
    return False


def ends_at_blank_line(block: Block, text: str) -> bool:
    """Whether `block` is HTML of kind 6 or 7, which a blank line ends (CommonMark 0.31.2, section 4.6)."""
    head = text[block.span.start : block.span.end].lstrip(" \t")
    return block.kind is BlockKind.HTML and not any(re.match(opening, head) for opening, _ in _HTML_ENDS)
