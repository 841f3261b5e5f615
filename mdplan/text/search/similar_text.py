"""Places of a text that are nearly a given one.

Runs of four characters that both have vote for where the one lies in the other, and the places with most
votes are compared. The work has fixed bounds, so a poor guess is possible and a slow one is not.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Final

_RUN: Final = 4
_SHORTEST: Final = 8
_LONGEST: Final = 4_000
# Beyond the first four characters, one difference in so many is still similar.
_PER_ERROR: Final = 4
_MOST_ERRORS: Final = 64
# A text that is longer has only every n-th of its runs in the index, so that the index stays small.
_MOST_RUNS: Final = 500_000
_MOST_VOTERS: Final = 16
_MOST_VOTES: Final = 256
_MOST_COMPARED: Final = 8
_MOST_STEPS: Final = 20_000
_CHUNK: Final = 32


@dataclass(frozen=True, slots=True)
class Similar:
    """A part ``[start, end)`` of a text, and the fewest characters to change, add or drop in it."""

    start: int
    end: int
    errors: int

    def overlaps(self, other: "Similar") -> bool:
        """Whether the two parts share a character."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class _Seed:
    """A run that stands at `at` in what is wanted and at `place` in the text."""

    at: int
    place: int

    @property
    def origin(self) -> int:
        """Where what is wanted would start."""
        return self.place - self.at


@dataclass(slots=True)
class Effort:
    """Steps of comparing that may still be made for one search."""

    left: int = _MOST_STEPS


class RunIndex:
    """Where each run of four characters stands in a text. Made in one pass."""

    __slots__ = ("_places", "text")

    def __init__(self, text: str) -> None:
        """Index `text`."""
        self.text = text
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for at in range(0, len(text) - _RUN + 1, 1 + len(text) // _MOST_RUNS):
            self._places[text[at : at + _RUN]].append(at)

    def find_similar(self, wanted: str, start: int, end: int, near: int) -> list[Similar]:
        """Disjoint parts of ``text[start:end]`` that are similar to `wanted`.

        Of places with equal votes those close to `near` are compared first. A `wanted` that is so short that
        anything is similar to it, or very long, has none.
        """
        if not _SHORTEST <= len(wanted) <= _LONGEST:
            return []
        most_errors = min((len(wanted) - _RUN) // _PER_ERROR, _MOST_ERRORS)
        effort = Effort()
        found: list[Similar] = []
        for seed in self._seeds(wanted, start, end, near, most_errors + 1):
            similar = self._grow(wanted, seed, start, end, most_errors, effort)
            if similar is not None and not any(similar.overlaps(other) for other in found):
                found.append(similar)
        return found

    def _seeds(self, wanted: str, start: int, end: int, near: int, width: int) -> list[_Seed]:
        """One run that both texts have for each of the best places, the best first."""
        runs = {wanted[at : at + _RUN]: at for at in range(len(wanted) - _RUN, -1, -1)}
        known = sorted((len(self._places[run]), at, run) for run, at in runs.items() if run in self._places)
        votes: Counter[tuple[int, int]] = Counter()
        seeds: dict[tuple[int, int], _Seed] = {}
        for _, at, run in known[:_MOST_VOTERS]:
            for place in _nearest(self._places[run], start, end - _RUN, near + at):
                # What was added or dropped before a run moves its vote, so ranges of places are voted for;
                # two that overlap, so that no two close votes fall apart.
                for shift in (0, width // 2):
                    choice = shift, (place - at + shift) // width
                    votes[choice] += 1
                    seeds.setdefault(choice, _Seed(at, place))
        best = sorted(votes, key=lambda choice: (-votes[choice], abs(seeds[choice].origin - near)))
        return list(dict.fromkeys(seeds[choice] for choice in best))[:_MOST_COMPARED]

    def _grow(
        self, wanted: str, seed: _Seed, start: int, end: int, most: int, effort: Effort
    ) -> Similar | None:
        """The part around `seed` that is similar to all of `wanted`, with at most `most` errors."""
        text_before = self.text[max(start, seed.origin - most) : seed.place]
        before = _compare(wanted[: seed.at][::-1], text_before[::-1], most, effort)
        if before is None:
            return None
        text_after = self.text[seed.place : min(end, seed.origin + len(wanted) + most)]
        after = _compare(wanted[seed.at :], text_after, most - before.errors, effort)
        if after is None:
            return None
        return Similar(seed.place - before.end, seed.place + after.end, before.errors + after.errors)


def _nearest(places: list[int], first: int, last: int, near: int) -> list[int]:
    """A bounded number of the sorted `places` from `first` to `last`, those around `near`."""
    low, high = bisect_left(places, first), bisect_left(places, last + 1)
    middle = bisect_left(places, near, low, max(low, high))
    low = max(low, min(middle - _MOST_VOTES // 2, high - _MOST_VOTES))
    return places[low : min(high, low + _MOST_VOTES)]


def _compare(wanted: str, text: str, most: int, effort: Effort) -> Similar | None:
    """The start of `text` that is `wanted` but for the fewest errors; None for more than `most`.

    Ukkonen's way: for each number of errors, how far one gets on each diagonal, which is by how many
    characters `text` is ahead. That takes the length of `wanted` and the square of `most` at the worst.
    """
    reached = {0: _slide(wanted, text, 0, 0)}
    for errors in range(most + 1):
        arrived = [ahead for ahead, at in reached.items() if at == len(wanted)]
        if arrived:
            return Similar(0, len(wanted) + min(arrived, key=abs), errors)
        effort.left -= len(reached)
        if effort.left < 0 or (errors >= 8 and max(reached.values(), default=0) < 2 * errors):
            return None
        reached = _next_reached(wanted, text, reached, errors + 1)
    return None


def _next_reached(wanted: str, text: str, reached: dict[int, int], errors: int) -> dict[int, int]:
    """How far one gets with one more error: a changed, an added or a dropped character."""
    result: dict[int, int] = {}
    for ahead in range(-errors, errors + 1):
        ways = (reached.get(ahead, -2) + 1, reached.get(ahead - 1, -1), reached.get(ahead + 1, -2) + 1)
        possible = [at for at in ways if 0 <= at <= len(wanted) and 0 <= at + ahead <= len(text)]
        if possible:
            result[ahead] = _slide(wanted, text, max(possible), ahead)
    return result


def _slide(wanted: str, text: str, at: int, ahead: int) -> int:
    """How far the two are the same from ``wanted[at]`` and ``text[at + ahead]`` on."""
    end = min(len(wanted), len(text) - ahead)
    while at + _CHUNK <= end and wanted[at : at + _CHUNK] == text[at + ahead : at + ahead + _CHUNK]:
        at += _CHUNK
    while at < end and wanted[at] == text[at + ahead]:
        at += 1
    return at
