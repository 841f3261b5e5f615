"""An enclosure as a value: text between two tags around Markdown, and the tags."""

from dataclasses import dataclass

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
        """Where the first tag in `span` starts of which the other half is outside it; None without one."""
        crossing = [
            tag.start
            for pair in self.pairs
            for tag, other in (pair, pair[::-1])
            if span.start <= tag.start < span.end and not span.start <= other.start < span.end
        ]
        return min(crossing, default=None)
