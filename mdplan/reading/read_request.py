"""What a caller may ask of `read`, read strictly."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, model_validator

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.field_names import fold_names, unknown_fields
from mdplan.operations.base.operation import CodeBlockField, Count, LinesField, Ordinal, Wire
from mdplan.reading.read_target import (
    DEFAULT_CHARACTERS,
    DEFAULT_CONTEXT,
    MOST_CHARACTERS,
    MOST_CONTEXT,
    ONE_PLACE,
    TARGET_NAMES,
    CodeBlockName,
    ReadRequest,
    ReadTarget,
)
from mdplan.requests.reader import validated, wire_names, with_decoded_fields
from mdplan.text.search.pattern import MatchType
from mdplan.text.span import Lines

__all__ = [
    "MOST_TARGETS",
    "ReadRequest",
    "ReadRequestFields",
    "ReadTarget",
    "ReadTargetFields",
    "read_read_request",
]

MOST_TARGETS: Final = 100
_SYNONYMS: Final = {"path": "file", "filePath": "file", "offset": "startLine"}


class ReadTargetFields(Wire):
    """One place of one file; the whole file where no place is named."""

    target_names: ClassVar = TARGET_NAMES

    file: str = Field(min_length=1, description="Path inside the root.")
    encoding: str | None = Field(default=None, description="Where the file is not UTF-8 and has no BOM.")
    format: str | None = Field(
        default=None,
        pattern=r"^(markdown|ini|text)$",
        description="markdown, text or ini; found by name when absent.",
    )
    section_id: str | None = Field(default=None, description="Section ID, or 8 of its hex digits.")
    heading_path: tuple[str, ...] | None = Field(default=None, description="Headings from outer to inner.")
    heading: str | None = Field(default=None, description='One heading: "Install" or "## Install".')
    anchor: str | None = Field(default=None, description="Anchor without #, of a heading or of HTML.")
    occurrence: Ordinal | None = Field(default=None, description="Which of several equal headings; 1-based.")
    subsections: bool = Field(default=True, description="false: only the section's own body.")
    lines: LinesField | None = Field(default=None, description="Whole lines: {start, end}, inclusive.")
    code_block: CodeBlockField | None = Field(
        default=None, description="Code between the fences: {index} (0-based) or {language}."
    )
    region: str | None = Field(default=None, description="What stands between NAME:start and NAME:end.")
    front_matter: Literal[True] | None = Field(default=None, description="true: the front matter block.")
    match: str | None = Field(default=None, min_length=1, description="Lines around the first match.")
    match_type: MatchType = Field(default=MatchType.LITERAL, description="literal or regex.")
    case_sensitive: bool = Field(default=True, description="Whether case matters in match.")
    context: Annotated[int, Field(strict=True, ge=0, le=MOST_CONTEXT)] = Field(
        default=DEFAULT_CONTEXT, description="Lines on both sides of a match."
    )
    start_line: Ordinal | None = Field(default=None, description="First line; on to `until`, or the end.")
    last_lines: Count | None = Field(default=None, description="As many lines at the end of the file.")
    until: str | None = Field(
        default=None, min_length=1, description="Regex: the first later line that it matches is the end."
    )

    def to_target(self) -> ReadTarget:
        """The same place as a value of the core."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        if self.lines is not None:
            fields["lines"] = Lines(start=self.lines.start, end=self.lines.end)
        if self.code_block is not None:
            fields["code_block"] = CodeBlockName(
                index=self.code_block.index, language=self.code_block.language
            )
        return ReadTarget(**fields)

    @model_validator(mode="after")
    def _check_target(self) -> "ReadTargetFields":
        fault = next(self.to_target().faults(), None)
        if fault is not None:
            raise ValueError(fault)
        return self


class ReadRequestFields(Wire):
    """Places to read, in the order in which they come back, and how much of them."""

    targets: tuple[ReadTargetFields, ...] = Field(min_length=1, max_length=MOST_TARGETS)
    max_characters: Annotated[int, Field(strict=True, ge=1, le=MOST_CHARACTERS)] = Field(
        default=DEFAULT_CHARACTERS, description="Characters of content in all; 20,000 by default."
    )
    cursor: str | None = Field(default=None, description="nextCursor of an answer, with its one target.")

    @model_validator(mode="after")
    def _check_cursor(self) -> "ReadRequestFields":
        if self.cursor is not None and len(self.targets) > 1:
            msg = "cursor goes with one target: the one that was cut"
            raise ValueError(msg)
        return self


def read_read_request(data: Mapping[str, Any]) -> ReadRequest | Problems:
    """Request of decoded JSON `data`: one target beside the options, or a list `targets`.

    Beside `targets`, a `file` is the file of those that name none. Errors: INVALID_ARGUMENT, UNKNOWN_FIELD;
    all of them.
    """
    fields = with_decoded_fields(ReadRequestFields, _folded(data))
    of_request = {name: fields.pop(name) for name in wire_names(ReadRequestFields) if name in fields}
    listed = of_request.pop("targets", None)
    if listed is None:
        entries: list[Any] = [fields]
    elif not isinstance(listed, list):
        return (Diagnostic.invalid("`targets` is not a list", 'send [{"file": …}, …]'),)
    else:
        shared = {name: fields.pop(name) for name in ("file", "encoding", "format") if name in fields}
        problems = tuple(unknown_fields(fields, [*wire_names(ReadRequestFields), *shared], "the request"))
        if problems:
            return problems
        entries = [shared | _folded(entry) if isinstance(entry, Mapping) else entry for entry in listed]
    targets: list[ReadTargetFields] = []
    problems_found: list[Diagnostic] = []
    for index, entry in enumerate(entries):
        target = _read_target(entry, f"targets[{index}]" if listed is not None else "")
        if isinstance(target, ReadTargetFields):
            targets.append(target)
        else:
            problems_found += target
    if problems_found:
        return tuple(problems_found)
    request: ReadRequestFields | Problems = validated(
        ReadRequestFields, {**of_request, "targets": tuple(targets)}, "", ONE_PLACE
    )
    if not isinstance(request, ReadRequestFields):
        return request
    return ReadRequest(
        targets=tuple(target.to_target() for target in request.targets),
        max_characters=request.max_characters,
        cursor=request.cursor,
    )


def _read_target(entry: object, where: str) -> ReadTargetFields | Problems:
    if not isinstance(entry, Mapping):
        return (Diagnostic.invalid(f"{where} is not an object", 'send {"file": …}'),)
    fields = with_decoded_fields(ReadTargetFields, entry)
    problems = tuple(unknown_fields(fields, wire_names(ReadTargetFields), where or "the request"))
    if problems:
        return problems
    target: ReadTargetFields | Problems = validated(
        ReadTargetFields, fields, f"{where}." if where else "", ONE_PLACE
    )
    return target


def _folded(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fold_names(data, _SYNONYMS).items() if value is not None}
