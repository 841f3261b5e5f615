"""File text as it may be shown to people: nothing in it steers the terminal or hides."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

# Controls (escape sequences), format characters (bidi overrides, zero width), line separators, surrogates,
# and code points that no font shows.
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
# Letters and marks that have no width: graphically a blank or nothing, whatever their category says.
_BLANK_LETTERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_NOT_ASCII: Final = r"[^\x00-\x7e]"
_UNUSUAL: Final = re.compile(r"[^\n\t\x20-\x7e]")
# What colours begin and end with.
_COLOUR: Final = r"(\x1b\[[0-9;]{0,20}m)"


def escaped(text: str) -> str:
    r"""`text` with all that hides or steers as ``\xNN`` or ``\uNNNN``; LF and TAB stay."""
    return _UNUSUAL.sub(lambda match: _escape(match[0]) if is_hidden(match[0]) else match[0], text)


def escaped_but_for_colours(text: str) -> str:
    """`text` escaped, except sequences that set colours; those of a file were escaped before."""
    parts = re.split(_COLOUR, text)
    parts[::2] = map(escaped, parts[::2])
    return "".join(parts)


def escaped_json(text: str) -> str:
    r"""JSON `text` that means the same, with hidden characters as ``\uNNNN``, so that it can be examined."""
    return re.sub(_NOT_ASCII, lambda match: _json_escape(match[0]) if is_hidden(match[0]) else match[0], text)


@lru_cache(maxsize=4096)
def is_hidden(character: str) -> bool:
    """Whether people would not see `character` as what it is; LF and TAB are what they are."""
    if character in "\n\t":
        return False
    if character in _BLANK_LETTERS:
        return True
    return not character.isprintable() and unicodedata.category(character) in _HIDDEN_CATEGORIES


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
