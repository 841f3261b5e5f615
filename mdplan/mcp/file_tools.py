"""The toolset `files`: find lines by a pattern, then read from there to where the section ends.

Both tools only read.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import Field, model_validator

from mdplan.diagnostics import Code, Diagnostic
from mdplan.engine.engine import Engine
from mdplan.mcp import answers
from mdplan.mcp.flat_schema import NULLABLE, flat_report_schema
from mdplan.mcp.tool import ToolDefinition, ToolResult, report_progress
from mdplan.operations.base import Ordinal
from mdplan.reports.base import refusal, to_wire
from mdplan.reports.read import ReadReport, ReadResult, SearchHit, SearchReport
from mdplan.requests.queries import StatRequest
from mdplan.requests.read import MOST_TARGETS, LinesToRead, ReadRequest, ReadTarget
from mdplan.requests.search import SearchRequest
from mdplan.text.pattern import MatchType
from mdplan.text.source import visible
from mdplan.words import OtherToolWords

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


class FileReadRequest(answers.Request):
    """One file, or a part of it."""

    path: str = Field(min_length=1, description="Path inside the root.")
    head: Ordinal | None = Field(
        default=None, description="Number. First N lines.", json_schema_extra={NULLABLE: True}
    )
    tail: Ordinal | None = Field(
        default=None, description="Number. Last N lines.", json_schema_extra={NULLABLE: True}
    )
    start_line: Ordinal | None = Field(
        default=None, description="Number. First line, 1-based.", json_schema_extra={NULLABLE: True}
    )
    end_line: Ordinal | None = Field(
        default=None, description="Number. Last line, inclusive.", json_schema_extra={NULLABLE: True}
    )
    read_to_next_pattern: str | None = Field(
        default=None,
        min_length=1,
        description="Regex: read until a line begins with a match of it.",
        json_schema_extra={NULLABLE: True},
    )
    encoding: str | None = _ENCODING

    @model_validator(mode="after")
    def _check(self) -> "FileReadRequest":
        has_ends = self.head is not None or self.tail is not None
        if self.read_to_next_pattern is not None:
            if self.start_line is None:
                msg = "start_line is required when using read_to_next_pattern"
                raise ValueError(msg)
            if self.end_line is not None:
                msg = "Cannot specify both end_line and read_to_next_pattern"
                raise ValueError(msg)
            if has_ends:
                msg = "Cannot mix head/tail with read_to_next_pattern"
                raise ValueError(msg)
        if has_ends and (self.start_line is not None or self.end_line is not None):
            msg = "Cannot mix head/tail with start_line/end_line"
            raise ValueError(msg)
        if self.head is not None and self.tail is not None:
            msg = "Cannot specify both head and tail"
            raise ValueError(msg)
        if self.end_line is not None and self.end_line < (self.start_line or 1):
            msg = "end_line is before start_line"
            raise ValueError(msg)
        return self

    def to_target(self) -> ReadTarget:
        """The request as a target of `read`."""
        if self.tail is not None:
            return ReadTarget(file=self.path, encoding=self.encoding, last_lines=self.tail)
        if self.head is not None:
            lines = LinesToRead(start=1, end=self.head)
            return ReadTarget(file=self.path, encoding=self.encoding, lines=lines)
        if self.end_line is not None:
            lines = LinesToRead(start=self.start_line or 1, end=self.end_line)
            return ReadTarget(file=self.path, encoding=self.encoding, lines=lines)
        return ReadTarget(
            file=self.path,
            encoding=self.encoding,
            start_line=self.start_line,
            until=self.read_to_next_pattern,
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
            msg = "cursor requires one file, the one whose result has it as nextCursor"
            raise ValueError(msg)
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


def files_tools(engine: Engine) -> tuple[ToolDefinition, ...]:
    """The tools of this set, over `engine`."""
    return (
        ToolDefinition(
            name="read_files",
            title="Read files",
            description=_READ_FILES,
            input_schema=answers.request_schema(ReadFilesRequest),
            output_schema=flat_report_schema(ReadReport),
            writes=False,
            call=answers.with_valid_arguments(ReadReport, lambda arguments: _read_files(engine, arguments)),
        ),
        ToolDefinition(
            name="grep_content",
            title="Search files",
            description=_GREP_CONTENT,
            input_schema=answers.request_schema(GrepContentRequest),
            output_schema=flat_report_schema(SearchReport),
            writes=False,
            call=answers.with_valid_arguments(
                SearchReport, lambda arguments: _grep_content(engine, arguments)
            ),
        ),
    )


def _read_files(engine: Engine, arguments: Mapping[str, Any]) -> ToolResult:
    request = answers.read_arguments(ReadFilesRequest, arguments)
    if not isinstance(request, ReadFilesRequest):
        return _refused(refusal(ReadReport, request))
    too_large = () if request.large_file_passthrough else tuple(_too_large(engine, request))
    if too_large:
        return _refused(refusal(ReadReport, too_large))
    targets = tuple(file.to_target() for file in request.files)
    most = engine.settings.report_characters
    wanted = ReadRequest(targets=targets, max_characters=most, cursor=request.cursor)
    report = _without_empty_results(
        answers.read_within(engine, wanted, most, answers.larger_form_size(_laid_out))
    )
    if not any(result.content is not None for result in report.results):
        return _refused(report)
    answer = ToolResult(text=_laid_out(report), structured=to_wire(report), is_refusal=False)
    return answers.refused_if_too_long(answer, ReadReport, most, _refused)


def _without_empty_results(report: ReadReport) -> ReadReport:
    """`report`, where a file for whose text no room was left says so."""
    results = tuple(
        ReadResult(file=result.file, problem=_no_room(result.file))
        if result.truncated and not result.content
        else result
        for result in report.results
    )
    return replace(report, results=results)


def _no_room(file: str) -> Diagnostic:
    return Code.BATCH_TOO_LARGE.problem(
        f"the files before `{file}` fill the answer", "read it in a separate call", file=file
    )


def _too_large(engine: Engine, request: ReadFilesRequest) -> Iterator[Diagnostic]:
    """What stands for large JSON and YAML files that would be read whole."""
    for file in request.files:
        is_part = file.head or file.tail or file.start_line or file.end_line
        if is_part or not file.path.lower().endswith(_LARGE_KINDS):
            continue
        size = engine.stat(StatRequest(file=file.path, detail="brief", limit=1)).bytes or 0
        if size > _LARGE_BYTES:
            yield Code.FILE_TOO_LARGE.problem(
                f"`{visible(file.path)}` has {size} bytes of JSON or YAML",
                "read a part of it (head, start_line), or set large_file_passthrough: true",
                file=visible(file.path),
            )


def _laid_out(report: ReadReport) -> str:
    return visible("\n".join(_layout(result) for result in report.results))


def _layout(result: ReadResult) -> str:
    if result.problem is not None:
        return f"File: {result.file}\n{_RULE}\nError: {_problem_text(result.problem)}\n{_RULE}"
    content = (result.content or "").removesuffix("\n")
    head = f"File: {result.file}, Lines: {result.start_line}-{result.end_line} of {result.total_lines}"
    return f"{head}\n{_RULE}\n{content}\n{_RULE}{_cut(result) if result.truncated else ''}"


def _cut(result: ReadResult) -> str:
    last = result.end_line or 0
    if result.content and not result.content.endswith(("\n", "\r")):
        return f"\n(cut inside line {last}, which is too long: read on with cursor {result.next_cursor})"
    return f"\n(cut here: read on with start_line {last + 1}, or with cursor {result.next_cursor})"


def _grep_content(engine: Engine, arguments: Mapping[str, Any]) -> ToolResult:
    request = answers.read_arguments(GrepContentRequest, arguments)
    if not isinstance(request, GrepContentRequest):
        return _refused(refusal(SearchReport, request))
    report = engine.search(
        SearchRequest(
            pattern=request.pattern,
            file=request.search_path,
            encoding=request.encoding,
            match_type=MatchType.REGEX,
            case_sensitive=not request.case_insensitive,
            context=request.context_lines,
            limit=_MOST_MATCHES,
            section_patterns=request.section_patterns,
        ),
        report_progress,
    )
    if not report.ok:
        return _refused(report)
    most = engine.settings.report_characters
    report = answers.with_fewer_hits(report, most, answers.larger_form_size(_matches))
    answer = ToolResult(text=visible(_matches(report)), structured=to_wire(report), is_refusal=False)
    return answers.refused_if_too_long(answer, SearchReport, most, _refused)


def _matches(report: SearchReport) -> str:
    blocks = []
    for found in report.files:
        seen: set[int] = set()
        for hit in (hit for group in found.groups for hit in group.hits):
            if hit.line not in seen:  # A line is shown once, however often it matches.
                seen.add(hit.line)
                blocks.append(_match(found.file, hit))
    blocks = blocks or ["No matches found."]
    if report.truncated:
        blocks.append(f"({report.total_matches} matches in all; narrow the pattern or the path)")
    return "\n".join([*blocks, *(f"Error: {_problem_text(problem)}" for problem in report.warnings)])


def _match(file: str, hit: SearchHit) -> str:
    hint = (
        f", Section-End-Hint: {hit.section_end_hint} (next: {hit.section_pattern})"
        if hit.section_end_hint is not None
        else ""
    )
    lines = "\n".join((*(hit.before or ()), hit.text, *(hit.behind or ())))
    return f"File: {file}, Line: {hit.line}{hint}\n{_RULE}\n{lines}\n{_RULE}"


def _refused(report: ReadReport | SearchReport) -> ToolResult:
    text = "\n".join(f"Error: {_problem_text(problem)}" for problem in report.diagnostics)
    return ToolResult(text=visible(text), structured=to_wire(report), is_refusal=True)


def _problem_text(problem: Diagnostic) -> str:
    hint = OtherToolWords().text(problem.hint)
    return f"{problem.code}: {problem.message}" + (f"; {hint}" if hint else "")
