"""How much work one document may make."""

from dataclasses import dataclass
from typing import Final

FRONT_MATTER_CHARACTERS: Final = 64 * 1024
PATTERN_SECONDS: Final = 1.0
RESULT_CHARACTERS: Final = 16 * 1024 * 1024
RESULT_LINES: Final = 400_000
PARSE_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLimits:
    """Limits of one document: what is read of it, looked for in it, and written into it.

    `pattern_seconds` is for one search of a regular expression. `result_characters` and `result_lines` are
    what a document may come to, told before it is made and parsed. `parse_seconds` are for all parsing of it
    in one call.
    """

    front_matter_characters: int = FRONT_MATTER_CHARACTERS
    pattern_seconds: float = PATTERN_SECONDS
    result_characters: int = RESULT_CHARACTERS
    result_lines: int = RESULT_LINES
    parse_seconds: float = PARSE_SECONDS


DEFAULT_DOCUMENT_LIMITS: Final = DocumentLimits()
