"""How much one batch may hold."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much one batch may contain; `glob_files` is how many files one glob of it may represent.

    >>> Engine.open(["."], settings=Settings(batch=Limits(glob_files=1_000))).settings.batch.glob_files
    1000
    """

    files: int = 10_000
    glob_files: int = 100
    edits: int = 100_000
    payload_characters: int = 64 * 1024 * 1024


DEFAULT_LIMITS: Final = Limits()
