"""The lines of a hunk that one edit made, with those around them: edits next to each other share a hunk."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from mdplan.review.plan_review import ReviewedHunk

# As many as a unified diff has.
_CONTEXT: Final = 3


def parts_of_edit(hunk: ReviewedHunk, edit: int) -> Iterator[ReviewedHunk]:
    """Hunks of the lines that the edit of that index made in `hunk`, each with up to three lines around."""
    own = [at for at, line in enumerate(hunk.lines) if edit in line.edits]
    spans: list[tuple[int, int]] = []
    for at in own:
        first, end = max(at - _CONTEXT, 0), min(at + _CONTEXT + 1, len(hunk.lines))
        if spans and first <= spans[-1][1]:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((first, end))
    for first, end in spans:
        yield _part(hunk, first, end)


def _part(hunk: ReviewedHunk, first: int, end: int) -> ReviewedHunk:
    lines = hunk.lines[first:end]
    old = [line.old_line for line in lines if line.old_line is not None]
    new = [line.new_line for line in lines if line.new_line is not None]
    is_changed_before = any(line.sign != " " for line in hunk.lines[:first])
    return replace(
        hunk,
        old_start=old[0] if old else _before(hunk, first, is_old=True),
        old_count=len(old),
        new_start=new[0] if new else _before(hunk, first, is_old=False),
        new_count=len(new),
        # It is that of the first changed line.
        section=() if is_changed_before else hunk.section,
        edits=tuple(sorted({edit for line in lines for edit in line.edits})),
        is_derived=any(line.sign != " " and not line.edits for line in lines),
        lines=lines,
    )


def _before(hunk: ReviewedHunk, first: int, *, is_old: bool) -> int:
    """The last line of a side before the line at `first`, as a unified diff names an empty side."""
    numbers = (line.old_line if is_old else line.new_line for line in reversed(hunk.lines[:first]))
    start = hunk.old_start if is_old else hunk.new_start
    count = hunk.old_count if is_old else hunk.new_count
    return next((number for number in numbers if number is not None), start - 1 if count else start)
