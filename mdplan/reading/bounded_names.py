"""Names out of a document as reports show them: bounded, so that no heading makes a report too large."""

from collections.abc import Sequence
from typing import Final

_MOST: Final = 300
_MOST_NAMES: Final = 100


def escape_for_message(text: str) -> str:
    """`text`, or its first 299 characters and an ellipsis. A section with such a heading has its ID."""
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"


def shown_names(names: Sequence[str]) -> tuple[str, ...]:
    """Each of `names` as shown; of more than 100 the first 99 and an ellipsis."""
    if len(names) > _MOST_NAMES:
        names = (*names[: _MOST_NAMES - 1], "…")
    return tuple(escape_for_message(name) for name in names)
