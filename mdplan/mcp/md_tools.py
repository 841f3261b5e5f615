"""The toolset `md`: look at a file's structure, preview edits, apply them."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import Field, model_validator

from mdplan.diagnostics import Code, Diagnostic, Refused
from mdplan.documents.documents import Seen
from mdplan.engine.engine import Engine
from mdplan.engine.plans import PlanRef, names_plan, read_apply_request
from mdplan.field_names import camel_case, fold_names
from mdplan.markdown.outline import Outline
from mdplan.mcp import answers, compact
from mdplan.mcp.review_app import SHOWS_APP
from mdplan.mcp.tool import (
    ShownFiles,
    ShownVersion,
    ToolDefinition,
    ToolResult,
    record_changed,
    report_progress,
    shown_files,
)
from mdplan.operations.base import WireModel
from mdplan.planning.replay import stale_base
from mdplan.reports.base import Report, refusal, to_wire
from mdplan.reports.history import HistoryReport
from mdplan.reports.plan import ApplyReport, PlanReport
from mdplan.reports.stat import StatReport
from mdplan.requests.queries import StatRequest
from mdplan.requests.query_reader import read_read_request, read_search_request, read_stat_request
from mdplan.requests.verbs import VERBS, OnStale
from mdplan.storage.files import FileName
from mdplan.storage.filesystem import granted
from mdplan.values import replace
from mdplan.words import AgentWords, say

# Claude Code loads the first three with a session, and finds the others by these words.
_ALWAYS: Final = {"anthropic/alwaysLoad": True}

_META: Final[Mapping[str, Mapping[str, Any]]] = {
    "md_stat": _ALWAYS,
    "md_read": _ALWAYS,
    "md_apply": _ALWAYS,
    "md_search": {"anthropic/searchHint": "find text or front matter in Markdown files"},
    "md_validate": {"anthropic/searchHint": "preview Markdown edits as a diff"},
}

# Claude Code then asks its user before each call, in every permission mode.
_ASKS_USER: Final = {"anthropic/requiresUserInteraction": True}


def make_tools(engine: Engine) -> tuple[ToolDefinition, ...]:
    """Return the tools of this set for `engine`; of two with one name, the later one writes as well."""

    def tool(name: str, verb: str, call: Callable[..., ToolResult]) -> ToolDefinition:
        told = VERBS[verb]
        return ToolDefinition(
            name=name,
            title=told.title,
            description=told.tool,
            writes=name == "md_apply",
            meta={
                **_META[name],
                **(_ASKS_USER if name == "md_apply" and engine.settings.require_approval else {}),
                # Some clients drop tools with an App that may write.
                **(SHOWS_APP if name == "md_validate" else {}),
            },
            call=with_verbosity(engine, told.report_class, call),
        )

    return (
        tool("md_stat", "outline", call_stat),
        tool("md_read", "read", call_read),
        tool("md_search", "search", call_search),
        tool("md_validate", "validate", call_validate),
        tool("md_apply", "apply", call_apply),
        history_tool(engine, read_only=True),
        history_tool(engine, read_only=False),
    )


# --- Calls

_LEAST_OF_A_ROW: Final = 20

# A document with more sections is shown without its deepest levels, unless fewer than these are left.
_MOST_SECTIONS, _FEW_SECTIONS = 100, 5
_DEEPEST: Final = 7
AnyReport = TypeVar("AnyReport", bound=Report)
Arguments = Mapping[str, Any]


def _answer(report: AnyReport, wire_of: Callable[[AnyReport], dict[str, Any]], most: int) -> ToolResult:
    """Answer with `report`, as `wire_of` makes it data; what does not fit into `most` is refused."""
    report = AgentWords().tell_all(report)
    wire = wire_of(report)
    if not report.ok and not getattr(report, "results", ()):
        return answers.answer_within(wire, most)
    result = answers.answered(wire)
    if report.ok and result.size > most:
        return _answer(answers.too_long(type(report), most), wire_of, most)
    return result


def _size(wire_of: Callable[[AnyReport], dict[str, Any]]) -> Callable[[AnyReport], int]:
    return lambda report: answers.answered(wire_of(report)).size


def call_stat(engine: Engine, arguments: Arguments, *, full: bool) -> ToolResult:
    """Answer `md_stat`."""
    request = granted(read_stat_request(arguments))
    most = engine.settings.report_characters
    is_full = request.detail == "full"
    wire_of = (
        to_wire
        if full
        else partial(
            compact.stat_wire,
            inventories_wanted=is_full or request.include is not None,
            as_objects=None if request.detail == "auto" else is_full,
        )
    )
    report = _fitting_stat(engine, request, most, _size(wire_of))
    if request.detail == "auto" and request.depth is None and request.cursor is None and not full:
        report = _upper_levels(engine, request, report)
    if report.sections or report.ini_sections or report.text_sections or report.keys:
        record_shown(engine, [(report.file, report.base_sha256)])
    return _answer(report, wire_of, most)


def _fitting_stat(
    engine: Engine, request: StatRequest, most: int, size: Callable[[StatReport], int]
) -> StatReport:
    """Return a report with as many rows as fit into `most` characters; its cursor continues there."""
    # More rows cannot fit.
    limit = min(request.limit, most // _LEAST_OF_A_ROW) if request.limit else None
    report = engine.stat(replace(request, limit=limit))
    characters = size(report)
    if not report.ok or characters <= most:
        return report
    longest = max(len(rows) for rows in to_wire(report).values() if isinstance(rows, list))
    fewer = answers.smaller_limit(longest, characters, most)
    return answers.fit_to_size(lambda limit: engine.stat(replace(request, limit=limit)), fewer, most, size)


def _upper_levels(engine: Engine, request: StatRequest, report: StatReport) -> StatReport:
    """Return the `report` of a long document without its deepest levels, which `depth` or `under` give."""
    depths = range(1, _DEEPEST) if len(report.sections) > _MOST_SECTIONS else ()
    kept = report
    for upper in (engine.stat(replace(request, depth=depth)) for depth in depths):
        is_long = len(upper.sections) > _MOST_SECTIONS
        if not is_long or kept is report or len(kept.sections) <= _FEW_SECTIONS:
            kept = upper
        if is_long:
            break
    return replace(kept, total_sections=report.total_sections)


def call_read(engine: Engine, arguments: Arguments, *, full: bool) -> ToolResult:
    """Answer `md_read`."""
    wire_of = to_wire if full else compact.read_wire
    request = granted(read_read_request(arguments))
    most = engine.settings.report_characters
    report = answers.read_within(engine, request, most, _size(wire_of))
    record_shown(engine, [(result.file, result.base_sha256) for result in report.results])
    return _answer(report, wire_of, most)


def call_search(engine: Engine, arguments: Arguments, *, full: bool) -> ToolResult:
    """Answer `md_search`."""
    wire_of = to_wire if full else compact.search_wire
    request = granted(read_search_request(arguments))
    most = engine.settings.report_characters
    report = answers.search_within(engine, request, most, _size(wire_of))
    record_shown(
        engine,
        [(found.file, found.base_sha256) for found in report.files if found.groups or found.front_matter],
    )
    return _answer(report, wire_of, most)


def call_validate(engine: Engine, arguments: Arguments, *, full: bool) -> ToolResult:
    """Answer `md_validate`."""
    if names_plan(arguments):
        return _plan_answer(engine, engine.apply({**arguments, "dryRun": True}), full=full)
    return _plan_answer(engine, engine.plan(arguments, report_progress), full=full)


def call_apply(engine: Engine, arguments: Arguments, *, full: bool) -> ToolResult:
    """Answer `md_apply`."""
    request = granted(read_apply_request(arguments, engine.settings.batch))
    report = engine.apply(request, report_progress, seen_bases())
    record_written(engine, report)
    is_plan = isinstance(request, PlanRef) and request.accept is None
    return _plan_answer(engine, with_changes(engine, report), full=full, was_shown=is_plan)


def _plan_answer(
    engine: Engine, report: PlanReport | ApplyReport, *, full: bool, was_shown: bool = False
) -> ToolResult:
    most = engine.settings.report_characters
    report = AgentWords().tell_all(report)
    if full:
        wire = answers.with_diff_resource(to_wire(answers.with_short_diff(report, most)), report.plan_id)
        if isinstance(report, ApplyReport) and report.receipt is not None and not report.already_applied:
            wire["transaction"] = report.receipt.transaction
        return answers.answer_within(wire, most)
    return answers.answer_within(compact.plan_wire(report, most, was_shown=was_shown), most)


# --- md_history

NAME: Final = "md_history"

# Of plans that wait for their author.
_MOST_REVIEWS: Final = 5


_READ_ONLY: Final = Diagnostic.invalid(
    "this server only reads, and undoes nothing",
    say("leave {action} out to list the commits; whoever runs the server can undo one: {mdplan undo}"),
)


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
            raise ValueError("planId must be the only field")
        if self.action == "undo" and self.file is not None:
            raise ValueError("file requires action list; an undo undoes a whole transaction")
        if self.action == "list" and (self.dry_run or self.on_stale != "refuse"):
            raise ValueError("dryRun and onStale go with action undo")
        return self


def history_tool(engine: Engine, *, read_only: bool) -> ToolDefinition:
    """Return the tool for `engine`; with `read_only` it only lists."""
    told = [VERBS["history"], *([] if read_only else [VERBS["undo"]])]
    return ToolDefinition(
        name=NAME,
        title=told[-1].title,
        description=" ".join(each.tool for each in told),
        schemas=f"{NAME}-read-only" if read_only else NAME,
        writes=not read_only,
        meta={"anthropic/searchHint": "list past Markdown edits" + ("" if read_only else ", undo one")},
        may_be_repeated=read_only,  # The undo of an undo is a redo.
        call=with_verbosity(engine, HistoryReport, partial(_call_history, may_undo=not read_only)),
    )


def _call_history(engine: Engine, arguments: Arguments, *, may_undo: bool, full: bool) -> ToolResult:
    most = engine.settings.report_characters
    request = granted(answers.read_arguments(HistoryRequest, fold_names(arguments, {})))
    if request.action == "undo" and not may_undo:
        raise Refused(_READ_ONLY)
    if request.action == "undo":
        undone = engine.undo(request.transaction, dry_run=request.dry_run, on_stale=request.on_stale)
        record_written(engine, undone)
        return _plan_answer(engine, undone, full=full)
    if request.plan_id is not None:
        report = answers.with_short_comparisons(engine.reviews(request.plan_id), most)
    elif request.transaction is not None:
        report = answers.with_short_diff(engine.transaction(request.transaction), most)
    else:
        report = engine.history(request.limit, request.file)
        if report.ok and request.file is None:
            waiting = answers.with_short_comparisons(engine.reviews(), most // 4)
            report = replace(report, reviews=waiting.reviews[:_MOST_REVIEWS])
    report = AgentWords().tell_all(report)
    wire = to_wire(report) if full else compact.history_wire(report)
    if report.transactions:
        wire = answers.with_diff_resource(wire, report.transactions[0].plan_id)
    return answers.answer_within(wire, most)


# --- File versions that the client was shown: they guard what it writes


def record_shown(engine: Engine, files: Iterable[tuple[str | None, str | None]]) -> None:
    """Record that these versions (path, SHA-256) were shown to the client of the current call."""
    shown = shown_files()
    if shown is None:
        return
    for file, sha256 in files:
        if file is None or sha256 is None:
            continue
        version = shown.version(file)
        if version is None or version.sha256 != sha256:
            version = _version(engine, file, sha256)
        shown.record(file, version)


def record_written(engine: Engine, report: ApplyReport) -> None:
    """Record the files that a commit of this client changed, and the versions that it made of them."""
    if not report.applied or report.already_applied:
        return
    changed = (name for file in report.files if file.changed for name in (file.file, file.new_file))
    record_changed(answers.outline_uri(name) for name in changed if name is not None)
    shown = shown_files()
    if shown is None:
        return
    for file in report.files:
        name = file.new_file or file.file
        version = _version(engine, name, file.result_sha256) if file.result_sha256 is not None else None
        shown.follow(file.file, file.base_sha256, version, name)


def seen_bases() -> Seen | None:
    """Gives the hash of the version of a file that the client was shown last; None without a session."""
    shown = shown_files()
    if shown is None:
        return None

    def seen(file: str) -> str | None:
        version = shown.version(file)
        return version.sha256 if version is not None else None

    return seen


def with_changes(engine: Engine, report: ApplyReport) -> ApplyReport:
    """Return the refusal `report` with sections in STALE_BASE that changed since the client saw them."""
    shown = shown_files()
    if report.ok or shown is None:
        return report
    problems = tuple(_with_changes(engine, shown, problem) for problem in report.diagnostics)
    return replace(report, error=problems[0] if problems else report.error, diagnostics=problems)


def _with_changes(engine: Engine, shown: ShownFiles, problem: Diagnostic) -> Diagnostic:
    version = shown.version(problem.file) if problem.file is not None else None
    if problem.code is not Code.STALE_BASE or version is None or problem.file is None or problem.candidates:
        return problem
    current = _outline(engine, problem.file)
    if current is None or not version.sections or version.sha256 == current.source.sha256:
        return problem
    return stale_base(problem.file, version.sha256, current, version.sections)


def _version(engine: Engine, file: str, sha256: str) -> ShownVersion:
    outline = _outline(engine, file)
    is_it = outline is not None and outline.source.sha256 == sha256
    return ShownVersion(sha256, outline.own_hashes() if outline is not None and is_it else {})


def _outline(engine: Engine, file: str) -> Outline | None:
    """Return the current file, which a recent read may have cached."""
    name = engine.workspace.locate(file)
    if not isinstance(name, FileName):
        return None
    outline = engine.documents.open_parsed(name)
    return outline if isinstance(outline, Outline) else None


# --- How much an answer says

VERBOSITY: Final = "verbosity"
# brief: compact, without a diff.
VERBOSITY_LEVELS: Final = ("compact", "full", "brief")


def with_verbosity(
    engine: Engine, shape: type[Report], call: Callable[..., ToolResult]
) -> Callable[[Arguments], ToolResult]:
    """Read `verbosity` before `call`, which takes the other arguments; what is refused is a `shape`.

    Null arguments are absent, but a value that an edit gives, or expects, may be null.
    """

    def call_with(arguments: Arguments) -> ToolResult:
        given = {
            name: value
            for name, value in arguments.items()
            if value is not None or camel_case(name) in {"value", "expectedValue"}
        }
        level = given.pop(VERBOSITY, VERBOSITY_LEVELS[0])
        try:
            answers.check_unicode(given)
            granted(() if level in VERBOSITY_LEVELS else _NO_LEVEL)
            answer = call(engine, given, full=level == "full")
            if level != "brief":
                return answer
            kept = {name: value for name, value in answer.structured.items() if not name.startswith("diff")}
            return replace(answers.answered(kept), meta=answer.meta)
        except Refused as refused:
            report = AgentWords().tell_all(refusal(shape, refused.diagnostics))
            wire = to_wire(report) if level == "full" else compact.compact_wire(report)
            return answers.answer_within(wire, engine.settings.report_characters)

    return call_with


_NO_LEVEL: Final = Diagnostic.invalid(
    say("{verbosity} is not compact, full or brief"), say('leave it out, or {send verbosity="full"}')
)
