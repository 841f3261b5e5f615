"""Which files stand on which page of a plan, so that a page stays small whatever the plan is.

Pages are made from the sums of the plan alone: no text is read for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from mdplan.review.plan_review import ReviewedFile

# Lines that one page shows of all files, and of one file before the rest of it is on pages of its own.
LINES_OF_A_PAGE: Final = 400
LINES_OF_A_FILE: Final = 250
EDITS_OF_A_FILE: Final = 60
_FILES_OF_A_PAGE: Final = 30
# Lines around a change, and the height of what names a file.
_AROUND: Final = 12
# What is above the lines of an edit is as much on the page as this many lines.
_LINES_OF_AN_EDIT: Final = 4

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Some of several pages: `number` is 1-based, `count` at least 1."""

    items: Sequence[Item]
    number: int
    count: int


def page_of_files(files: Sequence[ReviewedFile], number: int) -> Page[ReviewedFile]:
    """The files of page `number`, or of the nearest page that there is."""
    pages: list[list[ReviewedFile]] = [[]]
    used = 0
    for file in files:
        height = _height(file)
        if pages[-1] and (used + height > LINES_OF_A_PAGE or len(pages[-1]) == _FILES_OF_A_PAGE):
            pages.append([])
            used = 0
        pages[-1].append(file)
        used += height
    return _chosen(pages, number)


def page_of_slices(items: Sequence[Item], size: int, number: int) -> Page[Item]:
    """Page `number` of `items`, `size` on each, or the nearest page that there is."""
    slices = [items[start : start + size] for start in range(0, len(items), size)]
    return _chosen(slices, number)


def _chosen(pages: Sequence[Sequence[Item]], number: int) -> Page[Item]:
    count = max(1, len(pages))
    at = min(max(number, 1), count)
    return Page(pages[at - 1] if pages else (), at, count)


def _height(file: ReviewedFile) -> int:
    lines = file.lines_added + file.lines_removed + _AROUND
    edits = min(len(file.edits), EDITS_OF_A_FILE) * _LINES_OF_AN_EDIT
    return min(lines, LINES_OF_A_FILE) + edits
