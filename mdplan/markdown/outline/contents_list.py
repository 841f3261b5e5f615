"""The outline of a document as a list of links to its headings, in the form of the list that is there."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mdplan.markdown.blocks.heading_attributes import without_attributes
from mdplan.markdown.blocks.rendered_text import heading_title, render_text
from mdplan.markdown.inline.inline_node import InlineKind, InlineNode
from mdplan.markdown.outline.heading_path import MAX_LEVEL
from mdplan.markdown.outline.outline import Outline
from mdplan.markdown.outline.section import Section

_MARKUP: Final = re.compile(r"[\\`*_~\[\]<!]|&(?=#?\w+;)")
# A link in a link: what the parser makes of it others do not.
_AUTOLINK: Final = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:|<[^\s<>]+@")
_LINE_END: Final = re.compile(r"[ \t]*\n[ \t]*")
_ITEM: Final = re.compile(r"(?P<indent>[ \t]*)(?P<bullet>[-*+]|\d+[.)])[ \t]")
_ANCHOR: Final = re.compile(r"\]\(<?#([^)>\s]*)>?\)")
# How tools are told to leave a heading out: doctoc and markdown-toc, VS Code, AlanWalk's, Kramdown's themes.
_OMITTED: Final = re.compile(
    r"<!--[ \t]*(?:omit (?:in|from) toc|TOC ignore:true)[ \t]*-->|\{:[^}\n]*\.no_toc\b", re.IGNORECASE
)
_COMMENT: Final = re.compile(r"[ \t]*<!--.*?-->")
_ESCAPE: Final = re.compile(r"\\[!-/:-@\[-`{-~]")
_BRACKET: Final = re.compile(r"(?<!\\)((?:\\\\)*)([\[\]])")
_FEWEST: Final = 2


@dataclass(frozen=True, slots=True)
class ContentsForm:
    """How contents are written: the `bullet` of every item, the `indent` of a level, the levels listed."""

    bullet: str
    indent: str
    min_level: int
    max_level: int


def form_of(outline: Outline, old: str, sections: Sequence[Section]) -> ContentsForm:
    """The form of the contents `old`, which list `sections`; where they do not show it, the usual one.

    Where they link to two headings or more, levels are those of the headings that they link to. Else they
    begin with level 1 if several headings have it, and end with the deepest that there is.
    """
    items = [item for line in old.split("\n") if (item := _ITEM.match(line))]
    listed = [anchor for item in items for anchor in _ANCHOR.findall(item.string)[-1:]]
    by_anchor = {section.anchor: section for section in sections if section.anchor}
    linked = [by_anchor[anchor].level for anchor in listed if anchor in by_anchor]
    titles = sum(section.level == 1 for section in sections)
    bullet = items[0]["bullet"] if items else "-"
    bullet = "1." if bullet[0].isdigit() else bullet
    indents = [item["indent"] for item in items if item["indent"]]
    indent = min(indents, key=len) if indents and not items[0]["indent"] else " " * (len(bullet) + 1)
    if len(linked) < _FEWEST:
        return ContentsForm(bullet, indent, 1 if titles > 1 else 2, MAX_LEVEL)
    is_cut = any(
        each.level > max(linked) and each.anchor not in listed and not is_omitted(outline, each)
        for each in sections
    )
    return ContentsForm(bullet, indent, min(linked), max(linked) if is_cut else MAX_LEVEL)


def is_omitted(outline: Outline, section: Section) -> bool:
    """Whether a comment or a class tells tools to leave the heading of `section` out of contents."""
    lines = outline.source.lines
    last = lines.line_at(max(section.body.start - 1, section.heading_start))
    text = "\n".join(lines.content(line) for line in range(section.heading_line, last + 1))
    above = lines.content(section.heading_line - 1) if section.heading_line > 1 else ""
    return _OMITTED.search(text) is not None or _OMITTED.fullmatch(above.strip()) is not None


def head_of(old: str) -> str:
    """What is above the first item of the contents `old`: a title, comments; without items the comments."""
    head: list[str] = []
    lines = old.split("\n")
    has_items = any(map(_ITEM.match, lines))
    for line in lines:
        if _ITEM.match(line) or not (has_items or _COMMENT.fullmatch(line)):
            break
        head.append(line + "\n")
    return "".join(head)


def contents_list(outline: Outline, sections: Iterable[Section], form: ContentsForm) -> str:
    """One item for each of `sections` that has an anchor, below that of its parent; lines end in LF.

    Its text is that of the heading as written, where that is the same inside a link; else what a reader
    sees of it, with escapes.
    """
    return "\n".join(_items(outline, sections, form))


def _items(outline: Outline, sections: Iterable[Section], form: ContentsForm) -> Iterator[str]:
    open_levels: list[int] = []
    for section in sections:
        if section.heading is None or not section.anchor:
            continue
        while open_levels and open_levels[-1] >= section.level:
            open_levels.pop()
        depth = len(open_levels)
        open_levels.append(section.level)
        content = _COMMENT.sub("", without_attributes(section.heading.content))
        links = _links(outline, section)
        text = _text(content, has_link=bool(links))
        if links and (plain := _without_links(outline, links, content)) is not None:
            text = _text(plain, has_link=False)
        yield f"{form.indent * depth}{form.bullet} [{text}](#{section.anchor})"


def _links(outline: Outline, section: Section) -> list[InlineNode]:
    """The links and images of the heading of `section`."""
    assert section.heading is not None
    if "[" not in section.heading.content:
        return []
    nodes = outline.inline.nodes_in(section.heading.span)
    return [node for node in nodes if node.kind in {InlineKind.LINK, InlineKind.IMAGE}]


def _without_links(outline: Outline, links: Sequence[InlineNode], content: str) -> str | None:
    """The raw inline text `content` of a heading with the texts of its `links` in place of these.

    Other brackets stay. None where one is an image, or the heading has several lines.
    """
    for node in links:
        written = outline.text_of(node.span)
        if node.kind is InlineKind.IMAGE or node.text is None or written not in content:
            return None
        content = content.replace(written, outline.text_of(node.text), 1)
    return content


def _text(content: str, *, has_link: bool) -> str:
    written = _LINE_END.sub(" ", content.strip())
    if not _MARKUP.search(written):
        return written
    if not has_link and _are_balanced(written) and not _AUTOLINK.search(written):
        return written
    if not has_link and "`" not in written:
        # Else what reads the text without the definitions of its document takes them for links.
        content = _BRACKET.sub(r"\1\\\2", written)
    if not _AUTOLINK.search(written) and render_text(f"[{written}](#)") == render_text(written):
        return written
    return _MARKUP.sub(r"\\\g<0>", heading_title(content))


def _are_balanced(text: str) -> bool:
    """Whether `text` can be that of a link, all its brackets being text."""
    # In code a backslash escapes nothing.
    text = text if "`" in text else _ESCAPE.sub("", text)
    if "\\" in text or "<" in text:
        return False
    depth = 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if depth < 0:
            return False
    return not depth and "[" in text
