r"""A plan as people review it: frozen values, from which every surface makes its own picture.

Texts are as they are in the files. They are hostile: whoever shows them escapes them for the place where they
are shown. Unknown bytes of a file are in them as ``\xNN``, so every text is valid Unicode.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mdplan.diagnostics import Diagnostic
from mdplan.edit_numbers import EditNumbers
from mdplan.plan import NO_INTENT, EditResult, FileChange, Intent, Plan, PlanId
from mdplan.review.edit_words import place_in_words
from mdplan.review.word_marks import Pieces


class ChangeKind(StrEnum):
    """The kind of change of a file."""

    CHANGED = "changed"
    CREATED = "created"
    DELETED = "deleted"
    RENAMED = "renamed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedEdit:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedFile:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReview:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedLine:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedHunk:
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


@dataclass(frozen=True, slots=True)
class Gap:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReview:
    """One file of a plan with its text. `notes` say in words what the lines do not show.

    `gaps` are the lines before each hunk, and those after the last one. The notes are changes of line ends,
    of the last line end, of a byte order mark, and unknown bytes.
    """

    file: ReviewedFile
    hunks: tuple[ReviewedHunk, ...]
    gaps: tuple[Gap, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SectionSide:
    """A section before or after: its heading path, and its whole text with the line ends of the file.

    The text before the first heading has an empty path.
    """

    path: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedSection:
    """The section that an edit touches. A side is None where there is no such section: it is new, or goes."""

    before: SectionSide | None
    after: SectionSide | None


def review_plan(plan: Plan) -> PlanReview:
    """`plan` in short."""
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
        warnings=(*(each for result in plan.results for each in result.warnings), *plan.warnings),
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
