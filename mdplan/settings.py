"""Limits and choices of one engine."""

from dataclasses import dataclass
from typing import Final

from mdplan.storage.commit import Durability
from mdplan.wire import DEFAULT_LIMITS, Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits and choices of one engine. Times are in seconds, sizes in bytes."""

    max_file_bytes: int = 16 * 1024 * 1024
    max_lines: int = 400_000
    batch: Limits = DEFAULT_LIMITS
    lock_timeout: float = 10.0
    durability: Durability = Durability.FULL


DEFAULT_SETTINGS: Final = Settings()
