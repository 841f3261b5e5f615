"""The names of a list that are most like a given one."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from difflib import SequenceMatcher

_TRIGRAM: Final = 3
_NEAREST: Final = 3
# So many names are compared one by one; of a longer list, those that share most trigrams.
_MOST_COMPARED: Final = 64
_MOST_VOTERS: Final = 16
_MOST_VOTES: Final = 512
# Likeness from which on a name is shown. A share of equal trigrams counts a little less than similarity, and
# that one is a part of the other counts least.
_LEAST: Final = 0.6
_SHARE_COUNTS: Final = 0.95
_PART_COUNTS: Final = 0.5
_SHORTEST_PART: Final = 3
_LONGEST: Final = 300


class NameIndex:
    """Names among which similar ones are found. Made in one pass."""

    __slots__ = ("_by_trigram", "names")

    def __init__(self, names: Iterable[str]) -> None:
        """Index `names`, which are different ones."""
        self.names = tuple(name for name in names if len(name) <= _LONGEST)
        self._by_trigram: defaultdict[str, list[int]] = defaultdict(list)
        if len(self.names) > _MOST_COMPARED:
            for number, name in enumerate(self.names):
                for trigram in _trigrams(name):
                    self._by_trigram[trigram].append(number)

    def nearest(self, wanted: str) -> list[str]:
        """Up to three names that are like `wanted`, as a whole or in most of its parts; the best first."""
        if not 0 < len(wanted) <= _LONGEST:
            return []
        from difflib import SequenceMatcher

        matcher = SequenceMatcher(b=wanted)
        trigrams = _trigrams(wanted)
        likeness = {name: _likeness(matcher, wanted, trigrams, name) for name in self._pool(wanted)}
        near = [name for name, how_like in likeness.items() if how_like]
        return sorted(near, key=lambda name: -likeness[name])[:_NEAREST]

    def _pool(self, wanted: str) -> tuple[str, ...]:
        """The names that are worth a comparison."""
        if len(self.names) <= _MOST_COMPARED:
            return self.names
        found = _trigrams(wanted) & self._by_trigram.keys()
        known = sorted((len(self._by_trigram[trigram]), trigram) for trigram in found)
        votes: Counter[int] = Counter()
        for _, trigram in known[:_MOST_VOTERS]:
            votes.update(self._by_trigram[trigram][:_MOST_VOTES])
        # Of names with equal votes the shorter one has less that differs.
        best = sorted(votes, key=lambda number: (-votes[number], len(self.names[number]), number))
        return tuple(self.names[number] for number in best[:_MOST_COMPARED])


class CaselessNames:
    """Names among which similar ones are found, whatever their case. Made in one pass."""

    __slots__ = ("_index", "_names")

    def __init__(self, names: Iterable[str]) -> None:
        """Index `names`; of those that differ in case alone, the first."""
        self._names: dict[str, str] = {}
        for name in names:
            self._names.setdefault(name.casefold(), name)
        self._index = NameIndex(self._names)

    def nearest(self, wanted: str) -> list[str]:
        """Up to three names that are like `wanted`, as `NameIndex.nearest` finds them."""
        return [self._names[name] for name in self._index.nearest(wanted.casefold())]


def _trigrams(name: str) -> set[str]:
    """The sequences of three characters of `name`, its edges included."""
    padded = f" {name} "
    return {padded[at : at + _TRIGRAM] for at in range(len(padded) - _TRIGRAM + 1)}


def _likeness(matcher: "SequenceMatcher[str]", wanted: str, trigrams: set[str], name: str) -> float:
    """How like `name` is to `wanted`, which `matcher` holds and which has `trigrams`: from 0 to 1."""
    matcher.set_seq1(name)
    similarity = 0.0
    if matcher.real_quick_ratio() >= _LEAST and matcher.quick_ratio() >= _LEAST:
        similarity = matcher.ratio()
    share = len(trigrams & _trigrams(name)) / len(trigrams)
    best = max(similarity, share * _SHARE_COUNTS)
    if best >= _LEAST:
        return best
    short, long = sorted((wanted, name), key=len)
    return _PART_COUNTS if len(short) >= _SHORTEST_PART and short in long else 0
