"""Show file text to people: escape what hides or steers a terminal, measure width, find near names."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final

from mdplan.text.lazy_pattern import lazy_pattern

# Controls (escape sequences), format characters (bidi overrides, zero width), line separators, surrogates,
# and code points that no font shows.
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})

# Letters and marks without width: they look like a space or nothing, whatever their category says.
_BLANK_LETTERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_NOT_ASCII: Final = r"[^\x00-\x7e]"
_BACKTICKS: Final = lazy_pattern("`+")
_UNUSUAL: Final = lazy_pattern(r"[^\n\t\x20-\x7e]")

# The sequences that set colours.
_COLOUR: Final = r"(\x1b\[[0-9;]{0,20}m)"


def counted(number: int, noun: str, plural: str = "", *, thousands: str = "") -> str:
    """Return ``1 file`` or ``2 files``; `thousands` is put between thousands."""
    return f"{number:{thousands}} {noun if number == 1 else plural or noun + 's'}"


def size_text(number: int) -> str:
    """Return ``12 bytes``, ``1.5 KiB`` or ``256 MiB``."""
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if number >= size:
            return f"{number / size:.1f}".removesuffix(".0") + f" {unit}"
    return counted(number, "byte")


def escaped(text: str) -> str:
    r"""Return `text` with all that hides or steers as ``\xNN`` or ``\uNNNN``; LF and TAB stay."""
    return _UNUSUAL.sub(lambda match: _escape(match[0]) if is_hidden(match[0]) else match[0], text)


def code_span(text: str) -> str:
    """Return `text` as a code span of Markdown on one line, in which nothing has a meaning."""
    plain = " ".join(escaped(text).replace("\n", "\\n").split()) or " "
    fence = "`" * longer_than_runs(plain)
    # A backtick at an edge would join the fence; one blank on both sides belongs to it.
    padding = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{padding}{plain}{padding}{fence}"


def longer_than_runs(text: str) -> int:
    """Return a length that no run of backticks in `text` has."""
    return 1 + max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def escaped_but_for_colours(text: str) -> str:
    """Escape `text` except sequences that set colours; those of a file were escaped before."""
    parts = re.split(_COLOUR, text)
    parts[::2] = map(escaped, parts[::2])
    return "".join(parts)


def escaped_json(text: str) -> str:
    r"""Return equivalent JSON with hidden characters as ``\uNNNN``, so that people can examine it."""
    return re.sub(_NOT_ASCII, lambda match: _json_escape(match[0]) if is_hidden(match[0]) else match[0], text)


@lru_cache(maxsize=4096)
def is_hidden(character: str) -> bool:
    """Return True if people would not see what `character` is; they do see LF and TAB."""
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


# --- Width in columns of a terminal or editor.


def display_width(text: str) -> int:
    """Return the columns of `text`, one line without tabs: wide characters take two, combining ones none.

    Unicode Standard Annex 11, East Asian Width.
    """
    if text.isascii():
        return len(text)
    return sum(_width_of(character) for character in text)


def _width_of(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


# --- The names that are most like a given one.

_NEAREST: Final = 3

# The rest of a longer list is ignored, since a batch can ask about each of its names.
_MOST_COMPARED: Final = 10_000
_LONGEST: Final = 300

# The least similarity of a name that is shown, in per cent.
_LEAST: Final = 65

# A shorter name is part of too many others.
_SHORTEST_PART: Final = 3


def nearest_names(wanted: str, names: Iterable[str]) -> list[str]:
    """Return up to three of `names` that are like `wanted` or have a part like it, the best first."""
    from rapidfuzz import fuzz, process

    if not 0 < len(wanted) <= _LONGEST:
        return []
    shortest = min(_SHORTEST_PART, len(wanted))
    known = [name for name in islice(names, _MOST_COMPARED) if shortest <= len(name) <= _LONGEST]
    scorer = fuzz.WRatio if shortest == _SHORTEST_PART else fuzz.ratio
    nearest = process.extract(
        wanted, known, scorer=scorer, processor=str.casefold, score_cutoff=_LEAST, limit=_NEAREST
    )
    return [name for name, _, _ in nearest]


# --- Names from a document in reports, cut so that no heading makes a report too large.

_MOST: Final = 300
_MOST_NAMES: Final = 100


def escape_for_message(text: str) -> str:
    """Return `text`, or its first 299 characters and an ellipsis; a section also has its ID."""
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"


def shown_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return `names` for a report; of more than 100 the first 99 and an ellipsis."""
    if len(names) > _MOST_NAMES:
        names = (*names[: _MOST_NAMES - 1], "…")
    return tuple(escape_for_message(name) for name in names)


# --- Names of files

# Controls, format characters (bidi overrides, zero width), line separators, surrogates: a name that holds one
# does not look like what it is.
_HIDDEN_IN_NAMES: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs"})
_SHOWN_CHARACTERS: Final = 200


def visible(path: str) -> str:
    """`path` for a message: invisible characters escaped, bounded in length, always valid Unicode."""
    cut = path if len(path) <= _SHOWN_CHARACTERS else path[: _SHOWN_CHARACTERS - 1] + "…"
    if not has_hidden(cut):
        return cut
    return "".join(_escape(character) if _is_hidden_in_name(character) else character for character in cut)


def has_hidden(text: str) -> bool:
    """Return True if `text`, a name, has a character that does not look like what it is."""
    return not text.isprintable() and any(map(_is_hidden_in_name, text))


def _is_hidden_in_name(character: str) -> bool:
    return not character.isprintable() and unicodedata.category(character) in _HIDDEN_IN_NAMES


def first_few(items: Sequence[object], most: int = 10) -> str:
    """The first of `items`, with a sign where there are more."""
    return ", ".join(map(str, items[:most])) + (", …" if len(items) > most else "")
