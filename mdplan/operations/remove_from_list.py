"""remove_from_list: remove items of a list in a YAML, JSON or TOML file, or in front matter."""

from typing import ClassVar, Literal

from mdplan.data.tree import REMOVED, Change, KeyChange
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.operations.base.data_list import DataListOperation, has_item
from mdplan.operations.base.operation import Resolution


class RemoveFromList(DataListOperation):
    """Remove items from a list in a YAML, JSON or TOML file, or in front matter.

    Every item that equals one of the values goes, with a comment on its lines; a value that is not in the
    list is ignored. A list that loses its last item stays as `[]`. To remove one item by its number or by a
    key in it, use delete_value.
    """

    example: ClassVar[dict[str, object]] = {"op": "remove_from_list", "key": "plugins", "value": "search"}
    satisfied_by: ClassVar = frozenset({Code.KEY_NOT_FOUND, Code.FRONT_MATTER_NOT_FOUND})

    op: Literal["remove_from_list"]

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """Deletions; none where no item is in the list. Errors: those of `read` and `find`."""
        target = self.read(outline)
        path = target if isinstance(target, Diagnostic) else self.find_there(outline, target)
        if isinstance(target, Diagnostic) or isinstance(path, Diagnostic):
            return tuple(each for each in (path,) if isinstance(each, Diagnostic))
        old = self.list_at(outline, target, path)
        if isinstance(old, Diagnostic):
            return (old,)
        gone = [
            (*path, index)
            for index, each in enumerate(old)
            if any(has_item(target, [each], item) for item in self.items)
        ]
        changes: list[Change] = [KeyChange(each, REMOVED) for each in gone]
        return self.resolution(outline, target, [(each, "") for each in gone] or [(path, "")], changes)
