"""`TextReplace` (requirement 02): a text in place of another that is found, in one call."""

from collections.abc import Sequence
from typing import Final

from mdplan.engine.engine import Engine
from mdplan.markdown.tables import NodeKind
from mdplan.mcp.tool import ToolResult
from mdplan.mcp.toolsets.text_tools.text_requests import ReplaceRequest
from mdplan.mcp.toolsets.text_tools.text_results import LineChangePreview, failure, success
from mdplan.mcp.toolsets.text_tools.writing import expected_source, write
from mdplan.text.line_end_view import LineEndView, to_lf
from mdplan.text.lines import LineIndex, Span
from mdplan.text.pattern import Pattern
from mdplan.text.source import Source

_MOST_LISTED: Final = 20


def replace(engine: Engine, request: ReplaceRequest) -> ToolResult:
    """Put a text in place of another that is found."""
    source = expected_source(engine, request)
    if isinstance(source, ToolResult):
        return source
    seconds = engine.settings.pattern_seconds
    found = _found(source, request.old_text, seconds)
    if not found:
        return _not_found(source, request.old_text, seconds)
    chosen = _chosen(request.occurrence, len(found))
    if isinstance(chosen, ToolResult):
        return chosen
    edit = {
        "op": "replace_match",
        "pattern": request.old_text,
        "replacement": request.new_text,
        "include": [kind.value for kind in NodeKind],
        "matchSelection": chosen,
        "expectedMatchCount": len(found),
    }
    done = write(engine, request, source, [edit])
    if isinstance(done, ToolResult):
        return done
    replaced = found if chosen == "all" else [found[int(chosen) - 1]]
    touched = _touched(source, replaced, to_lf(request.new_text))
    start, end = touched[0][0], touched[-1][1]
    delta = done.after.lines.count - source.lines.count
    facts = done.to_json(
        LineChangePreview(
            start=start, removed=end - start + 1, new_start=start, added=end - start + 1 + delta
        )
    )
    if done.report.applied:
        facts["linesChanged"] = sum(last - first + 1 for first, last in touched)
    # Where there are others, only one was replaced: those after it moved with the lines that it brought.
    grown = to_lf(request.new_text).count("\n") - to_lf(request.old_text).count("\n")
    others = [
        source.lines.line_at(span.start) + (grown if span.start > replaced[0].start else 0)
        for span in found
        if span not in set(replaced)
    ]
    if others:
        facts["note"] = ". ".join([_note(others), *([facts["note"]] if "note" in facts else [])])
    return success(
        {
            "status": "success",
            "filePath": request.file_path,
            "occurrencesFound": len(found),
            "occurrencesReplaced": len(replaced),
            **facts,
        }
    )


def _found(source: Source, text: str, seconds: float, *, case_sensitive: bool = True) -> list[Span]:
    """Where `text` is, from left to right, as far as it is found within `seconds`."""
    view = LineEndView(source.text, source.lines)
    pattern = Pattern(text=to_lf(text), case_sensitive=case_sensitive)
    found = pattern.find(view.text, Span(0, len(view.text)), seconds)
    return [view.span_in_text(match.span) for match in found] if isinstance(found, tuple) else []


def _not_found(source: Source, text: str, seconds: float) -> ToolResult:
    found = _found(source, text, seconds, case_sensitive=False)
    message = "Text not found: oldText is nowhere in the file"
    if found:
        line = source.lines.line_at(found[0].start)
        return failure(message, f"It is there in other case at line {line}: copy it from the file")
    return failure(message, "Use TextInspect or TextRead to get the exact text, with blanks and line breaks")


def _chosen(occurrence: str, found: int) -> str | ToolResult:
    """`matchSelection` for an occurrence out of `found` ones."""
    number = {"first": "1", "last": str(found), "all": "all"}.get(occurrence, occurrence)
    if number != "all" and int(number) > found:
        times = "once" if found == 1 else f"{found} times"
        return failure(f"Occurrence {number} is not there: oldText occurs {times} in the file", _USE)
    return number


_USE: Final = "Use first, last, all, or a number up to that"


def _touched(source: Source, spans: Sequence[Span], new_text: str) -> list[tuple[int, int]]:
    """First and last of the lines that `spans` lie in, in order and without overlaps.

    Where a line end goes and `new_text` brings none, the line after is joined and belongs to them.
    """
    lines, touched = source.lines, list[tuple[int, int]]()
    for span in spans:
        first, last = lines.line_at(span.start), lines.line_at(max(span.end - 1, span.start))
        if _joins(source, lines, span, new_text):
            last = min(last + 1, lines.count)
        if touched and first <= touched[-1][1]:
            first, last = touched[-1][0], max(last, touched[-1][1])
            touched.pop()
        touched.append((first, last))
    return touched


def _joins(source: Source, lines: LineIndex, span: Span, new_text: str) -> bool:
    rest = source.text[lines.start(lines.line_at(span.start)) : span.start] + new_text
    return source.text[span.end - 1 : span.end] in {"\n", "\r"} and bool(rest) and not rest.endswith("\n")


def _note(others: Sequence[int]) -> str:
    listed = ", ".join(map(str, others[:_MOST_LISTED])) + (", …" if len(others) > _MOST_LISTED else "")
    if len(others) == 1:
        return f"1 other occurrence found at line {listed}"
    return f"{len(others)} other occurrences found at lines {listed}"
