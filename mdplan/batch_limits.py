"""How much one batch may hold."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much one batch may hold."""

    files: int = 10_000
    edits: int = 100_000
    payload_characters: int = 64 * 1024 * 1024


DEFAULT_LIMITS: Final = Limits()
