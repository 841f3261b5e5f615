"""Edits of lists in the style of each list: insert, nest, remove, renumber and sort items."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mdplan.diagnostics import Code, Refused
from mdplan.markdown.block_tree import is_left_open, parse_blocks
from mdplan.markdown.blocks import Block, BlockKind, task_mark
from mdplan.markdown.headings import heading_title
from mdplan.markdown.lists import (
    ItemMarker,
    ListItem,
    Lists,
    MarkdownList,
    PlacedItem,
    gaps_in,
    text_without_box,
)
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import read_payload
from mdplan.markdown.tables import Containers, behind_indentation, width_of
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, Span, line_end_around
from mdplan.text.source import Source
from mdplan.values import Struct, replace
from mdplan.words import say

# CommonMark 0.31.2, section 5.2.
_MOST_DIGITS: Final = 9
_HIGHEST_NUMBER: Final = 10**_MOST_DIGITS - 1
_CODE_INDENTATION: Final = 4
_INTERRUPTING: Final = frozenset({BlockKind.FENCE, BlockKind.QUOTE, BlockKind.LIST_ITEM, BlockKind.RULE})
_INTERRUPTING_ITEM: Final = lazy_pattern(r"[ \t>]*(?:[-+*]|1[.)])[ \t]+[^ \t\r\n]")


class ItemInsertion(Struct):
    """The edit that inserts an item; `leads` if the item that follows it is in the same list."""

    edit: TextEdit
    leads: bool = False


class ItemText(Struct):
    """The content of a list item without marker and newlines.

    `text` equals `ListItem.text`: the first paragraph or heading without task box, whitespace collapsed;
    empty if the item starts with another block.
    """

    lines: tuple[str, ...]
    text: str

    @property
    def rendered(self) -> str:
        """The rendered `text`."""
        return heading_title(self.text)

    def written(self, marker: ItemMarker, inner: str = "") -> list[str]:
        """Return the lines of the item after `marker`, with continuation lines indented by `inner`.

        By default, or if `inner` would change code in the item, the indentation is the minimum.
        """
        first, *more = self.lines
        blank = marker.prefix.rstrip(" \t")
        has_code = any(line.startswith(("    ", "\t")) for line in more)
        inner = marker.indentation if has_code else inner or marker.indentation
        indented = (marker.prefix + inner + line if line else blank for line in more)
        return [f"{marker.prefix}{marker.text}{marker.spacing}{first}", *indented]


def insert_item(
    outline: Outline, listing: MarkdownList, position: int, item: ItemText, *, follows: bool = True
) -> ItemInsertion:
    """Return the insertion of `item` at the 0-based `position` in `listing`.

    Bullet, indentation and spacing follow the neighbour, blank lines follow the list. Existing numbers stay:
    the new item continues from the one before it, takes the number of an old first item, or repeats the
    number if the first two items do. If enclosure tags are at the position, `follows` puts the item before
    them. Raise INVALID_ARGUMENT or OUTLINE_CHANGED.
    """
    neighbour = max(position - 1, 0)
    marker = marker_of(outline, listing, neighbour)
    if listing.is_ordered and position:
        number = marker.number + (0 if _repeats_one_number(outline, listing) else 1)
        marker = replace(marker, text=marker.numbered(min(number, _HIGHEST_NUMBER)))
    _check_item(item, marker)
    item_lines = item.written(marker, _inner_indentation(outline, listing, marker))
    blank = [marker.prefix.rstrip(" \t")] if listing.is_spaced else []
    if position == len(listing.items):
        taken = _taken_line(outline, listing.containers, marker, listing.last_line + 1)
        if taken is not None:
            raise Code.OUTLINE_CHANGED.refused(
                f"the text at line {taken} would become a part of the new item",
                say("indent it less first, or use {replace_lines}"),
            )
    if position == len(listing.items) or (position and follows and mark_behind(outline, listing, neighbour)):
        last_line = _last_shown_line(listing.items[neighbour])
        return ItemInsertion(_insert_after(outline, last_line, [*blank, *item_lines], marker.prefix))
    return _insert_before(outline, listing, position, [*item_lines, *blank], marker.prefix)


def mark_behind(outline: Outline, listing: MarkdownList, position: int) -> int | None:
    """Return the first non-blank line between the item at `position` and the next, or None.

    It holds an enclosure tag or attributes, and stays where it is.
    """
    line, stop = listing.items[position].last_line + 1, listing.items[position + 1].first_line
    return next((at for at in range(line, stop) if not _is_blank(outline, listing.containers, at)), None)


def _last_shown_line(item: ListItem) -> int:
    """Return the last line of `item` before trailing link definitions, which are invisible.

    An item inserted after the blank line before them would make the list loose.
    """
    shown = [child for child in item.children if child.kind is not BlockKind.DEFINITION]
    is_paragraph = bool(shown) and shown[-1].kind is BlockKind.PARAGRAPH
    return shown[-1].last_line if is_paragraph else item.last_line


def nest_item(outline: Outline, placed: PlacedItem, item: ItemText) -> ItemInsertion:
    """Return the insertion of `item` as the first item of a new list at the end of another item.

    It uses the parent's kind of marker; numbers start at 1. Raise INVALID_ARGUMENT or OUTLINE_CHANGED.
    """
    parent, listing = placed.item, placed.listing
    outer = marker_of(outline, listing, placed.position)
    text = f"1{listing.block.markup}" if listing.is_ordered else listing.block.markup
    inner = _inner_indentation(outline, listing, outer)
    marker = replace(outer, text=text, prefix=outer.prefix + inner, spacing=" ")
    _check_item(item, marker)
    last = parent.children[-1] if parent.children else None
    if last is not None and is_left_open(last, outline.source.text):
        raise Code.OUTLINE_CHANGED.refused(
            f"the {last.kind} at line {last.first_line} is not closed, and would swallow the item",
            "close it first, in a separate edit",
        )
    # Some HTML blocks end only at a blank line.
    gap = [marker.prefix.rstrip(" \t")] if last is not None and last.kind is BlockKind.HTML else []
    return ItemInsertion(
        _insert_after(outline, parent.last_line, [*gap, *item.written(marker, inner)], marker.prefix)
    )


def _inner_indentation(outline: Outline, listing: MarkdownList, marker: ItemMarker) -> str:
    """Return the indentation of lines in an item after `marker`, as other items have it.

    Some programs require four spaces or a tab where two are enough for Markdown.
    """
    written = outline.derived(_inner_indentations)
    inner: str
    for inner in (*written.get(listing.block.span.start, ()), *written[None]):
        width = width_of(marker.prefix + inner) - width_of(marker.prefix)
        if 0 <= width - len(marker.indentation) < _CODE_INDENTATION:
            return inner
    return marker.indentation


def _inner_indentations(outline: Outline) -> Mapping[int | None, dict[str, None]]:
    """Return the indentations used in items, by list start; the key None has all of them."""
    lines = outline.source.lines
    written: defaultdict[int | None, dict[str, None]] = defaultdict(dict, {None: {}})
    for listing in outline.lists.all:
        for position, item in enumerate(listing.items):
            child = next((child for child in item.children if child.first_line > item.first_line), None)
            own = outline.lists.marker(listing, position) if child is not None else None
            around = Containers(item.block, listing.containers)
            prefix = around.prefix(lines, child.first_line) if child is not None else None
            if own is not None and prefix is not None and prefix.startswith(own.prefix):
                inner = prefix[len(own.prefix) :]
                written[listing.block.span.start][inner] = written[None][inner] = None
    return written


def _taken_line(outline: Outline, containers: Containers, marker: ItemMarker, line: int) -> int | None:
    """Return the first non-blank line from `line` if an item with `marker` would absorb it.

    An item contains lines indented at least like its text (CommonMark 0.31.2, section 5.2).
    """
    lines = outline.source.lines
    while line <= lines.count and containers.is_blank(lines, line):
        line += 1
    prefix = containers.prefix(lines, line) if line <= lines.count else None
    is_taken = prefix is not None and width_of(prefix) >= width_of(marker.prefix + marker.indentation)
    return line if is_taken else None


def in_the_way(line: int, what: str) -> Refused:
    """Return OUTLINE_CHANGED: `line` keeps items from doing `what`."""
    return Code.OUTLINE_CHANGED.refused(
        f"line {line}, between two items, closes or opens what is around one of them",
        say("{} with {replace_lines}", what),
    )


def last_line_with_attributes(outline: Outline, listing: MarkdownList) -> int:
    """Return the last line of `listing` including its attributes, but not MyST breaks below it."""
    lines, last = outline.source.lines, listing.last_line
    while last < listing.items[-1].end_line and last + 1 in outline.enclosures.attribute_lines:
        if lines.content(last + 1).lstrip(" \t>").startswith("+"):
            break
        last += 1
    return last


def _insert_after(outline: Outline, line: int, new_lines: list[str], prefix: str) -> TextEdit:
    """Insert whole lines after `line`, plus a blank line if the next text would continue them."""
    lines = outline.source.lines
    offset = lines.end(line)
    line_end = line_end_around(lines, offset)
    if not lines.ending(line):
        return TextEdit.insert(offset, line_end + line_end.join(new_lines))
    if not _is_separated(outline, Containers(), line + 1):
        new_lines = [*new_lines, prefix.rstrip(" \t")]
    return TextEdit.insert(offset, "".join(new_line + line_end for new_line in new_lines))


def _insert_before(
    outline: Outline, listing: MarkdownList, position: int, new_lines: list[str], prefix: str
) -> ItemInsertion:
    """Insert whole lines before the item at `position`, which may follow an outer marker on its line."""
    lines = outline.source.lines
    first = listing.items[position].first_line
    line_end = line_end_around(lines, lines.start(first))
    text = "".join(new_line + line_end for new_line in new_lines)
    if not listing.containers.share_line(first):
        return ItemInsertion(TextEdit.insert(lines.start(first), text), leads=True)
    at = marker_of(outline, listing, position).span.start
    return ItemInsertion(TextEdit.insert(at, text.removeprefix(prefix) + prefix), leads=True)


def _repeats_one_number(outline: Outline, listing: MarkdownList) -> bool:
    markers = [outline.lists.marker(listing, position) for position in range(min(len(listing.items), 2))]
    return len(markers) > 1 and len({marker.number for marker in markers if marker}) == 1


def _is_blank(outline: Outline, containers: Containers, line: int) -> bool:
    """Return True if `line` is blank or does not exist."""
    lines = outline.source.lines
    return not 1 <= line <= lines.count or containers.is_blank(lines, line)


def _is_separated(outline: Outline, containers: Containers, line: int) -> bool:
    """Return True if `line` cannot continue a paragraph before it."""
    if _is_blank(outline, containers, line):
        return True
    first = _first_block(outline, line)
    return first is None or _interrupts(outline, first)


def _first_block(outline: Outline, line: int) -> Block | None:
    """Return the outermost block that starts on `line`."""
    lines = outline.source.lines
    return next(outline.tree.inside(lines.span(line, line)), None) if line <= lines.count else None


def _interrupts(outline: Outline, block: Block) -> bool:
    """Return True if `block` can interrupt a paragraph."""
    if block.kind is BlockKind.HEADING:
        return block.markup.startswith("#")
    if block.kind is BlockKind.LIST:
        return _INTERRUPTING_ITEM.match(outline.source.text, block.span.start) is not None
    return block.kind in _INTERRUPTING


def marker_of(outline: Outline, listing: MarkdownList, position: int) -> ItemMarker:
    """Return the marker of the item at `position`. Raise INVALID_ARGUMENT if it is not in the source."""
    marker = outline.lists.marker(listing, position)
    if marker is None:
        raise Code.INVALID_ARGUMENT.refused(
            f"the marker of the item at line {listing.items[position].first_line} could not be found in the "
            "source",
            say("use {replace_lines} or {insert_lines} there"),
        )
    return marker


def read_item(markdown: str) -> ItemText:
    """Parse `markdown` as one item, dropping its marker and indentation.

    Raise EMPTY_CONTENT, or INVALID_ARGUMENT for several items.
    """
    payload = read_payload(markdown)
    text = payload.text.lstrip(" \t")
    blocks = parse_blocks(text, LineIndex(text)).roots
    if blocks and blocks[0].kind is BlockKind.LIST:
        inner = _without_marker(text)
        text, blocks = inner, parse_blocks(inner, LineIndex(inner)).roots
    if payload.is_blank or not text.strip(" \t\n"):
        raise Code.EMPTY_CONTENT.refused(say("{item} is empty"), "give the text of the item")
    lines = tuple(line if line.strip(" \t") else "" for line in text.split("\n"))
    return ItemText(lines, text_without_box(blocks[0], task_mark(blocks[0], text)) if blocks else "")


def _check_item(item: ItemText, marker: ItemMarker) -> None:
    """Check that `item` after `marker` is exactly one item and absorbs nothing after it.

    Raise INVALID_ARGUMENT or OUTLINE_CHANGED.
    """
    text = "\n".join(item.written(replace(marker, prefix="")))
    lines = LineIndex(text)
    tree = parse_blocks(text, lines)
    lists = Lists(tree, lines).all
    is_one = len(tree.roots) == 1 and len(lists) > 0 and len(lists[0].items) == 1
    if not is_one or lists[0].block.markup != marker.text[-1] or lists[0].last_line != lines.count:
        raise Code.INVALID_ARGUMENT.refused(
            f"after the marker `{marker.text}` this text would not be one item",
            "put a backslash before the character that makes it another block",
        )
    left_open = next((block for block in lists[0].items[0].children if is_left_open(block, text)), None)
    if left_open is not None:
        raise Code.OUTLINE_CHANGED.refused(
            f"item leaves the {left_open.kind} of its line {left_open.first_line} open",
            "close the fence, comment or tag in the item",
        )


def _without_marker(text: str) -> str:
    """Return the content of the single item `text`. Raise INVALID_ARGUMENT."""
    lines = LineIndex(text)
    tree = parse_blocks(text, lines)
    lists = Lists(tree, lines)
    listing: MarkdownList = lists.all[0]
    marker = lists.marker(listing, 0)
    if len(tree.roots) > 1 or len(listing.items) > 1 or marker is None:
        raise Code.INVALID_ARGUMENT.refused(
            say("{item} is a list; it must be the text of one item"),
            "send one edit for each item, with the text after its marker",
        )
    first, *more = text[marker.span.end :].split("\n")
    width = len(marker.indentation)
    return "\n".join(
        [first.lstrip(" \t"), *(line[behind_indentation(line, 0, len(line), width) :] for line in more)]
    )


# --- Renumbering and sorting


def shifted_numbers(
    outline: Outline, listing: MarkdownList, position: int, shift: int
) -> tuple[TextEdit, ...]:
    """Return edits that add `shift` to the numbers of items from the 0-based `position`.

    Bullet lists and lists that repeat one number need no edits. Raise INVALID_ARGUMENT if a number is not
    found in the source, or if its new width would reindent a multi-line item.
    """
    if not listing.is_ordered or _repeats_one_number(outline, listing):
        return ()
    markers = [outline.lists.marker(listing, at) for at in range(position, len(listing.items))]
    edits: list[TextEdit] = []
    for item, marker in zip(listing.items[position:], markers, strict=True):
        text = marker.numbered(max(marker.number + shift, 0)) if marker else ""
        is_wider = marker is None or len(text) != len(marker.text)
        if marker is None or len(text) > _MOST_DIGITS + 1 or (is_wider and item.first_line != item.last_line):
            raise Code.INVALID_ARGUMENT.refused(
                f"the item at line {item.first_line} cannot get the number `{text[:-1]}`: its other lines "
                "are indented by the width of the old one",
                say("leave renumber out, or give the items their numbers with {replace_lines}"),
            )
        edits.append(TextEdit(marker.span, text))
    return tuple(edits)


_SORT: Final = "sort the items"
_BY_HAND: Final = say("{} with {replace_lines}", _SORT)


def sort_items(
    outline: Outline, listing: MarkdownList, key: Callable[[ListItem], str], *, descending: bool
) -> tuple[TextEdit, ...]:
    """Return edits that stably sort the items of `listing` by `key`.

    Items keep their bytes, including nested blocks; numbers and blank lines between items keep their
    positions. Raise INVALID_ARGUMENT for items that cannot move, OUTLINE_CHANGED if the result has other
    blocks.
    """
    items = listing.items
    order = sorted(range(len(items)), key=lambda at: key(items[at]), reverse=descending)
    if order == list(range(len(items))):
        return ()
    marks = (mark_behind(outline, listing, position) for position in range(len(items) - 1))
    mark_line = next(filter(None, marks), None)
    if mark_line is not None:
        raise in_the_way(mark_line, _SORT)
    markers = [marker_of(outline, listing, position) for position in range(len(items))]
    edits: list[TextEdit] = []
    for position, moved in enumerate(order):
        if position == moved:
            continue
        _check_move(items[moved], markers[moved], markers[position], listing)
        text = markers[position].text + outline.text_of(_content_span(outline, items[moved], markers[moved]))
        old = _content_span(outline, items[position], markers[position])
        edits.append(TextEdit(Span(markers[position].span.start, old.end), text))
    _check_blocks(outline, listing, order, edits)
    return tuple(edits)


def _check_move(item: ListItem, own: ItemMarker, other: ItemMarker, listing: MarkdownList) -> None:
    """Raise INVALID_ARGUMENT if `item` would lose lines after the marker `other`."""
    if own.prefix != other.prefix or listing.containers.share_line(item.first_line):
        raise Code.INVALID_ARGUMENT.refused(
            f"the item at line {item.first_line} is not indented like the item whose place it takes",
            "indent all items of the list alike first",
        )
    if item.last_line > item.first_line and len(own.text) != len(other.text):
        raise Code.INVALID_ARGUMENT.refused(
            f"the item at line {item.first_line} has several lines, and its number would get another width",
            _BY_HAND,
        )


def _content_span(outline: Outline, item: ListItem, marker: ItemMarker) -> Span:
    """Return the span from the marker to the last visible line of `item`, without its newline."""
    return Span(marker.span.end, outline.source.lines.content_end(_last_shown_line(item)))


def _check_blocks(
    outline: Outline, listing: MarkdownList, order: Sequence[int], edits: Sequence[TextEdit]
) -> None:
    """Raise OUTLINE_CHANGED unless the result of `edits` parses as the same items in `order`."""
    edit_list = EditList(tuple(edits))
    result = outline.edited(edit_list, Source.from_text(edit_list.apply(outline.source.text)))
    start = listing.block.span.start
    sorted_list = next((other for other in result.lists.all if other.block.span.start == start), None)
    if (
        sorted_list is None
        or sorted_list.last_line != listing.last_line
        or [_shape(item) for item in sorted_list.items]
        != [_shape(listing.items[position]) for position in order]
        or len(result.lists.all) != len(outline.lists.all)
    ):
        raise Code.OUTLINE_CHANGED.refused(
            f"in the new order the list at line {listing.block.first_line} would parse as other blocks",
            _BY_HAND,
        )


def _shape(item: ListItem) -> object:
    """Return text, visible line count and visible blocks of an item, for comparison."""
    blocks = tuple(
        (child.kind, child.content) for child in item.children if child.kind is not BlockKind.DEFINITION
    )
    nested = tuple(tuple(_shape(inner) for inner in listing.items) for listing in item.lists)
    return item.text, _last_shown_line(item) - item.first_line, blocks, nested


# --- Keep a list loose when an item is removed (CommonMark 0.31.2, section 5.3)


def item_to_loosen(outline: Outline, placed: PlacedItem) -> ListItem | None:
    """Return the item that needs a blank line before it to keep the list loose without `placed`.

    That is the item at the gap nearest to `placed`; None if not needed, or if one item is left.
    """
    listing, position = placed.listing, placed.position
    items = listing.items
    if len(items) == 1:
        return _item_around(outline, listing)
    is_last = position + 1 == len(items)
    # The gap before the removed item stays, the one after it is deleted.
    lost = position if is_last else position + 1
    is_kept = any(gap != lost for gap in listing.gaps) or _is_another_spaced(listing, position)
    is_loose = bool(listing.gaps or listing.spaced_items)
    if is_kept or not is_loose or len(items) == 2:
        return None
    return items[position - 1] if is_last else items[max(position, 1) + 1]


def _item_around(outline: Outline, nested: MarkdownList) -> ListItem | None:
    """Return the item of the outer list that needs a blank line when the list `nested` is removed.

    Blank lines before `nested` are only removed at the end of its item.
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
