"""`mdplan doctor`: is everything as a commit needs it."""

from typing import Final

from mdplan.cli.session import Session, engine_command
from mdplan.cli.terminal.console import Style, shown
from mdplan.cli.usage.command import command
from mdplan.cli.views.report_view import counted
from mdplan.diagnostics import Exit
from mdplan.limits import HISTORY
from mdplan.reports.history import Check, DoctorReport

_COLOURS: Final = {"ok": "green", "note": "yellow", "problem": "red"}
# What people call the checks whose names reports keep.
_NAMES: Final = {
    "exchange": "swapping files",
    "journal": "interrupted transactions",
    "stray files": "leftover files",
    "plan store": "saved plans",
}


@command(example="mdplan doctor")
@engine_command(DoctorReport, HISTORY)
def doctor(session: Session) -> Exit:
    """Check that this folder supports safe edits, and suggest fixes.

    Checks whether mdplan can write the folder and its state folder .mdplan, and can save plans. Looks for
    interrupted transactions and their files, and shows the size of the history. Exits with 6 if something
    needs fixing.
    """
    from mdplan.engine.root_checks import examine

    report = examine(session.open_workspace(), session.settings())
    if not session.console.as_json:
        for root in session.other_folders():
            session.console.note(f"Checking {shown(root)}")
        session.console.text("".join(_line(check, session.console.out) for check in report.checks))
        session.console.note(_summary(report))
    return session.finish(report)


def _summary(report: DoctorReport) -> str:
    """What the checks come to, in one line."""
    problems = sum(check.status == "problem" for check in report.checks)
    notes = sum(check.status == "note" for check in report.checks)
    if problems:
        return f"{counted(problems, 'problem')} to fix; the hints say how."
    rest = f" {counted(notes, 'note')} above." if notes else ""
    return f"Everything works: edits here are safe.{rest}"


def _line(check: Check, style: Style) -> str:
    """One check; the hint of a problem follows with the problem itself."""
    root = f"{shown(check.root)}: " if check.root else ""
    status = style.paint(f"{check.status:7}", _COLOURS[check.status])
    line = f"{status}  {root}{_NAMES.get(check.check, check.check)}: {shown(check.found)}\n"
    if check.status == "note":
        line += f"         {shown(check.hint)}\n"
    return line
