"""The toolset `text`: inspect, read, patch and replace (requirement 01, as requirement 02 revised it)."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from mdplan.engine.engine import Engine
from mdplan.mcp.guide.introductions import INTRODUCTIONS
from mdplan.mcp.strict_requests import AnyRequest, Request, read_arguments, request_schema
from mdplan.mcp.tool import ToolDefinition, ToolResult
from mdplan.mcp.toolsets.text_tools.editing import patch
from mdplan.mcp.toolsets.text_tools.inspection import inspect, read
from mdplan.mcp.toolsets.text_tools.replacing import replace
from mdplan.mcp.toolsets.text_tools.text_requests import (
    SUCCESSORS,
    InspectRequest,
    ReplaceRequest,
    TextPatchRequest,
    TextReadRequest,
)
from mdplan.mcp.toolsets.text_tools.text_results import failure, refusal_result
from mdplan.mcp.toolsets.text_tools.text_schemas import OUTPUTS
from mdplan.requests.batch import with_decoded_fields

_WRITING: Final = frozenset({"TextPatch", "TextReplace"})
_INSPECT: Final = """\
Structure of a text or Markdown file, without its content: headings, code blocks, anchors, front matter; \
of other text sections, comments and blank lines. mode search finds text or a regex with its nearest \
heading, mode lines shows ranges of lines. Use it before TextRead and TextPatch.

Examples: {"filePath": "a.md"}; {"filePath": "a.md", "mode": "search", "query": "TODO:.*", "regex": true}; \
{"filePath": "a.md", "mode": "lines", "query": "50-60"}"""
_READ: Final = """\
Text of one place of a file. target is one of: lines {start, end}, 1-based and inclusive; heading {text, \
includeChildren}; codeBlock {index} from 0; anchor "id", to the next heading; section "[marker]" of an INI \
or text file; search {query, contextLines} around the first match. Headings are steadier than line numbers.

Example: {"filePath": "a.md", "target": {"heading": {"text": "Install"}}}"""
_PATCH: Final = """\
Replace, insert or delete at a place. target is one of: lines {start, end}, 1-based and inclusive (insert \
goes before them); heading "## Title" (the heading line; insert goes below it); \
appendToSection "## Title" (insert at the end of the section); beforeHeading "## Title" (insert before it); \
codeBlock {index} (its code). For text within lines use TextReplace. Line numbers shift after an edit.

Example: {"filePath": "a.md", "operation": "insert", "target": {"appendToSection": "## Install"}, \
"content": "Restart it."}"""
_REPLACE: Final = """\
Replace exact text in a file: the first choice for edits within lines. oldText may span lines; take it \
from TextInspect or TextRead. occurrence says which one: first, last, all, or a number.

Example: {"filePath": "a.md", "oldText": "teh quick", "newText": "the quick"}"""


def text_tools(engine: Engine) -> tuple[ToolDefinition, ...]:
    """The tools of this set, over `engine`."""
    titles = ("Inspect a file", "Read a part of a file", "Patch a file", "Replace text in a file")
    described = (_INSPECT, _READ, _PATCH, _REPLACE)
    models: tuple[type[Request], ...] = (InspectRequest, TextReadRequest, TextPatchRequest, ReplaceRequest)
    calls = (
        _caller(engine, InspectRequest, inspect),
        _caller(engine, TextReadRequest, read),
        _caller(engine, TextPatchRequest, patch, _removed),
        _caller(engine, ReplaceRequest, replace),
    )
    return tuple(
        ToolDefinition(
            name=name,
            title=title,
            description=description,
            input_schema=request_schema(model),
            output_schema=OUTPUTS[name],
            writes=name in _WRITING,
            # The same text may be at several places, and may be inserted twice.
            may_be_repeated=name not in _WRITING,
            call=call,
        )
        for name, title, description, model, call in zip(
            INTRODUCTIONS["text"].names, titles, described, models, calls, strict=True
        )
    )


def _caller(
    engine: Engine,
    model: type[AnyRequest],
    run: Callable[[Engine, AnyRequest], ToolResult],
    look: Callable[[Mapping[str, Any]], ToolResult | None] = lambda _: None,
) -> Callable[[Mapping[str, Any]], ToolResult]:
    def call(arguments: Mapping[str, Any]) -> ToolResult:
        known = look(arguments)
        if known is not None:
            return known
        request = read_arguments(model, arguments)
        return refusal_result(request) if isinstance(request, tuple) else run(engine, request)

    return call


def _removed(arguments: Mapping[str, Any]) -> ToolResult | None:
    """The refusal of what requirement 02 took out, which names its successor."""
    given = with_decoded_fields(TextPatchRequest, arguments)
    if given.get("operation") == "replaceLines":
        return failure("Operation replaceLines was removed", "Use operation replace with target lines")
    target = given.get("target")
    names = [name for name in SUCCESSORS if isinstance(target, Mapping) and name in target]
    if not names:
        return None
    listed = ", ".join(names)
    suggestions = (f"Use {SUCCESSORS[name]}" for name in names)
    return failure(f"Target {listed} was removed from TextPatch", *suggestions)
