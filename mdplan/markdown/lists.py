"""Lists and their items (CommonMark 0.31.2, sections 5.2 and 5.3; task items: GFM, section 5.3)."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, partial
from typing import Final

from mdplan.markdown.block_tree import BlockTree
from mdplan.markdown.blocks import BOX, CONTAINERS, Block, BlockKind, task_mark
from mdplan.markdown.enclosures import NO_ENCLOSURES, Enclosures
from mdplan.markdown.headings import reader_names
from mdplan.markdown.tables import MARKER, Containers, blocks_with_containers, width_of
from mdplan.text.lines import LineIndex, Span
from mdplan.text.visible import composed
from mdplan.values import Struct, replace

_MOST_SPACES: Final = 4


class ListItem(Struct, kw_only=True):
    """A list item. `children` are its direct blocks, `lists` the lists among them.

    `last_line` (1-based) is its last non-blank line, ignoring quote prefixes. `end_line` is its end in
    Markdown; enclosure tags may be in between. `mark` is the character in a task box (a space, ``x``, ``X``
    or another); None for other items.
    """

    block: Block
    children: tuple[Block, ...]
    lists: "tuple[MarkdownList, ...]"
    last_line: int
    end_line: int
    mark: str | None

    @property
    def first_line(self) -> int:
        """The line of the marker."""
        return self.block.first_line

    @property
    def is_spaced(self) -> bool:
        """True if blank lines separate its direct blocks."""
        return bool(gaps_in(self.children))

    @property
    def text(self) -> str:
        """Inline Markdown of its first paragraph or heading, without task box, whitespace collapsed.

        Empty if the item starts with another block.
        """
        return text_without_box(self.children[0], self.mark) if self.children else ""


class MarkdownList(Struct, kw_only=True, dict=True):
    """A list. `index` (0-based) counts lists outside other lists; nested lists have None.

    `block.markup` is the bullet or the delimiter after numbers.
    """

    block: Block
    items: tuple[ListItem, ...]
    containers: Containers
    index: int | None

    @property
    def is_ordered(self) -> bool:
        """True if its items are numbered."""
        return self.block.markup in {".", ")"}

    @property
    def sign(self) -> str:
        """Its marker: the bullet, or ``1`` with the delimiter."""
        return f"1{self.block.markup}" if self.is_ordered else self.block.markup

    @property
    def last_line(self) -> int:
        """Its last non-blank line."""
        return self.items[-1].last_line

    @property
    def is_spaced(self) -> bool:
        """True if blank lines separate its items, or the blocks in its only item."""
        return bool(self.gaps if len(self.items) > 1 else self.spaced_items)

    @cached_property
    def gaps(self) -> tuple[int, ...]:
        """Positions of the items with a blank line before them."""
        return gaps_in(self.items)

    @cached_property
    def spaced_items(self) -> tuple[int, ...]:
        """Positions of the items with blank lines between their blocks."""
        return tuple(at for at, item in enumerate(self.items) if item.is_spaced)

    @cached_property
    def done_mark(self) -> str:
        """The usual mark of its checked boxes: ``x`` or ``X``."""
        marks = [item.mark for item in self.items]
        return "X" if marks.count("X") > marks.count("x") else "x"


class PlacedItem(Struct):
    """The item at the 0-based `position` of a list."""

    listing: MarkdownList
    position: int

    @property
    def item(self) -> ListItem:
        """The item."""
        return self.listing.items[self.position]


class ItemMarker(Struct, kw_only=True):
    """The marker of an item: bullet or number with delimiter, at `span`.

    `prefix` puts another line into the same column; `spacing` is the whitespace after the marker.
    """

    span: Span
    text: str
    prefix: str
    spacing: str

    @property
    def number(self) -> int:
        """The number of an ordered item."""
        return int(self.text[:-1])

    def numbered(self, number: int) -> str:
        """Return the text of the marker with another `number`, zero-padded alike."""
        width = len(self.text) - 1 if self.text.startswith("0") else 0
        return str(number).zfill(width) + self.text[-1]

    @property
    def indentation(self) -> str:
        """Spaces that continuation lines need after `prefix`."""
        return " " * (width_of(self.prefix + self.text + self.spacing) - width_of(self.prefix))


class Lists:
    """All lists of a document, with indexes of items by text."""

    def __init__(self, tree: BlockTree, lines: LineIndex, enclosures: Enclosures = NO_ENCLOSURES) -> None:
        self._text = lines.text
        self._lines = lines
        reader = _ListReader(lines, enclosures)
        for block, around in blocks_with_containers(tree):
            reader.take(block, around)
        reader.close(0)
        self.all: tuple[MarkdownList, ...] = tuple(
            sorted(reader.lists, key=lambda listing: _order(listing.block))
        )
        self.outermost = tuple(listing for listing in self.all if listing.index is not None)

    def outermost_in(self, span: Span) -> tuple[MarkdownList, ...]:
        """Return the outermost lists that start in `span`, in document order."""
        first, end = (
            bisect_left(self.outermost, offset, key=lambda listing: listing.block.span.start)
            for offset in (span.start, span.end)
        )
        return self.outermost[first:end]

    def items_named(self, text: str) -> tuple[PlacedItem, ...]:
        """Return the items, also nested ones, whose text is `text`, in document order.

        Texts are compared in NFC, with whitespace collapsed.
        """
        return self._by_text.get(composed(text), ())

    def items_rendered(self, text: str) -> tuple[PlacedItem, ...]:
        """Return the items, also nested ones, whose rendered text is `text`, in document order."""
        return self._by_rendered_text.get(composed(text), ())

    @property
    def rendered_texts(self) -> Collection[str]:
        """Rendered texts of items, deduplicated."""
        return self._by_rendered_text.keys()

    def marker(self, listing: MarkdownList, position: int) -> ItemMarker | None:
        """Return the marker of the item at `position`; None if it is not found in the source."""
        line = listing.items[position].first_line
        start = listing.containers.text_start(self._lines, line)
        prefix = listing.containers.prefix(self._lines, line)
        end = self._lines.content_end(line)
        marker = MARKER.match(self._text, start, end) if start is not None else None
        if marker is None or prefix is None or marker[0][-1] != listing.block.markup:
            return None
        rest = self._text[marker.end() : end]
        white = rest[: len(rest) - len(rest.lstrip(" \t"))]
        own_width = width_of(prefix + marker[0])
        is_code = width_of(prefix + marker[0] + white) - own_width > _MOST_SPACES
        spacing = " " if white == rest or is_code or not white else white
        return ItemMarker(span=Span(*marker.span()), text=marker[0], prefix=prefix, spacing=spacing)

    def box(self, placed: PlacedItem) -> Span | None:
        """Return the span of the character in a task box; None if it is not found in the source."""
        item = placed.item
        around = Containers(item.block, placed.listing.containers)
        start = around.text_start(self._lines, item.children[0].first_line)
        if start is None or re.fullmatch(BOX, self._text[start : start + 3]) is None:
            return None
        return Span(start + 1, start + 2)

    def item_of(self, block: Block) -> PlacedItem | None:
        """Return the item of `block`."""
        index = bisect_left(self._placed, _order(block), key=lambda placed: _order(placed.item.block))
        placed = self._placed[index] if index < len(self._placed) else None
        return placed if placed is not None and placed.item.block == block else None

    @cached_property
    def _placed(self) -> tuple[PlacedItem, ...]:
        placed = (
            PlacedItem(listing, position) for listing in self.all for position in range(len(listing.items))
        )
        return tuple(sorted(placed, key=lambda placed_item: _order(placed_item.item.block)))

    @cached_property
    def _by_text(self) -> dict[str, tuple[PlacedItem, ...]]:
        return _grouped((placed.item.text, placed) for placed in self._placed)

    @cached_property
    def _by_rendered_text(self) -> dict[str, tuple[PlacedItem, ...]]:
        return _grouped((name, placed) for placed in self._placed for name in reader_names(placed.item.text))


def _order(block: Block) -> tuple[int, int]:
    """Return the sort key for document order, parents first."""
    return (block.span.start, block.depth)


def _grouped(named: Iterable[tuple[str, PlacedItem]]) -> dict[str, tuple[PlacedItem, ...]]:
    by_name: defaultdict[str, list[PlacedItem]] = defaultdict(list)
    for name, placed in named:
        by_name[composed(name)].append(placed)
    return {name: tuple(items) for name, items in by_name.items()}


def gaps_in(parts: Sequence[ListItem | Block]) -> tuple[int, ...]:
    """Return the positions of the `parts` with a blank line before them."""
    ends = [part.end_line if isinstance(part, ListItem) else part.last_line for part in parts]
    gaps = enumerate(zip(ends, parts[1:], strict=False), start=1)
    return tuple(at for at, (end, after) in gaps if after.first_line > end + 1)


def text_without_box(first: Block, mark: str | None) -> str:
    """Return `ListItem.text` of an item that starts with `first` and has the task `mark`."""
    if first.kind not in {BlockKind.PARAGRAPH, BlockKind.HEADING}:
        return ""
    return " ".join((first.content if mark is None else first.content[3:]).split())


class _Open:
    """A container that is being read."""

    def __init__(self, block: Block, containers: Containers) -> None:
        self.block = block
        self.containers = containers
        self.children: list[Block] = []
        self.items: list[ListItem] = []
        self.lists: list[MarkdownList] = []


class _ListReader:
    """Build lists from blocks in document order."""

    def __init__(self, lines: LineIndex, enclosures: Enclosures) -> None:
        self._lines = lines
        self._enclosures = enclosures
        self._opened: list[_Open] = []
        self._count = 0
        self.lists: list[MarkdownList] = []

    def take(self, block: Block, around: Containers) -> None:
        self.close(block.depth)
        if self._opened:
            self._opened[-1].children.append(block)
        if block.kind in CONTAINERS:
            self._opened.append(_Open(block, around))

    def close(self, depth: int) -> None:
        """Close containers at `depth` and deeper."""
        while len(self._opened) > depth:
            last = self._opened.pop()
            parent = self._opened[-1] if self._opened else None
            if last.block.kind is BlockKind.LIST_ITEM and parent is not None:
                parent.items.append(self._item(last))
            elif last.block.kind is BlockKind.LIST:
                is_inside = any(outer.block.kind is BlockKind.LIST for outer in self._opened)
                listing = MarkdownList(
                    block=last.block,
                    items=tuple(last.items),
                    containers=last.containers,
                    index=None if is_inside else self._count,
                )
                self._count += not is_inside
                self.lists.append(listing)
                if parent is not None and parent.block.kind is BlockKind.LIST_ITEM:
                    parent.lists.append(listing)

    def _item(self, opened: _Open) -> ListItem:
        first, end = opened.block.first_line, opened.block.last_line
        while end > first and opened.containers.is_blank(self._lines, end):
            end -= 1
        is_last = opened.block.last_line == self._opened[-1].block.last_line
        last = self._enclosures.last_line_within(
            first, end, partial(self._is_lazy, opened), may_have_attributes=is_last
        )
        while last > first and opened.containers.is_blank(self._lines, last):
            last -= 1
        children = tuple(self._cut(child, last) for child in opened.children if child.first_line <= last)
        return ListItem(
            block=opened.block,
            children=children,
            lists=tuple(nested for nested in opened.lists if nested.block.first_line <= last),
            last_line=last,
            end_line=end,
            mark=task_mark(children[0], self._lines.text) if children else None,
        )

    def _cut(self, block: Block, last: int) -> Block:
        """Return the paragraph `block` cut after the line `last`; other blocks unchanged."""
        if block.kind is not BlockKind.PARAGRAPH or block.last_line <= last:
            return block
        content = "\n".join(block.content.split("\n")[: last - block.first_line + 1])
        span = Span(block.span.start, self._lines.end(last))
        return replace(block, last_line=last, span=span, content=content)

    def _is_lazy(self, opened: _Open, line: int) -> bool:
        """Return True if `line` continues the item `opened` with less indentation than its text."""
        around, item = opened.containers, opened.block.first_line
        first, own = (around.prefix(self._lines, each) for each in (item, line))
        start = around.text_start(self._lines, item)
        marker = MARKER.match(self._lines.text, start) if start is not None else None
        return first is None or own is None or marker is None or width_of(own) <= width_of(first + marker[0])
