"""remove_from_front_matter_list: remove items of a list in the front matter."""

from typing import ClassVar, Literal

from mdplan.data.change import KeyChange
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline.outline import Outline
from mdplan.operations.base.front_matter_list import FrontMatterListOperation, contains_item
from mdplan.operations.base.operation import Resolution


class RemoveFromFrontMatterList(FrontMatterListOperation):
    """Remove items from a list in the front matter.

    Every item that equals one of the values goes, with a comment on its lines; an item that is not in the
    list is not a problem, and where none of them is, nothing changes. A list that loses its last item stays
    as `[]`. Other items keep their bytes.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "remove_from_front_matter_list",
        "key": "tags",
        "value": "cold",
    }
    satisfied_by: ClassVar = frozenset({Code.KEY_NOT_FOUND, Code.FRONT_MATTER_NOT_FOUND})
    is_listed: ClassVar = False  # remove_from_list does the same.

    op: Literal["remove_from_front_matter_list"]

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """Deletions; none where no item is in the list.

        Errors: FRONT_MATTER_NOT_FOUND, FRONT_MATTER_INVALID; those of `find` and `list_at`.
        """
        block = self.read(outline)
        if isinstance(block, Diagnostic):
            return (block,)
        key = self.find(outline, block, self.key)
        found = key if isinstance(key, Diagnostic) else self.list_at(outline, block, key)
        if isinstance(key, Diagnostic) or isinstance(found, Diagnostic):
            return tuple(each for each in (found,) if isinstance(each, Diagnostic))
        kept = [each for each in found if not any(contains_item(block, [each], item) for item in self.items)]
        changes = [KeyChange(key, kept)] if len(kept) < len(found) else []
        return self.resolution(outline, block, [key], changes)
