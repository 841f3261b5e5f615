"""Shared parts of operations on front matter: keys, guards and resolutions."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import Field, field_validator, model_validator

from mdplan.data.change import REMOVED, KeyChange, Splice, depth_of, value_at
from mdplan.data.json_values import as_json, value_matches
from mdplan.data.node import DataError, Names
from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.edits.data_splices import data_splices
from mdplan.markdown.edits.front_matter_problems import (
    cannot_change,
    elements_of,
    find_key,
    key_not_found,
    no_block,
    not_of_kind,
    other_value,
    unreadable,
)
from mdplan.markdown.front_matter.location import FrontMatterFormat
from mdplan.markdown.front_matter.values import MAX_DEPTH, FrontMatterContent, Unreadable, empty_content
from mdplan.markdown.outline.outline import Outline
from mdplan.operations.base.operation import Claim, DataChanges, Operation, Resolution
from mdplan.text.span import Span

# What the claims of all operations on front matter are parts of.
PART: Final = "front matter"
# Not a plain `tuple[str, ...]`, which the request reader takes for a heading path: a string would become one
# element.
KeyElement = Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class FrontMatterBlock:
    """The front matter block of a document; empty if it has to be created first."""

    content: FrontMatterContent
    is_new: bool = False


class FrontMatterOperation(Operation):
    """An operation on front matter, one key of which it may name."""

    key: str | tuple[KeyElement, ...] | None = Field(
        default=None,
        description='Key, dotted where it lies in maps: "author.name"; or an array: ["author", "name"].',
    )
    expected_value: Any = Field(
        default=None, description="Value that the key has now: JSON, a date as it is written."
    )

    @field_validator("key", mode="before")
    @classmethod
    def _check_key(cls, given: object) -> object:
        is_array = isinstance(given, list | tuple) and all(isinstance(each, str) and each for each in given)
        if given is not None and not isinstance(given, str) and not (is_array and given):
            msg = 'send a dotted key such as "author.name", or an array of keys'
            raise ValueError(msg)
        if isinstance(given, str):
            elements_of(given)
        return given

    @field_validator("expected_value")
    @classmethod
    def _check_expected_value(cls, given: object) -> object:
        return checked(given)

    def read(self, outline: Outline) -> FrontMatterBlock | Diagnostic:
        """What the block says. Errors: FRONT_MATTER_NOT_FOUND, FRONT_MATTER_INVALID."""
        found = outline.front_matter_content
        if found is None:
            return no_block(may_create=isinstance(self, FrontMatterCreator))
        return unreadable(outline, found) if isinstance(found, Unreadable) else FrontMatterBlock(found)

    def find(
        self, outline: Outline, block: FrontMatterBlock, given: str | Sequence[str] | None
    ) -> Names | Diagnostic:
        """The key `given`, which may be missing, after the guard on it.

        Errors: those of `find_key`; INVALID_ARGUMENT where a key on its way is not a map; KEY_NOT_FOUND and
        TEXT_MISMATCH where there is a guard.
        """
        assert given is not None, "the models ask for it"
        content, key = block.content, find_key(block.content, given)
        if isinstance(key, Diagnostic):
            return key
        for length in range(1, len(key)):
            parent = value_at(content.values, key[:length])
            if not isinstance(parent, dict) and parent is not REMOVED and parent is not None:
                return not_of_kind(outline, content, key[:length], "a map of keys")
        value = value_at(content.values, key)
        if self.expected_value is not None and value is REMOVED:
            return key_not_found(content, key)
        if self.expected_value is not None and not value_matches(content.format, value, self.expected_value):
            return other_value(outline, content, key, self.expected_value)
        return key

    def resolution(
        self, outline: Outline, block: FrontMatterBlock, keys: Sequence[Names], changes: Sequence[KeyChange]
    ) -> Resolution | Problems:
        """`changes` of `block`, claiming `keys`. The guard was examined before.

        Errors: FRONT_MATTER_INVALID where they cannot be cut into the block.
        """
        try:
            creates = block.content.format if block.is_new else None
            splices = data_splices(outline, changes, creates)
        except DataError as error:
            return (cannot_change(outline, error),)
        edits = tuple(splice.edit for splice in splices)
        # The value of a key says nothing of a comment that goes with it.
        takes_comment = any("#" in outline.text_of(edit.span) for edit in edits)
        return Resolution(
            claims=tuple(_claims(outline, block, keys, changes, splices)),
            edits=edits,
            is_evidence=self.expected_value is not None and not takes_comment,
            data=DataChanges(changes=tuple(changes), creates=creates),
        )

    def rebased_guards(self, base: Outline, current: Outline) -> dict[str, Any]:
        """`expected_value` as the value that the key has in `current`."""
        return {} if self.expected_value is None else {"expected_value": self._expected_in(base, current)}

    def _expected_in(self, base: Outline, current: Outline) -> object:
        """`expected_value`, which means `base`, as the value that the key has in `current`.

        It stays what it is where it is not true of `base`, or there is nothing to compare.
        """
        before, now = self._value_in(base), self._value_in(current)
        content = base.front_matter_content
        if not isinstance(content, FrontMatterContent) or before is REMOVED or now is REMOVED:
            return self.expected_value
        holds = value_matches(content.format, before, self.expected_value)
        return as_json(now) if holds else self.expected_value

    def _value_in(self, outline: Outline) -> object:
        content = outline.front_matter_content
        if not isinstance(content, FrontMatterContent) or self.key is None:
            return REMOVED
        key = find_key(content, self.key)
        return REMOVED if isinstance(key, Diagnostic) else value_at(content.values, key)


class FrontMatterCreator(FrontMatterOperation):
    """An operation that may create the block."""

    create_if_missing: bool = Field(default=False, description="Create the block if there is none.")
    front_matter_format: Literal["yaml", "toml"] | None = Field(
        default=None, description="Of a block that is created; yaml when absent."
    )

    @model_validator(mode="after")
    def _check_format(self) -> "FrontMatterCreator":
        if self.front_matter_format is not None and not self.create_if_missing:
            msg = "frontMatterFormat requires createIfMissing"
            raise ValueError(msg)
        return self

    def read_or_create(self, outline: Outline) -> FrontMatterBlock | Diagnostic:
        """What the block says, or an empty one. Errors: FRONT_MATTER_NOT_FOUND, FRONT_MATTER_INVALID."""
        if outline.front_matter is None and self.create_if_missing and self.expected_value is None:
            return FrontMatterBlock(
                empty_content(FrontMatterFormat(self.front_matter_format or "yaml")), is_new=True
            )
        return self.read(outline)


def checked(value: object) -> object:
    """`value`, which front matter can contain. Raises `ValueError`."""
    if depth_of(value) > MAX_DEPTH:
        msg = f"it is nested deeper than {MAX_DEPTH} levels"
        raise ValueError(msg)
    if any(isinstance(each, float) and not math.isfinite(each) for each in _scalars(value)):
        msg = "it contains a number that JSON does not have"
        raise ValueError(msg)
    if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"} and _is_json(value):
        msg = "a string that contains JSON: send that array or object itself"
        raise ValueError(msg)
    return value


def _claims(
    outline: Outline,
    block: FrontMatterBlock,
    keys: Sequence[Names],
    changes: Sequence[KeyChange],
    splices: Sequence[Splice],
) -> Iterator[Claim]:
    """Claims of each key: its text with its value, or the place where it will be inserted."""
    start = outline.front_matter.content.start if outline.front_matter else 0
    starts = {changes[index].key: splice.edit.span.start for splice in splices for index in splice.changes}
    for key in keys:
        found = block.content.places.get(key)
        at = starts.get(key, start)
        span = Span(found.start + start, found.end + start) if found else Span(at, at)
        yield Claim(span=span, owner=None, part=(PART, *key))


def _scalars(value: object) -> Iterator[object]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            waiting += each.values() if isinstance(each, dict) else each
        else:
            yield each


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
