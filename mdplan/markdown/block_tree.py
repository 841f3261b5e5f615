"""The block tree of a document, parsed in parts on demand."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Final

from mdplan.markdown.blocks import CONTAINERS, Block, BlockKind
from mdplan.markdown.parser import DoubtfulText, ParserFailure, parse_headings, parse_part
from mdplan.markdown.reference_parser import parse_reference_blocks
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, Span

if TYPE_CHECKING:
    from mdplan.text.edit import EditList


class BlockTree:
    """All blocks in document order, parents before children.

    The text is split before each top-level ATX heading. No block crosses such a heading (CommonMark 0.31.2,
    section 4.2), so each part is parsed on its own, and only when needed.

    `headings` are of any depth. `is_reference`: markdown-it-py parsed the text. `nesting_limit`: it hit its
    nesting limit, so blocks may be missing.
    """

    def __init__(
        self, text: str, start: int = 0, lines_before: int = 0, headings: Sequence[Block] = ()
    ) -> None:
        """Create the tree of `text` from offset `start`, which follows `lines_before` lines."""
        self.text = text
        self.headings = tuple(headings)
        self.lines_before = lines_before
        self.is_reference = self.nesting_limit = False
        # The headings that start all parts except the first.
        self.part_headings = [
            heading for heading in headings if not heading.depth and heading.markup.startswith("#")
        ]
        self.part_starts = [start, *(heading.span.start for heading in self.part_headings)]
        self._parts: dict[int, _Part] = {}

    @classmethod
    def of_reference(
        cls, text: str, start: int, lines_before: int, blocks: Sequence[Block], *, nesting_limit: bool
    ) -> "BlockTree":
        """Create a tree from `blocks` that markdown-it-py has parsed."""
        tree = cls(text, start, lines_before, [block for block in blocks if block.kind is BlockKind.HEADING])
        tree.is_reference, tree.nesting_limit = True, nesting_limit
        tree._parts = {part: _Part(()) for part in range(len(tree.part_starts))}
        for part, part_blocks in groupby(blocks, lambda block: tree.part_at(block.span.start)):
            tree._parts[part] = _Part(tuple(part_blocks))
        return tree

    def edited(self, text: str, headings: Sequence[Block], unchanged: int) -> "BlockTree":
        """Return the tree of `text` with other `headings`, keeping the first `unchanged` parts."""
        tree = BlockTree(text, self.part_starts[0], self.lines_before, headings)
        tree._parts = {number: part for number, part in self._parts.items() if number < unchanged}
        return tree

    def moved(self, text: str, start: int, lines_before: int) -> "BlockTree":
        """Return this tree for a `text` that differs only before it, such as in front matter."""
        characters, lines = start - self.part_starts[0], lines_before - self.lines_before
        return BlockTree(
            text, start, lines_before, [heading.moved(characters, lines) for heading in self.headings]
        )

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks."""
        return tuple(block for part in range(len(self.part_starts)) for block in self.blocks_of(part))

    @cached_property
    def roots(self) -> tuple[Block, ...]:
        """Top-level blocks."""
        return tuple(block for block in self.blocks if not block.depth)

    def of_kinds(self, *kinds: BlockKind) -> tuple[Block, ...]:
        """Return the blocks of these kinds at any depth, in document order."""
        signs = [_SIGNS.get(kind, _ANY) for kind in kinds]
        return tuple(
            block
            for part in range(len(self.part_starts))
            if any(self._may_contain(part, sign) for sign in signs)
            for block in self.blocks_of(part)
            if block.kind in kinds
        )

    def containing(self, sign: re.Pattern[str]) -> Iterator[Block]:
        """Yield all blocks of the parts that contain `sign`."""
        for part in range(len(self.part_starts)):
            if self._may_contain(part, sign):
                yield from self.blocks_of(part)

    @cached_property
    def fences(self) -> tuple[Block, ...]:
        """Fenced code blocks of any depth, in document order: the order in which callers count them."""
        return self.of_kinds(BlockKind.FENCE)

    @cached_property
    def definitions(self) -> tuple[Block, ...]:
        """Link reference definitions of any depth, in document order."""
        return self.of_kinds(BlockKind.DEFINITION)

    def fences_in(self, span: Span) -> tuple[Block, ...]:
        """Return the fenced code blocks that start in `span`."""
        first, end = (bisect_left(self.fences, offset, key=_start) for offset in (span.start, span.end))
        return self.fences[first:end]

    @property
    def content_end(self) -> int:
        """The start of the trailing definitions and their comments, or the end of the text."""
        end = len(self.text)
        # The last part starts with a heading, so a trailing definition must be in it.
        if "]:" not in self.text[self.part_starts[-1] :]:
            return end
        below: Block | None = None
        for root in self.roots_backwards():
            if root.kind in {BlockKind.DEFINITION, BlockKind.FOOTNOTE}:
                end, below = root.span.start, root
                continue
            comment = _COMMENT.fullmatch(self.text, root.span.start, root.span.end)
            if root.kind is not BlockKind.HTML or comment is None:
                break
            if below is not None and (
                _ABOUT_LINKS.search(comment[0]) or below.first_line == root.last_line + 1
            ):
                end, below = root.span.start, root
            elif below is not None and below.kind is BlockKind.HTML:
                break
        return end

    @property
    def last_root(self) -> Block | None:
        """The last top-level block."""
        return next(self.roots_backwards(), None)

    def roots_backwards(self, end: int | None = None) -> Iterator[Block]:
        """Yield the top-level blocks that end at or before `end`, last first."""
        last = len(self.part_starts) if end is None else bisect_left(self.part_starts, end)
        for part in reversed(range(last)):
            for root in reversed(self._part(part).roots):
                if end is None or root.span.end <= end:
                    yield root

    def leaf_at(self, offset: int) -> Block | None:
        """Return the leaf block whose lines contain `offset`."""
        leaf = self._last_leaf(offset)
        return leaf if leaf is not None and offset < leaf.span.end else None

    def container_at(self, offset: int) -> Block | None:
        """Return the innermost quote or list item around the leaf at `offset`."""
        leaf = self._last_leaf(offset)
        if leaf is None:
            return None
        before = self._part(self.part_at(leaf.span.start)).blocks_before(leaf)
        return next((block for block in before if block.depth < leaf.depth), None)

    def root_at(self, offset: int) -> Block | None:
        """Return the top-level block that contains `offset`."""
        part = self.part_at(offset)
        root = None if part < 0 else _last(self._part(part).roots, offset)
        return root if root is not None and offset < root.span.end else None

    def leaves_in(self, span: Span) -> Iterator[Block]:
        """Yield the leaf blocks that overlap `span`, or contain it if it is empty, in order."""
        for part in range(max(self.part_at(span.start), 0), bisect_left(self.part_starts, span.end + 1)):
            yield from self._part(part).leaves_in(span)

    def tables_in(self, span: Span) -> Iterator[Block]:
        """Return the tables of any depth that start in `span`."""
        inside = self.inside(span, _SIGNS[BlockKind.TABLE])
        return (block for block in inside if block.kind is BlockKind.TABLE)

    def inside(self, span: Span, sign: re.Pattern[str] | None = None) -> Iterator[Block]:
        """Yield the blocks that start in `span`, skipping parts without `sign`."""
        for part in range(max(self.part_at(span.start), 0), bisect_left(self.part_starts, span.end)):
            if sign is None or self._may_contain(part, sign):
                yield from self._part(part).inside(span)

    def part_at(self, offset: int) -> int:
        """Return the index of the part that contains `offset`, or -1 before the first part."""
        return bisect_right(self.part_starts, offset) - 1

    def part_end(self, part: int) -> int:
        """Return the end offset of `part`."""
        return self.part_starts[part + 1] if part + 1 < len(self.part_starts) else len(self.text)

    def lines_before_part(self, part: int) -> int:
        """Return the number of lines before `part`."""
        return self.part_headings[part - 1].first_line - 1 if part else self.lines_before

    def blocks_of(self, part: int) -> tuple[Block, ...]:
        """Return all blocks of `part`."""
        return self._part(part).blocks

    def _part(self, number: int) -> "_Part":
        part = self._parts.get(number)
        if part is None:
            start, end = self.part_starts[number], self.part_end(number)
            blocks = parse_part(self.text[start:end], start, self.lines_before_part(number))
            # Another thread may have parsed it first; blocks are compared by identity.
            part = self._parts.setdefault(number, _Part(blocks))
        return part

    def _may_contain(self, part: int, sign: re.Pattern[str]) -> bool:
        return sign.search(self.text, self.part_starts[part], self.part_end(part)) is not None

    def _last_leaf(self, offset: int) -> Block | None:
        """Return the last leaf that starts at or before `offset`."""
        parts = (self._part(part) for part in range(self.part_at(offset), -1, -1))
        leaves = (_last(part.leaves, offset) for part in parts)
        return next((leaf for leaf in leaves if leaf is not None), None)


def lines_before(text: str, lines: LineIndex, start: int) -> int:
    """Return the number of lines before the line start `start`."""
    if not start:
        return 0
    return lines.count if start == len(text) else lines.line_at(start) - 1


def parse_blocks(text: str, lines: LineIndex, start: int = 0) -> BlockTree:
    """Parse the blocks of `text` from `start`, the end of the front matter.

    Use pulldown-cmark, or markdown-it-py if it fails or may find other headings than GitHub.
    """
    before = lines_before(text, lines, start)
    try:
        return BlockTree(text, start, before, parse_headings(text[start:], start, before))
    except (DoubtfulText, ParserFailure):
        blocks, nesting_limit = parse_reference_blocks(text[start:], start, before)
        return BlockTree.of_reference(text, start, before, blocks, nesting_limit=nesting_limit)


def reparse_blocks(
    tree: BlockTree, edits: "EditList", text: str, lines: LineIndex, start: int
) -> tuple[BlockTree, tuple[tuple[Span, Span], ...] | None]:
    """Parse `text`, the result of `edits`, again, but only the changed parts of `tree`.

    Parsing starts at the last top-level ATX heading before an edit and stops at the first unchanged one after
    it. Return also the parsed spans as pairs (old, new), or None if the whole text was parsed.
    """
    is_behind_start = bool(edits.edits) and edits.edits[0].span.start >= start
    if not tree.is_reference and tree.part_starts[0] == start and is_behind_start:
        try:
            return _reparse(tree, edits, text)
        except (DoubtfulText, ParserFailure):
            pass
    return parse_blocks(text, lines, start), None


def _reparse(
    tree: BlockTree, edits: "EditList", text: str
) -> tuple[BlockTree, tuple[tuple[Span, Span], ...]]:
    headings: list[Block] = []
    changed: list[tuple[Span, Span]] = []
    # The number of finished headings, and the shift of the text after them.
    done = growth = lines = 0
    runs = _edited_parts(tree, edits)
    for part, stop, grown in runs:
        start, before = tree.part_starts[part], tree.lines_before_part(part) + lines
        new_start, first = start + growth, _headings_before(tree, start)
        headings += [heading.moved(growth, lines) for heading in tree.headings[done:first]]
        if stop < len(tree.part_starts):
            heading = tree.part_headings[stop - 1]
            end = heading.span.start
            new = parse_headings(text[new_start : heading.span.end + grown], new_start, before)
            added = new[-1].first_line - heading.first_line if new else 0
            if new and new[-1] == heading.moved(grown, added):
                headings += new[:-1]
                changed.append((Span(start, end), Span(new_start, end + grown)))
                done, growth, lines = _headings_before(tree, end), grown, added
                continue
        headings += parse_headings(text[new_start:], new_start, before)
        changed.append((Span(start, len(tree.text)), Span(new_start, len(text))))
        done = len(tree.headings)
        break
    headings += [heading.moved(growth, lines) for heading in tree.headings[done:]]
    return tree.edited(text, headings, runs[0][0]), tuple(changed)


def _edited_parts(tree: BlockTree, edits: "EditList") -> list[tuple[int, int, int]]:
    """Return the runs of parts that `edits` touch: first part, part after the last, growth in characters."""
    runs: list[tuple[int, int, int]] = []
    growth = 0
    for edit in edits:
        growth += len(edit.new_text) - len(edit.span)
        part = _part_before(tree, edit.span.start)
        stop = max(part + 1, bisect_left(tree.part_starts, edit.span.end))
        if runs and part < runs[-1][1]:
            part, last, _ = runs.pop()
            stop = max(stop, last)
        runs.append((part, stop, growth))
    return runs


def _part_before(tree: BlockTree, offset: int) -> int:
    """Return the last part whose heading ends at or before `offset`, with room for an LF after a CR."""
    part = tree.part_at(offset)
    while part:
        end = tree.part_headings[part - 1].span.end
        if end + tree.text.endswith("\r", 0, end) <= offset:
            break
        part -= 1
    return part


def _headings_before(tree: BlockTree, offset: int) -> int:
    return bisect_left(tree.headings, offset, key=lambda heading: heading.span.start)


# A comment, except a region marker or one about the definitions below it.
_COMMENT: Final = lazy_pattern(
    r" {0,3}<!--(?!(?:(?!-->)[^\n])*(?::(?:start|end)\b|\b(?:toc|doctoc)\b|[ \t]/))(?:(?!-->).)*+-->\s*",
    re.IGNORECASE | re.DOTALL,
)
_ABOUT_LINKS: Final = lazy_pattern(
    r"(?<!\w-)\b(?:link|ref|reference|url|definition|footnote|image|badge)s?\b(?!-\w)", re.IGNORECASE
)
_FENCE_MARK: Final = lazy_pattern(r"`{3,}|~{3,}")

# Compiled on first use: few commands need these.
_HTML_ENDS: Final = (
    (r"(?i:<(script|pre|style|textarea)(?=[\s>]|$))", r"(?i:</(script|pre|style|textarea)>)"),
    (r"<!--", r"-->"),
    (r"<\?", r"\?>"),
    (r"<!\[CDATA\[", r"\]\]>"),
    (r"<![A-Za-z]", r">"),
)


def is_left_open(block: Block, text: str) -> bool:
    """Return True if a fence or an HTML block of kinds 1 to 5 is unclosed and swallows what follows.

    See CommonMark 0.31.2, sections 4.5 and 4.6. `text` is the whole document.
    """
    source = text[block.span.start : block.span.end]
    if block.kind is BlockKind.FENCE:
        opener = _FENCE_MARK.search(source)
        # Trailing blank lines are code: the closing fence must be the very last line.
        unended = source.removesuffix("\n").removesuffix("\r")
        last = unended.replace("\r", "\n").rsplit("\n", 1)[-1].strip(" \t>")
        if block.last_line == block.first_line or opener is None:
            return True
        return len(last) < len(opener[0]) or set(last) != {opener[0][0]}
    if block.kind is BlockKind.HTML:
        head = source.lstrip(" \t")
        for opening, ending in _HTML_ENDS:
            if re.match(opening, head):
                return re.search(ending, source) is None
    return False


def ends_at_blank_line(block: Block, text: str) -> bool:
    """Return True if `block` is HTML of kind 6 or 7, which ends at a blank line (CommonMark, section 4.6)."""
    head = text[block.span.start : block.span.end].lstrip(" \t")
    return block.kind is BlockKind.HTML and not any(re.match(opening, head) for opening, _ in _HTML_ENDS)


# What each block of a kind contains: a quick check before parsing.
_SIGNS: Final = {
    BlockKind.FENCE: lazy_pattern(r"```|~~~"),
    BlockKind.QUOTE: lazy_pattern(r">"),
    BlockKind.TABLE: lazy_pattern(r"[|:][ \t]*-|-[ \t]*[|:]"),
    BlockKind.DEFINITION: lazy_pattern(r"\]:"),
    BlockKind.FOOTNOTE: lazy_pattern(r"\[\^"),
}

_ANY: Final = lazy_pattern(r"")


class _Part:
    """The blocks of one part, parents before children; the first one is at the root."""

    def __init__(self, blocks: tuple[Block, ...]) -> None:
        self.blocks = blocks
        self.roots = tuple(block for block in blocks if not block.depth)
        self.leaves = tuple(block for block in blocks if block.kind not in CONTAINERS)

    def blocks_before(self, block: Block) -> Iterator[Block]:
        """Return the blocks before `block` in reverse order."""
        after = bisect_right(self.blocks, block.span.start, key=_start)
        before = iter(self.blocks[after - 1 :: -1])
        for other in before:
            if other is block:
                break
        return before

    def leaves_in(self, span: Span) -> Iterable[Block]:
        """Return the leaf blocks that overlap `span`, or contain it if it is empty, in order."""
        first = bisect_right(self.leaves, span.start, key=_end)
        stop = bisect_right(self.leaves, span.end, key=_start)
        return (leaf for leaf in self.leaves[first:stop] if leaf.span.overlaps(span))

    def inside(self, span: Span) -> Sequence[Block]:
        first, stop = (bisect_left(self.blocks, offset, key=_start) for offset in (span.start, span.end))
        return self.blocks[first:stop]


def _last(blocks: Sequence[Block], offset: int) -> Block | None:
    """Return the last block that starts at or before `offset`."""
    index = bisect_right(blocks, offset, key=_start) - 1
    return blocks[index] if index >= 0 else None


def _start(block: Block) -> int:
    return block.span.start


def _end(block: Block) -> int:
    return block.span.end
