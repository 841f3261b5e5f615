"""Front matter: where it is.

Found by a strict rule of our own, so that a block scalar with an indented ``---``, a thematic break, or a
byte order mark cannot shift it; whether the block is valid YAML or TOML plays no part in that.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mdplan.text.lines import Span

_OPEN: Final = re.compile(r"(---|\+\+\+)[ \t]*(?:\r\n?|\n)(?![ \t]*[\r\n])")
_CLOSE: Final = {
    "---": r"(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)",
    "+++": r"\+\+\+[ \t]*(?:\r\n?|\n|\Z)",
}


class FrontMatterFormat(StrEnum):
    """Languages that front matter is written in."""

    YAML = "yaml"
    TOML = "toml"


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """`span` is the block with both fences, `content` what is between them."""

    format: FrontMatterFormat
    span: Span
    content: Span


def find_front_matter(text: str) -> FrontMatter | None:
    """Front matter at the very start of `text`, if there is one.

    The first line is exactly ``---`` (or ``+++``), the next is not blank, and a later line is exactly
    ``---`` or ``...`` (or ``+++``) at column 1; blanks after the fences do not matter.
    """
    opening = _OPEN.match(text)
    if opening is None:
        return None
    closing = _closing(text, opening[1], opening.end())
    if closing is None:
        return None
    language = FrontMatterFormat.YAML if opening[1] == "---" else FrontMatterFormat.TOML
    return FrontMatter(language, Span(0, closing.end()), Span(opening.end(), closing.start()))


def _closing(text: str, fence: str, at: int) -> re.Match[str] | None:
    """First closing fence after `at`; `^` of `re` knows no lone CR, so those count as line starts here."""
    line_start = r"(?:(?<=\n)|(?<=\r)(?!\n))" if "\r" in text else "^"
    return re.compile(line_start + _CLOSE[fence], re.MULTILINE).search(text, at)
