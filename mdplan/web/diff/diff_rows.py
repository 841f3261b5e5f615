"""Hunks as rows of a table: one column of text, or before and after next to each other."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, takewhile
from typing import Final

from markupsafe import Markup

from mdplan.review.plan_review import ReviewedHunk, ReviewedLine
from mdplan.web.diff.line_html import line_html
from mdplan.web.diff.line_pairs import paired

_KINDS: Final = {" ": "same", "-": "gone", "+": "new"}
_SIGNS: Final = {" ": "", "-": "\N{MINUS SIGN}", "+": "+"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffOptions:
    """How a reader wants to see diffs."""

    is_split: bool = False
    shows_blanks: bool = False


@dataclass(frozen=True, slots=True)
class OtherFile:
    """The file that text of an edit goes to, or comes from: its path, its position, and the lines there."""

    path: str
    index: int
    texts: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One line of one side, ready to be shown. `edits` number who made it, where that is worth saying.

    `text` is the line without markup. `moved` is its line number on the other side, if it only moved, and
    `other` the file that it moved to or came from; `starts_move` says that it is the first of such lines.
    """

    kind: str
    sign: str
    old_line: int | None
    new_line: int | None
    text: str
    html: Markup
    edits: tuple[str, ...]
    moved: int | None
    starts_move: bool
    other: OtherFile | None = None

    @property
    def is_moved(self) -> bool:
        """Whether it only has another place."""
        return self.moved is not None or self.other is not None


Row = tuple[Cell | None, Cell | None]


def cells_of(
    hunk: ReviewedHunk,
    lines: Sequence[ReviewedLine],
    options: DiffOptions,
    numbers: Mapping[int, str],
    others: Mapping[int, OtherFile],
) -> Iterator[Cell]:
    """`lines` of `hunk`, one below the other; `numbers` are those of edits in their file.

    `others` are the files that edits move text to, or from.
    """
    changed_ends = {line.line_end for line in hunk.lines if line.sign != " " and line.line_end}
    names_edits = len(hunk.edits) > 1 or hunk.is_derived
    last_moved, last_other = None, None
    for line in lines:
        is_changed = line.sign != " "
        shows_end = options.shows_blanks or (is_changed and len(changed_ends) > 1)
        named = line.edits if names_edits and is_changed else ()
        cell = _cell(line, options, tuple(numbers[edit] for edit in named if edit in numbers), shows_end)
        other = _other(line, others)
        starts_move = line.moved is not None and last_moved != line.moved - 1
        starts_move = starts_move or (other is not None and other is not last_other)
        yield replace(cell, starts_move=starts_move, other=other) if starts_move or other else cell
        last_moved, last_other = line.moved, other


def _other(line: ReviewedLine, others: Mapping[int, OtherFile]) -> OtherFile | None:
    """The file in which the text of a changed line is as well, by the edit that moved it."""
    found = (others[edit] for edit in line.edits if edit in others)
    return next((other for other in found if line.text in other.texts), None)


def context_cells(lines: Iterable[ReviewedLine], options: DiffOptions) -> Iterator[Cell]:
    """Lines that stay as they are, between hunks."""
    for line in lines:
        yield _cell(line, options, (), options.shows_blanks)


def side_by_side(cells: Sequence[Cell]) -> Iterator[Row]:
    """`cells` in pairs: what stays next to itself, what goes next to what comes in its place.

    Moved lines have no counterpart. Unchanged blank lines belong to the changes around them, because a diff
    keeps them between different paragraphs.
    """
    for stays, run in groupby(cells, key=lambda cell: cell.kind == "same" and bool(cell.text.strip())):
        block = list(run)
        if stays or all(cell.kind == "same" for cell in block):
            yield from ((cell, cell) for cell in block)
        else:
            yield from _beside(
                [cell for cell in block if cell.kind != "new"],
                [cell for cell in block if cell.kind != "gone"],
            )


def _beside(gone: Sequence[Cell], new: Sequence[Cell]) -> Iterator[Row]:
    """The cells of both sides in rows, each in its order."""
    old_stay = [cell for cell in gone if not cell.is_moved]
    new_stay = [cell for cell in new if not cell.is_moved]
    left, right = iter(gone), iter(new)
    for old_at, new_at in paired([cell.text for cell in old_stay], [cell.text for cell in new_stay]):
        old = old_stay[old_at] if old_at is not None else None
        come = new_stay[new_at] if new_at is not None else None
        yield from ((cell, None) for cell in _until(left, old))
        yield from ((None, cell) for cell in _until(right, come))
        yield old, come
    yield from ((cell, None) for cell in left)
    yield from ((None, cell) for cell in right)


def _until(cells: Iterator[Cell], last: Cell | None) -> Iterator[Cell]:
    """The cells before `last`, which is passed as well; none where there is no `last`."""
    if last is not None:
        yield from takewhile(lambda cell: cell is not last, cells)


def _cell(line: ReviewedLine, options: DiffOptions, edits: tuple[str, ...], shows_end: bool) -> Cell:  # noqa: FBT001
    return Cell(
        kind=_KINDS[line.sign],
        sign=_SIGNS[line.sign],
        old_line=line.old_line,
        new_line=line.new_line,
        text=line.text,
        html=line_html(line, shows_blanks=options.shows_blanks, shows_end=shows_end),
        edits=edits,
        moved=line.moved,
        starts_move=False,
    )
