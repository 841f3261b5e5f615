"""Find blocks by their text; insert, replace, move and delete them at any depth.

At the root the planner sets blank lines; in containers this module does, and keeps tight lists tight if it
can. The result is parsed again to prove that no other block changed.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, Literal

from mdplan.diagnostics import Code, Refused
from mdplan.markdown.blocks import CONTAINERS, INLINE_KINDS, Block, BlockKind, task_mark
from mdplan.markdown.formatting import read_fence
from mdplan.markdown.headings import heading_title
from mdplan.markdown.links import BLOCK_ID, whole
from mdplan.markdown.list_edits import (
    in_the_way,
    item_to_loosen,
    last_line_with_attributes,
    mark_behind,
    marker_of,
)
from mdplan.markdown.lists import PlacedItem
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import Payload, delete_blocks, place_blocks, replace_blocks
from mdplan.markdown.tables import (
    Containers,
    blocks_with_containers,
    with_prefix,
    without_marks,
    without_prefix,
)
from mdplan.text.diff import delete_lines, replace_lines
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span, line_end_around, lines_of, to_lf
from mdplan.text.source import Source
from mdplan.values import Struct, replace
from mdplan.words import say

KindName = Literal["paragraph", "list", "table", "quote", "code"]
KINDS: Final[Mapping[str, frozenset[BlockKind]]] = {
    "paragraph": frozenset({BlockKind.PARAGRAPH}),
    "list": frozenset({BlockKind.LIST}),
    "table": frozenset({BlockKind.TABLE}),
    "quote": frozenset({BlockKind.QUOTE}),
    "code": frozenset({BlockKind.FENCE, BlockKind.INDENTED_CODE}),
}
Side = Literal["before", "after"]

# Parts of other blocks, and blocks that have their own operations.
_UNNAMED: Final = frozenset(
    {BlockKind.HEADING, BlockKind.LIST_ITEM, BlockKind.DEFINITION, BlockKind.FOOTNOTE}
)
_BEGINS_CONTAINER: Final = lazy_pattern(r">|(?:[-+*]|\d{1,9}[.)])[ ]")
_MARKS: Final = lazy_pattern(r"(?m)^[ \t>]+")
_MARKS_BEFORE_TEXT: Final = lazy_pattern(r"(?:[ \t>]|[-+*][ \t]|\d{1,9}[.)][ \t])*")


class PlacedBlock(Struct, eq=False, dict=True):
    """A block in its container.

    `index` is its position in `all` blocks, `around` holds the container prefixes, `parent` is the innermost
    list, item, quote or footnote.
    """

    outline: Outline
    all: Sequence[Block]
    index: int
    around: Containers
    parent: "PlacedBlock | None"

    @property
    def block(self) -> Block:
        """The block."""
        return self.all[self.index]

    @property
    def end(self) -> int:
        """The index after its last descendant."""
        end = self.index + 1
        while end < len(self.all) and self.all[end].depth > self.block.depth:
            end += 1
        return end

    @cached_property
    def text(self) -> str:
        """Its source on one line, without container prefixes."""
        block, outline = self.block, self.outline
        if block.kind is BlockKind.PARAGRAPH:
            return one_line(block.content)
        start = self.around.text_start(outline.source.lines, block.first_line)
        span = Span(block.span.start if start is None else start, block.span.end)
        return one_line(to_lf(outline.text_of(span)))

    @cached_property
    def rendered(self) -> str:
        """`text` as a reader sees it."""
        return heading_title(self.text) if self.block.kind is BlockKind.PARAGRAPH else ""

    @cached_property
    def lines(self) -> range:
        """Its lines without trailing blank lines and enclosure tags."""
        block, outline = self.block, self.outline
        last, lines = block.last_line, outline.source.lines
        if block.kind is BlockKind.LIST:
            listing = next(each for each in outline.lists.all if each.block is block)
            last = last_line_with_attributes(outline, listing)
        elif block.kind is BlockKind.TABLE:
            last = without_marks(block, lines, outline.enclosures).last_line
        while last > block.first_line and self.around.is_blank(lines, last):
            last -= 1
        return range(block.first_line, last + 1)

    @property
    def siblings(self) -> tuple["Block | None", "Block | None"]:
        """The previous and next block in the same container."""
        depth = self.block.depth
        before: Block | None = None
        for other in reversed(self.all[: self.index]):
            if other.depth <= depth:
                before = other if other.depth == depth else None
                break
        return before, self.next_after(self.end)

    def next_after(self, end: int) -> "Block | None":
        """Return the block at index `end` if it is in the same container."""
        after = self.all[end] if end < len(self.all) else None
        return after if after is not None and after.depth == self.block.depth else None


def one_line(text: str) -> str:
    """Return `text` on one line: whitespace collapsed, quote prefixes removed."""
    first, *more = text.split("\n", 1)
    return " ".join(" ".join([first, *(_MARKS.sub("", rest) for rest in more)]).split())


def placed_blocks(outline: Outline) -> tuple[PlacedBlock, ...]:
    """Return every block of the document, in order."""
    return outline.derived(_placed_blocks)


def _placed_blocks(outline: Outline) -> tuple[PlacedBlock, ...]:
    placed: list[PlacedBlock] = []
    parents: list[PlacedBlock] = []
    for index, (block, around) in enumerate(blocks_with_containers(outline.tree)):
        del parents[block.depth :]
        parent = parents[-1] if parents else None
        placed.append(PlacedBlock(outline, outline.tree.blocks, index, around, parent))
        if block.kind in CONTAINERS:
            parents.append(placed[-1])
    return tuple(placed)


def placed_leaf(outline: Outline, offset: int) -> PlacedBlock | None:
    """Return the leaf block that contains the character at `offset`."""
    leaf = outline.tree.leaf_at(offset)
    return None if leaf is None else placed_block(outline, leaf)


def placed_block(outline: Outline, block: Block) -> PlacedBlock:
    """Return `block` of `outline` in its container."""
    placed = placed_blocks(outline)
    place = block.span.start, block.depth
    return placed[bisect_left(placed, place, key=lambda each: (each.block.span.start, each.block.depth))]


def blocks_with_text(
    outline: Outline, area: Span, text: str, kind: KindName | None
) -> tuple[PlacedBlock, ...]:
    """Return the blocks in `area` that match `text`; several if it is ambiguous.

    A match at the start precedes one further on, and source text precedes rendered text. The innermost block
    wins, or the innermost of `kind`. A text with a list or quote marker matches that container; `^id` matches
    the block with this ID.
    """
    placed = placed_blocks(outline)
    first, stop = (
        bisect_left(placed, offset, key=lambda each: each.block.span.start)
        for offset in (area.start, area.end)
    )
    here = [each for each in placed[first:stop] if each.block.kind not in _UNNAMED]
    if BLOCK_ID.fullmatch(text.strip()):
        return _of_kind(_with_id(outline, here, text.strip()), kind)
    wanted = one_line(to_lf(text).strip("\n"))
    leaves = [each for each in here if each.block.kind not in CONTAINERS]
    whole = here if _BEGINS_CONTAINER.match(wanted) else leaves
    seen = heading_title(wanted)
    ways: tuple[tuple[str, Sequence[PlacedBlock], Callable[[PlacedBlock], bool]], ...] = (
        (wanted, whole, lambda each: each.text == wanted),
        (wanted, whole, lambda each: each.text.startswith(wanted)),
        (wanted, leaves, lambda each: wanted in each.text),
        (seen, leaves, lambda each: each.rendered == seen),
        (seen, leaves, lambda each: each.rendered.startswith(seen)),
        (seen, leaves, lambda each: seen in each.rendered),
    )
    matches = (_of_kind(filter(holds, blocks), kind) for needed, blocks, holds in ways if needed)
    return next(filter(None, matches), ())


def _of_kind(found: Iterable[PlacedBlock], kind: KindName | None) -> tuple[PlacedBlock, ...]:
    """Return the innermost ancestors of `kind`, deduplicated."""
    around: dict[int, PlacedBlock] = {}
    for each in found:
        placed: PlacedBlock | None = each
        while kind is not None and placed is not None and placed.block.kind not in KINDS[kind]:
            placed = placed.parent
        if placed is not None:
            around[placed.index] = placed
    return tuple(around.values())


def _with_id(outline: Outline, blocks: Sequence[PlacedBlock], block_id: str) -> Iterator[PlacedBlock]:
    """Yield the blocks with this Obsidian ID, inline or on a separate line below."""
    for placed in blocks:
        block = placed.block
        ids = BLOCK_ID.finditer(outline.source.text, block.span.start, block.span.end)
        if block.kind not in INLINE_KINDS or all(each[1].lower() != block_id.lower() for each in ids):
            continue
        before, _ = placed.siblings
        if is_id_alone(block) and before is not None:
            yield from (other for other in blocks if other.block is before)
        elif block.last_line in outline.enclosures.attribute_lines and block.depth:
            # An ID below a list names the list, though Markdown reads it as part of the last item.
            root = outline.tree.root_at(block.span.start)
            yield from (other for other in blocks if other.block is root)
        else:
            yield placed


def is_id_alone(block: Block | None) -> bool:
    """Return True if `block` holds only the ID of the previous block."""
    is_text = block is not None and block.kind is BlockKind.PARAGRAPH
    return is_text and block is not None and BLOCK_ID.fullmatch(block.content.strip()) is not None


# --- Changes


class BlockChange(Struct, kw_only=True):
    """Whole lines to delete, other `edits`, and the `offset` at which the planner inserts `payload`."""

    deletions: tuple[Span, ...] = ()
    edits: tuple[TextEdit, ...] = ()
    offset: int | None = None
    payload: Payload | None = None

    def text_edits(self, outline: Outline) -> tuple[TextEdit, ...]:
        """Return the change as the edits that the planner will make."""
        made = [*self.edits, *(delete_blocks(outline, span) for span in self.deletions)]
        if self.offset is not None and self.payload is not None:
            made.append(place_blocks(outline, Span(self.offset, self.offset), [self.payload])[0])
        return tuple(made)


class _Exchange(Struct):
    """A replacement in the block sequence: indexes `start` to `stop` become `shapes`."""

    start: int
    stop: int
    shapes: tuple[object, ...] = ()


def arrival(index: int, payload: Payload, depth: int) -> _Exchange:
    """Return the insertion of `payload` before the block at `index`, at container depth `depth`."""
    return _Exchange(index, index, _shapes_of(payload, depth))


class BlockEditor:
    """Edits of a block and the ID below it, or of a run of siblings up to `last`."""

    def __init__(self, target: PlacedBlock, last: PlacedBlock | None = None) -> None:
        """Select `target`. Raise OUTLINE_CHANGED if it cuts an enclosure in half."""
        self.target = target
        self.outline = target.outline
        last = last or target
        below = last.siblings[1]
        self.label = below if is_id_alone(below) and last.block.kind is not BlockKind.PARAGRAPH else None
        self.end = last.end + (self.label is not None)
        self.own_lines = range(target.lines.start, last.lines.stop)
        self.lines = range(target.lines.start, self.label.last_line + 1) if self.label else self.own_lines
        lines = self.outline.source.lines
        self.span = lines.span(self.lines.start, self.lines.stop - 1)
        prefix = target.around.prefix(lines, self.lines.start)
        start = target.around.text_start(lines, self.lines.start)
        crossing = self.outline.enclosures.first_crossing(self.span)
        if prefix is None or start is None or crossing is not None:
            raise _not_apart(lines.line_at(self.span.start if crossing is None else crossing))
        before = self.outline.source.text[self.span.start : start]
        if target.around.block is not None and target.around.block.kind is BlockKind.FOOTNOTE:
            # Continuation lines of a footnote are indented by four columns, wherever its text starts.
            prefix = prefix[: len(prefix) - len(before) + len(before.rstrip())]
        self.prefix, self.start = prefix, start
        self.is_nested = target.block.depth > 0
        self.shares_line = target.around.share_line(self.lines.start)

    @property
    def source(self) -> str:
        """Its text without container prefixes."""
        return self.source_of(self.lines)

    def source_of(self, whole: range) -> str:
        """Return the text of the lines `whole` of it without container prefixes."""
        lines = self.outline.source.lines
        # Keep the indentation at the root: code needs it.
        if not self.is_nested:
            return "\n".join(map(lines.content, whole))
        rows = (without_prefix(self.prefix, lines.content(line)) for line in whole[1:])
        return "\n".join([self.outline.text_of(self._first_text), *rows])

    def place(self, side: Side) -> Span:
        """Return the empty span at which adjacent text is inserted."""
        at = self.span.end if side == "after" else self.start if self.shares_line else self.span.start
        return Span(at, at)

    def insert(self, side: Side, payload: Payload) -> BlockChange:
        """Return the insertion of `payload` before or after the block. Raise OUTLINE_CHANGED."""
        at = self.target.index if side == "before" else self.end
        return self._first_safe(
            self.insertions(side, payload), [arrival(at, payload, self.target.block.depth)]
        )

    def insertions(self, side: Side, payload: Payload) -> Iterator[BlockChange]:
        """Yield the ways to insert `payload`, best first."""
        lines = self.outline.source.lines
        if not self.is_nested:
            offset = self.span.start if side == "before" else self.span.end
            yield BlockChange(offset=offset, payload=payload)
            return
        new = lines_of(payload.text)
        old = [lines.content(line) for line in self.lines]
        for gap in self._gaps:
            if side == "before":
                lead = gap if not self.shares_line and self._has_text(self.lines.start - 1) else []
                first = self.prefix + self.outline.text_of(self._first_text) if self.shares_line else old[0]
                rows = [*self._marked([*lead, *new, *gap]), first, *old[1:]]
            else:
                tail = gap if self._has_text(self.lines.stop) else []
                rows = [*old, *(with_prefix(self.prefix, row) for row in (*gap, *new, *tail))]
            yield self._with_rows(self.lines, rows)

    def replace(self, payload: Payload) -> BlockChange:
        """Return the replacement of the block by `payload`; its ID stays. Raise OUTLINE_CHANGED."""
        target, lines = self.target, self.outline.source.lines
        span = lines.span(self.own_lines.start, self.own_lines.stop - 1)
        has_tag = any(map(self.outline.enclosures.has_mark_at, target.lines))
        if has_tag and not Outline(Source.from_text(payload.text)).enclosures.pairs:
            raise _not_apart(target.lines.start)
        exchange = _Exchange(target.index, target.end, _shapes_of(payload, target.block.depth))
        if not self.is_nested:
            change = BlockChange(edits=replace_blocks(self.outline, span, payload))
            return self._first_safe([change], [exchange])
        changes = (
            self._with_rows(self.own_lines, self._marked([*lead, *lines_of(payload.text), *tail]))
            for gap in self._gaps
            for lead in [gap if not self.shares_line and self._has_text(self.own_lines.start - 1) else []]
            for tail in [gap if self._has_text(self.own_lines.stop) else []]
        )
        return self._first_safe(changes, [exchange])

    def delete(self, *, keeps_items: bool = False) -> tuple[BlockChange, Span]:
        """Return the deletion and the span that it removes, with a container that has no other block.

        An item around it stays, empty, if it `keeps_items`. Raise OUTLINE_CHANGED, or as `remove_item`.
        """
        parent = self.target.parent
        is_kept = parent is not None and keeps_items and parent.block.kind is BlockKind.LIST_ITEM
        if parent is None or is_kept or not self.is_alone:
            return self._first_safe(self.deletions(), [self.going]), self.span
        if parent.block.kind is BlockKind.FOOTNOTE:
            raise Code.OUTLINE_CHANGED.refused(
                f"the footnote at line {parent.block.first_line} has no other text",
                say("use {delete_lines}, and remove the references to it"),
            )
        placed = self.outline.lists.item_of(parent.block)
        if placed is not None:
            return remove_item(self.outline, placed)
        return BlockEditor(parent).delete(keeps_items=keeps_items)

    def move(self, insertions: Iterable[BlockChange], come: _Exchange) -> BlockChange:
        """Return the deletion joined with the first valid insertion. Raise OUTLINE_CHANGED."""
        parent = self.target.parent
        if self.is_alone and parent is not None:
            raise Code.OUTLINE_CHANGED.refused(
                f"the block at line {self.lines.start} is all that the {parent.block.kind} around it has",
                say('move all of that with {kind="list"} or {kind="quote"}'),
            )
        changes = (
            replace(new, edits=gone.edits + new.edits, deletions=gone.deletions)
            for new in insertions
            for gone in self.deletions()
        )
        return self._first_safe(changes, [self.going, come])

    @property
    def is_alone(self) -> bool:
        """True if it is the only block in its container."""
        before, after = self.target.siblings
        return self.is_nested and before is None and (after is None or after is self.label)

    @property
    def going(self) -> _Exchange:
        """The removal of the block from the sequence."""
        return _Exchange(self.target.index, self.end)

    def deletions(self) -> Iterator[BlockChange]:
        """Yield the ways to delete the block from its container, best first."""
        if not self.is_nested:
            yield BlockChange(deletions=(self.span,))
            return
        lines, around = self.outline.source.lines, self.target.around
        before = self.target.siblings[0]
        after = self.target.next_after(self.end)
        first, stop = self.lines.start, self.lines.stop
        if after is None:
            while before is not None and around.is_blank(lines, first - 1):
                first -= 1
        elif self.shares_line:
            start = around.text_start(lines, after.first_line)
            if start is not None:
                text = self.outline.text_of(Span(start, lines.content_end(after.first_line)))
                yield self._with_rows(range(first, after.first_line + 1), self._marked([text]))
            return
        elif before is None or (around.is_blank(lines, first - 1) and around.is_blank(lines, stop)):
            stop = after.first_line
        yield BlockChange(edits=delete_lines(self.outline.source, range(first, stop)))
        yield self._with_rows(range(first, stop), [with_prefix(self.prefix, "")])

    @property
    def _gaps(self) -> tuple[list[str], ...]:
        """Blank lines to try between blocks: none first in a tight list, then one."""
        parent = self.target.parent
        placed = self.outline.lists.item_of(parent.block) if parent is not None else None
        is_tight = placed is not None and not (placed.listing.gaps or placed.listing.spaced_items)
        return ([], [""]) if is_tight else ([""],)

    def _has_text(self, line: int) -> bool:
        """Return True if `line`, adjacent to the block, has text of the same container."""
        parent = self.target.parent
        is_inside = parent is not None and parent.block.first_line <= line <= parent.block.last_line
        return is_inside and not self.target.around.is_blank(self.outline.source.lines, line)

    @property
    def _first_text(self) -> Span:
        return Span(self.start, self.outline.source.lines.content_end(self.lines.start))

    def _marked(self, rows: Sequence[str]) -> list[str]:
        """Return `rows` with what lines begin with here; the first takes the marker that the block has."""
        marked = [with_prefix(self.prefix, row) for row in rows]
        if self.shares_line:
            line_start = self.outline.source.lines.start(self.lines.start)
            marked[0] = self.outline.text_of(Span(line_start, self.start)) + rows[0]
        return marked

    def _with_rows(self, lines: range, rows: Sequence[str]) -> BlockChange:
        return BlockChange(edits=replace_lines(self.outline.source, lines.start, lines.stop - 1, rows))

    def _first_safe(self, changes: Iterable[BlockChange], exchanges: Sequence[_Exchange]) -> BlockChange:
        return first_safe(self.outline, self.lines.start, changes, exchanges)


def _not_apart(line: int) -> Refused:
    return Code.OUTLINE_CHANGED.refused(
        f"the block at line {line} holds a line that opens or closes what is around it",
        say("use {replace_lines} or {insert_lines} there"),
    )


# --- Items of lists


def remove_item(outline: Outline, placed: PlacedItem) -> tuple[BlockChange, Span]:
    """Return the removal of an item with its nested blocks and surrounding blank lines, and what it claims.

    If the first item of an ordered list is removed, the next takes its number; other numbers stay. A blank
    line keeps a loose list loose. Raise INVALID_ARGUMENT or OUTLINE_CHANGED.
    """
    listing, lines, first = placed.listing, outline.source.lines, placed.item.first_line
    # A tag below an item is a part of it in Markdown.
    has_mark = placed.item.end_line > placed.item.last_line
    if len(listing.items) > 1:
        removals = _removals(outline, placed)
        if has_mark or 0 < placed.position < len(listing.items) - 1:
            # Between two other items nothing can change.
            change = next(removals)
        else:
            own = placed_block(outline, placed.item.block)
            change = first_safe(outline, first, removals, [_Exchange(own.index, own.end)])
        start = lines.start(first)
        if listing.containers.share_line(first):
            start = marker_of(outline, listing, placed.position).span.start
        ends = [lines.end(placed.item.last_line), *(edit.span.end for edit in change.edits)]
        claimed = Span(start, max(ends))
    elif listing.containers.share_line(first):
        raise Code.INVALID_ARGUMENT.refused(
            f"the item at line {first} is all that the item around it begins with",
            say("remove the outer item, or give it other text with {replace_match} or {replace_lines}"),
        )
    elif has_mark:
        claimed = lines.span(first, last_line_with_attributes(outline, listing))
        change = BlockChange(deletions=(claimed,))
    else:
        change, claimed = BlockEditor(placed_block(outline, listing.block)).delete(keeps_items=True)
    loosened = item_to_loosen(outline, placed)
    if loosened is None:
        return change, claimed
    start = lines.start(loosened.first_line)
    prefix = listing.containers.prefix(lines, loosened.first_line) or ""
    blank = TextEdit.insert(start, prefix.rstrip(" \t") + line_end_around(lines, start))
    return replace(change, edits=(*change.edits, blank)), claimed


def _removals(outline: Outline, placed: PlacedItem) -> Iterator[BlockChange]:
    """Yield the ways to remove one of several items, best first."""
    listing, position, item, lines = placed.listing, placed.position, placed.item, outline.source.lines
    own_end, containers = lines.end(item.last_line), listing.containers
    if item is listing.items[-1]:
        before = listing.items[position - 1]
        has_mark = mark_behind(outline, listing, position - 1) is not None
        removed = Span(lines.end(before.end_line if has_mark else before.last_line), own_end)
        prefix = containers.prefix(lines, lines.line_at(own_end)) or ""
    else:
        following = listing.items[position + 1]
        own, other = (marker_of(outline, listing, at) for at in (position, position + 1))
        mark_line = mark_behind(outline, listing, position)
        removed = Span(lines.start(item.first_line), lines.start(mark_line or following.first_line))
        prefix, is_behind_marker = other.prefix, containers.share_line(item.first_line)
        if mark_line is not None and is_behind_marker:
            raise in_the_way(mark_line, "remove the item")
        takes_number = (
            not position
            and own.text != other.text
            and (len(own.text) <= len(other.text) or following.first_line == following.last_line)
        )
        if takes_number and not is_behind_marker and (mark_line is not None or own.prefix != other.prefix):
            # Keep the other marker's position: nested blocks are indented relative to it.
            yield BlockChange(deletions=(removed,), edits=(TextEdit(other.span, own.text),))
            return
        if takes_number or is_behind_marker:
            yield BlockChange(edits=(TextEdit.delete(Span(own.span.end, other.span.end)),))
            return
    yield BlockChange(deletions=(removed,))
    blank = prefix.rstrip(" \t") + line_end_around(lines, removed.start)
    yield BlockChange(edits=(TextEdit(removed, blank),))


# --- Proof that no other block changes


def first_safe(
    outline: Outline, line: int, changes: Iterable[BlockChange], exchanges: Sequence[_Exchange]
) -> BlockChange:
    """Return the first of `changes` that makes only the given `exchanges` of blocks.

    Raise OUTLINE_CHANGED at `line` if all of them change other blocks.
    """
    for change in changes:
        edits = EditList.of(change.text_edits(outline))
        if isinstance(edits, EditList) and _keeps_others(outline, edits, exchanges):
            return change
    raise Code.OUTLINE_CHANGED.refused(
        f"with this edit at line {line} a block next to it would become another one",
        say(
            "a list or table next to one of its kind would grow together with it: use {add_list_item} or "
            "{upsert_table_row}; else {replace_lines}"
        ),
    )


def _keeps_others(outline: Outline, edits: EditList, exchanges: Sequence[_Exchange]) -> bool:
    result = outline.edited(edits, Source.from_text(edits.apply(outline.source.text)))
    pieces = result.changed or ((whole(outline), whole(result)),)
    blocks, area = outline.tree.blocks, Span(pieces[0][0].start, pieces[-1][0].end)
    start, stop = (bisect_left(blocks, offset, key=_start) for offset in (area.start, area.end))
    if area.end >= len(outline.source.text):
        stop = len(blocks)
    shapes = _shapes(outline, blocks[start:stop])
    for exchange in sorted(exchanges, key=lambda each: (each.start, each.stop), reverse=True):
        shapes[exchange.start - start : exchange.stop - start] = exchange.shapes
    now = list(result.tree.inside(Span(pieces[0][1].start, pieces[-1][1].end)))
    return result.body_start == outline.body_start and shapes == _shapes(result, now)


def _start(block: Block) -> int:
    return block.span.start


def _shapes_of(payload: Payload, depth: int) -> tuple[object, ...]:
    source = Source.from_text(payload.text)
    return tuple(_shapes(Outline(source), payload.tree.blocks, depth))


def _shapes(outline: Outline, blocks: Sequence[Block], depth: int = 0) -> list[object]:
    """Return kind, depth and text of each block, without container prefixes, for comparison."""
    return [
        (block.kind, block.depth + depth, block.level, block.markup[:1], _text(outline, block, following))
        for block, following in zip(blocks, [*blocks[1:], None], strict=False)
    ]


def _text(outline: Outline, block: Block, following: Block | None) -> object:
    if block.kind is BlockKind.LIST_ITEM:
        return task_mark(following, outline.source.text) if following is not None else None
    if block.kind in CONTAINERS:
        return None
    if block.kind is BlockKind.FENCE:
        # Blank lines below a fence that nothing closes are a part of it only for the parser.
        is_open = read_fence(outline, block) is None
        return block.content, block.code.rstrip("\n") if is_open else block.code
    if block.kind in {BlockKind.PARAGRAPH, BlockKind.HEADING}:
        return " ".join(block.content.split())
    rows = lines_of(to_lf(outline.text_of(block.span)))
    return [row for line in rows if (row := _MARKS_BEFORE_TEXT.sub("", line, count=1).rstrip())]
