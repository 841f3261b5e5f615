"""add_to_list: add items to a list in a YAML, JSON or TOML file, or in front matter."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from mdplan.data.change import REMOVED, Change, KeyChange, NewEntry, value_at
from mdplan.data.node import Path
from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.outline.outline import Outline
from mdplan.operations.base.data import PlacedOperation, Target, collection_at
from mdplan.operations.base.data_list import DataListOperation, has_item, item_text
from mdplan.operations.base.operation import Resolution


class AddToList(PlacedOperation, DataListOperation):
    """Add items to a list in a YAML, JSON or TOML file, or in front matter.

    They come last, or where `before`, `after` or `inOrder` say. An item that the list has already is not
    added again. The list keeps its style: brackets or dashes, indentation, quotes, comments. The empty key
    `""` is a file that is a list itself. With `createIfMissing` a key that is missing or empty becomes a
    list.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "add_to_list",
        "key": "nav",
        "value": {"Descaling": "descaling.md"},
        "after": "Guide",
    }

    op: Literal["add_to_list"]
    create_if_missing: bool = Field(default=False, description="Create the list, and front matter.")

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """Insertions; none where the list has all items. Errors: those of `read`, `find` and `place_in`."""
        target = self.read(outline, may_create=self.create_if_missing)
        found = target if isinstance(target, Diagnostic) else self.find(outline, target)
        if isinstance(target, Diagnostic) or isinstance(found, Diagnostic):
            return tuple(each for each in (found,) if isinstance(each, Diagnostic))
        if self.create_if_missing and value_at(target.content.values, found.whole) in (None, REMOVED):
            changes: list[Change] = [KeyChange(found.whole, self.items)]
            return self.resolution(outline, target, [(found.whole, "")], changes)
        path = self.find_there(outline, target)
        old = path if isinstance(path, Diagnostic) else collection_at(target.content.values, path, list)
        if isinstance(path, Diagnostic) or isinstance(old, Diagnostic):
            return tuple(each for each in (old,) if isinstance(each, Diagnostic))
        return self._added(outline, target, path, old)

    def _added(self, outline: Outline, target: Target, path: Path, old: list[Any]) -> Resolution | Problems:
        new: list[Any] = []
        for item in self.items:
            if not has_item(target, [*old, *new], item):
                new.append(item)
        places = [self.place_in(target.content.values, path, item) for item in new]
        problems = tuple(each for each in places if isinstance(each, Diagnostic))
        if problems:
            return problems[:1]
        numbers = [each for each in places if not isinstance(each, Diagnostic)]
        changes: list[Change] = [
            NewEntry(path, place, item) for place, item in zip(numbers, new, strict=True)
        ]
        parts = [(path, item_text(item)) for item in self.items]
        return self.resolution(outline, target, parts, changes)
