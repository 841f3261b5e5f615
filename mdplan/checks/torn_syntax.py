"""Lines that lost a sign of their syntax in a change: a blank after ``##``, a backtick, a pipe.

A line counts where it is one of the old version but for that sign: what was rewritten is no damage.
"""

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from typing import Final, NamedTuple

from mdplan.diagnostics import Code, Diagnostic
from mdplan.field_names import short_name
from mdplan.markdown.block_tree import is_left_open
from mdplan.markdown.blocks import BlockKind
from mdplan.markdown.outline import Outline
from mdplan.text.lines import Position

_BLANKS: Final = re.compile(r"[ \t]+")
_BLANKS_AND_PIPES: Final = re.compile(r"[ \t|]+")
_HEADING: Final = re.compile(r"#{1,6}[ \t]+\S")
_TASK: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+\[[ xX]\][ \t]+\S")
_FENCE: Final = re.compile(r"(?P<marks>(?P<mark>`|~)(?P=mark){2,})")
_LEAST_MARKS: Final = 3


class TornFence(NamedTuple):
    """A line that opened a fence, and what it was."""

    line: int
    opening: str


def torn_headings(old: Outline, new: Outline, swallowed: Container[int]) -> Iterator[Diagnostic]:
    """HEADING_LOST for headings without the blank after their ``#``; not those of lines in `swallowed`."""
    was = _lines(old, (each.heading_line for each in old.headings))
    now = _lines(new, (each.heading_line for each in new.headings))
    are = frozenset(now)
    for number, before in _torn(new, _texts(was, _HEADING), Counter(now.values()), are):
        if number not in swallowed and _is_text(new, number):
            yield Diagnostic.warning(
                Code.HEADING_LOST,
                f"`{short_name(_line(new, number))}` at line {number} is no longer a heading",
                f"write the blank after its marks again: `{short_name(before)}`",
                place=Position(number, 1),
            )


def torn_tasks(old: Outline, new: Outline, swallowed: Container[int]) -> Iterator[Diagnostic]:
    """TASK_LOST for tasks without a blank of ``- [ ]``; not those of lines in `swallowed`."""
    if "[" not in old.source.text:
        return
    was, now = _lines(old, _task_lines(old)), _lines(new, _task_lines(new))
    for number, before in _torn(new, _texts(was, _TASK), Counter(now.values()), frozenset(now)):
        if number not in swallowed and _is_text(new, number):
            yield Diagnostic.warning(
                Code.TASK_LOST,
                f"`{short_name(_line(new, number))}` at line {number} is no longer a task",
                f"write its blanks again: `{short_name(before)}`",
                place=Position(number, 1),
            )


def torn_fences(old: Outline, new: Outline) -> list[TornFence]:
    """Opening lines of fences that have one mark too few now, while the closing line is still there."""
    openings: Counter[str] = Counter()
    closings: dict[str, str] = {}
    for block in old.blocks:
        if block.kind is BlockKind.FENCE and not is_left_open(block, old.source.text):
            opening = _line(old, block.first_line)
            found = _FENCE.match(opening)
            if found is not None and len(found["marks"]) == _LEAST_MARKS:
                openings[opening[1:]] += 1
                closings[opening[1:]] = _line(old, block.last_line)
    if not openings:
        return []
    in_code = _lines_of_code(new)
    torn = []
    for number in range(1, new.source.lines.count + 1):
        text = _line(new, number)
        if openings[text] and number not in in_code and _has_below(new, number, closings[text]):
            torn.append(TornFence(number, closings[text][0] + text))
    known = Counter(_line(old, number) for number in range(1, old.source.lines.count + 1))
    return [each for each in torn if not known[each.opening[1:]]]


def torn_fence(fence: TornFence) -> Diagnostic:
    """BLOCK_UNCLOSED for `fence`: what was its end begins a fence now."""
    return Diagnostic.warning(
        Code.BLOCK_UNCLOSED,
        f"line {fence.line} no longer opens a code block, and the end of that block opens one now",
        f"write the fence again: `{short_name(fence.opening)}`",
        place=Position(fence.line, 1),
    )


def torn_cells(old: Outline, new: Outline) -> Iterator[Diagnostic]:
    """TABLE_TORN for rows with fewer cells than columns that had all of them, and have the same text."""
    full: set[str] = set()
    short: set[str] = set()
    for table in old.tables if new.tables else ():
        for row in table.rows:
            rows = full if len(row.cells) >= len(table.columns) else short
            rows.add(_BLANKS_AND_PIPES.sub("", _line(old, row.line)))
    for table in new.tables if full else ():
        for row in table.rows:
            text = _BLANKS_AND_PIPES.sub("", _line(new, row.line))
            if len(row.cells) < len(table.columns) and text and text in full and text not in short:
                yield Diagnostic.warning(
                    Code.TABLE_TORN,
                    f"the row at line {row.line} has {len(row.cells)} cells, and its table "
                    f"{len(table.columns)} columns: it had all of them",
                    "write the pipe between its cells again",
                    place=Position(row.line, 1),
                )


def _torn(
    new: Outline, was: Mapping[str, str], now: Counter[str], known: Container[int]
) -> Iterator[tuple[int, str]]:
    """Lines of `new` that differ in blanks alone from one of the texts `was`, none of which is in `now`.

    `was` has these by their text without blanks; `known` are lines that are still what they were.
    """
    lost = {key: text for key, text in was.items() if not now[text]}
    for number in range(1, new.source.lines.count + 1) if lost else ():
        text = _line(new, number)
        before = lost.get(_BLANKS.sub("", text)) if text else None
        if before is not None and number not in known and _BLANKS.sub(" ", text) != _BLANKS.sub(" ", before):
            yield number, before


def _texts(lines: Mapping[int, str], form: re.Pattern[str]) -> dict[str, str]:
    """Those of `lines` that have the `form`, by their text without blanks."""
    return {_BLANKS.sub("", text): text for text in lines.values() if form.match(text)}


def _lines(outline: Outline, numbers: Iterator[int]) -> dict[int, str]:
    return {number: _line(outline, number) for number in numbers}


def _line(outline: Outline, number: int) -> str:
    return outline.source.lines.content(number).strip()


def _task_lines(outline: Outline) -> Iterator[int]:
    for listing in outline.lists.all:
        for item in listing.items:
            if item.mark is not None:
                yield item.first_line


def _is_text(outline: Outline, number: int) -> bool:
    block = outline.tree.leaf_at(outline.source.lines.content_end(number) - 1)
    return block is not None and block.kind is BlockKind.PARAGRAPH


def _lines_of_code(outline: Outline) -> frozenset[int]:
    return frozenset(
        number
        for block in outline.blocks
        if block.kind is BlockKind.FENCE
        for number in range(block.first_line, block.last_line + 1)
    )


def _has_below(outline: Outline, number: int, text: str) -> bool:
    """Whether a line after line `number` is `text`, and begins a fence."""
    return any(
        block.kind is BlockKind.FENCE
        and block.first_line > number
        and _line(outline, block.first_line) == text
        for block in outline.blocks
    )
