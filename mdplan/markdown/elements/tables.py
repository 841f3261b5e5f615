"""Tables as they are in the source: rows, cells with their padding, alignments (GFM, tables extension)."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from itertools import pairwise
from typing import Final

from mdplan.markdown.blocks.block_structure import Block, BlockKind, BlockTree
from mdplan.markdown.blocks.containers import Containers, blocks_with_containers
from mdplan.markdown.blocks.parser import trim_characters
from mdplan.markdown.blocks.rendered_text import composed, heading_title
from mdplan.markdown.section_id import canonical_heading
from mdplan.text.lines import LineIndex, Span
from mdplan.text.visible import display_width

_CELL_END: Final = re.compile(r"(?<!\\)\|")


class Alignment(Enum):
    """Alignment of a column."""

    NONE = auto()
    LEFT = auto()
    CENTER = auto()
    RIGHT = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One row. `line` is 1-based; `span` is its text without the white space around it.

    `cells` are the places between the pipes, padding included; there may be fewer or more than columns.
    `leads` and `trails` say whether a pipe is before the first cell and after the last.
    """

    line: int
    span: Span
    cells: tuple[Span, ...]
    leads: bool
    trails: bool


@dataclass(frozen=True, slots=True)
class _Keys:
    """Rows by the texts of their cells in one column, white space collapsed: as written, and as rendered."""

    written: Mapping[str, Sequence[TableRow]]
    rendered: Mapping[str, Sequence[TableRow]]


class TableSource:
    """One table of a document. `index` (0-based) counts the tables of every depth.

    Rows are read at the first question; rows by their keys are looked up in an index.
    """

    def __init__(self, text: str, lines: LineIndex, block: Block, index: int, containers: Containers) -> None:
        """Look at the table `block` of `text`, whose line table is `lines`."""
        self.text = text
        self.lines = lines
        self.block = block
        self.index = index
        self.containers = containers
        self._by_key: dict[int, _Keys] = {}

    @property
    def columns(self) -> tuple[str, ...]:
        """Header cells, as inline Markdown without the backslashes of escaped pipes."""
        return self.block.cells

    @cached_property
    def header(self) -> TableRow:
        """The first row."""
        return self._row(self.block.first_line)

    @cached_property
    def delimiter(self) -> TableRow:
        """The second row, of dashes."""
        return self._row(self.block.first_line + 1)

    @cached_property
    def rows(self) -> tuple[TableRow, ...]:
        """The rows below the delimiter row."""
        return tuple(self._row(line) for line in range(self.block.first_line + 2, self.block.last_line + 1))

    @cached_property
    def is_proven(self) -> bool:
        """Whether the cells of the header row that were cut from the source are those of the parser."""
        every_line = range(self.block.first_line, self.block.last_line + 1)
        if any(self.containers.text_start(self.text, self.lines, line) is None for line in every_line):
            return False
        cut = tuple(self.text_in(self.header, column) for column in range(len(self.header.cells)))
        is_same = tuple(cell.replace("\0", "\ufffd") for cell in cut) == self.columns
        return is_same and len(self.delimiter.cells) == len(self.columns)

    @cached_property
    def alignments(self) -> tuple[Alignment, ...]:
        """Alignment of each column, by its delimiter cell."""
        marks = (self.source_in(self.delimiter, column) for column in range(len(self.columns)))
        return tuple(_ALIGNMENTS[mark[:1] == ":", mark[-1:] == ":"] for mark in marks)

    @cached_property
    def padding(self) -> tuple[int, int]:
        """Spaces that are before and after the texts of cells at least: 0 or 1, by the header row."""
        areas = [self.text[area.start : area.end] for area in self.header.cells]
        before = any(area[:1].isspace() for area in areas)
        return int(before), int(any(area[-1:].isspace() for area in areas))

    @cached_property
    def widths(self) -> tuple[int | None, ...]:
        """Display width that the cells of each column are padded to; None where they are not.

        It is that of header and delimiter, if they agree and at least half of the rows have it too.
        """
        return tuple(self._width(column) for column in range(len(self.columns)))

    def source_in(self, row: TableRow, column: int) -> str:
        """Source of the cell of `row` in the 0-based `column`, without padding; empty where it is missing."""
        if column >= len(row.cells):
            return ""
        area = row.cells[column]
        return self.text[area.start : area.end].strip(trim_characters())

    def text_in(self, row: TableRow, column: int) -> str:
        """Inline Markdown of a cell: its source without the backslashes of escaped pipes."""
        return unescaped(self.source_in(row, column))

    def columns_named(self, name: str) -> tuple[int, ...]:
        """0-based columns whose header is `name`: as written, else as rendered, else in canonical form.

        Headers that are empty have no name.
        """
        wanted = unescaped(name.strip(trim_characters()))
        if not wanted:
            return ()
        rendered = {heading_title(wanted), " ".join(wanted.split())}
        canonical = {canonical_heading(text) for text in rendered}
        titles = [heading_title(column) for column in self.columns]
        tiers = (
            [column == wanted for column in self.columns],
            [title in rendered for title in titles],
            [bool(title) and canonical_heading(title) in canonical for title in titles],
        )
        for tier in tiers:
            if any(tier):
                return tuple(column for column, is_named in enumerate(tier) if is_named)
        return ()

    def rows_with(self, column: int, key: str) -> Sequence[TableRow]:
        """Rows whose cell in the 0-based `column` is `key`: as written, else as rendered.

        Both Unicode forms of a key, composed and decomposed, are the same.
        """
        keys = self._keys(column)
        wanted = composed(" ".join(unescaped(key).split()))
        for index, text in (
            (keys.written, wanted),
            (keys.rendered, composed(heading_title(wanted))),
            (keys.rendered, wanted),
        ):
            if text in index:
                return index[text]
        return ()

    def texts_of(self, column: int) -> Collection[str]:
        """Texts of the cells in the 0-based `column` as a reader sees them, each once."""
        return self._keys(column).rendered.keys()

    def _keys(self, column: int) -> _Keys:
        if column not in self._by_key:
            written: defaultdict[str, list[TableRow]] = defaultdict(list)
            rendered: defaultdict[str, list[TableRow]] = defaultdict(list)
            for row in self.rows:
                cell = self.text_in(row, column)
                written[composed(" ".join(cell.split()))].append(row)
                rendered[composed(heading_title(cell))].append(row)
            self._by_key[column] = _Keys(written, rendered)
        return self._by_key[column]

    def _width(self, column: int) -> int | None:
        is_open = column == len(self.columns) - 1 and not self.header.trails
        width = self._area_width(self.header, column)
        if is_open or width != self._area_width(self.delimiter, column):
            return None
        same = Counter(self._area_width(row, column) == width for row in self.rows if column < len(row.cells))
        return width if same[True] >= same[False] else None

    def _area_width(self, row: TableRow, column: int) -> int:
        area = row.cells[column]
        return display_width(self.text[area.start : area.end])

    def _row(self, line: int) -> TableRow:
        start = self.containers.text_start(self.text, self.lines, line)
        start = self.lines.start(line) if start is None else start
        whole = self.text[start : self.lines.content_end(line)]
        start += len(whole) - len(whole.lstrip(trim_characters()))
        row = whole.strip(trim_characters())
        bounds = [0, *(match.end() for match in _CELL_END.finditer(row)), len(row) + 1]
        cells = [Span(start + left, start + right - 1) for left, right in pairwise(bounds)]
        leads = bool(cells) and not cells[0]
        cells = cells[leads:]
        trails = bool(cells) and not cells[-1]
        return TableRow(
            line=line,
            span=Span(start, start + len(row)),
            cells=tuple(cells[: len(cells) - trails]),
            leads=leads,
            trails=trails,
        )


def read_tables(tree: BlockTree, text: str, lines: LineIndex) -> tuple[TableSource, ...]:
    """All tables of `text` in document order."""
    found = (each for each in blocks_with_containers(tree) if each[0].kind is BlockKind.TABLE)
    return tuple(
        TableSource(text, lines, block, index, around) for index, (block, around) in enumerate(found)
    )


def tables_with_header(tables: Sequence[TableSource], header: str) -> tuple[TableSource, ...]:
    """The `tables` with a column of the name `header`, else with all columns that it lists between pipes.

    Of these only those with no other column, where there are any.
    """
    named = tuple(table for table in tables if table.columns_named(header))
    cells = [cell for cell in _CELL_END.split(header) if cell.strip(trim_characters())]
    if named or len(cells) < 2:
        return named
    found = tuple(table for table in tables if all(map(table.columns_named, cells)))
    return tuple(table for table in found if len(table.columns) == len(cells)) or found


def unescaped(cell: str) -> str:
    """`cell` with every escaped pipe as a pipe; inside code, too, as GFM has it."""
    return cell.replace("\\|", "|")


_ALIGNMENTS: Final = {
    (False, False): Alignment.NONE,
    (True, False): Alignment.LEFT,
    (True, True): Alignment.CENTER,
    (False, True): Alignment.RIGHT,
}
