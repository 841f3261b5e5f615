"""Inline nodes as values: what they are and where their parts are."""

import re
from enum import StrEnum
from typing import Final, NamedTuple

from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span
from mdplan.values import Struct

# ``[[page#anchor|text]]``. In a table the pipe has a backslash, which some programs write everywhere.
WIKI_LINK: Final = lazy_pattern(
    r"\[\[(?P<target>[^\s\[\]|\\][^\[\]|\\\r\n]*)(?:\\?\|(?P<text>[^\[\]\r\n]*))?\]\]"
)


class InlineKind(StrEnum):
    """Kinds of inline nodes (CommonMark 0.31.2, section 6; GFM; wiki links as in GitHub's wikis).

    Definitions of links and footnotes are blocks, but their parts have columns as inline nodes have them.
    """

    CODE = "inlineCode"
    LINK = "link"
    IMAGE = "image"
    AUTOLINK = "autolink"
    HTML = "html"
    WIKI_LINK = "wikiLink"
    FOOTNOTE_REFERENCE = "footnoteReference"
    DEFINITION = "definition"
    FOOTNOTE_DEFINITION = "footnoteDefinition"


class InlineNode(Struct, kw_only=True):
    """One inline node.

    All spans are in the source text; one over several lines contains what is before their text, such as
    the marks of a quote. `span` is the whole node with its delimiters; of a footnote definition the mark
    ``[^label]:``, of inline HTML one tag or comment.
    `text` is what a reader sees: link text, alternative text, the inside a code span, the text of a
    wiki link where it has its own.
    `label` is the label of a reference as written, without brackets; that of a collapsed or shortcut
    reference is its text. A link or image with a label has its destination in a definition.
    `destination` is the destination as written, with ``<`` and ``>`` where it has them; those of an
    autolink are its delimiters and not in it. That of a wiki link is the page with its anchor.
    `title` has its quotes.
    `href` is the destination as the parser understood it (escapes and entities resolved).
    """

    kind: InlineKind
    span: Span
    text: Span | None = None
    label: Span | None = None
    destination: Span | None = None
    title: Span | None = None
    href: str = ""


def document_order(node: InlineNode) -> tuple[int, int]:
    """Sort key: nodes in the order of their start, each before those inside it."""
    return (node.span.start, -node.span.end)


# --- Parts of links and definitions that the parser has accepted (CommonMark 0.31.2, sections 4.7, 6.3)

# Blanks with at most one line end, and the marks of containers that the next line begins with.
_BLANK: Final = lazy_pattern(r"[ \t]*(?:(?:\r\n|\r|\n)[ \t>]*)?")
_ANGLE: Final = lazy_pattern(r"<(?:[^<>\\\r\n]|\\.)*>")
_BARE: Final = lazy_pattern(r"[^\x01-\x20]*")

_ESCAPED: Final = lazy_pattern(
    r"\\([!-/:-@\[-`{-~])|&(#[xX][0-9a-fA-F]{1,6}|#[0-9]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});"
)

_TITLE_ENDS: Final = {'"': '"', "'": "'", "(": ")"}
_LABEL_SPACE: Final = lazy_pattern(r"[ \t\r\n\v\f]+")
_LAST_CODE_POINT: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)


class LinkParts(NamedTuple):
    """Destination and title as written, and the destination without escapes and character references."""

    destination: Span
    title: Span | None
    href: str


def link_target(text: str, start: int, end: int) -> LinkParts | None:
    """Return the destination and title in `text` between the offsets `start` and `end`.

    None where there is something else.
    """
    at = _behind_blank(text, start, end)
    written = _ANGLE.match(text, at, end) if text.startswith("<", at, end) else _BARE.match(text, at, end)
    if written is None:
        return None
    destination = Span(at, written.end())
    href = unescape(written[0][1:-1] if written[0].startswith("<") else written[0]).replace("\0", "\ufffd")
    at = _behind_blank(text, destination.end, end)
    if at >= end:
        return LinkParts(destination, None, href)
    closing = _TITLE_ENDS.get(text[at])
    last = text.rfind(closing, at + 1, end) if closing and at > destination.end else -1
    if last < 0 or text[last + 1 : end].strip(" \t\r\n>"):
        return None
    return LinkParts(destination, Span(at, last + 1), href)


def normalized_label(label: str) -> str:
    """Return `label` in the form in which labels are compared (CommonMark 0.31.2, section 4.7)."""
    return _LABEL_SPACE.sub(" ", label).strip(" ").lower().upper()


def unescape(written: str) -> str:
    """Return the destination or title that is `written` so, without escapes and character references."""
    return _ESCAPED.sub(_meaning, written) if "\\" in written or "&" in written else written


def _meaning(match: re.Match[str]) -> str:
    escaped, reference = match.groups()
    if escaped is not None:
        return escaped
    if reference.startswith("#"):
        digits = reference[1:]
        number = int(digits[1:], 16) if digits[0] in "xX" else int(digits)
        is_valid = 0 < number <= _LAST_CODE_POINT and number not in _SURROGATES
        return chr(number) if is_valid else "\ufffd"
    # The names of all characters take a while to load.
    from html.entities import html5

    return html5.get(f"{reference};", match[0])


def _behind_blank(text: str, at: int, end: int) -> int:
    blank = _BLANK.match(text, at, end)
    return blank.end() if blank else at
