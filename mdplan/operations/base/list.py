"""Shared parts of operations on lists: finding the list, and items by their text."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from pydantic import Field

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.list_edits import ItemText, read_item
from mdplan.markdown.lists import MarkdownList, PlacedItem
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.operations.base.fields import Count, Ordinal, WireModel
from mdplan.operations.base.operation import Claim, Resolution, SectionTargeted
from mdplan.text.edit import TextEdit
from mdplan.text.lines import Span
from mdplan.text.source import visible
from mdplan.text.visible import nearest_names

_MOST_LISTED: Final = 10
_LONGEST_NAME: Final = 60


class ListField(WireModel):
    """A list, by its 0-based index."""

    index: Count


@dataclass(frozen=True, slots=True)
class ListScope:
    """Where an edit looks for items: in `area`, which is a list, a section, or the file.

    `section` and `listing` are what the edit names, if it does.
    """

    area: Span
    section: Section | None
    listing: MarkdownList | None

    @property
    def name(self) -> str:
        """What it is, in words."""
        if self.listing is not None:
            return f"the list at lines {self.listing.block.first_line}-{self.listing.last_line}"
        return "the section" if self.section is not None else "the file"


@dataclass(frozen=True, slots=True)
class FoundItem:
    """The one item that a text names; `is_exact` says that it is there just so, and nowhere else."""

    placed: PlacedItem
    is_exact: bool


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

    def scope(self, outline: Outline) -> ListScope | Diagnostic:
        """Where items are looked for. Errors: those of the target; LIST_NOT_FOUND."""
        section = self.find_section(outline) if self._given_targets() else None
        if isinstance(section, Diagnostic):
            return section
        if self.listing is None:
            area = Span(0, len(outline.source.text)) if section is None else section.span
            return ListScope(area, section, None)
        lists = _lists_of(outline, section)
        if self.listing.index >= len(lists):
            return _not_found(lists, section, self.listing.index)
        listing = lists[self.listing.index]
        return ListScope(listing.block.span, section, listing)

    def only_list(self, outline: Outline, scope: ListScope) -> MarkdownList | Diagnostic:
        """The list that the edit names, or the only one there is. Errors: LIST_NOT_FOUND."""
        if scope.listing is not None:
            return scope.listing
        lists = _lists_of(outline, scope.section)
        return lists[0] if len(lists) == 1 else _not_found(lists, scope.section, None)


class ItemOperation(ListOperation):
    """An operation on one item of a list, or on a place next to it."""

    item_occurrence: Ordinal | None = Field(
        default=None, description="Which of several items of that text; 1-based."
    )

    def find_item(
        self, outline: Outline, scope: ListScope, where: str, text: str, *, tasks: bool = False
    ) -> FoundItem | Diagnostic:
        """The one item in `scope` whose text is `text`, which `where` in the edit gives.

        Texts are compared as written, else as a reader sees them; a marker and a box that `text` begins with
        are omitted. With `tasks` only items with a box count, unless there are none of that text. Errors:
        those of `read_item`; MATCH_COUNT_MISMATCH.
        """
        wanted = read_item(text)
        if isinstance(wanted, Diagnostic):
            return wanted
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
        return _no_item(outline, scope, where, wanted)

    def _pick(
        self, outline: Outline, found: Sequence[PlacedItem], where: str, *, is_exact: bool, tasks: bool
    ) -> FoundItem | Diagnostic:
        number = self.item_occurrence
        if number is None and len(found) == 1:
            return FoundItem(found[0], is_exact=is_exact and self.listing is None)
        if number is not None and number <= len(found):
            return FoundItem(found[number - 1], is_exact=False)
        listed = ", ".join(str(placed.item.first_line) for placed in found[:_MOST_LISTED])
        listed += ", …" if len(found) > _MOST_LISTED else ""
        others = "a section, a list or its parent (`under`)" if tasks else "a section or list"
        several = f"{len(found)} items have that text, at lines" if found[1:] else "1 item has it, at line"
        return Diagnostic(
            code=Code.MATCH_COUNT_MISMATCH,
            message=f"{where}: {several} {listed}",
            hint=f'`"itemOccurrence": 1` takes the first of them; or name {others}'
            if number is None
            else f"itemOccurrence goes from 1 to {len(found)}, not {number}",
            place=outline.source.lines.position(found[0].item.block.span.start),
        )


def _within(found: Sequence[PlacedItem], area: Span) -> Sequence[PlacedItem]:
    """Those of `found`, which are in document order, that start in `area`."""
    first, end = (
        bisect_left(found, offset, key=lambda placed: placed.item.block.span.start)
        for offset in (area.start, area.end)
    )
    return found[first:end]


def _lists_of(outline: Outline, section: Section | None) -> Sequence[MarkdownList]:
    lists = outline.lists
    return lists.outermost if section is None else lists.outermost_in(section.span)


def _not_found(lists: Sequence[MarkdownList], section: Section | None, wanted: int | None) -> Diagnostic:
    place = "the file" if section is None else "the section"
    descriptions = (
        f"lines {each.block.first_line}-{each.last_line}, marker `{each.sign}`, items: {len(each.items)}"
        for each in lists[:_MOST_LISTED]
    )
    listed = ", ".join(f"{index} ({words})" for index, words in enumerate(descriptions))
    listed += ", …" if len(lists) > _MOST_LISTED else ""
    if wanted is None and lists:
        message = f"{place} has {len(lists)} lists, and the edit does not say which"
    else:
        message = f"{place} has no list" + (f" of index {wanted}" if wanted is not None else "")
    return Diagnostic(
        code=Code.LIST_NOT_FOUND,
        message=message,
        hint=f'"list": {{"index": …}} is one of: {listed}'
        if lists
        else "append_to_section with an item such as `- text` starts one",
    )


def _no_item(outline: Outline, scope: ListScope, where: str, wanted: ItemText) -> Diagnostic:
    near = nearest_names(wanted.rendered, outline.lists.rendered_texts)
    places = []
    for name in near:
        lines = ", ".join(str(each.item.first_line) for each in outline.lists.items_rendered(name)[:3])
        short = visible(name) if len(name) <= _LONGEST_NAME else f"{visible(name)[: _LONGEST_NAME - 1]}…"
        places.append(f"`{short}` (line {lines})")
    return Diagnostic(
        code=Code.MATCH_COUNT_MISMATCH,
        message=f"{where}: {scope.name} has no item with exactly that text",
        hint=f"nearest: {'; '.join(places)}"
        if places
        else "give the first paragraph of the item, as it is written or as a reader sees it",
    )


def with_numbers(outline: Outline, resolution: Resolution, numbers: Sequence[TextEdit]) -> Resolution:
    """`resolution` that also writes the `numbers` of other items."""
    claims = (Claim(span=each.span, owner=outline.section_at(each.span.start).index) for each in numbers)
    return replace(resolution, claims=(*resolution.claims, *claims), edits=(*resolution.edits, *numbers))
