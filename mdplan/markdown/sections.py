"""Sections, made of the headings of a document when somebody asks for them."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import overload

from mdplan.markdown.heading_rows import HeadingRows
from mdplan.markdown.heading_tree import HeadingTree
from mdplan.markdown.section import Section
from mdplan.markdown.section_id import section_id
from mdplan.text.lines import LineIndex
from mdplan.text.span import Span


class SectionTable:
    """Every section of a document; the same one is made once.

    `body` reaches from the end of the front matter to where the last section ends. Sections go by the number
    of their heading in `rows` and `tree`.
    """

    def __init__(self, rows: HeadingRows, tree: HeadingTree, lines: LineIndex, body: Span) -> None:
        """Table of the headings in `rows`, of which `tree` is made."""
        self.rows = rows
        self.tree = tree
        self._lines = lines
        self._body = body
        self._made: dict[int, Section] = {}

    @cached_property
    def preamble(self) -> Section:
        """Text before the first top-level heading."""
        body, tops = self._body, self.tree.tops
        end = min(self.rows.starts[tops[0]], body.end) if tops else body.end
        span = Span(body.start, max(end, body.start))
        return Section(
            index=0,
            level=0,
            heading=None,
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
        # Another thread may have been faster; sections are compared by identity.
        return self._made.setdefault(number, self._make(number)) if found is None else found

    def number_at(self, offset: int) -> int | None:
        """Number of the heading that starts at `offset`."""
        starts = self.rows.starts
        number = bisect_left(starts, offset)
        return number if number < len(starts) and starts[number] == offset else None

    def body_end(self, number: int) -> int:
        """Where the own body of the section of a top-level heading ends."""
        return max(self._end_at(self.tree.follower(number)), self.rows.ends[number])

    def _make(self, number: int) -> Section:
        rows, tree = self.rows, self.tree
        text, parent = rows.texts[number], tree.parents[number]
        start, heading_end = rows.starts[number], rows.ends[number]
        end = body_end = heading_end
        last_line = rows.last_lines[number]
        if not text.depth:
            # A section ends where a heading starts, or where all of them do.
            closer, body_end = tree.closers[number], self.body_end(number)
            if closer < len(rows.starts):
                end, last_line = rows.starts[closer], rows.first_lines[closer] - 1
            else:
                end, last_line = max(self._body.end, end), max(self._last_line, last_line)
        return Section(
            index=0 if text.depth else tree.indexes[number],
            level=text.level,
            heading=rows.block(number),
            title=text.title,
            path=tree.path(number),
            section_id=tree.section_id(number),
            ordinal=tree.ordinals[number],
            repeats=tree.repeats(number),
            anchor=tree.anchors[number],
            span=Span(start, end),
            body=Span(heading_end, body_end),
            first_line=rows.first_lines[number],
            last_line=last_line,
            parent=0 if parent is None else tree.indexes[parent],
            nested=text.depth > 0,
        )

    def _end_at(self, number: int) -> int:
        """Start of the heading `number`, or the end of all sections behind the last one."""
        return self.rows.starts[number] if number < len(self.rows.starts) else self._body.end

    @cached_property
    def _last_line(self) -> int:
        """Line at which all sections end."""
        return self._lines.line_at(self._body.end - 1) if self._body.end else 0

    def _first_line(self, start: int) -> int:
        return self._lines.line_at(start) if start else 1

    def _last_line_before(self, end: int) -> int:
        first = self.number_at(end)
        return self._lines.line_at(end - 1) if first is None else self.rows.first_lines[first] - 1


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
        if isinstance(index, slice):
            return tuple(self[each] for each in range(len(self))[index])
        place = range(len(self))[index] - self._before
        return self._table.preamble if place < 0 else self._table.section(self._numbers[place])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sections) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))
