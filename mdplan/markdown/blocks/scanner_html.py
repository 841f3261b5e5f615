"""Start and end of HTML blocks (CommonMark 0.31.2, section 4.6)."""

import re
from typing import Final

_NAMES: Final = (
    "address article aside base basefont blockquote body caption center col colgroup dd details dialog dir "
    "div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html "
    "iframe legend li link main menu menuitem nav noframes ol optgroup option p param search section summary "
    "table tbody td tfoot th thead title tr track ul"
)
# Kinds 1 to 5 end with the line that holds their ending.
_RAW: Final = r"(?a:script|pre|style|textarea)"
_ENDED: Final = re.compile(
    rf"<(?:!--(?P<comment>)|(?i:{_RAW})(?=\s|>|$)(?P<raw>)|\?(?P<instruction>)"
    r"|![A-Za-z](?P<declaration>)|!\[CDATA\[(?P<data>))"
)
_ENDINGS: Final = {
    "comment": re.compile(r"-->"),
    "raw": re.compile(rf"</{_RAW}>", re.IGNORECASE),
    "instruction": re.compile(r"\?>"),
    "declaration": re.compile(r">"),
    "data": re.compile(r"\]\]>"),
}
# Kinds 6 and 7 end before a blank line.
_NAMED: Final = frozenset(_NAMES.split())
_NAME: Final = re.compile(r"</?([A-Za-z][A-Za-z0-9]*+)(?=\s|/?>|$)")
_VALUE: Final = r"""(?:[^"'=<>`\x00-\x20]+|'[^']*'|"[^"]*")"""
_ATTRIBUTE: Final = rf"(?:\s+[a-zA-Z_:][a-zA-Z0-9:._-]*(?:\s*=\s*{_VALUE})?)"
# An opening or closing tag (section 6.6).
TAG: Final = re.compile(rf"<(?:[A-Za-z][A-Za-z0-9-]*{_ATTRIBUTE}*\s*/?|/[A-Za-z][A-Za-z0-9-]*\s*)>")


def ending_of(line: str) -> re.Pattern[str] | None:
    """What ends the block of kind 1 to 5 that `line`, without its indentation, begins; None for no such."""
    opening = _ENDED.match(line)
    return _ENDINGS[opening.lastgroup] if opening is not None and opening.lastgroup is not None else None


def is_named(line: str) -> bool:
    """Whether `line`, without its indentation, begins a block of kind 6."""
    name = _NAME.match(line)
    return name is not None and name[1].lower() in _NAMED


def is_tag_alone(line: str) -> bool:
    """Whether `line` begins a block of kind 7, which interrupts no paragraph."""
    tag = TAG.match(line)
    return tag is not None and not line[tag.end() :].strip()
