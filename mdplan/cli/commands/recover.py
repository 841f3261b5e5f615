"""`mdplan recover`: recover from interrupted commits."""

from collections.abc import Iterator
from typing import Literal

import click

from mdplan.cli.plan_output import print_warnings
from mdplan.cli.session import Session, engine_command
from mdplan.cli.terminal.console import shown
from mdplan.cli.terminal.questions import has_terminal
from mdplan.cli.usage.command import command
from mdplan.cli.views.report_view import counted
from mdplan.diagnostics import Exit
from mdplan.limits import COMMITS
from mdplan.reports.history import ForeignTransaction, RecoverReport
from mdplan.reports.plan import RecoveredTransactions


@command(example="mdplan recover")
@click.option("--keep-current", is_flag=True, help="Keep files that have changed since then.")
@click.option("--restore-base", is_flag=True, help="Restore files that have changed since then, too.")
@click.option(
    "--foreign", is_flag=True, help="With --yes: also roll back transactions that somebody else began."
)
@click.option("--yes", is_flag=True, help="Answer yes to every question; required without a terminal.")
@engine_command(RecoverReport, COMMITS)
def recover(session: Session, *, keep_current: bool, restore_base: bool, foreign: bool, yes: bool) -> Exit:
    """Recover from an interrupted transaction.

    Rolls back your own transactions that a crash or a loss of power interrupted; the next edit does this too.
    Nothing is lost: text that a file loses stays in the history.

    A transaction that does not have your key is foreign: it may have come with a cloned repository. recover
    lists what it would change, and asks before it changes anything.
    """
    if keep_current and restore_base:
        raise click.UsageError("--keep-current cannot be combined with --restore-base.")
    if foreign and not (yes or _can_ask(session)):
        raise click.UsageError("--foreign needs --yes where no terminal can answer.")
    keep: Literal["current", "base"] | None = "current" if keep_current else "base" if restore_base else None
    engine = session.open_engine()
    found = engine.recovery.foreign()
    for commit in found:
        session.console.note(_listed(commit))
    agreed = bool(found) and (foreign if yes else _can_ask(session) and _agrees(len(found)))
    report = engine.recover(keep, {commit.transaction for commit in found} if agreed else ())
    print_warnings(session, report)
    recovered = report.recovered
    if recovered is not None:
        for line in _done(recovered):
            session.console.note(line)
    elif report.ok:
        session.console.note("Nothing to recover: no transaction was interrupted here.")
    if report.foreign and not agreed:
        session.console.note(
            "Nothing of this was changed. If you began it yourself: mdplan recover --foreign --yes"
        )
    return session.finish(report)


def _done(recovered: RecoveredTransactions) -> Iterator[str]:
    """What a recovery did, in sentences."""
    if recovered.rolled_back or recovered.files:
        count, files = len(recovered.rolled_back), len(recovered.files)
        what = f"Rolled back {counted(count, 'interrupted transaction')}" if count else "Recovered"
        has = "has its" if files == 1 else "have their"
        back = f"{counted(files, 'file')} {has} old text again" if files else "no file had changed"
        yield f"{what}: {back}."
    if recovered.finished:
        yield f"Removed what {counted(len(recovered.finished), 'finished transaction')} had left over."


def _listed(commit: ForeignTransaction) -> str:
    """What the recovery of a foreign commit would change, one line for each file."""
    root = f" in {shown(commit.root)}" if commit.root else ""
    lines = [f"  would {file.action} {shown(file.file)}" for file in commit.files or ()]
    lines = lines or ["  would change no file"]
    return "\n".join((f"Somebody else's interrupted transaction {shown(commit.transaction)}{root}:", *lines))


def _can_ask(session: Session) -> bool:
    return not session.console.as_json and has_terminal()


def _agrees(count: int) -> bool:
    """Ask whether to go on; no is the answer where a person only presses the return key."""
    what = "this transaction" if count == 1 else f"all {count} transactions"
    return click.confirm(
        f"You did not begin this on this machine. Roll back {what}?", default=False, err=True
    )
