"""Operations on tables: on the row that has a key, and on columns."""

import json
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, Literal

from pydantic import Field, field_validator, model_validator

from mdplan.diagnostics import Code, Diagnostic, Refused, both, or_problem, refuse_if
from mdplan.markdown.addresses import find_table
from mdplan.markdown.headings import heading_title, reader_names
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.markdown.table_edits import (
    NewColumn,
    added_row,
    cell_source,
    changed_cells,
    claimed_cells,
    has_line_end,
    reordered_columns,
)
from mdplan.markdown.tables import TableRow, TableSource, unescaped
from mdplan.operations.base import (
    Claim,
    Count,
    Resolution,
    SectionTargeted,
    TableHeader,
    WireModel,
    one_neighbour,
)
from mdplan.text.edit import EditList
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.source import Source, visible
from mdplan.text.visible import first_few, nearest_names, shortened
from mdplan.values import Struct
from mdplan.words import say


class AddressedTable(Struct):
    """A table, and the 0-based column of its keys.

    `section` is the addressed section, and `owner` the index of the section whose own body contains the
    table.
    """

    table: TableSource
    section: Section
    owner: int
    key_column: int


class TableField(WireModel):
    """A table, by its 0-based index, or by header cells: one, or a list of them."""

    index: Count | None = None
    header: TableHeader | None = None

    @model_validator(mode="after")
    def _check_one(self) -> "TableField":
        if (self.index is None) == (self.header is None):
            raise ValueError(say("give either {index or header}"))
        return self


class TableTargeted(SectionTargeted):
    """An operation on a table."""

    target_is_required: ClassVar = False
    accepts_root: ClassVar = True

    table: TableField | None = Field(
        default=None,
        description="{index} of the table, 0-based, or {header} of a column: in the section with its "
        "subsections, else in the file. Not needed where one table has the column.",
    )

    def table_with(self, outline: Outline, column: str) -> tuple[Section | None, TableSource]:
        """Return the section that the edit names, and the table, by default the one with the `column`.

        Errors: as for the target; TABLE_NOT_FOUND; INVALID_ARGUMENT for a table that could not be read.
        """
        section = self.named_section(outline)
        index, header = (self.table.index, self.table.header) if self.table else (None, None)
        table = find_table(outline, section, index, header, column)
        if not table.is_proven:
            raise Code.INVALID_ARGUMENT.refused(
                f"the cells of the table at line {table.block.first_line} could not be found in the source",
                say("use {replace_lines} there"),
                place=table.lines.position(table.block.span.start),
            )
        return section, table


class TableOperation(TableTargeted):
    """An operation on the row of a table that has a key."""

    key_column: str = Field(description="Header of the column with the keys, or its number, from 1, as text.")
    key: str = Field(description="Cell of the row in that column.")

    @field_validator("key_column", "key")
    @classmethod
    def _check_text(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("it is blank, and names no row")
        return value

    def find_table(self, outline: Outline) -> AddressedTable:
        """Return the table and its key column.

        Errors: as for the target; TABLE_NOT_FOUND; KEY_NOT_FOUND and MATCH_COUNT_MISMATCH for the column;
        INVALID_ARGUMENT for a table that could not be read.
        """
        section, table = self.table_with(outline, self.key_column)
        column = find_column(table, "keyColumn", self.key_column)
        owner = outline.section_at(table.block.span.start)
        return AddressedTable(table, section or owner, owner.index, column)

    def find_row(self, found: AddressedTable, key: str | None = None) -> TableRow | None:
        """Return the row with the `key`, by default the key of the edit, or None.

        Errors: MATCH_COUNT_MISMATCH.
        """
        rows = found.table.rows_with(found.key_column, self.key if key is None else key)
        if len(rows) < 2:
            return rows[0] if rows else None
        listed = first_few([row.line for row in rows])
        raise Code.MATCH_COUNT_MISMATCH.refused(
            f"{len(rows)} rows have that key, at lines {listed}, exactly one is needed",
            say("use a {keyColumn} that is unique, or {replace_lines}"),
            place=found.table.lines.position(rows[0].span.start),
        )

    def no_row(self, found: AddressedTable, key: str, where: str = "") -> Diagnostic:
        """Return KEY_NOT_FOUND for the `key` of no row, which the field `where` has, if it is not `key`."""
        table = found.table
        near = nearest_names(key, table.texts_of(found.key_column))
        return Code.KEY_NOT_FOUND.problem(
            f"{where}no row of the table at lines {table.block.first_line}-{table.block.last_line} "
            "has that key",
            f"nearest: {', '.join(f'`{visible(key)}`' for key in near)}"
            if near
            else "read the table: keys are compared as written, else as a reader sees them",
            place=table.lines.position(table.header.span.start),
        )


class UpsertTableRow(TableOperation):
    """Change cells of the table row with a given key, or add that row.

    The row has `key` in its cell of `keyColumn`, as written or as rendered. `row` gives cells by
    column header; other cells stay. If no row has the key, a row is added with the key, the cells of `row`,
    and empty cells. It becomes the last row, or goes next to the row with the key `before` or `after`; an
    existing row stays in place.

    Values are inline Markdown of one line; numbers and booleans become text. Pipes are escaped, even in code.
    A cell keeps its width if the value fits; a longer one widens only its own row. A new row follows the
    style of the header row, padded if the table is aligned.

    The cell of the key never changes, because that would be another row.
    """

    example: ClassVar[dict[str, object]] = {
        "heading": "Brew",
        "keyColumn": "Tea",
        "key": "Black",
        "row": {"Minutes": "3"},
    }

    op: Literal["upsert_table_row"]
    row: dict[str, str] = Field(description="Cells to write, by column header; Markdown of one line.")
    before: str | None = Field(default=None, description="Key of the row that a new row goes before.")
    after: str | None = Field(default=None, description="The same, to go after it.")

    @field_validator("row", mode="before", json_schema_input_type=dict[str, str | float | bool])
    @classmethod
    def _as_cells(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        return {
            name: json.dumps(value) if isinstance(value, int | float) else value
            for name, value in given.items()
        }

    _check_neighbour = model_validator(mode="after")(one_neighbour)

    def resolve(self, outline: Outline) -> Resolution:
        """Return edits of the cells that change, or the insertion of a row.

        Errors: as `find_table` and `find_row`; KEY_NOT_FOUND for an unknown column, INVALID_ARGUMENT
        for a value that cannot be a cell, or another value for the key.
        """
        found = self.find_table(outline)
        values, row = both(lambda: self._values(found), lambda: self.find_row(found))
        return self._change(found, row, values) if row else self._addition(found, values)

    def _change(self, found: AddressedTable, row: TableRow, values: Mapping[int, str]) -> Resolution:
        return Resolution(
            claims=tuple(
                Claim(span=span, owner=found.owner)
                for span in claimed_cells(row, sorted(values) or [found.key_column])
            ),
            edits=changed_cells(found.table, row, values),
            section=found.section,
        )

    def _addition(self, found: AddressedTable, values: Mapping[int, str]) -> Resolution:
        line = self._line_before(found)
        edit = added_row(found.table, {found.key_column: self.key, **values}, line)
        key = heading_title(unescaped(self.key))
        part = ("table row", found.table.index, found.key_column, key)
        return Resolution(
            claims=(Claim(span=edit.span, owner=found.owner, part=part),),
            edits=(edit,),
            section=found.section,
        )

    def _line_before(self, found: AddressedTable) -> int:
        """Return the line before the new row. Errors: KEY_NOT_FOUND, MATCH_COUNT_MISMATCH."""
        neighbour = self.after if self.before is None else self.before
        if neighbour is None:
            return found.table.block.last_line
        row = self.find_row(found, neighbour)
        if row is None:
            raise Refused(self.no_row(found, neighbour, "after: " if self.before is None else "before: "))
        return row.line - (self.before is not None)

    def _values(self, found: AddressedTable) -> dict[int, str]:
        """Return the cells of `row` by 0-based column, or all that is wrong with them."""
        values: dict[int, str] = {}
        problems: list[Diagnostic] = []
        for name, value in self.row.items():
            column = or_problem(find_column, found.table, "row", name)
            if isinstance(column, Diagnostic):
                problems.append(column)
            elif column in values:
                problems.append(
                    Diagnostic.invalid(say("{row} names one column twice"), "give each column once")
                )
            else:
                values[column] = value
        if any(has_line_end(value) for value in (*self.row.values(), self.key)):
            problems.append(
                Diagnostic.invalid("a cell cannot contain a line break", "write `<br>` in its place")
            )
        if found.key_column in values and not self._is_key(values[found.key_column]):
            problems.append(
                Diagnostic.invalid(
                    say("{row} gives the cell of {keyColumn} another value than key"),
                    say("omit it; to rename a key use {replace_match} in the section"),
                )
            )
        refuse_if(problems)
        return values

    def _is_key(self, value: str) -> bool:
        """Return True if `value` is the key, as written or as a reader sees it."""
        wanted, given = (unescaped(cell_source(text)) for text in (self.key, value))
        return given == wanted or not {heading_title(wanted), wanted}.isdisjoint(reader_names(given))


class DeleteTableRow(TableOperation):
    """Delete the table row with a given key.

    The row has `key` in its cell of `keyColumn`, as written or as rendered. Header and delimiter row
    stay, even without rows.
    """

    example: ClassVar[dict[str, object]] = {"heading": "Brew", "keyColumn": "Tea", "key": "Rooibos"}
    satisfied_by: ClassVar = frozenset({Code.KEY_NOT_FOUND})

    op: Literal["delete_table_row"]

    def resolve(self, outline: Outline) -> Resolution:
        """Return one deletion. Errors: as `find_table` and `find_row`; KEY_NOT_FOUND."""
        found = self.find_table(outline)
        row = self.find_row(found)
        if row is None:
            raise Refused(self.no_row(found, self.key))
        span = outline.source.lines.span(row.line, row.line)
        return Resolution(
            claims=(Claim(span=span, owner=found.owner),), deletions=(span,), section=found.section
        )


# --- Columns


class ColumnOperation(TableTargeted):
    """An operation on one column of a table."""

    column: str = Field(description="Header of the column, or its number, from 1, as text.")

    _check_neighbour = model_validator(mode="after")(one_neighbour)

    @field_validator("column")
    @classmethod
    def _check_text(cls, value: str) -> str:
        return checked_cell(value, "it is blank, and names no column")

    def resolution(
        self,
        outline: Outline,
        section: Section | None,
        table: TableSource,
        columns: Sequence[int | NewColumn],
        names: Mapping[int, str],
    ) -> Resolution:
        """Return edits that give `table` these `columns`, with new `names`, and a proof that all else stays.

        Errors: OUTLINE_CHANGED.
        """
        edits = EditList.of(reordered_columns(table, columns, names))
        assert isinstance(edits, EditList), "each is of another row"
        result = outline.edited(edits, Source.from_text(edits.apply(table.text)))
        others = result.tables[table.index : table.index + 1]
        if not others or _cells(others[0]) != _expected(table, columns, names):
            line = table.block.first_line
            raise Code.OUTLINE_CHANGED.refused(
                f"with these columns the table at line {line} would be read otherwise",
                say("use {replace_lines} there"),
            )
        return Resolution.at(outline, table.block.span, edits.edits, section=section)


class AddTableColumn(ColumnOperation):
    """Add a column to a table, with a header and cells.

    `cells` are inline Markdown of one line each, starting with the first row; missing cells are empty. The
    column becomes the last one, or goes next to the column with the header `before` or `after`. If the table
    already has a column with that header, nothing changes. Pipes are escaped, and cells are padded if the
    table is aligned; all other cells keep their bytes.
    """

    example: ClassVar[dict[str, object]] = {
        "heading": "Brew",
        "column": "Degrees",
        "cells": ["75", "100", "100"],
    }

    op: Literal["add_table_column"]
    cells: tuple[str, ...] = Field(default=(), description="Cells of the rows, from the first one on.")
    before: str | None = Field(default=None, description="Header of the column that it goes before.")
    after: str | None = Field(default=None, description="The same, to go after it.")

    @field_validator("cells")
    @classmethod
    def _check_cells(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if any(map(has_line_end, value)):
            raise ValueError("a cell cannot contain a line break: write `<br>` in its place")
        return value

    def resolve(self, outline: Outline) -> Resolution:
        """Return one edit for each row.

        Errors: as `table_with` and `find_column`; INVALID_ARGUMENT for more cells than rows.
        """
        section, table = self.table_with(outline, self.before or self.after or self.column)
        if table.columns_named(self.column):
            return Resolution.at(outline, table.block.span, (), section=section)
        if len(self.cells) > len(table.rows):
            raise Code.INVALID_ARGUMENT.refused(
                say("{cells} has {} cells, and the table {} rows", len(self.cells), len(table.rows)),
                say("add rows first, with {upsert_table_row}"),
            )
        columns: list[int | NewColumn] = [*range(len(table.columns))]
        columns.insert(place_of_column(table, self.before, self.after), NewColumn(self.column, self.cells))
        return self.resolution(outline, section, table, columns, {})


class SetTableColumn(ColumnOperation):
    """Rename a column of a table, move it, or both.

    `newName` is inline Markdown of one line. `before` and `after` name the new neighbour by its header. The
    cells of all columns keep their bytes, even in rows with missing or extra cells.
    """

    example: ClassVar[dict[str, object]] = {
        "heading": "Brew",
        "column": "Minutes",
        "newName": "Time",
        "before": "Tea",
    }

    op: Literal["set_table_column"]
    new_name: str | None = Field(default=None, description="New header, Markdown of one line.")
    before: str | None = Field(default=None, description="Header of the column that it goes before.")
    after: str | None = Field(default=None, description="The same, to go after it.")

    @model_validator(mode="after")
    def _check_change(self) -> "SetTableColumn":
        if self.new_name is None and self.before is None and self.after is None:
            raise ValueError(say("give {newName, before or after}"))
        if self.new_name is not None:
            checked_cell(self.new_name, say("{newName} is blank"))
        return self

    def resolve(self, outline: Outline) -> Resolution:
        """Return one edit for each row, or of the header.

        Errors: as `table_with` and `find_column`; INVALID_ARGUMENT for the header of another column.
        """
        section, table = self.table_with(outline, self.column)
        column = find_column(table, "column", self.column)
        if self.new_name is not None and set(table.columns_named(self.new_name)) - {column}:
            raise Code.INVALID_ARGUMENT.refused(
                say(
                    "another column of the table at line {} has the header {newName}", table.block.first_line
                ),
                "give it another name",
            )
        columns: list[int | NewColumn] = [*range(len(table.columns))]
        if self.before is not None or self.after is not None:
            place = place_of_column(table, self.before, self.after)
            columns.remove(column)
            columns.insert(place - (place > column), column)
        names = {} if self.new_name is None else {column: self.new_name}
        return self.resolution(outline, section, table, columns, names)

    def already_satisfied(self, problem: Diagnostic, outline: Outline) -> bool:
        """Return True if a table has the new header instead."""
        is_gone = problem.code is Code.KEY_NOT_FOUND
        return is_gone and any(table.columns_named(self.new_name or "") for table in outline.tables)


class DeleteTableColumn(ColumnOperation):
    """Delete a column of a table with its cells.

    The cells of other columns keep their bytes. The only column cannot be deleted: `delete_block` deletes a
    table.
    """

    example: ClassVar[dict[str, object]] = {"heading": "Brew", "column": "Minutes"}
    satisfied_by: ClassVar = frozenset({Code.KEY_NOT_FOUND})

    op: Literal["delete_table_column"]

    def resolve(self, outline: Outline) -> Resolution:
        """Return one edit for each row. Errors: as `table_with` and `find_column`; INVALID_ARGUMENT."""
        section, table = self.table_with(outline, self.column)
        column = find_column(table, "column", self.column)
        if len(table.columns) == 1:
            raise Code.INVALID_ARGUMENT.refused(
                f"the table at line {table.block.first_line} has no other column",
                say("use {delete_block} to delete the table"),
            )
        rest = [at for at in range(len(table.columns)) if at != column]
        return self.resolution(outline, section, table, rest, {})


def checked_cell(value: str, why: str) -> str:
    """Return `value`, which a cell of a header can hold. Raises ValueError."""
    if not value.strip():
        raise ValueError(why)
    if has_line_end(value):
        raise ValueError("a cell cannot contain a line break: write `<br>` in its place")
    return value


def place_of_column(table: TableSource, before: str | None, after: str | None) -> int:
    """Return the number of columns before the place that `before` or `after` names; all without them.

    Errors: as `find_column`.
    """
    if before is not None:
        return find_column(table, "before", before)
    return len(table.columns) if after is None else find_column(table, "after", after) + 1


def _cells(table: TableSource) -> list[list[str]]:
    """Return the texts of the cells that count, by rows, the header first."""
    count = len(table.columns)
    return [[table.text_in(row, column) for column in range(count)] for row in (table.header, *table.rows)]


def _expected(
    table: TableSource, columns: Sequence[int | NewColumn], names: Mapping[int, str]
) -> list[list[str]]:
    """Return what `_cells` of the table with these columns must be."""
    header, *rows = _cells(table)
    named = [unescaped(cell_source(names[at])) if at in names else name for at, name in enumerate(header)]
    return [
        [unescaped(column.source(at)) if isinstance(column, NewColumn) else row[column] for column in columns]
        for at, row in enumerate([named, *rows], start=-1)
    ]


# --- Shared parts of operations on tables: finding the table, its columns, and the row of a key.

_NUMBER: Final = lazy_pattern(r"[0-9]{1,4}")
_MOST_COLUMNS: Final = 8
_LONGEST_NAME: Final = 40


def find_column(table: TableSource, where: str, name: str) -> int:
    """Return the 0-based column of `table` with the header `name`, else with the 1-based number `name`.

    `where` is the field of the edit that gives it. Errors: KEY_NOT_FOUND, MATCH_COUNT_MISMATCH.
    """
    columns = table.columns_named(name)
    if not columns and _NUMBER.fullmatch(name.strip()) and 0 < int(name) <= len(table.columns):
        return int(name) - 1
    if len(columns) == 1:
        return columns[0]
    if columns:
        raise Code.MATCH_COUNT_MISMATCH.refused(
            f"{where}: {len(columns)} columns of the table at line {table.block.first_line} have that header",
            "give one of them another header first",
            place=table.lines.position(table.header.span.start),
        )
    near = nearest_names(name, dict.fromkeys(table.columns))
    hint = f"nearest: {_quoted(near)}" if near else f"its columns are {_quoted(table.columns)}"
    raise Code.KEY_NOT_FOUND.refused(
        f"{where}: the table at line {table.block.first_line} has no column of that name",
        hint,
        place=table.lines.position(table.header.span.start),
    )


def _quoted(names: Sequence[str]) -> str:
    return first_few([f"`{shortened(visible(name), _LONGEST_NAME)}`" for name in names], _MOST_COLUMNS)
