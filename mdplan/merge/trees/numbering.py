"""The numbers of a numbered list after a merge."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from mdplan.merge.pieces import Origin, Piece, Texts, is_conflict, result_lines
from mdplan.merge.trees.merge_node import MergeNode

RENUMBERED: Final = "items were renumbered"
_NUMBER: Final = re.compile(r"(\s*)(\d+)([.)].*)", re.DOTALL)


def renumbered(texts: Texts, lists: Sequence[MergeNode | None], pieces: Sequence[Piece]) -> list[Piece]:
    """`pieces` of a merged list with numbers that count up, if all versions of it, `lists`, count up."""
    numbers = [_numbers(lines, each) for lines, each in zip(texts, lists, strict=True)]
    if not all(_counts_up(each) for each in numbers) or max(map(len, numbers)) < 2:
        return list(pieces)
    base, ours, theirs = (each[0] if each else None for each in numbers)
    number = (theirs if ours == base else ours) or 0
    starts = [{item.lines.start for item in each.children} if each else set() for each in lists]
    found: list[Piece] = []
    for piece in pieces:
        if is_conflict(piece):
            number += max(
                len(starts[side].intersection(where)) for side, where in enumerate(piece.ranges) if side
            )
            found.append(piece)
            continue
        for part in _items(texts, piece, starts):
            changed, is_item = _with_number(texts, part, starts, number)
            number += is_item
            found.append(changed)
    return found


def _numbers(lines: Sequence[str], node: MergeNode | None) -> list[int]:
    """The numbers of the items; -1 where there is none."""
    found = [_NUMBER.match(lines[item.lines.start]) for item in (node.children if node else ())]
    return [int(each[2]) if each else -1 for each in found]


def _counts_up(numbers: Sequence[int]) -> bool:
    return not numbers or (numbers[0] >= 0 and numbers == [*range(numbers[0], numbers[0] + len(numbers))])


def _items(texts: Texts, piece: Piece, starts: Sequence[set[int]]) -> Iterator[Piece]:
    """`piece` cut where an item begins."""
    lines = list(result_lines(texts, [piece]))
    cuts = [
        at for at, line in enumerate(lines) if at and (line.ours in starts[1] or line.theirs in starts[2])
    ]
    if not cuts or piece.origin is Origin.MERGED:
        yield piece
        return
    for at, stop in zip((0, *cuts), (*cuts, len(lines)), strict=True):
        ranges = [
            where[at:stop] if len(where) == len(lines) else where if not at else where[:0]
            for where in piece.ranges
        ]
        yield replace(piece, base=ranges[0], ours=ranges[1], theirs=ranges[2])


def _with_number(texts: Texts, piece: Piece, starts: Sequence[set[int]], number: int) -> tuple[Piece, bool]:
    """`piece` with the `number`, and whether it begins an item at all."""
    lines = list(result_lines(texts, [piece]))
    if not lines or not (lines[0].ours in starts[1] or lines[0].theirs in starts[2]):
        return piece, False
    found = _NUMBER.match(lines[0].text)
    if not found or int(found[2]) == number:
        return piece, True
    growth = len(str(number)) - len(found[2])
    merged = [f"{found[1]}{number}{found[3]}", *(_indented(line.text, growth) for line in lines[1:])]
    return replace(piece, origin=Origin.MERGED, merged=tuple(merged), note=RENUMBERED), True


def _indented(line: str, growth: int) -> str:
    """`line` with so many spaces more or less in front, where it has any."""
    if not line.startswith(" ") or not line.strip():
        return line
    return " " * growth + line if growth > 0 else line.removeprefix(" " * -growth)
