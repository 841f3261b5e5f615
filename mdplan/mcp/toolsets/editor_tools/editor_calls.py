"""Calls of the toolset `editor`, with the answers of requirement 04."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.engine.engine import Engine
from mdplan.mcp.toolsets.editor_tools.editor_requests import (
    AppendRequest,
    CreateRequest,
    DeleteRequest,
    FilePatches,
    GetRequest,
    InsertRequest,
    PatchRequest,
)
from mdplan.mcp.toolsets.editor_tools.line_editor import (
    OLD_STRING,
    EditedRange,
    EditorDocument,
    Expected,
    Failure,
    failures_by_file,
    failures_of,
    not_decoded,
    replacement,
    write,
)
from mdplan.text.source import visible

_NOT_APPLIED: Final = "Nothing was applied, because another file of this call failed"


def get(engine: Engine, request: GetRequest) -> dict[str, Any]:
    """Lines of files, by path; a file that cannot be read has its error there."""
    answers: dict[str, Any] = {}
    for file in request.files:
        document = EditorDocument.read(engine, file.file_path, file.encoding)
        ranges = document if isinstance(document, Failure) else _contents(document, file.ranges)
        if isinstance(ranges, Failure):
            answers[file.file_path] = ranges.to_json()
        else:
            answers.setdefault(file.file_path, {}).setdefault("ranges", []).extend(ranges)
    return answers


def _contents(document: EditorDocument, ranges: Sequence[EditedRange]) -> list[dict[str, Any]] | Failure:
    """Lines of `ranges`; bytes that are not text are refused where one of them has some."""
    contents = [_content(document, lines) for lines in ranges]
    is_text = all(visible(each["content"]) == each["content"] for each in contents)
    return contents if is_text else not_decoded(document.encoding)


def _content(document: EditorDocument, lines: EditedRange) -> dict[str, Any]:
    """Lines as read; after the end of the file there is no content."""
    last = document.line_count if lines.end is None else min(lines.end, document.line_count)
    table = document.source.lines
    text = document.source.text[table.start(lines.start) : table.end(last)] if lines.start <= last else ""
    is_whole = lines.start <= max(last, 1) and lines.end in {None, last}
    return {
        "content": text,
        "start": lines.start,
        "end": max(last, lines.start - 1),
        "total_lines": document.line_count,
        "content_size": len(visible(text).encode()),
        **({} if is_whole else {"hint": f"The file has {document.line_count} lines"}),
    }


def patch(engine: Engine, request: PatchRequest) -> dict[str, Any]:
    """Edit lines of files, all of them or none; the outcome by path."""
    failures: dict[str, Failure] = {}
    files: list[dict[str, Any]] = []
    for file in request.files:
        document = EditorDocument.read(engine, file.file_path, file.encoding)
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


def _patches(document: EditorDocument, file: FilePatches) -> list[dict[str, Any]] | Failure:
    edits: list[dict[str, Any]] = []
    for patch in file.patches:
        expected = Expected(patch.old_string, OLD_STRING, file.require_exact_match)
        for lines in patch.ranges:
            span = document.checked(lines, expected)
            if isinstance(span, Failure):
                return span
            edits.append(replacement(*span, patch.new_string))
    return edits


def create(engine: Engine, request: CreateRequest) -> dict[str, Any]:
    """Make a file, with the folders that it needs."""
    encoding = {} if request.encoding is None else {"encoding": request.encoding}
    edit = {"op": "create_file", "markdown": request.contents}
    return _result(write(engine, [{"file": request.file_path, "edits": [edit], **encoding}]))


def append(engine: Engine, request: AppendRequest) -> dict[str, Any]:
    """Add text to the end of a file whose last line is as expected."""
    expected = Expected(request.expected_file_ending, "expected_file_ending", request.require_exact_match)

    def edits(document: EditorDocument) -> list[dict[str, Any]] | Failure:
        last = document.line_count
        if last:
            span = document.checked(EditedRange(start=last, end=last), expected)
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


def _as_ending(document: EditorDocument, text: str) -> str:
    """`text` on lines of its own; where the file ended in a line end, it does so again."""
    lines = document.source.lines
    is_open = bool(lines.count) and not lines.ending(lines.count)
    before = "\n" if is_open and not text.startswith(("\n", "\r")) else ""
    return before + text + ("" if is_open or text.endswith(("\n", "\r")) else "\n")


def insert(engine: Engine, request: InsertRequest) -> dict[str, Any]:
    """Insert lines next to lines that are as expected."""

    def edits(document: EditorDocument) -> list[dict[str, Any]] | Failure:
        made: list[dict[str, Any]] = []
        for each in request.insertions:
            line = each.line_number
            expected = Expected(each.context_line, "context_line", request.require_exact_match)
            span = document.checked(EditedRange(start=line, end=line), expected)
            if isinstance(span, Failure):
                return span
            place = {"line": line, "position": each.position if span[1] else "before"}
            made.append({"op": "insert_lines", **place, "markdown": each.content_to_insert})
        return made

    return _edit_one(engine, request.file_path, request.encoding, edits)


def delete(engine: Engine, request: DeleteRequest) -> dict[str, Any]:
    """Delete lines that are as expected."""

    def edits(document: EditorDocument) -> list[dict[str, Any]] | Failure:
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
    edits_of: Callable[[EditorDocument], list[dict[str, Any]] | Failure],
) -> dict[str, Any]:
    document = EditorDocument.read(engine, file, encoding)
    if isinstance(document, Failure):
        return document.to_json()
    edits = edits_of(document)
    if isinstance(edits, Failure):
        return edits.to_json()
    return _result(write(engine, [document.to_batch_file(edits)]))


def _result(problems: Problems) -> dict[str, Any]:
    return failures_of(problems[0]).to_json() if problems else {"result": "ok"}
