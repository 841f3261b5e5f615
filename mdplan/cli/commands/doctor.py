"""`mdplan doctor`: is everything as a commit needs it."""

from typing import Final

from mdplan.cli.console import Style, shown
from mdplan.cli.session import Session, engine_command
from mdplan.cli.usage.command import command
from mdplan.diagnostics import Exit
from mdplan.limit_options import HISTORY
from mdplan.reports.history import Check, DoctorReport

_COLOURS: Final = {"ok": "green", "note": "yellow", "problem": "red"}


@command(example="mdplan doctor")
@engine_command(DoctorReport, HISTORY)
def doctor(session: Session) -> Exit:
    """Look whether commits can work here, and say what to do where they cannot.

    Looked at are the state folder of each root, its lock and its journal, files that cut-off commits have
    left, the file system, the store of plans, and the size of the history. Exits with 6 where something has
    to be done.
    """
    report = session.open_engine().doctor()
    if not session.console.as_json:
        session.console.text("".join(_line(check, session.console.out) for check in report.checks))
    return session.finish(report)


def _line(check: Check, ink: Style) -> str:
    """One check; the hint of a problem follows with the problem itself."""
    root = f"{shown(check.root)}: " if check.root else ""
    status = ink.paint(f"{check.status:7}", _COLOURS[check.status])
    line = f"{status}  {root}{check.check}: {shown(check.found)}\n"
    if check.status == "note":
        line += f"         {shown(check.hint)}\n"
    return line
