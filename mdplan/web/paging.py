"""How much of a plan one answer holds, so that it stays small whatever the plan is.

A plan is one page. Its first files come with the page, the others when the reader gets to them. That is
decided by the sums of the plan alone: no text is read for it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from mdplan.review.plan_review import ReviewedFile

# Lines of all files that come with a plan, of one page of a file alone, and of one file before the reader
# asks for more of it.
FIRST_LINES: Final = 200
LINES_OF_A_PAGE: Final = 400
LINES_OF_A_FILE: Final = 250
# Files that one page names. A plan of more has several pages.
FILES_OF_A_PAGE: Final = 500
# Files that one answer brings after the page.
MOST_FILES_OF_AN_ANSWER: Final = 10
# Lines around a change, and the height of what names a file.
_AROUND: Final = 12
# What is above the lines of an edit is as much on the page as this many lines.
_LINES_OF_AN_EDIT: Final = 2

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Some of several pages: `number` is 1-based, `count` at least 1."""

    items: Sequence[Item]
    number: int
    count: int


def page_of_slices(items: Sequence[Item], size: int, number: int) -> Page[Item]:
    """Page `number` of `items`, `size` on each, or the nearest page that there is."""
    count = max(1, -(-len(items) // size))
    at = min(max(number, 1), count)
    return Page(items[(at - 1) * size : at * size], at, count)


def first_files(files: Iterable[ReviewedFile]) -> Iterator[ReviewedFile]:
    """The first of `files`, as many as come with the page."""
    used = 0
    for file in files:
        if used >= FIRST_LINES:
            return
        used += height_of(file)
        yield file


def height_of(file: ReviewedFile) -> int:
    """About how many lines high a file is on the page."""
    lines = file.lines_added + file.lines_removed + _AROUND
    return min(lines, LINES_OF_A_FILE) + len(file.edits) * _LINES_OF_AN_EDIT
