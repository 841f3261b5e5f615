"""Sorting the items of a list."""

from collections.abc import Callable, Sequence
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.blocks.block_structure import BlockKind
from mdplan.markdown.edits.list_edits import last_shown_line, unverified
from mdplan.markdown.elements.lists import ItemMarker, ListItem, MarkdownList
from mdplan.markdown.outline.outline import Outline
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import Span
from mdplan.text.source import Source

_BY_HAND: Final = "sort the items with replace_lines"


def sort_items(
    outline: Outline, listing: MarkdownList, key: Callable[[ListItem], str], *, descending: bool
) -> tuple[TextEdit, ...] | Diagnostic:
    """Edits that bring the items of `listing` into the order of their keys; equal keys keep their order.

    An item keeps its bytes, nested blocks included. Numbers and blank lines between items stay where they
    are. Errors: INVALID_ARGUMENT for items that cannot change places; OUTLINE_CHANGED where the blocks of the
    sorted list would be others.
    """
    items = listing.items
    order = sorted(range(len(items)), key=lambda at: key(items[at]), reverse=descending)
    if order == list(range(len(items))):
        return ()
    markers: list[ItemMarker] = []
    for position, item in enumerate(items):
        marker = outline.lists.marker(listing, position)
        if marker is None:
            return unverified(item.first_line)
        markers.append(marker)
    edits: list[TextEdit] = []
    for place, moved in enumerate(order):
        if place == moved:
            continue
        problem = _cannot_move(items[moved], markers[moved], markers[place], listing)
        if problem is not None:
            return problem
        text = markers[place].text + outline.text_of(_behind_marker(outline, items[moved], markers[moved]))
        old = _behind_marker(outline, items[place], markers[place])
        edits.append(TextEdit(Span(markers[place].span.start, old.end), text))
    return _changed_blocks(outline, listing, order, edits) or tuple(edits)


def _cannot_move(
    item: ListItem, own: ItemMarker, other: ItemMarker, listing: MarkdownList
) -> Diagnostic | None:
    """INVALID_ARGUMENT where the lines of `item` would not belong to it after the marker `other`."""
    if own.prefix != other.prefix or listing.containers.share_line(item.first_line):
        return Diagnostic.invalid(
            f"the item at line {item.first_line} is not indented like the item whose place it takes",
            "indent all items of the list alike first",
        )
    if item.last_line > item.first_line and len(own.text) != len(other.text):
        return Diagnostic.invalid(
            f"the item at line {item.first_line} has several lines, and its number would get another width",
            _BY_HAND,
        )
    return None


def _behind_marker(outline: Outline, item: ListItem, marker: ItemMarker) -> Span:
    """From the end of the marker to the end of the last line of `item` that shows, without its line end."""
    return Span(marker.span.end, outline.source.lines.content_end(last_shown_line(item)))


def _changed_blocks(
    outline: Outline, listing: MarkdownList, order: Sequence[int], edits: Sequence[TextEdit]
) -> Diagnostic | None:
    """OUTLINE_CHANGED where the result of `edits` does not parse as the same items in the new `order`."""
    made = EditList(tuple(edits))
    result = outline.edited(made, Source.from_text(made.apply(outline.source.text)))
    start = listing.block.span.start
    found = next((each for each in result.lists.all if each.block.span.start == start), None)
    wanted = [_shape(listing.items[position]) for position in order]
    if (
        found is not None
        and found.last_line == listing.last_line
        and [_shape(item) for item in found.items] == wanted
        and len(result.lists.all) == len(outline.lists.all)
    ):
        return None
    return Diagnostic(
        code=Code.OUTLINE_CHANGED,
        message=f"in the new order the list at line {listing.block.first_line} would parse as other blocks",
        hint=_BY_HAND,
    )


def _shape(item: ListItem) -> object:
    """The text of an item, its number of lines that show, and the blocks in it that do."""
    blocks = tuple(
        (child.kind, child.content) for child in item.children if child.kind is not BlockKind.DEFINITION
    )
    nested = tuple(tuple(_shape(each) for each in listing.items) for listing in item.lists)
    return item.text, last_shown_line(item) - item.first_line, blocks, nested
