"""`mdplan apply`: commit a plan, or a batch that is pinned."""

import re
from typing import Final

import click

from mdplan.cli.completion import plans_and_files
from mdplan.cli.json_input import batch_argument, override_options, read_json
from mdplan.cli.options import approval_option
from mdplan.cli.plan_view import print_applied, print_diff, print_recovered, print_summary
from mdplan.cli.session import Session, engine_command
from mdplan.diagnostics import Diagnostic, Exit
from mdplan.limit_options import BATCHES, COMMITS, FILES, HISTORY, PATTERNS
from mdplan.reports.plan import ApplyReport

_PLAN_ID: Final = re.compile(r"(?:sha256-)?[0-9a-fA-F]{12,64}")


@click.command()
@batch_argument("plan", plans_and_files)
@click.option("--check", is_flag=True, help="Apply nothing; exit with 1 if anything would change.")
@click.option(
    "--rebase", is_flag=True, help="Go on where files moved on, if all edits still do the same there."
)
@approval_option
@override_options
@engine_command(ApplyReport, FILES, PATTERNS, BATCHES, COMMITS, HISTORY, tells_people=True)
def apply(
    session: Session, *, plan: str, check: bool, rebase: bool, require_approval: bool, **overrides: bool
) -> Exit:
    """Commit PLAN: exactly its text edits, and only while every file is as it was planned on.

    PLAN is a plan ID, or the beginning of one with at least 12 of its hex digits; a file that
    `mdplan plan --output` wrote; or a batch as a JSON file, or - for standard input, in which a base hash or
    other evidence pins each edit to the text that its author saw. Without PLAN it is standard input.
    """
    from mdplan.engine.apply_request import PlanRef, read_apply_request, with_options
    from mdplan.requests.batch import Batch

    if check and rebase:
        raise click.UsageError("--check does not go with --rebase: a dry run is on the files as planned.")
    is_plan = _PLAN_ID.fullmatch(plan) is not None
    data = {} if is_plan else read_json(plan)
    if isinstance(data, Diagnostic):
        return session.refuse(data)
    engine = session.open_engine(require_approval=require_approval)
    request = PlanRef(plan_id=plan) if is_plan else read_apply_request(data, engine.settings.batch)
    if isinstance(request, tuple):
        return session.refuse(*request)
    if any(overrides.values()) and not isinstance(request, Batch):
        raise click.UsageError("--allow-outline-change and --allow-duplicate-headings are for batches.")
    wishes = {**overrides, "dry_run": check, "on_stale": "rebase" if rebase else None}
    report = engine.apply(with_options(request, wishes))
    print_recovered(session, report)
    if not report.ok:
        return session.finish(report)
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
