"""Hunks as rows of a table: one column of text, or before and after beside each other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Final

from markupsafe import Markup

from mdplan.review.plan_review import ReviewedHunk, ReviewedLine
from mdplan.web.line_html import line_html

_KINDS: Final = {" ": "same", "-": "gone", "+": "new"}
_SIGNS: Final = {" ": "", "-": "\N{MINUS SIGN}", "+": "+"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffOptions:
    """How a reader wants to see diffs."""

    is_split: bool = False
    shows_blanks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One line of one side, ready to be shown. `edits` name who made it, where that is worth saying."""

    kind: str
    sign: str
    old_line: int | None
    new_line: int | None
    html: Markup
    edits: tuple[int, ...]


Row = tuple[Cell | None, Cell | None]


def cells_of(hunk: ReviewedHunk, lines: Sequence[ReviewedLine], options: DiffOptions) -> Iterator[Cell]:
    """`lines` of `hunk`, one below the other."""
    changed_ends = {line.line_end for line in hunk.lines if line.sign != " " and line.line_end}
    names_edits = len(hunk.edits) > 1 or hunk.is_derived
    for line in lines:
        is_changed = line.sign != " "
        yield Cell(
            kind=_KINDS[line.sign],
            sign=_SIGNS[line.sign],
            old_line=line.old_line,
            new_line=line.new_line,
            html=line_html(
                line,
                shows_blanks=options.shows_blanks,
                shows_end=options.shows_blanks or (is_changed and len(changed_ends) > 1),
            ),
            edits=line.edits if names_edits and is_changed else (),
        )


def side_by_side(cells: Sequence[Cell]) -> Iterator[Row]:
    """`cells` in pairs: what stays beside itself, what goes beside what comes in its place."""
    for stays, run in groupby(cells, key=lambda cell: cell.kind == "same"):
        block = list(run)
        if stays:
            yield from ((cell, cell) for cell in block)
        else:
            gone = [cell for cell in block if cell.kind == "gone"]
            new = [cell for cell in block if cell.kind == "new"]
            yield from zip_longest(gone, new)
