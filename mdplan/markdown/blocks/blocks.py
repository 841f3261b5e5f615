"""The block structure of a document."""

import re
from typing import TYPE_CHECKING, Final

from mdplan.markdown.blocks.block import INLINE_KINDS, Block, BlockKind
from mdplan.markdown.blocks.block_pass import parse_reference_blocks
from mdplan.markdown.blocks.block_tree import BlockTree
from mdplan.markdown.blocks.document_parts import DocumentParts, ReferenceParts
from mdplan.markdown.blocks.event_headings import DoubtfulText, event_headings
from mdplan.markdown.blocks.pulldown import ParserFailure
from mdplan.text.lines import LineIndex

if TYPE_CHECKING:
    from mdplan.markdown.blocks.rescan import Rescan
    from mdplan.text.edit import EditList

__all__ = [
    "INLINE_KINDS",
    "Block",
    "BlockKind",
    "BlockTree",
    "edited_blocks",
    "ends_at_blank_line",
    "is_left_open",
    "parse_blocks",
]


def parse_blocks(text: str, lines: LineIndex, start: int = 0, *, reference: bool = False) -> BlockTree:
    """Blocks of `text` from the line start at offset `start` on (what stands before is front matter).

    pulldown-cmark reads them. markdown-it-py does with `reference`, and where pulldown-cmark fails or may
    read headings otherwise than GitHub does.
    """
    before = lines.line_at(start) - 1 if start else 0
    if start and start == len(text):
        before = lines.count
    if not reference:
        try:
            rows, starts = event_headings(text[start:], start, before)
            return BlockTree(DocumentParts(text, before, rows, [start, *starts]))
        except (DoubtfulText, ParserFailure):
            pass
    passed = parse_reference_blocks(text[start:], lines, before)
    return BlockTree(ReferenceParts(passed.blocks), nesting_limit=passed.nesting_limit)


def edited_blocks(
    tree: BlockTree, edits: "EditList", text: str, lines: LineIndex, start: int
) -> "tuple[BlockTree, Rescan | None]":
    """The same of `text`, which `edits` made of the text of `tree`, parsed only around the edits.

    The rescan tells which parts of the tree are old ones; None where all of it is new.
    """
    known = tree.parts
    if isinstance(known, DocumentParts) and known.starts[0] == start and edits:
        # Most documents are read, and not edited.
        from mdplan.markdown.blocks.rescan import rescan

        try:
            found = rescan(known, edits, text) if edits.edits[0].span.start >= start else None
        except (DoubtfulText, ParserFailure):
            found = None
        if found is not None:
            return tree.with_parts(found.parts, found.unchanged), found
    return parse_blocks(text, lines, start), None


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
        closed = block.last_line > block.first_line and opener is not None
        return not (
            closed and opener is not None and len(last) >= len(opener[0]) and set(last) == {opener[0][0]}
        )
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
