"""Places of a text that are nearly a given one."""

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

from mdplan.text.span import Span

_SHORTEST: Final = 8
_LONGEST: Final = 4_000
# Of a longer text the start is searched for: the work grows with the product of both lengths.
_LONGEST_START: Final = 256
# One difference in so many characters is still similar, after the first few.
_PER_ERROR: Final = 4
_EXACT: Final = 4
_MOST_ERRORS: Final = 64
_MOST_PLACES: Final = 3
_MOST_SEARCHES: Final = 8


@dataclass(frozen=True, slots=True, order=True)
class SimilarMatch:
    """A part ``[start, end)`` of a text, and the fewest characters to change, add or drop in it."""

    start: int
    end: int
    errors: int

    def overlaps(self, other: "SimilarMatch") -> bool:
        """Whether the two parts share a character."""
        return self.start < other.end and other.start < self.end


def find_similar(text: str, wanted: str, within: Span, near: int) -> list[SimilarMatch]:
    """The three parts of `within` in `text` that are most similar to `wanted`, and the one at `near`.

    They are disjoint. Of equally similar parts the one close to `near` comes first. A `wanted` that is so
    short that anything is similar to it, or very long, has none.
    """
    if not _SHORTEST <= len(wanted) <= _LONGEST:
        return []
    most = min((len(wanted) - _EXACT) // _PER_ERROR, _MOST_ERRORS)
    found: list[SimilarMatch] = []
    best: list[tuple[int, int, SimilarMatch, Span]] = []

    def search(region: Span) -> None:
        similar = _best(text, wanted, region, most)
        if similar is not None:
            heappush(best, (similar.errors, abs(similar.start - near), similar, region))

    search(within)
    for _ in range(_MOST_SEARCHES):
        if not best or len(found) == _MOST_PLACES:
            break
        _, _, similar, region = heappop(best)
        if similar.errors <= most:
            found.append(similar)
        search(Span(region.start, similar.start))
        search(Span(similar.end, region.end))
    around = Span(max(within.start, near - most), min(within.end, near + len(wanted) + most))
    here = _best(text, wanted, around, most)
    if here is not None and here.errors <= most and not any(map(here.overlaps, found)):
        found.append(here)
    return found


def _best(text: str, wanted: str, region: Span, most: int) -> SimilarMatch | None:
    """The part of `region` that is most like `wanted`; None where all of it differs far more than `most`."""
    from rapidfuzz import fuzz
    from rapidfuzz.distance import Levenshtein

    if region.end - region.start < len(wanted) - most:
        return None
    searched = wanted[:_LONGEST_START]
    cutoff = max(100 * (1 - 2 * most / len(searched)), 1)
    part = fuzz.partial_ratio_alignment(searched, text[region.start : region.end], score_cutoff=cutoff)
    if part is None:
        return None
    first = region.start + part.dest_start
    last = min(first + len(wanted), region.end)

    # The aligned part is as long as `wanted`; where characters were added or dropped, its ends are elsewhere.
    def cost(start: int, end: int) -> tuple[int, int]:
        return Levenshtein.distance(wanted, text[start:end]), abs(end - start - len(wanted))

    ends = range(max(first, last - most), min(region.end, last + most) + 1)
    last = min(ends, key=lambda end: cost(first, end))
    starts = range(max(region.start, first - most), min(last, first + most) + 1)
    first = min(starts, key=lambda start: cost(start, last))
    errors, _ = cost(first, last)
    return SimilarMatch(first, last, errors)
