"""Proof that the blocks around some places are those of the reference pass."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mdplan.markdown.block import CONTAINERS, ENDED_BY_BLANK_LINES, Block, BlockKind
from mdplan.markdown.block_pass import pass_blocks
from mdplan.markdown.block_tree import BlockTree
from mdplan.text.lines import LineIndex
from mdplan.text.span import Span
from mdplan.text.value import value

_HEADING: Final = BlockKind.HEADING


@value(frozen=True, slots=True)
class _Root:
    """One root block with all that it holds; or lists and quotes of a `part` that nobody has looked into."""

    start: int
    blocks: tuple[Block, ...]
    part: int | None = None


@value(frozen=True, slots=True)
class _Neighbourhood:
    """Root blocks beside each other, and where the block behind them starts; None where there is none."""

    roots: list[_Root]
    behind: int | None


def first_unproven(tree: BlockTree, text: str, lines: LineIndex, spans: Iterable[Span]) -> Block | None:
    """First root block near one of `spans`, which are in order, that the reference pass sees otherwise.

    It looks at the root blocks that hold something of a span, and at those beside them that could reach into
    them, or they into those. Blocks that come from the reference pass need no proof.
    """
    if not tree.is_scanned:
        return None
    for near in _neighbourhoods(tree, spans):
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


def _neighbourhoods(tree: BlockTree, spans: Iterable[Span]) -> Iterator[_Neighbourhood]:
    """The root blocks that hold something of `spans`, or touch them, with those beside them.

    Each block is in one of them at most. Spans and neighbourhoods are in document order.
    """
    last: _Neighbourhood | None = None
    for span in spans:
        near = _around(tree, span)
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


def _around(tree: BlockTree, span: Span) -> _Neighbourhood | None:
    """The neighbourhood of one span; None in a text without blocks.

    A block beside it is left out where what stands first of the two has ended for sure.
    """
    parts, starts = tree.parts_in(span), tree.part_starts
    roots = [root for part in parts for root in _roots_of(tree, part)]
    first = max(bisect_right(roots, span.start, key=_start) - 1, 0)
    stop = bisect_right(roots, span.end, key=_start)
    if not first and parts.start:
        before = _roots_of(tree, parts.start - 1)
        roots = before + roots
        first, stop = first + len(before), stop + len(before)
    behind = parts.stop
    if stop == len(roots) and behind < len(starts):
        roots += _roots_of(tree, behind)
        behind += 1
    if not roots:
        return None
    if first and not _has_ended(roots[first - 1], roots[first]):
        first -= 1
    if stop < len(roots) and not (stop and _has_ended(roots[stop - 1], roots[stop])):
        stop += 1
    if stop < len(roots):
        return _Neighbourhood(roots[first:stop], roots[stop].start)
    return _Neighbourhood(roots[first:], starts[behind] if behind < len(starts) else None)


def _has_ended(root: _Root, following: _Root) -> bool:
    """Whether a blank line stands between the two, and nothing can go on behind one that is as `root`."""
    return (
        root.part is None
        and root.blocks[0].kind in ENDED_BY_BLANK_LINES
        and root.blocks[0].span.end < following.start
    )


def _start(root: _Root) -> int:
    return root.start


def _roots_of(tree: BlockTree, part: int) -> list[_Root]:
    """The root blocks of a part; lists and quotes that nobody has looked into are one."""
    if tree.has_unmade_containers(part):
        return [_Root(tree.part_starts[part], (), part)]
    blocks = tree.blocks_of(part)
    bounds = [index for index, block in enumerate(blocks) if not block.depth]
    return [
        _Root(blocks[first].span.start, blocks[first:stop])
        for first, stop in zip(bounds, [*bounds[1:], len(blocks)], strict=True)
    ]
