"""Review in a terminal: edit by edit, each with what it changes, and a decision at the end."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mdplan.cli.console import Style, shown
from mdplan.cli.review_text import edit_text, file_title, hunk_text, warnings_text
from mdplan.cli.views.report import counted, problem_text
from mdplan.review.plan_review import FileReview, PlanReview, ReviewedEdit

if TYPE_CHECKING:
    from mdplan.engine.open_plan import OpenPlan

# Asks a question and gives the line that is typed; None at the end of the input.
AskFunction = Callable[[str], str | None]
WriteFunction = Callable[[str], None]

_HELP: Final = """\
y - accept this edit
n - reject this edit
a - accept this edit and all that follow
d - reject this edit and all that follow
e - write a comment on this edit for its author
k - go back to the previous edit
q - quit without a decision
? - this help
"""
_KEYS: Final = "y,n,a,d,e,k,q,?"


@dataclass(slots=True)
class Choices:
    """What a person chose so far: the rejected edits, and comments on edits, by index."""

    rejected: set[int] = field(default_factory=set)
    comments: dict[int, str] = field(default_factory=dict)


def choose_edits(opened: "OpenPlan", ask: AskFunction, tell: WriteFunction, style: Style) -> Choices | None:
    """Show the edits of a plan one after the other, and ask for each; None when the person quits.

    A plan that is accepted whole or not at all is asked for once.
    """
    review = opened.review
    tell(warnings_text(review, style))
    groups = [[edit] for edit in review.edits] if review.undoes is None else [list(review.edits)]
    choices = Choices()
    at = 0
    while at < len(groups):
        for edit in groups[at]:
            tell(_edit(opened, edit, style))
        answer = _answer(ask, tell, f"Accept this edit ({at + 1}/{len(groups)}) [{_KEYS}]? ")
        if answer is None or answer == "q":
            return None
        indexes = [edit.index for group in groups[at:] for edit in group]
        own = {edit.index for edit in groups[at]}
        match answer:
            case "y":
                choices.rejected -= own
            case "n":
                choices.rejected |= own
            case "a" | "d":
                choices.rejected.difference_update(indexes)
                choices.rejected.update(indexes if answer == "d" else ())
                at = len(groups)
            case "e":
                _comment(ask, choices, groups[at][0], opened.review)
                continue
            case _:
                at = max(at - 1, 0)
                continue
        at += 1
    tell(_derived(opened, style))
    return choices


def _answer(ask: AskFunction, tell: WriteFunction, question: str) -> str | None:
    """One of the keys; None at the end of the input."""
    while True:
        line = ask(question)
        if line is None:
            return None
        key = line.strip().lower()[:1]
        if key and key in "yndaekq":
            return key
        tell(_HELP)


def _comment(ask: AskFunction, choices: Choices, edit: ReviewedEdit, review: PlanReview) -> None:
    line = ask(f"Comment on {shown(review.numbers.named(edit.index))}: ")
    if line is not None:
        choices.comments[edit.index] = line.strip()


def _edit(opened: "OpenPlan", edit: ReviewedEdit, style: Style) -> str:
    """One edit with every hunk that it has a part in, and its warnings."""
    parts = ["\n" + style.bold(edit_text(opened.review, edit)) + "\n"]
    parts += [problem_text(warning, style) + "\n" for warning in edit.result.warnings]
    for file in _files(opened, edit.files):
        hunks = [hunk for hunk in file.hunks if edit.index in hunk.edits]
        parts.append(style.bold(file_title(file)) + "\n")
        parts += [hunk_text(opened.review, file, hunk, style, edit.index) for hunk in hunks]
    return "".join(parts)


def _derived(opened: "OpenPlan", style: Style) -> str:
    """What follows from the edits, which nobody is asked about: links that the engine rewrites."""
    review: PlanReview = opened.review
    indexes = [file.index for file in review.files if file.references_updated]
    parts = []
    for file in _files(opened, indexes):
        hunks = [hunk for hunk in file.hunks if not hunk.edits]
        if hunks:
            parts.append(style.bold(file_title(file)) + "\n")
            parts += [hunk_text(review, file, hunk, style) for hunk in hunks]
    return "\nLinks updated because of these edits:\n" + "".join(parts) if parts else ""


def _files(opened: "OpenPlan", indexes: "list[int] | tuple[int, ...]") -> Iterator[FileReview]:
    for index in indexes:
        found = opened.file(index)
        if isinstance(found, FileReview):
            yield found


def chosen_text(review: PlanReview, choices: Choices) -> str:
    """How many edits were accepted."""
    accepted = len(review.edits) - len(choices.rejected)
    comments = sum(bool(comment) for comment in choices.comments.values())
    more = f", with {counted(comments, 'comment')}" if comments else ""
    return f"Accepted: {accepted} of {counted(len(review.edits), 'edit')}{shown(more)}."
