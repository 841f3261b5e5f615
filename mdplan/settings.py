"""Limits and choices of one engine."""

from dataclasses import dataclass
from typing import Final

from mdplan.storage.commit import Durability
from mdplan.wire import DEFAULT_LIMITS, Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits and choices of one engine. Times are in seconds, sizes in bytes.

    The history of a root keeps its newest transactions: up to `history_transactions` of them, and up to
    `history_bytes` of old content.
    """

    max_file_bytes: int = 16 * 1024 * 1024
    max_lines: int = 400_000
    batch: Limits = DEFAULT_LIMITS
    lock_timeout: float = 10.0
    durability: Durability = Durability.FULL
    history_transactions: int = 200
    history_bytes: int = 256 * 1024 * 1024


DEFAULT_SETTINGS: Final = Settings()
