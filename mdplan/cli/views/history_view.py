"""Past transactions in words, for people."""

from datetime import datetime

from mdplan.cli.terminal.console import Style, shown
from mdplan.cli.views.report_view import counted
from mdplan.reports.history import HistoryReport, TransactionEntry

_FILES_NAMED = 2


def history_text(report: HistoryReport, file: str | None, style: Style, *, is_missing: bool = False) -> str:
    """One line for each transaction of `report`, which are those of `file` alone, if it is given.

    `is_missing`: there is no such file now.
    """
    if not report.transactions:
        what = "mdplan has changed nothing here yet"
        if file:
            what = f"No transaction in the history changed `{shown(file)}`"
            what += ", and there is no such file" if is_missing else ""
        lines = [f"{what}."]
    else:
        lines = [transaction_text(entry, style) for entry in report.transactions]
    if report.more:
        lines.append(f"There are older ones: --limit {2 * len(lines)} shows more.")
    return "".join(line + "\n" for line in (*lines, *_foreign_lines(report, style)))


def _foreign_lines(report: HistoryReport, style: Style) -> list[str]:
    listed, total = report.foreign or (), report.foreign_total or 0
    lines = [f"{style.paint(entry.transaction, 'yellow')}  (foreign: ignored)" for entry in listed]
    if total > len(lines):
        lines.append(f"There are {counted(total - len(lines), 'more foreign record')}.")
    return lines


def transaction_text(entry: TransactionEntry, style: Style) -> str:
    """One transaction: its ID, when it was, its files, and what became of it."""
    added = sum(file.lines_added for file in entry.files)
    removed = sum(file.lines_removed for file in entry.files)
    names = ", ".join(
        shown(file.file) + (f" -> {shown(file.new_file)}" if file.new_file else "")
        for file in entry.files[:_FILES_NAMED]
    )
    more = len(entry.files) - _FILES_NAMED
    if more > 0:
        names += f" and {counted(more, 'file')} more"
    names = f"{style.bold(shown(entry.title))}  {names}" if entry.title else names
    remarks = "".join(f"  ({remark})" for remark in _remarks(entry))
    return (
        f"{style.paint(entry.transaction, 'yellow')}  {_time(entry)}  +{added} -{removed}  {names}{remarks}"
    )


def _remarks(entry: TransactionEntry) -> list[str]:
    remarks = []
    if entry.state != "committed":
        remarks.append(shown(entry.state))
    elif not entry.undoable:
        remarks.append("cannot be undone")
    if entry.undoes is not None:
        remarks.append(f"undoes {shown(entry.undoes)}")
    if entry.undone_by is not None:
        remarks.append(f"undone by {shown(entry.undone_by)}")
    if entry.actor is not None and entry.actor.startswith("client "):
        remarks.append(f"by {shown(entry.actor)}")
    if entry.client is not None and not entry.client.is_mdplan:
        remarks.append(f"planned with {shown(str(entry.client))}")
    if entry.approved is not None:
        where = f" ({shown(entry.approved.channel)})" if entry.approved.channel else ""
        over = " over a rejection" if entry.approved.overrides else ""
        remarks.append(f"approved by {shown(entry.approved.decided_by)}{where}{over}")
    return remarks


def _time(entry: TransactionEntry) -> str:
    """When it was, in the time zone of the reader."""
    if entry.committed_at is None:
        return "at an unknown time"
    return datetime.fromtimestamp(entry.committed_at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
