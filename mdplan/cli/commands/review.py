"""`mdplan review`: plans that wait for a person."""

import os
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mdplan.cli.completion import plans
from mdplan.cli.options import flag, option
from mdplan.cli.plan_output import full_id, plan_row, print_applied, short_id
from mdplan.cli.session import Session, engine_command
from mdplan.cli.suggestions import Misuse
from mdplan.cli.terminal import agrees, ask, has_terminal, open_in_browser, shown
from mdplan.diagnostics import Diagnostic, Exit, Problems, Refused
from mdplan.reports.base import to_wire
from mdplan.storage.filesystem import granted
from mdplan.words import say

if TYPE_CHECKING:
    from mdplan.cli.review import ReviewEnd, TerminalDialog
    from mdplan.decisions import Decision
    from mdplan.engine.reviews import OpenPlan, ReviewEntry, ReviewService


@engine_command("review")
@click.argument("plan", required=False, shell_complete=plans)
@flag("--terminal", "Review here in the terminal, edit by edit.")
@flag("--override-rejection", "With --terminal: allow approving a plan that was rejected.")
@flag("--list lists", "List the saved plans and their states.")
@option("--limit", "Maximum number of plans to list.", type=click.IntRange(min=1), default=50)
@option("--host", "Page: address of this machine to serve it at.", default="127.0.0.1")
@option("--port", "Page: its port.  [default: a free one]", type=click.IntRange(0, 65_535), default=0)
@flag("--no-browser", "Page: print the link to it, and open nothing.")
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
    """Serves the review page for a browser until Ctrl-C.

    The printed link works once. PLAN is a plan ID or its first hex digits, at least 4; without it, you choose
    from the pending plans. `mdplan apply --require-approval` and `mdplan serve --require-approval` apply only
    approved plans.
    """
    from mdplan.engine.reviews import ReviewService

    if lists or session.console.as_json:
        _refuse_page_options("--list" if lists else "--json")
        return _list(session, ReviewService(session.open_engine()), limit)
    if plan is not None:
        plan = full_id(session.open_engine(), plan)
    if not terminal:
        return _review_on_page(session, plan, **page)
    _refuse_page_options("--terminal")
    if not has_terminal():
        raise Misuse("--terminal needs a terminal", say("{mdplan show} prints a plan anywhere"))
    reviewing = ReviewService(session.open_engine(require_approval=True))
    plan_id = plan or _chosen(session, reviewing, limit)
    return (
        _review(session, reviewing, plan_id, overrides=override_rejection)
        if plan_id is not None
        else Exit.DONE
    )


def _refuse_page_options(instead: str) -> None:
    """Raise a usage error for an option of the page next to the option `instead`, which needs no page."""
    source_of = click.get_current_context().get_parameter_source
    for name in ("host", "port", "no_browser"):
        if source_of(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} does not go with {instead}.")


def _review_on_page(session: Session, plan: str | None, *, host: str, port: int, no_browser: bool) -> Exit:
    """Serve the page, opened at `plan`, until a signal ends it. Gives the exit code."""
    from mdplan.engine.reviews import ReviewService
    from mdplan.web.routes import serve_page

    engine = session.open_engine(require_approval=True)
    at = f"&plan={granted(engine.library.load(plan))[0].plan_id}" if plan is not None else ""

    def announce_link(link: str) -> None:
        session.console.note("Plans can be reviewed at this link, which works once. Ctrl-C ends it.")
        session.console.text(f"{link}{at}\n")
        if not no_browser:
            open_in_browser(link + at, os.environ)

    return Exit(serve_page(ReviewService(engine), host, port, announce_link))


def _list(session: Session, reviewing: "ReviewService", limit: int) -> Exit:
    entries = reviewing.entries(limit)
    if session.console.as_json:
        session.console.json({"ok": True, "plans": [_entry_to_json(entry) for entry in entries]})
    else:
        rows = [plan_row(entry, session.console.out) + "\n" for entry in entries]
        session.console.text("".join(rows) or "There are no saved plans here.\n")
    return Exit.DONE


def _entry_to_json(entry: "ReviewEntry") -> dict[str, object]:
    review = entry.review
    decision: dict[str, Any] = to_wire(entry.decision) if entry.decision is not None else {}
    # The remarks are among its own fields.
    decision |= decision.pop("remarks", {})
    fields: dict[str, object] = {
        "planId": review.plan_id,
        "state": entry.state,
        **review.intent.fields,
        **({"client": entry.client} if entry.client is not None else {}),
        "savedAt": entry.saved_at,
        "files": [file.path for file in review.changed_files],
        "edits": len(review.edits),
        "linesAdded": review.lines_added,
        "linesRemoved": review.lines_removed,
        **({"decision": decision} if decision else {}),
    }
    decoded: dict[str, object] = to_wire(fields)
    return decoded


def _chosen(session: Session, reviewing: "ReviewService", limit: int) -> str | None:
    """Return the pending plan that the user chooses; None if there is none, or they quit."""
    pending = [entry for entry in reviewing.entries(limit) if entry.state == "waiting"]
    if len(pending) < 2:
        if not pending:
            session.console.note("No plan is pending here.")
        return pending[0].review.plan_id if pending else None
    for number, entry in enumerate(pending, start=1):
        session.console.problem(f"{number:3}  {plan_row(entry, session.console.err)}")
    while True:
        line = ask(f"Which plan [1-{len(pending)}, q]? ")
        if line is None or line.strip().lower() in ("q", ""):
            return None
        if line.strip().isdecimal() and 1 <= int(line) <= len(pending):
            return pending[int(line) - 1].review.plan_id


def _review(session: Session, reviewing: "ReviewService", plan_id: str, *, overrides: bool) -> Exit:
    from mdplan.cli.review import review_plan_in_terminal

    opened = _opened(session, reviewing, plan_id)
    earlier = reviewing.earlier(opened)
    outcome = review_plan_in_terminal(opened, _dialog(session), session.console.err, earlier)
    if outcome is None:
        session.console.note("Nothing decided.")
        return Exit.APPROVAL
    decision = granted(_decide(reviewing, opened, outcome, overrides=overrides))
    return _decided(session, reviewing, decision)


def _decide(
    reviewing: "ReviewService", opened: "OpenPlan", outcome: "ReviewEnd", *, overrides: bool
) -> "Decision | Problems":
    from mdplan.decisions import Channel, Remarks
    from mdplan.engine.history import user_name
    from mdplan.engine.reviews import DecisionTerms

    choices = outcome.choices
    terms = DecisionTerms(saw=opened.decisions.version, channel=Channel.TERMINAL, overrides=overrides)
    remarks = Remarks(comment=choices.message, edit_comments=choices.comments, line_comments=choices.on_lines)
    return reviewing.decide(
        opened.plan.plan_id, user_name(), outcome.verdict, remarks, rejected=choices.rejected, terms=terms
    )


def _opened(session: Session, reviewing: "ReviewService", plan_id: str) -> "OpenPlan":
    """Return the plan, or a new one if its files have changed. Raises `Refused` without either."""
    opened = granted(reviewing.open(plan_id))
    if opened.stale and agrees("The files have changed. Plan the same edits on them as they are now?"):
        report = reviewing.engine.replan(plan_id)
        if not report.ok or report.plan_id is None:
            raise Refused(*report.diagnostics)
        return _opened(session, reviewing, report.plan_id)
    if opened.stale:
        raise Refused(*opened.stale)
    if opened.state == "applied":
        raise Refused(_APPLIED)
    if opened.decision is not None:
        by = shown(opened.decision.decided_by)
        done = "requested changes to" if opened.decision.requests_changes else opened.decision.verdict
        session.console.note(f"{by} {done} this plan before.")
    return opened


def _decided(session: Session, reviewing: "ReviewService", decision: "Decision") -> Exit:
    """Say what a decision comes to, and offer to apply what it approves."""
    from mdplan.engine.plans import PlanRef

    console = session.console
    approved = decision.approved_plan_id
    if approved is None:
        what = "Changes requested" if decision.requests_changes else "Rejected"
        console.note(f"{console.err.bold(what, 'red')}. The author will see your comments.")
        return Exit.DONE
    part = " without the rejected edits" if decision.is_partial else ""
    console.note(f"{console.err.bold('Approved', 'green')}{part}: plan {short_id(approved)}")
    console.note(f"To apply: {session.command_line('apply', short_id(approved))}")
    if not agrees("Apply it now?"):
        return Exit.DONE
    report = reviewing.engine.apply(PlanRef(plan_id=approved))
    code = session.finish(report)
    if report.ok:
        print_applied(session, report)
    return code


def _dialog(session: Session) -> "TerminalDialog":
    from mdplan.cli.review import TerminalDialog

    def show_text(text: str) -> None:
        if text:
            session.console.problem(text.removesuffix("\n"))

    def page(text: str) -> None:
        if not session.console.shows_in_pager(text):
            show_text(text)

    def edit(text: str) -> str | None:
        try:
            return click.edit(text, extension=".md")
        except click.ClickException as failed:
            show_text(f"{failed.message}; set EDITOR to the command of your editor")
            return None

    return TerminalDialog(ask=ask, show_text=show_text, page=page, edit=edit)


_APPLIED = Diagnostic.invalid(
    "the plan is applied: there is nothing to decide", say("{mdplan undo} takes it back")
)
