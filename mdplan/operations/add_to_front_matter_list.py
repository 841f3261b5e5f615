"""add_to_front_matter_list: add items to a list in the front matter."""

from dataclasses import replace
from typing import Any, ClassVar, Literal

from pydantic import Field

from mdplan.data.change import REMOVED, KeyChange, value_at
from mdplan.data.node import Names
from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.edits.front_matter_problems import null_in_toml
from mdplan.markdown.outline.outline import Outline
from mdplan.operations.base.front_matter import FrontMatterBlock, FrontMatterCreator
from mdplan.operations.base.front_matter_list import FrontMatterListOperation, contains_item
from mdplan.operations.base.operation import Resolution


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
    is_listed: ClassVar = False  # add_to_list does the same.

    op: Literal["add_to_front_matter_list"]
    create_if_missing: bool = Field(
        default=False, description="Create the list, and the block, if there is none."
    )

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """Insertions after the last item; none where the list has all items.

        Errors: FRONT_MATTER_NOT_FOUND, FRONT_MATTER_INVALID; those of `find` and `list_at`;
        INVALID_ARGUMENT for a null in TOML.
        """
        block = self.read_or_create(outline)
        if isinstance(block, Diagnostic):
            return (block,)
        key = self.find(outline, block, self.key)
        found = key if isinstance(key, Diagnostic) else self._list_of(outline, block, key)
        if isinstance(key, Diagnostic) or isinstance(found, Diagnostic):
            return tuple(each for each in (found,) if isinstance(each, Diagnostic))
        problems = tuple(null_in_toml(block.content, self.items))
        if problems:
            return problems
        items = list(found)
        for item in self.items:
            if not contains_item(block, items, item):
                items.append(item)
        changes = [KeyChange(key, items)] if len(items) > len(found) else []
        return self.resolution(outline, block, [key], changes)

    def _list_of(self, outline: Outline, block: FrontMatterBlock, key: Names) -> list[Any] | Diagnostic:
        """The list; an empty one where it may be created."""
        is_missing = value_at(block.content.values, key) in (None, REMOVED)
        found = [] if is_missing and self.create_if_missing else self.list_at(outline, block, key)
        if isinstance(found, Diagnostic) and is_missing:
            return replace(found, hint=f'`"createIfMissing": true` would make the list; {found.hint}')
        return found
