"""Operations on lists and tasks: add, remove, check and sort items."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import ClassVar, Final, Literal

from pydantic import Field, model_validator

from mdplan.diagnostics import Code, Diagnostic, Refused, both
from mdplan.markdown import list_edits
from mdplan.markdown.addresses import find_list
from mdplan.markdown.block_edits import remove_item
from mdplan.markdown.blocks import is_done
from mdplan.markdown.headings import heading_title
from mdplan.markdown.lists import ListItem, MarkdownList, PlacedItem
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.operations.base import Claim, Count, Ordinal, Resolution, SectionTargeted, WireModel
from mdplan.text.edit import TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span, to_lf
from mdplan.text.source import visible
from mdplan.text.visible import first_few, nearest_names, shortened
from mdplan.values import Struct, replace
from mdplan.words import Argument, Arguments, say

_NUMBER: Final = lazy_pattern(r"(\s*\d{1,9})([.)])(?=[ \t])")


class ListScope(Struct):
    """Where an edit looks for items: `area` is a list, a section, or the file.

    `section` and `listing` are set if the edit names them.
    """

    area: Span
    section: Section | None
    listing: MarkdownList | None

    @property
    def name(self) -> str:
        """Its description in messages."""
        if self.listing is not None:
            return f"the list at lines {self.listing.block.first_line}-{self.listing.last_line}"
        return "the section" if self.section is not None else "the file"


class FoundItem(Struct):
    """The item that a text names; `is_exact` if the text matches verbatim, and only this item."""

    placed: PlacedItem
    is_exact: bool


class ListField(WireModel):
    """A list, by its 0-based index."""

    index: Count


class ListOperation(SectionTargeted):
    """An operation on a list, or on items of lists."""

    target_is_required: ClassVar = False
    accepts_root: ClassVar = True

    listing: ListField | None = Field(
        default=None,
        alias="list",
        description="{index} of the list, 0-based, nested lists not counted: in the section with its "
        "subsections, else in the file.",
    )

    def scope(self, outline: Outline) -> ListScope:
        """Return where to look for items. Errors: as for the target; LIST_NOT_FOUND."""
        section = self.named_section(outline)
        if self.listing is None:
            area = Span(0, len(outline.source.text)) if section is None else section.span
            return ListScope(area, section, None)
        listing = find_list(outline, section, self.listing.index)
        return ListScope(listing.block.span, section, listing)

    def only_list(self, outline: Outline, scope: ListScope) -> MarkdownList:
        """Return the list that the edit names, or the only one there is. Errors: LIST_NOT_FOUND."""
        return scope.listing or find_list(outline, scope.section)


class ItemOperation(ListOperation):
    """An operation on one item of a list, or on a place next to it."""

    item_occurrence: Ordinal | None = Field(
        default=None, description="Which of several items of that text; 1-based."
    )

    def find_item(
        self, outline: Outline, scope: ListScope, where: str, text: str, *, tasks: bool = False
    ) -> FoundItem:
        """Return the one item in `scope` with the text `text`, which is the field `where` of the edit.

        Compares texts as written, then as rendered, without a leading marker and box. With `tasks`, items
        with a box take precedence. Errors: as `read_item`; MATCH_COUNT_MISMATCH.
        """
        wanted = list_edits.read_item(text)
        lists = outline.lists
        tiers = (
            (lists.items_named(wanted.text), True),
            (lists.items_rendered(wanted.rendered), False),
            (lists.items_rendered(wanted.text), False),
            # What looks like a marker may be the text, as in "2024. A good year".
            (lists.items_rendered(" ".join(text.split())), False),
        )
        for found, is_exact in tiers if wanted.text else ():
            here = _within(found, scope.area)
            boxed = [each for each in here if each.item.mark is not None] if tasks else []
            if here:
                return self._pick(outline, boxed or here, where, is_exact=is_exact, tasks=tasks)
        raise Refused(_no_item(outline, scope, where, wanted))

    def _pick(
        self, outline: Outline, found: Sequence[PlacedItem], where: str, *, is_exact: bool, tasks: bool
    ) -> FoundItem:
        number = self.item_occurrence
        if number is None and len(found) == 1:
            return FoundItem(found[0], is_exact=is_exact and self.listing is None)
        if number is not None and number <= len(found):
            return FoundItem(found[number - 1], is_exact=False)
        listed = first_few([placed.item.first_line for placed in found])
        others = say("a section, a list or its parent ({under})") if tasks else "a section or list"
        several = f"{len(found)} items have that text, at lines" if found[1:] else "1 item has it, at line"
        raise Code.MATCH_COUNT_MISMATCH.refused(
            f"{where}: {several} {listed}",
            say("{itemOccurrence=1} takes the first of them; or name {}", others)
            if number is None
            else say("{itemOccurrence} goes from 1 to {}, not {}", len(found), number),
            place=outline.source.lines.position(found[0].item.block.span.start),
        )


class AddListItem(ItemOperation):
    """Add an item to a list, in the form that the list has.

    The item goes to the end of the list, or where `position`, `after`, `before` or `under` say. `after` and
    `before` name the neighbour by its text, at any depth; `under` names the parent item: the new item goes to
    the end of its list, or starts a list of the same kind. Items are named by their first paragraph, as
    written or as rendered, without marker and task box.

    `item` is Markdown; continuation lines are indented as needed. A leading list marker is removed, but not a
    number that no item of the list can have, such as a year. The new item gets the marker, indentation and
    spacing of its neighbour, and a blank line if the list has blank lines between items. In an ordered list a
    new last item gets the next number, an item in between the number after the previous one, and a new first
    item the number of the old one; other items keep their numbers, because Markdown counts by itself. A list
    whose first two numbers are equal repeats that number. Edits of one batch do not see each other's items,
    unless it is sequential.

    With `unique: true`, nothing is added if the list has an item with that text; boxes do not matter.

    Without `list`, the section or file must have exactly one list outside of other lists.
    """

    example: ClassVar[dict[str, object]] = {"heading": "Troubleshooting", "item": "[ ] The lid is closed."}

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
            raise ValueError(say("give one place, not {}", Arguments(*places, joint="and")))
        if self.position is not None and places and places != ["under"]:
            raise ValueError(say("give {position} or {}, not both", Argument(places[0])))
        if self.item_occurrence is not None and not places:
            raise ValueError(say("{itemOccurrence} requires {after, before or under}"))
        return self

    def resolve(self, outline: Outline) -> Resolution:
        """Return one insertion.

        Errors: as for the target and of `read_item`; LIST_NOT_FOUND, MATCH_COUNT_MISMATCH,
        INVALID_ARGUMENT, OUTLINE_CHANGED.
        """
        scope, item = both(lambda: self.scope(outline), lambda: list_edits.read_item(self.item))
        place = self._place(outline, scope)
        if self._begins_with_text(outline, place):
            item = list_edits.read_item(_NUMBER.sub(r"\1\\\2", self.item, count=1))
        if isinstance(place, PlacedItem):
            return self._resolution(outline, scope, list_edits.nest_item(outline, place, item), ())
        return self._resolve_in(outline, scope, place, item)

    def _resolve_in(
        self, outline: Outline, scope: ListScope, place: "_Place", item: list_edits.ItemText
    ) -> Resolution:
        """Return the insertion into the list of `place`."""
        known = self._known(outline, place.listing, item)
        if known is not None:
            start = known.item.block.span.start
            return Resolution.at(outline, Span(start, start), (), section=scope.section)
        follows = self.before is None
        inserted = list_edits.insert_item(outline, place.listing, place.position, item, follows=follows)
        numbers = (
            list_edits.shifted_numbers(outline, place.listing, place.position, 1) if self.renumber else ()
        )
        part = ("list item", place.listing.block.span.start, place.listing.block.depth, item.rendered)
        resolution = self._resolution(outline, scope, inserted, part if self.unique and item.text else ())
        return with_numbers(outline, resolution, numbers)

    def _begins_with_text(self, outline: Outline, place: "_Place | PlacedItem") -> bool:
        """Return True if the leading number is text: no item of the list can have it, as in 2024."""
        number = _NUMBER.match(self.item)
        if number is None or not place.listing.is_ordered:
            return number is not None
        count = len(place.listing.items)
        markers = [outline.lists.marker(place.listing, at) for at in (0, count - 1)]
        known = [marker.number for marker in markers if marker is not None]
        return bool(known) and int(number[1]) > max(known[0] + count, known[-1] + 1)

    def _place(self, outline: Outline, scope: ListScope) -> "_Place | PlacedItem":
        """Return the place of the new item, or the parent item if it has no list yet."""
        for where, text in (("after", self.after), ("before", self.before), ("under", self.under)):
            if text is None:
                continue
            found = self.find_item(outline, scope, where, text)
            placed = found.placed
            if where == "under":
                return self._in(placed.item.lists[-1]) if placed.item.lists else placed
            return _Place(placed.listing, placed.position + (where == "after"))
        listing = self.only_list(outline, scope)
        return self._in(listing)

    def _in(self, listing: MarkdownList) -> "_Place":
        return _Place(listing, 0 if self.position == "start" else len(listing.items))

    def _known(self, outline: Outline, listing: MarkdownList, item: list_edits.ItemText) -> PlacedItem | None:
        """Return the existing item of `listing` with the text of `item`, if it must be unique."""
        if not self.unique or not item.text:
            return None
        lists = outline.lists
        same = (*lists.items_named(item.text), *lists.items_rendered(item.rendered))
        return next((placed for placed in same if placed.listing is listing), None)

    def _resolution(
        self,
        outline: Outline,
        scope: ListScope,
        inserted: list_edits.ItemInsertion,
        part: tuple[int | str, ...],
    ) -> Resolution:
        start = inserted.edit.span.start
        owner = outline.section_at(start if inserted.leads else start - 1)
        return Resolution(
            claims=(Claim(span=inserted.edit.span, owner=owner.index, part=part),),
            edits=(inserted.edit,),
            section=scope.section or owner,
            comes_last=inserted.leads,
        )


class _Place(Struct):
    """The 0-based position in a list that the new item gets."""

    listing: MarkdownList
    position: int


class RemoveListItem(ItemOperation):
    """Remove an item from a list, with everything nested in it.

    The item is named by its first paragraph, as written or as rendered, without marker and task box, among
    all lists of the section with its subsections, of the file, or in `list`, at any depth. An ambiguous text
    is refused, unless `itemOccurrence` selects an item.

    The blank lines around the item are removed too, except one that keeps a loose list loose. If it was the
    only item, the list is removed. Other numbers stay, but if the first item of a numbered list is removed,
    the next one takes its number, so that the list starts as before. An `item` that repeats the whole item
    verbatim, including marker and nested lines, proves what is removed.
    """

    example: ClassVar[dict[str, object]] = {"heading": "Brew", "item": "Wait."}
    satisfied_by: ClassVar = frozenset({Code.MATCH_COUNT_MISMATCH})

    op: Literal["remove_list_item"]
    item: str = Field(description="Text of the item.")
    renumber: bool = Field(default=False, description="Number the items after it in sequence.")

    def resolve(self, outline: Outline) -> Resolution:
        """Return a deletion. Errors: as `scope` and `find_item`; INVALID_ARGUMENT."""
        scope = self.scope(outline)
        found = self.find_item(outline, scope, "item", self.item)
        removal, claimed = remove_item(outline, found.placed)
        section = outline.section_at(found.placed.item.block.span.start)
        # The second item takes the number of the first anyway.
        behind = max(found.placed.position + 1, 2)
        numbers = (
            list_edits.shifted_numbers(outline, found.placed.listing, behind, -1) if self.renumber else ()
        )
        # An `item` that is everything that is removed is a proof.
        whole = to_lf(outline.text_of(claimed)).rstrip("\n")
        resolution = Resolution(
            claims=(Claim(span=claimed, owner=section.index),),
            edits=removal.edits,
            deletions=removal.deletions,
            section=scope.section or section,
            is_evidence=found.is_exact and not removal.edits and whole == to_lf(self.item).strip("\n"),
        )
        return with_numbers(outline, resolution, numbers)


class SetTask(ItemOperation):
    """Check or uncheck the box of a task.

    The task is named by its first paragraph, as written or as rendered, without marker and box, among all
    lists of the section with its subsections, of the file, or in `list`, at any depth. An ambiguous text is
    refused, unless `itemOccurrence` selects a task, or `under` names its parent item.

    One character changes, or nothing if the box is right. A box is checked with `x` or `X`, as most of its
    list; other characters, as in `[/]`, mean neither. A verbatim text that only one task has proves which
    task is meant.
    """

    example: ClassVar[dict[str, object]] = {"item": "It has water.", "done": True}

    op: Literal["set_task"]
    item: str = Field(description="Text of the task.")
    done: bool = Field(strict=True, description="Whether its box is checked.")
    under: str | None = Field(default=None, description="Text of an item that the task is a part of.")

    def resolve(self, outline: Outline) -> Resolution:
        """Return one edit of the box. Errors: as `scope` and `find_item`; INVALID_ARGUMENT without a box."""
        scope = self.scope(outline)
        if self.under is not None:
            parent = self.find_item(outline, scope, "under", self.under)
            scope = replace(scope, area=parent.placed.item.block.span)
        found = self.find_item(outline, scope, "item", self.item, tasks=True)
        box = outline.lists.box(found.placed) if found.placed.item.mark is not None else None
        if box is None:
            item = found.placed.item
            raise Code.INVALID_ARGUMENT.refused(
                f"the list item at line {item.first_line} is not a task: it has no checkbox",
                say("add `[ ]` after its marker first, with {replace_match} or {replace_range}"),
                place=outline.source.lines.position(item.block.span.start),
            )
        is_right = is_done(outline.text_of(box)) if self.done else outline.text_of(box) == " "
        mark = found.placed.listing.done_mark if self.done else " "
        return Resolution.at(
            outline,
            Span(box.start - 1, box.end + 1),
            () if is_right else (TextEdit(box, mark),),
            owner=outline.section_at(box.start),
            section=scope.section,
            is_evidence=found.is_exact,
        )


class SortList(ListOperation):
    """Sort the items of a list by their text.

    The text of an item is its first paragraph as rendered, without marker and task box, compared by code
    points; items that begin with another block come first. Items of equal text keep their order, even with
    `descending`.

    Each item keeps its bytes, including nested items, code and other blocks. Nested lists are not sorted.
    Numbers and the blank lines between items stay in place. The edit is refused if an item would not fit its
    new place: if items are indented differently, or an item of several lines would get a number of another
    width.

    Without `list`, the section or file must have exactly one list outside of other lists.
    """

    example: ClassVar[dict[str, object]] = {"heading": "Brew", "descending": True}
    moves_text: ClassVar = True

    op: Literal["sort_list"]
    descending: bool = Field(default=False, strict=True, description="Last text first.")
    ignore_case: bool = Field(default=False, strict=True, description="Compare without regard to case.")

    def resolve(self, outline: Outline) -> Resolution:
        """Return one edit for each place whose item changes.

        Errors: as `scope` and `only_list`; INVALID_ARGUMENT; OUTLINE_CHANGED.
        """
        scope = self.scope(outline)
        listing = self.only_list(outline, scope)
        edits = list_edits.sort_items(outline, listing, self._key, descending=self.descending)
        return Resolution.at(outline, listing.block.span, edits, section=scope.section)

    def _key(self, item: ListItem) -> str:
        text = heading_title(item.text)
        return text.casefold() if self.ignore_case else text


# --- Shared parts of operations on lists: finding the list, and items by their text.

_LONGEST_NAME: Final = 60


def _within(found: Sequence[PlacedItem], area: Span) -> Sequence[PlacedItem]:
    """Return the items of `found`, in document order, that start in `area`."""
    first, end = (
        bisect_left(found, offset, key=lambda placed: placed.item.block.span.start)
        for offset in (area.start, area.end)
    )
    return found[first:end]


def _no_item(outline: Outline, scope: ListScope, where: str, wanted: list_edits.ItemText) -> Diagnostic:
    near = nearest_names(wanted.rendered, outline.lists.rendered_texts)
    places = []
    for name in near:
        lines = ", ".join(str(each.item.first_line) for each in outline.lists.items_rendered(name)[:3])
        places.append(f"`{shortened(visible(name), _LONGEST_NAME)}` (line {lines})")
    return Code.MATCH_COUNT_MISMATCH.problem(
        f"{where}: {scope.name} has no item with exactly that text",
        f"nearest: {'; '.join(places)}"
        if places
        else "give the first paragraph of the item, as it is written or as a reader sees it",
    )


def with_numbers(outline: Outline, resolution: Resolution, numbers: Sequence[TextEdit]) -> Resolution:
    """Return `resolution` that also writes the `numbers` of other items."""
    claims = (Claim(span=each.span, owner=outline.section_at(each.span.start).index) for each in numbers)
    return replace(resolution, claims=(*resolution.claims, *claims), edits=(*resolution.edits, *numbers))
