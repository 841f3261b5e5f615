"""Sections, made of the headings of a document when somebody asks for them."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import overload

from mdplan.markdown.blocks.heading_rows import HeadingTable
from mdplan.markdown.outline.anchor_lines import anchors_in, lead_starts
from mdplan.markdown.outline.heading_tree import HeadingTree
from mdplan.markdown.outline.section import Section
from mdplan.markdown.section_id import section_id
from mdplan.text.source import Source
from mdplan.text.span import Span


class SectionTable:
    """Every section of a document; the same one is made once.

    `body` reaches from the end of the front matter to where the last section ends. Sections go by the number
    of their heading in `rows` and `tree`.
    """

    def __init__(
        self, rows: HeadingTable, tree: HeadingTree, source: Source, body: Span, tails: Mapping[int, int]
    ) -> None:
        """Table of the headings in `rows`, of which `tree` is made, in `source`."""
        self.rows = rows
        self.tree = tree
        self._text = source.text
        self._lines = source.lines
        self._body = body
        # By the number of a top-level heading, where the line of attributes below it ends.
        self.tails = tails
        self._made: dict[int, Section] = {}

    @cached_property
    def preamble(self) -> Section:
        """Text before the first top-level heading."""
        body, tops = self._body, self.tree.tops
        end = min(self._start_of(tops[0]), body.end) if tops else body.end
        span = Span(body.start, max(end, body.start))
        return Section(
            rows=self.rows,
            number=None,
            index=0,
            level=0,
            title="",
            path=(),
            section_id=section_id(()),
            ordinal=1,
            repeats=1,
            anchor=None,
            span=span,
            body=span,
            first_line=self._first_line(span.start) if len(span) else 0,
            last_line=self._last_line_before(span.end) if len(span) else 0,
            parent=None,
        )

    def section(self, number: int) -> Section:
        """The section of the heading with this number."""
        found = self._made.get(number)
        return next(self.every((number,))) if found is None else found

    def every(self, numbers: Iterable[int]) -> Iterator[Section]:
        """The sections of the headings with these numbers, in their order."""
        rows, tree, made, texts = self.rows, self.tree, self._made, self.rows.texts
        (bounds, lines), tops = self._bounds, tree.tops
        for number in numbers:
            if number in made:
                yield made[number]
                continue
            is_nested, index, parent = texts.depths[number] > 0, tree.indexes[number], tree.parents[number]
            end = body_end = heading_end = self.tails.get(number, rows.ends[number])
            last_line = rows.last_lines[number] + (number in self.tails)
            # Definitions at the end of the text can follow on the last heading, and belong to no section.
            if not is_nested and bounds[closer := tree.closers[number]] > end:
                end, last_line = bounds[closer], lines[closer] - 1
                body_end = bounds[tops[index] if index < len(tops) else -1]
            # By position, since to make one by the names of its fields takes three times as long.
            section = Section(
                rows,
                number,
                0 if is_nested else index,
                texts.levels[number],
                texts.titles[number],
                tree.path(number),
                tree.section_id(number),
                tree.ordinals[number],
                tree.repeats[number],
                tree.anchors[number],
                Span(rows.starts[number] if is_nested else bounds[number], end),
                Span(heading_end, body_end),
                rows.first_lines[number] if is_nested else lines[number],
                last_line,
                0 if parent is None else tree.indexes[parent],
                is_nested,
            )
            # Another thread may have been faster; sections are compared by identity.
            yield made.setdefault(number, section)

    @cached_property
    def _bounds(self) -> tuple[list[int], list[int]]:
        """Where sections start, and their first lines; behind them, where the last section ends."""
        last_line = self._lines.line_at(self._body.end - 1) if self._body.end else 0
        starts, first_lines = [*self.rows.starts, self._body.end], [*self.rows.first_lines, last_line + 1]
        for number, start in self._leads.items():
            starts[number], first_lines[number] = start, self._lines.line_at(start)
        return starts, first_lines

    @cached_property
    def _leads(self) -> dict[int, int]:
        """By the number of a top-level heading, where the anchor lines above it start."""
        starts, tops = self.rows.starts, self.tree.tops
        leads = lead_starts(self._text, [starts[number] for number in tops], self._body.start)
        return {tops[place]: start for place, start in leads.items()}

    @cached_property
    def by_lead(self) -> dict[str, int]:
        """By each anchor of the anchor lines above a heading the number of that heading."""
        return {
            anchor: number
            for number, span in reversed(list(zip(self._leads, self.lead_spans, strict=True)))
            for anchor in anchors_in(self._text[span.start : span.end])
        }

    @cached_property
    def lead_spans(self) -> list[Span]:
        """The anchor lines above headings, in order."""
        return [Span(start, self.rows.starts[number]) for number, start in self._leads.items()]

    def _start_of(self, number: int) -> int:
        return self._leads.get(number, self.rows.starts[number])

    @property
    def starts(self) -> list[int]:
        """Where the preamble and each top-level section start, in order."""
        bounds, _ = self._bounds
        return [self.preamble.span.start, *map(bounds.__getitem__, self.tree.tops)]

    def number_at(self, offset: int) -> int | None:
        """Number of the heading that starts at `offset`."""
        starts = self.rows.starts
        number = bisect_left(starts, offset)
        return number if number < len(starts) and starts[number] == offset else None

    def body_end(self, number: int) -> int:
        """Where the own body of the section of a top-level heading ends."""
        bounds, _ = self._bounds
        return max(bounds[self.tree.follower(number)], self.tails.get(number, self.rows.ends[number]))

    def _first_line(self, start: int) -> int:
        return self._lines.line_at(start) if start else 1

    def _last_line_before(self, end: int) -> int:
        first = self.tree.tops[0] if self.tree.tops else None
        if first is None or self._start_of(first) != end or first in self._leads:
            return self._lines.line_at(end - 1)
        return self.rows.first_lines[first] - 1


class Sections(Sequence[Section]):
    """Sections of a table, made when they are looked at: of the headings with the given numbers.

    The preamble is the first one where it `has_preamble`.
    """

    def __init__(self, table: SectionTable, numbers: Sequence[int], *, has_preamble: bool) -> None:
        """View of `table`."""
        self._table = table
        self._numbers = numbers
        self._before = int(has_preamble)

    def __len__(self) -> int:
        return self._before + len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> Section: ...
    @overload
    def __getitem__(self, index: slice) -> "tuple[Section, ...]": ...
    def __getitem__(self, index: int | slice) -> "Section | tuple[Section, ...]":
        if isinstance(index, slice) and not self._before:
            return tuple(map(self._table.section, self._numbers[index]))
        if isinstance(index, slice):
            return tuple(self[each] for each in range(len(self))[index])
        place = range(len(self))[index] - self._before
        return self._table.preamble if place < 0 else self._table.section(self._numbers[place])

    def __iter__(self) -> Iterator[Section]:
        if self._before:
            yield self._table.preamble
        yield from self._table.every(self._numbers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sections) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))
