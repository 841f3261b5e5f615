"""Which files a text may link to, found without parsing it."""

import codecs
import re
from collections.abc import Iterator
from html import unescape
from typing import Final
from urllib.parse import unquote

from mdplan.markdown.link_path import page_key

# A bare destination ends at white space, or before the next one: what else ends it is sorted out below.
_DESTINATION: Final = re.compile(
    r"""
    (?: \]\( | \]: ) [\s>]* (?: <(?P<angle>[^<>\n]*) | (?P<bare>(?:(?!\]\()[^\s<])+) )
    | \[\[ (?P<wiki>[^\[\]|\n]*)
    | \b(?:href|src|poster) \s*=\s* ["']? (?P<html>[^"'<>\n]*)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_END_OF_PATH: Final = re.compile(r"[#?|]")
_UTF_16: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def linked_names(text: str) -> frozenset[str]:
    """Names (as `page_key` writes them) of all files that `text` may link to, and of some that it does not.

    It costs one pass over the text.
    """
    return frozenset(name for match in _DESTINATION.finditer(text) for name in _names(match))


def text_of_bytes(data: bytes) -> str:
    """The text of a file, near enough to look for names in it."""
    return data.decode(
        _UTF_16.get(data[:2], "utf-8"), "surrogateescape" if data[:2] not in _UTF_16 else "replace"
    )


def _names(match: re.Match[str]) -> Iterator[str]:
    written = match[match.lastgroup or 0]
    if match.lastgroup == "bare":
        yield _name(written)
        written = _within_parentheses(written)
    yield _name(written)


def _name(written: str) -> str:
    path = _END_OF_PATH.split(unescape(_ESCAPE.sub(r"\1", written)), maxsplit=1)[0]
    return page_key(unquote(path, errors="surrogateescape").rstrip())


def _within_parentheses(written: str) -> str:
    """`written` up to the first parenthesis that closes none of its own (CommonMark 0.31.2, section 6.3)."""
    depth = 0
    for index, character in enumerate(written):
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return written[:index]
    return written
