"""Names of sections: IDs that survive edits elsewhere, and canonical headings."""

import re
import unicodedata
from functools import lru_cache
from typing import Final, NewType

from mdplan.text.source import sha256_hex

SectionId = NewType("SectionId", str)

ID_PREFIX: Final = "sha256-"
_DIGITS: Final = 16
_REFERENCE: Final = r"(?i:(?:sha256-)?([0-9a-f]{8,64}))"
_JOINERS: Final = frozenset("\u200d\ufe0e\ufe0f\u20e3")


@lru_cache(maxsize=4096)
def folded(text: str) -> str:
    """`text` as section IDs compare it: case folded, white space collapsed, punctuation kept."""
    return " ".join(text.casefold().split())


def id_of_name(name: bytes, ordinal: int) -> SectionId:
    """ID of the section that `name` represents: the folded titles of its path, joined by U+001F, in UTF-8.

    `ordinal` (1-based) distinguishes sections whose folded paths are equal; the first of them keeps the ID
    that it has alone, so that a repetition further down changes no ID above.
    """
    if ordinal > 1:
        name += f"\x1e{ordinal}".encode()
    return SectionId(ID_PREFIX + sha256_hex(name)[:_DIGITS])


# Of the text before the first heading, which is another section than an empty heading.
PREAMBLE_ID: Final = id_of_name(b"\x1e", 1)


def section_id_digits(reference: str) -> str | None:
    """Digits of a section ID or of a prefix of one (8 digits or more); None when it is neither."""
    match = re.fullmatch(_REFERENCE, reference.strip())
    return match[1].lower()[:_DIGITS] if match else None


@lru_cache(maxsize=4096)
def canonical_heading(text: str) -> str:
    """Rendered heading `text` as people compare it.

    Characters are composed (Unicode normal form C), emoji dropped, letters lower-cased, punctuation and
    symbols except hyphens stripped, white space collapsed; where nothing is left, the exact text is the
    canonical one (requirement 05, section 3).
    """
    kept = "".join(
        character for character in unicodedata.normalize("NFC", text.lower()) if _is_kept(character)
    )
    return " ".join(kept.split()) or text


def _is_kept(character: str) -> bool:
    if character == "-":
        return True
    return character not in _JOINERS and unicodedata.category(character)[0] not in "PS"
