"""Requests of the toolset `text`, with the names of requirements 01 and 02."""

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from mdplan.mcp.flat_schema import NULLABLE
from mdplan.mcp.strict_requests import MOST_PATH, Request
from mdplan.operations.base import Count, LinesField

_FILE: Final = Field(min_length=1, max_length=MOST_PATH, description="Path of the file, inside a root.")
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
# What requirement 02 took out of TextPatch, and what does the same now.
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


class InspectRequest(_TextRequest):
    """Arguments of `TextInspect`."""

    file_path: str = _FILE
    mode: Literal["structure", "search", "lines"] = Field(default="structure", description="What to show.")
    query: str | None = Field(
        default=None, min_length=1, description='search: what to find; lines: "50-60" or "1-10,100-110".'
    )
    regex: bool = Field(default=False, description="search: query is a regular expression.")
    context: Annotated[int, Field(strict=True, ge=0, le=50)] = Field(
        default=0, description="search: lines to show on both sides of a match."
    )
    encoding: str | None = _ENCODING


class HeadingTarget(_TextRequest):
    """A section, with or without its subsections. Its heading alone will do, as TextPatch has it."""

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


class TextReadRequest(_TextRequest):
    """Arguments of `TextRead`."""

    file_path: str = _FILE
    target: ReadTargetFields = Field(description="Exactly one of its fields.")
    encoding: str | None = _ENCODING


def _text_of(value: object) -> object:
    """The heading, also where it comes as TextRead has it."""
    return value["text"] if isinstance(value, dict) and value.keys() == {"text"} else value


_Heading = Annotated[str, Field(min_length=1), BeforeValidator(_text_of)]


class PatchTarget(_TextRequest):
    """The place to edit: exactly one of these."""

    lines: LinesField | None = None
    heading: _Heading | None = None
    append_to_section: _Heading | None = None
    before_heading: _Heading | None = None
    code_block: BlockTarget | None = None


class TextPatchRequest(_TextRequest):
    """Arguments of `TextPatch`."""

    file_path: str = _FILE
    operation: Literal["replace", "insert", "delete"] = Field(description="What to do there.")
    target: PatchTarget = Field(description="Exactly one of its fields.")
    content: str | None = Field(default=None, description="New text; not for delete.")
    preserve_indent: bool = Field(default=True, description="lines: indent content as the first line is.")
    expected_hash: str | None = _HASH
    backup: bool = _BACKUP
    encoding: str | None = _ENCODING


def _digits(value: object) -> object:
    """A number as text."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class ReplaceRequest(_TextRequest):
    """Arguments of `TextReplace`."""

    file_path: str = _FILE
    old_text: str = Field(min_length=1, description="Exact text to find; may span lines.")
    new_text: str = Field(description="The new text; may be empty.")
    occurrence: Annotated[str, BeforeValidator(_digits)] = Field(
        default="first",
        pattern=r"^(first|last|all|[1-9][0-9]{0,8})$",
        description='first, last, all, or a number such as "2".',
    )
    expected_hash: str | None = _HASH
    backup: bool = _BACKUP
    encoding: str | None = _ENCODING


def target_of(fields: Request) -> tuple[str, Any] | None:
    """The name on the wire of the one field of a target that is given, and its value; None if not one is."""
    given = [(to_camel(name), getattr(fields, name)) for name in type(fields).model_fields]
    found = [(name, value) for name, value in given if value is not None]
    return found[0] if len(found) == 1 else None
