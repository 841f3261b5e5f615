"""sort_list: sort the items of a list."""

from typing import ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.headings import heading_title
from mdplan.markdown.list_edits import sort_items
from mdplan.markdown.lists import ListItem
from mdplan.markdown.outline import Outline
from mdplan.operations.base.list import ListOperation
from mdplan.operations.base.operation import Claim, Resolution


class SortList(ListOperation):
    """Sort the items of a list by their text.

    The text of an item is its first paragraph as a reader sees it, without marker and task box, compared by
    code points; items that begin with another block come first. Items of equal text keep their order, also
    with `descending`.

    Each item keeps its bytes, and nested items, code and other blocks travel along. Nested lists are not
    sorted. Numbers and the blank lines between items stay in their places. The edit is refused where an item
    would not belong to the list in its new place: where items are indented differently, or an item of several
    lines would get a number of another width.

    `list` counts from 0 the lists that are in no other list; with a section next to it, those in the section
    with its subsections. Without `list` there must be exactly one.
    """

    example: ClassVar[dict[str, object]] = {"op": "sort_list", "heading": "Brew", "descending": True}
    moves_text: ClassVar = True

    op: Literal["sort_list"]
    descending: bool = Field(default=False, strict=True, description="Last text first.")
    ignore_case: bool = Field(default=False, strict=True, description="Compare without regard to case.")

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One edit for each place whose item changes.

        Errors: those of `scope` and `only_list`; INVALID_ARGUMENT; OUTLINE_CHANGED.
        """
        scope = self.scope(outline)
        listing = scope if isinstance(scope, Diagnostic) else self.only_list(outline, scope)
        if isinstance(scope, Diagnostic) or isinstance(listing, Diagnostic):
            return tuple(each for each in (listing,) if isinstance(each, Diagnostic))
        edits = sort_items(outline, listing, self._key, descending=self.descending)
        if isinstance(edits, Diagnostic):
            return (edits,)
        section = outline.section_at(listing.block.span.start)
        return Resolution(
            claims=(Claim(span=listing.block.span, owner=section.index),),
            edits=edits,
            section=scope.section or section,
        )

    def _key(self, item: ListItem) -> str:
        text = heading_title(item.text)
        return text.casefold() if self.ignore_case else text
