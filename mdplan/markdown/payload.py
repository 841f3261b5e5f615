"""Markdown to insert: parse it, fit its heading levels, and place it with proper blank lines."""

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
    """Text with LF newlines and no surrounding blank lines, and its block tree."""

    text: str
    tree: BlockTree

    @property
    def is_blank(self) -> bool:
        """True if it is empty."""
        return not self.text.strip()

    @property
    def headings(self) -> tuple[Block, ...]:
        """Its top-level headings outside comments and formulas."""
        headings = [block for block in self.tree.roots if block.kind is BlockKind.HEADING]
        return tuple(without_hidden(headings, hidden_texts(self.tree)) if headings else ())

    @property
    def starts_with_heading(self) -> bool:
        """True if it starts with a heading or with anchor lines above one."""
        return bool(self.headings) and self._first_section == 0

    @property
    def starts_with_anchor(self) -> bool:
        """True if it starts with anchor lines above a heading."""
        return self.starts_with_heading and self.headings[0].span.start > 0

    def split(self) -> "tuple[Payload, Payload]":
        """Split before the first section; of the blank lines in between, keep all except one."""
        before, rest = self.text[: self._first_section], self.text[self._first_section :]
        return _parsed(before.removesuffix("\n").removesuffix("\n")), _parsed(rest)

    @property
    def _first_section(self) -> int:
        start = self.headings[0].span.start
        return anchor_line_starts(self.text, (start,), 0).get(0, start)

    @property
    def left_open(self) -> Block | None:
        """A fence, comment or other HTML block that would swallow the text after the payload."""
        last = self.tree.roots[-1] if self.tree.roots else None
        return last if last is not None and is_left_open(last, self.text) else None


def read_payload(markdown: str) -> Payload:
    """Parse `markdown` as a payload."""
    return _parsed(_without_blank_lines_around(to_lf(markdown)))


def read_closed_payload(markdown: str, *, before: str = "what follows") -> Payload:
    """Parse `markdown` as a payload that swallows nothing; `before` describes what follows it.

    Raise OUTLINE_CHANGED if it leaves a fence or comment open.
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
    """Parse `markdown` as a non-empty closed payload. Raise EMPTY_CONTENT, or as `read_closed_payload`."""
    if not markdown.strip():
        raise Refused(EMPTY)
    return read_closed_payload(markdown)


EMPTY: Final = Code.EMPTY_CONTENT.problem(say("{markdown} is empty"), "give the text to write")


def _parsed(text: str) -> Payload:
    return Payload(text, parse_blocks(text, LineIndex(text)))


def fit_levels(payload: Payload, shallowest: int, *, own_level: int | None = None) -> Payload:
    """Shift all headings of `payload` down by the same number of levels.

    The shift is the smallest that puts the shallowest heading at `shallowest` or deeper; headings never move
    up. With `own_level`, the first heading gets exactly that level and is not counted. Setext headings deeper
    than level 2 become ATX. Raise HEADING_LEVEL_OVERFLOW.
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
        # A multi-line heading becomes one line.
        whole = Span(block.span.start, source.lines.content_end(block.last_line))
        as_atx = atx_heading(level, title) or f"{'#' * level} {title}"
        edits += (TextEdit(whole, as_atx),) if levelled is None else levelled
    return read_payload(EditList(tuple(edits)).apply(payload.text)) if edits else payload


def _without_blank_lines_around(text: str) -> str:
    """Return `text` without surrounding blank lines and the last newline."""
    before = len(text) - len(text.lstrip(_BLANK))
    if before == len(text):
        return ""
    end = text.find("\n", len(text.rstrip(_BLANK)))
    return text[text.rfind("\n", 0, before) + 1 : end if end >= 0 else len(text)]


# --- Insert, replace and delete blocks with their blank lines
#
# Missing blank lines are added; existing ones stay.

_CELL_END: Final = lazy_pattern(r"(?<!\\)\|")
_TABLE_ROWS: Final = lazy_pattern(r"(?: {0,3}\|.*(?:\n|\Z))+")


def start_of_body(outline: Outline, section: Section) -> int:
    """Return the start of the first non-blank line of the section's own body."""
    return _start_of_text(outline, section.body)


def end_of_body(outline: Outline, section: Section) -> int:
    """Return the end of the last non-blank line of the section's own body."""
    return _end_of_text(outline, within_enclosures(outline, section.body))


def end_for_text(outline: Outline, section: Section, payload: Payload) -> int:
    """Return the offset at which `payload` becomes the end of the section's own body.

    It precedes a rule that separates sections, and the attributes of a list or table that it continues.
    """
    end = start = above_separator(outline, Span(section.body.start, end_of_body(outline, section)))
    lines = outline.source.lines
    while start > section.body.start and lines.line_at(start - 1) in outline.enclosures.attribute_lines:
        start = lines.start(lines.line_at(start - 1))
    return start if start < end and _continues_text(outline, start, payload) else end


def above_separator(outline: Outline, text: Span) -> int:
    """Return the end of `text` without a trailing rule or MyST break.

    Such a rule separates the section from the next one.
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
    # Unrecognised front matter may be between two rules.
    is_frame = first is not None and first is not last and first.kind is BlockKind.RULE
    if last is None or not is_separator or last.span.start < text.start or is_frame:
        return text.end
    return _end_of_text(outline, Span(text.start, last.span.start))


def end_of_subtree(outline: Outline, section: Section) -> int:
    """Return the end of the last non-blank line of the whole section or file."""
    if section.is_root:
        return _end_of_text(outline, Span(section.span.start, outline.content_end))
    return _end_of_text(outline, within_enclosures(outline, Span(section.body.start, section.span.end)))


def within_enclosures(outline: Outline, span: Span) -> Span:
    """Cut `span` before the first tag whose other half is outside it."""
    end = outline.enclosures.first_crossing(span)
    return span if end is None else Span(span.start, end)


def place_blocks(
    outline: Outline, span: Span, payloads: Sequence[Payload]
) -> tuple[TextEdit, tuple[Span, ...]]:
    """Replace the whole lines of `span` by the blocks of `payloads`; return also their spans in the new text.

    `span` may be empty, and starts at a line start or the end of the text. A payload that continues the list
    or table before it uses that block's spacing; others get a blank line on both sides. The final newline
    stays as it was; an empty file gets one.
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
        # Tags and attributes of the list or table stay directly below it.
        is_mark = continues and len(payloads) == 1 and _has_mark_at(outline, span.end)
        leads = _leads_into(outline.tree, text, span.end, payloads[-1])
        tight = is_mark or leads or not _line_has_text(outline, span.end)
        new_text += line_end if tight else line_end * 2
    elif not text or text[-1] in "\r\n":
        new_text += line_end
    return TextEdit(span, new_text), tuple(spans)


def _start_of_text(outline: Outline, span: Span) -> int:
    """Return the start of the first non-blank line of `span`, or its start."""
    lines = outline.source.lines
    for line in range(lines.line_at(span.start), lines.count + 1):
        if lines.start(line) >= span.end:
            break
        if lines.start(line) >= span.start and lines.content(line).strip(" \t"):
            return lines.start(line)
    return span.start


def _end_of_text(outline: Outline, span: Span) -> int:
    """Return the end of the last non-blank line of `span`, or its start."""
    lines = outline.source.lines
    if not len(span):
        return span.start
    first = lines.line_at(span.start)
    line = lines.last_with_text(first, lines.line_at(span.end - 1))
    return lines.end(line) if line >= first else span.start


def _line_has_text(outline: Outline, offset: int) -> bool:
    lines = outline.source.lines
    return lines.has_text(lines.line_at(offset))


def _continues_text(outline: Outline, end: int, payload: Payload) -> bool:
    """Return True if `payload` continues the list or table that ends at `end`.

    Markdown may count enclosure tags and attributes below as its last lines.
    """
    may_reach_further = _has_mark_at(outline, end)
    return _continues(outline.tree, outline.source.text, end, payload, may_reach_further=may_reach_further)


def _has_mark_at(outline: Outline, offset: int) -> bool:
    is_line = offset < len(outline.source.text)
    return is_line and outline.enclosures.has_mark_at(outline.source.lines.line_at(offset))


def _continues(
    tree: BlockTree, text: str, end: int, payload: Payload, *, may_reach_further: bool = False
) -> bool:
    """Return True if `payload` continues the tight list or table that ends at `end` of `text`."""
    roots = payload.tree.roots
    is_list = bool(roots) and roots[0].kind is BlockKind.LIST
    is_rows = bool(roots) and not is_list and "|" in payload.text
    # Most payloads are neither, and finding the last block costs more.
    last = tree.root_at(end - 1) if is_list or is_rows else None
    if last is None or (last.span.end > end and not may_reach_further):
        return False
    if last.kind is BlockKind.TABLE:
        is_table = any(block.kind is BlockKind.TABLE for block in roots)
        return is_rows and not is_table and _are_rows(payload, last, text)
    return _are_one_list(last, roots[0]) and not _is_loose(tree, last, text)


def _are_rows(payload: Payload, table: Block, text: str) -> bool:
    """Return True if the lines of `payload` are table rows, with outer pipes or in the style of `table`."""
    if _TABLE_ROWS.fullmatch(payload.text):
        return True
    header = to_lf(text[table.span.start : table.span.end]).split("\n", 1)[0].strip(" \t\r")
    has_pipes = header.startswith("|") or header.endswith("|")
    ends = [len(_CELL_END.findall(line)) for line in payload.text.split("\n")]
    is_text = len(payload.tree.roots) == 1 and payload.tree.roots[0].kind is BlockKind.PARAGRAPH
    return is_text and not has_pipes and all(count == len(table.cells) - 1 for count in ends)


def _leads_into(tree: BlockTree, text: str, start: int, payload: Payload) -> bool:
    """Return True if the tight list at `start` continues the last list of `payload`."""
    if not payload.tree.roots or payload.tree.roots[-1].kind is not BlockKind.LIST:
        return False
    first = tree.root_at(start)
    if first is None or first.span.start != start:
        return False
    return _are_one_list(payload.tree.roots[-1], first) and not _is_loose(tree, first, text)


def _are_one_list(before: Block, after: Block) -> bool:
    """Return True if two adjacent blocks are one list: they have the same marker."""
    return before.kind is BlockKind.LIST and after.kind is BlockKind.LIST and before.markup == after.markup


def _is_loose(tree: BlockTree, listing: Block, text: str) -> bool:
    """Return True if a blank line precedes an item of `listing`."""
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
    """Return edits that replace the whole lines of `span` by `payload`.

    `span` ends after text. Equal lines at both ends, ignoring newline style, stay untouched. A block of the
    same kind keeps its distance to its neighbours; others get a blank line. An empty span becomes an
    insertion.
    """
    old = outline.text_of(span)
    if not old:
        return place_blocks(outline, Span(span.start, span.start), [payload])[:1]
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
    """Return True if `new` can be as close to its neighbours as `old`.

    HTML cannot: some kinds end only at a blank line, and some cannot follow text.
    """
    if old is None or new is None or new.kind is BlockKind.HTML:
        return False
    return (old.kind, old.markup[:1]) == (new.kind, new.markup[:1])


def delete_blocks(outline: Outline, span: Span) -> TextEdit:
    """Return the deletion of the non-empty lines of `span` and the blank lines after them.

    One blank line separates the neighbours. At the end of the file the blank lines before `span` are deleted
    too, and the final newline stays as it was. If a part of the list, table or quote stays, so does its
    distance to its neighbours.
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
    """Return the deletion of the last lines of a block, with blank lines before them if others follow."""
    text, lines = outline.source.text, outline.source.lines
    start, ends_file = span.start, span.end == len(text)
    if ends_file or not _line_has_text(outline, span.end):
        start = end_of_text_before(outline, start)
    if ends_file and text[-1] not in "\r\n":
        start = lines.content_end(lines.line_at(start - 1))
    return TextEdit.delete(Span(start, span.end))


def end_of_text_before(outline: Outline, offset: int) -> int:
    """Return the end of the last line with text or front matter before the line start `offset`."""
    lines = outline.source.lines
    while offset > outline.body_start and not _line_has_text(outline, offset - 1):
        offset = lines.start(lines.line_at(offset - 1))
    return offset
