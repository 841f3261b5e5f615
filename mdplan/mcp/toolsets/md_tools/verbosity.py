"""The argument `verbosity`, which every tool of the set takes."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from mdplan.diagnostics import Diagnostic
from mdplan.mcp.answers.report_text import refusal_text
from mdplan.mcp.compact.compact_json import compact_wire
from mdplan.mcp.flat_schema import flat_report_schema, object_schema
from mdplan.mcp.tool import ToolResult
from mdplan.reports.base import Report, refusal
from mdplan.requests.schemas import Schema

VERBOSITY: Final = "verbosity"
_LEVELS: Final = ("compact", "full")
VERBOSITY_SCHEMA: Final[Schema] = {"type": "string", "enum": list(_LEVELS)}
# Lists whose entries are published field by field: who reads a stat goes on with its sections.
_DETAILED: Final = frozenset({"sections"})


def with_verbosity(
    shape: type[Report], call: Callable[..., ToolResult]
) -> Callable[[Mapping[str, Any]], ToolResult]:
    """`call`, which takes arguments and whether the answer is to be `full`. Errors: INVALID_ARGUMENT."""

    def call_with(arguments: Mapping[str, Any]) -> ToolResult:
        given = dict(arguments)
        level = given.pop(VERBOSITY, _LEVELS[0])
        if level in _LEVELS:
            return call(given, full=level == "full")
        problem = Diagnostic.invalid(
            f"`{VERBOSITY}` is neither compact nor full", "leave it out, or send full"
        )
        report = refusal(shape, (problem,))
        return ToolResult(text=refusal_text(report), structured=compact_wire(report), is_refusal=True)

    return call_with


def output_schema(shapes: tuple[type[Report], ...], only_compact: tuple[str, ...] = ()) -> Schema:
    """Schema of answers, compact and full: the fields of these reports, without what is inside most.

    `only_compact` are texts that compact answers have in place of lists.
    """
    properties: dict[str, Schema] = {}
    for shape in shapes:
        fields = flat_report_schema(shape)["properties"].items()
        properties |= {name: _shallow(name, schema) for name, schema in fields}
    return object_schema(properties | {name: {"type": "string"} for name in only_compact}, ["ok"])


def _shallow(name: str, schema: Schema) -> Schema:
    if schema["type"] != "array":
        return {"type": schema["type"]}
    items = schema["items"]
    if name not in _DETAILED:
        return {"type": "array", "items": {"type": items["type"]}}
    fields = items["properties"].items()
    return {"type": "array", "items": object_schema({each: _shallow(each, field) for each, field in fields})}
