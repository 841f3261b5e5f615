"""Blank lines that keep a list loose when one of its items goes (CommonMark 0.31.2, section 5.3)."""

from mdplan.markdown.blocks.block_structure import BlockKind
from mdplan.markdown.elements.lists import ListItem, MarkdownList, PlacedItem, gaps_in
from mdplan.markdown.outline.outline import Outline


def item_to_set_apart(outline: Outline, placed: PlacedItem) -> ListItem | None:
    """Which item needs a blank line before it when `placed` goes, so that its list stays as loose as it is.

    That of the gap nearest to `placed`; None where none does, or where a list has one item left: that is
    loose by its own text.
    """
    listing, position = placed.listing, placed.position
    items = listing.items
    if len(items) == 1:
        return _item_around(outline, listing)
    is_last = position + 1 == len(items)
    # The gap before the item stays, and that after it goes with it.
    lost = position if is_last else position + 1
    is_kept = any(gap != lost for gap in listing.gaps) or _is_another_spaced(listing, position)
    is_loose = bool(listing.gaps or listing.spaced_items)
    if is_kept or not is_loose or len(items) == 2:
        return None
    return items[position - 1] if is_last else items[max(position, 1) + 1]


def _item_around(outline: Outline, nested: MarkdownList) -> ListItem | None:
    """The item of the outer list that needs a blank line before it when all of the list `nested` goes.

    Blank lines before `nested` go with it at the end of the item that it is in, and stay otherwise.
    """
    if nested.containers.block is None or nested.containers.block.kind is not BlockKind.LIST_ITEM:
        return None
    placed = outline.lists.item_of(nested.containers.block)
    if placed is None:
        return None
    around, position, item = placed.listing, placed.position, placed.item
    is_kept = len(around.items) == 1 or bool(around.gaps) or _is_another_spaced(around, position)
    if is_kept or not item.is_spaced:
        return None
    rest = [child for child in item.children if child is not nested.block]
    return None if gaps_in(rest) else around.items[max(position, 1)]


def _is_another_spaced(listing: MarkdownList, position: int) -> bool:
    return any(spaced != position for spaced in listing.spaced_items)
