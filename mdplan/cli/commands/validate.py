"""`mdplan validate`: all that is wrong with a batch."""

import click

from mdplan.cli.json_input import batch_argument, override_options, read_json
from mdplan.cli.plan_view import print_sarif, print_warnings
from mdplan.cli.report_view import plan_size
from mdplan.cli.session import Session, engine_command
from mdplan.diagnostics import Diagnostic, Exit
from mdplan.limit_options import BATCHES, FILES, PATTERNS
from mdplan.reports.plan import PlanReport


@click.command()
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
    """Say all that is wrong with BATCH, or that nothing is.

    BATCH is a JSON file, or - for standard input. It is planned as `mdplan plan` does it, but no diff is
    printed; with --json the report has it.
    """
    data = read_json(batch)
    if isinstance(data, Diagnostic):
        return session.refuse(data)
    report = session.open_engine().draft(data, overrides=overrides).report
    if form == "sarif":
        print_sarif(session, report)
        return report.error.code.exit if report.error is not None else Exit.DONE
    code = session.finish(report)
    if report.ok:
        print_warnings(session, report)
        session.console.note(f"Valid: {plan_size(report)} would change.")
    return code
