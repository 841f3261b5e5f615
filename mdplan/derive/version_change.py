"""The change of a document: both versions, and the runs of lines that differ."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise

from mdplan.markdown.outline.outline import Outline
from mdplan.text.diff.line_blocks import ComparedBlock, LineComparison
from mdplan.text.span import Span

# One run of changed lines is compared as one block where the lines of both sides would need more work.
_COMPARISONS = 1_000_000


@dataclass(frozen=True, slots=True)
class ChangedRun:
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

    @property
    def is_insertion(self) -> bool:
        """Whether nothing goes."""
        return self.old_start == self.old_end

    def grown(self, before: int, after: int) -> "ChangedRun":
        """The hunk with so many unchanged lines before and after it."""
        return replace(
            self,
            old_start=self.old_start - before,
            old_end=self.old_end + after,
            new_start=self.new_start - before,
            new_end=self.new_end + after,
        )

    def joined(self, last: "ChangedRun") -> "ChangedRun":
        """One hunk of this one, `last` and all between them."""
        return replace(self, old_end=last.old_end, new_end=last.new_end, ceiling=last.ceiling)


class Change:
    """The change from the outline `old` to `new` of the document `name`."""

    def __init__(self, old: Outline, new: Outline, name: str, *, by_headings: bool = False) -> None:
        """Compare the lines of both, with their line ends; between the same headings, where `by_headings`."""
        self.old = old
        self.new = new
        self.name = name
        self.old_lines = _lines(old)
        self.new_lines = _lines(new)
        self.hunks = tuple(self._compare(_anchors(old, new) if by_headings else ()))

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

    def new_text(self, hunk: ChangedRun) -> str:
        """The lines that `hunk` writes."""
        return "".join(self.new_lines[hunk.new_start : hunk.new_end])

    def is_heading(self, line: int) -> bool:
        """Whether `line` of the old version, 0-based, is a heading or a part of one."""
        return line + 1 in self._heading_lines[0]

    def has_heading(self, hunk: ChangedRun) -> bool:
        """Whether `hunk` writes a heading."""
        return any(hunk.new_start < line <= hunk.new_end for line in self._heading_lines[1])

    def text_with(self, hunks: Iterable[ChangedRun]) -> str:
        """The old text after these hunks alone, which are in order."""
        parts: list[str] = []
        at = 0
        for hunk in hunks:
            parts += self.old_lines[at : hunk.old_start]
            parts += self.new_lines[hunk.new_start : hunk.new_end]
            at = hunk.old_end
        return "".join((*parts, *self.old_lines[at:]))

    @cached_property
    def _old_starts(self) -> list[int]:
        return list(accumulate(map(len, self.old_lines), initial=0))

    @cached_property
    def _heading_lines(self) -> tuple[frozenset[int], frozenset[int]]:
        """The 1-based lines of the headings of both versions."""
        old, new = (
            frozenset(
                line
                for section in outline.sections
                if section.heading is not None
                for line in range(section.heading.first_line, section.heading.last_line + 1)
            )
            for outline in (self.old, self.new)
        )
        return old, new

    def _compare(self, anchors: Sequence[tuple[int, int]]) -> Collection[ChangedRun]:
        """The hunks; lines at `anchors`, of both versions, are the same one."""
        blocks: list[ComparedBlock] = []
        ends = (len(self.old_lines), len(self.new_lines))
        for (old, new), (old_end, new_end) in pairwise(((0, 0), *anchors, ends)):
            lines = self.old_lines[old:old_end], self.new_lines[new:new_end]
            blocks += [
                ComparedBlock(
                    block.old_start + old, block.old_end + old, block.new_start + new, block.new_end + new
                )
                for block in LineComparison(_COMPARISONS).differing(*lines)
            ]
        hunks = []
        for index, block in enumerate(blocks):
            floor = blocks[index - 1].old_end if index else 0
            ceiling = blocks[index + 1].old_start if index + 1 < len(blocks) else len(self.old_lines)
            hunks.append(ChangedRun(index, *block, floor, ceiling))
        return hunks


def _anchors(old: Outline, new: Outline) -> list[tuple[int, int]]:
    """0-based lines of the headings that both have, in the same order."""
    before, after = (_headings(outline) for outline in (old, new))
    anchors = []
    at = 0
    shift = 0
    blocks = LineComparison(_COMPARISONS).differing([text for _, text in before], [text for _, text in after])
    for start, end, _, last in (*blocks, (len(before), len(before), len(after), len(after))):
        anchors += [(before[index][0], after[index + shift][0]) for index in range(at, start)]
        at, shift = end, last - end
    return anchors


def _headings(outline: Outline) -> list[tuple[int, str]]:
    """The 0-based line of each heading, and what it says."""
    lines = outline.source.lines
    return [
        (section.heading_line - 1, lines.content(section.heading_line))
        for section in outline.sections
        if section.heading is not None
    ]


def _lines(outline: Outline) -> list[str]:
    text = outline.source.text
    return [
        text[start:end] for start, end in pairwise((*outline.source.lines.starts, len(text))) if start < end
    ]
