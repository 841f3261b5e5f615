"""`mdplan validate`: all that is wrong with a batch."""

from pathlib import Path

import click

from mdplan.cli.batches.argument import batch_argument, override_options
from mdplan.cli.batches.bad_input import BadInput
from mdplan.cli.batches.edit_numbers import EditNumbers
from mdplan.cli.batches.reading import read_input
from mdplan.cli.plan_view import print_sarif, print_warnings
from mdplan.cli.session import Session, engine_command
from mdplan.cli.usage.command import command
from mdplan.cli.views.report import plan_size
from mdplan.diagnostics import Exit
from mdplan.limit_options import BATCHES, FILES, PATTERNS
from mdplan.reports.plan import PlanReport


@command(example="mdplan validate batch.yaml", rare=("allow_outline_change", "allow_duplicate_headings"))
@batch_argument()
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
def validate(session: Session, *, batch: str, form: str, **overrides: bool) -> Exit:
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
    code = session.finish(report, EditNumbers.of(data))
    if report.ok:
        print_warnings(session, report)
        session.console.note(f"Valid: {plan_size(report)} would change.")
    return code
