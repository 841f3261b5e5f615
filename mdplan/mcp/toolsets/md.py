"""The toolset `md`: look at a file's structure, preview edits, apply them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from mdplan.engine.engine import Engine
from mdplan.mcp import history_tool
from mdplan.mcp.arguments import catch_errors
from mdplan.mcp.fitting import (
    bounded,
    fitted,
    read_within,
    shrunk,
    wire_size,
    with_fewer_hits,
)
from mdplan.mcp.flat_schema import (
    batch_properties,
    edit_schema,
    flat_report_schema,
    object_schema,
    operation_table,
    request_properties,
)
from mdplan.mcp.progress import report_progress
from mdplan.mcp.result import AnyReport, answer, plan_answer
from mdplan.mcp.short_report import size_of
from mdplan.mcp.tool import ToolDefinition, ToolResult
from mdplan.reading.read_text import read_text, search_text
from mdplan.reading.stat import LIMITS
from mdplan.reading.stat_text import stat_text
from mdplan.reference.schema import Schema
from mdplan.reports.base import refusal, to_wire
from mdplan.reports.plan import ApplyReport, PlanReport
from mdplan.reports.read import ReadReport, SearchReport
from mdplan.reports.stat import StatReport
from mdplan.requests.query_reader import read_read_request, read_search_request, read_stat_request
from mdplan.requests.read import ReadRequest, ReadTarget
from mdplan.requests.search import SearchRequest
from mdplan.requests.stat import StatRequest
from mdplan.text.document_format import DocumentFormat

# Rows of a stat that are made to see how large all of them are.
_FIRST_ROWS: Final = 50
_STAT: Final = """\
Structure of a Markdown or text file, never its content: baseSha256, sections (sectionId, headingPath, \
lines, sectionSha256), front matter and more. With a folder or glob as `file`: one row per file. Start here, \
then name sections by sectionId and pin writes by baseSha256."""

_READ: Final = """\
Text of one place of a file (the whole file without one), or of several (targets), with what pins an edit of \
it: baseSha256, and sectionSha256 of a section. Long text is cut at a block; nextCursor goes on."""

_SEARCH: Final = """\
Find text in a file, folder or glob: matches by section (sectionId, headingPath, lines), and their \
exact number. Cheaper than reading files."""

_APPLY: Final = """\
Edit one file (file, baseSha256, edits), several (files), or apply a preview (planId): all edits or none.

Fields by op ([optional]; SECTION is exactly one of sectionId, headingPath, heading, anchor):
{operations}

- Edits address the file as you last saw it, not each other's results, unless sequential. Overlapping ones \
are refused.
- replace_match wants exactly one match, unless matchSelection, expectedMatchCount, minMatches or maxMatches \
is given. It skips code, link targets, image sources, front matter and HTML that include does not name.
- A write needs a guard: planId, baseSha256 of every file, or in each edit expectedText, \
sectionSha256 or a literal replace_match with an exact count.
- dryRun: true gives a diff and a planId; {{"planId": "..."}} then applies exactly that.

Example: {{"file": "README.md", "baseSha256": "<from md_stat>", "edits": [{{"op": "replace_match", \
"headingPath": ["Install"], "pattern": "1.0", "replacement": "2.0", "matchSelection": "all"}}]}}"""

_VALIDATE: Final = """\
Preview of md_apply: same file, edits and files; gives all problems at once, or a diff and a planId. Writes \
nothing. md_apply {"planId": "..."} then applies exactly what was shown."""

_STAT_FIELDS: Final = {
    "file": "File, folder or glob.",
    "detail": "auto: full up to 40 sections, else brief.",
    "under": "A section (sectionId or heading), with those below it.",
    "depth": "Levels below that.",
    "limit": "Most entries.",
    "cursor": "nextCursor of the answer before.",
    "include": "Inventories to add; all in full detail.",
    "links": "List links to nothing.",
}
_READ_FIELDS: Final = {
    "occurrence": "1-based, of equal headings.",
    "subsections": "false: own body only.",
    "lines": "1-based, inclusive.",
    "codeBlock": "Index from 0, or language.",
    "match": "Lines around its first match.",
    "startLine": "From here to the end, or to until.",
    "until": "Regex of the next line that is not read.",
}
_SEARCH_FIELDS: Final = {
    "file": "File, folder or glob; else all.",
    "exclude": "Kinds of nodes to leave out.",
    "context": "Lines around a match.",
    "limit": "Most matches listed.",
}
_AS_IN_APPLY: Final[Schema] = {
    "type": "array",
    "items": {"type": "object"},
    "description": "Edits as in md_apply.",
}


def md_tools(engine: Engine, read_only: bool) -> tuple[ToolDefinition, ...]:  # noqa: FBT001 (as all sets have it)
    """The tools of this set, over `engine`."""
    return (
        ToolDefinition(
            name="md_stat",
            title="Structure of a file",
            description=_STAT,
            input_schema=_stat_schema(),
            output_schema=flat_report_schema(StatReport),
            writes=False,
            call=catch_errors(StatReport, lambda arguments: _stat(engine, arguments)),
        ),
        ToolDefinition(
            name="md_read",
            title="Text of a place",
            description=_READ,
            input_schema=_read_schema(),
            output_schema=flat_report_schema(ReadReport),
            writes=False,
            call=catch_errors(ReadReport, lambda arguments: _read(engine, arguments)),
        ),
        ToolDefinition(
            name="md_search",
            title="Find text",
            description=_SEARCH,
            input_schema=_search_schema(),
            output_schema=flat_report_schema(SearchReport),
            writes=False,
            call=catch_errors(SearchReport, lambda arguments: _search(engine, arguments)),
        ),
        ToolDefinition(
            name="md_validate",
            title="Preview edits",
            description=_VALIDATE,
            input_schema=_validate_schema(),
            output_schema=flat_report_schema(PlanReport),
            writes=False,
            call=catch_errors(PlanReport, lambda arguments: _validate(engine, arguments)),
        ),
        ToolDefinition(
            name="md_apply",
            title="Apply edits",
            description=_APPLY.format(operations=operation_table()),
            input_schema=_apply_schema(),
            output_schema=flat_report_schema(ApplyReport),
            writes=True,
            call=catch_errors(ApplyReport, lambda arguments: _apply(engine, arguments)),
        ),
        history_tool.history_tool(engine, read_only=read_only),
    )


def _stat(engine: Engine, arguments: Mapping[str, Any]) -> ToolResult:
    request = read_stat_request(arguments)
    if not isinstance(request, StatRequest):
        return _bounded(engine, refusal(StatReport, request), stat_text)
    return _bounded(engine, _fitting_stat(engine, request, engine.settings.report_characters), stat_text)


def _fitting_stat(engine: Engine, request: StatRequest, most: int) -> StatReport:
    """The report of as many rows as fit into `most` characters; its cursor goes on where they end."""

    def first_rows(limit: int) -> StatReport:
        return engine.stat(replace(request, limit=limit))

    rows = min(request.limit or _FIRST_ROWS, _FIRST_ROWS)
    report = first_rows(rows)
    is_whole = rows == request.limit or (report.next_cursor is None and not report.inventory_totals)
    if not is_whole and report.format is DocumentFormat.MARKDOWN and not report.inventory_totals:
        # They tell about how large all are. Where far less than all fits, the rest is not even made.
        asked = min(request.limit or LIMITS[report.detail or "brief"], report.total_sections or rows)
        expected = wire_size(report) * asked // rows
        report = first_rows(shrunk(asked, expected, most) if expected > 2 * most else asked)
    elif not is_whole:
        report = engine.stat(request)
    wire = to_wire(report)
    size = size_of(wire)
    if not report.ok or size <= most:
        return report
    longest = max(len(rows) for rows in wire.values() if isinstance(rows, list))
    return fitted(first_rows, shrunk(longest, size, most), most, wire_size)


def _bounded(engine: Engine, report: AnyReport, text_of: Callable[[AnyReport], str]) -> ToolResult:
    most = engine.settings.report_characters
    made = answer(report, text_of, most)
    return bounded(made, type(report), most, lambda refused: answer(refused, str)) if report.ok else made


def _read(engine: Engine, arguments: Mapping[str, Any]) -> ToolResult:
    request = read_read_request(arguments)
    if not isinstance(request, ReadRequest):
        return answer(refusal(ReadReport, request), str)
    most = engine.settings.report_characters
    return _bounded(engine, read_within(engine, request, most, read_text), read_text)


def _search(engine: Engine, arguments: Mapping[str, Any]) -> ToolResult:
    request = read_search_request(arguments)
    report = (
        engine.search(request, report_progress)
        if isinstance(request, SearchRequest)
        else refusal(SearchReport, request)
    )
    return _bounded(
        engine, with_fewer_hits(report, engine.settings.report_characters, search_text), search_text
    )


def _apply(engine: Engine, arguments: Mapping[str, Any]) -> ToolResult:
    return plan_answer(engine.apply(arguments, report_progress), engine.settings.report_characters)


def _validate(engine: Engine, arguments: Mapping[str, Any]) -> ToolResult:
    return plan_answer(engine.plan(arguments, report_progress), engine.settings.report_characters)


def _stat_schema() -> Schema:
    return object_schema(request_properties(StatRequest, _STAT_FIELDS), required=["file"])


def _read_schema() -> Schema:
    """Fields of one target, and `targets` for several, without saying everything twice."""
    options = request_properties(ReadRequest, {"cursor": "nextCursor of the answer before."})
    targets: Schema = {
        "type": "array",
        "items": {"type": "object"},
        "description": "Several places, each as above.",
    }
    fields = request_properties(ReadTarget, _READ_FIELDS)
    return object_schema({**fields, **options, "targets": targets})


def _search_schema() -> Schema:
    fields = request_properties(SearchRequest, _SEARCH_FIELDS)
    del fields["sectionPatterns"]  # Here sections say where they end; logs are for the toolset `files`.
    return object_schema(fields, required=["pattern"])


def _batch_schema(edits: Schema) -> Schema:
    """Schema of one file with `edits`, or of several files."""
    of_batch = batch_properties()
    of_file = {name: of_batch.pop(name) for name in ("file", "baseSha256", "encoding", "format")}
    del of_batch["dryRun"]
    entry = {name: {"type": schema["type"]} for name, schema in of_file.items()}
    several = {
        "type": "array",
        "items": object_schema({**entry, "edits": _AS_IN_APPLY}, required=["file", "edits"]),
        "description": "Several files in place of one.",
    }
    return object_schema({**of_file, "edits": edits, "files": several, **of_batch})


def _validate_schema() -> Schema:
    """That of md_apply for a batch, without saying everything twice."""
    fields_of_batch = _batch_schema(_AS_IN_APPLY)["properties"]
    brief = {name: {**schema} for name, schema in fields_of_batch.items()}
    for name in brief.keys() - {"edits"}:
        brief[name].pop("description")
    return object_schema(brief)


def _apply_schema() -> Schema:
    batch = _batch_schema({"type": "array", "items": edit_schema()})
    plan = {
        "planId": {"type": "string", "description": "Apply this preview; without edits."},
        "dryRun": batch_properties()["dryRun"],
    }
    return {**batch, "properties": {**plan, **batch["properties"]}}
