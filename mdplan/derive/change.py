"""The change of a document: both versions, and the runs of lines that differ."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from mdplan.markdown.outline.outline import Outline
from mdplan.text.diff.line_blocks import LineComparison
from mdplan.text.span import Span

# One run of changed lines is compared as one block where the lines of both sides would need more work.
_COMPARISONS = 1_000_000


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines ``[old_start, old_end)`` of the old version that became ``[new_start, new_end)``; 0-based.

    `floor` and `ceiling` are lines of the old version: between them nothing but this hunk changes.
    """

    index: int
    old_start: int
    old_end: int
    new_start: int
    new_end: int
    floor: int
    ceiling: int


class Change:
    """What turns the outline `old` into `new`, a document called `name`."""

    def __init__(self, old: Outline, new: Outline, name: str) -> None:
        """Compare the lines of both, with their line ends."""
        self.old = old
        self.new = new
        self.name = name
        self.old_lines = _lines(old)
        self.new_lines = _lines(new)
        self.hunks = tuple(self._compare())

    @cached_property
    def repeats(self) -> Counter[str]:
        """How often each line of the old version occurs, without its line end."""
        return Counter(line.rstrip("\r\n") for line in self.old_lines)

    def old_span(self, first: int, end: int) -> Span:
        """Span of the old lines ``[first, end)``."""
        starts = self._old_starts
        return Span(starts[first], starts[end])

    def old_text(self, first: int, end: int) -> str:
        """Text of the old lines ``[first, end)``."""
        return "".join(self.old_lines[first:end])

    def new_text(self, hunk: Hunk) -> str:
        """The lines that `hunk` writes."""
        return "".join(self.new_lines[hunk.new_start : hunk.new_end])

    def text_with(self, hunks: Iterable[Hunk]) -> str:
        """The old text after these hunks alone, which are in order."""
        parts: list[str] = []
        at = 0
        for hunk in hunks:
            parts += self.old_lines[at : hunk.old_start]
            parts += self.new_lines[hunk.new_start : hunk.new_end]
            at = hunk.old_end
        return "".join((*parts, *self.old_lines[at:]))

    def hunks_in(self, span: Span) -> tuple[Hunk, ...]:
        """Hunks whose old lines lie in `span` of the old text, insertions at its edges included."""
        starts = self._old_starts
        return tuple(
            hunk
            for hunk in self.hunks
            if span.start <= starts[hunk.old_start] and starts[hunk.old_end] <= span.end
        )

    @cached_property
    def _old_starts(self) -> list[int]:
        starts = [0]
        for line in self.old_lines:
            starts.append(starts[-1] + len(line))
        return starts

    def _compare(self) -> Collection[Hunk]:
        blocks = list(LineComparison(_COMPARISONS).differing(self.old_lines, self.new_lines))
        hunks = []
        for index, block in enumerate(blocks):
            floor = blocks[index - 1].old_end if index else 0
            ceiling = blocks[index + 1].old_start if index + 1 < len(blocks) else len(self.old_lines)
            hunks.append(Hunk(index, *block, floor, ceiling))
        return hunks


def _lines(outline: Outline) -> list[str]:
    text = outline.source.text
    return [
        text[start:end] for start, end in pairwise((*outline.source.lines.starts, len(text))) if start < end
    ]
