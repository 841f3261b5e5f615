"""One line of an INI file, read as Python's `configparser` reads it.

Comments start at ``;`` or ``#``, at the start of a line or after white space. A section header is
``[name]``; a key ends at the first ``=`` or ``:``, and one without either has no value.
"""

import re
from dataclasses import dataclass
from typing import Final

from mdplan.text.lines import Span

_COMMENT: Final = re.compile(r"(?:\A|(?<=\s))[;#]")
_HEADER: Final = re.compile(r"\[(.+)\]")
_SEPARATOR: Final = re.compile(r"[=:]")


@dataclass(frozen=True, slots=True, kw_only=True)
class IniLine:
    """One line of an INI file; spans are offsets in the whole text.

    `text` is the line without its indentation, its comment, and the white space before that; it is empty for
    blank lines and comments. `indent` counts characters. `comment` reaches to the end of the line.
    """

    text: Span
    indent: int
    comment: Span | None

    @property
    def is_blank(self) -> bool:
        """Whether nothing is in it."""
        return not len(self.text) and self.comment is None

    @property
    def is_comment(self) -> bool:
        """Whether nothing but a comment is in it."""
        return not len(self.text) and self.comment is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class IniAssignment:
    """A key and its value. `separator` is the sign with the white space around it; None without one."""

    name: Span
    separator: Span | None
    value: Span


def read_line(content: str, start: int) -> IniLine:
    """The line `content`, without its line end, which starts at the offset `start`."""
    comment = _COMMENT.search(content)
    behind = content[: comment.start()] if comment else content
    text = behind.strip()
    indent = len(behind) - len(behind.lstrip())
    first = start + indent if text else start
    return IniLine(
        text=Span(first, first + len(text)),
        indent=indent,
        comment=Span(start + comment.start(), start + len(content)) if comment else None,
    )


def header_name(text: str) -> str | None:
    """Name in the section header `text`; None where it is none. The name goes up to the last bracket."""
    header = _HEADER.match(text)
    return header[1] if header else None


def read_assignment(text: str, start: int) -> IniAssignment | None:
    """The key and value in `text`, which starts at the offset `start`; None where the name is missing."""
    sign = _SEPARATOR.search(text)
    if sign is None:
        end = start + len(text)
        return IniAssignment(name=Span(start, end), separator=None, value=Span(end, end))
    name = text[: sign.start()].rstrip()
    if not name:
        return None
    value = text[sign.end() :].lstrip()
    value_start = start + len(text) - len(value)
    return IniAssignment(
        name=Span(start, start + len(name)),
        separator=Span(start + len(name), value_start),
        value=Span(value_start, start + len(text)),
    )


def has_comment(text: str) -> bool:
    """Whether a comment would begin somewhere in `text`, if it was after white space."""
    return _COMMENT.search(text) is not None


def has_separator(text: str) -> bool:
    """Whether a key would end somewhere in `text`."""
    return _SEPARATOR.search(text) is not None
