"""Inline nodes as values, and the syntax of their parts."""

import re
from enum import StrEnum
from typing import Final, NamedTuple

from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span
from mdplan.values import Struct

# ``[[page#anchor|text]]``. In a table the pipe is escaped, and some programs always escape it.
WIKI_LINK: Final = lazy_pattern(
    r"\[\[(?P<target>[^\s\[\]|\\][^\[\]|\\\r\n]*)(?:\\?\|(?P<text>[^\[\]\r\n]*))?\]\]"
)


class InlineKind(StrEnum):
    """Kinds of inline nodes (CommonMark 0.31.2, section 6; GFM; wiki links as in GitHub's wikis).

    Link and footnote definitions are blocks, but their parts have columns like inline nodes.
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
    """An inline node.

    Spans are in the source text; those over several lines include container prefixes.
    - `span`: the node with its delimiters; ``[^label]:`` of a footnote definition, one HTML tag or comment.
    - `text`: the visible part: link text, alternative text, code, the alias of a wiki link.
    - `label`: a reference label as written, without brackets; the text of a collapsed or shortcut reference.
    - `destination`: as written, including ``<`` and ``>`` except of an autolink; None if a label refers to
      it. For a wiki link, page and anchor.
    - `title`: with quotes.
    - `href`: the destination with escapes and entities resolved.
    """

    kind: InlineKind
    span: Span
    text: Span | None = None
    label: Span | None = None
    destination: Span | None = None
    title: Span | None = None
    href: str = ""

    @property
    def outside_of_text(self) -> tuple[Span, ...]:
        """What of it is no plain text: all of it, or all but the text of a link or an image."""
        if self.kind in {InlineKind.LINK, InlineKind.IMAGE} and self.text is not None:
            return Span(self.span.start, self.text.start), Span(self.text.end, self.span.end)
        return (self.span,)


def document_order(node: InlineNode) -> tuple[int, int]:
    """Sort key for document order, parents before children."""
    return (node.span.start, -node.span.end)


# --- Parts of links and definitions that the parser has accepted (CommonMark 0.31.2, sections 4.7, 6.3)

# Spaces with at most one newline, and the container prefix of the next line.
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
    """Destination and title as written, and the destination with escapes and references resolved."""

    destination: Span
    title: Span | None
    href: str


def link_target(text: str, start: int, end: int) -> LinkParts | None:
    """Return the destination and title in `text[start:end]`, or None if there is anything else."""
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
    """Return `label` normalized for comparison (CommonMark 0.31.2, section 4.7)."""
    return _LABEL_SPACE.sub(" ", label).strip(" ").lower().upper()


def unescape(written: str) -> str:
    """Resolve escapes and character references in a destination or title."""
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
    # The table of character names loads slowly.
    from html.entities import html5

    return html5.get(f"{reference};", match[0])


def _behind_blank(text: str, at: int, end: int) -> int:
    blank = _BLANK.match(text, at, end)
    return blank.end() if blank else at
