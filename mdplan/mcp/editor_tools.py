"""The toolset `editor`: read and edit text files by lines, guarded by the text that must be there.

Names, shapes and error texts are a fixed interface that callers parse. The edits of all files of a call are
one transaction.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal

from pydantic import Field, model_validator

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.engine.engine import Engine
from mdplan.mcp.answers import MOST_PATH, NULLABLE, Request, request_tool
from mdplan.mcp.tool import EDITOR_PATCH, ToolDefinition, ToolResult
from mdplan.operations.base import Ordinal
from mdplan.text.lines import to_lf
from mdplan.text.source import Source, visible
from mdplan.values import Struct
from mdplan.words import OtherToolWords

# --- Requests


class EditedRange(Request):
    """Whole lines, 1-based and inclusive."""

    start: Ordinal = Field(default=1, description="First line, 1-based.")
    end: Ordinal | None = Field(
        default=None,
        description="Last line, inclusive; null or absent: the end of the file.",
        json_schema_extra={NULLABLE: True},
    )

    @model_validator(mode="after")
    def _check_order(self) -> "EditedRange":
        if self.end is not None and self.end < self.start:
            raise ValueError("end is before start")
        return self


_WHOLE_FILE: Final = (EditedRange(),)


class FileRequest(Request):
    """The part of a request about one file that names the file."""

    file_path: str = Field(min_length=1, max_length=MOST_PATH, description="Path of the file, inside a root.")
    encoding: str | None = Field(default=None, description="Encoding of the file; UTF-8 when absent.")


class EditRequest(FileRequest):
    """The part of a request that edits existing text of a file."""

    require_exact_match: bool = Field(default=False, description="Blanks at line ends must match too.")


class FileRanges(FileRequest):
    """A file, or some lines of it."""

    ranges: tuple[EditedRange, ...] = Field(
        default=_WHOLE_FILE, min_length=1, description="Lines to read; absent: the whole file."
    )


class GetRequest(Request):
    """Arguments of `get_text_file_contents`."""

    files: tuple[FileRanges, ...] = Field(min_length=1, description="What to read.")


class RangePatch(Request):
    """A text in place of another, at one or several places."""

    old_string: str = Field(description="The text of the lines now.")
    new_string: str = Field(description="Their new text; empty to remove them.")
    ranges: tuple[EditedRange, ...] = Field(
        default=_WHOLE_FILE, min_length=1, description="Lines with old_string; absent: the whole file."
    )


class FilePatches(EditRequest):
    """Patches of one file."""

    patches: tuple[RangePatch, ...] = Field(min_length=1, description="Patches whose ranges do not overlap.")


class PatchRequest(Request):
    """Arguments of `patch_text_file_contents`."""

    files: tuple[FilePatches, ...] = Field(min_length=1, description="Files to edit, each once.")


class CreateRequest(FileRequest):
    """Arguments of `create_text_file`."""

    contents: str = Field(description="The whole text of the new file.")


class AppendRequest(EditRequest):
    """Arguments of `append_text_file_contents`."""

    content_to_append: str = Field(min_length=1, description="Text to add to the end.")
    expected_file_ending: str = Field(description="The text of the last line now.")


class Insertion(Request):
    """Lines to insert next to a line."""

    content_to_insert: str = Field(min_length=1, description="Lines to insert.")
    position: Literal["after", "before"] = Field(description="Where, relative to the line.")
    context_line: str = Field(description="The text of the line now.")
    line_number: Ordinal = Field(description="Number of the line, 1-based.")


class InsertRequest(EditRequest):
    """Arguments of `insert_text_file_contents`."""

    insertions: tuple[Insertion, ...] = Field(min_length=1, description="What to insert.")


class Deletion(Request):
    """Lines to delete."""

    expected_content: str = Field(description="The text of the lines now.")
    ranges: tuple[EditedRange, ...] = Field(
        default=_WHOLE_FILE, min_length=1, description="Lines with that text; absent: the whole file."
    )


class DeleteRequest(EditRequest):
    """Arguments of `delete_text_file_contents`."""

    deletions: tuple[Deletion, ...] = Field(min_length=1, description="What to delete.")


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


def make_tools(engine: Engine) -> tuple[ToolDefinition, ...]:
    """Return the tools of this set for `engine`."""
    rows: tuple[tuple[str, str, str, type[Any], Callable[[Engine, Any], dict[str, Any]]], ...] = (
        ("get_text_file_contents", "Read text files", _GET, GetRequest, get),
        (EDITOR_PATCH, "Patch text files", _PATCH, PatchRequest, patch),
        ("create_text_file", "Create a text file", _CREATE, CreateRequest, create),
        ("append_text_file_contents", "Append to a text file", _APPEND, AppendRequest, append),
        ("insert_text_file_contents", "Insert into a text file", _INSERT, InsertRequest, insert),
        ("delete_text_file_contents", "Delete lines of a text file", _DELETE, DeleteRequest, delete),
    )
    return tuple(
        request_tool(
            model,
            partial(_answer, partial(run, engine)),
            _refusal,
            name=name,
            title=title,
            description=description,
            writes=model is not GetRequest,
            # Equal lines may follow each other, and then the same call fits again.
            may_be_repeated=model in {GetRequest, CreateRequest},
        )
        for name, title, description, model, run in rows
    )


def _refusal(problems: Problems) -> ToolResult:
    reason = "; ".join(problem.message for problem in problems)
    return _result_of(Failure(reason, hint=problems[0].hint or None).to_json())


def _answer(run: Callable[[Request], dict[str, Any]], request: Request) -> ToolResult:
    try:
        return _result_of(run(request))
    except Failure as failure:
        return _result_of(failure.to_json())


def _result_of(content: dict[str, Any]) -> ToolResult:
    """Return the document's JSON, as data and as text. It is a refusal if nothing was read or written.

    An answer by file contains an object for each; a file may also be called `result`.
    """
    parts = [part for part in content.values() if isinstance(part, dict)] or [content]
    return ToolResult(
        text=json.dumps(content, ensure_ascii=False),
        structured=content,
        is_refusal=all(part.get("result") == "error" for part in parts),
    )


# --- Calls

_NOT_APPLIED: Final = "Nothing was applied, because another file of this call failed"


def get(engine: Engine, request: GetRequest) -> dict[str, Any]:
    """Lines of files, by path; a file that cannot be read each time it is named has its error there."""
    answers: dict[str, Any] = {}
    for file in request.files:
        known = answers.setdefault(file.file_path, {"ranges": []})
        try:
            known.get("ranges", []).extend(_contents(EditorDocument.read(engine, file), file.ranges))
        except Failure as failure:
            answers[file.file_path] = failure.to_json()
    return answers


class Failure(Exception):  # noqa: N818 (it is an answer)
    """Why a file cannot be edited, in the words of the document."""

    def __init__(self, reason: str, suggestion: str | None = None, hint: str | None = None) -> None:
        super().__init__(reason)
        self.told = {"result": "error", "reason": reason, "suggestion": suggestion, "hint": hint}

    def to_json(self) -> dict[str, str]:
        """Return an error response; absent fields are omitted."""
        return {name: text for name, text in self.told.items() if text is not None}


class Expected(Struct):
    """The expected text of some lines: `text`, which may end in a line end; `what` names it in the request.

    Unless `exact`, blanks at line ends do not count.
    """

    text: str
    what: str
    exact: bool

    def mismatch(self, start: int, end: int) -> Failure:
        """Return the failure for other content in the lines `start` to `end`."""
        if self.what == OLD_STRING:
            how = "exactly match file content" if self.exact else "match the actual file content"
            return Failure(
                f"Content mismatch at lines {start}-{end}", _CHECK, f"The {OLD_STRING} doesn't {how}"
            )
        lines = f"line {start} is" if start == end else f"lines {start}-{end} are"
        return Failure(_VALIDATION, _CHECK, f"{_VERIFY}: {lines} not the {self.what}")


class EditorDocument(Struct):
    """One file as this call read it, which pins the edits of it."""

    file: str
    encoding: str | None
    source: Source

    @classmethod
    def read(cls, engine: Engine, request: FileRequest) -> "EditorDocument":
        """Return the file of `request`. Raises `Failure` if it cannot be read."""
        file, encoding = request.file_path, request.encoding
        source = engine.source(file, encoding)
        if isinstance(source, Diagnostic) and engine.workspace.is_several(file):
            raise Failure("The path is that of a folder", hint="Name a file in it")
        if isinstance(source, Diagnostic):
            raise failure_of(source, encoding)
        return cls(file, encoding, source)

    @property
    def line_count(self) -> int:
        """Number of lines."""
        return self.source.lines.count

    def checked(self, lines: EditedRange, expected: Expected) -> tuple[int, int]:
        """First and last line of `lines`, which must be in the file and hold what is `expected`.

        Raises `Failure` where they do not; a file with bytes that are not text is refused for these. An empty
        file has no line, but nothing is at the first one: then the last line is 0.
        """
        start, end = lines.start, self.line_count if lines.end is None else lines.end
        if not self.line_count and start == 1 and end <= 1 and not expected.text.strip("\r\n"):
            return 1, 0
        if not start <= end <= self.line_count:
            raise Failure(_BEYOND, _CHECK, f"The file has {self.line_count} lines")
        table = self.source.lines
        found = to_lf(self.source.text[table.start(start) : table.content_end(end)])
        wanted = to_lf(expected.text)
        if wanted != found:
            wanted = wanted.removesuffix("\n")
        if not expected.exact:
            found, wanted = _without_trailing_blanks(found), _without_trailing_blanks(wanted)
        if found == wanted:
            return start, end
        raise not_decoded(self.encoding) if self.source.invalid_bytes else expected.mismatch(start, end)

    def write(self, engine: Engine, edits: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Make `edits`, and return the answer. Raises `Failure`."""
        return _written(engine, self.to_batch_file(edits))

    def to_batch_file(self, edits: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Return an entry of a batch with `edits`, guarded by the hash of the content read."""
        encoding = {} if self.encoding is None else {"encoding": self.encoding}
        return {"file": self.file, "baseSha256": self.source.sha256, "edits": list(edits), **encoding}


def _contents(document: EditorDocument, ranges: Sequence[EditedRange]) -> list[dict[str, Any]]:
    """Return the lines of `ranges`. Raises `Failure` if one of them has bytes that are not text."""
    contents = [_content(document, lines) for lines in ranges]
    if any(visible(each["content"]) != each["content"] for each in contents):
        raise not_decoded(document.encoding)
    return contents


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
        try:
            document = EditorDocument.read(engine, file)
            files.append(document.to_batch_file(_patches(document, file)))
        except Failure as failure:
            failures[file.file_path] = failure
    paths = [file.file_path for file in request.files]
    problems = write(engine, files) if not failures else ()
    for path in paths:
        # Problems name a file as the workspace does, or none.
        names = {path, str(engine.workspace.locate(path)), None} if problems else set()
        own = [problem for problem in problems if problem.file in names]
        failures |= {path: failure_of(own[0])} if own else {}
    if not failures:
        return {path: {"result": "ok"} for path in paths}
    return {path: failures.get(path, Failure(_NOT_APPLIED)).to_json() for path in paths}


def _patches(document: EditorDocument, file: FilePatches) -> Iterator[dict[str, Any]]:
    for patch in file.patches:
        expected = Expected(patch.old_string, OLD_STRING, file.require_exact_match)
        for lines in patch.ranges:
            yield replacement(*document.checked(lines, expected), patch.new_string)


def create(engine: Engine, request: CreateRequest) -> dict[str, Any]:
    """Make a file, with the folders that it needs."""
    encoding = {} if request.encoding is None else {"encoding": request.encoding}
    edit = {"op": "create_file", "markdown": request.contents}
    return _written(engine, {"file": request.file_path, "edits": [edit], **encoding})


def append(engine: Engine, request: AppendRequest) -> dict[str, Any]:
    """Add text to the end of a file whose last line is as expected."""
    expected = Expected(request.expected_file_ending, "expected_file_ending", request.require_exact_match)
    document = EditorDocument.read(engine, request)
    last = document.line_count
    if last:
        document.checked(EditedRange(start=last, end=last), expected)
    elif expected.text.strip("\r\n"):
        raise expected.mismatch(1, 1)
    end = document.source.lines.position(len(document.source.text))
    place = {"line": end.line, "col": end.col}
    edit = {
        "op": "replace_range",
        "range": {"start": place, "end": place},
        "expectedText": "",
        "replacement": _as_ending(document, request.content_to_append),
    }
    return document.write(engine, [edit])


def _as_ending(document: EditorDocument, text: str) -> str:
    """Return `text` as separate lines, with a final newline if the file had one."""
    lines, ends = document.source.lines, ("\n", "\r")
    is_open = bool(lines.count) and not lines.ending(lines.count)
    before = "\n" if is_open and not text.startswith(ends) else ""
    return before + text + ("" if is_open or text.endswith(ends) else "\n")


def insert(engine: Engine, request: InsertRequest) -> dict[str, Any]:
    """Insert lines next to lines that are as expected."""
    document = EditorDocument.read(engine, request)
    edits = []
    for each in request.insertions:
        line = each.line_number
        expected = Expected(each.context_line, "context_line", request.require_exact_match)
        _, last = document.checked(EditedRange(start=line, end=line), expected)
        place = {"line": line, "position": each.position if last else "before"}
        edits.append({"op": "insert_lines", **place, "markdown": each.content_to_insert})
    return document.write(engine, edits)


def delete(engine: Engine, request: DeleteRequest) -> dict[str, Any]:
    """Delete lines that are as expected."""
    document = EditorDocument.read(engine, request)
    edits = []
    for each in request.deletions:
        expected = Expected(each.expected_content, "expected_content", request.require_exact_match)
        spans = (document.checked(lines, expected) for lines in each.ranges)
        edits += [replacement(*span, "") for span in spans if span[1]]
    return document.write(engine, edits)


def _written(engine: Engine, file: Mapping[str, Any]) -> dict[str, Any]:
    problems = write(engine, [file])
    if problems:
        raise failure_of(problems[0])
    return {"result": "ok"}


# --- Edits of a batch, and reports in the words of this toolset

_VALIDATION: Final = "Content validation failed - file was modified"
_CHECK: Final = "check_content"
_VERIFY: Final = "Use get_text_file_contents to verify current content"
OLD_STRING: Final = "old_string"
_BEYOND: Final = "Line numbers are beyond the end of the file"


def replacement(start: int, end: int, new_text: str) -> dict[str, Any]:
    """Edit that puts the lines of `new_text` in place of lines; no text takes them away.

    Where `end` is 0 the file is empty.
    """
    if not end:
        return {"op": "insert_lines", "line": start, "position": "before", "markdown": new_text}
    lines = {"start": start, "end": end}
    if not new_text:
        return {"op": "delete_lines", "lines": lines}
    return {"op": "replace_lines", "lines": lines, "markdown": new_text}


def write(engine: Engine, files: Sequence[Mapping[str, Any]]) -> Problems:
    """Plan and commit the edits of all `files`, or none of them; what was wrong.

    These are edits of lines of any text: whether headings come or go is the caller's business.
    """
    batch = {"files": list(files), "allowOutlineChange": True, "allowDuplicateHeadings": True}
    return engine.write(batch).diagnostics


def failure_of(problem: Diagnostic, encoding: str | None = None) -> Failure:
    """Return `problem` in the form of the document, or None."""
    if problem.code is Code.PATH_OUTSIDE_ROOT and ".." in (problem.file or "").split("/"):
        return Failure("Path traversal not allowed", hint="File paths must not contain '..' patterns")
    if problem.code in {Code.ENCODING_UNKNOWN, Code.NOT_A_TEXT_FILE}:
        return not_decoded(encoding)
    if problem.code is Code.STALE_BASE:
        return Failure(_VALIDATION, _CHECK, _VERIFY)
    if problem.code is Code.CONFLICTING_EDITS:
        return Failure("Overlapping ranges in one file", hint="The ranges of one file must not overlap")
    told = OtherToolWords().tell(problem)
    return Failure(f"{told.code}: {told.message}", hint=told.hint or None)


def not_decoded(encoding: str | None = None) -> Failure:
    """Refusal of bytes that are not text of `encoding`, which is UTF-8 when absent."""
    reason = f"Failed to decode file with {encoding or 'utf-8'} encoding"
    return Failure(reason, hint="Try specifying the correct encoding for this file")


def _without_trailing_blanks(text: str) -> str:
    return "\n".join(line.rstrip(" \t") for line in text.split("\n"))
