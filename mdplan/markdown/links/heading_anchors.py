"""Anchors that HTML within a heading names: ``## Odd <a id="notes"></a>``."""

import re
from functools import cache
from typing import Final

from mdplan.markdown.blocks.block import Block
from mdplan.markdown.blocks.heading_source import title_span
from mdplan.markdown.links.targets import attributes_in, with_anchor
from mdplan.markdown.outline.outline import Outline

_ANCHOR_NAMES: Final = frozenset({"id", "name"})


def with_kept_anchors(outline: Outline, heading: Block, title: str) -> str:
    """`title` with the inline anchors of `heading`, each at its side of the text.

    They are ``<a id="…"></a>`` and ``<a name="…"></a>``, also around the text. A `title` with an anchor of
    its own is returned as it is.
    """
    if "<" not in heading.content or with_anchor().search(title):
        return title
    span = title_span(outline.source, heading)
    if span is None:
        return title
    named = [
        attribute.value_span.start
        for attribute in attributes_in(outline, span, with_anchor())
        if attribute.tag == "a" and attribute.name in _ANCHOR_NAMES and span.contains(attribute.value_span)
    ]
    text = outline.text_of(span)
    tags = [
        found
        for found in _anchor_elements().finditer(text)
        if any(found.start("tag") < place - span.start < found.end("tag") for place in named)
    ]
    if len(tags) == 1 and tags[0]["text"].strip() and tags[0].span() == (0, len(text)):
        return f"{tags[0]['tag']}{title}</a>"
    before = "".join(f"{found['tag']}</a>" for found in tags if not text[: found.start()].strip())
    after = "".join(f"{found['tag']}</a>" for found in tags if text[: found.start()].strip())
    # The blank between an anchor and the text is a part of the generated anchor of the heading.
    gap = " " if tags and before and text[tags[0].end() :][:1].isspace() else ""
    return f"{before}{gap}{title}{' ' if after else ''}{after}"


@cache
def _anchor_elements() -> re.Pattern[str]:
    return re.compile(
        r"""(?P<tag><a\b(?:[^<>"']|"[^"]*+"|'[^']*+')*+>)(?P<text>(?:(?!<a\b).)*?)</a[ \t]*>""",
        re.IGNORECASE | re.DOTALL,
    )
