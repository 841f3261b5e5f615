"""Overview of a plan in the terminal review: its size, its files, its warnings."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from mdplan.cli.review.review_choices import Choices
from mdplan.cli.terminal.console import Style, shown
from mdplan.cli.views.report_view import counted, problem_text
from mdplan.cli.views.review_text import intent_text
from mdplan.review.plan_review import PlanReview, ReviewedFile

if TYPE_CHECKING:
    from mdplan.engine.reviews import OpenPlan

_FILES_NAMED: Final = 10
_CAUSES_NAMED: Final = 5


def overview(opened: "OpenPlan", style: Style) -> str:
    """What a plan is for, its size, and its warnings by cause, in a few lines."""
    review = opened.review
    size = f"{counted(len(review.changed_files), 'file')}, {counted(len(review.edits), 'edit')}"
    lines = [f"{size}: {_sums(review, style)}"]
    causes = Counter(warning.code for warning in review.warnings)
    if causes:
        named = ", ".join(f"{count} {code}" for code, count in causes.most_common(_CAUSES_NAMED))
        more = len(causes) - _CAUSES_NAMED
        named += f" and {counted(more, 'more cause')}" if more > 0 else ""
        warnings = style.paint(counted(len(review.warnings), "warning"), "yellow")
        lines.append(f"{warnings}: {named}. Each is shown with its edit; w lists all.")
    return intent_text(opened, style) + "".join(line + "\n" for line in lines)


def warning_list(review: PlanReview, style: Style) -> str:
    """All warnings of a plan; a line that says so where there are none."""
    texts = [problem_text(warning, style, (), review.numbers) + "\n" for warning in review.warnings]
    return "".join(texts) or "This plan has no warnings.\n"


def file_list(review: PlanReview, choices: Choices, style: Style) -> str:
    """The files of a plan, numbered, with what was answered on the edits of each."""
    files = review.changed_files
    width = len(str(len(files)))
    rows = []
    for number, file in enumerate(files, 1):
        sums = (
            f"{style.paint(f'+{file.lines_added}', 'green')} {style.paint(f'-{file.lines_removed}', 'red')}"
        )
        rows.append(f"{number:{width}}  {_mark(file, choices)}  {shown(file.path)}  {sums}\n")
    return "".join(rows) + "● viewed, all edits answered   ◐ viewed   ○ not viewed\n"


def progress(review: PlanReview, choices: Choices) -> str:
    """How far the review is: ``2 of 9 edits accepted, 1 rejected, 6 open; 1 of 32 files viewed``."""
    accepted = sum(choices.answers.values())
    indexes = [edit.index for edit in review.edits]
    text = f"{accepted} of {counted(len(indexes), 'edit')} accepted"
    text += f", {len(choices.rejected)} rejected" if choices.rejected else ""
    still_open = choices.open_edits(indexes)
    text += f", {len(still_open)} open" if still_open else ""
    viewed = sum(file.index in choices.viewed for file in review.changed_files)
    text += f"; {viewed} of {counted(len(review.changed_files), 'file')} viewed"
    return text + (f"; {counted(choices.n_comments, 'comment')}" if choices.n_comments else "")


def named(files: Sequence[ReviewedFile]) -> str:
    """The paths of `files`, the first ones where there are many."""
    paths = ", ".join(shown(file.path) for file in files[:_FILES_NAMED])
    more = len(files) - _FILES_NAMED
    return paths + (f" and {more} more" if more > 0 else "")


def _sums(of: PlanReview | ReviewedFile, style: Style) -> str:
    return f"{style.paint(f'+{of.lines_added}', 'green')} {style.paint(f'-{of.lines_removed}', 'red')}"


def _mark(file: ReviewedFile, choices: Choices) -> str:
    if file.index not in choices.viewed:
        return "○"
    return "◐" if choices.open_edits(file.edits) else "●"
