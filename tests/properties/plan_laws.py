"""Laws of every plan: it can be sent, and its text edits are enough to make its result."""

import json

from mdplan.reports.base import to_wire
from mdplan.reports.plan import PlanReport
from mdplan.text.edit import EditList
from mdplan.text.source import Source


def check_wire(report: PlanReport) -> None:
    """A report is JSON and valid Unicode."""
    json.dumps(to_wire(report), ensure_ascii=False).encode()


def spliced(source: Source, edits: EditList) -> bytes:
    """Bytes of `source` with `edits` done, everything else copied."""

    def encoded(text: str) -> bytes:
        return text.encode("utf-8", "surrogateescape")

    pieces, at = [source.bom], 0
    for edit in edits:
        pieces += [encoded(source.text[at : edit.span.start]), encoded(edit.new_text)]
        at = edit.span.end
    return b"".join([*pieces, encoded(source.text[at:])])
