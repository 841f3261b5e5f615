"""The outline of a document as a list of links to its headings."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from mdplan.markdown.blocks.heading_attributes import without_attributes
from mdplan.markdown.blocks.rendered_text import heading_title, render_text
from mdplan.markdown.outline.section import Section

_MARKUP: Final = re.compile(r"[\\`*_~\[\]<!]|&(?=#?\w+;)")
# A link in a link: what the parser makes of it others do not.
_AUTOLINK: Final = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:|<[^\s<>]+@")
_LINE_END: Final = re.compile(r"[ \t]*\n[ \t]*")


def contents_list(sections: Iterable[Section], bullet: str) -> str:
    """One item for each of `sections` that has an anchor, below that of its parent; lines end in LF.

    Its text is that of the heading as written, where that is the same inside of a link; else what a reader
    sees of it, with escapes. `bullet` is the marker of every item.
    """
    return "\n".join(_items(sections, bullet))


def _items(sections: Iterable[Section], bullet: str) -> Iterator[str]:
    indent = " " * (len(bullet) + 1)
    open_levels: list[int] = []
    for section in sections:
        if section.heading is None or not section.anchor:
            continue
        while open_levels and open_levels[-1] >= section.level:
            open_levels.pop()
        depth = len(open_levels)
        open_levels.append(section.level)
        text = _text(without_attributes(section.heading.content))
        yield f"{indent * depth}{bullet} [{text}](#{section.anchor})"


def _text(content: str) -> str:
    written = _LINE_END.sub(" ", content.strip())
    if not _MARKUP.search(written):
        return written
    if not _AUTOLINK.search(written) and render_text(f"[{written}](#)") == render_text(written):
        return written
    return _MARKUP.sub(r"\\\g<0>", heading_title(content))
