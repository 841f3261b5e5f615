"""Markdown that a caller wants to insert: its headings, and their levels fitted to the place."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from mdplan.diagnostics import Code, Refused
from mdplan.markdown.addresses import MAX_LEVEL
from mdplan.markdown.block_tree import BlockTree, is_left_open, parse_blocks
from mdplan.markdown.blocks import Block, BlockKind
from mdplan.markdown.enclosures import hidden_texts, without_hidden
from mdplan.markdown.headings import anchor_line_starts, atx_heading, with_level
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, Span, common_edges, line_end_around, to_lf, with_line_ends
from mdplan.text.source import Source
from mdplan.values import Struct
from mdplan.words import say

_BLANK: Final = " \t\n"


class Payload(Struct):
    """Text with LF line ends and no blank lines around it, and its blocks (spans are in `text`)."""

    text: str
    tree: BlockTree

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to insert."""
        return not self.text.strip()

    @property
    def headings(self) -> tuple[Block, ...]:
        """Its top-level headings, but for what looks like one in a comment or formula."""
        headings = [block for block in self.tree.roots if block.kind is BlockKind.HEADING]
        return tuple(without_hidden(headings, hidden_texts(self.tree)) if headings else ())

    @property
    def starts_with_heading(self) -> bool:
        """Whether it begins with a heading, or with anchor lines above one."""
        return bool(self.headings) and self._first_section == 0

    @property
    def starts_with_anchor(self) -> bool:
        """Whether it begins with anchor lines above a heading."""
        return self.starts_with_heading and self.headings[0].span.start > 0

    def split(self) -> "tuple[Payload, Payload]":
        """Return the text before the first section, with all blank lines after it but one, and the rest."""
        before, rest = self.text[: self._first_section], self.text[self._first_section :]
        return _parsed(before.removesuffix("\n").removesuffix("\n")), _parsed(rest)

    @property
    def _first_section(self) -> int:
        start = self.headings[0].span.start
        return anchor_line_starts(self.text, (start,), 0).get(0, start)

    @property
    def left_open(self) -> Block | None:
        """A fence, comment or other HTML block that would swallow what follows the payload."""
        last = self.tree.roots[-1] if self.tree.roots else None
        return last if last is not None and is_left_open(last, self.text) else None


def read_payload(markdown: str) -> Payload:
    """Read `markdown` as a payload."""
    return _parsed(_without_blank_lines_around(to_lf(markdown)))


def read_closed_payload(markdown: str, *, before: str = "what follows") -> Payload:
    """Read `markdown` as a payload that swallows nothing after it, which is `before` in words.

    Errors: OUTLINE_CHANGED where it leaves a fence or comment open.
    """
    payload = read_payload(markdown)
    if payload.left_open:
        raise Code.OUTLINE_CHANGED.refused(
            f"markdown leaves the {payload.left_open.kind} of its line "
            f"{payload.left_open.first_line} open, which would swallow {before}",
            "close the fence, comment or tag in the payload",
        )
    return payload


def read_text_payload(markdown: str) -> Payload:
    """Read `markdown` as a payload with text. Errors: those of `read_closed_payload`; EMPTY_CONTENT."""
    if not markdown.strip():
        raise Refused(EMPTY)
    return read_closed_payload(markdown)


EMPTY: Final = Code.EMPTY_CONTENT.problem(say("{markdown} is empty"), "give the text to write")


def _parsed(text: str) -> Payload:
    return Payload(text, parse_blocks(text, LineIndex(text)))


def fit_levels(payload: Payload, shallowest: int, *, own_level: int | None = None) -> Payload:
    """Add one number to the levels of all headings of `payload`.

    Headings are never lifted. The number is just enough that the shallowest of them is at level
    `shallowest` or deeper. With `own_level` the first heading is brought to that level, and is not part of
    this. A setext heading that goes below level 2 becomes ATX. Errors: HEADING_LEVEL_OVERFLOW.
    """
    levels = [block.level for block in payload.headings]
    own = [own_level] if own_level is not None else []
    shift = max(0, shallowest - min(levels[len(own) :], default=shallowest))
    levels = [*own, *(level + shift for level in levels[len(own) :])]
    deepest = max(levels, default=0)
    if deepest > MAX_LEVEL:
        raise Code.HEADING_LEVEL_OVERFLOW.refused(
            f"a heading would be at level {deepest}; the maximum is {MAX_LEVEL}",
            say('use fewer heading levels, or {levels="verbatim"}'),
        )
    source = Source.from_text(payload.text)
    edits: list[TextEdit] = []
    for block, level in zip(payload.headings, levels, strict=True):
        title = " ".join(line.strip() for line in block.content.split("\n"))
        levelled = with_level(source, block, level)
        # A heading of several lines becomes one of one line.
        whole = Span(block.span.start, source.lines.content_end(block.last_line))
        as_atx = atx_heading(level, title) or f"{'#' * level} {title}"
        edits += (TextEdit(whole, as_atx),) if levelled is None else levelled
    return read_payload(EditList(tuple(edits)).apply(payload.text)) if edits else payload


def _without_blank_lines_around(text: str) -> str:
    """Return `text` from its first to its last line that is not blank, without the last line end."""
    before = len(text) - len(text.lstrip(_BLANK))
    if before == len(text):
        return ""
    end = text.find("\n", len(text.rstrip(_BLANK)))
    return text[text.rfind("\n", 0, before) + 1 : end if end >= 0 else len(text)]


# --- Inserting, replacing and deleting blocks, with the blank lines around them
#
# Blank lines that an inserted block needs are added; no other ones are removed.

_CELL_END: Final = lazy_pattern(r"(?<!\\)\|")
_TABLE_ROWS: Final = lazy_pattern(r"(?: {0,3}\|.*(?:\n|\Z))+")


def start_of_body(outline: Outline, section: Section) -> int:
    """Return the offset of the first line of the section's own body that is not blank, or of the body."""
    return _start_of_text(outline, section.body)


def end_of_body(outline: Outline, section: Section) -> int:
    """Return the offset after the last line of the section's own body that is not blank."""
    return _end_of_text(outline, within_enclosures(outline, section.body))


def end_for_text(outline: Outline, section: Section, payload: Payload) -> int:
    """Return the offset at which `payload` becomes the end of the section's own body.

    It goes above a rule that separates the section from the next one, and above the attributes of the list or
    table that it continues.
    """
    end = start = above_separator(outline, Span(section.body.start, end_of_body(outline, section)))
    lines = outline.source.lines
    while start > section.body.start and lines.line_at(start - 1) in outline.enclosures.attribute_lines:
        start = lines.start(lines.line_at(start - 1))
    return start if start < end and _continues_text(outline, start, payload) else end


def above_separator(outline: Outline, text: Span) -> int:
    """Return where `text`, which ends after a line, ends without a rule, or break of MyST, as its last block.

    Such a rule separates a section from the next one.
    """
    if not len(text):
        return text.end
    last, first = outline.tree.root_at(text.end - 1), outline.tree.root_at(_start_of_text(outline, text))
    is_break = (
        last is not None
        and outline.text_of(last.span).startswith("+++")
        and last.first_line == last.last_line
    )
    is_separator = last is not None and (last.kind is BlockKind.RULE or is_break)
    # Between two rules may be front matter that is not recognized.
    is_frame = first is not None and first is not last and first.kind is BlockKind.RULE
    if last is None or not is_separator or last.span.start < text.start or is_frame:
        return text.end
    return _end_of_text(outline, Span(text.start, last.span.start))


def end_of_subtree(outline: Outline, section: Section) -> int:
    """Return the offset after the last line of the whole section, or file, that is not blank."""
    if section.is_root:
        return _end_of_text(outline, Span(section.span.start, outline.content_end))
    return _end_of_text(outline, within_enclosures(outline, Span(section.body.start, section.span.end)))


def within_enclosures(outline: Outline, span: Span) -> Span:
    """Cut `span` before the first tag of an enclosure that reaches out of it, to keep its halves together."""
    end = outline.enclosures.first_crossing(span)
    return span if end is None else Span(span.start, end)


class PlacedBlocks(Struct):
    """One edit that writes several blocks; `spans` are the places of the blocks in its new text."""

    edit: TextEdit
    spans: tuple[Span, ...]


def place_blocks(outline: Outline, span: Span, payloads: Sequence[Payload]) -> PlacedBlocks:
    """Put the blocks of `payloads`, one after another, in place of the whole lines of `span`.

    `span` may be empty, and starts at a line start or the end of the text. A payload that continues the list
    or table before it takes that block's own spacing; elsewhere a blank line is on both sides. The final
    newline of the file is left as it was; an empty file is ended by a line end.
    """
    source, offset = outline.source, span.start
    text = source.text
    line_end = outline.view.line_end_around(offset)
    new_text = ""
    spans: list[Span] = []
    if offset and text[offset - 1] not in "\r\n":
        new_text += line_end
    continues = _continues_text(outline, offset, payloads[0])
    if offset and _line_has_text(outline, offset - 1):
        new_text += "" if continues else line_end
    for index, payload in enumerate(payloads):
        if index:
            before = payloads[index - 1]
            tight = _continues(before.tree, before.text, len(before.text), payload)
            new_text += line_end if tight else line_end * 2
        block = with_line_ends(payload.text, line_end)
        spans.append(Span(len(new_text), len(new_text) + len(block)))
        new_text += block
    if span.end < len(text):
        # What closes or describes the list or table stays right below it.
        is_mark = continues and len(payloads) == 1 and _has_mark_at(outline, span.end)
        leads = _leads_into(outline.tree, text, span.end, payloads[-1])
        tight = is_mark or leads or not _line_has_text(outline, span.end)
        new_text += line_end if tight else line_end * 2
    elif not text or text[-1] in "\r\n":
        new_text += line_end
    return PlacedBlocks(TextEdit(span, new_text), tuple(spans))


def _start_of_text(outline: Outline, span: Span) -> int:
    """Return the offset of the first line of `span` that is not blank; its start if there is none."""
    lines = outline.source.lines
    for line in range(lines.line_at(span.start), lines.count + 1):
        if lines.start(line) >= span.end:
            break
        if lines.start(line) >= span.start and lines.content(line).strip(" \t"):
            return lines.start(line)
    return span.start


def _end_of_text(outline: Outline, span: Span) -> int:
    """Return the offset after the last line of `span` that is not blank; its start if there is none."""
    lines = outline.source.lines
    if not len(span):
        return span.start
    first = lines.line_at(span.start)
    line = lines.last_with_text(first, lines.line_at(span.end - 1))
    return lines.end(line) if line >= first else span.start


def _line_has_text(outline: Outline, offset: int) -> bool:
    """Return True if the line at `offset` is not blank."""
    lines = outline.source.lines
    return lines.has_text(lines.line_at(offset))


def _continues_text(outline: Outline, end: int, payload: Payload) -> bool:
    """Return True if `payload` continues the list or table that ends at `end` of the document.

    To Markdown it may have more lines, which close or describe what is around it.
    """
    may_reach_further = _has_mark_at(outline, end)
    return _continues(outline.tree, outline.source.text, end, payload, may_reach_further=may_reach_further)


def _has_mark_at(outline: Outline, offset: int) -> bool:
    is_line = offset < len(outline.source.text)
    return is_line and outline.enclosures.has_mark_at(outline.source.lines.line_at(offset))


def _continues(
    tree: BlockTree, text: str, end: int, payload: Payload, *, may_reach_further: bool = False
) -> bool:
    """Return True if `payload` continues the tight list, or the table, that ends at `end` of `text`."""
    roots = payload.tree.roots
    is_list = bool(roots) and roots[0].kind is BlockKind.LIST
    is_rows = bool(roots) and not is_list and "|" in payload.text
    # Most payloads are neither, and to look what is there costs more.
    last = tree.root_at(end - 1) if is_list or is_rows else None
    if last is None or (last.span.end > end and not may_reach_further):
        return False
    if last.kind is BlockKind.TABLE:
        is_table = any(block.kind is BlockKind.TABLE for block in roots)
        return is_rows and not is_table and _are_rows(payload, last, text)
    return _are_one_list(last, roots[0]) and not _is_loose(tree, last, text)


def _are_rows(payload: Payload, table: Block, text: str) -> bool:
    """Return True if the lines of `payload` are rows: with outer pipes, or without like those of `table`."""
    if _TABLE_ROWS.fullmatch(payload.text):
        return True
    header = to_lf(text[table.span.start : table.span.end]).split("\n", 1)[0].strip(" \t\r")
    has_pipes = header.startswith("|") or header.endswith("|")
    ends = [len(_CELL_END.findall(line)) for line in payload.text.split("\n")]
    is_text = len(payload.tree.roots) == 1 and payload.tree.roots[0].kind is BlockKind.PARAGRAPH
    return is_text and not has_pipes and all(count == len(table.cells) - 1 for count in ends)


def _leads_into(tree: BlockTree, text: str, start: int, payload: Payload) -> bool:
    """Return True if the tight list at `start` of `text` continues the one that `payload` ends with."""
    if not payload.tree.roots or payload.tree.roots[-1].kind is not BlockKind.LIST:
        return False
    first = tree.root_at(start)
    if first is None or first.span.start != start:
        return False
    return _are_one_list(payload.tree.roots[-1], first) and not _is_loose(tree, first, text)


def _are_one_list(before: Block, after: Block) -> bool:
    """Return True if two blocks, one after the other, are one list: they have the same kind of marker."""
    return before.kind is BlockKind.LIST and after.kind is BlockKind.LIST and before.markup == after.markup


def _is_loose(tree: BlockTree, listing: Block, text: str) -> bool:
    """Return True if a blank line is before one of the items of `listing`."""
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
    """Return edits that replace the whole lines of `span` by the text of `payload`.

    `span` ends after text, not after blank lines. Lines at its start and end that stay the same, but for
    their line ends, are not touched. A block of the kind that was there is as close to its neighbour;
    between others a blank line is added where there is none. An empty span becomes an insertion.
    """
    old = outline.text_of(span)
    if not old:
        return (place_blocks(outline, Span(span.start, span.start), [payload]).edit,)
    old_lines, new_lines = LineIndex(old).with_ends, LineIndex(payload.text).with_ends
    if old[-1] in "\r\n":
        new_lines[-1] += "\n"
    prefix, suffix = common_edges([to_lf(line) for line in old_lines], new_lines)
    start = span.start + sum(map(len, old_lines[:prefix]))
    end = span.end - sum(map(len, old_lines[len(old_lines) - suffix :]))
    new = "".join(new_lines[prefix : len(new_lines) - suffix])
    if start == end and not new:
        return ()
    tree, blocks = outline.tree, payload.tree.roots or (None,)
    if new and not prefix and span.start and _line_has_text(outline, span.start - 1):
        new = new if _are_alike(tree.root_at(span.start), blocks[0]) else "\n" + new
    if new and not suffix and span.end < len(outline.source.text) and _line_has_text(outline, span.end):
        new = new if _are_alike(tree.root_at(span.end - 1), blocks[-1]) else new + "\n"
    line_end = line_end_around(outline.source.lines, start)
    return (TextEdit(Span(start, end), with_line_ends(new, line_end)),)


def _are_alike(old: Block | None, new: Block | None) -> bool:
    """Return True if `new` can be where `old` was, as close to its neighbours.

    HTML cannot: some of it ends at a blank line only, and some of it cannot follow text.
    """
    if old is None or new is None or new.kind is BlockKind.HTML:
        return False
    return (old.kind, old.markup[:1]) == (new.kind, new.markup[:1])


def delete_blocks(outline: Outline, span: Span) -> TextEdit:
    """Return an edit that removes the whole lines of `span`, at least one, and the blank lines after them.

    One blank line stays, or is added, between the neighbours. At the end of the file the blank lines before
    `span` go as well, and the final newline is left as it was. If a part of the list, table or quote that
    has `span` stays, its distance to its neighbours stays, too.
    """
    text, lines = outline.source.text, outline.source.lines
    first, last = outline.tree.root_at(span.start), outline.tree.root_at(span.end - 1)
    if last is not None and last.span.end > span.end:
        return TextEdit.delete(span)
    if first is not None and first.span.start < span.start:
        return _delete_tail(outline, span)
    following = span.end
    while following < len(text) and not _line_has_text(outline, following):
        following = lines.end(lines.line_at(following))
    if following == len(text):
        start = end_of_text_before(outline, span.start)
        if text[-1] not in "\r\n" and start:
            start = lines.content_end(lines.line_at(start - 1))
        return TextEdit.delete(Span(start, following))
    if span.start > outline.body_start and _line_has_text(outline, span.start - 1):
        return TextEdit(span, line_end_around(lines, span.start) if following == span.end else "")
    return TextEdit.delete(Span(span.start, following))


def _delete_tail(outline: Outline, span: Span) -> TextEdit:
    """Return an edit that removes the last lines of a block, and blank lines before them if others follow."""
    text, lines = outline.source.text, outline.source.lines
    start, ends_file = span.start, span.end == len(text)
    if ends_file or not _line_has_text(outline, span.end):
        start = end_of_text_before(outline, start)
    if ends_file and text[-1] not in "\r\n":
        start = lines.content_end(lines.line_at(start - 1))
    return TextEdit.delete(Span(start, span.end))


def end_of_text_before(outline: Outline, offset: int) -> int:
    """Return the offset after the last line before `offset`, a line start, that has text or front matter."""
    lines = outline.source.lines
    while offset > outline.body_start and not _line_has_text(outline, offset - 1):
        offset = lines.start(lines.line_at(offset - 1))
    return offset
