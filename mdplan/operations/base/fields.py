"""Types of fields that several operations have, as callers write them."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from mdplan.operations.base.line_addresses import lines_of_text, with_line_hash
from mdplan.text.lines import Position


class WireModel(BaseModel):
    """Strict, frozen model of what a caller sends; names are camelCase on the wire."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        defer_build=True,
    )


Ordinal = Annotated[int, Field(strict=True, ge=1)]


Count = Annotated[int, Field(strict=True, ge=0)]


SectionHash = Annotated[str, Field(pattern=r"^[0-9a-fA-F]{16,64}$")]


LineHash = Annotated[str, Field(pattern=r"^[0-9a-f]{3,64}$")]


# Of one line, or of each line from there to the end of a range.
LineHashes = Annotated[str, Field(pattern=r"^[0-9a-f]{3,64}(,[0-9a-f]{3,64})*$")]


# The same, or that of the first or the last line.
PlaceHashes = Annotated[
    str, Field(pattern=r"^([0-9a-f]{3,64}((,[0-9a-f]{3,64})*|,end)|start,[0-9a-f]{3,64})$")
]


class PositionField(WireModel):
    """A place in a file: 1-based line, or ``"12:a3f"``, and column, in code points."""

    line: Ordinal
    col: Ordinal
    line_hash: LineHash | None = Field(default=None, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _split_line(cls, given: object) -> object:
        return with_line_hash(given)

    def to_position(self) -> Position:
        """The place as a `Position`."""
        return Position(self.line, self.col)


class RangeField(WireModel):
    """Half-open range: `end` is the place after the last character."""

    start: PositionField
    end: PositionField


def header_text(given: object) -> object:
    """The cells of a header with pipes between them, where `given` is a list of them; else `given`."""
    if isinstance(given, list | tuple) and given and all(isinstance(cell, str) for cell in given):
        return " | ".join(cell.replace("|", "\\|") for cell in given)
    return given


# One header cell of a table, or several: as a list, or with pipes between them.
TableHeader = Annotated[str, BeforeValidator(header_text, json_schema_input_type=str | list[str])]


class CodeBlockField(WireModel):
    """A fenced code block, by its 0-based index, its language, or its index among those of a language."""

    index: Count | None = None
    language: str | None = None

    @model_validator(mode="after")
    def _check_one(self) -> "CodeBlockField":
        if self.index is None and self.language is None:
            msg = "give index, language or both"
            raise ValueError(msg)
        return self


class LinesField(WireModel):
    """Whole lines `start` to `end`, 1-based and inclusive; as text ``"12-14"`` or ``"12:a3f-14:b07"``.

    ``"12:a3f,c41,b07"`` are the same lines with a hash of each, which also proves those between the ends; an
    empty line needs none: ``"12:a3f,,b07"``.
    """

    start: Ordinal
    end: Ordinal
    start_hash: LineHashes | None = Field(default=None, repr=False)
    end_hash: LineHash | None = Field(default=None, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _read_text(cls, given: object) -> object:
        return lines_of_text(given) if isinstance(given, str) else given

    @model_validator(mode="after")
    def _check_order(self) -> "LinesField":
        if self.end < self.start:
            msg = "end is before start"
            raise ValueError(msg)
        hashes = (self.start_hash or "").count(",") + 1
        if hashes > 1 and hashes != self.end - self.start + 1:
            lines = self.end - self.start + 1
            msg = (
                f"there are {hashes} hashes for {lines} lines: give one for each line, or those of both ends"
            )
            raise ValueError(msg)
        return self
