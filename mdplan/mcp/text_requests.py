"""Requests and answers of the toolset `text`."""

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from mdplan.diagnostics import Candidate, Code, Diagnostic, Problems
from mdplan.mcp.answers import MOST_PATH, NULLABLE, RefusedCall, Request
from mdplan.mcp.tool import ToolResult
from mdplan.operations.base import Count, LinesField
from mdplan.text.lines import LineIndex
from mdplan.text.source import SHOWN_BYTE, Source, visible
from mdplan.values import Struct
from mdplan.words import OtherToolWords

_FILE_PATH: Final = Field(min_length=1, max_length=MOST_PATH, description="Path of the file, inside a root.")

_HASH: Final = Field(
    default=None,
    pattern=r"^[0-9a-fA-F]{16,64}$",
    description="fileHash of an answer before: refuse if the file has changed since.",
    json_schema_extra={NULLABLE: True},
)

_ENCODING: Final = Field(
    default=None, min_length=1, description="Encoding of a file that is not UTF-8: latin-1, shift_jis."
)

_BACKUP: Final = Field(default=False, description="Keep the old file as FILE.bak.")

# Targets that TextPatch had, and what does the same now.
SUCCESSORS: Final = {
    "afterHeading": "appendToSection, which inserts at the end of the section",
    "text": "TextReplace with oldText and newText",
    "pattern": "TextInspect with mode search and regex, then TextReplace with the text that it finds",
    "section": "TextRead with target section for the lines, then TextReplace with the line of the key",
    "anchor": "TextRead with target anchor for the lines, then target lines",
}


class _TextRequest(Request):
    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True, allow_inf_nan=False
    )


class FileRequest(_TextRequest):
    """Arguments about one file."""

    file_path: str = _FILE_PATH
    encoding: str | None = _ENCODING


class InspectRequest(FileRequest):
    """Arguments of `TextInspect`."""

    mode: Literal["structure", "search", "lines"] = Field(default="structure", description="What to show.")
    query: str | None = Field(
        default=None, min_length=1, description='search: what to find; lines: "50-60" or "1-10,100-110".'
    )
    regex: bool = Field(default=False, description="search: query is a regular expression.")
    context: Annotated[int, Field(strict=True, ge=0, le=50)] = Field(
        default=0, description="search: lines to show on both sides of a match."
    )


class HeadingTarget(_TextRequest):
    """A section, with or without its subsections. TextPatch also accepts only its heading."""

    text: str = Field(min_length=1)
    include_children: bool = True

    @model_validator(mode="before")
    @classmethod
    def _take_text(cls, data: object) -> object:
        return {"text": data} if isinstance(data, str) else data


class BlockTarget(_TextRequest):
    """A fenced code block by its number, from 0."""

    index: Count


class SearchTarget(_TextRequest):
    """The lines around the first match of a text."""

    query: str = Field(min_length=1)
    context_lines: Annotated[int, Field(strict=True, ge=0, le=1_000)] = 10


class ReadTargetFields(_TextRequest):
    """The place to read: exactly one of these."""

    lines: LinesField | None = None
    heading: HeadingTarget | None = None
    code_block: BlockTarget | None = None
    anchor: str | None = Field(default=None, min_length=1)
    section: str | None = Field(default=None, min_length=1)
    search: SearchTarget | None = None


class TextReadRequest(FileRequest):
    """Arguments of `TextRead`."""

    target: ReadTargetFields = Field(description="Exactly one of its fields.")


def _text_of(value: object) -> object:
    """Return the heading, also from the form of TextRead."""
    return value["text"] if isinstance(value, dict) and value.keys() == {"text"} else value


_Heading = Annotated[str, Field(min_length=1), BeforeValidator(_text_of)]


class PatchTarget(_TextRequest):
    """The place to edit: exactly one of these."""

    lines: LinesField | None = None
    heading: _Heading | None = None
    append_to_section: _Heading | None = None
    before_heading: _Heading | None = None
    code_block: BlockTarget | None = None


class TextPatchRequest(FileRequest):
    """Arguments of `TextPatch`."""

    operation: Literal["replace", "insert", "delete"] = Field(description="What to do there.")
    target: PatchTarget = Field(description="Exactly one of its fields.")
    content: str | None = Field(default=None, description="New text; not for delete.")
    preserve_indent: bool = Field(default=True, description="lines: indent content as the first line is.")
    expected_hash: str | None = _HASH
    backup: bool = _BACKUP

    @model_validator(mode="before")
    @classmethod
    def _name_successors(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Refuse an operation or target that was removed."""
        if data.get("operation") == "replaceLines":
            raise failure("Operation replaceLines was removed", "Use operation replace with target lines")
        target = data.get("target")
        names = [name for name in SUCCESSORS if isinstance(target, dict) and name in target]
        if names:
            suggestions = (f"Use {SUCCESSORS[name]}" for name in names)
            raise failure(f"Target {', '.join(names)} was removed from TextPatch", *suggestions)
        return data


def _digits(value: object) -> object:
    """Return a number as text."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class ReplaceRequest(FileRequest):
    """Arguments of `TextReplace`."""

    old_text: str = Field(min_length=1, description="Exact text to find; may span lines.")
    new_text: str = Field(description="The new text; may be empty.")
    occurrence: Annotated[str, BeforeValidator(_digits)] = Field(
        default="first",
        pattern=r"^(first|last|all|[1-9][0-9]{0,8})$",
        description='first, last, all, or a number such as "2".',
    )
    expected_hash: str | None = _HASH
    backup: bool = _BACKUP


def target_of(fields: Request) -> tuple[str, Any] | None:
    """Return the wire name and value of the only given field of a target; None unless there is one."""
    given = [(to_camel(name), getattr(fields, name)) for name in type(fields).model_fields]
    found = [(name, value) for name, value in given if value is not None]
    return found[0] if len(found) == 1 else None


# --- Answers, made of reports of the engine

HASH_DIGITS: Final = 16
_AROUND: Final = 3
_MOST_OF_A_LINE: Final = 300
_MOST_PREVIEW: Final = 500
_MOST_SUGGESTIONS: Final = 5
_MOST_OF_A_TARGET: Final = 200

ESCAPED: Final = (
    "Bytes that are not UTF-8 are shown as \\xNN: give encoding, such as latin-1, to read and write them"
)

_INSPECT_HINT: Final = "Use TextInspect to see all headings in the document"
INSPECT_AGAIN: Final = "Use TextInspect or TextRead to see it again, then edit with the new fileHash"

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


class TextToolWords(OtherToolWords):
    """The words of an agent that calls the tools of this toolset."""

    tools: ClassVar[Mapping[str, str]] = {
        "stat": "TextInspect",
        "ids": "TextInspect",
        "anchors": "TextInspect",
        "read": "TextRead",
        "search": "TextInspect with mode search",
    }

    def field(self, name: str, value: object) -> None:
        """Return None: the tools have other fields."""
        del name, value

    def step(self, verb: str, **arguments: str) -> str | None:  # type: ignore[override]
        """Return the tool that does it, if one does."""
        del arguments
        return self.tools.get(verb)


class LineChange(Struct):
    """Lines of a file that an edit put in place of others.

    `removed` lines from `start` on are now the `added` lines from `new_start` on; 1-based.
    """

    start: int
    removed: int
    new_start: int
    added: int


def success(content: dict[str, Any]) -> ToolResult:
    """Return a success: the document's JSON, as data and as text."""
    return ToolResult(text=json.dumps(content, ensure_ascii=False), structured=content, is_refusal=False)


def escape_notice(source: Source, *shown: str) -> dict[str, Any]:
    """Fields that say that some of the `shown` text of `source` is bytes that are not UTF-8, escaped."""
    if source.is_exact or not any(SHOWN_BYTE.search(text) for text in shown):
        return {}
    return inexact(ESCAPED)


def inexact(*notes: str) -> dict[str, Any]:
    """Fields that say why an answer is not all that the file has, or not as it has it."""
    return {"contentExact": False, "note": ": ".join(reversed(notes))}


def failure(message: str, *suggestions: str) -> RefusedCall:
    """Return a refusal to raise: the problem and the next step."""
    content = {"status": "error", "message": visible(message), "suggestions": [*map(visible, suggestions)]}
    text = json.dumps(content, ensure_ascii=False)
    return RefusedCall(ToolResult(text=text, structured=content, is_refusal=True))


def refusal(problems: Problems, source: Source | None = None, target: str = "") -> RefusedCall:
    """Return a refusal for `problems` of the engine; the caller named the place of `source` as `target`."""
    messages = dict.fromkeys(_message(problem, target) for problem in problems)
    suggestions = dict.fromkeys(each for problem in problems for each in _suggestions(problem, source))
    return failure("; ".join(messages), *suggestions)


def target_text(name: str, value: object) -> str:
    """Return a target as messages name it: ``heading '## Install'``, ``lines 5-8``, ``codeBlock 2``."""
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
    hint = TextToolWords().tell(problem).hint
    if hint and not listed:
        yield hint
    if problem.code is Code.AMBIGUOUS_HEADING:
        yield "Target one of them by lines"
    elif problem.code in _ABOUT_PLACES:
        yield _INSPECT_HINT


def _similar(code: Code, candidate: Candidate, source: Source | None) -> str:
    """Return a candidate with its heading as written."""
    line = candidate.start_line
    heading = candidate.heading_path[-1] if source is None else source.lines.content(line).strip()
    if code is Code.AMBIGUOUS_HEADING:
        return f"'{heading}' is at lines {line}-{candidate.end_line}: {' / '.join(candidate.heading_path)}"
    return f"Similar heading found: '{heading}' at line {line}"


def write_result(before: Source, after: Source, change: LineChange) -> dict[str, Any]:
    """Return the result of an edit.

    `affectedLines` are the replaced or deleted lines, by their old numbers; for an insertion, the new lines.
    `context` is the current text around the change.
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
    """Return the existing lines from `first` to `last` (inclusive) with their numbers."""
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
