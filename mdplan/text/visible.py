"""Display file text safely: escape hidden characters, measure width, find similar names."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice
from pkgutil import get_data
from typing import Final

from mdplan.text.lazy_pattern import lazy_pattern

# Controls (escape sequences), format characters (bidi overrides, zero width), line separators, surrogates,
# and unassigned or private code points.
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})

# Letters and marks without width: they look like a space or nothing, whatever their category.
_BLANK_LETTERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_NOT_ASCII: Final = r"[^\x00-\x7e]"
_BACKTICKS: Final = lazy_pattern("`+")
_UNUSUAL: Final = lazy_pattern(r"[^\n\t\x20-\x7e]")

# Terminal sequences that set colours.
_COLOUR: Final = r"(\x1b\[[0-9;]{0,20}m)"


def counted(number: int, noun: str, plural: str = "", *, thousands: str = "") -> str:
    """Return ``1 file`` or ``2 files``, with `thousands` as separator."""
    return f"{number:{thousands}} {noun if number == 1 else plural or noun + 's'}"


def size_text(number: int) -> str:
    """Return ``12 bytes``, ``1.5 KiB`` or ``256 MiB``."""
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if number >= size:
            return f"{number / size:.1f}".removesuffix(".0") + f" {unit}"
    return counted(number, "byte")


def escaped(text: str) -> str:
    r"""Return `text` with hidden characters as ``\xNN`` or ``\uNNNN``; LF and TAB stay."""
    return _UNUSUAL.sub(lambda match: _escape(match[0]) if is_hidden(match[0]) else match[0], text)


def code_span(text: str) -> str:
    """Return `text` as a one-line Markdown code span, in which no markup works."""
    plain = " ".join(escaped(text).replace("\n", "\\n").split()) or " "
    fence = "`" * longer_than_runs(plain)
    # A backtick at an edge would join the fence; one space on each side belongs to the fence.
    padding = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{padding}{plain}{padding}{fence}"


def longer_than_runs(text: str) -> int:
    """Return a length that exceeds all runs of backticks in `text`."""
    return 1 + max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def escaped_but_for_colours(text: str) -> str:
    """Escape `text` except for colour sequences; file contents were escaped before."""
    parts = re.split(_COLOUR, text)
    parts[::2] = map(escaped, parts[::2])
    return "".join(parts)


def escaped_json(text: str) -> str:
    r"""Return equivalent JSON with hidden characters as ``\uNNNN``."""
    return re.sub(_NOT_ASCII, lambda match: _json_escape(match[0]) if is_hidden(match[0]) else match[0], text)


@lru_cache(maxsize=4096)
def is_hidden(character: str) -> bool:
    """Return True if `character` is invisible; LF and TAB are not."""
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


# --- Texts that look the same


def skeleton(text: str) -> str:
    """Return a text that is equal for texts that look alike (Unicode Technical Standard 39)."""
    folded = unicodedata.normalize(
        "NFKC", "".join(each for each in text if each == "\n" or not is_hidden(each))
    )
    return " ".join(folded.translate(_lookalikes()).split())


@cache
def _lookalikes() -> Mapping[int, str]:
    rows = (get_data("mdplan.text", "lookalikes.txt") or b"").decode("utf-8").split("\n")
    pairs = (row.split("\t") for row in rows if "\t" in row)
    return {ord(each): text for text, characters in pairs for each in characters}


# --- Width in columns of a terminal or editor


def display_width(text: str) -> int:
    """Return the width of `text`, one line without tabs: wide characters count two, combining ones none.

    Unicode Standard Annex 11, East Asian Width.
    """
    if text.isascii():
        return len(text)
    return sum(_width_of(character) for character in text)


def _width_of(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


# --- Similar names

_NEAREST: Final = 3

# Ignore the rest of a longer list: a batch can ask about each of its names.
_MOST_COMPARED: Final = 10_000
_LONGEST: Final = 300

# The minimum similarity in per cent.
_LEAST: Final = 65

# A shorter name is part of too many others.
_SHORTEST_PART: Final = 3


def composed(text: str) -> str:
    """Return `text` in NFC, the form in which names are compared."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def nearest_names(wanted: str, names: Iterable[str]) -> list[str]:
    """Return up to three of `names` that resemble or contain `wanted`, best first."""
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


# --- Names from a document in reports, truncated so that no heading makes a report too large

_MOST: Final = 300
_MOST_NAMES: Final = 100


def shortened(text: str, most: int = _MOST) -> str:
    """Return `text`, truncated to `most` characters including an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def shown_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return `names` for a report, truncated to 99 and an ellipsis if there are more than 100."""
    if len(names) > _MOST_NAMES:
        names = (*names[: _MOST_NAMES - 1], "…")
    return tuple(shortened(name) for name in names)


# --- File names

# Controls, format characters (bidi overrides, zero width), line separators, surrogates: they disguise a name.
_HIDDEN_IN_NAMES: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs"})
_SHOWN_CHARACTERS: Final = 200


def visible(path: str) -> str:
    """Return `path` for a message: hidden characters escaped, bounded length, valid Unicode."""
    cut = shortened(path, _SHOWN_CHARACTERS)
    if not has_hidden(cut):
        return cut
    return "".join(_escape(character) if _is_hidden_in_name(character) else character for character in cut)


def has_hidden(text: str) -> bool:
    """Return True if the name `text` contains a character that disguises it."""
    return not text.isprintable() and any(map(_is_hidden_in_name, text))


def _is_hidden_in_name(character: str) -> bool:
    return not character.isprintable() and unicodedata.category(character) in _HIDDEN_IN_NAMES


def first_few(items: Sequence[object], most: int = 10) -> str:
    """Return the first `most` items, with an ellipsis if there are more."""
    return ", ".join(map(str, items[:most])) + (", …" if len(items) > most else "")
