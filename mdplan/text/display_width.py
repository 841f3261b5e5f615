"""How many columns of a terminal or editor a text takes, by which people align tables."""

import unicodedata


def display_width(text: str) -> int:
    """Columns of `text`, one line without tabs: wide characters take two, combining ones none.

    Unicode Standard Annex 11, East Asian Width.
    """
    if text.isascii():
        return len(text)
    return sum(_width_of(character) for character in text)


def _width_of(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
