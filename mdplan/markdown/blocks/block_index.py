"""Blocks, found by their places."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from mdplan.markdown.blocks.block import CONTAINERS, Block
from mdplan.text.span import Span


@dataclass(frozen=True)
class BlockIndex:
    """Blocks in document order, containers before what they hold; the first one is at the root."""

    blocks: tuple[Block, ...]

    @cached_property
    def roots(self) -> tuple[Block, ...]:
        """Blocks that stand in no container."""
        return tuple(block for block in self.blocks if not block.depth)

    @cached_property
    def leaves(self) -> tuple[Block, ...]:
        """Blocks that hold no other blocks, in document order."""
        return tuple(block for block in self.blocks if block.kind not in CONTAINERS)

    def last_leaf(self, offset: int) -> int | None:
        """Index of the last leaf that starts at `offset` or before it."""
        index = bisect_right(self._leaf_starts, offset) - 1
        return index if index >= 0 else None

    def container_of(self, leaf: int) -> Block | None:
        """Innermost quote or list item around the leaf with this index."""
        return self._leaf_containers[leaf]

    def root_at(self, offset: int) -> Block | None:
        """Root block that holds the code point at `offset`."""
        index = bisect_right(self._root_starts, offset) - 1
        return self.roots[index] if index >= 0 and offset < self.roots[index].span.end else None

    def root_ending_at(self, offset: int) -> Block | None:
        """Root block whose last line ends at `offset`."""
        index = bisect_left(self._root_starts, offset) - 1
        return self.roots[index] if index >= 0 and self.roots[index].span.end == offset else None

    def leaves_in(self, span: Span) -> Iterator[Block]:
        """Leaf blocks that share a code point with `span`, or hold it if it is empty, in document order."""
        for index in range(bisect_right(self._leaf_ends, span.start), len(self.leaves)):
            leaf = self.leaves[index]
            if leaf.span.start > span.end:
                return
            if leaf.span.overlaps(span):
                yield leaf

    def inside(self, span: Span) -> Iterator[Block]:
        """Blocks that start in `span`."""
        for index in range(bisect_left(self._starts, span.start), len(self.blocks)):
            if self.blocks[index].span.start >= span.end:
                return
            yield self.blocks[index]

    @cached_property
    def _starts(self) -> list[int]:
        return [block.span.start for block in self.blocks]

    @cached_property
    def _leaf_containers(self) -> list[Block | None]:
        """By the index of each leaf, the innermost block around it."""
        found: list[Block | None] = []
        around: list[Block] = []
        for block in self.blocks:
            while around and around[-1].depth >= block.depth:
                around.pop()
            if block.kind in CONTAINERS:
                around.append(block)
            else:
                found.append(around[-1] if around else None)
        return found

    @cached_property
    def _leaf_ends(self) -> list[int]:
        return [block.span.end for block in self.leaves]

    @cached_property
    def _leaf_starts(self) -> list[int]:
        return [block.span.start for block in self.leaves]

    @cached_property
    def _root_starts(self) -> list[int]:
        return [block.span.start for block in self.roots]
