"""Text folded to what people take for the same, with the way back to its real places.

Folded text has no blanks, line ends, dashes, quotes, accents, invisible characters and light markup, no case
and no compatibility forms. So texts that differ in such things alone are equal, and `str.find` finds them.
"""

import unicodedata
from bisect import bisect_right
from enum import StrEnum
from itertools import accumulate
from typing import Final

from mdplan.text.lines import LineIndex

# Straight quotes, low quotes, and what is typed for them: acute accents, letters for apostrophes, primes.
_QUOTES: Final = frozenset(
    "\"'\u201a\u201e\u00b4\u02b9\u02ba\u02bb\u02bc\u02c8\u2032\u2033\u2034\u2035\u2036\uff02\uff07"
)
_MARKUP: Final = frozenset("*_`\\")
_FILLERS: Final = frozenset("\u034f\u115f\u1160\u3164\uffa0")
_BLANKS: Final = frozenset("\t\n\v\f\r\x1c\x1d\x1e\x1f\x85")
_BLOCK: Final = 128


class Dropped(StrEnum):
    """Kinds of characters that folded text does not have."""

    BLANK = "blank"
    DASH = "dash"
    QUOTE = "quote"
    INVISIBLE = "invisible"
    ACCENT = "accent"
    MARKUP = "markup"


_CATEGORIES: Final = {
    "Zs": Dropped.BLANK,
    "Zl": Dropped.BLANK,
    "Zp": Dropped.BLANK,
    "Pd": Dropped.DASH,
    "Pi": Dropped.QUOTE,
    "Pf": Dropped.QUOTE,
    "Cf": Dropped.INVISIBLE,
    "Cc": Dropped.INVISIBLE,
    "Mn": Dropped.ACCENT,
    "Me": Dropped.ACCENT,
}


def dropped_kind(character: str) -> Dropped | None:
    """Why folded text does not have `character`; None for one that it has in some form."""
    if character in _QUOTES:
        return Dropped.QUOTE
    if character in _MARKUP:
        return Dropped.MARKUP
    if character == "\N{MINUS SIGN}":
        return Dropped.DASH
    if character in _BLANKS:
        return Dropped.BLANK
    # Variation selectors are marks by category, and no one sees them.
    if character in _FILLERS or "\ufe00" <= character <= "\ufe0f":
        return Dropped.INVISIBLE
    return _CATEGORIES.get(unicodedata.category(character))


class Folding(dict[int, str | None]):
    """Table for `str.translate` that folds text; it fills itself with the characters that it meets."""

    def __missing__(self, code: int) -> str | None:
        """Fold the character `code`; None drops it."""
        character = chr(code)
        folded = None
        if dropped_kind(character) is None:
            plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
            folded = "".join(part for part in plain if dropped_kind(part) is None) or None
        self[code] = folded
        return folded

    def drops(self, character: str) -> bool:
        """Whether folded text does not have `character`."""
        return self[ord(character)] is None

    def start_of(self, text: str) -> str:
        """The characters at the start of `text` that folded text does not have."""
        return text[: next((at for at, character in enumerate(text) if not self.drops(character)), len(text))]

    def drops_all(self, text: str) -> bool:
        """Whether nothing of `text` is left when it is folded."""
        return not text.translate(self)


class FoldedText:
    """`text`, which has LF line ends, and its folded form `folded`. Made in one pass."""

    def __init__(self, text: str) -> None:
        """Fold `text`."""
        self.text = text
        self.lines = LineIndex(text)
        self.folding = Folding()
        blocks = [text[at : at + _BLOCK].translate(self.folding) for at in range(0, len(text), _BLOCK)]
        self.folded = "".join(blocks)
        # Where each block of the text starts in the folded text. A place is counted from there when asked.
        self._starts = [0, *accumulate(map(len, blocks))]

    def start_in_text(self, index: int) -> int:
        """Offset of the character that ``folded[index]`` was made from."""
        block = bisect_right(self._starts, index) - 1
        at, left = block * _BLOCK, index - self._starts[block]
        while left >= self._length(at):
            left -= self._length(at)
            at += 1
        return at

    def end_in_text(self, index: int) -> int:
        """Offset after the character that ``folded[index - 1]`` was made from."""
        return self.start_in_text(index - 1) + 1

    def index_at(self, offset: int) -> int:
        """How much of the folded text was made from what is before `offset`."""
        block = min(offset, len(self.text)) // _BLOCK
        return self._starts[block] + len(self.text[block * _BLOCK : offset].translate(self.folding))

    def _length(self, offset: int) -> int:
        return len(self.folding[ord(self.text[offset])] or "")
