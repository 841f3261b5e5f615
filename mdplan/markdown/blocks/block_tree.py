"""All blocks of a document, made where somebody asks for them."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from mdplan.markdown.blocks.block import CONTAINERS, Block, BlockKind
from mdplan.markdown.blocks.block_index import BlockIndex
from mdplan.markdown.blocks.document_parts import BlockParts, ReferenceParts
from mdplan.markdown.blocks.heading_rows import HeadingTable
from mdplan.text.span import Span

# What every block of a kind has in its lines.
_SIGNS: Final = {
    BlockKind.FENCE: re.compile(r"```|~~~"),
    BlockKind.QUOTE: re.compile(r">"),
    BlockKind.TABLE: re.compile(r"[|:]"),
    BlockKind.DEFINITION: re.compile(r"\]:"),
    BlockKind.FOOTNOTE: re.compile(r"\[\^"),
}
_ANY: Final = re.compile(r"")


class BlockTree:
    """All blocks in document order, containers before what they contain.

    `nesting_limit` is true when content was nested deeper than the parser goes, so that blocks may be
    missing behind that place.
    """

    def __init__(self, parts: BlockParts, *, nesting_limit: bool = False) -> None:
        """Tree of `parts`."""
        self.nesting_limit = nesting_limit
        self.parts = parts
        self._blocks: dict[int, tuple[Block, ...]] = {}
        self._indexes: dict[int, BlockIndex] = {}

    def with_parts(self, parts: BlockParts, unchanged: int) -> "BlockTree":
        """Tree of `parts`, the first `unchanged` of which have the blocks of those of this tree."""
        tree = BlockTree(parts)
        tree._blocks = {part: blocks for part, blocks in self._blocks.items() if part < unchanged}
        return tree

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
        signs = [_SIGNS.get(kind, _ANY) for kind in kinds]
        return tuple(
            block
            for part in range(self._count)
            if any(self.parts.may_contain(part, sign) for sign in signs)
            for block in self.blocks_of(part)
            if block.kind in kinds
        )

    def around(self, sign: re.Pattern[str]) -> Iterator[Block]:
        """Every block with `sign` in its lines, and others near it: whole root blocks."""
        for part in range(self._count):
            if self.parts.may_contain(part, sign):
                yield from self.blocks_of(part)

    @cached_property
    def headings(self) -> tuple[Block, ...]:
        """Headings of every depth, in document order."""
        return self.of_kinds(BlockKind.HEADING)

    @property
    def heading_rows(self) -> HeadingTable:
        """The same as rows, without blocks."""
        return self.parts.rows

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
        last = self._count if end is None else bisect_left(self.parts.starts, end)
        for part in reversed(range(last)):
            for root in reversed(self._index(part).roots):
                if end is None or root.span.end <= end:
                    yield root

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

    def root_at(self, offset: int) -> Block | None:
        """Root block that contains the code point at `offset`."""
        part = bisect_right(self.parts.starts, offset) - 1
        return None if part < 0 else self._index(part).root_at(offset)

    def root_ending_at(self, offset: int) -> Block | None:
        """Root block whose last line ends at `offset`."""
        part = bisect_left(self.parts.starts, offset) - 1
        return self._index(part).root_ending_at(offset) if part >= 0 else None

    def leaves_in(self, span: Span) -> Iterator[Block]:
        """Leaf blocks that share a code point with `span`, or contain it if it is empty, in their order."""
        for part in self.parts_in(span):
            yield from self._index(part).leaves_in(span)

    def inside(self, span: Span, sign: re.Pattern[str] | None = None) -> Iterator[Block]:
        """Blocks that start in `span`; with a `sign` at least those that have it in their lines."""
        for part in self._parts_in(span, span.end):
            if sign is None or self.parts.may_contain(part, sign):
                yield from self._index(part).inside(span)

    @property
    def part_starts(self) -> Sequence[int]:
        """Starts of the parts: of root ATX headings, and of what stands before them."""
        return self.parts.starts

    @property
    def is_scanned(self) -> bool:
        """Whether the blocks come from pulldown-cmark."""
        return not isinstance(self.parts, ReferenceParts)

    def parts_in(self, span: Span) -> range:
        """Indexes of the parts that hold something of `span`, or touch it."""
        return self._parts_in(span, span.end + 1)

    def blocks_of(self, part: int) -> tuple[Block, ...]:
        """All blocks of the part with this index."""
        blocks = self._blocks.get(part)
        if blocks is None:
            # Another thread may have been faster; blocks are compared by identity.
            blocks = self._blocks.setdefault(part, self.parts.blocks(part))
        return blocks

    @property
    def _count(self) -> int:
        return len(self.parts.starts)

    def _index(self, part: int) -> BlockIndex:
        if part not in self._indexes:
            self._indexes[part] = BlockIndex(self.blocks_of(part))
        return self._indexes[part]

    def _parts_in(self, span: Span, end: int) -> range:
        """Parts that hold something of `span`, up to those that start before `end`."""
        starts = self.parts.starts
        first = max(bisect_right(starts, span.start) - 1, 0)
        return range(first, bisect_left(starts, end))

    def _last_leaf(self, offset: int) -> tuple[BlockIndex | None, int]:
        """The last leaf that starts at `offset` or before it: the index of its part, and its number there."""
        for part in range(bisect_right(self.parts.starts, offset) - 1, -1, -1):
            index = self._index(part)
            number = index.last_leaf(offset)
            if number is not None:
                return index, number
        return None, 0

    @cached_property
    def _fence_starts(self) -> list[int]:
        return [block.span.start for block in self.fences]
