"""All blocks of a document, parsed part by part when an operation needs them."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import Final

from mdplan.markdown.blocks.block import CONTAINERS, Block, BlockKind
from mdplan.markdown.blocks.event_blocks import parse_part
from mdplan.text.lines import Span

# What every block of a kind has in its lines.
_SIGNS: Final = {
    BlockKind.FENCE: re.compile(r"```|~~~"),
    BlockKind.QUOTE: re.compile(r">"),
    BlockKind.TABLE: re.compile(r"[|:][ \t]*-|-[ \t]*[|:]"),
    BlockKind.DEFINITION: re.compile(r"\]:"),
    BlockKind.FOOTNOTE: re.compile(r"\[\^"),
}
_ANY: Final = re.compile(r"")


class BlockTree:
    """All blocks in document order, containers before what they contain.

    The text is in parts: each begins with an ATX heading in no container, but for the first one. No block
    reaches from one part into another (CommonMark 0.31.2, section 4.2), so each is parsed alone, once.

    `headings` are those of every depth. `is_reference` says that markdown-it-py has parsed all blocks;
    `nesting_limit` that it found content nested deeper than it goes, so that blocks may be missing.
    """

    def __init__(
        self, text: str, start: int = 0, lines_before: int = 0, headings: Sequence[Block] = ()
    ) -> None:
        """Tree of `text` from the offset `start` on, after `lines_before` lines, where it has `headings`."""
        self.text = text
        self.headings = tuple(headings)
        self.lines_before = lines_before
        self.is_reference = self.nesting_limit = False
        # The heading that each part but the first begins with.
        self.part_headings = [
            heading for heading in headings if not heading.depth and heading.markup.startswith("#")
        ]
        self.part_starts = [start, *(heading.span.start for heading in self.part_headings)]
        self._parts: dict[int, _Part] = {}

    @classmethod
    def of_reference(
        cls, text: str, start: int, lines_before: int, blocks: Sequence[Block], *, nesting_limit: bool
    ) -> "BlockTree":
        """Tree of all `blocks` of such a text, which markdown-it-py has parsed."""
        tree = cls(text, start, lines_before, [block for block in blocks if block.kind is BlockKind.HEADING])
        tree.is_reference, tree.nesting_limit = True, nesting_limit
        tree._parts = {part: _Part(()) for part in range(len(tree.part_starts))}
        for part, found in groupby(blocks, lambda block: tree.part_at(block.span.start)):
            tree._parts[part] = _Part(tuple(found))
        return tree

    def edited(self, text: str, headings: Sequence[Block], unchanged: int) -> "BlockTree":
        """Tree of another `text` with other `headings`, the first `unchanged` parts of which are the same."""
        tree = BlockTree(text, self.part_starts[0], self.lines_before, headings)
        tree._parts = {number: part for number, part in self._parts.items() if number < unchanged}
        return tree

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Every block."""
        return tuple(block for part in range(len(self.part_starts)) for block in self.blocks_of(part))

    @cached_property
    def roots(self) -> tuple[Block, ...]:
        """Blocks in no container."""
        return tuple(block for block in self.blocks if not block.depth)

    def of_kinds(self, *kinds: BlockKind) -> tuple[Block, ...]:
        """Blocks of these kinds and of every depth, in document order."""
        signs = [_SIGNS.get(kind, _ANY) for kind in kinds]
        return tuple(
            block
            for part in range(len(self.part_starts))
            if any(self._may_contain(part, sign) for sign in signs)
            for block in self.blocks_of(part)
            if block.kind in kinds
        )

    def containing(self, sign: re.Pattern[str]) -> Iterator[Block]:
        """Every block with `sign` in its lines, and others near it: whole root blocks."""
        for part in range(len(self.part_starts)):
            if self._may_contain(part, sign):
                yield from self.blocks_of(part)

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
        first, end = (bisect_left(self.fences, offset, key=_start) for offset in (span.start, span.end))
        return self.fences[first:end]

    @property
    def content_end(self) -> int:
        """Start of the trailing run of definitions, or the end of the text."""
        end = len(self.text)
        # A heading begins the last part: without a label in it no definition is at the end.
        if "]:" not in self.text[self.part_starts[-1] :]:
            return end
        for root in self.roots_backwards():
            if root.kind not in {BlockKind.DEFINITION, BlockKind.FOOTNOTE}:
                break
            end = root.span.start
        return end

    @property
    def last_root(self) -> Block | None:
        """The last root block."""
        return next(self.roots_backwards(), None)

    def roots_backwards(self, end: int | None = None) -> Iterator[Block]:
        """Root blocks that end at the offset `end` or before it, or all of them; the last one first."""
        last = len(self.part_starts) if end is None else bisect_left(self.part_starts, end)
        for part in reversed(range(last)):
            for root in reversed(self._part(part).roots):
                if end is None or root.span.end <= end:
                    yield root

    def leaf_at(self, offset: int) -> Block | None:
        """Block without blocks in it whose lines contain the code point at `offset`."""
        leaf = self._last_leaf(offset)
        return leaf if leaf is not None and offset < leaf.span.end else None

    def container_at(self, offset: int) -> Block | None:
        """Innermost quote or list item around the leaf whose lines contain the code point at `offset`."""
        leaf = self._last_leaf(offset)
        if leaf is None:
            return None
        before = self._part(self.part_at(leaf.span.start)).blocks_before(leaf)
        return next((block for block in before if block.depth < leaf.depth), None)

    def root_at(self, offset: int) -> Block | None:
        """Root block that contains the code point at `offset`."""
        part = self.part_at(offset)
        root = None if part < 0 else _last(self._part(part).roots, offset)
        return root if root is not None and offset < root.span.end else None

    def root_ending_at(self, offset: int) -> Block | None:
        """Root block whose last line ends at `offset`."""
        part = self.part_at(offset - 1)
        root = None if part < 0 else _last(self._part(part).roots, offset - 1)
        return root if root is not None and root.span.end == offset else None

    def leaves_in(self, span: Span) -> Iterator[Block]:
        """Leaf blocks that share a code point with `span`, or contain it if it is empty, in their order."""
        for part in self.parts_in(span):
            yield from self._part(part).leaves_in(span)

    def tables_in(self, span: Span) -> Iterator[Block]:
        """Tables of every depth that start in `span`."""
        inside = self.inside(span, _SIGNS[BlockKind.TABLE])
        return (block for block in inside if block.kind is BlockKind.TABLE)

    def inside(self, span: Span, sign: re.Pattern[str] | None = None) -> Iterator[Block]:
        """Blocks that start in `span`; with a `sign` at least those that have it in their lines."""
        for part in range(max(self.part_at(span.start), 0), bisect_left(self.part_starts, span.end)):
            if sign is None or self._may_contain(part, sign):
                yield from self._part(part).inside(span)

    def part_at(self, offset: int) -> int:
        """Index of the part that contains `offset`; -1 before the first one."""
        return bisect_right(self.part_starts, offset) - 1

    def parts_in(self, span: Span) -> range:
        """Indexes of the parts that contain something of `span`, or touch it."""
        return range(max(self.part_at(span.start), 0), bisect_left(self.part_starts, span.end + 1))

    def part_end(self, part: int) -> int:
        """Where the part with this index ends."""
        return self.part_starts[part + 1] if part + 1 < len(self.part_starts) else len(self.text)

    def lines_before_part(self, part: int) -> int:
        """How many lines are before the part with this index."""
        return self.part_headings[part - 1].first_line - 1 if part else self.lines_before

    def blocks_of(self, part: int) -> tuple[Block, ...]:
        """All blocks of the part with this index."""
        return self._part(part).blocks

    def _part(self, number: int) -> "_Part":
        part = self._parts.get(number)
        if part is None:
            start, end = self.part_starts[number], self.part_end(number)
            blocks = parse_part(self.text[start:end], start, self.lines_before_part(number))
            # Another thread may have been faster; blocks are compared by identity.
            part = self._parts.setdefault(number, _Part(blocks))
        return part

    def _may_contain(self, part: int, sign: re.Pattern[str]) -> bool:
        return sign.search(self.text, self.part_starts[part], self.part_end(part)) is not None

    def _last_leaf(self, offset: int) -> Block | None:
        """The last leaf that starts at `offset` or before it."""
        parts = (self._part(part) for part in range(self.part_at(offset), -1, -1))
        found = (_last(part.leaves, offset) for part in parts)
        return next((leaf for leaf in found if leaf is not None), None)


class _Part:
    """Blocks in document order, containers before what they contain; the first one is at the root."""

    def __init__(self, blocks: tuple[Block, ...]) -> None:
        self.blocks = blocks
        self.roots = tuple(block for block in blocks if not block.depth)
        self.leaves = tuple(block for block in blocks if block.kind not in CONTAINERS)

    def blocks_before(self, block: Block) -> Iterator[Block]:
        """Blocks before `block`, which is one of them; the last one first."""
        behind = bisect_right(self.blocks, block.span.start, key=_start)
        before = iter(self.blocks[behind - 1 :: -1])
        for each in before:
            if each is block:
                break
        return before

    def leaves_in(self, span: Span) -> Iterable[Block]:
        """Leaf blocks that share a code point with `span`, or contain it if it is empty, in their order."""
        first = bisect_right(self.leaves, span.start, key=_end)
        stop = bisect_right(self.leaves, span.end, key=_start)
        return (leaf for leaf in self.leaves[first:stop] if leaf.span.overlaps(span))

    def inside(self, span: Span) -> Sequence[Block]:
        """Blocks that start in `span`."""
        first, stop = (bisect_left(self.blocks, offset, key=_start) for offset in (span.start, span.end))
        return self.blocks[first:stop]


def _last(blocks: Sequence[Block], offset: int) -> Block | None:
    """The last of `blocks` that starts at `offset` or before it."""
    index = bisect_right(blocks, offset, key=_start) - 1
    return blocks[index] if index >= 0 else None


def _start(block: Block) -> int:
    return block.span.start


def _end(block: Block) -> int:
    return block.span.end
