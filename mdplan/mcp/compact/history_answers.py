"""Past transactions as decoded JSON: those of one list are one text of lines."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mdplan.mcp.compact.compact_json import compact_wire
from mdplan.reports.history import HistoryReport, TransactionEntry


def history_wire(report: HistoryReport, line: Callable[[TransactionEntry], str]) -> dict[str, Any]:
    """A history, in which `line` says what `listing` has of each transaction."""
    if not report.ok:
        return compact_wire(report)
    wire = compact_wire(replace(report, transactions=(), foreign=None))
    if report.transactions:
        wire["listing"] = "\n".join(map(line, report.transactions))
    return wire
