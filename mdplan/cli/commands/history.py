"""`mdplan history`: past transactions, or the diff of one."""

from pathlib import Path

import click

from mdplan.cli.completion.completed_values import transactions
from mdplan.cli.plan_output import print_warnings, write_diff
from mdplan.cli.session import Session, engine_command
from mdplan.cli.usage.command import command
from mdplan.cli.views.history_view import history_text, transaction_text
from mdplan.diagnostics import Exit
from mdplan.engine.history_list import list_transactions
from mdplan.reports.history import HistoryReport


@command(example="mdplan history\nmdplan history guide.md")
@click.argument("file", type=click.Path(readable=False), required=False)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Maximum number of transactions to list.",
)
@click.option(
    "--show",
    "transaction",
    metavar="TX",
    shell_complete=transactions,
    help="Show the diff of this transaction instead.",
)
@engine_command(HistoryReport)
def history(session: Session, *, file: str | None, limit: int, transaction: str | None) -> Exit:
    """List past transactions, the newest first; with FILE only those that changed it.

    Each line begins with the ID of a transaction, which `mdplan undo` and --show take; the beginning of an ID
    is enough where no other begins so. Times are those of your time zone.
    """
    if file is not None and transaction is not None:
        raise click.UsageError("--show is for one transaction, and goes with no FILE.")
    if transaction is not None:
        return _show(session, transaction)
    name = None if file is None else session.named(file)
    report = list_transactions(session.open_workspace(), limit, name)
    if report.ok and not session.console.as_json:
        print_warnings(session, report)
        is_missing = file is not None and not Path(session.folder(), file).exists()
        session.console.paged(history_text(report, file, session.console.out, is_missing=is_missing))
    return session.finish(report)


def _show(session: Session, transaction: str) -> Exit:
    engine = session.open_engine()
    report = engine.transaction(transaction)
    if report.ok and not session.console.as_json:
        print_warnings(session, report)
        exact = engine.transaction_diff(transaction)
        if not isinstance(exact, bytes):
            return session.refuse(*exact)
        session.console.note(transaction_text(report.transactions[0], session.console.err))
        write_diff(session, exact)
    return session.finish(report)
