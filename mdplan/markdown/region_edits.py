"""Edits of regions and tables of contents.

A region is the text between two marker comments, which stay.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from mdplan.markdown.addresses import MAX_LEVEL
from mdplan.markdown.block_edits import BlockChange, BlockEditor, placed_leaf
from mdplan.markdown.block_tree import ends_at_blank_line
from mdplan.markdown.blocks import BlockKind
from mdplan.markdown.enclosures import Region
from mdplan.markdown.headings import heading_title, render_text, title_span
from mdplan.markdown.html import unescaped
from mdplan.markdown.inline_node import InlineKind, InlineNode
from mdplan.markdown.links import target_key
from mdplan.markdown.outline import Outline
from mdplan.markdown.parser import without_attributes
from mdplan.markdown.payload import Payload
from mdplan.markdown.sections import Section
from mdplan.markdown.tables import prefix_after, with_prefix, without_prefix
from mdplan.text.edit import TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span, common_edges, line_end_around, lines_of, text_range, to_lf
from mdplan.values import Struct, field

_BLANKS: Final = " \t"
_BEFORE_BLOCK: Final = lazy_pattern(r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*")


class RegionText(Struct, kw_only=True):
    """The text of a region.

    - `lines`: the whole lines between the marker lines, without the container `prefix`; None if text shares a
      line with a marker.
    - `is_alone`: the lines hold only the region and its markers.
    - `content`: the text without surrounding blank lines; within a line, stripped.
    """

    region: Region
    prefix: str
    lines: tuple[str, ...] | None
    is_alone: bool
    content: str


def read_region(outline: Outline, region: Region) -> RegionText | None:
    """Return the text of `region`; None if its markers are in different containers."""
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
        content = "\n".join(lines[at] for at in text_range(lines, _BLANKS))
    else:
        inside = lines_of(to_lf(outline.text_of(region.inside)))
        content = "\n".join([*inside[:1], *(without_prefix(prefix, line) for line in inside[1:])])
        content = content.strip(_BLANKS + "\n")
    leaf = outline.tree.leaf_at(region.start.span.start)
    after = text[region.end.span.end : table.content_end(last)]
    return RegionText(
        region=region,
        prefix=prefix,
        lines=lines,
        is_alone=leaf is not None
        and leaf.kind is BlockKind.HTML
        and _BEFORE_BLOCK.fullmatch(before) is not None
        and not after.strip(_BLANKS),
        content=content,
    )


def replace_region_text(outline: Outline, old: RegionText, payload: Payload) -> TextEdit | None:
    """Return the edit that replaces the region's text by `payload`, or None if impossible.

    The number of blank lines next to the markers stays. A region within a line takes one line; several lines
    require that nothing else is on its line.
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
    """Return the edit of a multi-line region; equal lines at both ends stay untouched."""
    head, tail = _blank_edges(old_lines)
    new_lines = lines_of(payload.text)
    if new_lines:
        new_lines = [*[""] * head, *new_lines, *_tail(payload, tail)]
    prefix, suffix = common_edges(old_lines, new_lines)
    lines = outline.source.lines
    start = lines.start(old.region.start.line + 1 + prefix)
    end = lines.start(old.region.end.line - suffix)
    line_end = line_end_around(lines, start)
    changed = new_lines[prefix : len(new_lines) - suffix]
    return TextEdit(Span(start, end), "".join(with_prefix(old.prefix, line) + line_end for line in changed))


def _without_blanks(span: Span, text: str) -> Span:
    """Return `span` of `text` without spaces at both ends."""
    start = span.start + len(text) - len(text.lstrip(_BLANKS))
    return Span(start, max(start, span.start + len(text.rstrip(_BLANKS))))


def _blank_edges(lines: tuple[str, ...]) -> tuple[int, int]:
    """Return the numbers of blank lines before and after the text, or for new text if empty."""
    text = text_range(lines, _BLANKS)
    if not text:
        return min(len(lines), 1), max(len(lines) - 1, 1) if lines else 0
    return text.start, len(lines) - text.stop


def _tail(payload: Payload, blank_lines: int) -> list[str]:
    """Return the blank lines after `payload`: some HTML needs one to end."""
    last = payload.tree.roots[-1] if payload.tree.roots else None
    is_open = last is not None and ends_at_blank_line(last, payload.text)
    return [""] * max(blank_lines, int(is_open))


def _marks(start_of_line: str) -> str:
    return start_of_line[: len(start_of_line) - len(start_of_line.lstrip(" \t>"))]


def delete_region(outline: Outline, old: RegionText) -> BlockChange:
    """Return the deletion of a region with its markers.

    Raise OUTLINE_CHANGED if adjacent blocks would change.
    """
    text, region = outline.source.text, old.region
    first, last = (placed_leaf(outline, marker.span.start) for marker in (region.start, region.end))
    is_apart = (
        first is not None
        and last is not None
        and (first.block.kind, last.block.kind) == (BlockKind.HTML, BlockKind.HTML)
        and _BEFORE_BLOCK.fullmatch(text, first.block.span.start, region.start.span.start) is not None
        and not text[region.end.span.end : last.block.span.end].strip()
    )
    if first is not None and last is not None and is_apart:
        return BlockEditor(first, last).delete()[0]
    start, end = region.start.span.start, region.end.span.end
    behind = text[end : end + 1]
    if start == 0 or text[start - 1] in " \t\r\n|":
        end += behind in _BLANKS and bool(behind)
    if start and text[start - 1] in _BLANKS and (not behind or behind in "\r\n"):
        start = len(text[:start].rstrip(_BLANKS))
    return BlockChange(edits=(TextEdit.delete(Span(start, end)),))


# --- Tables of contents: lists of links to headings, in the style of the old list

_MARKUP: Final = lazy_pattern(r"[\\`*_~\[\]<!]|&(?=#?\w+;)")

# A link within a link: parsers disagree about it.
_AUTOLINK: Final = lazy_pattern(r"<[A-Za-z][A-Za-z0-9+.-]*:|<[^\s<>]+@")
_LINE_END: Final = lazy_pattern(r"[ \t]*\n[ \t]*")
_ITEM: Final = lazy_pattern(
    r"(?P<start>(?P<indent>[ \t]*)(?P<bullet>[-*+]|(?P<number>\d+)[.)])[ \t]+)"
    r"(?P<entry>\[(?P<text>.*)\]\(<?#(?P<anchor>[^)>\s]*)>?\))?"
)

# Markers that exclude a heading: doctoc and markdown-toc, VS Code, AlanWalk's, Kramdown's themes.
_OMITTED: Final = lazy_pattern(
    r"<!--[ \t]*(?:omit (?:in|from) toc|TOC ignore:true)[ \t]*-->|\{:[^}\n]*\.no_toc\b", re.IGNORECASE
)

_COMMENT: Final = lazy_pattern(r"[ \t]*<!--.*?-->")
_NO_TEXT: Final = lazy_pattern(r"<!--|</?a\b|<[^>]*\s(?:id|name)\s*=", re.IGNORECASE)
_TAG: Final = lazy_pattern(r"</?[A-Za-z][^<>]*>")
_TAG_NAME: Final = lazy_pattern(r"^<([A-Za-z][\w-]*)")
_NUMBER: Final = lazy_pattern(r"\d+")
_ESCAPE: Final = lazy_pattern(r"\\[!-/:-@\[-`{-~]")
_BRACKET: Final = lazy_pattern(r"(?<!\\)((?:\\\\)*)([\[\]])")
_FEWEST: Final = 2


class ContentsForm(Struct):
    """The style of a table of contents: `bullet`, `indent` per level, and the levels listed.

    - `listed`: anchors that the old list links to, as `target_key`s.
    - `entries`: old entries whose text matches their heading.
    - `starts`: the text before entries, by list depth or (`by_level`) heading level.
    - `is_counted`: entries have ascending numbers.
    """

    bullet: str
    indent: str
    min_level: int
    max_level: int
    listed: frozenset[str]
    entries: Mapping[str, str]
    is_counted: bool
    by_level: bool = False
    starts: Mapping[int, str] = field(default_factory=dict)

    def start(self, depth: int, level: int, number: int) -> str:
        """Return the text before the entry of the `number`-th heading of `level` at list `depth`."""
        steps = level - self.min_level if self.by_level else depth
        start = self.starts.get(level if self.by_level else depth) or f"{self.indent * steps}{self.bullet} "
        return _NUMBER.sub(str(number), start) if self.is_counted else start


def form_of(outline: Outline, old: str, sections: Sequence[Section]) -> ContentsForm:
    """Return the style of the contents `old`, which list `sections`; the default if it is not evident.

    If it links to at least two headings, their levels apply; else all levels, except a level 1 that only the
    title has.
    """
    items = [item for line in old.split("\n") if (item := _ITEM.match(line))]
    by_anchor = {target_key(section.anchor): section for section in sections if section.anchor}
    listed = [
        (section, item)
        for item in items
        if item["entry"] and (section := by_anchor.get(target_key(item["anchor"]))) is not None
    ]
    levels = [section.level for section, _ in listed]
    bullet = items[0]["bullet"] if items else "-"
    is_counted = any(int(item["number"] or 1) > 1 for item in items)
    bullet = "1." if bullet[0].isdigit() else bullet
    indents = [item["indent"] for item in items if item["indent"]]
    indent = min(indents, key=len) if indents and not items[0]["indent"] else " " * (len(bullet) + 1)
    entries = {
        target_key(item["anchor"]): item["entry"] for section, item in listed if _says(item["text"], section)
    }
    keys = frozenset(target_key(item["anchor"]) for _, item in listed)
    if len(listed) < _FEWEST:
        lowest = 2 if _has_title(outline) and 1 not in levels else 1
        return ContentsForm(bullet, indent, lowest, MAX_LEVEL, keys, entries, is_counted)
    is_cut = any(
        section.level > max(levels)
        and not section.nested
        and target_key(section.anchor or "") not in keys
        and not is_omitted(outline, section)
        for section in sections
    )
    by_level, starts = _starts_of(listed, min(len(item["indent"]) for item in items))
    if by_level:
        indent = indent[: len(indent) // (sorted(starts)[1] - min(starts))]
    deepest = max(levels) if is_cut else MAX_LEVEL
    return ContentsForm(bullet, indent, min(levels), deepest, keys, entries, is_counted, by_level, starts)


def _has_title(outline: Outline) -> bool:
    """Return True if the first heading, Markdown or HTML, is the only one at level 1."""
    every = sorted(
        (*outline.sections[1:], *outline.sections_in_html()), key=lambda section: section.heading_start
    )
    return [section for section in every if section.level == 1] == every[:1]


def _starts_of(listed: Sequence[tuple[Section, re.Match[str]]], indent: int) -> tuple[bool, dict[int, str]]:
    """Return the usual start of entries by depth, or by level if that fits better.

    Return no starts if the indentation contradicts the levels, because the headings changed.
    """
    by_depth, by_level = defaultdict[int, Counter[str]](Counter), defaultdict[int, Counter[str]](Counter)
    open_levels: list[int] = []
    for section, item in listed:
        while open_levels and open_levels[-1] >= section.level:
            open_levels.pop()
        start = _NUMBER.sub("1", item["start"])
        by_depth[len(open_levels)][start] += 1
        by_level[section.level][start] += 1
        open_levels.append(section.level)
    fitting = [sum(max(counts.values()) for counts in by.values()) for by in (by_depth, by_level)]
    is_by_level = fitting[1] > fitting[0]
    chosen = by_level if is_by_level else by_depth
    starts = {key: chosen[key].most_common(1)[0][0] for key in sorted(chosen)}
    widths = [len(start) - len(start.lstrip(_BLANKS)) for start in starts.values()]
    if widths[0] != indent or any(below <= above for above, below in pairwise(widths)):
        return False, {}
    return is_by_level, starts


def _says(text: str, section: Section) -> bool:
    """Return True if `text` is valid link text and reads like the heading of `section`.

    Some tools write the heading as HTML.
    """
    if _NO_TEXT.search(text) or _AUTOLINK.search(text) or "[^" in text:
        return False
    plain = _TAG.sub("", text)
    is_html = plain != text and "](" not in text and _are_balanced(plain)
    if "[" in text and not is_html and render_text(f"[{text}](#)") != render_text(text):
        return False
    return section.title in (heading_title(text), " ".join(unescaped(plain).split()))


def is_omitted(outline: Outline, section: Section) -> bool:
    """Return True if a comment or class excludes the heading of `section` from contents."""
    lines = outline.source.lines
    last = lines.line_at(max(section.body.start - 1, section.heading_start))
    text = "\n".join(lines.content(line) for line in range(section.heading_line, last + 1))
    above = lines.content(section.heading_line - 1) if section.heading_line > 1 else ""
    return _OMITTED.search(text) is not None or _OMITTED.fullmatch(above.strip()) is not None


def head_of(old: str) -> str:
    """Return the text above the first item of the contents `old`, or its leading comments."""
    head: list[str] = []
    lines = old.split("\n")
    has_items = any(map(_ITEM.match, lines))
    for line in lines:
        if _ITEM.match(line) or not (has_items or _COMMENT.fullmatch(line)):
            break
        head.append(line + "\n")
    return "".join(head)


def contents_list(outline: Outline, sections: Iterable[Section], form: ContentsForm) -> str:
    """Return a nested list with one item per section that has an anchor, with LF newlines.

    The text is the heading's source if it means the same in a link, else its rendered text, escaped.
    Equivalent old entries stay.
    """
    items: list[str] = []
    open_levels: list[int] = []
    numbers = [0] * (MAX_LEVEL + 1)
    for section in sections:
        if not section.anchor:
            continue
        while open_levels and open_levels[-1] >= section.level:
            open_levels.pop()
        depth = len(open_levels)
        open_levels.append(section.level)
        numbers[depth:] = [numbers[depth] + 1, *[0] * (MAX_LEVEL - depth)]
        entry = form.entries.get(target_key(section.anchor))
        entry = entry or f"[{_entry_text(outline, section)}](#{section.anchor})"
        items.append(form.start(depth, section.level, numbers[depth]) + entry)
    return "\n".join(items)


def _entry_text(outline: Outline, section: Section) -> str:
    """Return the heading text of `section` without anchors and markup that links may not contain."""
    heading = section.heading
    if heading is None:
        return _MARKUP.sub(r"\\\g<0>", section.title)
    content = without_attributes(heading.content)
    nodes = outline.inline.nodes_in(heading.span) if "[" in content or "<" in content else ()
    has_image = any(node.kind is InlineKind.IMAGE for node in nodes)
    span = title_span(outline.source, heading)
    if span is None or outline.text_of(span) != heading.content:
        has_link = has_image or any(node.kind is InlineKind.LINK for node in nodes)
        return _text(_COMMENT.sub("", content), has_link=has_link)
    at, end, kept = span.start, span.start + len(content), ""
    for cut in _left_out(outline, nodes, has_image=has_image):
        kept += outline.text_of(Span(at, max(cut.start, at)))
        at = max(cut.end, at)
        if outline.text_of(Span(at, end))[:1] in ("", " ", "\t"):
            kept = kept.rstrip(_BLANKS)
    return _text(kept + outline.text_of(Span(at, max(end, at))), has_link=has_image)


def _left_out(outline: Outline, nodes: Iterable[InlineNode], *, has_image: bool) -> list[Span]:
    """Return the spans of comments, footnotes, anchors and links in a heading, which contents omit."""
    spans: list[Span] = []
    named: list[str] = []
    for node in nodes:
        tag = outline.text_of(node.span) if node.kind is InlineKind.HTML else ""
        if node.kind is InlineKind.FOOTNOTE_REFERENCE or (
            tag and (_NO_TEXT.match(tag) or tag[2:-1] in named)
        ):
            spans.append(node.span)
            named += _TAG_NAME.findall(tag)
        elif node.kind is InlineKind.LINK and node.text is not None and not has_image:
            spans += (Span(node.span.start, node.text.start), Span(node.text.end, node.span.end))
    return sorted(spans)


def _text(content: str, *, has_link: bool) -> str:
    written = _LINE_END.sub(" ", content.strip())
    if not _MARKUP.search(written):
        return written
    if not has_link and _are_balanced(written) and not _AUTOLINK.search(written):
        return written
    if not has_link and "`" not in written:
        # Else a reader without the document's definitions would see links here.
        content = _BRACKET.sub(r"\1\\\2", written)
    if not _AUTOLINK.search(written) and render_text(f"[{written}](#)") == render_text(written):
        return written
    return _MARKUP.sub(r"\\\g<0>", heading_title(content))


def _are_balanced(text: str) -> bool:
    """Return True if the brackets in `text` are balanced text, so that it fits in a link."""
    # Backslashes in code escape nothing.
    text = text if "`" in text else _ESCAPE.sub("", text)
    if "\\" in text or "<" in text:
        return False
    depth = 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if depth < 0:
            return False
    return not depth and "[" in text
