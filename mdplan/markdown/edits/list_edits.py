"""Edits of one list: items that come and go, in the form that the list has."""

import re
from dataclasses import dataclass, replace
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.blocks.block_structure import Block, BlockKind, is_left_open
from mdplan.markdown.blocks.containers import Containers, width_of
from mdplan.markdown.edits.item_text import ItemText, check_item
from mdplan.markdown.edits.list_spacing import item_to_set_apart
from mdplan.markdown.elements.lists import ItemMarker, ListItem, MarkdownList, PlacedItem
from mdplan.markdown.outline.outline import Outline
from mdplan.text.edit import TextEdit
from mdplan.text.line_end_view import line_end_around
from mdplan.text.lines import Span

_HIGHEST_NUMBER: Final = 999_999_999
_INTERRUPTING: Final = frozenset({BlockKind.FENCE, BlockKind.QUOTE, BlockKind.LIST_ITEM, BlockKind.RULE})
_INTERRUPTING_ITEM: Final = re.compile(r"[ \t>]*(?:[-+*]|1[.)])[ \t]+[^ \t\r\n]")


@dataclass(frozen=True, slots=True)
class ItemInsertion:
    """The edit that adds an item. `leads` says that the item before which it is is of its own list."""

    edit: TextEdit
    leads: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRemoval:
    """The removal of an item: whole lines to delete, and edits; `claimed` is the text of the item."""

    claimed: Span
    deletions: tuple[Span, ...] = ()
    edits: tuple[TextEdit, ...] = ()


def insert_item(
    outline: Outline, listing: MarkdownList, position: int, item: ItemText
) -> ItemInsertion | Diagnostic:
    """Insertion of `item` so that it gets the 0-based `position` in `listing`.

    It has the bullet, indentation and spacing of its neighbour, and blank lines where the list has them. The
    numbers of other items stay: a new last item has the next number, one between others the number after
    the one before it, and a new first item that of the old one. Where the first two items have the same
    number, so has the new one. Errors: INVALID_ARGUMENT, OUTLINE_CHANGED.
    """
    beside = max(position - 1, 0)
    marker = outline.lists.marker(listing, beside)
    if marker is None:
        return unverified(listing.items[beside].first_line)
    if listing.is_ordered and position:
        number = marker.number + (0 if _repeats_one_number(outline, listing) else 1)
        digits = str(min(number, _HIGHEST_NUMBER))
        width = len(marker.text) - 1 if marker.text.startswith("0") else 0
        marker = replace(marker, text=digits.zfill(width) + listing.block.markup)
    problem = check_item(item, marker)
    if problem is not None:
        return problem
    written = item.written(marker)
    blank = [marker.prefix.rstrip(" \t")] if listing.is_spaced else []
    if position == len(listing.items):
        taken = _taken_line(outline, listing.containers, marker, listing.last_line + 1)
        if taken is not None:
            return _would_belong(taken, "the new item")
        last_line = last_shown_line(listing.items[-1])
        return ItemInsertion(_behind(outline, last_line, [*blank, *written], marker.prefix))
    return _before(outline, listing, position, [*written, *blank], marker.prefix)


def last_shown_line(item: ListItem) -> int:
    """The last line of `item` before link definitions at its end, which show nothing.

    The blank line before them would make the list loose if an item came after them.
    """
    shown = [child for child in item.children if child.kind is not BlockKind.DEFINITION]
    is_paragraph = bool(shown) and shown[-1].kind is BlockKind.PARAGRAPH
    return shown[-1].last_line if is_paragraph else item.last_line


def nest_item(outline: Outline, placed: PlacedItem, item: ItemText) -> ItemInsertion | Diagnostic:
    """Insertion of `item` as the only one of a new list at the end of another item.

    Its marker is of the kind of that item's; numbers start at 1. Errors: INVALID_ARGUMENT; OUTLINE_CHANGED.
    """
    parent, listing = placed.item, placed.listing
    outer = outline.lists.marker(listing, placed.position)
    if outer is None:
        return unverified(parent.first_line)
    text = f"1{listing.block.markup}" if listing.is_ordered else listing.block.markup
    marker = replace(outer, text=text, prefix=outer.prefix + outer.indentation, spacing=" ")
    problem = check_item(item, marker)
    if problem is not None:
        return problem
    last = parent.children[-1] if parent.children else None
    if last is not None and is_left_open(last, outline.source.text):
        return Diagnostic(
            code=Code.OUTLINE_CHANGED,
            message=f"the {last.kind} at line {last.first_line} is not closed, and would swallow the item",
            hint="close it first, in a separate edit",
        )
    # Some HTML blocks end at a blank line only.
    gap = [marker.prefix.rstrip(" \t")] if last is not None and last.kind is BlockKind.HTML else []
    return ItemInsertion(_behind(outline, parent.last_line, [*gap, *item.written(marker)], marker.prefix))


def remove_item(outline: Outline, placed: PlacedItem) -> ItemRemoval | Diagnostic:
    """Removal of an item with all that is nested in it, and of the blank lines that set it apart.

    Where the first item of an ordered list goes, the next one takes its number, so that the list starts as
    before; other numbers stay. Where the list would become tight, a blank line keeps it loose.
    Errors: INVALID_ARGUMENT; OUTLINE_CHANGED.
    """
    removal = _remove(outline, placed)
    apart = item_to_set_apart(outline, placed)
    if isinstance(removal, Diagnostic) or apart is None:
        return removal
    lines = outline.source.lines
    start = lines.start(apart.first_line)
    prefix = placed.listing.containers.prefix(outline.source.text, lines, apart.first_line) or ""
    blank = TextEdit.insert(start, prefix.rstrip(" \t") + line_end_around(lines, start))
    return replace(removal, edits=(*removal.edits, blank))


def _remove(outline: Outline, placed: PlacedItem) -> ItemRemoval | Diagnostic:
    listing, position = placed.listing, placed.position
    if len(listing.items) == 1:
        return _remove_list(outline, listing)
    lines, containers, last = outline.source.lines, listing.containers, placed.item.last_line
    if position:
        before: PlacedItem | None = PlacedItem(listing, position - 1)
    else:
        before = _open_item_before(outline, listing.block, containers)
    problem = _swallowed(outline, containers, before, last + 1)
    if problem is not None:
        return problem
    claimed = lines.span(placed.item.first_line, last)
    if position < len(listing.items) - 1:
        return _remove_before_another(outline, placed, claimed)
    gone = Span(lines.end(listing.items[position - 1].last_line), claimed.end)
    return _removed(outline, containers, claimed, gone)


def _open_item_before(outline: Outline, block: Block, containers: Containers) -> PlacedItem | None:
    """The item of another list that ends where the list `block` starts, if it could take what is there.

    CommonMark 0.31.2, section 5.2: an item that begins with two blank lines, its own among them, has ended.
    """
    before = outline.lists.item_right_before(block, containers)
    if before is None or before.item.children:
        return before
    return None if _is_blank(outline, containers, before.item.first_line + 1) else before


def _swallowed(
    outline: Outline, containers: Containers, before: PlacedItem | None, line: int
) -> Diagnostic | None:
    """OUTLINE_CHANGED where the item `before` would take what is from `line` on, when it comes next."""
    marker = outline.lists.marker(before.listing, before.position) if before is not None else None
    taken = _taken_line(outline, containers, marker, line) if marker is not None else None
    if before is None or taken is None:
        return None
    return _would_belong(taken, f"the item at line {before.item.first_line}")


def _taken_line(outline: Outline, containers: Containers, marker: ItemMarker, line: int) -> int | None:
    """The first line from `line` on that is not blank, where it is a part of an item before it with `marker`.

    CommonMark 0.31.2, section 5.2: an item contains what is as far in as its own text.
    """
    text, lines = outline.source.text, outline.source.lines
    while line <= lines.count and containers.is_blank(text, lines, line):
        line += 1
    prefix = containers.prefix(text, lines, line) if line <= lines.count else None
    is_taken = prefix is not None and width_of(prefix) >= width_of(marker.prefix + marker.indentation)
    return line if is_taken else None


def _would_belong(line: int, item: str) -> Diagnostic:
    return Diagnostic(
        code=Code.OUTLINE_CHANGED,
        message=f"the text at line {line} would become a part of {item}",
        hint="indent it less first, or use replace_lines",
    )


def _remove_before_another(outline: Outline, placed: PlacedItem, claimed: Span) -> ItemRemoval | Diagnostic:
    listing, position, lines = placed.listing, placed.position, outline.source.lines
    item, following = placed.item, listing.items[position + 1]
    own, other = (outline.lists.marker(listing, at) for at in (position, position + 1))
    if own is None or other is None:
        return unverified(item.first_line)
    takes_number = (
        not position
        and own.text != other.text
        and (len(own.text) <= len(other.text) or following.first_line == following.last_line)
    )
    if takes_number and own.prefix != other.prefix and not listing.containers.share_line(item.first_line):
        # It stays where it is: what is nested in it is indented by that.
        gone = Span(claimed.start, lines.start(following.first_line))
        number = TextEdit(other.span, own.text)
        return ItemRemoval(claimed=Span(claimed.start, other.span.end), deletions=(gone,), edits=(number,))
    if takes_number or listing.containers.share_line(item.first_line):
        gone = Span(own.span.end, other.span.end)
        return ItemRemoval(claimed=Span(own.span.start, gone.end), edits=(TextEdit.delete(gone),))
    gone = Span(claimed.start, lines.start(following.first_line))
    is_empty = other.span.end == lines.content_end(following.first_line)
    if not position and is_empty and not _is_blank(outline, listing.containers, item.first_line - 1):
        # An empty item cannot interrupt a paragraph (CommonMark 0.31.2, section 5.2).
        return _with_blank_line(outline, claimed, gone, other.prefix)
    return ItemRemoval(claimed=claimed, deletions=(gone,))


def _remove_list(outline: Outline, listing: MarkdownList) -> ItemRemoval | Diagnostic:
    """Removal of a list of one item, and of quotes that hold nothing else."""
    lines, containers, block = outline.source.lines, listing.containers, listing.block
    first, last = block.first_line, listing.last_line
    while (quote := containers.block) is not None and quote.kind is BlockKind.QUOTE:
        around = (*range(quote.first_line, first), *range(last + 1, quote.last_line + 1))
        if not all(_is_blank(outline, containers, line) for line in around):
            break
        first, last = quote.first_line, quote.last_line
        block, containers = quote, containers.outer or Containers()
    problem = _swallowed(outline, containers, _open_item_before(outline, block, containers), last + 1)
    if problem is not None:
        return problem
    if containers.share_line(first):
        return Diagnostic.invalid(
            f"the item at line {first} is all that the item around it begins with",
            "remove the outer item, or give it other text with replace_match or replace_lines",
        )
    claimed = lines.span(first, last)
    if containers.block is None:
        return ItemRemoval(claimed=claimed, deletions=(claimed,))
    if _starts_on_marker_line(outline, containers.block, block):
        # An item that begins with two blank lines, its own among them, has ended (section 5.2 again).
        while last < containers.block.last_line and _is_blank(outline, containers, last + 1):
            last += 1
        return ItemRemoval(claimed=claimed, deletions=(lines.span(first, last),))
    before = first - 1
    if _is_blank(outline, containers, last + 1) or last == containers.block.last_line:
        while before and _is_blank(outline, containers, before):
            before -= 1
    gone = Span(lines.end(before) if before else claimed.start, claimed.end)
    following = _first_block(outline, last + 1)
    is_underline = following is not None and following.kind is BlockKind.RULE
    return _removed(outline, containers, claimed, gone, is_underline=is_underline)


def _starts_on_marker_line(outline: Outline, item: Block, block: Block) -> bool:
    """Whether `item` begins with an empty line, and then with `block`."""
    if item.kind is not BlockKind.LIST_ITEM or block.first_line != item.first_line + 1:
        return False
    leaves = outline.tree.leaves_in(Span(item.span.start, block.span.start))
    return all(leaf.span.start >= block.span.start for leaf in leaves)


def _removed(
    outline: Outline, containers: Containers, claimed: Span, gone: Span, *, is_underline: bool = False
) -> ItemRemoval:
    """Removal of the lines of `gone`; a blank line takes their place where text would grow together.

    `is_underline` says that what follows would make a heading of a paragraph before it.
    """
    lines = outline.source.lines
    before, behind = lines.line_at(gone.start) - 1, lines.line_at(gone.end - 1) + 1
    is_apart = _is_separated(outline, containers, behind) and not is_underline
    if is_apart or _is_blank(outline, containers, before):
        return ItemRemoval(claimed=claimed, deletions=(gone,))
    prefix = containers.prefix(outline.source.text, lines, behind) or ""
    return _with_blank_line(outline, claimed, gone, prefix)


def _with_blank_line(outline: Outline, claimed: Span, gone: Span, prefix: str) -> ItemRemoval:
    blank = prefix.rstrip(" \t") + line_end_around(outline.source.lines, gone.start)
    return ItemRemoval(claimed=claimed, edits=(TextEdit(gone, blank),))


def _behind(outline: Outline, line: int, written: list[str], prefix: str) -> TextEdit:
    """Insertion of whole lines after `line`, and of a blank line before text that would continue them."""
    lines = outline.source.lines
    offset = lines.end(line)
    line_end = line_end_around(lines, offset)
    if not lines.ending(line):
        return TextEdit.insert(offset, line_end + line_end.join(written))
    if not _is_separated(outline, Containers(), line + 1):
        written = [*written, prefix.rstrip(" \t")]
    return TextEdit.insert(offset, "".join(each + line_end for each in written))


def _before(
    outline: Outline, listing: MarkdownList, position: int, written: list[str], prefix: str
) -> ItemInsertion | Diagnostic:
    """Insertion of whole lines before the item at `position`, which may be after an outer marker."""
    lines = outline.source.lines
    first = listing.items[position].first_line
    line_end = line_end_around(lines, lines.start(first))
    text = "".join(each + line_end for each in written)
    if not listing.containers.share_line(first):
        return ItemInsertion(TextEdit.insert(lines.start(first), text), leads=True)
    marker = outline.lists.marker(listing, position)
    if marker is None:
        return unverified(first)
    return ItemInsertion(TextEdit.insert(marker.span.start, text.removeprefix(prefix) + prefix), leads=True)


def _repeats_one_number(outline: Outline, listing: MarkdownList) -> bool:
    if len(listing.items) == 1:
        return False
    first, second = (outline.lists.marker(listing, position) for position in (0, 1))
    return first is not None and second is not None and first.number == second.number


def _is_blank(outline: Outline, containers: Containers, line: int) -> bool:
    """Whether `line` is blank, or there is none."""
    lines = outline.source.lines
    return not 1 <= line <= lines.count or containers.is_blank(outline.source.text, lines, line)


def _is_separated(outline: Outline, containers: Containers, line: int) -> bool:
    """Whether `line` cannot be the continuation of a paragraph before it, where it would not be one now."""
    if _is_blank(outline, containers, line):
        return True
    first = _first_block(outline, line)
    return first is None or _interrupts(outline, first)


def _first_block(outline: Outline, line: int) -> Block | None:
    """The outermost block that starts in `line`."""
    lines = outline.source.lines
    return next(outline.tree.inside(lines.span(line, line)), None) if line <= lines.count else None


def _interrupts(outline: Outline, block: Block) -> bool:
    """Whether `block` could be right after a paragraph that it is not part of."""
    if block.kind is BlockKind.HEADING:
        return block.markup.startswith("#")
    if block.kind is BlockKind.LIST:
        return _INTERRUPTING_ITEM.match(outline.source.text, block.span.start) is not None
    return block.kind in _INTERRUPTING


def unverified(line: int) -> Diagnostic:
    """INVALID_ARGUMENT for the item at `line`, whose marker the source does not show."""
    return Diagnostic.invalid(
        f"the marker of the item at line {line} could not be found in the source",
        "use replace_lines or insert_lines there",
    )
