"""The toolset `editor`: reading and editing text files by lines, with what must stand there as the guard.

Names, shapes and error texts are those of requirement 04. Edits of all files of a call are one transaction.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.engine import Engine
from mdplan.schema import Schema
from mdplan.surfaces.mcp_server.editor_requests import (
    AppendRequest,
    CreateRequest,
    DeleteRequest,
    FilePatches,
    GetRequest,
    InsertRequest,
    PatchRequest,
)
from mdplan.surfaces.mcp_server.line_editor import (
    OLD_STRING,
    Document,
    Expected,
    Failure,
    LineRange,
    failures_by_file,
    replacement,
    told,
    write,
)
from mdplan.surfaces.mcp_server.requests import AnyRequest, Request, read_arguments, request_schema
from mdplan.surfaces.mcp_server.tool import Answer, ToolDefinition
from mdplan.text.source import visible

_NAME_OF: Final[Mapping[type[Request], str]] = {
    GetRequest: "get_text_file_contents",
    PatchRequest: "patch_text_file_contents",
    CreateRequest: "create_text_file",
    AppendRequest: "append_text_file_contents",
    InsertRequest: "insert_text_file_contents",
    DeleteRequest: "delete_text_file_contents",
}
NAMES: Final = tuple(_NAME_OF.values())
# What `serve --mode claude-code` offers, which has file tools of its own.
PATCH: Final = _NAME_OF[PatchRequest]
INSTRUCTIONS: Final = """\
The text editor tools edit by line numbers (1-based, inclusive) and check what stands there: read first with \
get_text_file_contents, give old_string, context_line or expected_content as read. All files of one call \
change together or not at all. Line numbers are of the file as read: read again after an edit."""

_TRAILING: Final = "Blanks at line ends are ignored unless require_exact_match."
_GET: Final = "Read text files, or lines of them: 1-based, inclusive; without ranges the whole file."
_PATCH: Final = f"""\
Replace lines of text files. Each patch names lines and what they hold now (old_string), and puts new_string \
in their place. {_TRAILING} All files change, or none. Line numbers are of the file as read: patches of one \
call do not shift each other, and must not overlap.

Example: {{"files": [{{"file_path": "app.py", "patches": [{{"old_string": "debug = False", "new_string": \
"debug = True", "ranges": [{{"start": 10, "end": 10}}]}}]}}]}}"""
_CREATE: Final = "Create a text file, with the folders that it needs. A file of that name must not exist."
_APPEND: Final = f"Add text to the end of a text file. {_TRAILING}"
_INSERT: Final = f"Insert lines before or after a line of a text file, which is checked. {_TRAILING}"
_DELETE: Final = f"Delete lines of a text file, whose content is checked. {_TRAILING}"
_NOT_APPLIED: Final = "Nothing was applied, because another file of this call failed"
_OUTPUT: Final[Schema] = {"type": "object"}


def editor_tools(engine: Engine) -> tuple[ToolDefinition, ...]:
    """The tools of this set, over `engine`."""
    return (
        _tool("Read text files", _GET, GetRequest, _caller(engine, GetRequest, _get)),
        _tool("Patch text files", _PATCH, PatchRequest, _caller(engine, PatchRequest, _patch)),
        _tool("Create a text file", _CREATE, CreateRequest, _caller(engine, CreateRequest, _create)),
        _tool("Append to a text file", _APPEND, AppendRequest, _caller(engine, AppendRequest, _append)),
        _tool("Insert into a text file", _INSERT, InsertRequest, _caller(engine, InsertRequest, _insert)),
        _tool("Delete lines of a text file", _DELETE, DeleteRequest, _caller(engine, DeleteRequest, _delete)),
    )


def _tool(
    title: str, description: str, model: type[Request], call: Callable[[Mapping[str, Any]], Answer]
) -> ToolDefinition:
    return ToolDefinition(
        name=_NAME_OF[model],
        title=title,
        description=description,
        input_schema=request_schema(model),
        output_schema=_OUTPUT,
        writes=model is not GetRequest,
        call=call,
    )


def _caller(
    engine: Engine, model: type[AnyRequest], run: Callable[[Engine, AnyRequest], dict[str, Any]]
) -> Callable[[Mapping[str, Any]], Answer]:
    def call(arguments: Mapping[str, Any]) -> Answer:
        request = read_arguments(model, arguments)
        return _answer(_refusal(request) if isinstance(request, tuple) else run(engine, request))

    return call


def _get(engine: Engine, request: GetRequest) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for file in request.files:
        document = Document.read(engine, file.file_path, file.encoding)
        if isinstance(document, Failure):
            answers[file.file_path] = document.to_json()
        else:
            ranges = answers.setdefault(file.file_path, {}).setdefault("ranges", [])
            ranges += (_content(document, lines) for lines in file.ranges)
    return answers


def _content(document: Document, lines: LineRange) -> dict[str, Any]:
    """Lines as read; behind the end of the file there is no content."""
    last = document.line_count if lines.end is None else min(lines.end, document.line_count)
    table = document.source.lines
    text = document.source.text[table.start(lines.start) : table.end(last)] if lines.start <= last else ""
    shown = visible(text)
    return {
        "content": shown,
        "start": lines.start,
        "end": max(last, lines.start - 1),
        "total_lines": document.line_count,
        "content_size": len(shown.encode()),
        # Bytes that are no text are shown escaped, and cannot be given back as old_string.
        **({} if document.source.is_exact or shown == text else {"content_exact": False}),
    }


def _patch(engine: Engine, request: PatchRequest) -> dict[str, Any]:
    failures: dict[str, Failure] = {}
    files: list[dict[str, Any]] = []
    for file in request.files:
        document = Document.read(engine, file.file_path, file.encoding)
        if isinstance(document, Failure):
            failures[file.file_path] = document
            continue
        edits = _patches(document, file)
        if isinstance(edits, Failure):
            failures[file.file_path] = edits
        else:
            files.append(document.to_batch_file(edits))
    paths = [file.file_path for file in request.files]
    if not failures:
        failures.update(failures_by_file(write(engine, files), {path: _name(engine, path) for path in paths}))
    if not failures:
        return {path: {"result": "ok"} for path in paths}
    return {path: failures.get(path, Failure(_NOT_APPLIED)).to_json() for path in paths}


def _name(engine: Engine, path: str) -> str:
    """The file `path` as diagnostics name it."""
    name = engine.workspace.locate(path)
    return path if isinstance(name, Diagnostic) else str(name)


def _patches(document: Document, file: FilePatches) -> list[dict[str, Any]] | Failure:
    edits: list[dict[str, Any]] = []
    for patch in file.patches:
        expected = Expected(patch.old_string, OLD_STRING, file.require_exact_match)
        for lines in patch.ranges:
            span = document.checked(lines, expected)
            if isinstance(span, Failure):
                return span
            edits.append(replacement(*span, patch.new_string))
    return edits


def _create(engine: Engine, request: CreateRequest) -> dict[str, Any]:
    encoding = {} if request.encoding is None else {"encoding": request.encoding}
    edit = {"op": "create_file", "markdown": request.contents}
    return _result(write(engine, [{"file": request.file_path, "edits": [edit], **encoding}]))


def _append(engine: Engine, request: AppendRequest) -> dict[str, Any]:
    expected = Expected(request.expected_file_ending, "expected_file_ending", request.require_exact_match)

    def edits(document: Document) -> list[dict[str, Any]] | Failure:
        last = document.line_count
        if last:
            span = document.checked(LineRange(start=last, end=last), expected)
            if isinstance(span, Failure):
                return span
        elif expected.text.strip("\r\n"):
            return expected.mismatch(1, 1)
        end = document.source.lines.position(len(document.source.text))
        place = {"line": end.line, "col": end.col}
        return [
            {
                "op": "replace_range",
                "range": {"start": place, "end": place},
                "expectedText": "",
                "replacement": _as_ending(document, request.content_to_append),
            }
        ]

    return _edit_one(engine, request.file_path, request.encoding, edits)


def _as_ending(document: Document, text: str) -> str:
    """`text` on lines of its own; where the file ended in a line end, it does so again."""
    lines = document.source.lines
    is_open = bool(lines.count) and not lines.ending(lines.count)
    before = "\n" if is_open and not text.startswith(("\n", "\r")) else ""
    return before + text + ("" if is_open or text.endswith(("\n", "\r")) else "\n")


def _insert(engine: Engine, request: InsertRequest) -> dict[str, Any]:
    def edits(document: Document) -> list[dict[str, Any]] | Failure:
        made: list[dict[str, Any]] = []
        for each in request.insertions:
            line = each.line_number
            expected = Expected(each.context_line, "context_line", request.require_exact_match)
            span = document.checked(LineRange(start=line, end=line), expected)
            if isinstance(span, Failure):
                return span
            place = {"line": line, "position": each.position if span[1] else "before"}
            made.append({"op": "insert_lines", **place, "markdown": each.content_to_insert})
        return made

    return _edit_one(engine, request.file_path, request.encoding, edits)


def _delete(engine: Engine, request: DeleteRequest) -> dict[str, Any]:
    def edits(document: Document) -> list[dict[str, Any]] | Failure:
        made: list[dict[str, Any]] = []
        for each in request.deletions:
            expected = Expected(each.expected_content, "expected_content", request.require_exact_match)
            for lines in each.ranges:
                span = document.checked(lines, expected)
                if isinstance(span, Failure):
                    return span
                if span[1]:
                    made.append(replacement(*span, ""))
        return made

    return _edit_one(engine, request.file_path, request.encoding, edits)


def _edit_one(
    engine: Engine,
    file: str,
    encoding: str | None,
    edits_of: Callable[[Document], list[dict[str, Any]] | Failure],
) -> dict[str, Any]:
    document = Document.read(engine, file, encoding)
    if isinstance(document, Failure):
        return document.to_json()
    edits = edits_of(document)
    if isinstance(edits, Failure):
        return edits.to_json()
    return _result(write(engine, [document.to_batch_file(edits)]))


def _result(problems: Problems) -> dict[str, Any]:
    return told(problems[0]).to_json() if problems else {"result": "ok"}


def _refusal(problems: Problems) -> dict[str, Any]:
    reason = "; ".join(problem.message for problem in problems)
    return Failure(reason, hint=problems[0].hint or None).to_json()


def _answer(content: dict[str, Any]) -> Answer:
    """The document's JSON, as data and as text. It is a refusal where nothing was read or written.

    An answer by file holds an object for each; a file may be called `result` as well.
    """
    parts = [part for part in content.values() if isinstance(part, dict)] or [content]
    return Answer(
        text=json.dumps(content, ensure_ascii=False),
        structured=content,
        is_refusal=all(part.get("result") == "error" for part in parts),
    )
