"""`mdplan show`: a saved plan again."""

import click

from mdplan.diagnostics import Exit
from mdplan.limit_options import FILES
from mdplan.plan_report import PlanReport
from mdplan.surfaces.cli.plan_view import print_diff, print_summary, write_diff
from mdplan.surfaces.cli.session import Session, engine_command


@click.command()
@click.argument("plan_id")
@engine_command(PlanReport, FILES, tells_people=True)
def show(session: Session, *, plan_id: str) -> Exit:
    """Show the saved plan PLAN_ID, with its diff made anew: from its files, or from the history.

    The beginning of the ID is enough, with at least 12 of its hex digits.
    """
    engine = session.open_engine()
    report = engine.show(plan_id)
    if not report.ok:
        return session.finish(report)
    if report.applied:
        exact = engine.diff_bytes(plan_id)
        if isinstance(exact, bytes):
            write_diff(session, exact)
    problems = print_diff(session, engine, report)
    if problems:
        return session.refuse(*problems)
    session.finish(report)
    if report.applied:
        session.console.note("This plan is applied: its files have the planned text.")
    else:
        print_summary(session, report)
    return Exit.DONE
