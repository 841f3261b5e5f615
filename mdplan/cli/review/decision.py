"""The end of a review in the terminal: what was chosen, and what the person decides about the plan."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from mdplan.cli.review.edit_walk import EditWalk
from mdplan.cli.review.overview import file_list, named, overview, progress
from mdplan.cli.review.quoted_diff import listed
from mdplan.cli.review.review_choices import Choices, TerminalDialog
from mdplan.cli.review.revision import revision_note
from mdplan.cli.terminal.console import Style
from mdplan.cli.views.report_view import counted
from mdplan.cli.views.review_text import file_title, hunk_text
from mdplan.reports.plan import ReviewReport
from mdplan.review.plan_review import FileReview, PlanReview

if TYPE_CHECKING:
    from mdplan.engine.reviews import OpenPlan

_KEYS: Final = "acrmbfq?"
_SHOWN_KEYS: Final = "a,c,r,m,b,f,q,?"
_HELP: Final = """\
a - approve the accepted edits
c - request changes: nothing is applied, the author receives your comments and plans again
r - reject the plan
m - write a message to the author in your editor
b - go back to the edits
f - list the files, and which were viewed
q - quit without a decision
? - this help
"""
_MESSAGE: Final = """\

> Write your message to the author of the plan above this line.
> Save and leave the editor to keep it; leave it without saving to change nothing.
"""


class DecisionKind(StrEnum):
    """The kind of decision."""

    APPROVE = "approve"
    REQUEST_CHANGES = "request changes"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class ReviewEnd:
    """How a review ended: the decision, and the choices that it is about."""

    verb: DecisionKind
    choices: Choices


def review_plan_in_terminal(
    opened: "OpenPlan", talk: TerminalDialog, style: Style, earlier: ReviewReport | None = None
) -> ReviewEnd | None:
    """Show the edits of a plan, ask for each, then for the decision; None where nothing is decided.

    `earlier` is the review of the plan that this one revises.
    """
    choices = Choices()
    walk = EditWalk(opened, choices, talk, style, earlier)
    before = overview(opened, style) + revision_note(earlier)
    while walk.run(before):
        before = ""
        if choices.is_empty:
            return None
        talk.page(_derived(opened, choices, style))
        verb = _decision(opened.review, choices, talk, style)
        if isinstance(verb, DecisionKind):
            return ReviewEnd(verb, choices)
        if not verb:
            return None
    return None


def _decision(
    review: PlanReview, choices: Choices, talk: TerminalDialog, style: Style
) -> DecisionKind | bool:
    """What is decided about the plan; True to go back to the edits, False to quit."""
    actions: dict[str, Callable[[], DecisionKind | bool | None]] = {
        "a": lambda: DecisionKind.APPROVE if _approves(review, choices, talk) else None,
        "c": lambda: DecisionKind.REQUEST_CHANGES if _requests(choices, talk) else None,
        "r": lambda: DecisionKind.REJECT,
        "m": lambda: _write_message(choices, talk),
        "b": lambda: True,
        "f": lambda: talk.page(file_list(review, choices, style)),
        "q": lambda: False,
        "?": lambda: talk.tell(_HELP),
    }
    decided = None
    while decided is None:
        comments = "".join(f"  {line}\n" for line in listed(choices.line_comments))
        talk.tell(f"\n{progress(review, choices)}.\n{comments}")
        key = talk.key(f"Your decision [{_SHOWN_KEYS}]? ", _KEYS, _HELP)
        decided = actions[key]() if key is not None else False
    return decided


def _requests(choices: Choices, talk: TerminalDialog) -> bool:
    if not choices.n_comments:
        talk.tell("Say what to change: `m` writes a message, and `b` goes back to comment on edits.\n")
    return bool(choices.n_comments)


def _approves(review: PlanReview, choices: Choices, talk: TerminalDialog) -> bool:
    """Whether the person approves, also what they have not seen or answered, which is named."""
    everything = [edit.index for edit in review.edits]
    if len(choices.rejected) == len(everything):
        talk.tell("You rejected every edit: request changes, or reject the plan.\n")
        return False
    still_open = choices.open_edits(everything)
    unseen = [file for file in review.changed_files if file.index not in choices.viewed]
    if not still_open and not unseen:
        return True
    if still_open:
        of = [file for file in review.changed_files if set(still_open).intersection(file.edits)]
        talk.tell(f"{counted(len(still_open), 'edit')} without an answer, in {named(of)}.\n")
    if unseen:
        talk.tell(f"{counted(len(unseen), 'file')} not viewed: {named(unseen)}.\n")
    accepts = "and accept the edits without an answer" if still_open else "all the same"
    return talk.agrees(f"Approve {accepts}?")


def _write_message(choices: Choices, talk: TerminalDialog) -> None:
    saved = talk.edit(choices.message + _MESSAGE)
    if saved is not None:
        rows = [row for row in saved.split("\n") if not row.startswith(">")]
        choices.message = "\n".join(rows).strip()


def _derived(opened: "OpenPlan", choices: Choices, style: Style) -> str:
    """What follows from the edits, which nobody is asked about: links that the engine rewrites."""
    review: PlanReview = opened.review
    parts = []
    for of in review.files:
        found = opened.file(of.index) if of.references_updated else None
        hunks = [hunk for hunk in found.hunks if not hunk.edits] if isinstance(found, FileReview) else []
        if isinstance(found, FileReview) and hunks:
            choices.viewed.add(of.index)
            parts.append(style.bold(file_title(found)) + "\n")
            parts += [hunk_text(review, found, hunk, style) for hunk in hunks]
    return "\nLinks updated because of these edits:\n" + "".join(parts) if parts else ""
