"""Places in one text: offsets inside the core, lines and columns at the edges."""

from dataclasses import dataclass
from operator import attrgetter
from typing import Final


# Not frozen: an outline makes thousands, and freezing makes each one take three times as long.
@dataclass(slots=True, unsafe_hash=True, order=True)
class Span:
    """Half-open range ``[start, end)`` of code points in the text of one `Source`.

    Invariant: ``0 <= start <= end``.
    """

    start: int
    end: int

    def __post_init__(self) -> None:
        """Refuse a span that runs backwards: it could only come from a bug."""
        assert 0 <= self.start <= self.end, (self.start, self.end)

    def __len__(self) -> int:
        return self.end - self.start

    def contains(self, other: "Span") -> bool:
        """Whether `other` lies wholly inside, edges included."""
        return self.start <= other.start and other.end <= self.end

    def overlaps(self, other: "Span") -> bool:
        """Whether the two share at least one code point; spans that only touch do not."""
        return self.start < other.end and other.start < self.end


# To sort by it costs a fifth of what it takes to compare spans.
BY_PLACE: Final = attrgetter("start", "end")


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Place of a code point for people: `line` and `col` are 1-based, columns count code points."""

    line: int
    col: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Whole lines, 1-based and inclusive."""

    start: int
    end: int
