"""Which text edits a changed line of a diff has to do with."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from mdplan.review.edit_places import EditedLines, EditPlaces, Owners
from mdplan.review.file_sides import FileSides
from mdplan.text.source import Source, visible


@dataclass(frozen=True)
class LinePlaces:
    """The text edits of `sides`, and who made them. Places of lines are bytes of the UTF-8 view."""

    sides: FileSides
    made: EditPlaces

    def of_old(self, start: int, end: int) -> Owners:
        """The edits that took the bytes ``[start, end)`` of the base, which are a line."""
        return self._named(_meeting(self._old_starts, self._old_ends, start, end), self._claimed, start, end)

    def of_new(self, start: int, end: int) -> Owners:
        """The edits that wrote the bytes ``[start, end)`` of the result, which are a line."""
        return self._named(_meeting(self._new_starts, self._new_ends, start, end), self._written, start, end)

    def is_derived(self, start: int, end: int) -> bool:
        """Whether text edits that nobody asked for are in the bytes ``[start, end)`` of the base."""
        owners = self.made.owners
        return any(not owners[index] for index in _meeting(self._old_starts, self._old_ends, start, end))

    def section(self, old: tuple[int, int], new: tuple[int, int]) -> tuple[str, ...]:
        """Heading path of the first change in those bytes of the base and of the result.

        In the result, or in the base where text is only removed. INI and plain text have none.
        """
        sides = self.sides
        index = next(_meeting(self._old_starts, self._old_ends, *old), None)
        index = next(_meeting(self._new_starts, self._new_ends, *new), 0) if index is None else index
        edit = sides.edits.edits[index]
        written = edit.new_text.lstrip()
        if written:
            # Line ends before a heading that is inserted belong to the section before it.
            lead = len(edit.new_text) - len(written)
            path = sides.result_outline.section_at(self._result_starts[index] + lead).path
        else:
            path = sides.base_outline.section_at(edit.span.start).path
        return tuple(map(visible, path))

    @cached_property
    def _result_starts(self) -> list[int]:
        return [span.start for span in self.sides.edits.result_spans]

    @cached_property
    def old_lines(self) -> list[int]:
        """Where the lines of the base start, and after them where it ends."""
        return _line_starts(self.sides.view.data)

    @cached_property
    def new_lines(self) -> list[int]:
        """Where the lines of the result start, and after them where it ends."""
        return _line_starts(self.sides.result_view.data)

    def _named(self, indexes: Iterator[int], places: "_Places", start: int, end: int) -> Owners:
        """Owners of the text edits at `indexes`; of several those whose `places` are on the line, if any."""
        owners = {edit for index in indexes for edit in self.made.owners[index]}
        near = owners & places.edits_in(start, end) if len(owners) > 1 else owners
        return tuple(sorted(near or owners))

    @cached_property
    def _claimed(self) -> "_Places":
        return _Places.of(self.made.claimed, self.sides.view)

    @cached_property
    def _written(self) -> "_Places":
        return _Places.of(self.made.written, self.sides.result_view)

    @cached_property
    def _old_starts(self) -> list[int]:
        return [edit.start for edit in self.sides.byte_edits]

    @cached_property
    def _old_ends(self) -> list[int]:
        return [edit.end for edit in self.sides.byte_edits]

    @cached_property
    def _new_starts(self) -> list[int]:
        growth = (len(edit.new) - (edit.end - edit.start) for edit in self.sides.byte_edits)
        shifts = accumulate(growth, initial=0)
        return [edit.start + shift for edit, shift in zip(self.sides.byte_edits, shifts, strict=False)]

    @cached_property
    def _new_ends(self) -> list[int]:
        return [
            start + len(edit.new) for start, edit in zip(self._new_starts, self.sides.byte_edits, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class _Places:
    """Sorted places of edits, as bytes. `latest` is the greatest end of each place and those before it."""

    places: Sequence[EditedLines]
    starts: Sequence[int]
    latest: Sequence[int]

    @classmethod
    def of(cls, places: Sequence[EditedLines], view: Source) -> "_Places":
        """`places` of the text of `view`."""
        offsets = sorted({at for place in places for at in place[:2]})
        bytes_at = dict(zip(offsets, view.byte_offsets(offsets), strict=True))
        found = [EditedLines(bytes_at[place.start], bytes_at[place.end], place.edit) for place in places]
        latest = list(accumulate((place.end for place in found), max))
        return cls(found, [place.start for place in found], latest)

    def edits_in(self, start: int, end: int) -> set[int]:
        """The edits that have a byte of ``[start, end)`` in a place."""
        first, last = bisect_right(self.latest, start), bisect_left(self.starts, end)
        return {place.edit for place in self.places[first:last] if place.end > start}


def _meeting(starts: Sequence[int], ends: Sequence[int], start: int, end: int) -> Iterator[int]:
    """Indexes of the ranges that share a byte with ``[start, end)``; where none does, of those that touch it.

    A diff may show a line that was there already as the new one, when an equal line was put next to it.
    """
    first = bisect_left(ends, start)
    last = bisect_right(starts, end)
    inside = [index for index in range(first, last) if starts[index] < end and ends[index] > start]
    yield from inside or range(first, last)


def _line_starts(data: bytes) -> list[int]:
    starts = [0]
    at = data.find(b"\n")
    while at >= 0:
        starts.append(at + 1)
        at = data.find(b"\n", at + 1)
    if starts[-1] != len(data):
        starts.append(len(data))
    return starts
