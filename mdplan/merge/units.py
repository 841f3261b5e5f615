"""A document in units: items, rows, definitions and other blocks, each of whole lines."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mdplan.markdown.blocks.block import CONTAINERS, Block, BlockKind
from mdplan.markdown.outline.outline import Outline
from mdplan.text.source import Source

_KEY: Final = re.compile(r"[*_~`]*\[!?\[?[^\]]*\]+(?:\(([^)\s]*)|\[([^\]]*)\])")
_MARKER: Final = re.compile(r"\s*(?:[-+*]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
_LABEL: Final = re.compile(r"[ >]*\[([^\]]+)\]:")
# Kinds of which both sides may add some at one place.
SETS: Final = frozenset({BlockKind.LIST_ITEM, BlockKind.TABLE, BlockKind.DEFINITION, BlockKind.FOOTNOTE})


@dataclass(frozen=True, slots=True)
class Unit:
    """A run of 0-based lines that belong together, blank lines behind it excluded.

    `around` are the kinds of the containers with their markers; `key` names it among its neighbours.
    """

    kind: BlockKind
    lines: range
    text: str
    around: tuple[str, ...]
    key: str


class Units:
    """The units of one text, by line. `outline` is that of the text."""

    def __init__(self, lines: Sequence[str]) -> None:
        """Parse the text with these `lines`, each of which ends in LF."""
        self.lines = lines
        self.outline = Outline(Source.from_text("".join(lines)))
        self.at: list[Unit | None] = [None] * len(lines)
        self._read()

    def covering(self, where: range) -> list[Unit] | None:
        """The units in the lines `where`; None where one reaches out of them, or a line has none."""
        found: list[Unit] = []
        for line in where:
            unit = self.at[line]
            if unit is None:
                if self.lines[line].strip():
                    return None
                continue
            if unit.lines.start < where.start or unit.lines.stop > where.stop:
                return None
            if not found or found[-1] is not unit:
                found.append(unit)
        return found

    def _read(self) -> None:
        around: list[str] = []
        starts: list[int] = []
        for block in self.outline.blocks:
            del around[block.depth :], starts[block.depth :]
            if block.kind in CONTAINERS and block.kind is not BlockKind.FOOTNOTE:
                around.append(block.kind + block.markup)
                starts.append(block.first_line - 1)
                if block.kind is BlockKind.LIST_ITEM:
                    self._note(BlockKind.LIST_ITEM, block, tuple(around[:-1]))
                continue
            is_in_item = any(each.startswith(BlockKind.LIST_ITEM) for each in around)
            if block.kind is BlockKind.FOOTNOTE:
                around.append(block.kind)
                starts.append(block.first_line - 1)
                self._note(block.kind, block, tuple(around[:-1]))
            elif block.kind is BlockKind.TABLE and not is_in_item:
                for line in range(block.first_line - 1, block.last_line):
                    self._set(BlockKind.TABLE, range(line, line + 1), tuple(around))
            elif not is_in_item and BlockKind.FOOTNOTE not in around:
                self._note(block.kind, block, tuple(around))

    def _note(self, kind: BlockKind, block: Block, around: tuple[str, ...]) -> None:
        end = block.last_line
        while end > block.first_line and not self.lines[end - 1].strip():
            end -= 1
        self._set(kind, range(block.first_line - 1, end), around)

    def _set(self, kind: BlockKind, where: range, around: tuple[str, ...]) -> None:
        before = self.at[where.start]
        if before is not None and before.lines.start < where.start:
            # A nested item: the one around it ends where it begins, and goes on behind it in no unit.
            outer = self._unit(before.kind, range(before.lines.start, where.start), before.around)
            for line in outer.lines:
                self.at[line] = outer
            for line in range(where.start, before.lines.stop):
                self.at[line] = None
        unit = self._unit(kind, where, around)
        for line in where:
            self.at[line] = unit

    def _unit(self, kind: BlockKind, where: range, around: tuple[str, ...]) -> Unit:
        end = where.stop
        while end > where.start + 1 and not self.lines[end - 1].strip():
            end -= 1
        text = "".join(self.lines[where.start : end])
        return Unit(kind, range(where.start, end), _compared(kind, text), around, _key(kind, text))


def cells_of(row: str) -> list[str]:
    """The texts of the cells of the table row `row`."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().removeprefix("|").removesuffix("|"))]


def _compared(kind: BlockKind, text: str) -> str:
    """What two texts of a unit must share to be the same: for a row its cells, whatever their padding."""
    if kind is not BlockKind.TABLE:
        return text
    return "|".join(re.sub(r"-+", "-", cell) if set(cell) <= set(":-") else cell for cell in cells_of(text))


def _key(kind: BlockKind, text: str) -> str:
    if kind is BlockKind.TABLE:
        return cells_of(text)[0]
    if kind in {BlockKind.DEFINITION, BlockKind.FOOTNOTE}:
        label = _LABEL.match(text)
        return " ".join(label[1].casefold().split()) if label else ""
    if kind is BlockKind.LIST_ITEM:
        marker = _MARKER.match(text)
        link = _KEY.match(text, marker.end() if marker else 0)
        return (link[1] or link[2] or "") if link else ""
    return ""
