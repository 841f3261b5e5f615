"""set_front_matter: give keys of the front matter a value."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from mdplan.data.change import KeyChange, as_read, value_at, values_equal
from mdplan.data.json_values import dated, with_dates
from mdplan.data.node import Names
from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.edits.front_matter_problems import elements_of, null_in_toml, type_changes
from mdplan.markdown.outline.outline import Outline
from mdplan.operations.base.front_matter import FrontMatterBlock, FrontMatterCreator, checked
from mdplan.operations.base.operation import Resolution


class SetFrontMatter(FrontMatterCreator):
    """Set one or many keys of the front matter; missing ones are added.

    `key` and `value` set one key; `values` sets many: `{"title": "Tea", "author.name": "Kim"}`. A value is
    any JSON. Comments, order, quotes and all other keys stay byte by byte; a string is quoted only where it
    would not be read as that string. One that reads as a date takes the place of a date as a date; for a new
    key, name the key in `dates`. A map instead of a map, or a list instead of a list, changes only the
    entries that differ. A new key is after the last one; maps on its way are made. `value: null` counts
    as absent; to set null use `values`.

    `expectedValue` guards one key, given by `key` or alone in `values`.
    `createIfMissing` creates the block where the file has none, in YAML or in what `frontMatterFormat` says.
    A block with anchors, tags, merge keys or a key that occurs twice is not edited by keys.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "set_front_matter",
        "values": {"title": "Tea", "tags": ["drinks", "hot"]},
        "createIfMissing": True,
    }

    is_listed: ClassVar = False  # set_value does the same.

    op: Literal["set_front_matter"]
    value: Any = Field(
        default=None, description="New value: any JSON. An array or object as it is, not as a string."
    )
    values: dict[str, Any] | None = Field(
        default=None,
        min_length=1,
        description="New values by key, dotted as in `key`; instead of key and value.",
    )
    dates: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="Keys whose strings are dates, to be written without quotes."
    )

    @model_validator(mode="before")
    @classmethod
    def _one_key(cls, given: object) -> object:
        """`values` of one key as `key` and `value`, where `expectedValue` guards it."""
        if not isinstance(given, Mapping) or given.get("expectedValue") is None:
            return given
        values = given.get("values")
        if (
            not isinstance(values, Mapping)
            or len(values) != 1
            or not given.keys().isdisjoint({"key", "value"})
        ):
            return given
        ((key, value),) = values.items()
        return given if value is None else {**given, "key": key, "value": value, "values": None}

    @field_validator("value")
    @classmethod
    def _check_value(cls, given: object) -> object:
        return checked(given)

    @field_validator("values")
    @classmethod
    def _check_values(cls, given: dict[str, Any] | None) -> dict[str, Any] | None:
        keys = {elements_of(name) for name in given or {}}
        inside = [key for key in keys for length in range(1, len(key)) if key[:length] in keys]
        if inside:
            msg = f"`{'.'.join(inside[0])}` lies in another of the keys"
            raise ValueError(msg)
        for each in (given or {}).values():
            checked(each if isinstance(each, dict | list | float) else None)
        return given

    @model_validator(mode="after")
    def _check_choice(self) -> "SetFrontMatter":
        if (self.key is None) == (self.values is None) or (
            self.values is not None and self.value is not None
        ):
            msg = "give key and value, or values"
            raise ValueError(msg)
        if self.key is not None and self.value is None:
            msg = "give a value; null counts as absent, so to set it send values"
            raise ValueError(msg)
        if self.values is not None and self.expected_value is not None:
            msg = "expectedValue requires one key"
            raise ValueError(msg)
        keys = [self.key] if self.values is None else list(self.values)
        strange = [name for name in self.dates or () if name not in keys]
        if strange:
            msg = f"dates names `{strange[0]}`, which is none of the keys"
            raise ValueError(msg)
        return self

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """Replacements and insertions; the whole block where it is missing.

        Errors: FRONT_MATTER_NOT_FOUND, FRONT_MATTER_INVALID; those of `find`; INVALID_ARGUMENT for a null in
        TOML.
        """
        block = self.read_or_create(outline)
        if isinstance(block, Diagnostic):
            return (block,)
        given = self.values or {}
        wanted = [(self.key, self.value)] if self.key is not None else list(given.items())
        found = [self.find(outline, block, key) for key, _ in wanted]
        problems = (
            *found,
            *(problem for _, value in wanted for problem in null_in_toml(block.content, value)),
        )
        keys = [key for key in found if not isinstance(key, Diagnostic)]
        if len(keys) < len(problems):
            return tuple(problem for problem in problems if isinstance(problem, Diagnostic))
        new = [self._typed(block, key, name, value) for key, (name, value) in zip(keys, wanted, strict=True)]
        strange = [
            name
            for (name, value), each in zip(wanted, new, strict=True)
            if self._is_undated(name, value, each)
        ]
        if strange:
            return tuple(
                Diagnostic.invalid(
                    f"`dates` names `{name}`, whose value is no date", "send a date such as 2026-01-31"
                )
                for name in strange
            )
        changes = [
            KeyChange(key, value)
            for key, value in zip(keys, new, strict=True)
            if not _is_set_already(block, key, value)
        ]
        resolution = self.resolution(outline, block, keys, changes)
        warnings = tuple(type_changes(block.content.values, changes))
        if not warnings or not isinstance(resolution, Resolution):
            return resolution
        return replace(resolution, warnings=(*resolution.warnings, *warnings))

    def _typed(self, block: FrontMatterBlock, key: Names, name: object, value: object) -> object:
        """`value` of the key called `name`: a date where `dates` says so, or where it replaces one."""
        if name in (self.dates or ()):
            return with_dates(block.content.format, value)
        return dated(block.content.format, value, value_at(block.content.values, key))

    def _is_undated(self, name: object, value: object, typed: object) -> bool:
        return name in (self.dates or ()) and typed == value


def _is_set_already(block: FrontMatterBlock, key: Names, new: object) -> bool:
    return values_equal(value_at(block.content.values, key), as_read(new))
