"""remove_list_item: remove an item from a list."""

from typing import ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.list_edits import ItemRemoval, remove_item, shifted_numbers
from mdplan.markdown.outline import Outline
from mdplan.operations.base.list import FoundItem, ItemOperation, with_numbers
from mdplan.operations.base.operation import Claim, Resolution
from mdplan.text.line_end_view import to_lf


class RemoveListItem(ItemOperation):
    """Remove an item from a list, with all that is nested in it.

    The item is named by its first paragraph, as written or as a reader sees it, without its marker and task
    box; it is looked for in all lists of the section with its subsections, of the file, or in the given
    list, nested ones included. Several items of that text are refused, unless `itemOccurrence` picks one.

    The blank lines that set the item apart go with it, but for one that keeps a loose list loose. With its
    only item the list goes too. Numbers of other items stay, but where the first item of a numbered list
    goes, the next one takes its number, so that the list still starts with it. An `item` that repeats all
    of the item, marker and nested lines included, just as it is, proves what is removed.

    `list` counts from 0 the lists that are in no other list; with a section, only those of the
    section with its subsections.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "remove_list_item",
        "heading": "Brew",
        "item": "Wait.",
    }

    op: Literal["remove_list_item"]
    item: str = Field(description="Text of the item.")
    renumber: bool = Field(default=False, description="Number the items after it in sequence.")

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """A deletion. Errors: those of `scope` and `find_item`; INVALID_ARGUMENT."""
        scope = self.scope(outline)
        if isinstance(scope, Diagnostic):
            return (scope,)
        found = self.find_item(outline, scope, "item", self.item)
        if isinstance(found, Diagnostic):
            return (found,)
        removal = remove_item(outline, found.placed)
        if isinstance(removal, Diagnostic):
            return (removal,)
        section = outline.section_at(found.placed.item.block.span.start)
        # The next one takes the number of the first by itself.
        behind = max(found.placed.position + 1, 2)
        numbers = shifted_numbers(outline, found.placed.listing, behind, -1) if self.renumber else ()
        if isinstance(numbers, Diagnostic):
            return (numbers,)
        resolution = Resolution(
            claims=(Claim(span=removal.claimed, owner=section.index),),
            edits=removal.edits,
            deletions=removal.deletions,
            section=scope.section or section,
            is_evidence=self._is_proven(outline, found, removal),
        )
        return with_numbers(outline, resolution, numbers)

    def already_satisfied(self, problem: Diagnostic, outline: Outline) -> bool:
        """Whether there is no item of that text: where there are several, the problem has a place."""
        del outline
        return problem.code is Code.MATCH_COUNT_MISMATCH and problem.place is None

    def _is_proven(self, outline: Outline, found: FoundItem, removal: ItemRemoval) -> bool:
        """Whether `item` is all that is removed, to the byte but for line ends and blank lines."""
        whole = to_lf(outline.text_of(removal.claimed)).rstrip("\n")
        return found.is_exact and not removal.edits and whole == to_lf(self.item).strip("\n")
