"""`mdplan recover`: recover from interrupted commits."""

import sys
from typing import Literal

import click

from mdplan.cli.console import shown
from mdplan.cli.plan_view import print_warnings
from mdplan.cli.session import Session, engine_command
from mdplan.cli.usage.command import command
from mdplan.cli.views.report import counted
from mdplan.diagnostics import Exit
from mdplan.limit_options import COMMITS
from mdplan.reports.history import ForeignTransaction, RecoverReport


@command(example="mdplan recover")
@click.option("--keep-current", is_flag=True, help="Where a file was changed since: leave it as it is.")
@click.option("--restore-base", is_flag=True, help="Where a file was changed since: put back the old one.")
@click.option("--foreign", is_flag=True, help="With --yes: also roll back commits that others began.")
@click.option("--yes", is_flag=True, help="Answer yes to every question; required without a terminal.")
@engine_command(RecoverReport, COMMITS)
def recover(session: Session, *, keep_current: bool, restore_base: bool, foreign: bool, yes: bool) -> Exit:
    """Recover from an interrupted commit.

    Your own commits that a crash or a loss of power interrupted are rolled back; every commit does this by
    itself first. Nothing is thrown away: the bytes that a file loses stay in the history.

    A commit that your key did not seal is foreign: it may have come with a cloned repository. recover lists
    what it would change, and asks before it changes anything.
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
        rolled_back = counted(len(recovered.rolled_back), "transaction")
        session.console.note(
            f"Rolled back: {rolled_back}, {counted(len(recovered.files), 'file')} put back. "
            f"Cleaned up after: {counted(len(recovered.finished), 'transaction')}."
        )
    elif report.ok:
        session.console.note("Nothing to recover.")
    if report.foreign and not agreed:
        session.console.note(
            "Foreign commits: not changed. If one of them was yours: mdplan recover --foreign --yes"
        )
    return session.finish(report)


def _listed(commit: ForeignTransaction) -> str:
    """What the recovery of a foreign commit would change, one line for each file."""
    root = f" in {shown(commit.root)}" if commit.root else ""
    lines = [f"  would {file.action} {shown(file.file)}" for file in commit.files or ()]
    lines = lines or ["  would change no file"]
    return "\n".join((f"Foreign interrupted commit {shown(commit.transaction)}{root}:", *lines))


def _can_ask(session: Session) -> bool:
    return (
        not session.console.as_json
        and sys.stdin is not None
        and sys.stdin.isatty()
        and sys.stderr is not None
        and sys.stderr.isatty()
    )


def _agrees(count: int) -> bool:
    """Ask whether to go on; no is the answer where a person only presses the return key."""
    what = "this commit" if count == 1 else f"all {count} commits"
    return click.confirm(f"You did not begin this here. Roll back {what}?", default=False, err=True)
