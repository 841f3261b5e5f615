"""Limits and options of an engine, and its progress callback."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from mdplan.limits import (
    DEFAULT_LIMITS,
    FRONT_MATTER_CHARACTERS,
    PARSE_SECONDS,
    PATTERN_SECONDS,
    DocumentLimits,
    LimitOption,
    Limits,
)
from mdplan.storage.filesystem import Durability
from mdplan.values import Struct, replace

_DAY_SECONDS: Final = 24 * 3600.0


class Settings(Struct, kw_only=True):
    """Limits and options of an engine. Times are in seconds, sizes in bytes.

    The history of a root keeps the newest transactions: at most `history_transactions`, `history_bytes` of
    old content, and `history_days`. `report_characters` limits reports to agents. With `require_approval`, or
    the variable MDPLAN_REQUIRE_APPROVAL, the engine commits only approved plans.

    >>> settings = Settings(lock_timeout=2.0, max_file_bytes=1024 * 1024)
    >>> Engine.open(["."], settings=settings).stat({"file": "guide.md"}).ok
    True
    """

    max_file_bytes: int = 16 * 1024 * 1024
    max_lines: int = 400_000
    front_matter_characters: int = FRONT_MATTER_CHARACTERS
    pattern_seconds: float = PATTERN_SECONDS
    parse_seconds: float = PARSE_SECONDS
    batch: Limits = DEFAULT_LIMITS
    plans_kept_days: float = 30.0
    lock_timeout: float = 10.0
    durability: Durability = Durability.FULL
    history_transactions: int = 200
    history_days: float = 365.0
    history_bytes: int = 256 * 1024 * 1024
    report_characters: int = 50_000
    require_approval: bool = False

    @property
    def of_documents(self) -> DocumentLimits:
        """The limits of a document."""
        return DocumentLimits(
            front_matter_characters=self.front_matter_characters,
            pattern_seconds=self.pattern_seconds,
            result_characters=self.max_file_bytes,
            result_lines=self.max_lines,
            parse_seconds=self.parse_seconds,
        )

    def history_limits(self, now: float) -> tuple[int, int, float]:
        """Return the maximum transactions and bytes of the history, and its start time."""
        return self.history_transactions, self.history_bytes, now - self.history_days * _DAY_SECONDS

    def limited(self, given: Mapping[LimitOption, Any]) -> "Settings":
        """Return these settings with the limits `given` by options; None keeps a limit."""
        changed: dict[str, Any] = {}
        batch: dict[str, Any] = {}
        for limit, number in given.items():
            outer, _, inner = limit.setting.rpartition(".")
            if number is not None:
                (batch if outer else changed)[inner] = number
        return replace(self, batch=replace(self.batch, **batch), **changed)


DEFAULT_SETTINGS: Final = Settings()


# Called with the number of finished parts and, if known, the total. An exception stops the work.
ProgressCallback: TypeAlias = Callable[[int, int | None], None]


def no_progress(_done: int, _total: int | None) -> None:
    """Ignore progress."""
