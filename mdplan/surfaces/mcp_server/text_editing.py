"""`TextPatch` and `TextReplace` (requirement 02): each is one edit, planned and committed in one call."""

import re
from typing import Any, Final

from mdplan.engine import Engine
from mdplan.markdown.matches import NodeKind
from mdplan.operation import LinesField
from mdplan.reading.read_request import ReadRequest, ReadTarget
from mdplan.report import ApplyReport
from mdplan.surfaces.mcp_server.text_answers import HASH_DIGITS, answered, failed, refused, written
from mdplan.surfaces.mcp_server.text_requests import PatchRequest, ReplaceRequest, target_of
from mdplan.surfaces.mcp_server.tool import Answer
from mdplan.text.line_end_view import LineEndView, to_lf
from mdplan.text.pattern import Pattern
from mdplan.text.source import Source
from mdplan.text.span import Span

_ONE_TARGET: Final = "Give one of lines, heading, appendToSection, beforeHeading, codeBlock"
_INSERT_ONLY: Final = frozenset({"appendToSection", "beforeHeading"})
_HEADING: Final = re.compile(r"(#{1,6})[ \t]+")
_MOST_LISTED: Final = 20


def patch(engine: Engine, request: PatchRequest) -> Answer:
    """Replace, insert or delete at a place."""
    target = target_of(request.target)
    if target is None:
        return failed("target must have exactly one field", _ONE_TARGET)
    problem = _operation_problem(request, target[0])
    if problem is not None:
        return problem
    source = _read(engine, request.file_path, request.expected_hash)
    if isinstance(source, Answer):
        return source
    edits = _edits(engine, source, request)
    if isinstance(edits, Answer):
        return edits
    report = engine.write({"file": request.file_path, "baseSha256": source.sha256, "edits": edits})
    if not report.ok:
        return refused(report.diagnostics)
    facts = _facts(engine, request.file_path, source, report)
    return answered(
        {
            "status": "success",
            "operation": request.operation,
            "filePath": request.file_path,
            "target": request.target.model_dump(by_alias=True, exclude_none=True),
            **facts,
        }
    )


def replace(engine: Engine, request: ReplaceRequest) -> Answer:
    """Put a text in place of another that is found."""
    source = _read(engine, request.file_path, request.expected_hash)
    if isinstance(source, Answer):
        return source
    lines = _found_at(source, request.old_text)
    if not lines:
        return _not_found(source, request.old_text)
    chosen = _chosen(request.occurrence, len(lines))
    if isinstance(chosen, Answer):
        return chosen
    edit = {
        "op": "replace_match",
        "pattern": request.old_text,
        "replacement": request.new_text,
        "include": [kind.value for kind in NodeKind],
        "matchSelection": chosen,
        "expectedMatchCount": len(lines),
    }
    report = engine.write({"file": request.file_path, "baseSha256": source.sha256, "edits": [edit]})
    if not report.ok:
        return refused(report.diagnostics)
    facts = _facts(engine, request.file_path, source, report)
    if chosen != "all" and len(lines) > 1:
        others = [line for number, line in enumerate(lines, start=1) if str(number) != chosen]
        listed = ", ".join(map(str, others[:_MOST_LISTED])) + (", …" if len(others) > _MOST_LISTED else "")
        noun = "occurrence" if len(others) == 1 else "occurrences"
        note = f"{len(others)} other {noun} found at lines {listed}"
        facts["note"] = f"{note}. {facts['note']}" if "note" in facts else note
    return answered(
        {
            "status": "success",
            "filePath": request.file_path,
            "occurrencesFound": len(lines),
            "occurrencesReplaced": len(lines) if chosen == "all" else 1,
            **facts,
        }
    )


def _operation_problem(request: PatchRequest, target: str) -> Answer | None:
    if target in _INSERT_ONLY and request.operation != "insert":
        return failed(
            f"{target} goes with operation insert", "Use target heading or lines to replace or delete"
        )
    if target == "codeBlock" and request.operation == "insert":
        return failed(
            "codeBlock goes with operation replace or delete", "Use target lines to insert beside it"
        )
    if request.operation == "delete":
        return None if request.content is None else failed("content does not go with delete", "Leave it out")
    if not request.content:
        return failed("content must not be empty", "Use operation delete to remove text")
    return None


def _edits(engine: Engine, source: Source, request: PatchRequest) -> list[dict[str, Any]] | Answer:
    """The edits that the request comes to: one, but for a heading that changes with its level or text."""
    target, content = request.target, request.content or ""
    if target.lines is not None:
        return [_edit_of_lines(source, target.lines, request)]
    if target.code_block is not None:
        block = {"codeBlock": {"index": target.code_block.index}}
        return [{"op": "replace_code_block", **block, "markdown": content}]
    if target.append_to_section is not None:
        place = {"heading": target.append_to_section, "extent": "subtree", "levels": "verbatim"}
        return [{"op": "append_to_section", **place, "markdown": content}]
    if target.before_heading is not None:
        return _edits_before(engine, request.file_path, target.before_heading, content)
    return _edits_of_heading(target.heading or "", request.operation, content)


def _edit_of_lines(source: Source, lines: LinesField, request: PatchRequest) -> dict[str, Any]:
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


def _edits_of_heading(heading: str, operation: str, content: str) -> list[dict[str, Any]]:
    """Edits of the heading line alone; what is inserted there, or follows it in `content`, stands below."""
    place = {"heading": heading}
    if operation == "delete":
        return [{"op": "delete_section", **place, "part": "heading"}]
    below = {"op": "prepend_to_section", **place, "levels": "verbatim"}
    if operation == "insert":
        return [{**below, "markdown": content}]
    first, _, rest = to_lf(content).strip("\n").partition("\n")
    marks = _HEADING.match(first)
    title = first[marks.end() :] if marks else first
    edits: list[dict[str, Any]] = [{"op": "rename_heading", **place, "newTitle": title}]
    if marks and not heading.startswith(f"{marks[1]} "):
        edits.append({"op": "set_heading_level", **place, "level": len(marks[1]), "subsections": "keep"})
    return [*edits, *([{**below, "markdown": rest}] if rest.strip() else [])]


def _edits_before(engine: Engine, file: str, heading: str, content: str) -> list[dict[str, Any]] | Answer:
    if _HEADING.match(content.lstrip("\r\n")):
        place = {"heading": heading, "position": "before", "levels": "verbatim"}
        return [{"op": "insert_section", **place, "markdown": content}]
    (found,) = engine.read(ReadRequest(targets=(ReadTarget(file=file, heading=heading),))).results
    if found.problem is not None:
        return refused((found.problem,))
    text = to_lf(content).strip("\n") + "\n\n"
    return [{"op": "insert_lines", "line": found.start_line, "position": "before", "markdown": text}]


def _read(engine: Engine, file: str, expected_hash: str | None) -> Source | Answer:
    """The file, if it is still the one of `expected_hash`."""
    source = engine.source(file)
    if not isinstance(source, Source):
        return refused((source,))
    if expected_hash is not None and not source.sha256.startswith(expected_hash.lower()):
        return failed(
            f"The file has changed: its hash is now {source.sha256[:HASH_DIGITS]}, not {expected_hash}",
            "Use TextInspect or TextRead to see it again, then edit with the new fileHash",
        )
    return source


def _facts(engine: Engine, file: str, before: Source, report: ApplyReport) -> dict[str, Any]:
    """Where the lines went, from what was committed."""
    after = engine.source(file)
    if not isinstance(after, Source) or not report.applied:
        return {
            "note": "Nothing changed: the text stands there already",
            "fileHash": before.sha256[:HASH_DIGITS],
        }
    start, removed, added = _changed_lines(before, after)
    warnings = [f"{warning.code}: {warning.message}" for warning in report.warnings]
    return {**written(before, after, start, removed, added), **({"warnings": warnings} if warnings else {})}


def _changed_lines(before: Source, after: Source) -> tuple[int, int, int]:
    """First changed line, and how many lines from there differ, in both versions."""
    old, new = before.lines, after.lines
    shortest = min(old.count, new.count)
    same = 0
    while same < shortest and old.content(same + 1) == new.content(same + 1):
        same += 1
    tail = 0
    while tail < shortest - same and old.content(old.count - tail) == new.content(new.count - tail):
        tail += 1
    return same + 1, old.count - same - tail, new.count - same - tail


def _found_at(source: Source, text: str, *, case_sensitive: bool = True) -> list[int]:
    """Lines at which `text` begins, in order."""
    view = LineEndView(source.text, source.lines)
    pattern = Pattern(text=to_lf(text), case_sensitive=case_sensitive)
    found = pattern.find(view.text, Span(0, len(view.text)))
    if not isinstance(found, tuple):
        return []
    return [source.lines.line_at(view.span_in_text(match.span).start) for match in found]


def _not_found(source: Source, text: str) -> Answer:
    lines = _found_at(source, text, case_sensitive=False)
    message = "Text not found: oldText stands nowhere in the file"
    if lines:
        return failed(message, f"It is there in other case at line {lines[0]}: copy it from the file")
    return failed(message, "Use TextInspect or TextRead to get the exact text, with blanks and line breaks")


def _chosen(occurrence: str, found: int) -> str | Answer:
    """`matchSelection` for an occurrence out of `found` ones."""
    number = {"first": "1", "last": str(found), "all": "all"}.get(occurrence, occurrence)
    if number != "all" and int(number) > found:
        return failed(
            f"Occurrence {number} is not there: oldText stands {found} times in the file", f"Use 1 to {found}"
        )
    return number
