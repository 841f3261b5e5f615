"""Where blocks go into a section, and the blank lines around them.

What is missing between an inserted block and its neighbours is added, nothing is removed (DESIGN 4).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Final

from mdplan.markdown.blocks import Block, BlockKind, BlockTree
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import Payload
from mdplan.markdown.section import Section
from mdplan.text.edit import TextEdit
from mdplan.text.line_end_view import line_end_around, to_lf, with_line_ends
from mdplan.text.lines import LineIndex
from mdplan.text.span import Span

_TABLE_ROWS: Final = re.compile(r"(?: {0,3}\|.*(?:\n|\Z))+")


def start_of_body(outline: Outline, section: Section) -> int:
    """Offset of the first line of the section's own body that is not blank; else where the body starts."""
    lines = outline.source.lines
    for line in range(lines.line_at(section.body.start), lines.count + 1):
        if lines.start(line) >= section.body.end:
            break
        if lines.start(line) >= section.body.start and lines.content(line).strip(" \t"):
            return lines.start(line)
    return section.body.start


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


def place_blocks(outline: Outline, offset: int, payloads: Sequence[Payload]) -> PlacedBlocks:
    """Insertion of the blocks of `payloads` at `offset`, one after another.

    `offset` is a line start or the end of the text. A payload that continues the list or table before it
    takes that block's own spacing; elsewhere a blank line stands on both sides. The final newline of the
    file is left as it was; an empty file is ended by a line end.
    """
    source = outline.source
    text, lines = source.text, source.lines
    line_end = line_end_around(lines, offset)
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
        tight = not next_line.strip(" \t") or _leads_into(outline.tree, text, offset, payloads[-1])
        new_text += line_end if tight else line_end * 2
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
    return _are_one_list(last, payload.tree.roots[0]) and not _is_loose(tree, last, text)


def _leads_into(tree: BlockTree, text: str, start: int, payload: Payload) -> bool:
    """Whether the tight list at `start` of `text` goes on from the one that `payload` ends with."""
    first = tree.root_at(start)
    if first is None or first.span.start != start or not payload.tree.roots:
        return False
    return _are_one_list(payload.tree.roots[-1], first) and not _is_loose(tree, first, text)


def _are_one_list(before: Block, after: Block) -> bool:
    """Whether two lists, one behind the other, are one: they have the same kind of marker."""
    return before.kind is BlockKind.LIST and after.kind is BlockKind.LIST and before.markup == after.markup


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


def replace_blocks(outline: Outline, span: Span, payload: Payload) -> tuple[TextEdit, ...]:
    """Edits that make the text of `payload` of the whole lines of `span`.

    `span` ends behind text, not behind blank lines. Lines at its start and end that stay the same, but for
    their line ends, are not touched. An empty span becomes an insertion.
    """
    old = outline.text_of(span)
    if not old:
        return (place_blocks(outline, span.start, [payload]).edit,)
    line_end = line_end_around(outline.source.lines, span.start)
    first, last = _lines_of(old), _lines_of(payload.text)
    ends_file = old[-1] not in "\r\n"
    if not ends_file:
        last[-1] += "\n"
    prefix = _common(first, last)
    suffix = _common(first[prefix:][::-1], last[prefix:][::-1])
    kept, gone = sum(map(len, first[:prefix])), sum(map(len, first[: len(first) - suffix]))
    new = "".join(last[prefix : len(last) - suffix])
    if kept == gone and not new:
        return ()
    if new and not prefix and span.start and _line_before_has_text(outline, span.start):
        new = "\n" + new
    if new and not suffix and span.end < len(outline.source.text) and _line_has_text(outline, span.end):
        new += "\n"
    return (TextEdit(Span(span.start + kept, span.start + gone), with_line_ends(new, line_end)),)


def delete_blocks(outline: Outline, span: Span) -> tuple[TextEdit, ...]:
    """Edits that remove the whole lines of `span` and leave one blank line between what they join.

    At the end of the file, or before its trailing definitions, the blank lines before `span` go too, and
    the final newline is left as it was.
    """
    if not len(span):
        return ()
    text, lines = outline.source.text, outline.source.lines
    start = span.start
    if span.end == len(text):
        while start > outline.body_start and not lines.content(lines.line_at(start - 1)).strip(" \t"):
            start = lines.start(lines.line_at(start - 1))
        if text[-1] not in "\r\n" and start:
            start = lines.content_end(lines.line_at(start - 1))
        return (TextEdit.delete(Span(start, span.end)),)
    end = span.end
    if start > outline.body_start and _line_before_has_text(outline, start):
        joins = _line_has_text(outline, end)
        return (TextEdit(span, line_end_around(lines, start) if joins else ""),)
    while end < len(text) and not _line_has_text(outline, end):
        end = lines.end(lines.line_at(end))
    return (TextEdit.delete(Span(start, end)),)


def _line_has_text(outline: Outline, offset: int) -> bool:
    lines = outline.source.lines
    return bool(lines.content(lines.line_at(offset)).strip(" \t"))


def _lines_of(text: str) -> list[str]:
    """Lines of `text` with their line ends, which are LF, CRLF or CR."""
    lines = LineIndex(text)
    return [text[lines.start(line) : lines.end(line)] for line in range(1, lines.count + 1)]


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """How many lines at the start of both are the same but for their line ends."""
    pairs = zip(left, right, strict=False)
    return sum(1 for _ in takewhile(lambda pair: to_lf(pair[0]) == to_lf(pair[1]), pairs))
