"""Text output of the bot: files, commits and pull requests."""

from pathlib import Path
from typing import Final

from mdplan.bot.bot import BotReport
from mdplan.cli.plan_output import print_warnings
from mdplan.cli.session import Session
from mdplan.cli.terminal.console import shown
from mdplan.cli.views.report_view import counted, file_list, plan_size

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
        console.note(f"Nothing to change: the files of {at} already have this content.")
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


def print_parts(session: Session, report: BotReport) -> None:
    """Say what became of each part of a manifest that was split."""
    console = session.console
    for part in report.pull_requests:
        branch = shown(part.branch)
        link = f": {shown(part.pull_request)}" if part.pull_request is not None else ""
        if part.error is not None:
            console.note(f"{branch}: failed: {shown(part.error.message)}")
        elif part.commit is None:
            console.note(f"{branch}: nothing left to do, closed{link}")
        else:
            console.note(f"{branch}: {counted(part.files, 'file')}, commit {part.commit[:_SHORT]}{link}")
    if report.ok and not report.pull_requests:
        console.note("Nothing to change: the files already have this content.")


def print_checked(session: Session, report: BotReport) -> None:
    """Say if the files match the manifest, and which would change."""
    console = session.console
    print_warnings(session, report)
    if report.no_op:
        console.note("All files match the manifest.")
    else:
        listed = file_list(report.files, console.err)
        console.note(listed or "\n".join(f"  {shown(file.file)}" for file in report.files if file.changed))
        console.note(f"Would change {plan_size(report)}.")
    print_counts(session, report)


def print_counts(session: Session, report: BotReport) -> None:
    """Say how many files the manifest names, and what becomes of them."""
    counts = [
        (report.files_changed, "to change"),
        (report.files_hold, "unchanged"),
        (report.files_left_out, "skipped"),
        (report.files_refused, "rejected"),
    ]
    parts = ", ".join(f"{number} {what}" for number, what in counts if number)
    if parts:
        session.console.note(f"{counted(report.files_named, 'file')} matched: {parts}.")
