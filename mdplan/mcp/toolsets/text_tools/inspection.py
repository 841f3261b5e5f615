"""`TextInspect` and `TextRead` (requirement 01): structure, matches, lines, and parts of a file."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mdplan.diagnostics import Diagnostic
from mdplan.engine.engine import Engine
from mdplan.mcp.answers.answer_size import either_size, first_hits, fitted, hit_count, read_within
from mdplan.mcp.answers.short_report import size_of
from mdplan.mcp.tool import ToolResult
from mdplan.mcp.toolsets.text_tools.text_requests import InspectRequest, TextReadRequest, target_of
from mdplan.mcp.toolsets.text_tools.text_results import (
    HASH_DIGITS,
    escape_notice,
    failure,
    numbered,
    refusal_result,
    success,
    target_text,
)
from mdplan.reading.read import read_text
from mdplan.reports.read import SearchGroup, SearchReport
from mdplan.reports.stat import SectionEntry, StatReport
from mdplan.requests.queries import StatRequest
from mdplan.requests.read import CodeBlockName, LinesToRead, ReadTarget
from mdplan.requests.read import ReadRequest as EngineRequest
from mdplan.requests.search import SearchRequest
from mdplan.text.pattern import MatchType
from mdplan.text.source import DocumentFormat, Source
from mdplan.text.visible import escape_for_message

_EVERYTHING: Final = 1_000_000
_MOST_MATCHES: Final = 200
_MOST_LINES: Final = 2_000
_MOST_ENTRIES: Final = 300
_MOST_MARKERS: Final = 20
_LINES: Final = re.compile(r"([1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?")
_KILOBYTE: Final = 1024
_ONE_TARGET: Final = "Give one of lines, heading, codeBlock, anchor, section, search"
_MOST_READ: Final = 1_000_000
_MOST_QUOTED: Final = 60
_NARROW: Final = "Narrow the query: only the first matches are listed"
_SUGGESTION: Final = "Use TextInspect to find specific subsections, or target by line range"


def inspect(engine: Engine, request: InspectRequest) -> ToolResult:
    """Structure, matches or lines, as `mode` says."""
    if request.mode == "structure":
        return _structure(engine, request)
    if request.query is None:
        return failure(
            f"query is required in {request.mode} mode",
            "Give what to find" if request.mode == "search" else "Give ranges of lines, such as 50-60",
        )
    return _search(engine, request) if request.mode == "search" else _lines(engine, request)


def _structure(engine: Engine, request: InspectRequest) -> ToolResult:
    report = engine.stat(
        StatRequest(file=request.file_path, encoding=request.encoding, detail="full", limit=_EVERYTHING)
    )
    if not report.ok or report.base_sha256 is None:
        return refusal_result(report.diagnostics)
    is_markdown = report.format == DocumentFormat.MARKDOWN
    size = report.bytes or 0
    front, lists = report.front_matter, _of_markdown(report) if is_markdown else _of_text(report)
    facts = {
        "filePath": request.file_path,
        "totalLines": report.total_lines,
        "fileSize": f"{round(size / _KILOBYTE)}KB" if size >= _KILOBYTE else f"{size}B",
        "format": "markdown" if is_markdown else "text",
        "fileHash": report.base_sha256[:HASH_DIGITS],
    }

    def content(most_entries: int) -> dict[str, Any]:
        listed: dict[str, Any] = {name: entries[:most_entries] for name, entries in lists.items()}
        if is_markdown:
            listed["headings"] = _nested(listed["headings"])
        if front is not None:
            lines = {"startLine": front.start_line, "endLine": front.end_line}
            listed = {"frontmatter": {**lines, "keys": list(front.keys or ())[:most_entries]}, **listed}
        return {**facts, "structure": listed, **_truncation_notice(lists, most_entries)}

    return success(fitted(content, _MOST_ENTRIES, engine.settings.report_characters))


def _truncation_notice(lists: Mapping[str, Sequence[Any]], listed: int) -> dict[str, Any]:
    """Fields that say which lists of a document were cut to `listed` entries."""
    cut = [f"{len(entries)} {name}" for name, entries in lists.items() if len(entries) > listed]
    if not cut:
        return {}
    notice = f"The document has {', '.join(cut)}: the first {listed} are listed"
    return {"truncated": True, "suggestion": f"{notice}. Find the others with mode search"}


def _of_markdown(report: StatReport) -> dict[str, list[Any]]:
    """The inventory of a document by field name; headings are still section entries."""
    return {
        "headings": [section for section in report.sections if section.level and not section.nested],
        "codeBlocks": [
            {"language": each.language or "", "startLine": each.start_line, "endLine": each.end_line}
            for each in report.code_blocks or ()
            if each.fenced
        ],
        "anchors": [{"id": each.id, "line": each.line} for each in report.anchors or ()],
    }


def _nested(sections: Sequence[SectionEntry]) -> list[dict[str, Any]]:
    """Headings, each with those of deeper levels that follow it as its children."""
    top: list[dict[str, Any]] = []
    open_headings: list[dict[str, Any]] = []
    for section in sections:
        text = section.heading_path[-1] if section.heading_path else section.title
        heading = {"level": section.level, "text": text, "line": section.start_line}
        while open_headings and open_headings[-1]["level"] >= section.level:
            open_headings.pop()
        siblings = open_headings[-1].setdefault("children", []) if open_headings else top
        siblings.append(heading)
        open_headings.append(heading)
    return top


def _of_text(report: StatReport) -> dict[str, list[Any]]:
    marked = [
        {"marker": f"[{each.name}]", "line": each.start_line}
        for each in report.ini_sections or ()
        if each.name
    ]
    marked += [{"marker": each.marker, "line": each.start_line} for each in report.text_sections or ()]
    return {
        "sections": marked,
        "blankLineGroups": [each.start for each in report.blank_line_groups or ()],
        "commentBlocks": [
            {"startLine": each.start_line, "endLine": each.end_line, "prefix": each.prefix}
            for each in report.comment_blocks or ()
        ],
    }


def _search(engine: Engine, request: InspectRequest) -> ToolResult:
    report = engine.search(
        SearchRequest(
            pattern=request.query or "",
            file=request.file_path,
            encoding=request.encoding,
            match_type=MatchType.REGEX if request.regex else MatchType.LITERAL,
            context=request.context,
            limit=_MOST_MATCHES,
        )
    )
    if not report.ok:
        return refusal_result(report.diagnostics)
    content = fitted(
        lambda count: _found(first_hits(report, count), request),
        hit_count(report),
        engine.settings.report_characters,
    )
    source = engine.source(request.file_path, request.encoding)
    if isinstance(source, Source):
        content |= escape_notice(source, *_texts(content["matches"]))
    return success(content)


def _texts(matches: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for match in matches:
        around = match.get("context", {"before": (), "after": ()})
        yield from (*around["before"], match["text"], *around["after"])


def _found(report: SearchReport, request: InspectRequest) -> dict[str, Any]:
    """The hits of `report`."""
    matches: list[dict[str, Any]] = []
    for group in (group for found in report.files for group in found.groups):
        for hit in group.hits:
            around = {"context": {"before": list(hit.before or ()), "after": list(hit.behind or ())}}
            matches.append(
                {
                    "line": hit.line,
                    "column": hit.col,
                    "text": hit.text,
                    **(around if request.context else {}),
                    **_nearest_heading(group),
                }
            )
    return {
        "filePath": request.file_path,
        "query": request.query,
        "matches": matches,
        "totalMatches": report.total_matches,
        **({"truncated": True, "suggestion": _NARROW} if report.truncated else {}),
    }


def _nearest_heading(group: SearchGroup) -> dict[str, Any]:
    if not group.level:
        return {}
    heading = {"level": group.level, "text": group.heading_path[-1], "line": group.start_line}
    return {"nearestHeading": heading}


def _lines(engine: Engine, request: InspectRequest) -> ToolResult:
    source = engine.source(request.file_path, request.encoding)
    if not isinstance(source, Source):
        return refusal_result((source,))
    lines: list[dict[str, Any]] = []
    for part in (request.query or "").split(","):
        found = _LINES.fullmatch(part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if last < first:
            return failure(
                f"{_quoted(part.strip())} is not a range of lines", 'Write "50-60" or "1-10,100-110"'
            )
        if first > source.lines.count:
            return failure(f"Line {first} is not in the file", f"The file has {source.lines.count} lines")
        lines += numbered(source.lines, first, min(last, first + _MOST_LINES))
        if len(lines) > _MOST_LINES or size_of(lines) > engine.settings.report_characters:
            return failure("The lines that are asked for are too many", "Ask for fewer, or use TextRead")
    content = {"filePath": request.file_path, "query": request.query, "lines": lines}
    return success({**content, **escape_notice(source, *(line["text"] for line in lines))})


def _quoted(text: str) -> str:
    return f"'{text[:_MOST_QUOTED]}…'" if len(text) > _MOST_QUOTED else f"'{text}'"


def read(engine: Engine, request: TextReadRequest) -> ToolResult:
    """The text of one place."""
    given = target_of(request.target)
    if given is None:
        return failure("target must have exactly one field", _ONE_TARGET)
    source = engine.source(request.file_path, request.encoding)
    if isinstance(source, Diagnostic):
        return refusal_result((source,))
    place = _place(engine, request)
    if isinstance(place, ToolResult):
        return place
    target = request.target.model_dump(by_alias=True, exclude_none=True, exclude_unset=True)
    most = engine.settings.report_characters
    (result,) = read_within(engine, EngineRequest(targets=(place,)), most, either_size(read_text)).results
    if result.problem is not None:
        return refusal_result((result.problem,), source, target_text(given[0], target[given[0]]))
    first, last = result.start_line or 0, result.end_line or 0
    end = _end(engine, place) if result.truncated else last
    rest = {
        "totalLines": end - first + 1,
        "suggestion": f"{_SUGGESTION}: lines {last + 1}-{end} are omitted",
    }
    return success(
        {
            "filePath": request.file_path,
            "target": target,
            "range": {"startLine": first, "endLine": end},
            "content": result.content,
            "truncated": bool(result.truncated),
            **(rest if result.truncated else {}),
            "fileHash": (result.base_sha256 or "")[:HASH_DIGITS],
            **_notes(request, source, result.content or ""),
        }
    )


def _notes(request: TextReadRequest, source: Source, shown: str) -> dict[str, Any]:
    """Notes on the text that is `shown`: it ends early, or contains escaped bytes."""
    fields, lines = escape_notice(source, shown), request.target.lines
    if lines is not None and lines.end > source.lines.count:
        early = f"The file ends at line {source.lines.count}"
        fields["note"] = f"{early}. {fields['note']}" if fields else early
    return fields


def _end(engine: Engine, place: ReadTarget) -> int:
    """The last line of a place that is too long to be shown."""
    whole = EngineRequest(targets=(place,), max_characters=_MOST_READ)
    (part,) = engine.read(whole).results
    while part.next_cursor is not None:
        (part,) = engine.read(replace(whole, cursor=part.next_cursor)).results
    return part.end_line or 0


def _place(engine: Engine, request: TextReadRequest) -> ReadTarget | ToolResult:
    target, file = request.target, ReadTarget(file=request.file_path, encoding=request.encoding)
    if target.heading is not None:
        return replace(file, heading=target.heading.text, subsections=target.heading.include_children)
    if target.code_block is not None:
        return replace(file, code_block=CodeBlockName(index=target.code_block.index))
    if target.anchor is not None:
        return replace(file, anchor=target.anchor, subsections=False)
    if target.search is not None:
        return replace(file, match=target.search.query, context=target.search.context_lines)
    if target.section is not None:
        return _marked(engine, file, target.section)
    lines = None if target.lines is None else LinesToRead(start=target.lines.start, end=target.lines.end)
    return replace(file, lines=lines)


def _marked(engine: Engine, file: ReadTarget, marker: str) -> ReadTarget | ToolResult:
    """The section of a file that is no Markdown, from its marker line to the next one."""
    report = engine.stat(
        StatRequest(file=file.file, encoding=file.encoding, detail="full", limit=_EVERYTHING)
    )
    if not report.ok:
        return refusal_result(report.diagnostics)
    wanted = marker.strip().removeprefix("[").removesuffix("]")
    found = [(each.name, each.start_line, each.end_line) for each in report.ini_sections or ()]
    found += [(each.marker[1:-1], each.start_line, each.end_line) for each in report.text_sections or ()]
    for name, first, last in found:
        if name == wanted:
            return replace(file, lines=LinesToRead(start=first, end=last))
    markers = ", ".join(
        f"[{escape_for_message(name)}] at line {first}" for name, first, _ in found[:_MOST_MARKERS] if name
    )
    return failure(
        f"Target not found: {target_text('section', marker)}",
        f"Sections of the file: {markers}" if markers else "The file has no sections by markers",
    )
