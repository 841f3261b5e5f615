"""Where blocks go into a section, and the blank lines around them.

What is missing between an inserted block and its neighbours is added, nothing is removed (DESIGN 4).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from mdplan.markdown.blocks import Block, BlockKind, BlockTree
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import Payload, read_payload
from mdplan.markdown.section import Section
from mdplan.text.edit import TextEdit
from mdplan.text.line_end_view import line_end_around, with_line_ends
from mdplan.text.span import Span

_TABLE_ROWS: Final = re.compile(r"(?: {0,3}\|.*(?:\n|\Z))+")


def end_of_body(outline: Outline, section: Section) -> int:
    """Offset behind the last line of the section's own body that is not blank."""
    return _behind_text(outline, section.body)


def end_of_subtree(outline: Outline, section: Section) -> int:
    """Offset behind the last line of the whole section that is not blank; for the preamble, of the file."""
    if section.is_root:
        return _behind_text(outline, Span(section.span.start, outline.content_end))
    return _behind_text(outline, Span(section.body.start, section.span.end))


@dataclass(frozen=True, slots=True)
class PlacedBlocks:
    """One insertion of several blocks; `spans` are the places of the blocks in its new text."""

    edit: TextEdit
    spans: tuple[Span, ...]


def place_blocks(outline: Outline, offset: int, texts: Sequence[str]) -> PlacedBlocks:
    """Insertion of the blocks `texts` (LF line ends, no blank lines around) at `offset`, one after another.

    `offset` is a line start or the end of the text. A text that continues the list or table before it takes
    that block's own spacing; elsewhere a blank line stands on both sides. The final newline of the file is
    left as it was; an empty file is ended by a line end.
    """
    source = outline.source
    text, lines = source.text, source.lines
    line_end = line_end_around(lines, offset)
    payloads = [read_payload(block) for block in texts]
    new_text = ""
    spans: list[Span] = []
    if offset and text[offset - 1] not in "\r\n":
        new_text += line_end
    if offset and _line_before_has_text(outline, offset):
        new_text += "" if _continues(outline.tree, text, offset, payloads[0]) else line_end
    for index, payload in enumerate(payloads):
        if index:
            before = payloads[index - 1]
            tight = _continues(before.tree, before.text, len(before.text), payload)
            new_text += line_end if tight else line_end * 2
        block = with_line_ends(payload.text, line_end)
        spans.append(Span(len(new_text), len(new_text) + len(block)))
        new_text += block
    if offset < len(text):
        next_line = lines.content(lines.line_at(offset))
        new_text += line_end if not next_line.strip(" \t") else line_end * 2
    elif not text or text[-1] in "\r\n":
        new_text += line_end
    return PlacedBlocks(TextEdit.insert(offset, new_text), tuple(spans))


def _behind_text(outline: Outline, span: Span) -> int:
    lines = outline.source.lines
    if not len(span):
        return span.start
    line, first = lines.line_at(span.end - 1), lines.line_at(span.start)
    while line >= first and not lines.content(line).strip(" \t"):
        line -= 1
    return lines.end(line) if line >= first else span.start


def _line_before_has_text(outline: Outline, offset: int) -> bool:
    lines = outline.source.lines
    return bool(lines.content(lines.line_at(offset - 1)).strip(" \t"))


def _continues(tree: BlockTree, text: str, end: int, payload: Payload) -> bool:
    """Whether `payload` goes on with the tight list, or the table, that ends at `end` of `text`."""
    last = tree.root_ending_at(end)
    if last is None or not payload.tree.roots:
        return False
    if last.kind is BlockKind.TABLE:
        no_table = all(block.kind is not BlockKind.TABLE for block in payload.tree.roots)
        return no_table and _TABLE_ROWS.fullmatch(payload.text) is not None
    first = payload.tree.roots[0]
    same_list = last.kind is BlockKind.LIST and first.kind is BlockKind.LIST and last.markup == first.markup
    return same_list and not _is_loose(tree, last, text)


def _is_loose(tree: BlockTree, listing: Block, text: str) -> bool:
    """Whether a blank line stands before one of the items of `listing`."""
    items = [
        block
        for block in tree.inside(listing.span)
        if block.kind is BlockKind.LIST_ITEM and block.depth == listing.depth + 1
    ]
    return any(
        before.span.end < after.span.start and not text[before.span.end : after.span.start].strip()
        for before, after in pairwise(items)
    )
