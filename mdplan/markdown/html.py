"""Read HTML attributes and their offsets; render untrusted Markdown as inert HTML."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from mdplan.markdown.reference_parser import SAFE_NESTING, inert_parser
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span
from mdplan.text.visible import escaped
from mdplan.values import Struct

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


# Atomic groups: an unclosed tag costs only its length.
_OPENING: Final = lazy_pattern(
    r"""
    <(?:
        (?P<opaque>!--|!\[CDATA\[|\?)
      | (?P<tag>[A-Za-z][A-Za-z0-9-]*)
        (?P<attributes>(?>\s+[A-Za-z_:][\w:.-]*(?>\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?)*)
        \s*/?>
    )
    """,
    re.VERBOSE,
)

_ATTRIBUTE: Final = lazy_pattern(
    r"""(?P<name>[A-Za-z_:][\w:.-]*)\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s"'=<>`]+))"""
)

# Openings of regions without tags, and their ends.
_OPAQUE_ENDS: Final = {"!--": "-->", "![CDATA[": "]]>", "?": "?>"}

_RAW_TEXT_ENDS: Final = {
    tag: lazy_pattern(rf"</{tag}\s*>", re.IGNORECASE) for tag in ("script", "style", "textarea", "title")
}


class HtmlAttribute(Struct, kw_only=True):
    """An attribute with a value; `tag` and `name` in lower case, `value` with entities decoded.

    `value_span` is the value as written, without quotes, in the searched text.
    """

    tag: str
    name: str
    value: str
    value_span: Span


def unescaped(written: str) -> str:
    """Decode the character references in an attribute value."""
    if "&" not in written:
        return written
    # The table of character names loads slowly.
    from html import unescape

    return unescape(written)


def html_attributes(text: str, span: Span) -> Iterator[HtmlAttribute]:
    """Yield the attributes with values of all opening tags in `span`, in order.

    Works for one inline tag and for a whole HTML block: comments, CDATA, processing instructions, scripts and
    styles contain no tags (HTML standard, section 13.1).
    """
    at = span.start
    while opening := _OPENING.search(text, at, span.end):
        at = opening.end()
        if opening["opaque"]:
            ending = _OPAQUE_ENDS[opening["opaque"]]
            end = text.find(ending, at, span.end)
            if end < 0:
                return
            at = end + len(ending)
            continue
        tag = opening["tag"].lower()
        for match in _ATTRIBUTE.finditer(text, *opening.span("attributes")):
            group = match.lastgroup or "bare"
            yield HtmlAttribute(
                tag=tag,
                name=match["name"].lower(),
                value=unescaped(match[group]),
                value_span=Span(*match.span(group)),
            )
        if tag in _RAW_TEXT_ENDS:
            closing = _RAW_TEXT_ENDS[tag].search(text, at, span.end)
            if closing is None:
                return
            at = closing.end()


# --- Untrusted Markdown as inert HTML for display
#
# It has no tags, links, images or attributes from its author: tags show as text, links as marked text, images
# as their alternative text.

_CLASSES: Final = {
    "blockquote": "md-quote",
    "table": "md-table",
    **{f"h{level}": f"md-heading md-h{level}" for level in range(1, 7)},
}


def safe_html(text: str) -> str | None:
    """Render `text` (valid Unicode, any newlines) as inert HTML; None if it is nested too deep.

    Bidirectional and other hidden characters show as escapes. Headings become styled paragraphs, so that they
    stay out of the outline of the page.
    """
    lines = escaped(text.replace("\r\n", "\n").replace("\r", "\n"))
    parser = _inert_parser()
    environment: dict[str, object] = {}
    try:
        tokens = parser.parse(lines, environment)
        _disarm(tokens)
        html: str = parser.renderer.render(tokens, parser.options, environment)
    except RecursionError:
        return None
    return html


@cache
def _inert_parser() -> "MarkdownIt":
    return inert_parser(SAFE_NESTING)


def _disarm(tokens: "Sequence[Token]") -> None:
    """Remove links and all author-controlled attributes from `tokens`."""
    for token in tokens:
        start = token.attrs.get("start") if token.type == "ordered_list_open" else None
        token.attrs = {} if start is None else {"start": start}
        if token.type == "image":
            # Otherwise the renderer would create an image; its children hold the text.
            token.type, token.tag, token.children = "text", "", None
            token.content = f"[image: {token.content}]"
        elif token.type in {"link_open", "link_close"}:
            token.tag = "span"
            token.attrs = {"class": "md-link"} if token.nesting > 0 else {}
        elif token.type == "fence":
            token.info = ""
        elif token.nesting and (name := _CLASSES.get(token.tag)) is not None:
            token.attrs = {"class": name} if token.nesting > 0 else {}
            token.tag = "p" if token.type.startswith("heading") else token.tag
        if token.children:
            _disarm(token.children)
