"""The toolset `text`: inspect, read, patch and replace parts of text and Markdown files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from mdplan.diagnostics import Code, Diagnostic, Severity
from mdplan.engine.engine import Engine
from mdplan.markdown.format_detection import document_format
from mdplan.markdown.tables import NodeKind
from mdplan.mcp import answers, text_requests
from mdplan.mcp.text_requests import LineChange, escape_notice, failure, refusal, success, target_text
from mdplan.mcp.tool import ToolDefinition, ToolResult
from mdplan.operations.base import LinesField
from mdplan.reports.base import to_wire
from mdplan.reports.plan import ApplyReport
from mdplan.reports.read import ReadResult, SearchReport
from mdplan.reports.stat import SectionEntry, StatReport
from mdplan.requests.queries import StatRequest
from mdplan.requests.read import CodeBlockName, LinesToRead, ReadRequest, ReadTarget
from mdplan.requests.search import SearchRequest
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineEndView, Span, common_edges, text_range, to_lf
from mdplan.text.pattern import MatchType, Pattern
from mdplan.text.source import SHOWN_BYTE, DocumentFormat, Source
from mdplan.text.visible import shortened
from mdplan.values import Struct, replace

_WRITING: Final = frozenset({"TextPatch", "TextReplace"})

_INSPECT: Final = """\
Structure of a text or Markdown file, without its content: headings, code blocks, anchors, front matter; \
of other text sections, comments and blank lines. mode search finds text or a regex with its nearest \
heading, mode lines shows ranges of lines. Use it before TextRead and TextPatch.

Examples: {"filePath": "a.md"}; {"filePath": "a.md", "mode": "search", "query": "TODO:.*", "regex": true}; \
{"filePath": "a.md", "mode": "lines", "query": "50-60"}"""

_READ: Final = """\
Text of one place of a file. target is one of: lines {start, end}, 1-based and inclusive; heading {text, \
includeChildren}; codeBlock {index} from 0; anchor "id", to the next heading; section "[marker]" of an INI \
or text file; search {query, contextLines} around the first match. Headings are steadier than line numbers.

Example: {"filePath": "a.md", "target": {"heading": {"text": "Install"}}}"""

_PATCH: Final = """\
Replace, insert or delete at a place. target is one of: lines {start, end}, 1-based and inclusive (insert \
goes before them); heading "## Title" (the heading line: content replaces all of it, marks included; \
insert goes below it); \
appendToSection "## Title" (insert at the end of the section); beforeHeading "## Title" (insert before it); \
codeBlock {index} (its code). For text within lines use TextReplace. Line numbers shift after an edit.

Example: {"filePath": "a.md", "operation": "insert", "target": {"appendToSection": "## Install"}, \
"content": "Restart it."}"""

_REPLACE: Final = """\
Replace exact text in a file: the first choice for edits within lines. oldText may span lines; take it \
from TextInspect or TextRead. occurrence says which one: first, last, all, or a number.

Example: {"filePath": "a.md", "oldText": "teh quick", "newText": "the quick"}"""


def make_tools(engine: Engine) -> tuple[ToolDefinition, ...]:
    """Return the tools of this set for `engine`."""
    rows: tuple[tuple[str, str, str, type[Any], Callable[[Engine, Any], ToolResult]], ...] = (
        ("TextInspect", "Inspect a file", _INSPECT, text_requests.InspectRequest, inspect),
        ("TextRead", "Read a part of a file", _READ, text_requests.TextReadRequest, read),
        ("TextPatch", "Patch a file", _PATCH, text_requests.TextPatchRequest, patch),
        ("TextReplace", "Replace text in a file", _REPLACE, text_requests.ReplaceRequest, replace_text),
    )
    return tuple(
        answers.request_tool(
            model,
            partial(run, engine),
            lambda problems: refusal(problems).answer,
            name=name,
            title=title,
            description=description,
            writes=name in _WRITING,
            # The same text may be at several places, and may be inserted twice.
            may_be_repeated=name not in _WRITING,
        )
        for name, title, description, model, run in rows
    )


# --- TextInspect and TextRead

_EVERYTHING: Final = 1_000_000
_MOST_MATCHES: Final = 200
_MOST_LINES: Final = 2_000
_MOST_ENTRIES: Final = 300
_MOST_MARKERS: Final = 20
_LINES: Final = lazy_pattern(r"([1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?")
_KILOBYTE: Final = 1024
_ONE_INSPECTED: Final = "Give one of lines, heading, codeBlock, anchor, section, search"
_MOST_READ: Final = 1_000_000
_MOST_QUOTED: Final = 60
_NARROW: Final = "Narrow the query: only the first matches are listed"
_SUGGESTION: Final = "Use TextInspect to find specific subsections, or target by line range"


def inspect(engine: Engine, request: text_requests.InspectRequest) -> ToolResult:
    """Structure, matches or lines, as `mode` says."""
    if request.mode == "structure":
        return _structure(engine, request)
    if request.query is None:
        raise failure(
            f"query is required in {request.mode} mode",
            "Give what to find" if request.mode == "search" else "Give ranges of lines, such as 50-60",
        )
    return _search(engine, request) if request.mode == "search" else _lines(engine, request)


def _structure(engine: Engine, request: text_requests.InspectRequest) -> ToolResult:
    report = engine.stat(
        StatRequest(file=request.file_path, encoding=request.encoding, detail="full", limit=_EVERYTHING)
    )
    if not report.ok or report.base_sha256 is None:
        raise refusal(report.diagnostics)
    is_markdown = report.format == DocumentFormat.MARKDOWN
    size = report.bytes or 0
    front, lists = report.front_matter, _of_markdown(report) if is_markdown else _of_text(report)
    facts = {
        "filePath": request.file_path,
        "totalLines": report.total_lines,
        "fileSize": f"{round(size / _KILOBYTE)}KB" if size >= _KILOBYTE else f"{size}B",
        "format": "markdown" if is_markdown else "text",
        "fileHash": report.base_sha256[: text_requests.HASH_DIGITS],
    }

    def content(most_entries: int) -> dict[str, Any]:
        listed: dict[str, Any] = {name: entries[:most_entries] for name, entries in lists.items()}
        if is_markdown:
            listed["headings"] = _nested(listed["headings"])
        if front is not None:
            lines = {"startLine": front.start_line, "endLine": front.end_line}
            listed = {"frontmatter": {**lines, "keys": list(front.keys or ())[:most_entries]}, **listed}
        return {**facts, "structure": listed, **_truncation_notice(lists, most_entries)}

    return success(answers.fit_to_size(content, _MOST_ENTRIES, engine.settings.report_characters))


def _truncation_notice(lists: Mapping[str, Sequence[Any]], listed: int) -> dict[str, Any]:
    """Fields that say which lists of a document were cut to `listed` entries."""
    cut = [f"{len(entries)} {name}" for name, entries in lists.items() if len(entries) > listed]
    if not cut:
        return {}
    notice = f"The document has {', '.join(cut)}: the first {listed} are listed"
    return {"truncated": True, "suggestion": f"{notice}. Find the others with mode search"}


def _of_markdown(report: StatReport) -> dict[str, list[Any]]:
    """Return the inventory of a document by field name; headings are still section entries."""
    fenced = [each for each in report.code_blocks or () if each.fenced]
    return {
        "headings": [section for section in report.sections if section.level and not section.nested],
        "codeBlocks": _picked(fenced, "language", "startLine", "endLine"),
        "anchors": _picked(report.anchors, "id", "line"),
    }


def _picked(entries: Sequence[Any] | None, *names: str) -> list[dict[str, Any]]:
    """Return these fields of `entries`, by wire name."""
    return [{name: entry.get(name, "") for name in names} for entry in to_wire(entries or ())]


def _nested(sections: Sequence[SectionEntry]) -> list[dict[str, Any]]:
    """Return headings as a tree: deeper headings that follow are children."""
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
    marked = [(f"[{each.name}]", each.start_line) for each in report.ini_sections or () if each.name]
    marked += [(each.marker, each.start_line) for each in report.text_sections or ()]
    return {
        "sections": [{"marker": marker, "line": line} for marker, line in marked],
        "blankLineGroups": [each.start for each in report.blank_line_groups or ()],
        "commentBlocks": _picked(report.comment_blocks, "startLine", "endLine", "prefix"),
    }


def _search(engine: Engine, request: text_requests.InspectRequest) -> ToolResult:
    wanted = SearchRequest(
        pattern=request.query or "",
        file=request.file_path,
        encoding=request.encoding,
        match_type=MatchType.REGEX if request.regex else MatchType.LITERAL,
        context=request.context,
        limit=_MOST_MATCHES,
    )
    most = engine.settings.report_characters
    report = answers.search_within(engine, wanted, most, lambda made: answers.size_of(_hits(made, request)))
    if not report.ok:
        raise refusal(report.diagnostics)
    content = _hits(report, request)
    source = _source(engine, request)
    content |= escape_notice(source, *_texts(content["matches"]))
    if report.warnings:
        content |= text_requests.inexact(
            text_requests.TextToolWords().text(report.warnings[0].hint), report.warnings[0].message
        )
    return success(content)


def _texts(matches: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for match in matches:
        around = match.get("context", {"before": (), "after": ()})
        yield from (*around["before"], match["text"], *around["after"])


def _hits(report: SearchReport, request: text_requests.InspectRequest) -> dict[str, Any]:
    """Return the hits of `report`."""
    matches: list[dict[str, Any]] = []
    for group in (group for found in report.files for group in found.groups):
        for hit in group.hits:
            around = {"context": {"before": list(hit.before or ()), "after": list(hit.behind or ())}}
            path = group.heading_path
            heading = {"level": group.level, "text": path[-1] if path else "", "line": group.start_line}
            matches.append(
                {
                    "line": hit.line,
                    "column": hit.col,
                    "text": hit.text,
                    **(around if request.context else {}),
                    **({"nearestHeading": heading} if group.level else {}),
                }
            )
    return {
        "filePath": request.file_path,
        "query": request.query,
        "matches": matches,
        "totalMatches": report.total_matches,
        **({"truncated": True, "suggestion": _NARROW} if report.truncated else {}),
    }


def _lines(engine: Engine, request: text_requests.InspectRequest) -> ToolResult:
    source = _source(engine, request)
    lines: list[dict[str, Any]] = []
    clipped = False
    for part in (request.query or "").split(","):
        found = _LINES.fullmatch(part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if last < first:
            raise failure(
                f"{_quoted(part.strip())} is not a range of lines", 'Write "50-60" or "1-10,100-110"'
            )
        if first > source.lines.count:
            raise failure(f"Line {first} is not in the file", f"The file has {source.lines.count} lines")
        clipped |= last > source.lines.count
        lines += text_requests.numbered(source.lines, first, min(last, first + _MOST_LINES))
        if len(lines) > _MOST_LINES or answers.size_of(lines) > engine.settings.report_characters:
            raise failure("The lines that are asked for are too many", "Ask for fewer, or use TextRead")
    content = {"filePath": request.file_path, "query": request.query, "lines": lines}
    content |= {"suggestion": f"The file has {source.lines.count} lines"} if clipped else {}
    return success({**content, **escape_notice(source, *(line["text"] for line in lines))})


def _quoted(text: str) -> str:
    return f"'{text[:_MOST_QUOTED]}…'" if len(text) > _MOST_QUOTED else f"'{text}'"


def read(engine: Engine, request: text_requests.TextReadRequest) -> ToolResult:
    """Read the text of a place."""
    given = text_requests.target_of(request.target)
    if given is None:
        raise failure("target must have exactly one field", _ONE_INSPECTED)
    source = _source(engine, request)
    place = _place(engine, request)
    target = request.target.model_dump(by_alias=True, exclude_none=True, exclude_unset=True)
    most = engine.settings.report_characters
    (result,) = answers.read_within(
        engine, ReadRequest(targets=(place,)), most, lambda report: answers.size_of(to_wire(report))
    ).results
    if result.problem is not None:
        raise refusal((result.problem,), source, target_text(given[0], target[given[0]]))
    first, last = result.start_line or 0, result.end_line or 0
    end = _end(engine, place) if result.truncated else last
    rest = {"totalLines": end - first + 1, "suggestion": f"{_SUGGESTION}: lines {last + 1}-{end} are omitted"}
    return success(
        {
            "filePath": request.file_path,
            "target": target,
            "range": {"startLine": first, "endLine": end},
            "content": result.content,
            "truncated": bool(result.truncated),
            **(rest if result.truncated else {}),
            "fileHash": (result.base_sha256 or "")[: text_requests.HASH_DIGITS],
            **_notes(request, source, result.content or ""),
        }
    )


def _notes(request: text_requests.TextReadRequest, source: Source, shown: str) -> dict[str, Any]:
    """Notes on the text that is `shown`: it ends early, or contains escaped bytes."""
    fields, lines = escape_notice(source, shown), request.target.lines
    if lines is not None and lines.end > source.lines.count:
        early = f"The file ends at line {source.lines.count}"
        fields["note"] = f"{early}. {fields['note']}" if fields else early
    return fields


def _end(engine: Engine, place: ReadTarget) -> int:
    """Return the last line of a place that is too long to show."""
    whole = ReadRequest(targets=(place,), max_characters=_MOST_READ)
    (part,) = engine.read(whole).results
    while part.next_cursor is not None:
        (part,) = engine.read(replace(whole, cursor=part.next_cursor)).results
    return part.end_line or 0


def _place(engine: Engine, request: text_requests.TextReadRequest) -> ReadTarget:
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


def _marked(engine: Engine, file: ReadTarget, marker: str) -> ReadTarget:
    """Return the section of a file other than Markdown, from its marker line to the next marker."""
    report = engine.stat(
        StatRequest(file=file.file, encoding=file.encoding, detail="full", limit=_EVERYTHING)
    )
    if not report.ok:
        raise refusal(report.diagnostics)
    wanted = marker.strip().removeprefix("[").removesuffix("]")
    found = [(each.name, each.start_line, each.end_line) for each in report.ini_sections or ()]
    found += [(each.marker[1:-1], each.start_line, each.end_line) for each in report.text_sections or ()]
    for name, first, last in found:
        if name == wanted:
            return replace(file, lines=LinesToRead(start=first, end=last))
    markers = ", ".join(
        f"[{shortened(name)}] at line {first}" for name, first, _ in found[:_MOST_MARKERS] if name
    )
    raise failure(
        f"Target not found: {target_text('section', marker)}",
        f"Sections of the file: {markers}" if markers else "The file has no sections by markers",
    )


# --- TextPatch

_ONE_EDITED: Final = "Give one of lines, heading, appendToSection, beforeHeading, codeBlock"
_INSERT_ONLY: Final = frozenset({"appendToSection", "beforeHeading"})
_HEADING: Final = lazy_pattern(r"(#{1,6})[ \t]+")
_UNDERLINE: Final = lazy_pattern(r"[ >]*(?:=+|-+)[ \t\r]*")


def patch(engine: Engine, request: text_requests.TextPatchRequest) -> ToolResult:
    """Replace, insert or delete at a place."""
    given = text_requests.target_of(request.target)
    if given is None:
        raise failure("target must have exactly one field", _ONE_EDITED)
    _check_operation(request, given[0])
    source = expected_source(engine, request)
    target = request.target.model_dump(by_alias=True, exclude_none=True)
    name = target_text(given[0], target[given[0]])
    edits = _edits(engine, request, source, name)
    done = write(engine, request, source, edits, name, keeps_outline=request.target.lines is None)
    return success(
        {
            "status": "success",
            "operation": request.operation,
            "filePath": request.file_path,
            "target": target,
            **done.to_json(_change(request, done)),
        }
    )


def _check_operation(request: text_requests.TextPatchRequest, target: str) -> None:
    """Refuse an operation that does not suit the target or the content."""
    operation, content = request.operation, request.content
    if target in _INSERT_ONLY and operation != "insert":
        raise failure(
            f"{target} requires operation insert", "Use target heading or lines to replace or delete"
        )
    if target == "codeBlock" and operation == "insert":
        raise failure(
            "codeBlock requires operation replace or delete", "Use target lines to insert next to it"
        )
    if operation == "delete" and content is not None:
        raise failure("content does not go with delete", "Leave it out")
    if operation != "delete" and not content:
        hint = "Give the text to insert" if operation == "insert" else "Use operation delete to remove text"
        raise failure(f"content must not be empty with operation {operation}", hint)


def _edits(
    engine: Engine, request: text_requests.TextPatchRequest, source: Source, name: str
) -> list[dict[str, Any]]:
    """Return the edits for the request; its place is called `name`."""
    target, content = request.target, request.content or ""
    if target.lines is not None:
        return [_edit_of_lines(source, target.lines, request)]
    if document_format(request.file_path, source.text) is not DocumentFormat.MARKDOWN:
        raise failure(
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
        raise refusal((found.problem,), source, name)
    return _edits_at_heading(request, found)


def _edit_of_lines(
    source: Source, lines: LinesField, request: text_requests.TextPatchRequest
) -> dict[str, Any]:
    if request.operation == "delete":
        return {"op": "delete_lines", "lines": lines.model_dump()}
    content = request.content or ""
    if request.preserve_indent and lines.start <= source.lines.count:
        content = _indented(content, source.lines.content(lines.start))
    if request.operation == "insert":
        return {"op": "insert_lines", "line": lines.start, "position": "before", "markdown": content}
    return {"op": "replace_lines", "lines": lines.model_dump(), "markdown": content}


def _indented(content: str, first: str) -> str:
    """Return `content` with the indentation of the line `first`, unless it has its own."""
    indentation = first[: len(first) - len(first.lstrip(" \t"))]
    if not indentation or content[:1] in {" ", "\t"}:
        return content
    return "\n".join(indentation + line if line.strip() else line for line in to_lf(content).split("\n"))


def _edits_at_heading(request: text_requests.TextPatchRequest, found: ReadResult) -> list[dict[str, Any]]:
    """Return edits of or before the heading line; text after a new heading in `content` goes below it."""
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
    marks, old = _HEADING.match(first), (found.content or "").split("\n")
    if marks is None:
        # A heading above a line of `=` or `-` has at least two lines.
        underline = next((number for number, line in enumerate(old) if _UNDERLINE.fullmatch(line)), 0)
        extra = 0 if _HEADING.match(old[0].lstrip(" \t>")) else underline
        lines = {"start": found.start_line, "end": (found.start_line or 1) + extra}
        return [{"op": "replace_lines", "lines": lines, "markdown": to_lf(content).strip("\n")}]
    title = first[marks.end() :]
    # The level comes last: it may give the section another parent, and with that another ID.
    edits: list[dict[str, Any]] = [{**below, "markdown": rest}] if rest.strip() else []
    edits.append({"op": "rename_heading", **place, "newTitle": title})
    if not old[0].lstrip(" \t>").startswith(f"{marks[1]} "):
        level = {"level": len(marks[1]), "subsections": "keep"}
        edits.append({"op": "set_heading_level", **place, **level})
    return edits


class WriteOutcome(Struct, kw_only=True):
    """One edit of a file that was committed: the file as it was and as it is, and what is to be warned of."""

    before: Source
    after: Source
    report: ApplyReport
    warnings: tuple[str, ...]

    def to_json(self, change: LineChange) -> dict[str, Any]:
        """Return the fields of every answer about an edit; `change` is its place."""
        facts = text_requests.write_result(self.before, self.after, change)
        if not self.report.applied:
            facts |= {"linesChanged": 0, "note": "Nothing changed: the text is there already"}
        return {**facts, **({"warnings": list(self.warnings)} if self.warnings else {})}


def _change(request: text_requests.TextPatchRequest, done: WriteOutcome) -> LineChange:
    """Return the lines of the edit: the requested ones, or those that changed."""
    old, new = done.before.lines, done.after.lines
    lines, delta = request.target.lines, new.count - old.count
    if lines is not None:
        removed = 0 if request.operation == "insert" else lines.end - lines.start + 1
        return LineChange(lines.start, removed, lines.start, removed + delta)
    if not done.report.applied:
        places = [place for result in done.report.edit_results for place in result.ranges]
        start = min(place.start.line for place in places)
        count = max(place.end.line - (place.end.col == 1) for place in places) - start + 1
        return LineChange(start, max(count, 0), start, max(count, 0))
    texts = [[each.content(line) for line in range(1, each.count + 1)] for each in (old, new)]
    above, below = common_edges(*texts)
    removed, added = old.count - above - below, new.count - above - below
    # Blank lines separate an insertion from its neighbours.
    within = text_range(texts[1][above : above + added]) if not removed else range(added)
    return LineChange(above + 1, removed, above + 1 + within.start, len(within))


# --- TextReplace

_MOST_LISTED: Final = 20


def replace_text(engine: Engine, request: text_requests.ReplaceRequest) -> ToolResult:
    """Put a text in place of another that is found."""
    source = expected_source(engine, request)
    seconds = engine.settings.pattern_seconds
    found = _spans_of(source, request.old_text, seconds)
    if not found:
        raise _not_found(source, request.old_text, seconds)
    chosen = _chosen(request.occurrence, len(found))
    edit = {
        "op": "replace_match",
        "pattern": request.old_text,
        "replacement": request.new_text,
        "include": [kind.value for kind in NodeKind],
        "matchSelection": chosen,
        "expectedMatchCount": len(found),
        "softBreaks": False,
    }
    done = write(engine, request, source, [edit])
    replaced = found if chosen == "all" else [found[int(chosen) - 1]]
    touched = _touched(source, replaced, to_lf(request.new_text))
    start, end = min(touched), max(touched)
    delta = done.after.lines.count - source.lines.count
    facts = done.to_json(LineChange(start, end - start + 1, start, end - start + 1 + delta))
    if done.report.applied:
        facts["linesChanged"] = len(touched)
    # If there are others, only one was replaced: later ones moved with the lines it added.
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


def _spans_of(source: Source, text: str, seconds: float, *, case_sensitive: bool = True) -> list[Span]:
    """Return the places of `text`, from left to right, as far as found within `seconds`."""
    view = LineEndView(source.text, source.lines)
    pattern = Pattern(text=to_lf(text), case_sensitive=case_sensitive)
    found = pattern.find(view.text, Span(0, len(view.text)), seconds)
    return [view.span_in_text(match.span) for match in found] if isinstance(found, tuple) else []


def _not_found(source: Source, text: str, seconds: float) -> answers.RefusedCall:
    found = _spans_of(source, text, seconds, case_sensitive=False)
    message = "Text not found: oldText is nowhere in the file"
    if source.invalid_bytes and SHOWN_BYTE.search(text):
        return failure(message, text_requests.ESCAPED)
    if found:
        line = source.lines.line_at(found[0].start)
        return failure(message, f"It is there in other case at line {line}: copy it from the file")
    return failure(message, "Use TextInspect or TextRead to get the exact text, with blanks and line breaks")


def _chosen(occurrence: str, found: int) -> str:
    """Return `matchSelection` for an occurrence out of `found` ones."""
    number = {"first": "1", "last": str(found), "all": "all"}.get(occurrence, occurrence)
    if number != "all" and int(number) > found:
        times = "once" if found == 1 else f"{found} times"
        raise failure(f"Occurrence {number} is not there: oldText occurs {times} in the file", _USE)
    return number


_USE: Final = "Use first, last, all, or a number up to that"


def _touched(source: Source, spans: Sequence[Span], new_text: str) -> set[int]:
    """Return the numbers of the lines of `spans`.

    If a line end is deleted and `new_text` has none, the next line is joined and included.
    """
    lines, touched = source.lines, set[int]()
    for span in spans:
        first, last = lines.line_at(span.start), lines.line_at(max(span.end - 1, span.start))
        rest = source.text[lines.start(first) : span.start] + new_text
        ends_line = source.text[span.end - 1 : span.end] in {"\n", "\r"}
        last += ends_line and bool(rest) and not rest.endswith("\n")
        touched.update(range(first, min(last, lines.count) + 1))
    return touched


def _note(others: Sequence[int]) -> str:
    listed = ", ".join(map(str, others[:_MOST_LISTED])) + (", …" if len(others) > _MOST_LISTED else "")
    if len(others) == 1:
        return f"1 other occurrence found at line {listed}"
    return f"{len(others)} other occurrences found at lines {listed}"


# --- What TextPatch and TextReplace share: the guard, the commit, and its report

EditRequest: TypeAlias = text_requests.TextPatchRequest | text_requests.ReplaceRequest
_OUTLINE: Final = frozenset({Code.OUTLINE_CHANGED, Code.DUPLICATE_HEADING})
_ANY_OUTLINE: Final = {"allowOutlineChange": True, "allowDuplicateHeadings": True}


def _source(engine: Engine, request: text_requests.FileRequest) -> Source:
    """Return the file of `request`."""
    source = engine.source(request.file_path, request.encoding)
    if isinstance(source, Diagnostic):
        raise refusal((source,))
    return source


def expected_source(engine: Engine, request: EditRequest) -> Source:
    """Return the file of `request`, if it still has the `expected_hash`."""
    expected_hash = request.expected_hash
    source = _source(engine, request)
    if expected_hash is not None and not source.sha256.startswith(expected_hash.lower()):
        current = source.sha256[: text_requests.HASH_DIGITS]
        raise failure(
            f"The file has changed: its hash is now {current}, not {expected_hash}",
            text_requests.INSPECT_AGAIN,
        )
    return source


def write(
    engine: Engine,
    request: EditRequest,
    before: Source,
    edits: Sequence[Mapping[str, Any]],
    target: str = "",
    *,
    keeps_outline: bool = False,
) -> WriteOutcome:
    """Commit `edits` of the file of `request` as it was read; the caller named their place as `target`.

    With `keeps_outline` an edit that changes headings outside its text is refused; without, it is made
    and warned of: it says which text it means, not which section.
    """
    encoding = {} if request.encoding is None else {"encoding": request.encoding}
    pin = {"file": request.file_path, "baseSha256": before.sha256, **encoding}
    batch = {**pin, "sequential": True, "backup": request.backup, "edits": list(edits)}
    report = engine.write(batch)
    errors = [problem for problem in report.diagnostics if problem.severity is Severity.ERROR]
    if not report.ok and not keeps_outline and {problem.code for problem in errors} <= _OUTLINE:
        report = engine.write({**batch, **_ANY_OUTLINE})
    else:
        errors = []
    if not report.ok:
        raise refusal(report.diagnostics, before, target)
    after = engine.source(request.file_path, request.encoding)
    if isinstance(after, Diagnostic):
        raise failure("The edit was written, but the file cannot be read any more", after.message)
    warnings = (f"{problem.code}: {problem.message}" for problem in (*report.warnings, *errors))
    return WriteOutcome(before=before, after=after, report=report, warnings=tuple(dict.fromkeys(warnings)))
