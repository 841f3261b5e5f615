r"""Prepare a plan for review: frozen values that every surface shows in its own way.

Texts are as they are in the files, so they are hostile: code that shows them must escape
them. Unknown bytes of a file are in them as ``\xNN``, so every text is valid Unicode.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Any, Final

from mdplan.diagnostics import Diagnostic
from mdplan.markdown.outline import Outline
from mdplan.operations import moves_text
from mdplan.plan import NO_INTENT, EditNumbers, EditResult, FileChange, Intent, Plan, PlanId
from mdplan.review.lines import (
    FileSides,
    LinePlaces,
    MarkedText,
    Pieces,
    WordMarks,
    place_in_words,
    places_of,
)
from mdplan.text.diff import Hunk
from mdplan.text.source import visible
from mdplan.values import Struct, replace


class ChangeKind(StrEnum):
    """The kind of change of a file."""

    CHANGED = "changed"
    CREATED = "created"
    DELETED = "deleted"
    RENAMED = "renamed"
    UNCHANGED = "unchanged"


class ReviewedEdit(Struct, kw_only=True):
    """One edit of the batch. `index` is 0-based through the whole batch.

    `place` is its target in words, as its author named it. `requested` is the edit as the plan keeps it,
    `result` its match report and warnings. `files` are indexes of the files that it changes.
    """

    index: int
    op: str
    place: str
    requested: Mapping[str, Any]
    result: EditResult
    files: tuple[int, ...]


class ReviewedFile(Struct, kw_only=True):
    """One file of a plan in short. `index` is its position in the plan, `edits` are indexes of edits.

    Line counts are those of the diff. `references_updated` counts links that the engine rewrites besides.
    """

    index: int
    path: str
    new_path: str | None
    kind: ChangeKind
    base_sha256: str | None
    result_sha256: str | None
    lines_added: int
    lines_removed: int
    references_updated: int
    edits: tuple[int, ...]


class PlanReview(Struct, kw_only=True):
    """A plan without the text of its files, which `review_file` gives for one at a time.

    `warnings` are all of the plan, those of its edits first. `undoes` is the transaction that it takes back;
    such a plan is accepted or rejected whole. `numbers` are how people count the edits. `intent` is what its
    author says that it is for.
    """

    plan_id: PlanId
    files: tuple[ReviewedFile, ...]
    edits: tuple[ReviewedEdit, ...]
    warnings: tuple[Diagnostic, ...]
    undoes: str | None
    numbers: EditNumbers
    intent: Intent = NO_INTENT

    @property
    def is_whole(self) -> bool:
        """Whether it is accepted or rejected whole, as the plan of an undo is."""
        return self.undoes is not None

    @property
    def lines_added(self) -> int:
        """Lines that the diff adds, in all files."""
        return sum(file.lines_added for file in self.files)

    @property
    def lines_removed(self) -> int:
        """Lines that the diff removes, in all files."""
        return sum(file.lines_removed for file in self.files)

    @property
    def changed_files(self) -> tuple[ReviewedFile, ...]:
        """The files that do not stay as they are."""
        return tuple(file for file in self.files if file.kind is not ChangeKind.UNCHANGED)


class ReviewedLine(Struct, kw_only=True):
    """One line of a hunk. `sign` is a blank, ``-`` or ``+``; `pieces` joined are its text.

    `line_end` is LF, CRLF, or nothing for a last line without one; a CR alone is part of the text, as diffs
    have it. `old_line` and `new_line` count such lines from 1; None on the side where it is not. `edits` made
    this line what it is; no one did where the engine rewrote a link. `moved` is, for a line that only goes to
    another place of the file, its number on the other side.
    """

    sign: str
    pieces: Pieces
    line_end: str
    old_line: int | None
    new_line: int | None
    edits: tuple[int, ...] = ()
    moved: int | None = None

    @property
    def text(self) -> str:
        """The line without its line end."""
        return "".join(piece.text for piece in self.pieces)


class ReviewedHunk(Struct, kw_only=True):
    """Changed lines with those around them; numbers as in a unified diff.

    `section` is the heading path of the first changed line, in the result, or in the base where it was only
    removed. `edits` are those of its lines, ascending. `is_derived` says that the engine made changes in it
    that no edit asked for.
    """

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    section: tuple[str, ...]
    edits: tuple[int, ...]
    is_derived: bool
    lines: tuple[ReviewedLine, ...]


class Gap(Struct):
    """Unchanged lines of the result that no hunk shows: `start` to `end`, both counted from 1.

    In the base each of them has a number that is less by `shift`. A gap without lines ends before it starts.
    """

    start: int
    end: int
    shift: int

    @property
    def count(self) -> int:
        """How many lines it has."""
        return self.end - self.start + 1


class FileReview(Struct, kw_only=True):
    """One file of a plan with its text. `notes` say in words what the lines do not show.

    `gaps` are the lines before each hunk, and those after the last one. The notes are changes of line ends,
    of the last line end, of a byte order mark, and unknown bytes.
    """

    file: ReviewedFile
    hunks: tuple[ReviewedHunk, ...]
    gaps: tuple[Gap, ...]
    notes: tuple[str, ...]


class SectionSide(Struct):
    """A section before or after: its heading path, and its whole text with the line ends of the file.

    The text before the first heading has an empty path.
    """

    path: tuple[str, ...]
    text: str


class TouchedSection(Struct, kw_only=True):
    """The section that an edit touches. A side is None where there is no such section: it is new, or goes."""

    before: SectionSide | None
    after: SectionSide | None


def review_plan(plan: Plan) -> PlanReview:
    """Return `plan` in short."""
    positions: dict[str, int] = {change.path: index for index, change in enumerate(plan.files)}
    requested = [edit for edits in plan.requested for edit in edits]
    edits = tuple(
        ReviewedEdit(
            index=result.edit_index,
            op=result.op,
            place=place_in_words(requested[result.edit_index]),
            requested=requested[result.edit_index],
            result=result,
            files=tuple(_files_of(result, positions)),
        )
        for result in plan.results
        if result.edit_index < len(requested)
    )
    by_file: dict[int, list[int]] = {}
    for edit in edits:
        for index in edit.files:
            by_file.setdefault(index, []).append(edit.index)
    return PlanReview(
        plan_id=plan.plan_id,
        files=tuple(
            _file(index, change, tuple(by_file.get(index, ()))) for index, change in enumerate(plan.files)
        ),
        edits=edits,
        warnings=(*(warning for result in plan.results for warning in result.warnings), *plan.warnings),
        undoes=plan.undoes,
        numbers=plan.edit_numbers,
        intent=plan.intent,
    )


def _files_of(result: EditResult, positions: Mapping[str, int]) -> Iterator[int]:
    for path in dict.fromkeys((result.file, result.to_file or result.file)):
        if path in positions:
            yield positions[path]


def _file(index: int, change: FileChange, edits: tuple[int, ...]) -> ReviewedFile:
    return ReviewedFile(
        index=index,
        path=change.path,
        new_path=change.new_path,
        kind=_kind(change),
        base_sha256=change.base_sha256,
        result_sha256=change.result_sha256,
        lines_added=change.lines_added,
        lines_removed=change.lines_removed,
        references_updated=change.references_updated,
        edits=edits,
    )


def _kind(change: FileChange) -> ChangeKind:
    if change.base_sha256 is None:
        return ChangeKind.CREATED
    if change.result_sha256 is None:
        return ChangeKind.DELETED
    if change.new_path is not None:
        return ChangeKind.RENAMED
    return ChangeKind.UNCHANGED if change.is_no_op else ChangeKind.CHANGED


# --- One file of a plan, line by line

_END_NAMES: Final = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}


def review_file(plan: Plan, review: PlanReview, sides: FileSides) -> FileReview:
    """Return the file of `plan` that `sides` are the sides of; `review` is that of the plan."""
    file = next(file for file in review.files if file.path == sides.change.path)
    edit_places = places_of(sides, plan.results, sequential=bool(plan.options.get("sequential")))
    places, marks = LinePlaces(sides, edit_places), WordMarks()
    movers = frozenset(result.edit_index for result in plan.results if moves_text(result.op))
    return FileReview(
        file=file,
        hunks=with_moves([_hunk(hunk, places, marks) for hunk in sides.hunks], movers),
        gaps=tuple(gaps_of(sides)),
        notes=tuple(_notes(sides)),
    )


def _hunk(hunk: Hunk, places: LinePlaces, marks: WordMarks) -> ReviewedHunk:
    lines: list[ReviewedLine] = []
    first_old, first_new = _first_lines(hunk)
    old, new = first_old, first_new
    for stays, run in groupby(hunk.lines, key=lambda line: line.startswith(b" ")):
        block = list(run)
        reviewed = same_lines(block, old, new) if stays else _changed(block, old, new, places, marks)
        lines += reviewed
        old += sum(line.old_line is not None for line in reviewed)
        new += sum(line.new_line is not None for line in reviewed)
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


def _first_lines(hunk: Hunk) -> tuple[int, int]:
    """Return the numbers of the first line of `hunk` in the base and in the result."""
    # With a count of 0 the number is that of the line before.
    return hunk.old_start + (hunk.old_count == 0), hunk.new_start + (hunk.new_count == 0)


def _changed(
    lines: Sequence[bytes], old: int, new: int, places: LinePlaces, marks: WordMarks
) -> list[ReviewedLine]:
    """Return the lines of a block that are removed and added; `old` and `new` number the first."""
    removed = [text_and_end(line) for line in lines if line.startswith(b"-")]
    added = [text_and_end(line) for line in lines if line.startswith(b"+")]
    old_pieces, new_pieces = marks.of([text for text, _ in removed], [text for text, _ in added])
    starts, new_starts = places.old_lines, places.new_lines
    changed = [
        ReviewedLine(
            sign="-",
            pieces=pieces,
            line_end=line_end,
            old_line=number,
            new_line=None,
            edits=places.of_old(starts[number - 1], starts[number]),
        )
        for number, (pieces, (_, line_end)) in enumerate(zip(old_pieces, removed, strict=True), start=old)
    ]
    changed += (
        ReviewedLine(
            sign="+",
            pieces=pieces,
            line_end=line_end,
            old_line=None,
            new_line=number,
            edits=places.of_new(new_starts[number - 1], new_starts[number]),
        )
        for number, (pieces, (_, line_end)) in enumerate(zip(new_pieces, added, strict=True), start=new)
    )
    return changed


def _notes(sides: FileSides) -> Iterator[str]:
    """Yield what the lines of the diff do not show."""
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
        ", ".join(f"{_END_NAMES[end]} {count}" for end, count in side.line_ends.items())
        for side in (before, after)
    ]
    if before.line_ends.keys() != after.line_ends.keys() and before.count and after.count:
        yield f"line ends: {ends[0] or 'none'} before, {ends[1] or 'none'} after"
    finals = [bool(lines.count and lines.ending(lines.count)) for lines in (before, after)]
    if finals[0] != finals[1] and before.count and after.count:
        yield f"the last line {'gets' if finals[1] else 'loses'} its line end"


# --- The unchanged lines of a file, around changes and between hunks

_NO_NEWLINE: Final = b"\n\\ No newline at end of file\n"
_LF: Final = b"\n"


def gaps_of(sides: FileSides) -> Iterator[Gap]:
    """Yield the lines before each hunk of `sides`, and those after the last one."""
    start, shift = 1, 0
    for hunk in sides.hunks:
        _, first = _first_lines(hunk)
        yield Gap(start, first - 1, shift)
        start, shift = first + hunk.new_count, shift + hunk.new_count - hunk.old_count
    data = sides.result_view.data
    yield Gap(start, data.count(_LF) + bool(data and not data.endswith(_LF)), shift)


def unchanged_lines(sides: FileSides, first: int, last: int) -> list[ReviewedLine]:
    """Return the lines `first` to `last` of the result of `sides` that no hunk shows."""
    *ended, last_line = sides.result_view.data.split(_LF)
    lines = [*(b" %b\n" % line for line in ended), b" %b%b" % (last_line, _NO_NEWLINE)]
    shown: list[ReviewedLine] = []
    for gap in gaps_of(sides):
        start, end = max(first, gap.start), min(last, gap.end)
        if start <= end:
            shown += same_lines(lines[start - 1 : end], start - gap.shift, start)
    return shown


def same_lines(lines: Sequence[bytes], old: int, new: int) -> list[ReviewedLine]:
    """Return lines of a hunk that stay, the first of which has those numbers."""
    same = []
    for number, line in enumerate(lines):
        text, line_end = text_and_end(line)
        pieces = (MarkedText(text, changed=False),) if text else ()
        same.append(
            ReviewedLine(
                sign=" ", pieces=pieces, line_end=line_end, old_line=old + number, new_line=new + number
            )
        )
    return same


def text_and_end(line: bytes) -> tuple[str, str]:
    """Return text of a line of a hunk, and its line end."""
    content = line[1:].removesuffix(_NO_NEWLINE)
    text = visible(content.decode("utf-8", "surrogateescape"))
    for line_end in ("\r\n", "\n"):
        if text.endswith(line_end) and not line.endswith(_NO_NEWLINE):
            return text.removesuffix(line_end), line_end
    return text, ""


# --- The section that an edit touches, before and after it


def touched_section(sides: FileSides, result: EditResult) -> TouchedSection | None:
    """Return the section that the edit of `result` touches in the file of `sides`; None if there is none.

    It is the one that the edit names or inserts; for an edit that names none, the one in which it is
    first. In INI and plain text that is the whole file.
    """
    if result.section_id is not None:
        before = _by_id(sides.base_outline, result.section_id)
        after = _by_id(sides.result_outline, result.new_section_id or result.section_id)
        return TouchedSection(before=before, after=after) if before or after else None
    before = after = None
    if sides.change.path == result.file and result.ranges and sides.base.text:
        offset = sides.base.lines.offset(result.ranges[0].start)
        before = _at(sides.base_outline, offset) if offset is not None else None
    if sides.change.path == (result.to_file or result.file) and result.result_lines and sides.result_text:
        after = _at(sides.result_outline, sides.result_lines.start(result.result_lines[0].start))
    return TouchedSection(before=before, after=after) if before or after else None


def _by_id(outline: Outline, section_id: str) -> SectionSide | None:
    section = next((each for each in outline.every_section() if each.section_id == section_id), None)
    return _at(outline, section.span.start) if section is not None and not section.nested else None


def _at(outline: Outline, offset: int) -> SectionSide:
    section = outline.section_at(offset)
    span = section.body if section.is_root else section.span
    return SectionSide(tuple(map(visible, section.path)), visible(outline.text_of(span)))


# --- Lines that only move: removed here, added there, with the same text

# As `git diff --color-moved=blocks`: less text than this is equal by chance.
_LEAST_LETTERS: Final = 20

# Places that are tried for a line that the file has often.
_MOST_PLACES: Final = 16


class MovedLines(Struct):
    """By the line number on one side, the number on the other: `to` of removed lines, `origin` of added."""

    to: Mapping[int, int]
    origin: Mapping[int, int]


def with_moves(hunks: Sequence[ReviewedHunk], movers: frozenset[int]) -> tuple[ReviewedHunk, ...]:
    """Return `hunks` of a file, in which the lines that moved name where they were, or where they go.

    `movers` are the edits that move text by what they are: of theirs, short blocks count too.
    """
    moved = _moved(hunks, movers)
    if not moved.to:
        return tuple(hunks)
    return tuple(
        replace(hunk, lines=tuple(replace(line, moved=_place(line, moved)) for line in hunk.lines))
        for hunk in hunks
    )


def _place(line: ReviewedLine, moved: MovedLines) -> int | None:
    if line.sign == "-":
        return moved.to.get(line.old_line or 0)
    return moved.origin.get(line.new_line or 0) if line.sign == "+" else None


def _moved(hunks: Sequence[ReviewedHunk], movers: frozenset[int]) -> MovedLines:
    lines = [line for hunk in hunks for line in hunk.lines]
    removed = {line.old_line: line for line in lines if line.sign == "-" and line.old_line}
    added = {line.new_line: line for line in lines if line.sign == "+" and line.new_line}
    places: dict[str, list[int]] = {}
    for number, line in added.items():
        places.setdefault(line.text, []).append(number)
    to: dict[int, int] = {}
    origin: dict[int, int] = {}
    for old, first in removed.items():
        # Lines without a letter, such as rules of a table, are many and equal by chance.
        if old in to or not any(map(str.isalnum, first.text)):
            continue
        starts = [new for new in places.get(first.text, ())[:_MOST_PLACES] if new not in origin]
        runs = [tuple(_run(removed, added, (old, new), origin)) for new in starts]
        best = max(runs, key=len, default=())
        if best and _is_moved([removed[number] for number, _ in best], movers):
            to.update(best)
            origin.update((new, old) for old, new in best)
    return MovedLines(to, origin)


def _run(
    removed: Mapping[int, ReviewedLine],
    added: Mapping[int, ReviewedLine],
    start: tuple[int, int],
    taken: Collection[int],
) -> Iterator[tuple[int, int]]:
    """Pairs of numbers from `start` on, while both sides have the same text."""
    old, new = start
    while old in removed and new in added and new not in taken and removed[old].text == added[new].text:
        yield old, new
        old, new = old + 1, new + 1


def _is_moved(lines: Sequence[ReviewedLine], movers: frozenset[int]) -> bool:
    if any(not movers.isdisjoint(line.edits) for line in lines):
        return True
    return len(lines) > 1 and sum(map(str.isalnum, "".join(line.text for line in lines))) >= _LEAST_LETTERS


# --- Search in the lines that a plan shows


class FoundLine(Struct):
    """A line of the diff of a file that has the text. `sign` is a blank, ``-`` or ``+``.

    `number` is its line number on the new side; on the old side where it is removed. The text that was
    sought starts at `at`, and has `length` characters.
    """

    sign: str
    number: int
    text: str
    at: int
    length: int


def found_lines(sides: FileSides, text_sought: str) -> Iterator[FoundLine]:
    """Yield the lines of the diff of `sides` that contain `text_sought` in any case."""
    pattern = re.compile(re.escape(text_sought), re.IGNORECASE)
    for hunk in sides.hunks:
        old, new = _first_lines(hunk)
        for line in hunk.lines:
            sign = chr(line[0])
            text, _ = text_and_end(line)
            match = pattern.search(text)
            if match is not None:
                number = old if sign == "-" else new
                yield FoundLine(sign, number, text, match.start(), match.end() - match.start())
            old += sign != "+"
            new += sign != "-"
