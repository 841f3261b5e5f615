"""`mdplan plan`, `validate`, `apply` and `discard`."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mdplan.cli import batches, plan_output
from mdplan.cli.completion import open_plans, plans_and_files
from mdplan.cli.options import approval_option, flag, option, stale_options
from mdplan.cli.report_text import plan_size
from mdplan.cli.session import Session, engine_command, exit_of
from mdplan.cli.suggestions import Misuse
from mdplan.cli.terminal import STANDARD_INPUT, agrees
from mdplan.diagnostics import Code, Exit
from mdplan.reports.base import refusal
from mdplan.reports.plan import ApplyReport, PlanReport
from mdplan.storage.filesystem import granted
from mdplan.text.visible import counted
from mdplan.values import replace

if TYPE_CHECKING:
    from mdplan.engine.engine import Engine
    from mdplan.requests.verbs import OnStale


@engine_command("plan")
@batches.batch_argument
@plan_output.output_option
@flag("--check", "Exit with 1 if anything would change.")
@batches.override_options
def plan(session: Session, *, batch: str, output: Path | None, check: bool, **overrides: bool | str) -> Exit:
    """BATCH is a JSON or YAML file, JSON itself, or - for standard input.

    The diff goes to standard output, in a form that `git apply` takes, and everything else to standard error.
    Paths in the batch and in the diff are relative to the root; `markdownFile`, instead of `markdown`, names
    a file with the text, relative to BATCH.
    """
    data = batches.with_overrides(batches.read_input(batch), overrides)
    draft = session.open_engine().draft(data)
    report = draft.report
    if not report.ok:
        return session.finish(report, data)
    problems = plan_output.write_file("the plan", [draft.document], output, "--output") if output else ()
    if problems:
        return session.refuse(*problems)
    plan_output.write_diff(session, draft.diff)
    session.finish(report)
    plan_output.print_summary(session, report, output)
    return Exit.WOULD_CHANGE if check and not report.no_op else Exit.DONE


@engine_command("validate")
@batches.batch_argument
@option(
    "--format form",
    "sarif: problems and warnings for code scanning, on standard output.",
    type=click.Choice(["text", "sarif"]),
    default="text",
)
@batches.override_options
def validate(session: Session, *, batch: str, form: str, **overrides: bool | str) -> Exit:
    """BATCH is a JSON or YAML file, JSON itself, or - for standard input.

    It is planned as `mdplan plan` does it, but no diff is printed; with --json the report contains it.
    """
    data = batches.with_overrides(batches.read_input(batch), overrides)
    report = session.open_engine().draft(data).report
    if form == "sarif":
        plan_output.print_sarif(session, report, batch if Path(batch).is_file() else "batch")
        return exit_of(report)
    code = session.finish(report, data)
    if report.ok:
        plan_output.print_warnings(session, report)
        session.console.note(f"Valid: {plan_size(report)} would change.")
    return code


# --- `mdplan apply`


@engine_command("apply")
@click.argument("plan", type=click.Path(allow_dash=True), required=False, shell_complete=plans_and_files)
@flag("--yes -y", "Without PLAN: apply the pending plan without asking.")
@flag("--check", "Apply nothing; exit with 1 if anything would change.")
@stale_options("Where a file has changed, apply if every edit still has the same effect.")
@approval_option
@batches.override_options
def apply(
    session: Session,
    *,
    plan: str | None,
    yes: bool,
    check: bool,
    on_stale: "OnStale",
    require_approval: bool,
    **overrides: bool | str,
) -> Exit:
    """PLAN is a plan ID or its first hex digits, at least 4.

    It can also be a file from `mdplan plan --output`, or a batch: a JSON or YAML file, or - for standard
    input, in which a base hash or other evidence guards each edit. Without PLAN it is the piped input; at a
    terminal it is the only pending plan, which is shown before you are asked.
    """
    from mdplan.engine.plans import PlanRef, read_apply_request, with_options

    engine = session.open_engine(require_approval=require_approval)
    data = batches.with_overrides(_data(session, engine, plan), overrides)
    if isinstance(data, str) and any(overrides.values()):
        raise Misuse("--title, --description, --revises and the --allow options are for batches")
    request = (
        PlanRef(plan_id=data) if isinstance(data, str) else read_apply_request(data, engine.settings.batch)
    )
    if isinstance(request, tuple):
        return session.finish(refusal(ApplyReport, request), data)
    is_named = plan is not None or not batches.stdin_is_unused()
    is_asked = isinstance(data, str) and not (is_named or yes or check)
    if is_asked:
        code = _confirm(session, engine, str(data), on_stale)
        if code is not None:
            return code
    report = engine.apply(with_options(request, {"dry_run": check, "on_stale": on_stale}))
    return _finish(session, engine, report, data, check=check)


def _finish(session: Session, engine: "Engine", report: ApplyReport, data: object, *, check: bool) -> Exit:
    """Print what an apply did, or would do."""
    plan_output.print_recovered(session, report.recovered)
    if not report.ok:
        return _refuse(session, report, data)
    if report.applied or report.no_op:
        code = session.finish(report)
        plan_output.print_applied(session, report)
        return code
    plan_output.print_diff(session, engine, report)
    session.finish(report)
    plan_output.print_summary(session, report)
    return Exit.WOULD_CHANGE if check else Exit.DONE


def _refuse(session: Session, report: PlanReport, data: object) -> Exit:
    """End with the reason why the plan `data` is not applied; for changed files, also with a next step."""
    if isinstance(data, str) and report.error is not None and report.error.code is Code.STALE_BASE:
        apply = partial(session.command_line, "apply", plan_output.short_id(data))
        hint = (
            f"`{apply('--merge')}` merges the change into the file as it is now; "
            f"`{apply('--rebase')}` applies it if every edit still has the same effect"
        )
        error, *others = report.diagnostics
        problems = (replace(error, hint=hint), *(replace(each, hint="") for each in others))
        report = replace(report, error=problems[0], diagnostics=problems)
    return session.finish(report, data)


def _data(session: Session, engine: "Engine", plan: str | None) -> object:
    """Return the batch or plan document to apply, or the ID of a plan."""
    if plan is None and not batches.stdin_is_unused():
        plan = STANDARD_INPUT
    if plan is not None and (not plan_output.PLAN_ID.fullmatch(plan) or os.path.lexists(plan)):
        return batches.read_input(plan)
    return plan_output.named_plan(session, engine, plan, "apply")


def _confirm(session: Session, engine: "Engine", plan_id: str, on_stale: "OnStale") -> Exit | None:
    """Show the pending plan and ask whether to apply it; the exit code where it is not applied."""
    plan = granted(engine.library.load(plan_id))[0]
    report = engine.committer.preview(plan, on_stale, stores=False)
    if not report.ok:
        return _refuse(session, report, plan_id)
    if report.diff_truncated:
        # Only a stored plan has all of its diff.
        report = engine.committer.preview(plan, on_stale)
    plan_output.print_diff(session, engine, report)
    if not session.console.can_ask:
        session.finish(report)
        plan_output.print_nobody_to_ask(session)
        plan_output.print_summary(session, report)
        return Exit.WOULD_CHANGE
    if agrees("Apply this plan?"):
        return None
    session.console.note("Nothing changed.")
    return Exit.WOULD_CHANGE


# --- `mdplan discard`


@engine_command("discard")
@click.argument("plan_ids", metavar="[PLAN]...", nargs=-1, shell_complete=open_plans)
@flag("--all -a is_all", "Discard all plans that wait, also stale ones.")
def discard(session: Session, *, plan_ids: tuple[str, ...], is_all: bool) -> Exit:
    """PLAN is a plan ID or its first digits; without it, the only pending plan.

    No file changes. A discarded plan stays in the list, and `mdplan apply` still accepts its ID.
    """
    from mdplan.engine.reviews import ReviewService

    if is_all and plan_ids:
        raise Misuse("--all cannot be combined with PLAN", "give one of them")
    engine = session.open_engine()
    if is_all:
        entries = ReviewService(engine).entries(len(engine.library.pending()))
        ids = [str(entry.review.plan_id) for entry in entries if entry.state.may_be_applied]
    else:
        ids = [plan_output.named_plan(session, engine, each, "discard") for each in plan_ids or (None,)]
    found = [granted(engine.library.load(plan_id))[0].plan_id for plan_id in ids]
    for plan_id in found:
        granted(engine.library.discard(plan_id))
    if session.console.as_json:
        session.console.json({"ok": True, "planIds": found})
    named = f": {', '.join(map(plan_output.short_id, found))}" if len(found) == 1 else ""
    session.console.note(
        f"Discarded {counted(len(found), 'plan')}{named}." if found else "No plan is pending here."
    )
    return Exit.DONE
