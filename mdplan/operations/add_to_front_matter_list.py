"""add_to_front_matter_list: add items to a list in the front matter."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.front_matter_list_operation import FrontMatterListOperation, holds
from mdplan.front_matter_operation import Block, FrontMatterCreator
from mdplan.markdown.front_matter_change import GONE, KeyChange, value_at
from mdplan.markdown.outline import Outline
from mdplan.operation import Resolution


class AddToFrontMatterList(FrontMatterCreator, FrontMatterListOperation):
    """Add items to the end of a list in the front matter.

    An item that the list has already is not added again. The list keeps its style: brackets or dashes,
    indentation, quotes; its other items and their comments stay byte by byte. With `createIfMissing` a key
    that is missing or empty becomes a list, and a file without front matter gets some.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "add_to_front_matter_list",
        "key": "tags",
        "value": "hot",
        "createIfMissing": True,
    }

    op: Literal["add_to_front_matter_list"]
    create_if_missing: bool = Field(
        default=False, description="Create the list, and the block, if there is none."
    )

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """Insertions behind the last item; none where the list has all items.

        Errors: FRONT_MATTER_NOT_FOUND, FRONT_MATTER_INVALID; those of `find_list`.
        """
        block = self.read_or_create(outline)
        found = block if isinstance(block, Diagnostic) else self._list_of(outline, block)
        if isinstance(block, Diagnostic) or isinstance(found, Diagnostic):
            return tuple(each for each in (found,) if isinstance(each, Diagnostic))
        items = list(found)
        for item in self.items:
            if not holds(block, items, item):
                items.append(item)
        is_changed = len(items) > len(found)
        changes = [KeyChange(self.path, items)] if is_changed else []
        return self.resolution(outline, block, [self.path], changes)

    def _list_of(self, outline: Outline, block: Block) -> list[Any] | Diagnostic:
        """The list; an empty one where it may be created."""
        is_missing = value_at(block.content.values, self.path) in (None, GONE)
        if not (is_missing and self.create_if_missing and self.expected_value is None):
            return self.find_list(outline, block)
        assert self.key is not None, "the model asks for it"
        for problem in self.problems_of(outline, block, self.key):
            return problem
        return []
