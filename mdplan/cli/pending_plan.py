"""Plans by the beginning of their ID, and the one plan that is pending where none is named."""

import re
from datetime import datetime
from typing import TYPE_CHECKING, Final

from mdplan.cli.terminal.console import Style, shown
from mdplan.cli.views.report_view import counted
from mdplan.diagnostics import Code, Diagnostic

if TYPE_CHECKING:
    from mdplan.cli.session import Session
    from mdplan.engine.engine import Engine
    from mdplan.engine.reviews import ReviewEntry

PLAN_ID: Final = re.compile(r"(?:sha256-)?[0-9a-fA-F]{4,64}")
_PREFIX: Final = "sha256-"
_SHORT: Final = 12
_LISTED: Final = 20
_COLOURS: Final = {
    "waiting": "yellow",
    "approved": "green",
    "applied": "green",
    "rejected": "red",
    "changes requested": "red",
}
_STATES: Final = {"waiting": "pending"}


def short_id(plan_id: str) -> str:
    """`plan_id` as people get it: 12 hex digits, which every command takes."""
    return plan_id.removeprefix(_PREFIX)[:_SHORT]


def full_id(engine: "Engine", text: str) -> str | Diagnostic:
    """The plan ID that begins with `text`: the whole, or at least 4 of its hex digits.

    Errors: PLAN_NOT_FOUND, and INVALID_ARGUMENT where several begin so.
    """
    digits = text.removeprefix(_PREFIX).lower()
    if len(digits) >= _SHORT or not PLAN_ID.fullmatch(text):
        return text
    saved = [plan.plan_id for plan, _ in engine.library.pending()]
    found = [each for each in saved if each.removeprefix(_PREFIX).startswith(digits)]
    if len(found) == 1:
        return found[0]
    if not found:
        hint = "`mdplan review --list` lists the saved plans"
        return Diagnostic(
            code=Code.PLAN_NOT_FOUND,
            message=f"no saved plan has an ID that begins with `{digits}`",
            hint=hint,
        )
    names = ", ".join(f"`{short_id(each)}`" for each in found[:_LISTED])
    return Diagnostic.invalid(
        f"{len(found)} saved plans have IDs that begin with `{digits}`", f"give more digits: {names}"
    )


def pending_plans(engine: "Engine") -> list["ReviewEntry"]:
    """The saved plans that could be applied now, the last saved first.

    A plan that was applied is none of them, even if it was undone, unless it was saved again after that.
    """
    from mdplan.engine.reviews import ReviewService, ReviewState

    entries = ReviewService(engine).entries(_LISTED)
    return [
        each
        for each in entries
        if each.state in (ReviewState.PENDING, ReviewState.APPROVED)
        and not engine.past.has_applied(each.review.plan_id, each.saved_at)
    ]


def plan_row(entry: "ReviewEntry", style: Style) -> str:
    """A saved plan in one line: its ID, its state, when it was saved, how much it changes, and where."""
    review = entry.review
    time = datetime.fromtimestamp(entry.saved_at).astimezone().strftime("%Y-%m-%d %H:%M")
    files = ", ".join(shown(file.path) for file in review.changed_files[:2])
    more = len(review.changed_files) - 2
    files += f" and {counted(more, 'more file')}" if more > 0 else ""
    state = _STATES.get(entry.state, entry.state)
    painted = style.paint(f"{state:8}", _COLOURS.get(entry.state, "bright_black"))
    size = f"{counted(len(review.edits), 'edit')}, +{review.lines_added} -{review.lines_removed}"
    title = f"  {style.bold(shown(review.intent.title))}" if review.intent.title else ""
    by = f"  ({shown(str(entry.client))})" if entry.client is not None and not entry.client.is_mdplan else ""
    return f"{short_id(review.plan_id)}  {painted}  {time}{title}  {size}  {files}{by}"


def only_pending(session: "Session", engine: "Engine", verb: str) -> str | Diagnostic:
    """The ID of the only pending plan, for `mdplan VERB`. Where there are several, they are listed.

    Errors: INVALID_ARGUMENT where there is none, or more than one.
    """
    pending = pending_plans(engine)
    if not pending:
        return Diagnostic.invalid(
            "no plan is pending here",
            "make one with `mdplan plan BATCH`, or edit at once: `mdplan edit --help`",
        )
    if len(pending) == 1:
        return pending[0].review.plan_id
    for entry in pending:
        session.console.note(plan_row(entry, session.console.err))
    return Diagnostic.invalid(
        f"{len(pending)} plans are pending",
        f"name one: `mdplan {verb} {short_id(pending[0].review.plan_id)}`",
    )
