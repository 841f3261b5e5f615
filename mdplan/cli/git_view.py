"""What the bot prints of commits: the one that it planned on, and the one that it made."""

from pathlib import Path
from typing import Final

from mdplan.bot.bot_report import BotReport
from mdplan.cli.console import shown
from mdplan.cli.plan_view import print_warnings
from mdplan.cli.session import Session
from mdplan.cli.views.report import file_list, plan_size

_SHORT: Final = 12
_BRANCHES: Final = "refs/heads/"


def print_planned_on_commit(
    session: Session, report: BotReport, manifest: str, ref: str, document: Path | None
) -> None:
    """Say how much a plan changes, on which commit, and how to make a commit of it.

    `document` is the file that it went to.
    """
    console = session.console
    print_warnings(session, report)
    at = f"{shown(ref)} ({(report.base_commit or '')[:_SHORT]})"
    if report.no_op or report.plan_id is None:
        console.note(f"Nothing to change: the files of {at} have this text already.")
        return
    listed = file_list(report.files, console.err)
    if listed:
        console.note(listed)
    written = f" written to {shown(str(document))}" if document is not None else ""
    console.note(f"{plan_size(report)}. Plan {console.err.bold(report.plan_id)} for {at}{written}.")
    console.note(f"To commit: {session.command_line('bot', 'apply', manifest, '--git', ref)}")


def print_commit(session: Session, report: BotReport) -> None:
    """Say which commit was made, on which branch."""
    if report.commit is not None:
        branch = shown((report.branch or "").removeprefix(_BRANCHES))
        session.console.note(f"Commit {report.commit[:_SHORT]} on {branch}.")
