"""Edits of a table in its padding style: change cells, add rows, reorder columns."""

from collections.abc import Mapping, Sequence
from typing import Final

from mdplan.markdown.reference_parser import trim_characters
from mdplan.markdown.tables import TableRow, TableSource, unescaped
from mdplan.text.edit import TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span, line_end_around
from mdplan.text.visible import display_width
from mdplan.values import Struct

_PIPE: Final = lazy_pattern(r"(\\*)\|")
_LINE_END: Final = lazy_pattern(r"[\r\n]")

# Text that would start another block in a row without leading pipe, and so end the table.
_STARTS_BLOCK: Final = lazy_pattern(
    r"#{1,6}(?:[ \t]|$)|>|[-+*](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$)|`{3}|~{3}|<|[-*_](?:[ \t]*[-*_]){2,}"
)


def has_line_end(value: str) -> bool:
    """Return True if `value` contains a newline, which a cell cannot hold."""
    return _LINE_END.search(value) is not None


def cell_source(value: str) -> str:
    """Return the inline Markdown `value` as cell source, with pipes escaped, also in code.

    Escaped pipes stay; a pipe after an even run of backslashes gets one more.
    """
    return with_escaped_pipes(value.strip(trim_characters()))


def with_escaped_pipes(value: str) -> str:
    """Return `value` with every unescaped pipe escaped."""
    return _PIPE.sub(lambda match: match[0] if len(match[1]) % 2 else f"{match[1]}\\|", value)


def changed_cells(table: TableSource, row: TableRow, values: Mapping[int, str]) -> tuple[TextEdit, ...]:
    """Return edits that set the cells of `row` to `values` by 0-based column, skipping equal cells.

    A cell keeps its width if the value fits; otherwise only its row grows.
    """
    edits: list[TextEdit] = []
    for column, value in sorted(values.items()):
        source = cell_source(value)
        if column < len(row.cells) and table.text_in(row, column) != unescaped(source):
            area = row.cells[column]
            edits.append(TextEdit(area, _area_like(table, row, column, source)))
    missing = range(len(row.cells), max(values, default=-1) + 1)
    sources = [cell_source(values.get(column, "")) for column in missing]
    if any(sources):
        edits.append(TextEdit.insert(row.span.end, _more_cells(table, row, sources)))
    return tuple(edits)


def claimed_cells(row: TableRow, columns: list[int]) -> tuple[Span, ...]:
    """Return the spans of the cells of `row` in `columns`; the whole row if a cell is missing."""
    if any(column >= len(row.cells) for column in columns):
        return (row.span,)
    return tuple(row.cells[column] for column in columns)


def added_row(table: TableSource, values: Mapping[int, str], after: int) -> TextEdit:
    """Return the insertion of a row with `values`, by 0-based column, after the line `after`.

    It has the pipes, padding and container prefix of the other rows.
    """
    lines = table.lines
    prefix = table.containers.prefix(lines, after)
    assert prefix is not None, "the table is proven"
    row = prefix + new_row(table, [cell_source(values.get(at, "")) for at in range(len(table.columns))])
    line_end = line_end_around(lines, lines.end(after))
    return TextEdit.insert(lines.end(after), row + line_end if lines.ending(after) else line_end + row)


def new_row(table: TableSource, sources: list[str]) -> str:
    """Return a row with these `sources` in the pipes and the padding of the other rows."""
    header, last = table.header, len(sources) - 1
    before, behind = table.padding
    leads = header.leads or _needs_pipe(sources[0])
    areas = [
        _area(
            table,
            column,
            source,
            before=before if column or leads else 0,
            behind=behind if column < last or header.trails else None,
        )
        for column, source in enumerate(sources)
    ]
    row = "|".join(areas)
    return f"{'|' if leads else ''}{row}{'|' if header.trails else ''}".rstrip(trim_characters())


def _more_cells(table: TableSource, row: TableRow, sources: list[str]) -> str:
    """Return the text to append to `row` to add cells."""
    before, behind = table.padding
    closes = row.trails or not row.cells
    areas = [
        _area(
            table,
            column,
            source,
            before=before,
            behind=behind if closes or column < len(row.cells) + len(sources) - 1 else None,
        )
        for column, source in enumerate(sources, len(row.cells))
    ]
    if closes:
        return "".join(f"{area}|" for area in areas)
    # Otherwise a trailing backslash would escape the pipe.
    gap = max(behind, int(table.text[row.span.end - 1] == "\\"))
    return (" " * gap + "|" + "|".join(areas)).rstrip(trim_characters())


def _area_like(table: TableSource, row: TableRow, column: int, source: str) -> str:
    """Return the padded replacement of the cell of `row` in `column` with `source`."""
    before, behind = _pads(table, row, column) or table.padding
    is_first = not column and not row.leads
    needs_pipe = is_first and _needs_pipe(source)
    is_open = column == len(row.cells) - 1 and not row.trails
    least = table.padding[0] if needs_pipe or before > 1 else before
    area = _area(
        table,
        column,
        source,
        before=0 if is_first and not needs_pipe else least,
        behind=None if is_open else behind if behind <= 1 else table.padding[1],
        like=row,
    )
    return f"|{area}" if needs_pipe else area


def _needs_pipe(source: str) -> bool:
    """Return True if a first cell without leading pipe would start another block."""
    return not source or _STARTS_BLOCK.match(source) is not None


def _pads(table: TableSource, row: TableRow, column: int) -> tuple[int, int] | None:
    """Return the whitespace widths around the text of a cell; None if it is empty."""
    if column >= len(row.cells):
        return None
    area = row.cells[column]
    old = table.text[area.start : area.end]
    if not old.strip(trim_characters()):
        return None
    return len(old) - len(old.lstrip(trim_characters())), len(old) - len(old.rstrip(trim_characters()))


def _area(
    table: TableSource,
    column: int,
    source: str,
    *,
    before: int,
    behind: int | None,
    like: TableRow | None = None,
) -> str:
    """Return `source` padded by at least `before` and `behind`; no `behind` ends the row.

    `like` is the row whose cell it replaces.
    """
    if behind is None:
        return " " * before + source
    if source.endswith("\\"):
        # Otherwise a trailing backslash would escape the pipe.
        behind = max(behind, 1)
    width = _target_width(table, column, like)
    fill = max(0, width - display_width(source) - before - behind)
    match _text_side(table, column, like):
        case False, True:
            before += fill
        case True, True:
            before += fill // 2
            behind += fill - fill // 2
        case _:
            behind += fill
    return " " * before + source + " " * behind


def _target_width(table: TableSource, column: int, like: TableRow | None) -> int:
    """Return the target display width of a cell; 0 for as narrow as possible."""
    width = table.widths[column]
    pads = _pads(table, like, column) if like is not None else None
    if width is not None or like is None or pads is None:
        return width or 0
    area = like.cells[column]
    has_room = sum(pads) > sum(table.padding)
    return display_width(table.text[area.start : area.end]) if has_room else 0


def _text_side(table: TableSource, column: int, like: TableRow | None) -> tuple[bool, bool]:
    """Return the alignment of text in `column`: the declared one unless `like`, or the last row, differs."""
    row = like or (table.rows[-1] if table.rows else table.header)
    before, behind = _pads(table, row, column) or (0, 0)
    return (True, False) if before <= 1 < behind else table.alignments[column]


# --- Columns


# The numbers of the first two rows; the others count from 0.
_HEADER: Final = -1
_DELIMITER: Final = -2


class NewColumn(Struct):
    """A column that comes: its `header`, and the `cells` of the first rows, as inline Markdown."""

    header: str
    cells: Sequence[str]

    def source(self, at: int) -> str:
        """Return the source of the cell in the row with the number `at`."""
        value = self.header if at < 0 else self.cells[at] if at < len(self.cells) else ""
        return cell_source(value)


def reordered_columns(
    table: TableSource, columns: Sequence[int | NewColumn], names: Mapping[int, str]
) -> tuple[TextEdit, ...]:
    """Return edits that give `table` these `columns`: existing ones by 0-based index, and new ones.

    `names` renames existing columns. Other cells stay verbatim, including padding. Short rows are only filled
    up as far as necessary.
    """
    others = [(table.header, _HEADER), (table.delimiter, _DELIMITER)]
    rows = [*others, *((row, at) for at, row in enumerate(table.rows))]
    edits = (_with_columns(table, row, at, columns, names if at == _HEADER else {}) for row, at in rows)
    return tuple(edit for edit in edits if table.text[edit.span.start : edit.span.end] != edit.new_text)


def _with_columns(
    table: TableSource, row: TableRow, at: int, columns: Sequence[int | NewColumn], names: Mapping[int, str]
) -> TextEdit:
    before, behind = table.padding
    areas = [_area_of(table, row, at, column, names) for column in columns]
    is_short = len(row.cells) < len(table.columns)
    while areas and (areas[-1] is None or (is_short and not areas[-1].strip())):
        areas.pop()
    areas += (table.text[area.start : area.end] for area in row.cells[len(table.columns) :])
    texts = [area or " " for area in areas] or [" "]
    if not (row.leads and row.trails):
        # A cell at an open row end has no padding, and its backslash escapes no pipe.
        texts = [" " * (before - text.startswith(" ")) + text for text in texts]
        texts = [text + " " * max(behind - text.endswith(" "), text.endswith("\\")) for text in texts]
    text = "|".join(texts)
    needs_pipes = len(columns) == len(texts) == 1 or not "".join(texts).strip()
    if not row.trails:
        text = text.rstrip(trim_characters()) + " |" * needs_pipes
    if not row.leads:
        text = text.lstrip(trim_characters())
        is_dashes = at == _DELIMITER and not text.startswith("- ")
        is_other = text.startswith("|") or (not is_dashes and _STARTS_BLOCK.match(text) is not None)
        text = f"| {text}" if needs_pipes or is_other else text
    start = row.cells[0].start if row.cells else row.span.start
    return TextEdit(Span(start, row.cells[-1].end if row.cells else row.span.end), text)


def _area_of(
    table: TableSource, row: TableRow, at: int, column: int | NewColumn, names: Mapping[int, str]
) -> str | None:
    """Return the cell of `row` in `column`, including padding; None if the row is too short."""
    if isinstance(column, NewColumn):
        return _new_area(table, column, at)
    if column in names:
        return _area_like(table, row, column, cell_source(names[column]))
    return table.text[row.cells[column].start : row.cells[column].end] if column < len(row.cells) else None


def _new_area(table: TableSource, column: NewColumn, at: int) -> str:
    """Return the new cell of row number `at`."""
    before, behind = table.padding
    is_padded = any(width is not None for width in table.widths)
    sources = [column.source(index) for index in range(_HEADER, len(table.rows) if is_padded else 0)]
    dashes = (len(table.source_in(table.delimiter, other)) for other in range(len(table.columns)))
    width = max(min(3, *dashes), *map(display_width, sources))
    if at == _DELIMITER:
        first = table.delimiter.cells[0]
        if table.text[first.start] == " ":
            return f" {'-' * width} "
        return "-" * (width + before + behind)
    source = column.source(at)
    fill = " " * (width - display_width(source)) if is_padded else ""
    return " " * before + source + fill + " " * max(behind, int(source.endswith("\\")))
