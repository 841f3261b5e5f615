"""A region as a value: text between a pair of marker comments."""

from dataclasses import dataclass
from functools import cached_property

from mdplan.text.lines import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionMarker:
    """One marker comment. `line` is 1-based, `is_start` tells the two edges of a region apart."""

    name: str
    is_start: bool
    span: Span
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A pair of markers of one name."""

    name: str
    start: RegionMarker
    end: RegionMarker

    @property
    def inside(self) -> Span:
        """What is between the two comments, with the line end after the first."""
        return Span(self.start.span.end, self.end.span.start)


@dataclass(frozen=True)
class Regions:
    """All pairs in the order of their start, and the markers that miss the other half, in order."""

    pairs: tuple[Region, ...] = ()
    unpaired: tuple[RegionMarker, ...] = ()

    @cached_property
    def by_name(self) -> dict[str, tuple[Region, ...]]:
        """Pairs by their name, in the order in which each name occurs first."""
        named: dict[str, list[Region]] = {}
        for region in self.pairs:
            named.setdefault(region.name, []).append(region)
        return {name: tuple(regions) for name, regions in named.items()}
