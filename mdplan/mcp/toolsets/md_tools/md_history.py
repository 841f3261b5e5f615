"""`md_history`: what was committed, and taking it back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from mdplan.engine.engine import Engine
from mdplan.field_names import fold_names
from mdplan.mcp.answers.report_text import diff_uri, refusal_text
from mdplan.mcp.answers.result import answer, plan_answer, with_short_comparisons, with_short_diff
from mdplan.mcp.answers.review_lines import review_lines
from mdplan.mcp.answers.short_report import first_lines, within
from mdplan.mcp.arguments import catch_errors
from mdplan.mcp.compact.history_answers import history_wire
from mdplan.mcp.compact.plan_answers import compact_plan_answer
from mdplan.mcp.flat_schema import object_schema, request_properties
from mdplan.mcp.strict_requests import read_arguments
from mdplan.mcp.tool import ToolDefinition, ToolResult
from mdplan.mcp.toolsets.md_tools.shown_guards import note_written
from mdplan.mcp.toolsets.md_tools.verbosity import VERBOSITY, output_schema, with_verbosity
from mdplan.operations.base import WireModel
from mdplan.reports.base import refusal
from mdplan.reports.history import HistoryReport, TransactionEntry
from mdplan.reports.next_steps import Caller, with_hints_for
from mdplan.reports.plan import ApplyReport
from mdplan.requests.batch import OnStale
from mdplan.requests.schemas import Schema
from mdplan.text.source import visible

NAME: Final = "md_history"
_LIST: Final = "Past commits, newest first; with transaction its diff, with planId its review."
_NOTHING: Final = "the history has no commit here"
# Of plans that wait for their author.
_MOST_REVIEWS: Final = 5
# Files that one line of the text names.
_MOST_FILES: Final = 10
_UNDO: Final = """\
 action undo takes a whole one back (by default your last), unless a file changed since; undo the \
undo to redo."""


# The description of the tool says what there is to say.
_FIELDS: Final[Mapping[str, str]] = {}


class HistoryRequest(WireModel):
    """Arguments of `md_history`."""

    action: Literal["list", "undo"] = Field(default="list", description="list or undo.")
    transaction: str | None = Field(default=None, min_length=1, description="ID, or its beginning.")
    plan_id: str | None = Field(default=None, min_length=1, description="list: decision and comments.")
    file: str | None = Field(default=None, min_length=1, description="list: only what changed this file.")
    limit: Annotated[int, Field(strict=True, ge=1, le=200)] = Field(default=10, description="Most entries.")
    dry_run: bool = Field(default=False, description="undo: plan only.")
    on_stale: OnStale = Field(
        default="refuse", description="undo: rebase goes on if other lines changed since, merge merges."
    )

    @model_validator(mode="after")
    def _check_action(self) -> "HistoryRequest":
        if self.plan_id is not None and (self.action == "undo" or self.transaction or self.file):
            msg = "planId must be the only field"
            raise ValueError(msg)
        if self.action == "undo" and self.file is not None:
            msg = "file requires action list; an undo undoes a whole transaction"
            raise ValueError(msg)
        if self.action == "list" and (self.dry_run or self.on_stale != "refuse"):
            msg = "dryRun and onStale go with action undo"
            raise ValueError(msg)
        return self


def history_tool(engine: Engine, *, read_only: bool) -> ToolDefinition:
    """The tool over `engine`; with `read_only` it only lists."""
    fields = request_properties(HistoryRequest, _FIELDS)
    if read_only:
        fields = {name: fields[name] for name in ("transaction", "planId", "file", "limit")}
    # The choices are at md_apply.
    fields = {
        name: {key: value for key, value in each.items() if key != "enum" or name == "action"}
        for name, each in fields.items()
    }
    call = with_verbosity(HistoryReport, _caller(engine, fields))
    return ToolDefinition(
        name=NAME,
        title="Past commits" if read_only else "Past commits, undo",
        description=_LIST if read_only else _LIST + _UNDO,
        input_schema=object_schema({**fields, VERBOSITY: {"type": "string"}}),
        output_schema=output_schema(
            (HistoryReport,) if read_only else (ApplyReport, HistoryReport), ("listing", "transaction")
        ),
        writes=not read_only,
        meta={"anthropic/searchHint": "list past Markdown edits" + ("" if read_only else ", undo one")},
        may_be_repeated=read_only,  # The undo of an undo is a redo.
        call=catch_errors(HistoryReport, call),
    )


def _caller(engine: Engine, fields: Mapping[str, Schema]) -> Callable[..., ToolResult]:
    most = engine.settings.report_characters

    def call(arguments: Mapping[str, Any], *, full: bool) -> ToolResult:
        request = read_arguments(HistoryRequest, fold_names(arguments, {}))
        if isinstance(request, tuple):
            return _answer(refusal(HistoryReport, request), most, full=full)
        if request.action == "undo" and "action" in fields:
            undone = engine.undo(
                request.transaction,
                dry_run=request.dry_run,
                rebases=request.on_stale == "rebase",
                merges=request.on_stale == "merge",
            )
            note_written(engine, undone)
            report = with_hints_for(Caller.AGENT, undone)
            return plan_answer(report, most) if full else compact_plan_answer(report, most)
        if request.plan_id is not None:
            return _answer(with_short_comparisons(engine.reviews(request.plan_id), most), most, full=full)
        if request.transaction is not None:
            return _answer(with_short_diff(engine.transaction(request.transaction), most), most, full=full)
        listed = engine.history(request.limit, request.file)
        if listed.ok and request.file is None:
            waiting = with_short_comparisons(engine.reviews(), most // 4)
            listed = replace(listed, reviews=waiting.reviews[:_MOST_REVIEWS])
        return _answer(listed, most, full=full)

    return call


def _answer(report: HistoryReport, most: int, *, full: bool) -> ToolResult:
    report = with_hints_for(Caller.AGENT, report)
    rows = first_lines(map(_line, report.transactions), most // 3, "transactions")
    if full:
        return answer(report, partial(_text, rows), most)
    text = _text(rows, report) if report.ok else refusal_text(report)
    structured = within(history_wire(report, rows), most)
    return ToolResult(text=text, structured=structured, is_refusal=not report.ok)


def _text(rows: Sequence[str], report: HistoryReport) -> str:
    """The `rows` of its transactions, then the diff where one was asked for."""
    lines = [line for review in report.reviews for line in review_lines(review)]
    lines += rows or ([] if lines else [_NOTHING])
    lines += ["(there are older ones: raise limit)"] if report.more else []
    if report.foreign_total:
        lines.append(f"({report.foreign_total} foreign records in .mdplan are ignored)")
    lines += [f"{warning.code}: {warning.message}" for warning in report.warnings]
    if report.diff_truncated:
        plan_id = report.transactions[0].plan_id or ""
        lines.append(f"The diff is cut. All of it: resource {diff_uri(plan_id)}")
    return visible("".join(f"{line}\n" for line in lines) + (report.diff or ""))


def _line(entry: TransactionEntry) -> str:
    time = (
        datetime.fromtimestamp(entry.committed_at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
        if entry.committed_at is not None
        else "unknown time"
    )
    named = entry.files[:_MOST_FILES]
    files = ", ".join(f"{file.file} +{file.lines_added} -{file.lines_removed}" for file in named)
    files += f" and {len(entry.files) - len(named)} more files" if len(named) < len(entry.files) else ""
    remarks = (
        ("" if entry.state == "committed" else entry.state),
        ("" if entry.undoable or entry.state != "committed" else "cannot be undone"),
        (f"undoes {entry.undoes}" if entry.undoes else ""),
        (f"undone by {entry.undone_by}" if entry.undone_by else ""),
        (f"by {entry.actor}" if entry.actor else ""),
        (f"planned with {entry.client}" if entry.client and not entry.client.is_mdplan else ""),
        (f"approved by {entry.approved.decided_by}" if entry.approved else ""),
    )
    notes = ", ".join(remark for remark in remarks if remark)
    title = f"{entry.title}: " if entry.title else ""
    return f"{entry.transaction} {time} {title}{files}" + (f" ({notes})" if notes else "")
