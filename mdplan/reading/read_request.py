"""What a caller may ask of `read`, read strictly."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, model_validator
from pydantic.alias_generators import to_camel

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.operation import CodeBlockField, Count, LinesField, Ordinal, Wire
from mdplan.text.pattern import MatchType
from mdplan.wire import validated, wire_names, with_decoded_fields
from mdplan.wire_names import fold_names, unknown_fields

DEFAULT_CHARACTERS: Final = 20_000
MOST_TARGETS: Final = 100
_SYNONYMS: Final = {"path": "file", "filePath": "file", "offset": "startLine"}
_SECTION: Final = ("section_id", "heading_path", "heading", "anchor")
_TARGETS: Final = (
    *_SECTION,
    "lines",
    "code_block",
    "region",
    "front_matter",
    "match",
    "start_line",
    "last_lines",
)


class ReadTarget(Wire):
    """One place of one file; the whole file where no place is named."""

    target_names: ClassVar = _TARGETS

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
    context: Annotated[int, Field(strict=True, ge=0, le=1_000)] = Field(
        default=10, description="Lines on both sides of a match."
    )
    start_line: Ordinal | None = Field(default=None, description="First line; on to `until`, or the end.")
    last_lines: Count | None = Field(default=None, description="As many lines at the end of the file.")
    until: str | None = Field(
        default=None, min_length=1, description="Regex: the first later line that it matches is the end."
    )

    @property
    def names_section(self) -> bool:
        """Whether the place is a section."""
        return any(getattr(self, name) is not None for name in _SECTION)

    @model_validator(mode="after")
    def _check_target(self) -> "ReadTarget":
        given = [to_camel(name) for name in _TARGETS if getattr(self, name) is not None]
        if len(given) > 1:
            msg = f"give one target, not {' and '.join(given)}"
            raise ValueError(msg)
        needs = (
            (self.until is not None, self.start_line is not None, "until goes with startLine"),
            (not self.subsections, self.names_section, "subsections goes with a section"),
            (
                self.occurrence is not None,
                self.heading is not None or self.heading_path is not None,
                "occurrence goes with heading or headingPath",
            ),
        )
        for is_given, holds, message in needs:
            if is_given and not holds:
                raise ValueError(message)
        return self


class ReadRequest(Wire):
    """Places to read, in the order in which they come back, and how much of them."""

    targets: tuple[ReadTarget, ...] = Field(min_length=1, max_length=MOST_TARGETS)
    max_characters: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = Field(
        default=DEFAULT_CHARACTERS, description="Characters of content in all; 20,000 by default."
    )
    cursor: str | None = Field(default=None, description="nextCursor of an answer, with its one target.")

    @model_validator(mode="after")
    def _check_cursor(self) -> "ReadRequest":
        if self.cursor is not None and len(self.targets) > 1:
            msg = "cursor goes with one target: the one that was cut"
            raise ValueError(msg)
        return self


def read_read_request(data: Mapping[str, Any]) -> ReadRequest | Problems:
    """Request of decoded JSON `data`: one target beside the options, or a list `targets`.

    Beside `targets`, a `file` is the file of those that name none. Errors: INVALID_ARGUMENT, UNKNOWN_FIELD;
    all of them.
    """
    fields = with_decoded_fields(ReadRequest, _folded(data))
    of_request = {name: fields.pop(name) for name in wire_names(ReadRequest) if name in fields}
    listed = of_request.pop("targets", None)
    if listed is None:
        entries: list[Any] = [fields]
    elif not isinstance(listed, list):
        return (_invalid("`targets` is not a list", 'send [{"file": …}, …]'),)
    else:
        shared = {name: fields.pop(name) for name in ("file", "encoding", "format") if name in fields}
        problems = tuple(unknown_fields(fields, [*wire_names(ReadRequest), *shared], "the request"))
        if problems:
            return problems
        entries = [shared | _folded(entry) if isinstance(entry, Mapping) else entry for entry in listed]
    targets: list[ReadTarget] = []
    problems_found: list[Diagnostic] = []
    for index, entry in enumerate(entries):
        target = _read_target(entry, f"targets[{index}]" if listed is not None else "")
        if isinstance(target, ReadTarget):
            targets.append(target)
        else:
            problems_found += target
    if problems_found:
        return tuple(problems_found)
    request: ReadRequest | Problems = validated(
        ReadRequest, {**of_request, "targets": tuple(targets)}, "", _ONE_PLACE
    )
    return request


_ONE_PLACE: Final = "name one place, and beside it only what belongs to it"


def _read_target(entry: object, where: str) -> ReadTarget | Problems:
    if not isinstance(entry, Mapping):
        return (_invalid(f"{where} is not an object", 'send {"file": …}'),)
    fields = with_decoded_fields(ReadTarget, entry)
    problems = tuple(unknown_fields(fields, wire_names(ReadTarget), where or "the request"))
    if problems:
        return problems
    target: ReadTarget | Problems = validated(ReadTarget, fields, f"{where}." if where else "", _ONE_PLACE)
    return target


def _folded(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fold_names(data, _SYNONYMS).items() if value is not None}


def _invalid(message: str, hint: str) -> Diagnostic:
    return Diagnostic(code=Code.INVALID_ARGUMENT, message=message, hint=hint)
