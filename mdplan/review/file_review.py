"""One file of a plan, line by line, with the edits after each line and the words that changed."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from mdplan.operations import moves_text
from mdplan.plan import Plan
from mdplan.review.edit_places import places_of
from mdplan.review.file_context import gaps_of, same_lines, text_and_end
from mdplan.review.file_sides import FileSides
from mdplan.review.line_places import LinePlaces
from mdplan.review.moved_lines import with_moves
from mdplan.review.plan_review import FileReview, PlanReview, ReviewedHunk, ReviewedLine
from mdplan.review.word_marks import WordMarks
from mdplan.text.diff import Hunk
from mdplan.text.lines import LineIndex

_END_NAMES: Final = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}


def review_file(plan: Plan, review: PlanReview, sides: FileSides) -> FileReview:
    """The file of `plan` that `sides` are the sides of; `review` is that of the plan."""
    file = next(file for file in review.files if file.path == sides.change.path)
    made = places_of(sides, plan.results, sequential=bool(plan.options.get("sequential")))
    places, marks = LinePlaces(sides, made), WordMarks()
    movers = frozenset(result.edit_index for result in plan.results if moves_text(result.op))
    return FileReview(
        file=file,
        hunks=with_moves([_hunk(hunk, places, marks) for hunk in sides.hunks], movers),
        gaps=tuple(gaps_of(sides)),
        notes=tuple(_notes(sides)),
    )


def _hunk(hunk: Hunk, places: LinePlaces, marks: WordMarks) -> ReviewedHunk:
    lines: list[ReviewedLine] = []
    # With a count of 0 the number is that of the line before.
    first_old = old = hunk.old_start + (hunk.old_count == 0)
    first_new = new = hunk.new_start + (hunk.new_count == 0)
    for stays, run in groupby(hunk.lines, key=lambda line: line.startswith(b" ")):
        block = list(run)
        made = same_lines(block, old, new) if stays else _changed(block, old, new, places, marks)
        lines += made
        old += sum(line.old_line is not None for line in made)
        new += sum(line.new_line is not None for line in made)
    old_span = places.old_lines[first_old - 1], places.old_lines[old - 1]
    new_span = places.new_lines[first_new - 1], places.new_lines[new - 1]
    return ReviewedHunk(
        old_start=hunk.old_start,
        old_count=hunk.old_count,
        new_start=hunk.new_start,
        new_count=hunk.new_count,
        section=places.section(old_span, new_span),
        edits=tuple(sorted({edit for line in lines for edit in line.edits})),
        is_derived=places.is_derived(*old_span),
        lines=tuple(lines),
    )


def _changed(
    lines: Sequence[bytes], old: int, new: int, places: LinePlaces, marks: WordMarks
) -> list[ReviewedLine]:
    """Lines that are removed, and those that are added in their place; `old` and `new` number the first."""
    removed = [text_and_end(line) for line in lines if line.startswith(b"-")]
    added = [text_and_end(line) for line in lines if line.startswith(b"+")]
    old_pieces, new_pieces = marks.of([text for text, _ in removed], [text for text, _ in added])
    starts, new_starts = places.old_lines, places.new_lines
    return [
        *(
            ReviewedLine(
                sign="-",
                pieces=pieces,
                line_end=line_end,
                old_line=number,
                new_line=None,
                edits=places.of_old(starts[number - 1], starts[number]),
            )
            for number, (pieces, (_, line_end)) in enumerate(zip(old_pieces, removed, strict=True), start=old)
        ),
        *(
            ReviewedLine(
                sign="+",
                pieces=pieces,
                line_end=line_end,
                old_line=None,
                new_line=number,
                edits=places.of_new(new_starts[number - 1], new_starts[number]),
            )
            for number, (pieces, (_, line_end)) in enumerate(zip(new_pieces, added, strict=True), start=new)
        ),
    ]


def _notes(sides: FileSides) -> Iterator[str]:
    """What the lines of the diff do not show."""
    change, base = sides.change, sides.base
    before, after = base.lines, sides.result_lines
    if base.bom and change.base_sha256 is not None:
        yield f"the file has a byte order mark ({base.encoding})"
    elif base.encoding not in {"utf-8", "ascii"}:
        yield f"the file is {base.encoding}"
    if base.invalid_bytes:
        yield f"bytes that are not {base.encoding}: {base.invalid_bytes}"
    if change.base_sha256 is None or change.result_sha256 is None:
        return
    ends = [
        ", ".join(f"{_END_NAMES[end]} {count}" for end, count in each.line_ends.items())
        for each in (before, after)
    ]
    if before.line_ends.keys() != after.line_ends.keys() and before.count and after.count:
        yield f"line ends: {ends[0] or 'none'} before, {ends[1] or 'none'} after"
    finals = [_is_ended(each) for each in (before, after)]
    if finals[0] != finals[1] and before.count and after.count:
        yield f"the last line {'gets' if finals[1] else 'loses'} its line end"


def _is_ended(lines: LineIndex) -> bool:
    return bool(lines.count and lines.ending(lines.count))
