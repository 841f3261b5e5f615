"""apply_diff: apply a unified diff as an edit."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import AND_MORE, MOST_PROBLEMS, Code, Diagnostic, Refused
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.operations.base import Claim, ReplacingOperation, Resolution
from mdplan.operations.matches import with_nearest_lines
from mdplan.text import unified_diff
from mdplan.text.edit import TextEdit
from mdplan.text.lines import Span, line_end_around, to_lf, with_line_ends
from mdplan.values import replace
from mdplan.words import say


class ApplyDiff(ReplacingOperation):
    """Apply a diff or patch; its unchanged and removed lines prove the place.

    `diff` is the output of `git diff` or `diff -u`, or its hunks alone. Every line that a hunk shows must be
    in the file, in order and without gaps, at the line in its header or at exactly one other place;
    `hunkOffsets` reports by how many lines hunks moved. There is no fuzzy matching. The diff may use LF for
    any newlines in the file.

    The file header is optional and names the edited file. A diff of several files goes as ``diff`` next to
    `files`, or instead of it: it becomes one edit for each file, and also creates, deletes and renames files.
    """

    example: ClassVar[dict[str, object]] = {
        "diff": "@@ -3,1 +3,1 @@\n-Plans are made before edits.\n+Edits are planned before they are made.\n"
    }
    needs_markdown: ClassVar = False
    edits_source: ClassVar[bool] = True
    quotes_text: ClassVar = True

    op: Literal["apply_diff"]
    diff: str = Field(description="Unified diff of this file; its file header is optional.")

    @cached_property
    def files(self) -> tuple[unified_diff.FileDiff, ...] | unified_diff.NotADiff:
        """The changes of the diff, by file."""
        return unified_diff.read_diff(self.diff)

    def problem_with_path(self, path: str) -> Diagnostic | None:
        """Return INVALID_ARGUMENT for a diff whose header names another file than `path`."""
        if isinstance(self.files, unified_diff.NotADiff) or len(self.files) != 1:
            return None
        names = [name for name in (self.files[0].old_name, self.files[0].new_name) if name is not None]
        if not names or any(_is_same_path(name, path) for name in names):
            return None
        return Diagnostic.invalid(
            f"the header of the diff names another file than `{path}`",
            "leave the header out if the hunks are of this file",
        )

    def resolve(self, outline: Outline) -> Resolution:
        """Return one text edit for each run of changed lines.

        Errors: INVALID_ARGUMENT unless it is a diff of the text of one file; DIFF_DOES_NOT_APPLY for every
        hunk that does not match the file.
        """
        file = self._file()
        hunks = [_without_bom(hunk) if outline.source.bom else hunk for hunk in file.hunks]
        found = unified_diff.HunkPlaces(outline.source.text, outline.source.lines, outline.view).place(hunks)
        misplaced = [each for each in found if isinstance(each, unified_diff.MisplacedHunk)]
        if misplaced:
            problems = tuple(_problem(outline, each) for each in misplaced[:MOST_PROBLEMS])
            raise Refused(*problems, *([] if len(misplaced) <= MOST_PROBLEMS else [AND_MORE]))
        placed = [each for each in found if isinstance(each, unified_diff.PlacedHunk)]
        changes = [(_claim(outline, edit.span), edit) for hunk in placed for edit in _edits(outline, hunk)]
        return Resolution(
            claims=tuple(claim for claim, _ in changes),
            edits=tuple(edit for _, edit in changes if edit.new_text != outline.text_of(edit.span)),
            section=_section(outline, placed[0].span),
            hunk_offsets=tuple(hunk.moved_by for hunk in placed),
            is_evidence=all(hunk.hunk.old.strip() or not outline.source.text for hunk in placed),
        )

    def _file(self) -> unified_diff.FileDiff:
        """Return the one file of the diff, if it changes nothing but its text."""
        if isinstance(self.files, unified_diff.NotADiff):
            raise Code.INVALID_ARGUMENT.refused(
                say("{diff} is not a unified diff: {}", self.files.reason), self.files.hint
            )
        if len(self.files) > 1:
            raise Code.INVALID_ARGUMENT.refused(
                say("{diff} changes {} files, and this edit is of one", len(self.files)),
                say("send it as {diff} with or instead of {files}, which makes one edit of each file"),
            )
        file = self.files[0]
        if file.obstacle is not None:
            raise Code.INVALID_ARGUMENT.refused(
                f"diff {file.obstacle}, and only text can be edited", "leave that out of it"
            )
        for is_asked, what, operation in (
            (file.creates, "creates", "create_file"),
            (file.deletes, "deletes", "delete_file"),
            (file.renames, "renames", "rename_file"),
        ):
            if is_asked:
                raise Code.INVALID_ARGUMENT.refused(
                    f"diff {what} its file, and this edit is of one that stays",
                    say("use {}, or send it as {diff} instead of {files}", operation),
                )
        return file


def _without_bom(hunk: unified_diff.DiffHunk) -> unified_diff.DiffHunk:
    """Return `hunk` without a byte order mark on its first lines: it is not part of the text."""
    sides = [next((line for line in hunk.lines if line.sign != other), None) for other in "+-"]
    if hunk.old_start > 1 or any(line is None or not line.text.startswith("\ufeff") for line in sides):
        return hunk
    bare = (part for line in hunk.lines for part in _bare(line, begins=[line is side for side in sides]))
    # A file that only has the mark is a line in the diff, but empty here.
    lines = tuple(line for line in bare if line.text)
    is_empty = all(line.sign == "+" for line in lines)
    old_start = 0 if is_empty else hunk.old_start
    return replace(hunk, old_start=old_start, lines=lines)


def _bare(line: unified_diff.DiffLine, begins: Sequence[bool]) -> tuple[unified_diff.DiffLine, ...]:
    """Return `line` without the mark on the sides, old and new, that it `begins`; on another it is text."""
    begins_old, begins_new = begins
    bare = line.text.removeprefix("\ufeff")
    if line.sign != " " or begins_old is begins_new:
        return (unified_diff.DiffLine(line.sign, bare if begins_old or begins_new else line.text),)
    old, new = (bare, line.text) if begins_old else (line.text, bare)
    return (unified_diff.DiffLine("-", old), unified_diff.DiffLine("+", new))


def _edits(outline: Outline, placed: unified_diff.PlacedHunk) -> Iterator[TextEdit]:
    """Yield edits for the runs of changed lines in a hunk.

    New lines keep the newlines of the hunk if its old lines match the file exactly; otherwise they get the
    newlines around them.
    """
    view, source = outline.view, outline.source
    end = placed.span.end
    is_exact = not placed.lacks_newline and outline.text_of(view.span_in_text(placed.span)) == placed.hunk.old
    is_exact = is_exact and (bool(placed.hunk.old) or not source.text)
    at = placed.span.start
    for is_change, run in groupby(placed.hunk.lines, lambda line: line.sign != " "):
        lines = list(run)
        old = to_lf("".join(line.text for line in lines if line.sign != "+"))
        start, at = min(at, end), at + len(old)
        if not is_change:
            continue
        new = "".join(line.text for line in lines if line.sign == "+")
        span = Span(start, min(at, end))
        if placed.lacks_newline and at > end:
            span, new = _at_unfinished_end(span, to_lf(new), is_insertion=not old)
        span = view.span_in_text(span)
        yield TextEdit(
            span, new if is_exact else with_line_ends(new, line_end_around(source.lines, span.start))
        )


def _at_unfinished_end(span: Span, new: str, *, is_insertion: bool) -> tuple[Span, str]:
    """Return the edit `span` of the view at the end of a file without final newline, which stays so."""
    if is_insertion:
        return span, "\n" + new.removesuffix("\n")
    new = new.removesuffix("\n")
    return (span, new) if new else (Span(max(span.start - 1, 0), span.end), new)


def _section(outline: Outline, span: Span) -> Section:
    """Return the section that a change of `span` belongs to; an insertion belongs to the text before it."""
    return outline.section_at(span.start if len(span) else max(span.start - 1, 0))


def _claim(outline: Outline, span: Span) -> Claim:
    return Claim(span=span, owner=_section(outline, span).index)


def _problem(outline: Outline, found: unified_diff.MisplacedHunk) -> Diagnostic:
    """Return DIFF_DOES_NOT_APPLY for one hunk."""
    view, lines, hunk = outline.view, outline.source.lines, found.hunk
    stated = None
    if found.stated is not None:
        start = min(found.stated, len(view.text))
        stated = view.span_in_text(Span(start, min(start + len(to_lf(hunk.old)), len(view.text))))
    why = _why(outline, found)
    where = "" if hunk.old_start == unified_diff.UNKNOWN else f" at line {hunk.old_start}"
    problem = Code.DIFF_DOES_NOT_APPLY.problem(
        f"hunk {hunk.number} does not apply{where}{why[0] if why else ''}",
        why[1] if why else "make a new diff from the current file",
        place=None if stated is None else lines.position(stated.start),
    )
    return problem if why or not hunk.old.strip() else with_nearest_lines(outline, problem, hunk.old, stated)


def _why(outline: Outline, found: unified_diff.MisplacedHunk) -> tuple[str, str] | None:
    """Return why a hunk does not apply, and what to do about it; None if lines differ."""
    view, lines = outline.view, outline.source.lines
    at = [found.applied_at] if found.applied_at is not None else found.places
    other_lines = [lines.position(view.span_in_text(Span(offset, offset)).start).line for offset in at]
    if found.applied_at is not None:
        return (
            f": its result is at line {other_lines[0]} already",
            "the diff seems to be applied: omit it, or make a new one from the current file",
        )
    if len(other_lines) == 1:
        return (
            f": its lines are at line {other_lines[0]}, before those of the hunk in front of it",
            "put the hunks in the order of their lines, or send each as a separate edit",
        )
    if other_lines:
        other = "" if found.hunk.old_start == unified_diff.UNKNOWN else " other"
        return (
            f", and its lines are at {len(other_lines)}{other} places",
            f"they are at lines {', '.join(map(str, other_lines))}: show more lines around the change",
        )
    old = to_lf(found.hunk.old)
    if not old.endswith("\n") and found.hunk.old_start != unified_diff.UNKNOWN and f"{old}\n" in view.text:
        return (
            ": the file does not end after its lines",
            "remove the marker that says that there is no newline at the end of the file",
        )
    return _why_without_number(found.hunk)


def _why_without_number(hunk: unified_diff.DiffHunk) -> tuple[str, str] | None:
    if hunk.old_start == unified_diff.UNKNOWN and not hunk.old:
        return ": it shows no line of the file", "show the lines around the new ones"
    if hunk.behind:
        return (
            " after the line that its `@@` names",
            "name a line that is there once, before the lines that it shows, or show more lines instead",
        )
    return None


def _is_same_path(name: str, file: str) -> bool:
    """Return True if `name` is the path `file`, or the end of it: diffs start their names at some folder."""
    # A path may begin with the name of its root, and a name may have a colon.
    path = file.replace("\\", "/")
    forms = (path, path.partition(":")[2] or path)
    return any(f"/{name}".endswith(f"/{form}") or f"/{form}".endswith(f"/{name}") for form in forms)
