"""The names of a list that are most like a given one."""

from collections.abc import Iterable
from itertools import islice
from typing import Final

_NEAREST: Final = 3
# Of a longer list the rest is not looked at: a batch can ask about each of its names.
_MOST_COMPARED: Final = 10_000
_LONGEST: Final = 300
# Per cent of likeness from which on a name is shown.
_LEAST: Final = 65
# A name shorter than this is a part of too many others.
_SHORTEST_PART: Final = 3


def nearest_names(wanted: str, names: Iterable[str]) -> list[str]:
    """Up to three of `names` that are like `wanted` in any case, as a whole or in a part; the best first."""
    from rapidfuzz import fuzz, process

    if not 0 < len(wanted) <= _LONGEST:
        return []
    shortest = min(_SHORTEST_PART, len(wanted))
    known = [name for name in islice(names, _MOST_COMPARED) if shortest <= len(name) <= _LONGEST]
    scorer = fuzz.WRatio if shortest == _SHORTEST_PART else fuzz.ratio
    found = process.extract(
        wanted, known, scorer=scorer, processor=str.casefold, score_cutoff=_LEAST, limit=_NEAREST
    )
    return [name for name, _, _ in found]
