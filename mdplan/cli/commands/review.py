"""`mdplan review`: plans that wait for a person."""

import sys
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from mdplan.cli.completion import plans
from mdplan.cli.console import shown
from mdplan.cli.page_review import (
    PageOptions,
    refuse_page_options,
    review_on_page,
    with_page_options,
)
from mdplan.cli.report_view import counted
from mdplan.cli.session import Session, engine_command
from mdplan.diagnostics import Diagnostic, Exit
from mdplan.limit_options import BATCHES, COMMITS, FILES, HISTORY, PATTERNS
from mdplan.reports.base import to_wire
from mdplan.reports.plan import ApplyReport

if TYPE_CHECKING:
    from mdplan.engine.reviews import OpenPlan, ReviewEntry, ReviewService
    from mdplan.storage.user.decisions import Decision

_STATE_COLOURS = {"waiting": "yellow", "approved": "green", "applied": "green", "rejected": "red"}
_SHORT_ID = len("sha256-") + 16


@click.command()
@click.argument("plan", required=False, shell_complete=plans)
@click.option("--terminal", is_flag=True, help="Ask here, edit by edit.")
@click.option(
    "--override-rejection", is_flag=True, help="With --terminal: allow approving a plan that was rejected."
)
@click.option("--list", "lists", is_flag=True, help="List the plans and where each stands.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Most plans listed.")
@with_page_options
@engine_command(ApplyReport, FILES, PATTERNS, BATCHES, COMMITS, HISTORY)
def review(
    session: Session,
    *,
    plan: str | None,
    terminal: bool,
    override_rejection: bool,
    lists: bool,
    limit: int,
    **page: Any,  # noqa: ANN401 (what click makes of the options)
) -> Exit:
    """Decide about plans that wait: accept or reject them, whole or edit by edit, and say why.

    That is done on a page in a browser, which this command serves until Ctrl-C ends it; the link that it
    prints works once. PLAN is a plan ID, or the beginning of one with at least 12 of its hex digits; without
    it, you choose from those that wait. What is decided is kept for `mdplan apply --require-approval` and for
    `mdplan serve --require-approval`, which write only what was approved.
    """
    from mdplan.engine.reviews import ReviewService

    if lists or session.console.as_json:
        refuse_page_options("--list" if lists else "--json")
        return _list(session, ReviewService(session.open_engine()), limit)
    if not terminal:
        return review_on_page(session, plan, PageOptions(**page))
    refuse_page_options("--terminal")
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        raise click.UsageError("--terminal needs a terminal; `mdplan show` prints a plan anywhere.")
    reviewing = ReviewService(session.open_engine(require_approval=True))
    plan_id = plan or _chosen(session, reviewing, limit)
    return (
        _review(session, reviewing, plan_id, overrides=override_rejection)
        if plan_id is not None
        else Exit.DONE
    )


def _list(session: Session, reviewing: "ReviewService", limit: int) -> Exit:
    entries = reviewing.entries(limit)
    if session.console.as_json:
        session.console.json({"ok": True, "plans": [_entry_to_json(entry) for entry in entries]})
    else:
        rows = [_entry_text(session, entry) + "\n" for entry in entries]
        session.console.text("".join(rows) or "No plan was made here.\n")
    return Exit.DONE


def _entry_to_json(entry: "ReviewEntry") -> dict[str, object]:
    review = entry.review
    fields: dict[str, object] = {
        "planId": review.plan_id,
        "state": entry.state,
        "savedAt": entry.saved_at,
        "files": [file.path for file in review.changed_files],
        "edits": len(review.edits),
        "linesAdded": review.lines_added,
        "linesRemoved": review.lines_removed,
        **({"decision": entry.decision} if entry.decision is not None else {}),
    }
    decoded: dict[str, object] = to_wire(fields)
    return decoded


def _entry_text(session: Session, entry: "ReviewEntry") -> str:
    """One plan in a line."""
    review, ink = entry.review, session.console.out
    time = datetime.fromtimestamp(entry.saved_at).astimezone().strftime("%Y-%m-%d %H:%M")
    files = ", ".join(shown(file.path) for file in review.changed_files[:2])
    more = len(review.changed_files) - 2
    files += f" and {counted(more, 'more file')}" if more > 0 else ""
    state = ink.paint(f"{entry.state:8}", _STATE_COLOURS.get(entry.state, "bright_black"))
    size = f"{counted(len(review.edits), 'edit')}, +{review.lines_added} -{review.lines_removed}"
    return f"{review.plan_id[:_SHORT_ID]}  {state}  {time}  {size}  {files}"


def _chosen(session: Session, reviewing: "ReviewService", limit: int) -> str | None:
    """The plan that the person chooses of those that wait; None when there is none, or they quit."""
    waiting = [entry for entry in reviewing.entries(limit) if entry.state == "waiting"]
    if len(waiting) < 2:
        if not waiting:
            session.console.note("No plan waits here.")
        return waiting[0].review.plan_id if waiting else None
    for number, entry in enumerate(waiting, start=1):
        session.console.problem(f"{number:3}  {_entry_text(session, entry)}")
    while True:
        line = _ask(f"Which plan [1-{len(waiting)}, q]? ")
        if line is None or line.strip().lower() in ("q", ""):
            return None
        if line.strip().isdecimal() and 1 <= int(line) <= len(waiting):
            return waiting[int(line) - 1].review.plan_id


def _review(session: Session, reviewing: "ReviewService", plan_id: str, *, overrides: bool) -> Exit:
    from mdplan.cli.terminal_review import choose_edits, chosen_text

    console = session.console
    opened = _opened(session, reviewing, plan_id)
    if isinstance(opened, Exit):
        return opened
    choices = choose_edits(opened, _ask, _telling(session), console.err)
    if choices is None:
        console.note("Nothing was decided.")
        return Exit.APPROVAL
    console.note(chosen_text(opened.review, choices))
    comment = _ask("Comment on the whole (none: Enter): ")
    if comment is None:
        console.note("Nothing was decided.")
        return Exit.APPROVAL
    from mdplan.engine.reviews import DecisionTerms
    from mdplan.storage.user.decisions import Channel
    from mdplan.storage.user.user_state import user_name

    decision = reviewing.approve(
        opened.plan.plan_id,
        user_name(),
        rejected=choices.rejected,
        comment=comment.strip(),
        edit_comments={index: text for index, text in choices.comments.items() if text},
        terms=DecisionTerms(saw=opened.standing.version, channel=Channel.TERMINAL, overrides=overrides),
    )
    if isinstance(decision, tuple):
        return session.refuse(*decision)
    return _decided(session, reviewing, decision)


def _opened(session: Session, reviewing: "ReviewService", plan_id: str) -> "OpenPlan | Exit":
    """The plan, or one that was made anew of it where its files moved on; the exit where there is none."""
    opened = reviewing.open(plan_id)
    if isinstance(opened, tuple):
        return session.refuse(*opened)
    if opened.stale and _agrees("The files were changed since. Plan the same edits on them as they are now?"):
        report = reviewing.engine.replan(plan_id)
        if not report.ok or report.plan_id is None:
            return session.refuse(*report.diagnostics)
        return _opened(session, reviewing, report.plan_id)
    if opened.stale:
        return session.refuse(*opened.stale)
    if opened.state == "applied":
        return session.refuse(_APPLIED)
    if opened.decision is not None:
        by = shown(opened.decision.decided_by)
        session.console.note(f"{by} {opened.decision.verdict} this plan before.")
    return opened


def _decided(session: Session, reviewing: "ReviewService", decision: "Decision") -> Exit:
    """Say what a decision comes to, and offer to apply what it approves."""
    from mdplan.cli.plan_view import print_applied
    from mdplan.engine.apply_request import PlanRef

    console = session.console
    approved = decision.approved_plan_id
    if approved is None:
        console.note(f"{console.err.bold('Rejected', 'red')}. Whoever applies it is told why.")
        return Exit.DONE
    part = " in part, as a plan of its own" if decision.rejected else ""
    console.note(f"{console.err.bold('Approved', 'green')}{part}: {approved}")
    console.note(f"To apply: {session.command_line('apply', approved[:_SHORT_ID])}")
    if not _agrees("Apply it now?"):
        return Exit.DONE
    report = reviewing.engine.apply(PlanRef(plan_id=approved))
    code = session.finish(report)
    if report.ok:
        print_applied(session, report)
    return code


def _telling(session: Session) -> Callable[[str], None]:
    def tell(text: str) -> None:
        if text:
            session.console.problem(text.removesuffix("\n"))

    return tell


def _agrees(question: str) -> bool:
    return (_ask(f"{question} [y/N] ") or "").strip().lower() in ("y", "yes")


def _ask(question: str) -> str | None:
    """The line that is typed after `question`; None at the end of the input."""
    click.echo(question, nl=False, err=True)
    line = sys.stdin.readline()
    return line.rstrip("\n") if line else None


_APPLIED = Diagnostic.invalid(
    "the plan is applied: there is nothing to decide", "`mdplan undo` takes it back"
)
