"""Attributes of HTML tags with their places: ids and names are anchors, references are links."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mdplan.text.lines import Span

# The groups are atomic, so that a tag without an end costs no more than its length.
_OPENING: Final = re.compile(
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
_ATTRIBUTE: Final = re.compile(
    r"""(?P<name>[A-Za-z_:][\w:.-]*)\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s"'=<>`]+))"""
)
# Where nothing is a tag, and what ends it.
_OPAQUE_ENDS: Final = {"!--": "-->", "![CDATA[": "]]>", "?": "?>"}
_RAW_TEXT_ENDS: Final = {
    tag: re.compile(rf"</{tag}\s*>", re.IGNORECASE) for tag in ("script", "style", "textarea", "title")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlAttribute:
    """One attribute with a value. `tag` and `name` are in lower case, `value` is without entities.

    `value_span` is the value as written, without quotes, in the text that was searched.
    """

    tag: str
    name: str
    value: str
    value_span: Span


def unescaped(written: str) -> str:
    """The value of an attribute that is `written` so: with its character references read."""
    if "&" not in written:
        return written
    # The names of all characters take a while to load.
    from html import unescape

    return unescape(written)


def html_attributes(text: str, span: Span) -> tuple[HtmlAttribute, ...]:
    """Attributes with values of all opening tags in `span` of `text`, in order.

    For one inline tag as for a whole HTML block: comments, CDATA, instructions and the insides of scripts
    and styles hold no tags (HTML standard, section 13.1).
    """
    return tuple(_attributes(text, span))


def _attributes(text: str, span: Span) -> Iterator[HtmlAttribute]:
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
