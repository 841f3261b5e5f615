"""Edits of a text as values: sort, apply, invert and compose them, and map offsets through them."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Self

from mdplan.text.lines import BY_PLACE, Span
from mdplan.values import Struct


class TextEdit(Struct, order=True):
    """Replace `span` of the base text by `new_text`."""

    span: Span
    new_text: str

    @classmethod
    def insert(cls, offset: int, text: str) -> Self:
        """Insert `text` before the character at `offset`."""
        return cls(Span(offset, offset), text)

    @classmethod
    def delete(cls, span: Span) -> Self:
        """Delete `span`."""
        return cls(span, "")


class Overlap(Struct):
    """Two edits of the same characters, by index in the given sequence."""

    first: int
    second: int


class EditList(Struct, dict=True):
    """Edits of one text, sorted by span and disjoint; build it with `of`.

    Insertions at the same offset keep their given order, before a replacement that starts there.
    """

    edits: tuple[TextEdit, ...] = ()

    @classmethod
    def of(cls, edits: Iterable[TextEdit]) -> "EditList | Overlap":
        """Sort `edits`; return `Overlap` for edits that share a character or insert inside another's span."""
        given = list(edits)
        places = [BY_PLACE(edit.span) for edit in given]
        order = sorted(range(len(given)), key=places.__getitem__)
        for left, right in pairwise(order):
            if given[right].span.start < given[left].span.end:
                return Overlap(min(left, right), max(left, right))
        return cls(tuple(given[index] for index in order))

    def __len__(self) -> int:
        return len(self.edits)

    def __iter__(self) -> Iterator[TextEdit]:
        return iter(self.edits)

    def apply(self, text: str) -> str:
        """Return `text` with all edits applied."""
        pieces: list[str] = []
        at = 0
        for edit in self.edits:
            pieces += (text[at : edit.span.start], edit.new_text)
            at = edit.span.end
        pieces.append(text[at:])
        return "".join(pieces)

    @property
    def growth(self) -> int:
        """The number of characters that the edits add."""
        return self._growth[-1]

    def touching(self, span: Span) -> tuple[TextEdit, ...]:
        """Return the edits that replace text of `span`, or insert strictly inside it."""
        first = bisect_right(self.edits, span.start, key=lambda edit: edit.span.end)
        last = bisect_left(self.edits, span.end, key=lambda edit: edit.span.start)
        return self.edits[first:last]

    def invert(self, text: str) -> "EditList":
        """Return the edits that turn the result back into the base `text`."""
        return EditList(
            tuple(
                TextEdit(span, text[edit.span.start : edit.span.end])
                for edit, span in zip(self.edits, self.result_spans, strict=True)
            )
        )

    @cached_property
    def result_spans(self) -> tuple[Span, ...]:
        """The span of each edit's new text in the result, in order."""
        return tuple(
            Span(edit.span.start + shift, edit.span.start + shift + len(edit.new_text))
            for edit, shift in zip(self.edits, self._growth, strict=False)
        )

    def map_offset(self, offset: int, *, after: bool = False) -> int | None:
        """Map `offset` of the base to the result; None inside replaced text.

        At an insertion, `after` maps to the end of the new text, else to its start. So `after` follows the
        character after the offset, and None means that it was deleted; otherwise the character before is
        followed, and the start of replaced text still maps.
        """
        index = bisect_right(self._starts, offset)
        if not after:
            while index and self.edits[index - 1].span.start == offset:
                index -= 1
        if index and offset < self.edits[index - 1].span.end:
            return None
        return offset + self._growth[index]

    def unmap_offset(self, offset: int) -> int | None:
        """Map `offset` of the result to the base; None inside new text."""
        spans = self.result_spans
        index = bisect_right(spans, offset, key=lambda span: span.start) - 1
        if index < 0:
            return offset
        if spans[index].start < offset < spans[index].end:
            return None
        if offset == spans[index].start:
            return self.edits[index].span.start
        return self.edits[index].span.end + offset - spans[index].end

    @cached_property
    def _starts(self) -> list[int]:
        return [edit.span.start for edit in self.edits]

    @cached_property
    def _growth(self) -> list[int]:
        """The growth after the first n edits, for n from 0."""
        return [0, *accumulate(len(edit.new_text) - len(edit.span) for edit in self.edits)]


# --- Composing two edit lists


class _Piece(Struct):
    """Part of a text: ``[start, end)`` of the base, or new."""

    start: int
    end: int
    new_text: str = ""

    def __len__(self) -> int:
        return len(self.new_text) or self.end - self.start

    def cut(self, start: int, end: int) -> "_Piece":
        """Return characters ``[start, end)`` of this piece."""
        if self.new_text:
            return _Piece(0, 0, self.new_text[start:end])
        return _Piece(self.start + start, self.start + end)


def compose(first: EditList, then: EditList, base_length: int) -> EditList:
    """Compose `first`, and `then` on its result, into one edit list.

    `base_length` is in characters.
    """
    pieces = list(_pieces(first, base_length))
    ends = list(accumulate(map(len, pieces)))

    def between(start: int, end: int) -> Iterator[_Piece]:
        """Yield the pieces of the result of `first` from `start` to `end`."""
        for index in range(bisect_right(ends, start), len(pieces)):
            piece, begin = pieces[index], ends[index] - len(pieces[index])
            if begin >= end:
                break
            yield piece.cut(max(start - begin, 0), min(end - begin, len(piece)))

    made: list[_Piece] = []
    at = 0
    for edit in then:
        made += between(at, edit.span.start)
        made += [_Piece(0, 0, edit.new_text)] if edit.new_text else []
        at = edit.span.end
    made += between(at, ends[-1] if ends else 0)
    return _edits(made, base_length)


def _pieces(edits: EditList, base_length: int) -> Iterator[_Piece]:
    """Yield the result of `edits` as non-empty pieces."""
    at = 0
    for edit in edits:
        if edit.span.start > at:
            yield _Piece(at, edit.span.start)
        if edit.new_text:
            yield _Piece(0, 0, edit.new_text)
        at = edit.span.end
    if base_length > at:
        yield _Piece(at, base_length)


def _edits(pieces: list[_Piece], base_length: int) -> EditList:
    """Return the edits whose result is `pieces`."""
    edits: list[TextEdit] = []
    at = 0
    new: list[str] = []
    for piece in (*pieces, _Piece(base_length, base_length)):
        if piece.new_text:
            new.append(piece.new_text)
            continue
        if piece.start > at or new:
            edits.append(TextEdit(Span(at, piece.start), "".join(new)))
            new = []
        at = piece.end
    return EditList(tuple(edits))
