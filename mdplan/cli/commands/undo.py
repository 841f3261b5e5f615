"""`mdplan undo`: undo a transaction."""

import os
import shlex
from typing import Final

import click

from mdplan.cli.completion.completed_values import transactions
from mdplan.cli.options import approval_option
from mdplan.cli.plan_output import print_diff, print_recovered, print_summary, print_undone, write_diff
from mdplan.cli.session import Session, engine_command
from mdplan.cli.usage.command import command
from mdplan.cli.usage.misuse import Misuse
from mdplan.diagnostics import Diagnostic, Exit
from mdplan.limits import COMMITS, FILES, HISTORY
from mdplan.reports.plan import ApplyReport
from mdplan.requests.batch import OnStale

# Words that people use for their last transaction.
_LAST: Final = ("last", "HEAD", "latest")


@command(example="mdplan undo\nmdplan undo 5507ccd771c6bc5d --dry-run")
@click.argument("transaction", metavar="[TX]", required=False, shell_complete=transactions)
@click.option("--dry-run", "--plan", is_flag=True, help="Only show the diff, and save it as a plan.")
@click.option(
    "--on-stale",
    type=click.Choice(["refuse", "rebase", "merge"]),
    default="refuse",
    show_default=True,
    help="If a file has changed since. rebase: undo when other lines changed; merge: merge three-way.",
)
@approval_option
@engine_command(ApplyReport, FILES, COMMITS, HISTORY, tells_people=True)
def undo(
    session: Session,
    *,
    transaction: str | None,
    dry_run: bool,
    on_stale: OnStale,
    require_approval: bool,
) -> Exit:
    """Undo the transaction TX, or your last one, and print the diff.

    All its files get their old content back: what it created is removed, what it deleted or renamed comes
    back. A file that was changed since is refused. An undo is a transaction as well: undo it to redo.

    TX is an ID from `mdplan history`, or the beginning of one. Name it to undo what another user or a client
    of `mdplan serve` committed.
    """
    engine = session.open_engine(require_approval=require_approval)
    if transaction is not None and os.path.lexists(transaction):
        problem = f"undo takes the ID of a transaction, and `{transaction}` is a file"
        raise Misuse(
            problem, f"`mdplan history {shlex.quote(transaction)}` lists the IDs of those that changed it"
        )
    transaction = None if transaction in _LAST else transaction
    past = engine.undoing.find(transaction, engine.committing.caller.actor())
    is_redo = not isinstance(past, Diagnostic) and engine.undoing.is_redo(past)
    report = engine.undo(
        transaction, dry_run=dry_run, rebases=on_stale == "rebase", merges=on_stale == "merge"
    )
    print_recovered(session, report)
    if not report.ok:
        return session.finish(report)
    if report.receipt is not None and not report.already_applied:
        exact = engine.transaction_diff(report.receipt.transaction)
        if isinstance(exact, bytes):
            write_diff(session, exact)
    elif not report.applied:
        problems = print_diff(session, engine, report)
        if problems:
            return session.refuse(*problems)
    session.finish(report)
    if report.applied:
        print_undone(session, report, is_redo=is_redo)
    else:
        print_summary(session, report)
    return Exit.DONE
