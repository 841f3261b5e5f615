"""Past transactions as decoded JSON: those of one list are one text of lines."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mdplan.mcp.compact.compact_json import compact_wire
from mdplan.reports.history import HistoryReport


def history_wire(report: HistoryReport, rows: Sequence[str]) -> dict[str, Any]:
    """A history, in which the `rows` of its transactions are one text, `listing`."""
    if not report.ok:
        return compact_wire(report)
    wire = compact_wire(replace(report, transactions=(), foreign=None))
    if rows:
        wire["listing"] = "\n".join(rows)
    return wire
