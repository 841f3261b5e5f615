"""add_list_item: add an item to a list."""

import re
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from pydantic import Field, model_validator

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.list_edits import (
    ItemInsertion,
    ItemText,
    insert_item,
    nest_item,
    read_item,
    shifted_numbers,
)
from mdplan.markdown.lists import MarkdownList, PlacedItem
from mdplan.markdown.outline import Outline
from mdplan.operations.base.list import ItemOperation, ListScope, with_numbers
from mdplan.operations.base.operation import Claim, Resolution
from mdplan.text.lines import Span

_NUMBER: Final = re.compile(r"(\s*\d{1,9})([.)])(?=[ \t])")


class AddListItem(ItemOperation):
    """Add an item to a list, in the form that the list has.

    The item goes to the end of the list, or where `position`, `after`, `before` or `under` says. `after`
    and `before` name the item next to it by its text, wherever that is nested; `under` names the item that it
    becomes a part of, in whose list it goes to the end, or which gets a list of the same kind. An item is
    named by its first paragraph, as written or as a reader sees it, without its marker and task box.

    `item` is Markdown; its further lines are indented as they must be. A list marker that it begins with is
    taken off, but not a number that no item of the list can have, such as a year: the new item has the
    marker, indentation and spacing of the item next to it, and a blank line where the list has blank lines
    between items. In an ordered list a new last item has the next number; one between others the number
    after the one before it, and a new first item that of the old one, because Markdown counts for itself and
    no other item changes. A list whose first two numbers are the same keeps that number. Edits of one batch
    do not see each other's items, unless it is sequential.

    `unique: true` adds nothing where the list has an item of that text; boxes make no difference.

    `list` counts from 0 the lists that are in no other list; with a section, only those of the
    section with its subsections. Without `list` there must be exactly one there.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "add_list_item",
        "heading": "Troubleshooting",
        "item": "[ ] The lid is closed.",
    }

    op: Literal["add_list_item"]
    item: str = Field(description="Text of the item, without its marker; may have several lines.")
    position: Literal["start", "end"] | None = Field(
        default=None, description="start or end (the default) of the list."
    )
    after: str | None = Field(default=None, description="Text of the item to add it after.")
    before: str | None = Field(default=None, description="Text of the item that it goes before.")
    under: str | None = Field(default=None, description="Text of the item that it becomes a part of.")
    renumber: bool = Field(default=False, description="Number the items after it in sequence.")
    unique: bool = Field(default=False, description="Add nothing if the list has an item of that text.")

    @model_validator(mode="after")
    def _check_place(self) -> "AddListItem":
        places = [name for name in ("after", "before", "under") if getattr(self, name) is not None]
        if len(places) > 1:
            msg = f"give one place, not {' and '.join(places)}"
            raise ValueError(msg)
        if self.position is not None and places and places != ["under"]:
            msg = f"give position or {places[0]}, not both"
            raise ValueError(msg)
        if self.item_occurrence is not None and not places:
            msg = "itemOccurrence requires after, before or under"
            raise ValueError(msg)
        return self

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One insertion.

        Errors: those of the target and of `read_item`; LIST_NOT_FOUND, MATCH_COUNT_MISMATCH,
        INVALID_ARGUMENT, OUTLINE_CHANGED.
        """
        scope, item = self.scope(outline), read_item(self.item)
        if isinstance(scope, Diagnostic) or isinstance(item, Diagnostic):
            return tuple(problem for problem in (scope, item) if isinstance(problem, Diagnostic))
        place = self._place(outline, scope)
        if isinstance(place, Diagnostic):
            return (place,)
        if self._begins_with_text(outline, place):
            escaped = read_item(_NUMBER.sub(r"\1\\\2", self.item, count=1))
            if isinstance(escaped, Diagnostic):
                return (escaped,)
            item = escaped
        if isinstance(place, PlacedItem):
            return self._resolution(outline, scope, nest_item(outline, place, item), ())
        return self._resolve_in(outline, scope, place, item)

    def _resolve_in(
        self, outline: Outline, scope: ListScope, place: "_Place", item: ItemText
    ) -> Resolution | Problems:
        """The insertion into the list of `place`."""
        known = self._known(outline, place.listing, item)
        if known is not None:
            start = known.item.block.span.start
            owner = outline.section_at(start)
            return Resolution(
                claims=(Claim(span=Span(start, start), owner=owner.index),), section=scope.section or owner
            )
        inserted = insert_item(outline, place.listing, place.position, item)
        numbers = shifted_numbers(outline, place.listing, place.position, 1) if self.renumber else ()
        if isinstance(numbers, Diagnostic):
            return (numbers,)
        part = ("list item", place.listing.block.span.start, place.listing.block.depth, item.rendered)
        resolution = self._resolution(outline, scope, inserted, part if self.unique and item.text else ())
        return (
            with_numbers(outline, resolution, numbers) if isinstance(resolution, Resolution) else resolution
        )

    def _begins_with_text(self, outline: Outline, place: "_Place | PlacedItem") -> bool:
        """Whether the number that the item begins with is text: no item of the list can have it, as 2024."""
        number = _NUMBER.match(self.item)
        if number is None or not place.listing.is_ordered:
            return number is not None
        count = len(place.listing.items)
        markers = [outline.lists.marker(place.listing, at) for at in (0, count - 1)]
        known = [marker.number for marker in markers if marker is not None]
        return bool(known) and int(number[1]) > max(known[0] + count, known[-1] + 1)

    def _place(self, outline: Outline, scope: ListScope) -> "_Place | PlacedItem | Diagnostic":
        """Where the item goes; the item that gets its own list, if it has none."""
        for where, text in (("after", self.after), ("before", self.before), ("under", self.under)):
            if text is None:
                continue
            found = self.find_item(outline, scope, where, text)
            if isinstance(found, Diagnostic):
                return found
            placed = found.placed
            if where == "under":
                return self._in(placed.item.lists[-1]) if placed.item.lists else placed
            return _Place(placed.listing, placed.position + (where == "after"))
        listing = self.only_list(outline, scope)
        return listing if isinstance(listing, Diagnostic) else self._in(listing)

    def _in(self, listing: MarkdownList) -> "_Place":
        return _Place(listing, 0 if self.position == "start" else len(listing.items))

    def _known(self, outline: Outline, listing: MarkdownList, item: ItemText) -> PlacedItem | None:
        """The item of `listing` that has the text already, where it may be there once only."""
        if not self.unique or not item.text:
            return None
        lists = outline.lists
        same = (*lists.items_named(item.text), *lists.items_rendered(item.rendered))
        return next((placed for placed in same if placed.listing is listing), None)

    def _resolution(
        self,
        outline: Outline,
        scope: ListScope,
        inserted: ItemInsertion | Diagnostic,
        part: tuple[int | str, ...],
    ) -> Resolution | Problems:
        if isinstance(inserted, Diagnostic):
            return (inserted,)
        start = inserted.edit.span.start
        section = scope.section or outline.section_at(start if inserted.leads else start - 1)
        owner = outline.section_at(start if inserted.leads else start - 1).index
        return Resolution(
            claims=(Claim(span=inserted.edit.span, owner=owner, part=part),),
            edits=(inserted.edit,),
            section=section,
            comes_last=inserted.leads,
        )


@dataclass(frozen=True, slots=True)
class _Place:
    """The 0-based position in a list that the new item gets."""

    listing: MarkdownList
    position: int
