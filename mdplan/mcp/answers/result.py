"""Reports as answers: the same shape for success and refusal, and within the size that clients take."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

from mdplan.mcp.answers.report_text import plan_text, refusal_text
from mdplan.mcp.answers.short_report import size_of, within
from mdplan.mcp.tool import ToolResult
from mdplan.reports.base import Report, to_wire
from mdplan.reports.history import HistoryReport
from mdplan.reports.plan import PlanReport, ReviewReport

# Clients put a longer result into a file, and the model sees a path instead of it.
MOST_CHARACTERS: Final = 50_000
# What a diff may take however long the rest of its report is.
_LEAST_FOR_DIFF: Final = 10_000

AnyReport = TypeVar("AnyReport", bound=Report)
WithDiff = TypeVar("WithDiff", PlanReport, HistoryReport)


def answer(report: AnyReport, text_of: Callable[[AnyReport], str], most: int = MOST_CHARACTERS) -> ToolResult:
    """Answer that contains `report` as data and as text; `text_of` gives the text of a success.

    What grows with a batch is cut to fit into `most` characters; what others report was made to fit before.
    """
    return _answer(report, to_wire(report), text_of, most)


def _answer(
    report: AnyReport, wire: dict[str, Any], text_of: Callable[[AnyReport], str], most: int
) -> ToolResult:
    is_of_a_batch = isinstance(report, PlanReport | HistoryReport) or not report.ok
    return ToolResult(
        text=text_of(report) if report.ok else refusal_text(report),
        structured=within(wire, most) if is_of_a_batch else wire,
        is_refusal=not report.ok,
    )


def plan_answer(report: PlanReport, most: int = MOST_CHARACTERS) -> ToolResult:
    """Answer of a plan or an apply, its diff cut between hunks where it is too long."""
    wire = to_wire(report)
    if size_of(wire) <= most:
        return _answer(report, wire, partial(plan_text, most=most), most)
    return answer(with_short_diff(report, most), partial(plan_text, most=most), most)


def with_short_diff(report: WithDiff, most: int = MOST_CHARACTERS) -> WithDiff:
    """`report` with its diff cut between hunks where it is too long."""
    if isinstance(report, PlanReport):
        report = replace(report, review=report.review and short_review(report.review, most // 4))
    if report.diff is None:
        return report
    # As JSON a diff is longer than it is: its line ends take two characters.
    as_json = size_of(report.diff) / max(len(report.diff), 1)
    rest = size_of(to_wire(replace(report, diff="", diff_truncated=True)))
    room = max(int((most - rest) / as_json), int(min(_LEAST_FOR_DIFF, most // 5) / as_json))
    if len(report.diff) <= room:
        return report
    return replace(report, diff=cut_diff(report.diff, room), diff_truncated=True)


def with_short_comparisons(report: HistoryReport, most: int) -> HistoryReport:
    """`report` with the diffs between plans cut between hunks where they are too long."""
    room = most // 2
    return replace(report, reviews=tuple(short_review(review, room) for review in report.reviews))


def short_review(review: ReviewReport, room: int) -> ReviewReport:
    """`review` with its diff cut to `room` characters."""
    compared = review.comparison
    if compared is None or len(compared.diff) <= room:
        return review
    short = replace(compared, diff=cut_diff(compared.diff, room), diff_truncated=True)
    return replace(review, comparison=short)


def cut_diff(diff: str, room: int) -> str:
    """The whole hunks of `diff` that fit into `room` characters; a file's header only before a hunk of it."""
    kept = offset = 0
    in_header = False
    for line in diff.split("\n"):
        if offset > room:
            break
        # In a hunk every line begins with a space, a sign or a backslash, so these two begin outside one.
        starts_file, starts_hunk = line.startswith("diff --git "), line.startswith("@@ ")
        if starts_file or (starts_hunk and not in_header):
            kept = offset
        in_header = starts_file or (in_header and not starts_hunk)
        offset += len(line) + 1
    return diff[:kept]
