"""Parts of links and definitions that the parser has accepted (CommonMark 0.31.2, sections 4.7 and 6.3)."""

import re
from typing import Final, NamedTuple

from mdplan.text.lines import Span

# Blanks with at most one line end, and the marks of containers that the next line begins with.
_BLANK: Final = re.compile(r"[ \t]*(?:(?:\r\n|\r|\n)[ \t>]*)?")
_ANGLE: Final = re.compile(r"<(?:[^<>\\\r\n]|\\.)*>")
_BARE: Final = re.compile(r"[^\x01-\x20]*")
_ESCAPED: Final = re.compile(
    r"\\([!-/:-@\[-`{-~])|&(#[xX][0-9a-fA-F]{1,6}|#[0-9]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});"
)
_TITLE_ENDS: Final = {'"': '"', "'": "'", "(": ")"}
_LABEL_SPACE: Final = re.compile(r"[ \t\r\n\v\f]+")
_LAST_CODE_POINT: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)


class LinkParts(NamedTuple):
    """Destination and title as written, and the destination without escapes and character references."""

    destination: Span
    title: Span | None
    href: str


def link_target(text: str, start: int, end: int) -> LinkParts | None:
    """Destination and title in `text` between the offsets `start` and `end`.

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
    """`label` in the form in which labels are compared (CommonMark 0.31.2, section 4.7)."""
    return _LABEL_SPACE.sub(" ", label).strip(" ").lower().upper()


def unescape(written: str) -> str:
    """The destination or title that is `written` so, without escapes and character references."""
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
