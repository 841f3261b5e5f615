"""Answers of the toolset `text`: the shapes of requirements 01 and 02, from reports of the engine."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from mdplan.diagnostics import Candidate, Code, Diagnostic, Problems
from mdplan.mcp.strict_requests import hint_of
from mdplan.mcp.tool import ToolResult
from mdplan.text.lines import LineIndex
from mdplan.text.source import SHOWN_BYTE, Source, visible

HASH_DIGITS: Final = 16
_AROUND: Final = 3
_MOST_OF_A_LINE: Final = 300
_MOST_PREVIEW: Final = 500
_MOST_SUGGESTIONS: Final = 5
_MOST_OF_A_TARGET: Final = 200
_ESCAPED: Final = (
    "Bytes that are not UTF-8 are shown as \\xNN: give encoding, such as latin-1, to read and write them"
)
_INSPECT_HINT: Final = "Use TextInspect to see the structure of the document"
_INSPECT_AGAIN_HINT: Final = "Use TextInspect or TextRead to see it again, then edit with the new fileHash"
_ABOUT_PLACES: Final = frozenset(
    {
        Code.SECTION_NOT_FOUND,
        Code.AMBIGUOUS_HEADING,
        Code.ANCHOR_NOT_FOUND,
        Code.CODE_BLOCK_NOT_FOUND,
        Code.RANGE_OUT_OF_BOUNDS,
        Code.TEXT_MISMATCH,
    }
)
# What the hints of some problems advise, this toolset does in another way.
_ADVICE: Final = {
    Code.STALE_BASE: _INSPECT_AGAIN_HINT,
    Code.SECTION_NOT_FOUND: "Use TextInspect to see all headings in the document",
    Code.AMBIGUOUS_HEADING: "Target one of them by lines",
    Code.TEXT_MISMATCH: "Use TextInspect with mode search to find it",
    Code.OUTLINE_CHANGED: "Close every fence, comment and tag that the text opens, or target lines",
    Code.DUPLICATE_HEADING: "Use another heading, edit the section that is there, or insert by lines",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChangePreview:
    """Lines of a file that an edit put in place of others.

    `removed` lines from `start` on are now the `added` lines from `new_start` on; 1-based.
    """

    start: int
    removed: int
    new_start: int
    added: int


def success(content: dict[str, Any]) -> ToolResult:
    """A success: the document's JSON, as data and as text."""
    return ToolResult(text=json.dumps(content, ensure_ascii=False), structured=content, is_refusal=False)


def escape_notice(source: Source, *shown: str) -> dict[str, Any]:
    """Fields that say that some of the `shown` text of `source` is bytes that are not UTF-8, escaped."""
    if source.is_exact or not any(SHOWN_BYTE.search(text) for text in shown):
        return {}
    return {"contentExact": False, "note": _ESCAPED}


def failure(message: str, *suggestions: str) -> ToolResult:
    """A refusal: what is wrong, and what to do."""
    content = {"status": "error", "message": visible(message), "suggestions": [*map(visible, suggestions)]}
    return ToolResult(text=json.dumps(content, ensure_ascii=False), structured=content, is_refusal=True)


def refusal_result(problems: Problems, source: Source | None = None, target: str = "") -> ToolResult:
    """A refusal for `problems` of the engine; the caller named the place of `source` as `target`."""
    messages = dict.fromkeys(_message(problem, target) for problem in problems)
    suggestions = dict.fromkeys(each for problem in problems for each in _suggestions(problem, source))
    return failure("; ".join(messages), *suggestions)


def target_text(name: str, value: object) -> str:
    """A target as messages name it: ``heading '## Install'``, ``lines 5-8``, ``codeBlock 2``."""
    if isinstance(value, dict):
        return (
            f"{name} {'-'.join(map(str, value.values()))}"
            if "end" in value
            else target_text(name, next(iter(value.values())))
        )
    if isinstance(value, str):
        value = f"'{value}'" if len(value) <= _MOST_OF_A_TARGET else f"'{value[:_MOST_OF_A_TARGET]}…'"
    return f"{name} {value}"


def _message(problem: Diagnostic, target: str) -> str:
    if problem.code is Code.AMBIGUOUS_HEADING and target:
        return f"Several headings match: {target}"
    if problem.code in _ABOUT_PLACES and target:
        return f"Target not found: {target}"
    return f"{problem.message} ({problem.code})"


def _suggestions(problem: Diagnostic, source: Source | None) -> Iterator[str]:
    listed = [each for each in problem.candidates if each.heading_path][:_MOST_SUGGESTIONS]
    yield from (_similar(problem.code, each, source) for each in listed)
    if problem.code in _ADVICE:
        yield _ADVICE[problem.code]
        return
    if hint_of(problem) and not listed:
        yield hint_of(problem)
    if problem.code in _ABOUT_PLACES:
        yield _INSPECT_HINT


def _similar(code: Code, candidate: Candidate, source: Source | None) -> str:
    """A candidate, with its heading as it is written."""
    line = candidate.start_line
    heading = candidate.heading_path[-1] if source is None else source.lines.content(line).strip()
    if code is Code.AMBIGUOUS_HEADING:
        return f"'{heading}' is at lines {line}-{candidate.end_line}: {' / '.join(candidate.heading_path)}"
    return f"Similar heading found: '{heading}' at line {line}"


def write_result(before: Source, after: Source, change: LineChangePreview) -> dict[str, Any]:
    """What an edit did.

    `affectedLines` are the lines that were replaced or deleted, by their old numbers; of an insertion, which
    has none, the new lines. `context` is what is around the change now.
    """
    old, new = before.lines, after.lines
    affected = (change.start, change.removed) if change.removed else (change.new_start, change.added)
    delta, behind = new.count - old.count, change.new_start + change.added
    return {
        "affectedLines": {"start": affected[0], "end": affected[0] + max(affected[1], 1) - 1},
        "linesChanged": change.removed,
        "linesDelta": delta,
        "preview": {
            "before": _preview(old, change.start, change.removed),
            "after": _preview(new, change.new_start, change.added),
        },
        "context": {
            "beforeLines": _around(new, change.new_start - _AROUND, change.new_start - 1),
            "afterLines": _around(new, behind, behind + _AROUND - 1),
        },
        "fileHash": after.sha256[:HASH_DIGITS],
        **({"note": f"File now has {new.count} lines (was {old.count})"} if delta else {}),
    }


def numbered(lines: LineIndex, first: int, last: int) -> list[dict[str, Any]]:
    """Lines `first` to `last` (inclusive), as far as they are there, with their numbers."""
    numbers = range(max(first, 1), min(last, lines.count) + 1)
    return [{"number": number, "text": visible(lines.content(number))} for number in numbers]


def _around(lines: LineIndex, first: int, last: int) -> list[dict[str, Any]]:
    """Numbered lines `first` to `last`, with long lines cut."""
    return [{**line, "text": _cut(line["text"], _MOST_OF_A_LINE)} for line in numbered(lines, first, last)]


def _preview(lines: LineIndex, start: int, count: int) -> str:
    first, last = start, min(start + count - 1, lines.count, start + _MOST_PREVIEW)
    return _cut("\n".join(lines.content(line) for line in range(first, last + 1)), _MOST_PREVIEW)


def _cut(text: str, most: int) -> str:
    text = visible(text)
    return text if len(text) <= most else text[:most] + "…"
