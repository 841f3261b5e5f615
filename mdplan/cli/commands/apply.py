"""`mdplan apply`: apply a plan, or a batch with guards."""

import os
from typing import TYPE_CHECKING

import click

from mdplan.cli.batches.argument import override_options
from mdplan.cli.batches.bad_input import BadInput
from mdplan.cli.batches.batch_input import STANDARD_INPUT, has_no_input, read_input
from mdplan.cli.completion.completed_values import plans_and_files
from mdplan.cli.options import approval_option
from mdplan.cli.pending_plan import PLAN_ID, full_id, only_pending
from mdplan.cli.plan_output import print_applied, print_diff, print_recovered, print_summary
from mdplan.cli.session import Session, engine_command
from mdplan.cli.terminal.questions import agrees, has_terminal
from mdplan.cli.usage.command import command
from mdplan.cli.usage.misuse import Misuse
from mdplan.diagnostics import Diagnostic, Exit
from mdplan.limits import BATCHES, COMMITS, FILES, HISTORY, PATTERNS
from mdplan.reports.base import refusal
from mdplan.reports.plan import ApplyReport

if TYPE_CHECKING:
    from mdplan.engine.engine import Engine


@command(
    example="mdplan apply\nmdplan apply 3f058f21",
    rare=("allow_outline_change", "allow_duplicate_headings", "description", "revises"),
)
@click.argument("plan", type=click.Path(allow_dash=True), required=False, shell_complete=plans_and_files)
@click.option("--yes", "-y", is_flag=True, help="Without PLAN: apply the pending plan without asking.")
@click.option("--check", is_flag=True, help="Apply nothing; exit with 1 if anything would change.")
@click.option(
    "--rebase", is_flag=True, help="If a file has changed, apply when every edit still has the same effect."
)
@click.option("--merge", is_flag=True, help="If a file has changed, merge the change into it, as a new plan.")
@approval_option
@override_options
@engine_command(ApplyReport, FILES, PATTERNS, BATCHES, COMMITS, HISTORY, tells_people=True)
def apply(  # noqa: PLR0913 (one parameter for each option)
    session: Session,
    *,
    plan: str | None,
    yes: bool,
    check: bool,
    rebase: bool,
    merge: bool,
    require_approval: bool,
    **overrides: bool | str,
) -> Exit:
    """Apply PLAN, or the only pending plan; fail if a file has changed since the plan was made.

    PLAN is a plan ID, or the beginning of one with at least 4 of its hex digits; a file that
    `mdplan plan --output` wrote; or a batch: a JSON or YAML file, or - for standard input, in which a base
    hash or other evidence guards each edit. Without PLAN it is what is piped in; at a terminal it is the only
    pending plan, which is shown before you are asked.
    """
    from mdplan.engine.plans import PlanRef, read_apply_request, with_options
    from mdplan.requests.batch import Batch

    if rebase and (check or merge):
        other = "--check" if check else "--merge"
        hint = "--check is about the files as planned" if check else "give one of them"
        raise Misuse(f"{other} cannot be combined with --rebase", hint)
    engine = session.open_engine(require_approval=require_approval)
    data = _data(session, engine, plan)
    if isinstance(data, BadInput):
        return session.refuse_input(data)
    request = (
        PlanRef(plan_id=data) if isinstance(data, str) else read_apply_request(data, engine.settings.batch)
    )
    if isinstance(request, tuple):
        return session.finish(refusal(ApplyReport, request), data)
    if any(overrides.values()) and not isinstance(request, Batch):
        raise Misuse("--title, --description, --revises and the --allow options are for batches")
    is_named = plan is not None or not has_no_input()
    is_asked = isinstance(data, str) and not (is_named or yes or check)
    if is_asked:
        code = _confirm(session, engine, str(data))
        if code is not None:
            return code
    options = {**overrides, "dry_run": check, "on_stale": "merge" if merge else "rebase" if rebase else None}
    report = engine.apply(with_options(request, options))
    code = _finish(session, engine, report, data, check=check)
    if is_asked and report.receipt is not None:
        session.console.note(f"To undo: {session.command_line('undo', report.receipt.transaction)}")
    return code


def _finish(session: Session, engine: "Engine", report: ApplyReport, data: object, *, check: bool) -> Exit:
    """Print what an apply did, or would do."""
    print_recovered(session, report)
    if not report.ok:
        return session.finish(report, data)
    if report.applied or report.no_op:
        code = session.finish(report)
        print_applied(session, report)
        return code
    problems = print_diff(session, engine, report)
    if problems:
        return session.refuse(*problems)
    session.finish(report)
    print_summary(session, report)
    return Exit.WOULD_CHANGE if check else Exit.DONE


def _data(session: Session, engine: "Engine", plan: str | None) -> object | BadInput:
    """The batch or plan document to be applied, or the ID of a plan."""
    if plan is None and not has_no_input():
        plan = STANDARD_INPUT
    if plan is not None and (not PLAN_ID.fullmatch(plan) or os.path.lexists(plan)):
        return read_input(plan)
    found = only_pending(session, engine, "apply") if plan is None else full_id(engine, plan)
    return BadInput(found) if isinstance(found, Diagnostic) else found


def _confirm(session: Session, engine: "Engine", plan_id: str) -> Exit | None:
    """Show the pending plan and ask whether to apply it; the exit code where it is not applied."""
    report = engine.show(plan_id)
    problems = print_diff(session, engine, report) if report.ok else report.diagnostics
    if problems:
        return session.refuse(*problems)
    if session.console.as_json or not has_terminal():
        session.finish(report)
        session.console.note("Nothing changed: there is no terminal to ask on. Add --yes to apply at once.")
        print_summary(session, report)
        return Exit.WOULD_CHANGE
    if agrees("Apply this plan?"):
        return None
    session.console.note("Nothing changed.")
    return Exit.WOULD_CHANGE
