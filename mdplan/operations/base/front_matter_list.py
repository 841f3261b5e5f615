"""Shared parts of operations on lists in front matter: their items, and finding the list."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field, field_validator, model_validator

from mdplan.data.change import REMOVED, value_at
from mdplan.data.json_values import value_matches
from mdplan.data.node import Names
from mdplan.diagnostics import Diagnostic
from mdplan.markdown.edits.front_matter_problems import key_not_found, not_of_kind
from mdplan.markdown.outline.outline import Outline
from mdplan.operations.base.front_matter import FrontMatterBlock, FrontMatterOperation, checked


class FrontMatterListOperation(FrontMatterOperation):
    """An operation on a list that is the value of a key."""

    value: Any = Field(
        default=None, description="Item, or an array of items: strings, numbers or other JSON."
    )

    @field_validator("value")
    @classmethod
    def _check_value(cls, given: object) -> object:
        return checked(given)

    @model_validator(mode="after")
    def _check_parts(self) -> "FrontMatterListOperation":
        if self.key is None:
            msg = "give a key"
            raise ValueError(msg)
        if self.value is None or self.value == []:
            msg = "give a value: an item, or an array of items; null is one in an array"
            raise ValueError(msg)
        return self

    @property
    def items(self) -> list[Any]:
        """The items that are meant."""
        return self.value if isinstance(self.value, list) else [self.value]

    def list_at(self, outline: Outline, block: FrontMatterBlock, key: Names) -> list[Any] | Diagnostic:
        """The list of `key`. Errors: KEY_NOT_FOUND, and INVALID_ARGUMENT for a value that is not a list."""
        found = value_at(block.content.values, key)
        if isinstance(found, list):
            return found
        if found is REMOVED:
            return key_not_found(block.content, key)
        return not_of_kind(outline, block.content, key, "a list")


def contains_item(block: FrontMatterBlock, items: Sequence[Any], item: object) -> bool:
    """Whether `item`, which is JSON, is one of the `items` of a block, or of new ones for it."""
    return any(value_matches(block.content.format, each, item) for each in items)
