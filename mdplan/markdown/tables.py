"""Tables as written: rows, cells with padding, alignments (GFM, tables extension); container prefixes."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import Final, TypeAlias

from mdplan.markdown.block_tree import BlockTree
from mdplan.markdown.blocks import Block, BlockKind
from mdplan.markdown.enclosures import Enclosures
from mdplan.markdown.headings import canonical_heading, heading_title, reader_names
from mdplan.markdown.reference_parser import trim_characters
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, Span, common_start
from mdplan.text.visible import composed, display_width
from mdplan.values import Struct, replace

_CELL_END: Final = lazy_pattern(r"(?<!\\)\|")


class TableRow(Struct, kw_only=True):
    """A table row on the 1-based `line`; `span` excludes surrounding whitespace.

    `cells` are the areas between the pipes, padding included; their number may differ from the columns.
    `leads` and `trails`: a pipe precedes the first cell, follows the last.
    """

    line: int
    span: Span
    cells: tuple[Span, ...]
    leads: bool
    trails: bool


_RowsByText: TypeAlias = Mapping[str, Sequence[TableRow]]


class Containers(Struct):
    """The quotes, list items and footnotes around a block: the innermost `block` and its `outer` ones.

    `block` is None at the root (CommonMark 0.31.2, sections 5.1 and 5.2).
    """

    block: Block | None = None
    outer: "Containers | None" = None

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All container blocks, outermost first."""
        blocks: list[Block] = []
        containers: Containers | None = self
        while containers is not None and containers.block is not None:
            blocks.append(containers.block)
            containers = containers.outer
        return tuple(reversed(blocks))

    def text_start(self, lines: LineIndex, line: int) -> int | None:
        """Return the offset after the container prefix of `line` (1-based).

        None if the line is a lazy continuation or outside these containers.
        """
        walk = self._walk(lines, line)
        return None if walk is None else walk[0]

    def prefix(self, lines: LineIndex, line: int) -> str | None:
        """Return the prefix for a new line in these containers, aligned with `line`.

        Quote markers are repeated; list markers on `line` become spaces.
        """
        walk = self._walk(lines, line)
        return None if walk is None else walk[1]

    def is_blank(self, lines: LineIndex, line: int) -> bool:
        """Return True if `line` holds only quote markers of the containers."""
        text, at, end = lines.text, lines.start(line), lines.content_end(line)
        for block in self.blocks:
            mark = _QUOTE_MARKS.match(text, at, end) if block.kind is BlockKind.QUOTE else None
            at = mark.end() if mark else at
        return not text[at:end].strip(" \t")

    def share_line(self, line: int) -> bool:
        """Return True if the marker of a list item or footnote is on `line`."""
        return any(block.kind in _WITH_MARKER and block.first_line == line for block in self.blocks)

    def _walk(self, lines: LineIndex, line: int) -> tuple[int, str] | None:
        """Return the end of the container prefix in `line`, and the prefix for a new line."""
        text, at, end = lines.text, lines.start(line), lines.content_end(line)
        prefix = ""
        for block in self.blocks:
            start = behind_white(text, at, end)
            if block.kind is BlockKind.QUOTE:
                if text[start : start + 1] != ">" or start >= end:
                    return None
                prefix += text[at : start + 1]
                at = start + 1
            elif block.first_line == line:
                is_footnote = block.kind is BlockKind.FOOTNOTE
                marker = (_FOOTNOTE_MARKER if is_footnote else MARKER).match(text, start, end)
                if marker is None:
                    return None
                prefix += text[at:start] + " " * (_TAB_STOP if is_footnote else len(marker[0]))
                at = marker.end()
        start = behind_white(text, at, end)
        return start, prefix + text[at:start]


class TableSource:
    """A table in a document, read on demand. `index` (0-based) counts tables of any depth."""

    def __init__(self, lines: LineIndex, block: Block, index: int, containers: Containers) -> None:
        self.text = lines.text
        self.lines = lines
        self.block = block
        self.index = index
        self.containers = containers
        self._by_key: dict[int, tuple[_RowsByText, _RowsByText]] = {}

    @property
    def columns(self) -> tuple[str, ...]:
        """Header cells as inline Markdown, pipes unescaped."""
        return self.block.cells

    @cached_property
    def header(self) -> TableRow:
        """The header row."""
        return self._row(self.block.first_line)

    @cached_property
    def delimiter(self) -> TableRow:
        """The delimiter row."""
        return self._row(self.block.first_line + 1)

    @cached_property
    def rows(self) -> tuple[TableRow, ...]:
        """The body rows."""
        return tuple(self._row(line) for line in range(self.block.first_line + 2, self.block.last_line + 1))

    @cached_property
    def is_proven(self) -> bool:
        """True if the header cells cut from the source equal the parser's."""
        every_line = range(self.block.first_line, self.block.last_line + 1)
        if any(self.containers.text_start(self.lines, line) is None for line in every_line):
            return False
        cut = tuple(self.text_in(self.header, column) for column in range(len(self.header.cells)))
        is_same = tuple(cell.replace("\0", "\ufffd") for cell in cut) == self.columns
        return is_same and len(self.delimiter.cells) == len(self.columns)

    @cached_property
    def alignments(self) -> tuple[tuple[bool, bool], ...]:
        """Whether the delimiter row has a colon on the left and on the right of each column."""
        marks = (self.source_in(self.delimiter, column) for column in range(len(self.columns)))
        return tuple((mark[:1] == ":", mark[-1:] == ":") for mark in marks)

    @cached_property
    def padding(self) -> tuple[int, int]:
        """Minimum spaces before and after cell text: 0 or 1, from the header row."""
        areas = [self.text[area.start : area.end] for area in self.header.cells]
        before = any(area[:1].isspace() for area in areas)
        return int(before), int(any(area[-1:].isspace() for area in areas))

    @cached_property
    def widths(self) -> tuple[int | None, ...]:
        """The display width to which each column is padded; None if it is not.

        It is the width of header and delimiter, if they agree and at least half of the rows match.
        """
        return tuple(self._width(column) for column in range(len(self.columns)))

    def source_in(self, row: TableRow, column: int) -> str:
        """Return the source of the cell of `row` in the 0-based `column`, unpadded; empty if missing."""
        if column >= len(row.cells):
            return ""
        area = row.cells[column]
        return self.text[area.start : area.end].strip(trim_characters())

    def text_in(self, row: TableRow, column: int) -> str:
        """Return the inline Markdown of a cell, pipes unescaped."""
        return unescaped(self.source_in(row, column))

    def columns_named(self, name: str) -> tuple[int, ...]:
        """Return the 0-based columns with the header `name`: verbatim, else rendered, else canonical.

        Empty headers never match.
        """
        header = unescaped(name.strip(trim_characters()))
        if not header:
            return ()
        rendered = {heading_title(header), " ".join(header.split())}
        canonical = {canonical_heading(text) for text in rendered}
        names = [reader_names(column) for column in self.columns]
        tiers = (
            [column == header for column in self.columns],
            [not rendered.isdisjoint(titles) for titles in names],
            [any(title and canonical_heading(title) in canonical for title in titles) for titles in names],
        )
        for tier in tiers:
            if any(tier):
                return tuple(column for column, is_named in enumerate(tier) if is_named)
        return ()

    def rows_with(self, column: int, key: str) -> Sequence[TableRow]:
        """Return the rows whose cell in the 0-based `column` is `key`: verbatim, else rendered.

        Texts are compared in NFC.
        """
        by_written, by_rendered = self._keys(column)
        written = composed(" ".join(unescaped(key).split()))
        rendered = composed(heading_title(written))
        return by_written.get(written) or by_rendered.get(rendered) or by_rendered.get(written, ())

    def texts_of(self, column: int) -> Collection[str]:
        """Return the rendered cell texts of the 0-based `column`, deduplicated."""
        return self._keys(column)[1].keys()

    def _keys(self, column: int) -> tuple[_RowsByText, _RowsByText]:
        """Return rows by cell text in `column`, whitespace collapsed: as written and as rendered."""
        if column not in self._by_key:
            written: defaultdict[str, list[TableRow]] = defaultdict(list)
            rendered: defaultdict[str, list[TableRow]] = defaultdict(list)
            for row in self.rows:
                cell = self.text_in(row, column)
                written[composed(" ".join(cell.split()))].append(row)
                for name in reader_names(cell):
                    rendered[composed(name)].append(row)
            self._by_key[column] = written, rendered
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
        start = self.containers.text_start(self.lines, line)
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


def read_tables(tree: BlockTree, lines: LineIndex, enclosures: Enclosures) -> tuple[TableSource, ...]:
    """Return all tables in document order."""
    tables = [
        (without_marks(block, lines, enclosures), around)
        for block, around in blocks_with_containers(tree)
        if block.kind is BlockKind.TABLE
    ]
    return tuple(TableSource(lines, block, index, around) for index, (block, around) in enumerate(tables))


def without_marks(table: Block, lines: LineIndex, enclosures: Enclosures) -> Block:
    """Return `table` without trailing lines that are enclosure tags or attributes, not rows."""
    last = enclosures.last_line_within(table.first_line + 1, table.last_line, lambda _: True)
    if last == table.last_line:
        return table
    return replace(table, last_line=last, span=Span(table.span.start, lines.end(last)))


def tables_with_header(tables: Sequence[TableSource], header: str) -> tuple[TableSource, ...]:
    """Return the `tables` with a column named `header`, else those with all columns that it lists.

    The list is separated by pipes. Tables with exactly these columns take precedence.
    """
    named = tuple(table for table in tables if table.columns_named(header))
    cells = [cell for cell in _CELL_END.split(header) if cell.strip(trim_characters())]
    if named or len(cells) < 2:
        return named
    with_all = tuple(table for table in tables if all(map(table.columns_named, cells)))
    return tuple(table for table in with_all if len(table.columns) == len(cells)) or with_all


def unescaped(cell: str) -> str:
    """Return `cell` with escaped pipes unescaped, also in code, as in GFM."""
    return cell.replace("\\|", "|")


class NodeKind(StrEnum):
    """Kinds of nodes that match operations can exclude; the values are the JSON keys."""

    CODE_BLOCKS = "codeBlocks"
    INLINE_CODE = "inlineCode"
    LINK_DESTINATIONS = "linkDestinations"
    IMAGES = "images"
    FRONT_MATTER = "frontMatter"
    HTML = "html"
    TABLES = "tables"
    HEADINGS = "headings"
    TEMPLATES = "templates"
    MATH = "math"
    MDX = "mdx"
    MARKUP = "markup"

    @classmethod
    def _missing_(cls, value: object) -> "NodeKind | None":
        """Accept the spellings ``CODE_BLOCKS`` and ``code_blocks``."""
        return cls.__members__.get(value.upper().replace("-", "_")) if isinstance(value, str) else None


# --- Line prefixes inside quotes, list items and footnotes

MARKER: Final = lazy_pattern(r"[-+*]|\d{1,9}[.)]")

# GitHub's footnotes; continuation lines are indented by four columns.
_FOOTNOTE_MARKER: Final = lazy_pattern(r"\[\^[^\]]+\]:")
_WITH_MARKER: Final = frozenset({BlockKind.LIST_ITEM, BlockKind.FOOTNOTE})
_WHITE: Final = lazy_pattern(r"[ \t]*")
_QUOTE_MARKS: Final = lazy_pattern(r"[ \t]*>")
_MARK_OF_ITEM: Final = lazy_pattern(r"[^ \t>]")
_TAB_STOP: Final = 4


def blocks_with_containers(tree: BlockTree) -> Iterator[tuple[Block, Containers]]:
    """Yield all blocks in document order, each with its containers."""
    # Containers by depth: a list adds none, its items do.
    around = [Containers()]
    for block in tree.blocks:
        del around[block.depth + 1 :]
        yield block, around[-1]
        if block.kind is BlockKind.QUOTE or block.kind in _WITH_MARKER:
            around.append(Containers(block, around[-1]))
        elif block.kind is BlockKind.LIST:
            around.append(around[-1])


def prefix_after(first: str) -> str:
    """Return the prefix of continuation lines of a block whose first line starts with `first`.

    Indentation and quote markers are repeated, list markers become spaces (CommonMark 0.31.2, sections 5.1
    and 5.2).
    """
    return _MARK_OF_ITEM.sub(" ", first)


def with_prefix(prefix: str, line: str) -> str:
    """Return `line` after `prefix`, without trailing spaces if it is empty."""
    if not line:
        return prefix.rstrip(" \t")
    # A space after a quote marker belongs to the marker.
    return f"{prefix} {line}" if prefix.endswith(">") and line[0] in " \t" else prefix + line


def without_prefix(prefix: str, line: str) -> str:
    """Return `line` without its common start with `prefix`."""
    return line[common_start(prefix, line) :]


def width_of(prefix: str) -> int:
    """Return the width of `prefix` in columns: tabs advance to the next multiple of 4.

    CommonMark 0.31.2, section 2.2.
    """
    width = 0
    for character in prefix:
        width += _TAB_STOP - width % _TAB_STOP if character == "\t" else 1
    return width


def behind_white(text: str, at: int, end: int) -> int:
    """Return the offset behind the blanks at `at`."""
    white = _WHITE.match(text, at, end)
    assert white is not None, "it matches nothing too"
    return white.end()


def behind_indentation(text: str, at: int, end: int, width: int) -> int:
    """Return the offset behind up to `width` columns of blanks at `at`."""
    stop = at
    while stop < end and text[stop] in " \t" and width_of(text[at:stop]) < width:
        stop += 1
    return stop
