"""All blocks of a document, looked into only where somebody asks."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import cached_property
from typing import Protocol

from mdplan.markdown.blocks.block import CONTAINERS, Block, BlockKind
from mdplan.markdown.blocks.block_index import BlockIndex
from mdplan.markdown.blocks.heading_rows import HeadingRows
from mdplan.text.span import Span


class BlockParts(Protocol):
    """A document in parts, each of them some whole root blocks."""

    @property
    def starts(self) -> Sequence[int]:
        """Where the first block of each part starts, as an offset in the text."""

    def __len__(self) -> int:
        """How many there are."""

    def blocks(self, part: int) -> tuple[Block, ...]:
        """All blocks of the part with this index, at least one; the same objects are not asked for twice."""

    def headings(self, blocks: MutableMapping[int, tuple[Block, ...]]) -> HeadingRows:
        """Headings of every depth; `blocks` are known by the index of their part, and more come to them."""

    def holding(self, kind: BlockKind) -> Iterator[int]:
        """Indexes of the parts in which there can be a block of `kind`, in order; in others there is none."""

    def shows(self, part: int, sign: re.Pattern[str]) -> bool:
        """Whether `sign` may be found in the lines of that part; False is certain."""

    def has_containers(self, part: int) -> bool:
        """Whether that part holds lists and quotes without headings alone, by the reference pass."""

    def may_hold(self, part: int, kinds: Collection[BlockKind], /) -> bool:
        """Whether a block of one of `kinds` may stand in that part; False is certain."""


class BlockTree:
    """All blocks in document order, containers before what they hold.

    `nesting_limit` is true when content was nested deeper than the parser goes, so that blocks may be
    missing behind that place.
    """

    def __init__(
        self,
        parts: BlockParts,
        *,
        nesting_limit: bool = False,
        known: Mapping[int, tuple[Block, ...]] | None = None,
        rows: HeadingRows | None = None,
    ) -> None:
        """Tree of `parts`, of which some are `known` already, by their index, or all headings are."""
        self.nesting_limit = nesting_limit
        self._rows = rows
        self._parts = parts
        self._blocks: dict[int, tuple[Block, ...]] = dict(known or {})
        self._indexes: dict[int, BlockIndex] = {}
        self._may_hold: dict[tuple[int, Hashable], bool] = {}

    @staticmethod
    def of(blocks: tuple[Block, ...], *, nesting_limit: bool = False) -> "BlockTree":
        """Tree of blocks that are known already."""
        return BlockTree(_KnownBlocks(blocks), nesting_limit=nesting_limit)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Every block."""
        return tuple(block for part in range(self._count) for block in self.blocks_of(part))

    @cached_property
    def roots(self) -> tuple[Block, ...]:
        """Blocks that stand in no container."""
        return tuple(block for block in self.blocks if not block.depth)

    @cached_property
    def leaves(self) -> tuple[Block, ...]:
        """Blocks that hold no other blocks, in document order."""
        return tuple(block for block in self.blocks if block.kind not in CONTAINERS)

    def of_kinds(self, *kinds: BlockKind) -> tuple[Block, ...]:
        """Blocks of these kinds and of every depth, in document order."""
        parts: Iterable[int] = self._parts.holding(kinds[0])
        if len(kinds) > 1:
            parts = sorted({part for kind in kinds for part in self._parts.holding(kind)})
        return tuple(block for part in parts for block in self.blocks_of(part) if block.kind in kinds)

    def around(self, kind: BlockKind, sign: re.Pattern[str]) -> Iterator[Block]:
        """Every block of `kind` with `sign` in its lines, and those near it: all of the same root block."""
        for part in self._parts.holding(kind):
            if self._parts.shows(part, sign):
                yield from self.blocks_of(part)

    @cached_property
    def headings(self) -> tuple[Block, ...]:
        """Headings of every depth, in document order."""
        return self.of_kinds(BlockKind.HEADING)

    @cached_property
    def heading_rows(self) -> HeadingRows:
        """The same as rows, without blocks."""
        return self._parts.headings(self._blocks) if self._rows is None else self._rows

    @cached_property
    def fences(self) -> tuple[Block, ...]:
        """Fenced code blocks of every depth, in document order: the index of each is what callers count."""
        return self.of_kinds(BlockKind.FENCE)

    @cached_property
    def definitions(self) -> tuple[Block, ...]:
        """Link reference definitions of every depth, in document order."""
        return self.of_kinds(BlockKind.DEFINITION)

    def fences_in(self, span: Span) -> tuple[Block, ...]:
        """Fenced code blocks that start in `span`."""
        first = bisect_left(self._fence_starts, span.start)
        return self.fences[first : bisect_left(self._fence_starts, span.end)]

    @property
    def last_root(self) -> Block | None:
        """Root block behind all others."""
        return next(self.roots_backwards(), None)

    def roots_backwards(self, end: int | None = None) -> Iterator[Block]:
        """Root blocks that end at the offset `end` or before it, or all of them; the last one first."""
        last = self._count if end is None else bisect_left(self._parts.starts, end)
        for part in reversed(range(last)):
            for root in reversed(self._index(part).roots):
                if end is None or root.span.end <= end:
                    yield root

    def last_roots(self) -> Iterator[Block]:
        """Root blocks, the last one first, back to lists and quotes that were not looked into so far."""
        for part in reversed(range(self._count)):
            if self.has_unmade_containers(part):
                return
            yield from reversed(self._index(part).roots)

    def leaf_at(self, offset: int) -> Block | None:
        """Block without blocks in it whose lines hold the code point at `offset`."""
        index, number = self._last_leaf(offset)
        if index is None:
            return None
        leaf = index.leaves[number]
        return leaf if offset < leaf.span.end else None

    def container_at(self, offset: int) -> Block | None:
        """Innermost quote or list item around the leaf whose lines hold the code point at `offset`."""
        index, number = self._last_leaf(offset)
        return None if index is None else index.container_of(number)

    def root_at(self, offset: int, kinds: frozenset[BlockKind] | None = None) -> Block | None:
        """Root block that holds the code point at `offset`; with `kinds` at least where it is of these."""
        part = bisect_right(self._parts.starts, offset) - 1
        if part < 0 or (kinds is not None and not self.may_hold(part, kinds)):
            return None
        return self._index(part).root_at(offset)

    def root_ending_at(self, offset: int) -> Block | None:
        """Root block whose last line ends at `offset`."""
        part = bisect_left(self._parts.starts, offset) - 1
        return self._index(part).root_ending_at(offset) if part >= 0 else None

    def leaves_in(self, span: Span, kinds: frozenset[BlockKind] | None = None) -> Iterator[Block]:
        """Leaf blocks that share a code point with `span`, or hold it if it is empty, in document order.

        With `kinds` at least those of these.
        """
        for part in self._parts_in(span, span.end + 1):
            if kinds is None or self.may_hold(part, kinds):
                yield from self._index(part).leaves_in(span)

    def inside(self, span: Span, sign: re.Pattern[str] | None = None) -> Iterator[Block]:
        """Blocks that start in `span`; with a `sign` at least those that have it in their lines."""
        for part in self._parts_in(span, span.end):
            if sign is None or self._parts.shows(part, sign):
                yield from self._index(part).inside(span)

    def may_hold(self, part: int, kinds: frozenset[BlockKind]) -> bool:
        """Whether a block of one of `kinds` may stand in the part with this index; False is certain."""
        found = self._may_hold.get((part, kinds))
        if found is None:
            # Many edits of one long list ask for it again and again.
            found = self._may_hold[part, kinds] = self._parts.may_hold(part, kinds)
        return found

    @property
    def parts(self) -> BlockParts:
        """The parts that it is made of."""
        return self._parts

    @property
    def known(self) -> Mapping[int, tuple[Block, ...]]:
        """Blocks of the parts that were looked into, by the index of each part."""
        return self._blocks

    @property
    def part_starts(self) -> Sequence[int]:
        """Starts of root blocks, as many as are known before any of them is looked into."""
        return self._parts.starts

    @property
    def is_scanned(self) -> bool:
        """Whether the blocks come from the scanner, and not from the reference pass."""
        return not isinstance(self._parts, _KnownBlocks)

    def parts_in(self, span: Span) -> range:
        """Indexes of the parts that hold something of `span`, or touch it."""
        return self._parts_in(span, span.end + 1)

    def blocks_of(self, part: int) -> tuple[Block, ...]:
        """All blocks of the part with this index."""
        blocks = self._blocks.get(part)
        if blocks is None:
            # Another thread may have been faster; blocks are compared by identity.
            blocks = self._blocks.setdefault(part, self._parts.blocks(part))
        return blocks

    def has_unmade_containers(self, part: int) -> bool:
        """Whether that part holds nothing but lists and quotes without headings, not looked into so far."""
        return part not in self._blocks and self._parts.has_containers(part)

    def adopt(self, part: int, blocks: tuple[Block, ...]) -> None:
        """Take `blocks` for those of that part: they come from the reference pass, as its own would."""
        self._blocks.setdefault(part, blocks)

    @property
    def _count(self) -> int:
        return len(self._parts)

    def _index(self, part: int) -> BlockIndex:
        if part not in self._indexes:
            self._indexes[part] = BlockIndex(self.blocks_of(part))
        return self._indexes[part]

    def _parts_in(self, span: Span, end: int) -> range:
        """Parts that hold something of `span`, up to those that start before `end`."""
        starts = self._parts.starts
        first = max(bisect_right(starts, span.start) - 1, 0)
        return range(first, bisect_left(starts, end))

    def _last_leaf(self, offset: int) -> tuple[BlockIndex | None, int]:
        """The last leaf that starts at `offset` or before it: the index of its part, and its number there."""
        for part in range(bisect_right(self._parts.starts, offset) - 1, -1, -1):
            index = self._index(part)
            number = index.last_leaf(offset)
            if number is not None:
                return index, number
        return None, 0

    @cached_property
    def _fence_starts(self) -> list[int]:
        return [block.span.start for block in self.fences]


class _KnownBlocks:
    """One part with all of a document's blocks."""

    def __init__(self, blocks: tuple[Block, ...]) -> None:
        self.starts = [blocks[0].span.start] if blocks else []
        self._blocks = blocks

    def __len__(self) -> int:
        return len(self.starts)

    def blocks(self, part: int) -> tuple[Block, ...]:
        assert part == 0
        return self._blocks

    def headings(self, blocks: MutableMapping[int, tuple[Block, ...]]) -> HeadingRows:
        blocks[0] = self._blocks
        rows = HeadingRows()
        rows.add_blocks(block for block in self._blocks if block.kind is BlockKind.HEADING)
        return rows

    def shows(self, _part: int, _sign: re.Pattern[str]) -> bool:
        return True

    def has_containers(self, _part: int) -> bool:
        return False

    def may_hold(self, _part: int, _kinds: Collection[BlockKind]) -> bool:
        return True

    def holding(self, kind: BlockKind) -> Iterator[int]:
        if any(block.kind is kind for block in self._blocks):
            yield 0
