"""Comments on lines of a plan: checked against its files, and tied to the edits that made the lines."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.engine.reviews.open_plan import OpenPlan
from mdplan.review.plan_review import FileReview
from mdplan.storage.user.decision_log import MOST_LINE_COMMENTS, LineComment, Side
from mdplan.text.source import visible

# The lines that a comment quotes, and the characters of them.
_MOST_LINES: Final = 20
_MOST_CHARACTERS: Final = 2_000


def placed_comments(
    opened: OpenPlan, comments: Sequence[LineComment]
) -> tuple[LineComment, ...] | Diagnostic:
    """`comments` with the text of their lines and the edits after them.

    Errors: INVALID_ARGUMENT for a file that is not of the plan, or lines that it does not have.
    """
    if len(comments) > MOST_LINE_COMMENTS:
        return Diagnostic.invalid(f"there are more than {MOST_LINE_COMMENTS} comments on lines", "say less")
    placed: list[LineComment] = []
    for comment in comments:
        found = _placed(opened, comment)
        if isinstance(found, Diagnostic):
            return found
        placed.append(found)
    return tuple(placed)


def _placed(opened: OpenPlan, comment: LineComment) -> LineComment | Diagnostic:
    index = next(
        (
            file.index
            for file in opened.review.files
            if comment.file in (file.path, file.new_path or file.path)
        ),
        None,
    )
    if index is None:
        return Diagnostic.invalid(f"the plan has no file `{visible(comment.file)}`", "name one of its files")
    bare = replace(comment, file=opened.review.files[index].path, quote="", edit_index=None)
    if not comment.text.strip():
        return Diagnostic.invalid("a comment on lines is empty", "write what to change there")
    if not 1 <= comment.start <= comment.end:
        return _no_lines(comment)
    texts = opened.texts(index)
    if texts is None:
        return bare
    lines = texts[comment.side is Side.AFTER]
    if comment.end > len(lines):
        return _no_lines(comment)
    quote = visible("\n".join(lines[comment.start - 1 : comment.end][:_MOST_LINES]))
    return replace(bare, quote=quote[:_MOST_CHARACTERS], edit_index=_edit_at(opened, index, comment))


def _edit_at(opened: OpenPlan, index: int, comment: LineComment) -> int | None:
    """The first edit that changed one of the lines; else one of the hunk that they are in."""
    file = opened.file(index)
    if not isinstance(file, FileReview):
        return None
    nearby: int | None = None
    for hunk in file.hunks:
        for line in hunk.lines:
            number = line.new_line if comment.side is Side.AFTER else line.old_line
            if number is None or not comment.start <= number <= comment.end:
                continue
            if line.edits:
                return line.edits[0]
            nearby = nearby if nearby is not None else next(iter(hunk.edits), None)
    return nearby


def _no_lines(comment: LineComment) -> Diagnostic:
    return Diagnostic.invalid(
        f"`{visible(comment.file)}` has no lines {comment.start}-{comment.end} {comment.side} the plan",
        "lines are counted from 1, in the text before or after the plan",
    )
