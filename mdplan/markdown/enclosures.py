"""An enclosure as a value: text between two tags around Markdown, and the tags."""

from dataclasses import dataclass
from functools import cached_property

from mdplan.text.lines import Span


@dataclass(frozen=True, slots=True)
class Tag:
    """One line that opens or closes an enclosure, by its offset. `name` tells which one.

    `needs_other` says that without its other half it is an error, and not a tag that needs none.
    """

    name: str
    start: int
    line: int
    opens: bool
    needs_other: bool


@dataclass(frozen=True, slots=True)
class Enclosures:
    """The pairs of opening and closing tags, in the order of their ends, and the `lone` tags, in order."""

    pairs: tuple[tuple[Tag, Tag], ...] = ()
    lone: tuple[Tag, ...] = ()

    @property
    def unbalanced(self) -> list[Tag]:
        """Those of the `lone` tags that need another one."""
        return [tag for tag in self.lone if tag.needs_other]

    def first_crossing(self, span: Span) -> int | None:
        """Return the start of the first tag in `span` whose other half is outside it; None without one."""
        crossing = [
            tag.start
            for pair in self.pairs
            for tag, other in (pair, pair[::-1])
            if span.start <= tag.start < span.end and not span.start <= other.start < span.end
        ]
        return min(crossing, default=None)


# --- A region as a value: text between a pair of marker comments.


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
