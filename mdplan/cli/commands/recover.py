"""`mdplan recover`: mend what a commit that was cut off has left."""

from typing import Literal

import click

from mdplan.cli.plan_view import print_warnings
from mdplan.cli.report_view import counted
from mdplan.cli.session import Session, engine_command
from mdplan.diagnostics import Exit
from mdplan.limit_options import COMMITS
from mdplan.reports.history import RecoverReport


@click.command()
@click.option("--keep-current", is_flag=True, help="Where a file was changed since: leave it as it is.")
@click.option("--restore-base", is_flag=True, help="Where a file was changed since: put back the old one.")
@engine_command(RecoverReport, COMMITS)
def recover(session: Session, *, keep_current: bool, restore_base: bool) -> Exit:
    """Bring back the state before a commit that was cut off, by a crash or a loss of power.

    Every commit does this by itself first; here also for commits of other users and machines, whose files
    should be looked at. Nothing is thrown away: the bytes that a file loses stay in the history.
    """
    if keep_current and restore_base:
        raise click.UsageError("--keep-current does not go with --restore-base.")
    keep: Literal["current", "base"] | None = "current" if keep_current else "base" if restore_base else None
    report = session.open_engine().recover(keep)
    print_warnings(session, report)
    recovered = report.recovered
    if recovered is None:
        if report.ok:
            session.console.note("Nothing to recover.")
    else:
        rolled_back = counted(len(recovered.rolled_back), "transaction")
        session.console.note(
            f"Rolled back: {rolled_back}, {counted(len(recovered.files), 'file')} put back. "
            f"Cleaned up after: {counted(len(recovered.finished), 'transaction')}."
        )
    return session.finish(report)
