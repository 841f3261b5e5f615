"""Shared parts of operations on lists in data files: their items."""

import json
from typing import Any

from pydantic import Field, field_validator, model_validator

from mdplan.data.content import value_matches
from mdplan.data.tree import Path, value_at
from mdplan.diagnostics import Diagnostic
from mdplan.markdown.outline import Outline
from mdplan.operations.base.data import DataOperation, Target, other_kind
from mdplan.operations.base.json_fields import checked


class DataListOperation(DataOperation):
    """An operation on the items of a list."""

    value: Any = Field(description="Item, or an array of items: strings, numbers or other JSON.")

    @field_validator("value")
    @classmethod
    def _check_value(cls, given: object) -> object:
        return checked(given)

    @model_validator(mode="after")
    def _check_items(self) -> "DataListOperation":
        if self.value == []:
            msg = "give an item, or an array of items"
            raise ValueError(msg)
        return self

    def list_at(self, outline: Outline, target: Target, path: Path) -> list[Any] | Diagnostic:
        """The list at `path`. Errors: INVALID_ARGUMENT for another value."""
        found = value_at(target.content.values, path)
        return found if isinstance(found, list) else other_kind(outline, target, path, "a list")

    @property
    def items(self) -> list[Any]:
        """The items that are meant."""
        return self.value if isinstance(self.value, list) else [self.value]


def has_item(target: Target, items: list[Any], item: object) -> bool:
    """Whether `item`, which is JSON, is one of the `items` of a file, or of new ones for it."""
    return any(value_matches(target.content.language, each, item) for each in items)


def item_text(item: object) -> str:
    """`item` as text, by which two edits that want the same are known."""
    return json.dumps(item, sort_keys=True)
