"""`md_history`: what was committed, and taking it back."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from mdplan.engine.engine import Engine
from mdplan.field_names import fold_names
from mdplan.mcp.arguments import catch_errors
from mdplan.mcp.flat_schema import flat_report_schema, object_schema, request_properties
from mdplan.mcp.report_text import diff_uri
from mdplan.mcp.requests import read_arguments
from mdplan.mcp.result import answer, plan_answer, with_short_diff
from mdplan.mcp.tool import ToolDefinition, ToolResult
from mdplan.operations.base.operation import WireModel
from mdplan.reference.schema import Schema
from mdplan.reports.base import refusal
from mdplan.reports.history import HistoryReport, TransactionEntry
from mdplan.reports.plan import ApplyReport
from mdplan.text.source import visible

NAME: Final = "md_history"
_LIST: Final = "Past commits, newest first (file: of one file); with transaction the diff of that one."
_NOTHING: Final = "the history has no commit here"
# Files that one line of the text names.
_MOST_FILES: Final = 10
_UNDO: Final = """\
 action undo takes one back (without transaction your last one): all its files, unless one was changed \
since; undo the undo to redo."""


_FIELDS: Final = {"transaction": "ID, or its beginning.", "onStale": "rebase: go on if other lines changed."}


class HistoryRequest(WireModel):
    """Arguments of `md_history`."""

    action: Literal["list", "undo"] = Field(default="list", description="list or undo.")
    transaction: str | None = Field(default=None, min_length=1, description="ID, or its beginning.")
    file: str | None = Field(default=None, min_length=1, description="list: only what changed this file.")
    limit: Annotated[int, Field(strict=True, ge=1, le=200)] = Field(default=10, description="Most entries.")
    dry_run: bool = Field(default=False, description="undo: plan only.")
    on_stale: Literal["refuse", "rebase"] = Field(
        default="refuse", description="undo: rebase goes on if other lines changed since."
    )

    @model_validator(mode="after")
    def _check_action(self) -> "HistoryRequest":
        if self.action == "undo" and self.file is not None:
            msg = "file goes with action list; an undo takes back a whole transaction"
            raise ValueError(msg)
        if self.action == "list" and (self.dry_run or self.on_stale != "refuse"):
            msg = "dryRun and onStale go with action undo"
            raise ValueError(msg)
        return self


def history_tool(engine: Engine, *, read_only: bool) -> ToolDefinition:
    """The tool over `engine`; with `read_only` it only lists."""
    fields = request_properties(HistoryRequest, _FIELDS)
    if read_only:
        fields = {name: fields[name] for name in ("transaction", "file", "limit")}
    return ToolDefinition(
        name=NAME,
        title="Past commits" if read_only else "Past commits, undo",
        description=_LIST if read_only else _LIST + _UNDO,
        input_schema=object_schema(fields),
        output_schema=flat_report_schema(HistoryReport) if read_only else _output_schema(),
        writes=not read_only,
        may_be_repeated=read_only,  # The undo of an undo is a redo.
        call=catch_errors(HistoryReport, _caller(engine, fields)),
    )


def _caller(engine: Engine, fields: Mapping[str, Schema]) -> Callable[[dict[str, Any]], ToolResult]:
    most = engine.settings.report_characters

    def call(arguments: dict[str, Any]) -> ToolResult:
        given = fold_names(arguments, {})
        request = read_arguments(HistoryRequest, given)
        if isinstance(request, tuple):
            return answer(refusal(HistoryReport, request), str)
        if request.action == "undo" and "action" in fields:
            rebases = request.on_stale == "rebase"
            report = engine.undo(request.transaction, dry_run=request.dry_run, rebases=rebases)
            return plan_answer(report, most)
        if request.transaction is not None:
            return answer(with_short_diff(engine.transaction(request.transaction), most), _text, most)
        return answer(engine.history(request.limit, request.file), _text, most)

    return call


def _output_schema() -> Schema:
    """Of both reports: which one it is, the action says."""
    listed, undone = flat_report_schema(HistoryReport), flat_report_schema(ApplyReport)
    required = [name for name in listed["required"] if name in undone["required"]]
    return object_schema({**undone["properties"], **listed["properties"]}, required)


def _text(report: HistoryReport) -> str:
    """One line for each transaction, then the diff where one was asked for."""
    lines = [_line(entry) for entry in report.transactions] or [_NOTHING]
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
        (f"approved by {entry.approved.decided_by}" if entry.approved else ""),
    )
    told = ", ".join(remark for remark in remarks if remark)
    return f"{entry.transaction} {time} {files}" + (f" ({told})" if told else "")
