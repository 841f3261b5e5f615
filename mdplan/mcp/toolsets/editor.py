"""The toolset `editor`: reading and editing text files by lines, with what must be there as the guard.

Names, shapes and error texts are those of requirement 04. Edits of all files of a call are one transaction.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from mdplan.diagnostics import Problems
from mdplan.engine.engine import Engine
from mdplan.mcp.flat_schema import object_schema
from mdplan.mcp.guide.introductions import EDITOR_PATCH
from mdplan.mcp.strict_requests import AnyRequest, Request, read_arguments, request_schema
from mdplan.mcp.tool import ToolDefinition, ToolResult
from mdplan.mcp.toolsets.editor_tools.editor_calls import append, create, delete, get, insert, patch
from mdplan.mcp.toolsets.editor_tools.editor_requests import (
    AppendRequest,
    CreateRequest,
    DeleteRequest,
    GetRequest,
    InsertRequest,
    PatchRequest,
)
from mdplan.mcp.toolsets.editor_tools.line_editor import Failure
from mdplan.requests.schemas import Schema

_NAME_OF: Final[Mapping[type[Request], str]] = {
    GetRequest: "get_text_file_contents",
    PatchRequest: EDITOR_PATCH,
    CreateRequest: "create_text_file",
    AppendRequest: "append_text_file_contents",
    InsertRequest: "insert_text_file_contents",
    DeleteRequest: "delete_text_file_contents",
}
_TRAILING: Final = "Blanks at line ends are ignored unless require_exact_match."
_GET: Final = "Read text files, or lines of them: 1-based, inclusive; without ranges the whole file."
_PATCH: Final = f"""\
Replace lines of text files. Each patch names lines and their text now (old_string), and puts new_string \
in their place. {_TRAILING} All files change, or none. Line numbers are of the file as read: patches of one \
call do not shift each other, and must not overlap.

Example: {{"files": [{{"file_path": "app.py", "patches": [{{"old_string": "debug = False", "new_string": \
"debug = True", "ranges": [{{"start": 10, "end": 10}}]}}]}}]}}"""
_CREATE: Final = "Create a text file, with the folders that it needs. A file of that name must not exist."
_APPEND: Final = f"Add text to the end of a text file. {_TRAILING}"
_INSERT: Final = f"Insert lines before or after a line of a text file, which is checked. {_TRAILING}"
_DELETE: Final = f"Delete lines of a text file, whose content is checked. {_TRAILING}"
_OUTCOME: Final[Schema] = object_schema(
    {
        "result": {"type": "string", "enum": ["ok", "error"]},
        "reason": {"type": "string"},
        "suggestion": {"type": "string"},
        "hint": {"type": "string"},
    },
    ["result"],
)
# Of a call about several files the fields are their paths, which no schema can know before; any name may be
# one of them, so none is given a type here.
_BY_FILE: Final[Schema] = {"type": "object"}
_RANGES: Final = (
    "By file path: {ranges: [{content, start, end, total_lines, content_size, hint}]}, or why not: "
)
_OUTCOMES: Final = "By file path: "
_OF_A_FILE: Final = "{result: ok or error, reason, suggestion, hint}."
_OUTPUTS: Final[Mapping[type[Request], Schema]] = {
    GetRequest: {**_BY_FILE, "description": _RANGES + _OF_A_FILE},
    PatchRequest: {**_BY_FILE, "description": _OUTCOMES + _OF_A_FILE},
}


def editor_tools(engine: Engine) -> tuple[ToolDefinition, ...]:
    """The tools of this set, over `engine`."""
    return (
        _tool("Read text files", _GET, GetRequest, _caller(engine, GetRequest, get)),
        _tool("Patch text files", _PATCH, PatchRequest, _caller(engine, PatchRequest, patch)),
        _tool("Create a text file", _CREATE, CreateRequest, _caller(engine, CreateRequest, create)),
        _tool("Append to a text file", _APPEND, AppendRequest, _caller(engine, AppendRequest, append)),
        _tool("Insert into a text file", _INSERT, InsertRequest, _caller(engine, InsertRequest, insert)),
        _tool("Delete lines of a text file", _DELETE, DeleteRequest, _caller(engine, DeleteRequest, delete)),
    )


def _tool(
    title: str, description: str, model: type[Request], call: Callable[[Mapping[str, Any]], ToolResult]
) -> ToolDefinition:
    return ToolDefinition(
        name=_NAME_OF[model],
        title=title,
        description=description,
        input_schema=request_schema(model),
        output_schema=_OUTPUTS.get(model, _OUTCOME),
        writes=model is not GetRequest,
        # Equal lines may follow each other, and then the same call fits again.
        may_be_repeated=model in {GetRequest, CreateRequest},
        call=call,
    )


def _caller(
    engine: Engine, model: type[AnyRequest], run: Callable[[Engine, AnyRequest], dict[str, Any]]
) -> Callable[[Mapping[str, Any]], ToolResult]:
    def call(arguments: Mapping[str, Any]) -> ToolResult:
        request = read_arguments(model, arguments)
        return _answer(_refusal(request) if isinstance(request, tuple) else run(engine, request))

    return call


def _refusal(problems: Problems) -> dict[str, Any]:
    reason = "; ".join(problem.message for problem in problems)
    return Failure(reason, hint=problems[0].hint or None).to_json()


def _answer(content: dict[str, Any]) -> ToolResult:
    """The document's JSON, as data and as text. It is a refusal where nothing was read or written.

    An answer by file contains an object for each; a file may be called `result` as well.
    """
    parts = [part for part in content.values() if isinstance(part, dict)] or [content]
    return ToolResult(
        text=json.dumps(content, ensure_ascii=False),
        structured=content,
        is_refusal=all(part.get("result") == "error" for part in parts),
    )
