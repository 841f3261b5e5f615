"""Edits one after the other as edits at once."""

from collections.abc import Iterator
from dataclasses import dataclass

from mdplan.text.edit import EditList, TextEdit
from mdplan.text.span import Span


@dataclass(frozen=True, slots=True)
class _Piece:
    """Part of a text: kept from ``[start, end)`` of the base, or new."""

    start: int
    end: int
    new_text: str = ""

    def __len__(self) -> int:
        return len(self.new_text) or self.end - self.start

    def cut(self, start: int, end: int) -> "_Piece":
        """Code points ``[start, end)`` of this piece."""
        if self.new_text:
            return _Piece(0, 0, self.new_text[start:end])
        return _Piece(self.start + start, self.start + end)


def compose(first: EditList, then: EditList, base_length: int) -> EditList:
    """Edits of the base that give what `first`, and `then` on its result, give one after the other.

    `base_length` is that of the base, in code points.
    """
    pieces: list[_Piece] = []
    intermediate = _pieces(first, base_length)
    reader = _Reader(intermediate)
    for edit in then:
        pieces += reader.take(edit.span.start)
        list(reader.take(edit.span.end))
        if edit.new_text:
            pieces.append(_Piece(0, 0, edit.new_text))
    pieces += reader.rest()
    return _edits(pieces, base_length)


def _pieces(edits: EditList, base_length: int) -> Iterator[_Piece]:
    """The result of `edits` as pieces, none of them empty."""
    at = 0
    for edit in edits:
        if edit.span.start > at:
            yield _Piece(at, edit.span.start)
        if edit.new_text:
            yield _Piece(0, 0, edit.new_text)
        at = edit.span.end
    if base_length > at:
        yield _Piece(at, base_length)


class _Reader:
    """Pieces of a text, read from left to right up to given offsets."""

    def __init__(self, pieces: Iterator[_Piece]) -> None:
        self._pieces = pieces
        self._piece: _Piece | None = next(pieces, None)
        self._offset = 0

    def take(self, end: int) -> Iterator[_Piece]:
        """Pieces up to the offset `end`."""
        while self._piece is not None and self._offset < end:
            length = min(len(self._piece), end - self._offset)
            yield self._piece.cut(0, length)
            self._offset += length
            whole = length == len(self._piece)
            self._piece = next(self._pieces, None) if whole else self._piece.cut(length, len(self._piece))

    def rest(self) -> Iterator[_Piece]:
        """All pieces that are left."""
        if self._piece is not None:
            yield self._piece
        yield from self._pieces


def _edits(pieces: list[_Piece], base_length: int) -> EditList:
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
