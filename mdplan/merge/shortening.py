"""Three texts without what no side changed, so that the time of a merge is that of the changed sections."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from mdplan.markdown.block_tree import parse_blocks
from mdplan.markdown.format_detection import find_front_matter
from mdplan.merge.line_merge import kept_lines
from mdplan.merge.pieces import Texts
from mdplan.text.lines import LineIndex

# Links into the document, which a changed heading may break, and definitions.
_LOCAL: Final = re.compile(r"\(<?#|\[\^|\[\[|\]:|href", re.IGNORECASE)
_MARK: Final = "mdplan-left-out-"


@dataclass(frozen=True, slots=True)
class Shortened:
    """`texts` in which one line stands for what all three have unchanged: whole sections, or their bodies.

    `left_out` has the lines for each such line; `ours` the lines of the whole text of ours, by those of the
    short one.
    """

    texts: Texts
    left_out: dict[str, str]
    ours: Sequence[int]

    def whole(self, text: str) -> str:
        """`text` with all that was left out."""
        if not self.left_out:
            return text
        return "".join(self.left_out.get(line, line) for line in text.splitlines(keepends=True))


@dataclass(frozen=True, slots=True)
class _Part:
    """A heading of the base with its own text, up to the next heading at the line `stop`.

    `shifts` says how far it moved in each text, without a change; None where there is one.
    """

    level: int
    start: int
    stop: int
    shifts: tuple[int, ...] | None


def shortened(texts: Texts) -> Shortened:
    """`texts` without sections and bodies that no side changed and that have no links into the document."""
    short: list[list[str]] = [[], [], []]
    ours: list[int] = []
    left_out: dict[str, str] = {}
    at = [0, 0, 0]
    for where, shifts, level in [] if _MARK in "".join(texts.base) else _cuts(texts):
        line = "#" * level + " " * bool(level) + f"{_MARK}{len(left_out)}\n"
        left_out[line] = "".join(texts.base[where.start : where.stop])
        for side, (lines, shift) in enumerate(zip(texts, shifts, strict=True)):
            short[side] += [*lines[at[side] : where.start + shift], line]
        ours += range(at[1], where.start + shifts[1] + 1)
        at = [where.stop + shift for shift in shifts]
    for side, lines in enumerate(texts):
        short[side] += lines[at[side] :]
    ours += range(at[1], len(texts.ours))
    return Shortened(Texts(*short), left_out, ours)


def _cuts(texts: Texts) -> Iterator[tuple[range, tuple[int, ...], int]]:
    """Lines of the base to leave out, how far they are shifted in each text, and the level of a heading."""
    parts = _parts(texts)
    index = 0
    while index < len(parts):
        part = parts[index]
        stop, following = index, _behind(parts, index)
        while following is not None:
            stop = following
            is_sibling = stop < len(parts) and parts[stop].level == part.level
            following = _behind(parts, stop) if is_sibling else None
        if stop > index and part.shifts is not None:
            where = _written(texts.base, range(part.start, parts[stop - 1].stop))
            yield where, part.shifts, part.level
            index = stop
            continue
        body = _written(texts.base, range(part.start + 1, part.stop))
        # The line below may be that of a setext heading.
        if part.shifts is not None and len(body) > 1 and not texts.base[part.start + 1].strip():
            yield body, part.shifts, 0
        index += 1


def _behind(parts: Sequence[_Part], index: int) -> int | None:
    """The index after the section at `index` with all below it; None where something in it changed."""
    level, shifts = parts[index].level, parts[index].shifts
    while shifts is not None and parts[index].shifts == shifts:
        index += 1
        if index == len(parts) or parts[index].level <= level:
            return index
    return None


def _parts(texts: Texts) -> list[_Part]:
    """The headings of the base; the last is never without a change."""
    kept = [{line: line for line in range(len(texts.base))}]
    kept += [dict(kept_lines(texts.base, side)) for side in texts[1:]]
    headings = [_headings(lines) for lines in texts]
    found: list[_Part] = []
    for start, stop in pairwise(headings[0]):
        shifts = tuple(_shift(range(start, stop + 1), each) for each in kept)
        is_same = all(
            shift is not None and levels.get(start + shift) == headings[0][start] and stop + shift in levels
            for shift, levels in zip(shifts, headings, strict=True)
        ) and not any(_LOCAL.search(texts.base[line]) for line in range(start, stop))
        numbers = tuple(shift or 0 for shift in shifts) if is_same else None
        found.append(_Part(headings[0][start], start, stop, numbers))
    # After the last heading may be definitions of the whole document.
    return [*found, *(_Part(level, line, line, None) for line, level in [*headings[0].items()][-1:])]


def _headings(lines: Sequence[str]) -> dict[int, int]:
    """The levels of the headings that begin sections, by line."""
    text = "".join(lines)
    front_matter = find_front_matter(text)
    start = front_matter.span.end if front_matter else 0
    blocks = parse_blocks(text, LineIndex(text), start).headings
    return {each.first_line - 1: each.level for each in blocks if not each.depth}


def _written(lines: Sequence[str], where: range) -> range:
    """`where` without the blank lines at both ends."""
    written = [line for line in where if lines[line].strip()]
    return range(written[0], written[-1] + 1) if written else range(0)


def _shift(where: range, kept: dict[int, int]) -> int | None:
    """How far the lines `where` moved together; None where one is gone or others came between them."""
    new = [kept.get(line) for line in where]
    first = new[0]
    return None if first is None or new != [*range(first, first + len(new))] else first - where.start
