"""Calls of the toolset `md`: read the arguments, ask the engine, and answer as briefly as requested."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Generic, TypeVar

from mdplan.engine.engine import Engine
from mdplan.engine.plans import PlanRef, read_apply_request
from mdplan.mcp.answers.answer_size import bounded, fitted, read_within, shrunk, with_fewer_hits
from mdplan.mcp.answers.report_text import refusal_text
from mdplan.mcp.answers.result import plan_answer
from mdplan.mcp.answers.short_report import size_of, within
from mdplan.mcp.calls.call_progress import report_progress
from mdplan.mcp.compact.plan_answers import compact_plan_answer
from mdplan.mcp.compact.query_answers import is_outline, read_wire, search_wire, stat_wire, without_redundancy
from mdplan.mcp.tool import ToolResult
from mdplan.mcp.toolsets.md_tools.shown_guards import note_shown, note_written, seen_bases, with_changes
from mdplan.reading.read import read_text, search_text
from mdplan.reading.stat import LIMITS
from mdplan.reading.stat_text import stat_text
from mdplan.reports.base import Report, refusal, to_wire
from mdplan.reports.next_steps import Caller, with_hints_for
from mdplan.reports.plan import ApplyReport, PlanReport
from mdplan.reports.read import ReadReport, SearchReport
from mdplan.reports.stat import StatReport
from mdplan.requests.queries import StatRequest
from mdplan.requests.query_reader import read_read_request, read_search_request, read_stat_request
from mdplan.requests.read import ReadRequest
from mdplan.requests.search import SearchRequest
from mdplan.text.source import DocumentFormat

# Rows of a stat that are made to see how large all of them are.
_FIRST_ROWS: Final = 50

AnyReport = TypeVar("AnyReport", bound=Report)
Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class _Forms(Generic[AnyReport]):
    """How a report is written: as decoded JSON, and as text for a success."""

    wire: Callable[[AnyReport], dict[str, Any]]
    text: Callable[[AnyReport], str]

    def size(self, report: AnyReport) -> int:
        """How many characters it takes in the longer of its forms."""
        return max(size_of(self.wire(report)), len(self.text(report)) if report.ok else 0)

    def answer(self, report: AnyReport, most: int) -> ToolResult:
        """The report as an answer of at most so many characters."""
        report = with_hints_for(Caller.AGENT, report)
        if not report.ok and not getattr(report, "results", ()):
            return ToolResult(
                text=refusal_text(report), structured=within(self.wire(report), most), is_refusal=True
            )
        text = self.text(report) if report.ok else refusal_text(report)
        made = ToolResult(text=text, structured=self.wire(report), is_refusal=not report.ok)
        return (
            bounded(made, type(report), most, lambda refused: self.answer(refused, most))
            if report.ok
            else made
        )


def call_stat(engine: Engine, arguments: Arguments, *, full: bool) -> ToolResult:
    """ToolResult of `md_stat`."""
    request = read_stat_request(arguments)
    most = engine.settings.report_characters
    if not isinstance(request, StatRequest):
        return _stat_forms(full=full, was_asked=True, as_objects=False).answer(
            refusal(StatReport, request), most
        )
    is_full = request.detail == "full"
    as_objects = None if request.detail == "auto" else is_full
    was_asked = is_full or request.include is not None
    forms = _stat_forms(full=full, was_asked=was_asked, as_objects=as_objects)
    report = _fitting_stat(engine, request, most, forms.size)
    if report.sections or report.ini_sections or report.text_sections or report.keys:
        note_shown(engine, [(report.file, report.base_sha256)])
    return forms.answer(report, most)


def _stat_forms(*, full: bool, was_asked: bool, as_objects: bool | None) -> _Forms[StatReport]:
    if full:
        return _Forms(to_wire, stat_text)
    brief = partial(without_redundancy, was_asked=was_asked)
    return _Forms(
        lambda report: stat_wire(brief(report), as_objects=as_objects),
        lambda report: stat_text(brief(report), is_short=is_outline(report, as_objects=as_objects)),
    )


def _fitting_stat(
    engine: Engine, request: StatRequest, most: int, size: Callable[[StatReport], int]
) -> StatReport:
    """The report of as many rows as fit into `most` characters; its cursor goes on where they end."""

    def first_rows(limit: int) -> StatReport:
        return engine.stat(replace(request, limit=limit))

    rows = min(request.limit or _FIRST_ROWS, _FIRST_ROWS)
    report = first_rows(rows)
    is_whole = rows == request.limit or (report.next_cursor is None and not report.inventory_totals)
    if not is_whole and report.format is DocumentFormat.MARKDOWN and not report.inventory_totals:
        # They say about how large all are. Where far less than all fits, the rest is not even made.
        asked = min(request.limit or LIMITS[report.detail or "brief"], report.total_sections or rows)
        expected = size(report) * asked // rows
        report = first_rows(shrunk(asked, expected, most) if expected > 2 * most else asked)
    elif not is_whole:
        report = engine.stat(request)
    found = size(report)
    if not report.ok or found <= most:
        return report
    longest = max(len(rows) for rows in to_wire(report).values() if isinstance(rows, list))
    return fitted(first_rows, shrunk(longest, found, most), most, size)


def call_read(engine: Engine, arguments: Arguments, *, full: bool) -> ToolResult:
    """ToolResult of `md_read`."""
    forms: _Forms[ReadReport] = _Forms(to_wire if full else read_wire, read_text)
    request = read_read_request(arguments)
    most = engine.settings.report_characters
    if not isinstance(request, ReadRequest):
        return forms.answer(refusal(ReadReport, request), most)
    report = read_within(engine, request, most, forms.size)
    note_shown(engine, [(result.file, result.base_sha256) for result in report.results])
    return forms.answer(report, most)


def call_search(engine: Engine, arguments: Arguments, *, full: bool) -> ToolResult:
    """ToolResult of `md_search`."""
    forms: _Forms[SearchReport] = (
        _Forms(to_wire, search_text) if full else _Forms(search_wire, partial(search_text, brief=True))
    )
    request = read_search_request(arguments)
    most = engine.settings.report_characters
    if not isinstance(request, SearchRequest):
        return forms.answer(refusal(SearchReport, request), most)
    report = with_fewer_hits(engine.search(request, report_progress), most, forms.size)
    note_shown(
        engine,
        [(found.file, found.base_sha256) for found in report.files if found.groups or found.front_matter],
    )
    return forms.answer(report, most)


def call_validate(engine: Engine, arguments: Arguments, *, full: bool) -> ToolResult:
    """ToolResult of `md_validate`."""
    return _plan_answer(engine, engine.plan(arguments, report_progress), full=full)


def call_apply(engine: Engine, arguments: Arguments, *, full: bool) -> ToolResult:
    """ToolResult of `md_apply`."""
    request = read_apply_request(arguments, engine.settings.batch)
    if isinstance(request, tuple):
        return _plan_answer(engine, refusal(ApplyReport, request), full=full)
    report = engine.apply(request, report_progress, seen_bases())
    note_written(engine, report)
    is_plan = isinstance(request, PlanRef) and request.accept is None
    return _plan_answer(engine, with_changes(engine, report), full=full, was_shown=is_plan)


def _plan_answer(
    engine: Engine, report: PlanReport | ApplyReport, *, full: bool, was_shown: bool = False
) -> ToolResult:
    most = engine.settings.report_characters
    report = with_hints_for(Caller.AGENT, report)
    return plan_answer(report, most) if full else compact_plan_answer(report, most, was_shown=was_shown)
