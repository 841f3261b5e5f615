"""The text of a region, and the edit that replaces it.

DESIGN section 6: a region is what is between its two marker comments, which stay as they are.
"""

import re
from dataclasses import dataclass
from typing import Final

from mdplan.markdown.blocks.block_structure import Block, BlockKind, ends_at_blank_line
from mdplan.markdown.blocks.containers import prefix_after, with_prefix, without_prefix
from mdplan.markdown.edits.payload import Payload
from mdplan.markdown.outline.outline import Outline
from mdplan.markdown.outline.region import Region
from mdplan.text.edit import TextEdit
from mdplan.text.line_end_view import common_edges, line_end_around, lines_of, to_lf
from mdplan.text.lines import Span

_BLANKS: Final = " \t"
_MARKS: Final = re.compile(r"[ \t>]*")
_BEFORE_BLOCK: Final = re.compile(r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionText:
    """The text of `region`, which is in the `container` (a quote or list item), if in one.

    `lines` are the whole lines between those of the markers, without the `prefix` of the container; None
    where text of the region shares a line with one of its markers. `is_alone` says that nothing but the
    region and its markers is on their lines. `content` is the text without blank lines around it, and
    where it shares a line also without blanks.
    """

    region: Region
    container: Block | None
    prefix: str
    lines: tuple[str, ...] | None
    is_alone: bool
    content: str


def read_region(outline: Outline, region: Region) -> RegionText | None:
    """The text of `region`; None where its two markers are not in the same quote or list item."""
    container = outline.tree.container_at(region.start.span.start)
    if outline.tree.container_at(region.end.span.start) is not container:
        return None
    table, text = outline.source.lines, outline.source.text
    first, last = region.start.line, region.end.line
    before = text[table.start(first) : region.start.span.start]
    inner_head = text[region.start.span.end : table.content_end(first)]
    inner_tail = text[table.start(last) : region.end.span.start]
    if container is None:
        prefix = ""
    elif first == last:
        prefix = prefix_after(before)
    else:
        prefix = _marks(inner_tail)
    has_own_lines = first != last and not inner_head.strip(_BLANKS) and inner_tail == _marks(inner_tail)
    lines = None
    if has_own_lines:
        lines = tuple(without_prefix(prefix, table.content(line)) for line in range(first + 1, last))
        content = "\n".join(_without_blank_edges(lines))
    else:
        inside = lines_of(to_lf(outline.text_of(region.inside)))
        content = "\n".join([*inside[:1], *(without_prefix(prefix, line) for line in inside[1:])])
        content = content.strip(_BLANKS + "\n")
    leaf = outline.tree.leaf_at(region.start.span.start)
    after = text[region.end.span.end : table.content_end(last)]
    return RegionText(
        region=region,
        container=container,
        prefix=prefix,
        lines=lines,
        is_alone=leaf is not None
        and leaf.kind is BlockKind.HTML
        and _BEFORE_BLOCK.fullmatch(before) is not None
        and not after.strip(_BLANKS),
        content=content,
    )


def replace_region_text(outline: Outline, old: RegionText, payload: Payload) -> TextEdit | None:
    """Edit that makes the text of `payload` that of the region; None where that cannot be done.

    The first line of the text follows on the line of the start marker, and the end marker on its last, with
    as many blank lines between as there were. A region inside a line takes one line only: more of them
    make it lines of its own, if nothing else is on its line.
    """
    if old.lines is not None:
        return _lines_replaced(outline, old, old.lines, payload)
    inside, is_one_line = old.region.inside, old.region.start.line == old.region.end.line
    text, new_text = outline.text_of(inside), payload.text.strip(_BLANKS)
    if new_text == old.content:
        return TextEdit(inside, text)
    if is_one_line and "\n" not in new_text and (old.content or not old.is_alone):
        return TextEdit(_without_blanks(inside, text) if new_text else inside, new_text)
    if is_one_line and not old.is_alone:
        return None
    line_end = line_end_around(outline.source.lines, inside.start)
    lines = [with_prefix(old.prefix, line) for line in (*lines_of(payload.text), *_tail(payload, 0))]
    return TextEdit(inside, line_end.join(["", *lines, old.prefix]))


def _lines_replaced(
    outline: Outline, old: RegionText, old_lines: tuple[str, ...], payload: Payload
) -> TextEdit:
    """The edit for a region that has lines of its own; it leaves alone what stays the same at both ends."""
    head, tail = _blank_edges(old_lines)
    new_lines = lines_of(payload.text)
    if new_lines:
        new_lines = [*[""] * head, *new_lines, *_tail(payload, tail)]
    before, behind = common_edges(old_lines, new_lines)
    lines = outline.source.lines
    start = lines.start(old.region.start.line + 1 + before)
    end = lines.start(old.region.end.line - behind)
    line_end = line_end_around(lines, start)
    written = new_lines[before : len(new_lines) - behind]
    return TextEdit(Span(start, end), "".join(with_prefix(old.prefix, line) + line_end for line in written))


def _without_blanks(span: Span, text: str) -> Span:
    """`span` of `text` without the blanks at both ends."""
    start = span.start + len(text) - len(text.lstrip(_BLANKS))
    return Span(start, max(start, span.start + len(text.rstrip(_BLANKS))))


def _blank_edges(lines: tuple[str, ...]) -> tuple[int, int]:
    """How many blank lines are before and after the text; where there is none, around a new one."""
    blank = [not line.strip(_BLANKS) for line in lines]
    if all(blank):
        return min(len(lines), 1), max(len(lines) - 1, 1) if lines else 0
    return blank.index(False), blank[::-1].index(False)


def _without_blank_edges(lines: tuple[str, ...]) -> tuple[str, ...]:
    if not any(line.strip(_BLANKS) for line in lines):
        return ()
    head, tail = _blank_edges(lines)
    return lines[head : len(lines) - tail]


def _tail(payload: Payload, blank_lines: int) -> list[str]:
    """Blank lines after `payload`: HTML that only a blank line ends would take in what follows."""
    last = payload.tree.roots[-1] if payload.tree.roots else None
    is_open = last is not None and ends_at_blank_line(last, payload.text)
    return [""] * max(blank_lines, int(is_open))


def _marks(start_of_line: str) -> str:
    found = _MARKS.match(start_of_line)
    return found[0] if found else ""
