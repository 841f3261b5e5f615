"""add_to_list: add items to a list in a YAML, JSON or TOML file, or in front matter."""

from dataclasses import replace
from typing import Any, ClassVar, Literal

from mdplan.data.tree import REMOVED, Change, KeyChange, NewEntry, Path, value_at
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.operations.base.data import (
    CreatingOperation,
    PlacedOperation,
    Target,
    null_in_toml,
)
from mdplan.operations.base.data_list import DataListOperation, has_item, item_text
from mdplan.operations.base.operation import Resolution


class AddToList(PlacedOperation, CreatingOperation, DataListOperation):
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

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """Insertions; none where the list has all items. Errors: those of `read`, `find` and `place_in`."""
        target = self.read(outline)
        if isinstance(target, Diagnostic):
            return (target,)
        found = self.find(outline, target, self.key, is_new=self.create_if_missing)
        if isinstance(found, Diagnostic):
            return (self._with_creation(found) if found.code is Code.KEY_NOT_FOUND else found,)
        problems = tuple(null_in_toml(target, self.items))
        if problems:
            return problems
        old = value_at(target.content.values, found.whole)
        if old in (None, REMOVED) and self.create_if_missing:
            change = KeyChange(found.whole, self._new_items(target, []))
            return self.resolution(outline, target, [(found.whole, "")], [change])
        known = self.list_at(outline, target, found.path)
        if isinstance(known, Diagnostic):
            return (self._with_creation(known) if old is None else known,)
        return self._added(outline, target, found.path, known)

    def _with_creation(self, problem: Diagnostic) -> Diagnostic:
        """`problem` of a list that is missing, with what would make it."""
        if self.create_if_missing:
            return problem
        return replace(problem, hint=f'`"createIfMissing": true` would make the list; {problem.hint}')

    def _new_items(self, target: Target, old: list[Any]) -> list[Any]:
        """The items that are not among the `old` ones, each once."""
        new: list[Any] = []
        for item in self.items:
            if not has_item(target, [*old, *new], item):
                new.append(item)
        return new

    def _added(self, outline: Outline, target: Target, path: Path, old: list[Any]) -> Resolution | Problems:
        new = self._new_items(target, old)
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
