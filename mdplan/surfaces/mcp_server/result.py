"""Reports as answers: the same shape for success and refusal, and within the size that clients take."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeVar

from mdplan.report import PlanReport, Report, to_wire
from mdplan.surfaces.mcp_server.report_text import plan_text, refusal_text
from mdplan.surfaces.mcp_server.tool import Answer

# Clients put a longer result into a file, and the model sees a path instead of it.
MOST_CHARACTERS: Final = 50_000
# What a diff may take however long the rest of its report is.
_LEAST_FOR_DIFF: Final = 10_000

AnyReport = TypeVar("AnyReport", bound=Report)


def answer(report: AnyReport, text_of: Callable[[AnyReport], str]) -> Answer:
    """Answer that holds `report` as data and as text; `text_of` gives the text of a success."""
    return Answer(
        text=text_of(report) if report.ok else refusal_text(report),
        structured=to_wire(report),
        is_refusal=not report.ok,
    )


def plan_answer(report: PlanReport) -> Answer:
    """Answer of a plan or an apply, its diff cut between hunks where it is too long."""
    return answer(_with_short_diff(report), plan_text)


def _with_short_diff(report: PlanReport) -> PlanReport:
    if report.diff is None:
        return report
    rest: Any = to_wire(replace(report, diff=None))
    room = max(MOST_CHARACTERS - len(json.dumps(rest, ensure_ascii=False)), _LEAST_FOR_DIFF)
    if len(report.diff) <= room:
        return report
    return replace(report, diff=cut_diff(report.diff, room), diff_truncated=True)


def cut_diff(diff: str, room: int) -> str:
    """The whole hunks of `diff` that fit into `room` characters; a file's header only before a hunk of it."""
    kept = offset = 0
    in_header = False
    for line in diff.split("\n"):
        if offset > room:
            break
        # In a hunk every line begins with a space, a sign or a backslash, so these two begin outside of one.
        starts_file, starts_hunk = line.startswith("diff --git "), line.startswith("@@ ")
        if starts_file or (starts_hunk and not in_header):
            kept = offset
        in_header = starts_file or (in_header and not starts_hunk)
        offset += len(line) + 1
    return diff[:kept]
