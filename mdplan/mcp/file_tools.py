"""The toolset `files`: find lines by a pattern, then read from there to where the section ends.

Both tools only read.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Annotated, Any, Final

from pydantic import Field, model_validator

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.engine.engine import Engine
from mdplan.mcp import answers
from mdplan.mcp.answers import NULLABLE, request_tool
from mdplan.mcp.tool import ToolDefinition, ToolResult, published_schema
from mdplan.operations.base import Ordinal
from mdplan.reports.base import to_wire
from mdplan.reports.read import ReadReport, ReadResult, SearchReport
from mdplan.requests.queries import StatRequest
from mdplan.requests.read import MOST_TARGETS, LinesToRead, ReadRequest, ReadTarget
from mdplan.requests.search import SearchRequest
from mdplan.text.pattern import MatchType
from mdplan.text.source import visible
from mdplan.values import replace
from mdplan.words import Argument, Arguments, OtherToolWords, say

SECTION_PATTERNS: Final = (r"^\[LOG-", r"^## ", r"^# ")
_LARGE_BYTES: Final = 100_000
_LARGE_KINDS: Final = (".json", ".yaml", ".yml")
_MOST_MATCHES: Final = 200
_RULE: Final = "---"

_READ_FILES: Final = """\
Read several files, or parts of them; each comes with its path, between lines of dashes.

Second step of grep -> read: grep_content gives a line, read_files reads from it. With read_to_next_pattern \
(needs start_line) the text ends before the next line that begins with a match of it, or at the end of \
the file; you need not work out end_line. Common boundaries: any heading "^#+ ", level 2 "^## ", log entry \
"^\\\\[LOG-", closing tag "</section>", blank line "^$". Leave it out when you know end_line, for a whole \
small file, and with head or tail.

Example: {"files": [{"path": "WORK.md", "start_line": 120, "read_to_next_pattern": "^\\\\[LOG-"}]}"""

_GREP_CONTENT: Final = """\
Lines of files that match a regex, with their numbers. First step of grep -> read: give the number to \
read_files as start_line. Section-End-Hint is the last line of the section by the first of section_patterns \
that matches later: a guess by common patterns, which you may use as end_line or ignore."""


_ENCODING: Final = Field(default=None, description="Of files that are not UTF-8.")


def _optional(description: str, **rules: Any) -> Any:  # noqa: ANN401 (as pydantic has it)
    """Return a field for which null means absent."""
    return Field(default=None, description=description, json_schema_extra={NULLABLE: True}, **rules)


class FileReadRequest(answers.Request):
    """One file, or a part of it."""

    path: str = Field(min_length=1, description="Path inside the root.")
    head: Ordinal | None = _optional("Number. First N lines.")
    tail: Ordinal | None = _optional("Number. Last N lines.")
    start_line: Ordinal | None = _optional("Number. First line, 1-based.")
    end_line: Ordinal | None = _optional("Number. Last line, inclusive.")
    read_to_next_pattern: str | None = _optional(
        "Regex: read until a line begins with a match of it.", min_length=1
    )
    encoding: str | None = _ENCODING

    @model_validator(mode="after")
    def _check(self) -> "FileReadRequest":
        has_head, has_tail, has_start, has_end, has_pattern = (
            value is not None
            for value in (self.head, self.tail, self.start_line, self.end_line, self.read_to_next_pattern)
        )
        problems = {
            "start_line is required when using read_to_next_pattern": has_pattern and not has_start,
            "Cannot specify both end_line and read_to_next_pattern": has_pattern and has_end,
            "Cannot mix head/tail with read_to_next_pattern": has_pattern and (has_head or has_tail),
            "Cannot mix head/tail with start_line/end_line": (has_head or has_tail)
            and (has_start or has_end),
            "Cannot specify both head and tail": has_head and has_tail,
            "end_line is before start_line": self.end_line is not None
            and self.end_line < (self.start_line or 1),
        }
        problem = next((message for message, holds in problems.items() if holds), None)
        if problem is not None:
            raise ValueError(problem)
        return self

    def to_target(self) -> ReadTarget:
        """Return the request as a target of `read`."""
        file = ReadTarget(file=self.path, encoding=self.encoding)
        end = self.head or self.end_line
        if end is not None:
            return replace(file, lines=LinesToRead(start=self.start_line or 1, end=end))
        return replace(
            file, last_lines=self.tail, start_line=self.start_line, until=self.read_to_next_pattern
        )


class ReadFilesRequest(answers.Request):
    """Arguments of `read_files`."""

    files: tuple[FileReadRequest, ...] = Field(
        min_length=1, max_length=MOST_TARGETS, description="What to read."
    )
    large_file_passthrough: bool = Field(
        default=False,
        description="Read JSON and YAML files of more than 100,000 bytes too; long answers are cut, as of "
        "all files.",
    )
    cursor: str | None = Field(
        default=None, min_length=1, description="nextCursor of a cut answer: go on there; with that one file."
    )

    @model_validator(mode="after")
    def _check_cursor(self) -> "ReadFilesRequest":
        if self.cursor is not None and len(self.files) > 1:
            raise ValueError("cursor requires one file, the one whose result has it as nextCursor")
        return self


class GrepContentRequest(answers.Request):
    """Arguments of `grep_content`."""

    pattern: str = Field(min_length=1, description="Regular expression.")
    search_path: str = Field(default=".", min_length=1, description="File, folder or glob.")
    section_patterns: tuple[str, ...] = Field(
        default=SECTION_PATTERNS,
        max_length=20,
        description="Regexes of lines that begin a section, tried in this order.",
    )
    case_insensitive: bool = Field(default=False, description="Case does not matter.")
    context_lines: Annotated[int, Field(strict=True, ge=0, le=50)] = Field(
        default=0, description="Lines to show on both sides."
    )
    encoding: str | None = _ENCODING


# Fields of an entry of an answer.
_PART: Final = published_schema("read_files", "outputSchema")["properties"]["results"]["items"]["properties"]
_HIT: Final = published_schema("grep_content", "outputSchema")["properties"]["hits"]["items"]["properties"]
_PROBLEM: Final = _PART["problem"]["properties"]


def make_tools(engine: Engine) -> tuple[ToolDefinition, ...]:
    """Return the tools of this set for `engine`."""
    return (
        request_tool(
            ReadFilesRequest,
            partial(_read_files, engine),
            _refused,
            name="read_files",
            title="Read files",
            description=_READ_FILES,
            writes=False,
        ),
        request_tool(
            GrepContentRequest,
            partial(_grep_content, engine),
            _refused,
            name="grep_content",
            title="Search files",
            description=_GREP_CONTENT,
            writes=False,
        ),
    )


def _read_files(engine: Engine, request: ReadFilesRequest) -> ToolResult:
    too_large = () if request.large_file_passthrough else tuple(_too_large(engine, request))
    if too_large:
        return _refused(too_large)
    targets = tuple(file.to_target() for file in request.files)
    most = engine.settings.report_characters
    wanted = ReadRequest(targets=targets, max_characters=most, cursor=request.cursor)
    report = _without_empty_results(answers.read_within(engine, wanted, most, lambda made: _read(made).size))
    if not any(result.content is not None for result in report.results):
        return _refused(report.diagnostics)
    answer = _read(report)
    return answer if answer.size <= most else _refused(answers.too_long(ReadReport, most).diagnostics)


def _read(report: ReadReport) -> ToolResult:
    """Return the places read, between lines of dashes, and as data."""
    results = [_only(_PART, to_wire(result)) for result in OtherToolWords().tell_all(report.results)]
    text = "\n".join(map(_layout, results))
    return ToolResult(text=text, structured={"ok": report.ok, "results": results}, is_refusal=False)


def _only(names: Iterable[str], wire: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `wire` with these `names`."""
    given = {name: wire.get(name) for name in names}
    kept = {name: value for name, value in given.items() if value is not None and value is not False}
    return {**kept, "problem": _only(_PROBLEM, kept["problem"])} if "problem" in kept else kept


def _told(problems: Problems) -> list[dict[str, Any]]:
    return [_only(_PROBLEM, to_wire(problem)) for problem in OtherToolWords().tell_all(problems)]


_READ_A_PART: Final = say(
    "read a part of it ({}), or send {}",
    Arguments("head", "start_line"),
    Argument("large_file_passthrough", True),  # noqa: FBT003 (the value to send)
)


def _without_empty_results(report: ReadReport) -> ReadReport:
    """Return `report` with a note for each file whose text did not fit."""
    results = tuple(
        ReadResult(
            file=result.file,
            problem=Code.BATCH_TOO_LARGE.problem(
                f"the files before `{result.file}` fill the answer",
                "read it in a separate call",
                file=result.file,
            ),
        )
        if result.truncated and not result.content
        else result
        for result in report.results
    )
    return replace(report, results=results)


def _too_large(engine: Engine, request: ReadFilesRequest) -> Iterator[Diagnostic]:
    """Return a placeholder for large JSON and YAML files requested as a whole."""
    for file in request.files:
        is_part = file.head or file.tail or file.start_line or file.end_line
        if is_part or not file.path.lower().endswith(_LARGE_KINDS):
            continue
        size = engine.stat(StatRequest(file=file.path, detail="brief", limit=1)).bytes or 0
        if size > _LARGE_BYTES:
            yield Code.FILE_TOO_LARGE.problem(
                f"`{visible(file.path)}` has {size} bytes of JSON or YAML",
                _READ_A_PART,
                file=visible(file.path),
            )


def _layout(result: Mapping[str, Any]) -> str:
    file = f"File: {result['file']}"
    if "problem" in result:
        return f"{file}\n{_RULE}\n{_problem_text(result['problem'])}\n{_RULE}"
    head = f"{file}, Lines: {result['startLine']}-{result['endLine']} of {result['totalLines']}"
    content = result["content"].removesuffix("\n")
    return f"{head}\n{_RULE}\n{content}\n{_RULE}{_cut(result) if 'truncated' in result else ''}"


def _cut(result: Mapping[str, Any]) -> str:
    cursor = f"read on with cursor {result['nextCursor']}"
    if result["content"] and not result["content"].endswith(("\n", "\r")):
        return f"\n(cut inside line {result['endLine']}, which is too long: {cursor})"
    return f"\n(cut here: {cursor})"


def _grep_content(engine: Engine, request: GrepContentRequest) -> ToolResult:
    wanted = SearchRequest(
        pattern=request.pattern,
        file=request.search_path,
        encoding=request.encoding,
        match_type=MatchType.REGEX,
        case_sensitive=not request.case_insensitive,
        context=request.context_lines,
        limit=_MOST_MATCHES,
        section_patterns=request.section_patterns,
    )
    most = engine.settings.report_characters
    report = answers.search_within(engine, wanted, most, lambda made: _found(made).size)
    if not report.ok:
        return _refused(report.diagnostics)
    answer = _found(report)
    return answer if answer.size <= most else _refused(answers.too_long(SearchReport, most).diagnostics)


def _found(report: SearchReport) -> ToolResult:
    """Return the matching lines, each once, between lines of dashes and as data."""
    hits = {
        (found.file, hit.line): _only(_HIT, {"file": found.file, **to_wire(hit)})
        for found in report.files
        for group in found.groups
        for hit in group.hits
    }
    wire: dict[str, Any] = {"ok": True, "hits": [*hits.values()]}
    blocks = [*map(_hit, wire["hits"])] or ["No matches found."]
    if report.truncated:
        wire["totalMatches"] = report.total_matches
        blocks.append(f"({report.total_matches} matches in all; narrow the pattern or the path)")
    if report.warnings:
        wire["warnings"] = _told(report.warnings)
        blocks += map(_problem_text, wire["warnings"])
    return ToolResult(text="\n".join(blocks), structured=wire, is_refusal=False)


def _hit(hit: Mapping[str, Any]) -> str:
    hint = (
        f", Section-End-Hint: {hit['sectionEndHint']} (next: {hit['sectionPattern']})"
        if "sectionEndHint" in hit
        else ""
    )
    lines = "\n".join((*hit.get("before", ()), hit.get("text", ""), *hit.get("behind", ())))
    return f"File: {hit['file']}, Line: {hit['line']}{hint}\n{_RULE}\n{lines}\n{_RULE}"


def _refused(problems: Problems) -> ToolResult:
    error, *others = _told(problems)
    wire = {"ok": False, "error": error} | ({"diagnostics": others} if others else {})
    return ToolResult(text="\n".join(map(_problem_text, (error, *others))), structured=wire, is_refusal=True)


def _problem_text(problem: Mapping[str, Any]) -> str:
    return f"Error: {problem['code']}: {problem['message']}" + (
        f"; {problem['hint']}" if problem.get("hint") else ""
    )
