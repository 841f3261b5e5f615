"""Answers of the toolset `text`: the shapes of requirements 01 and 02, from reports of the engine."""

import json
from collections.abc import Sequence
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.surfaces.mcp_server.tool import Answer
from mdplan.text.lines import LineIndex
from mdplan.text.source import Source, visible

HASH_DIGITS: Final = 16
_AROUND: Final = 3
_MOST_PREVIEW: Final = 500
_MOST_SUGGESTIONS: Final = 5
_LOOK: Final = "Use TextInspect to see the structure of the document"


def answered(content: dict[str, Any]) -> Answer:
    """A success: the document's JSON, as data and as text."""
    return Answer(text=json.dumps(content, ensure_ascii=False), structured=content, is_refusal=False)


def failed(message: str, *suggestions: str) -> Answer:
    """A refusal: what is wrong, and what to do."""
    content = {"status": "error", "message": message, "suggestions": list(suggestions)}
    return Answer(text=json.dumps(content, ensure_ascii=False), structured=content, is_refusal=True)


def refused(problems: Problems) -> Answer:
    """The same for `problems` of the engine; candidates become suggestions."""
    suggestions = [suggestion for problem in problems for suggestion in _suggestions(problem)]
    if any(problem.code in _ABOUT_PLACES for problem in problems):
        suggestions.append(_LOOK)
    message = "; ".join(f"{problem.message} ({problem.code})" for problem in problems)
    return failed(message, *dict.fromkeys(suggestions))


_ABOUT_PLACES: Final = frozenset(
    {Code.SECTION_NOT_FOUND, Code.AMBIGUOUS_HEADING, Code.CODE_BLOCK_NOT_FOUND, Code.RANGE_OUT_OF_BOUNDS}
)


def _suggestions(problem: Diagnostic) -> list[str]:
    similar = [
        f"Similar heading found: '{' / '.join(each.heading_path)}' at line {each.start_line}"
        for each in problem.candidates[:_MOST_SUGGESTIONS]
        if each.heading_path
    ]
    # Hints name the tools of another set.
    hint = problem.hint.replace("md_stat", "TextInspect").replace("md_read", "TextRead")
    return [*similar, *([hint] if hint else [])]


def written(before: Source, after: Source, start: int, removed: int, added: int) -> dict[str, Any]:
    """What an edit did: lines `start` and on, `removed` of them in `before`, `added` in `after`.

    `affectedLines` are the new lines where there are some, else those that went.
    """
    old, new = before.lines, after.lines
    delta = new.count - old.count
    note = {"note": f"File now has {new.count} lines (was {old.count})"} if delta else {}
    count = added or removed
    return {
        "affectedLines": {"start": start, "end": start + max(count, 1) - 1},
        "linesChanged": removed,
        "linesDelta": delta,
        "preview": {"before": _preview(old, start, removed), "after": _preview(new, start, added)},
        "context": {
            "beforeLines": numbered(new, start - _AROUND, start - 1),
            "afterLines": numbered(new, start + added, start + added + _AROUND - 1),
        },
        "fileHash": after.sha256[:HASH_DIGITS],
        **note,
    }


def numbered(lines: LineIndex, first: int, last: int) -> list[dict[str, Any]]:
    """Lines `first` to `last` (inclusive), as far as they are there, with their numbers."""
    numbers = range(max(first, 1), min(last, lines.count) + 1)
    return [{"number": number, "text": visible(lines.content(number))} for number in numbers]


def _preview(lines: LineIndex, start: int, count: int) -> str:
    texts: Sequence[str] = [
        visible(lines.content(line)) for line in range(start, min(start + count, lines.count + 1))
    ]
    text = "\n".join(texts)
    return text if len(text) <= _MOST_PREVIEW else text[:_MOST_PREVIEW] + "…"
