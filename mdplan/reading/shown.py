"""Names out of a document as reports show them: bounded, so that no heading makes a report too large."""

from collections.abc import Iterable
from typing import Final

_MOST: Final = 300


def shown(text: str) -> str:
    """`text`, or its first 299 characters and an ellipsis. A section with such a heading has its ID."""
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"


def shown_path(path: Iterable[str]) -> tuple[str, ...]:
    """Each of `path` as shown."""
    return tuple(shown(each) for each in path)
