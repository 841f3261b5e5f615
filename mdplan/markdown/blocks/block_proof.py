"""Proof that the blocks around some places are those of the reference pass."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mdplan.markdown.blocks.block import CONTAINERS, ENDED_BY_BLANK_LINES, Block, BlockKind
from mdplan.markdown.blocks.block_pass import pass_blocks
from mdplan.markdown.blocks.block_tree import BlockTree
from mdplan.markdown.blocks.blocks import is_left_open
from mdplan.markdown.blocks.parse_time import timed
from mdplan.markdown.blocks.scanned_blocks import ScannedBlocks
from mdplan.markdown.blocks.scanner import Form
from mdplan.text.lines import LineIndex
from mdplan.text.span import Span

_HEADING: Final = BlockKind.HEADING
_FENCE: Final = BlockKind.FENCE
_BLANK_LINE: Final = "\n\n"
# Forms of which all blocks are of those kinds that a blank line ends.
_ENDED_BY_BLANK_LINES: Final = frozenset({Form.ATX, Form.SETEXT, Form.RULE, Form.TEXT})
# Forms in which lists and quotes stand, or may stand.
_MAY_BE_CONTAINERS: Final = frozenset({None, Form.CONTAINERS, Form.UNKNOWN})


@dataclass(frozen=True, slots=True)
class _Root:
    """One root block with all that it holds; or lists and quotes of a `part` that nobody has looked into."""

    start: int
    blocks: tuple[Block, ...]
    part: int | None = None

    @property
    def is_container(self) -> bool:
        """Whether it is a list or a quote."""
        return self.part is not None or self.blocks[0].kind in CONTAINERS


@dataclass(frozen=True, slots=True)
class _Neighbourhood:
    """Root blocks beside each other, and where the block behind them starts; None where there is none."""

    roots: list[_Root]
    behind: int | None


@timed
def first_unproven(tree: BlockTree, text: str, lines: LineIndex, spans: Iterable[Span]) -> Block | None:
    """First root block near one of `spans`, which are in order, that the reference pass sees otherwise.

    It looks at the root blocks that hold something of a span, and at those beside them that could reach into
    them, or they into those. Blocks that come from the reference pass need no proof.
    """
    if not tree.is_scanned:
        return None
    for near in _neighbourhoods(_Roots(tree, text), spans):
        start = near.roots[0].start
        passed = pass_blocks(text[start : near.behind], lines, lines.line_at(start) - 1).blocks
        found = _first_other(tree, near, passed)
        if found is not None:
            return found
    return None


def _first_other(tree: BlockTree, near: _Neighbourhood, passed: tuple[Block, ...]) -> Block | None:
    """First root block of `near` that is none of `passed`, what the reference pass finds there."""
    at = 0
    ends = [root.start for root in near.roots[1:]]
    for root, end in zip(near.roots, [*ends, None], strict=True):
        behind = at
        while behind < len(passed) and (end is None or passed[behind].span.start < end):
            behind += 1
        here = passed[at:behind]
        at = behind
        if root.part is not None and _are_containers(here, root.start):
            # It would be passed for its blocks alone: here they are.
            tree.adopt(root.part, here)
            continue
        blocks = root.blocks if root.part is None else tree.blocks_of(root.part)
        if here != blocks:
            return next((block for block in blocks if not block.depth and block not in here), blocks[0])
    return None


def _are_containers(blocks: Sequence[Block], start: int) -> bool:
    """Whether `blocks` are lists and quotes from `start` on, and hold no heading."""
    return (
        bool(blocks)
        and blocks[0].span.start == start
        and all(block.depth or block.kind in CONTAINERS for block in blocks)
        and all(block.kind is not _HEADING for block in blocks)
    )


def _neighbourhoods(roots: "_Roots", spans: Iterable[Span]) -> Iterator[_Neighbourhood]:
    """The root blocks that hold something of `spans`, or touch them, with those beside them.

    Each block is in one of them at most. Spans and neighbourhoods are in document order.
    """
    last: _Neighbourhood | None = None
    for span in spans:
        near = roots.around(span)
        if near is None:
            continue
        if last is not None and last.behind is not None and last.behind <= near.roots[0].start:
            yield last
            last = None
        if last is not None:
            more = [root for root in near.roots if root.start > last.roots[-1].start]
            near = _Neighbourhood(last.roots + more, near.behind if more else last.behind)
        last = near
    if last is not None:
        yield last


class _Roots:
    """The root blocks of a tree, made where a neighbourhood needs them."""

    def __init__(self, tree: BlockTree, text: str) -> None:
        self._tree, self._text = tree, text
        self._starts = tree.part_starts
        parts = tree.parts
        self._forms = parts.stretches.forms if isinstance(parts, ScannedBlocks) else None
        self._known: dict[int, list[_Root]] = {}

    def around(self, span: Span) -> _Neighbourhood | None:
        """The neighbourhood of one span; None in a text without blocks.

        A block beside it is left out where what stands first of the two has ended for sure.
        """
        if not self._starts:
            return None
        # Before the first part nothing stands.
        parts = self._tree.parts_in(span) or range(1)
        first = self._of(parts.start)
        last = first if len(parts) == 1 else self._of(parts.stop - 1)
        at = max(bisect_right(first, span.start, key=_start) - 1, 0)
        stop = bisect_right(last, span.end, key=_start)
        if last is first:
            near = first[at:stop]
        else:
            between = (root for part in parts[1:-1] for root in self._of(part))
            near = [*first[at:], *between, *last[:stop]]
        if self._begins_behind_first(span, near):
            near = near[1:]
        elif near and (before := self._before(parts.start, at, near[0])):
            near = [before, *near]
        return self._with_following(near, parts.stop - 1, stop)

    def _begins_behind_first(self, span: Span, near: list[_Root]) -> bool:
        """Whether `span` begins between the first two of `near`, with whole blank lines or nothing else.

        So it is when text was inserted behind a block, which it does not touch if that has ended.
        """
        if not near[1:]:
            return False
        blank = self._text[span.start : near[1].start]
        is_blank = not blank.strip(" \t\n") and blank[-1:] in ("", "\n")
        is_line = self._text.startswith("\n", span.start - 1)
        return (
            is_blank
            and is_line
            and self._has_ended(near[0], near[1].start, is_container=near[1].is_container)
        )

    def _before(self, part: int, at: int, following: _Root) -> _Root | None:
        """The root block before `following`, which is the one `at` this index in `part`, if it can go on."""
        if not at and (not part or self._part_has_ended(part - 1, following)):
            return None
        before = self._of(part)[at - 1] if at else self._of(part - 1)[-1]
        return (
            None if self._has_ended(before, following.start, is_container=following.is_container) else before
        )

    def _with_following(self, near: list[_Root], part: int, stop: int) -> _Neighbourhood:
        """`near` and the root block behind it, which is the one at `stop` in `part`, if `near` can go on."""
        roots = self._of(part)
        if stop == len(roots):
            part, stop = part + 1, 0
            if part == len(self._starts):
                return _Neighbourhood(near, None)
            start = self._starts[part]
            form = self._forms[part] if self._forms else None
            if near and self._has_ended(near[-1], start, is_container=form in _MAY_BE_CONTAINERS):
                return _Neighbourhood(near, start)
            roots = self._of(part)
        following = roots[stop]
        if near and self._has_ended(near[-1], following.start, is_container=following.is_container):
            return _Neighbourhood(near, following.start)
        if stop + 1 < len(roots):
            return _Neighbourhood([*near, following], roots[stop + 1].start)
        behind = self._starts[part + 1] if part + 1 < len(self._starts) else None
        return _Neighbourhood([*near, following], behind)

    def _of(self, part: int) -> list[_Root]:
        """The root blocks of a part; lists and quotes that nobody has looked into are one."""
        found = self._known.get(part)
        if found is None:
            found = self._known[part] = self._made(part)
        return found

    def _made(self, part: int) -> list[_Root]:
        if self._tree.has_unmade_containers(part):
            return [_Root(self._starts[part], (), part)]
        blocks = self._tree.blocks_of(part)
        if len(blocks) == 1:
            return [_Root(blocks[0].span.start, blocks)]
        bounds = [index for index, block in enumerate(blocks) if not block.depth]
        return [
            _Root(blocks[first].span.start, blocks[first:stop])
            for first, stop in zip(bounds, [*bounds[1:], len(blocks)], strict=True)
        ]

    def _part_has_ended(self, part: int, following: _Root) -> bool:
        """As `_has_ended`, of the last root block of a part, without making it."""
        form = self._forms[part] if self._forms else None
        if form in _ENDED_BY_BLANK_LINES:
            return self._text.startswith(_BLANK_LINE, following.start - 2)
        return form is Form.CONTAINERS and self._ends_containers(
            following.start, is_container=following.is_container
        )

    def _has_ended(self, root: _Root, start: int, *, is_container: bool) -> bool:
        """Whether nothing that is as `root` can go on in the next one, which starts at `start`, for sure.

        A blank line between the two ends most blocks; the closing line of a fence ends that.
        """
        if root.is_container:
            return self._ends_containers(start, is_container=is_container)
        kind, span = root.blocks[0].kind, root.blocks[0].span
        if kind is _FENCE:
            return not is_left_open(root.blocks[0], self._text)
        return kind in ENDED_BY_BLANK_LINES and span.end < start

    def _ends_containers(self, start: int, *, is_container: bool) -> bool:
        """Whether what starts at `start` ends all lists and quotes before it.

        A blank line stands before it, and it is neither one of them nor indented (CommonMark 0.31.2,
        section 5).
        """
        is_behind_blank = self._text.startswith(_BLANK_LINE, start - 2)
        return is_behind_blank and not is_container and self._text[start] not in " \t"


def _start(root: _Root) -> int:
    return root.start
