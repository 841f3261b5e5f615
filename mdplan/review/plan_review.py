r"""Prepare a plan for review: immutable values for every user interface.

Texts are verbatim from files, so they are hostile and must be escaped for display. Undecodable bytes are
written as ``\xNN``, so all text is valid Unicode.
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
    """An edit of the batch; `index` is 0-based across the batch.

    `place` is its target as its author named it, `requested` the edit as stored in the plan, `result` its
    match report and warnings, `files` the indexes of the files that it changes.
    """

    index: int
    op: str
    place: str
    requested: Mapping[str, Any]
    result: EditResult
    files: tuple[int, ...]


class ReviewedFile(Struct, kw_only=True):
    """A summary of a file in a plan; `index` is its position, `edits` are indexes of edits.

    Line counts are the diff's. `references_updated` counts links rewritten by the engine.
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
    """A plan without file contents, which `review_file` returns per file.

    - `warnings`: all, first the warnings of edits.
    - `undoes`: the transaction that it reverts; it can only be approved whole.
    - `numbers`: how edits are numbered for people.
    - `intent`: its purpose, by its author.
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
        """True if it can only be approved or rejected whole, like an undo."""
        return self.undoes is not None

    @property
    def lines_added(self) -> int:
        """The number of lines that the diff adds, in all files."""
        return sum(file.lines_added for file in self.files)

    @property
    def lines_removed(self) -> int:
        """The number of lines that the diff removes, in all files."""
        return sum(file.lines_removed for file in self.files)

    @property
    def changed_files(self) -> tuple[ReviewedFile, ...]:
        """The files that change."""
        return tuple(file for file in self.files if file.kind is not ChangeKind.UNCHANGED)


class ReviewedLine(Struct, kw_only=True):
    """A line of a hunk; `sign` is a space, ``-`` or ``+``, and the joined `pieces` are its text.

    - `line_end`: LF, CRLF, or empty for an unterminated last line; a lone CR is text, as in diffs.
    - `old_line`, `new_line`: 1-based numbers of LF-terminated lines, None on the side without it.
    - `edits`: the edits that made the line, none for links rewritten by the engine.
    - `moved`: for a line that only moved, its number on the other side.
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
        """The line without its newline."""
        return "".join(piece.text for piece in self.pieces)


class ReviewedHunk(Struct, kw_only=True):
    """Changed lines with context; numbers as in a unified diff.

    `section` is the heading path of the first changed line, in the result or, for a removal, in the base.
    `edits` made its lines, ascending. `is_derived`: it includes changes by the engine.
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
    """The 1-based lines `start` to `end` of the result between hunks.

    Line numbers in the base are lower by `shift`. An empty gap ends before it starts.
    """

    start: int
    end: int
    shift: int

    @property
    def count(self) -> int:
        """The number of lines."""
        return self.end - self.start + 1


class FileReview(Struct, kw_only=True):
    """A file of a plan with its text; `notes` describe changes that the lines do not show.

    `gaps` precede each hunk, and one follows the last. Notes are about newlines, the final newline, the BOM,
    and undecodable bytes.
    """

    file: ReviewedFile
    hunks: tuple[ReviewedHunk, ...]
    gaps: tuple[Gap, ...]
    notes: tuple[str, ...]


class SectionSide(Struct):
    """One side of a section: its heading path and text with original newlines.

    The text before the first heading has an empty path.
    """

    path: tuple[str, ...]
    text: str


class TouchedSection(Struct, kw_only=True):
    """The section that an edit touches, before and after; None if it is new or removed."""

    before: SectionSide | None
    after: SectionSide | None


def review_plan(plan: Plan) -> PlanReview:
    """Return a summary of `plan`."""
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


# --- A file of a plan, line by line

_END_NAMES: Final = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}


def review_file(plan: Plan, review: PlanReview, sides: FileSides) -> FileReview:
    """Return the review of the file with `sides`."""
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
    """Return the first line numbers of `hunk` in base and result."""
    # A count of 0 comes with the number of the previous line.
    return hunk.old_start + (hunk.old_count == 0), hunk.new_start + (hunk.new_count == 0)


def _changed(
    lines: Sequence[bytes], old: int, new: int, places: LinePlaces, marks: WordMarks
) -> list[ReviewedLine]:
    """Return the removed and added lines of a block; `old` and `new` are their first numbers."""
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
    """Yield notes on changes that the diff does not show."""
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


# --- Unchanged lines around changes and between hunks

_NO_NEWLINE: Final = b"\n\\ No newline at end of file\n"
_LF: Final = b"\n"


def gaps_of(sides: FileSides) -> Iterator[Gap]:
    """Yield the gaps before each hunk of `sides`, and after the last."""
    start, shift = 1, 0
    for hunk in sides.hunks:
        _, first = _first_lines(hunk)
        yield Gap(start, first - 1, shift)
        start, shift = first + hunk.new_count, shift + hunk.new_count - hunk.old_count
    data = sides.result_view.data
    yield Gap(start, data.count(_LF) + bool(data and not data.endswith(_LF)), shift)


def unchanged_lines(sides: FileSides, first: int, last: int) -> list[ReviewedLine]:
    """Return the result's lines `first` to `last` outside hunks."""
    *ended, last_line = sides.result_view.data.split(_LF)
    lines = [*(b" %b\n" % line for line in ended), b" %b%b" % (last_line, _NO_NEWLINE)]
    shown: list[ReviewedLine] = []
    for gap in gaps_of(sides):
        start, end = max(first, gap.start), min(last, gap.end)
        if start <= end:
            shown += same_lines(lines[start - 1 : end], start - gap.shift, start)
    return shown


def same_lines(lines: Sequence[bytes], old: int, new: int) -> list[ReviewedLine]:
    """Return unchanged lines of a hunk, numbered from `old` and `new`."""
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
    """Return the text of a hunk line, and its newline."""
    content = line[1:].removesuffix(_NO_NEWLINE)
    text = visible(content.decode("utf-8", "surrogateescape"))
    for line_end in ("\r\n", "\n"):
        if text.endswith(line_end) and not line.endswith(_NO_NEWLINE):
            return text.removesuffix(line_end), line_end
    return text, ""


# --- The section that an edit touches, before and after


def touched_section(sides: FileSides, result: EditResult) -> TouchedSection | None:
    """Return the section that the edit of `result` touches in the file of `sides`, if any.

    It is the named or inserted section, else the one around the first change. In INI and plain text it is the
    whole file.
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


# --- Moved lines: removed here, added there, with equal text

# Like `git diff --color-moved=blocks`: shorter text may be equal by chance.
_LEAST_LETTERS: Final = 20

# Places to try for a frequent line.
_MOST_PLACES: Final = 16


def with_moves(hunks: Sequence[ReviewedHunk], movers: frozenset[int]) -> tuple[ReviewedHunk, ...]:
    """Return `hunks` with moved lines marked with their other line number.

    For `movers`, edits that move text, short blocks count too.
    """
    to = _moved(hunks, movers)
    origin = {new: old for old, new in to.items()}

    def moved(line: ReviewedLine) -> int | None:
        if line.sign == "-":
            return to.get(line.old_line or 0)
        return origin.get(line.new_line or 0) if line.sign == "+" else None

    return tuple(
        replace(hunk, lines=tuple(replace(line, moved=moved(line)) for line in hunk.lines)) if to else hunk
        for hunk in hunks
    )


def _moved(hunks: Sequence[ReviewedHunk], movers: frozenset[int]) -> dict[int, int]:
    """Return the new numbers of moved lines by their old ones."""
    lines = [line for hunk in hunks for line in hunk.lines]
    removed = {line.old_line: line for line in lines if line.sign == "-" and line.old_line}
    added = {line.new_line: line for line in lines if line.sign == "+" and line.new_line}
    places: dict[str, list[int]] = {}
    for number, line in added.items():
        places.setdefault(line.text, []).append(number)
    to: dict[int, int] = {}
    taken: set[int] = set()
    for old, first in removed.items():
        # Lines without letters, such as table rules, are frequent and equal by chance.
        if old in to or not any(map(str.isalnum, first.text)):
            continue
        starts = [new for new in places.get(first.text, ())[:_MOST_PLACES] if new not in taken]
        runs = [tuple(_run(removed, added, (old, new), taken)) for new in starts]
        best = max(runs, key=len, default=())
        if best and _is_moved([removed[number] for number, _ in best], movers):
            to.update(best)
            taken.update(new for _, new in best)
    return to


def _run(
    removed: Mapping[int, ReviewedLine],
    added: Mapping[int, ReviewedLine],
    start: tuple[int, int],
    taken: Collection[int],
) -> Iterator[tuple[int, int]]:
    """Yield pairs of line numbers from `start` while the texts are equal."""
    old, new = start
    while old in removed and new in added and new not in taken and removed[old].text == added[new].text:
        yield old, new
        old, new = old + 1, new + 1


def _is_moved(lines: Sequence[ReviewedLine], movers: frozenset[int]) -> bool:
    if any(not movers.isdisjoint(line.edits) for line in lines):
        return True
    return len(lines) > 1 and sum(map(str.isalnum, "".join(line.text for line in lines))) >= _LEAST_LETTERS


# --- Search in the lines of a diff


class FoundLine(Struct):
    """A diff line that contains the search text; `sign` is a space, ``-`` or ``+``.

    `number` is its line number in the result, or in the base if removed. The match starts at `at` and has
    `length` characters.
    """

    sign: str
    number: int
    text: str
    at: int
    length: int


def found_lines(sides: FileSides, text_sought: str) -> Iterator[FoundLine]:
    """Yield the diff lines of `sides` that contain `text_sought`, ignoring case."""
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
