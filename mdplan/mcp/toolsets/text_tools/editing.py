"""`TextPatch` (requirement 02): one edit at a place, planned and committed in one call."""

import re
from typing import Any, Final

from mdplan.engine.engine import Engine
from mdplan.markdown.format_detection import document_format
from mdplan.mcp.tool import ToolResult
from mdplan.mcp.toolsets.text_tools.text_requests import TextPatchRequest, target_of
from mdplan.mcp.toolsets.text_tools.text_results import (
    LineChangePreview,
    failure,
    refusal_result,
    success,
    target_text,
)
from mdplan.mcp.toolsets.text_tools.writing import WriteOutcome, expected_source, write
from mdplan.operations.base import LinesField
from mdplan.reports.plan import ApplyReport
from mdplan.reports.read import ReadResult
from mdplan.requests.read import ReadRequest, ReadTarget
from mdplan.text.line_end_view import to_lf
from mdplan.text.lines import LineIndex
from mdplan.text.source import DocumentFormat, Source

_ONE_TARGET: Final = "Give one of lines, heading, appendToSection, beforeHeading, codeBlock"
_INSERT_ONLY: Final = frozenset({"appendToSection", "beforeHeading"})
_HEADING: Final = re.compile(r"(#{1,6})[ \t]+")


def patch(engine: Engine, request: TextPatchRequest) -> ToolResult:
    """Replace, insert or delete at a place."""
    given = target_of(request.target)
    if given is None:
        return failure("target must have exactly one field", _ONE_TARGET)
    problem = _operation_problem(request, given[0])
    if problem is not None:
        return problem
    source = expected_source(engine, request)
    if isinstance(source, ToolResult):
        return source
    target = request.target.model_dump(by_alias=True, exclude_none=True)
    name = target_text(given[0], target[given[0]])
    edits = _edits(engine, request, source, name)
    if isinstance(edits, ToolResult):
        return edits
    done = write(engine, request, source, edits, name, keeps_outline=request.target.lines is None)
    if isinstance(done, ToolResult):
        return done
    return success(
        {
            "status": "success",
            "operation": request.operation,
            "filePath": request.file_path,
            "target": target,
            **done.to_json(_change(request, done)),
        }
    )


def _operation_problem(request: TextPatchRequest, target: str) -> ToolResult | None:
    if target in _INSERT_ONLY and request.operation != "insert":
        return failure(
            f"{target} requires operation insert", "Use target heading or lines to replace or delete"
        )
    if target == "codeBlock" and request.operation == "insert":
        return failure(
            "codeBlock requires operation replace or delete", "Use target lines to insert next to it"
        )
    if request.operation == "delete":
        return None if request.content is None else failure("content does not go with delete", "Leave it out")
    if not request.content:
        return failure(
            f"content must not be empty with operation {request.operation}",
            "Give the text to insert"
            if request.operation == "insert"
            else "Use operation delete to remove text",
        )
    return None


def _edits(
    engine: Engine, request: TextPatchRequest, source: Source, name: str
) -> list[dict[str, Any]] | ToolResult:
    """The edits that the request comes to; its place is called `name`."""
    target, content = request.target, request.content or ""
    if target.lines is not None:
        return [_edit_of_lines(source, target.lines, request)]
    if document_format(request.file_path, source.text) is not DocumentFormat.MARKDOWN:
        return failure(
            f"Target not found: {name}: the file is not Markdown", "Use TextReplace, or target lines"
        )
    if target.code_block is not None:
        block = {"codeBlock": {"index": target.code_block.index}}
        return [{"op": "replace_code_block", **block, "markdown": content}]
    if target.append_to_section is not None:
        place = {"heading": target.append_to_section, "extent": "subtree", "levels": "verbatim"}
        return [{"op": "append_to_section", **place, "markdown": content}]
    place_of = ReadTarget(
        file=request.file_path, encoding=request.encoding, heading=target.heading or target.before_heading
    )
    (found,) = engine.read(ReadRequest(targets=(place_of,))).results
    if found.problem is not None:
        return refusal_result((found.problem,), source, name)
    return _edits_at_heading(request, found)


def _edit_of_lines(source: Source, lines: LinesField, request: TextPatchRequest) -> dict[str, Any]:
    if request.operation == "delete":
        return {"op": "delete_lines", "lines": lines.model_dump()}
    content = request.content or ""
    if request.preserve_indent and lines.start <= source.lines.count:
        content = _indented(content, source.lines.content(lines.start))
    if request.operation == "insert":
        return {"op": "insert_lines", "line": lines.start, "position": "before", "markdown": content}
    return {"op": "replace_lines", "lines": lines.model_dump(), "markdown": content}


def _indented(content: str, first: str) -> str:
    """`content` with the indentation of the line `first`, unless it brings its own."""
    indentation = first[: len(first) - len(first.lstrip(" \t"))]
    if not indentation or content[:1] in {" ", "\t"}:
        return content
    return "\n".join(indentation + line if line.strip() else line for line in to_lf(content).split("\n"))


def _edits_at_heading(request: TextPatchRequest, found: ReadResult) -> list[dict[str, Any]]:
    """Edits of the heading line alone, or before it; what follows a new heading in `content` is below."""
    place, content = {"sectionId": found.section_id}, request.content or ""
    if request.target.before_heading is not None:
        if _HEADING.match(content.lstrip("\r\n")):
            around = {"position": "before", "levels": "verbatim"}
            return [{"op": "insert_section", **place, **around, "markdown": content}]
        text = to_lf(content).strip("\n") + "\n\n"
        return [{"op": "insert_lines", "line": found.start_line, "position": "before", "markdown": text}]
    if request.operation == "delete":
        return [{"op": "delete_section", **place, "part": "heading"}]
    below = {"op": "prepend_to_section", **place, "levels": "verbatim"}
    if request.operation == "insert":
        return [{**below, "markdown": content}]
    first, _, rest = to_lf(content).strip("\n").partition("\n")
    marks = _HEADING.match(first)
    title = first[marks.end() :] if marks else first
    # The level comes last: it may give the section another parent, and with that another ID.
    edits: list[dict[str, Any]] = [{**below, "markdown": rest}] if rest.strip() else []
    edits.append({"op": "rename_heading", **place, "newTitle": title})
    if marks and not (found.content or "").lstrip(" \t>").startswith(f"{marks[1]} "):
        level = {"level": len(marks[1]), "subsections": "keep"}
        edits.append({"op": "set_heading_level", **place, **level})
    return edits


def _change(request: TextPatchRequest, done: WriteOutcome) -> LineChangePreview:
    """The lines that the edit was about: those that were asked for, else those that are others now."""
    old, new = done.before.lines, done.after.lines
    lines, delta = request.target.lines, new.count - old.count
    if lines is not None:
        removed = 0 if request.operation == "insert" else lines.end - lines.start + 1
        return LineChangePreview(
            start=lines.start, removed=removed, new_start=lines.start, added=removed + delta
        )
    if not done.report.applied:
        places = [place for result in done.report.edit_results for place in result.ranges]
        start = min(place.start.line for place in places)
        count = max(place.end.line - (place.end.col == 1) for place in places) - start + 1
        return LineChangePreview(start=start, removed=max(count, 0), new_start=start, added=max(count, 0))
    return _without_blank_edges(_changed(done.report, old, new), new)


def _changed(report: ApplyReport, old: LineIndex, new: LineIndex) -> LineChangePreview:
    """From the first line that is not as it was to the last."""
    kept = report.written[0].line_map if report.written else ()
    above = kept[0].end_line if kept and (kept[0].start_line, kept[0].shift) == (1, 0) else 0
    is_end_kept = bool(kept) and kept[-1].end_line == old.count and old.count + kept[-1].shift == new.count
    below = old.count - max(kept[-1].start_line - 1, above) if is_end_kept else 0
    # What is written need not differ in its last lines.
    while min(old.count, new.count) > above + below and _is_same(
        old, old.count - below, new, new.count - below
    ):
        below += 1
    return LineChangePreview(
        start=above + 1,
        removed=old.count - above - below,
        new_start=above + 1,
        added=new.count - above - below,
    )


def _is_same(old: LineIndex, old_line: int, new: LineIndex, new_line: int) -> bool:
    return old.content(old_line) == new.content(new_line)


def _without_blank_edges(change: LineChangePreview, new: LineIndex) -> LineChangePreview:
    """An insertion without the blank lines that keep it apart from its neighbours."""
    first, last = change.new_start, change.new_start + change.added - 1
    if change.removed:
        return change
    while first < last and not new.content(first).strip():
        first += 1
    while first < last and not new.content(last).strip():
        last -= 1
    return LineChangePreview(start=change.start, removed=0, new_start=first, added=last - first + 1)
