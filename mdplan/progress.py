"""Progress callbacks."""

from collections.abc import Callable
from typing import TypeAlias

# Takes how many parts are done, and of how many where that is known. What it raises ends the work.
ProgressCallback: TypeAlias = Callable[[int, int | None], None]


def no_progress(_done: int, _total: int | None) -> None:
    """For callers that do not ask."""
