"""`mdplan plan`, a dry run with its diff and plan ID, and `mdplan validate`, its problems alone."""

from pathlib import Path

import click

from mdplan.cli.batches.argument import batch_argument, override_options
from mdplan.cli.batches.bad_input import BadInput
from mdplan.cli.batches.batch_input import read_input
from mdplan.cli.plan_output import (
    output_option,
    print_sarif,
    print_summary,
    print_warnings,
    write_diff,
    write_document,
)
from mdplan.cli.session import Session, engine_command
from mdplan.cli.usage.command import command
from mdplan.cli.views.report_view import plan_size
from mdplan.diagnostics import Exit
from mdplan.limits import BATCHES, FILES, PATTERNS
from mdplan.reports.plan import PlanReport


@command(
    example="mdplan plan batch.yaml",
    rare=("allow_outline_change", "allow_duplicate_headings", "description", "revises"),
)
@batch_argument
@output_option
@click.option("--check", is_flag=True, help="Exit with 1 if anything would change.")
@override_options
@engine_command(PlanReport, FILES, PATTERNS, BATCHES, tells_people=True)
def plan(session: Session, *, batch: str, output: Path | None, check: bool, **overrides: bool | str) -> Exit:
    """Show what BATCH would change, and save that as a plan; its files are not touched.

    BATCH is a JSON or YAML file, JSON itself, or - for standard input. The diff goes to standard output, in a
    form that `git apply` takes, and everything else to standard error. Paths in the batch and in the diff are
    relative to the root; `markdownFile`, instead of `markdown`, names a file with the text, relative to
    BATCH.
    """
    data = read_input(batch)
    if isinstance(data, BadInput):
        return session.refuse_input(data)
    engine = session.open_engine()
    draft = engine.draft(data, overrides=overrides)
    report = draft.report
    if not report.ok:
        return session.finish(report, data)
    problems = write_document([draft.document], output) if output else ()
    if problems:
        return session.refuse(*problems)
    write_diff(session, draft.diff)
    session.finish(report)
    print_summary(session, report, output)
    return Exit.WOULD_CHANGE if check and not report.no_op else Exit.DONE


@command(
    example="mdplan validate batch.yaml",
    rare=("allow_outline_change", "allow_duplicate_headings", "description", "revises"),
)
@batch_argument
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "sarif"]),
    default="text",
    show_default=True,
    help="sarif: problems and warnings for code scanning, on standard output.",
)
@override_options
@engine_command(PlanReport, FILES, PATTERNS, BATCHES, tells_people=True)
def validate(session: Session, *, batch: str, form: str, **overrides: bool | str) -> Exit:
    """Check BATCH and report every problem.

    BATCH is a JSON or YAML file, JSON itself, or - for standard input. It is planned as `mdplan plan` does
    it, but no diff is printed; with --json the report contains it.
    """
    data = read_input(batch)
    if isinstance(data, BadInput):
        return session.refuse_input(data)
    report = session.open_engine().draft(data, overrides=overrides).report
    if form == "sarif":
        print_sarif(session, report, batch if Path(batch).is_file() else "batch")
        return report.error.code.exit if report.error is not None else Exit.DONE
    code = session.finish(report, data)
    if report.ok:
        print_warnings(session, report)
        session.console.note(f"Valid: {plan_size(report)} would change.")
    return code
