"""Shared parts of operations on tables: finding the table, its columns, and the row of a key."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from pydantic import Field, field_validator, model_validator

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.markdown.tables import TableRow, TableSource, tables_with_header
from mdplan.operations.base.fields import Count, TableHeader, WireModel
from mdplan.operations.base.operation import SectionTargeted
from mdplan.text.source import visible
from mdplan.text.visible import nearest_names

_MOST_LISTED: Final = 10
_NUMBER: Final = re.compile(r"[0-9]{1,4}")
_MOST_COLUMNS: Final = 8
_LONGEST_NAME: Final = 40
_MAKE_ONE: Final = "append_to_section with the lines of a table makes one"


class TableField(WireModel):
    """A table, by its 0-based index, or by header cells: one, or a list of them."""

    index: Count | None = None
    header: TableHeader | None = None

    @model_validator(mode="after")
    def _check_one(self) -> "TableField":
        if (self.index is None) == (self.header is None):
            msg = "give either index or header"
            raise ValueError(msg)
        return self


@dataclass(frozen=True, slots=True)
class AddressedTable:
    """A table, and the 0-based column of its keys.

    `section` is the one that the edit addresses, and `owner` the index of the one whose own body it is in.
    """

    table: TableSource
    section: Section
    owner: int
    key_column: int


class TableOperation(SectionTargeted):
    """An operation on the row of a table that has a key."""

    target_is_required: ClassVar = False
    accepts_root: ClassVar = True

    table: TableField | None = Field(
        default=None,
        description="{index} of the table, 0-based, or {header} of a column: in the section with its "
        "subsections, else in the file. Not needed where one table has the key column.",
    )
    key_column: str = Field(description="Header of the column with the keys, or its number, from 1, as text.")
    key: str = Field(description="Cell of the row in that column.")

    @field_validator("key_column", "key")
    @classmethod
    def _check_text(cls, value: str) -> str:
        if not value.strip():
            msg = "it is blank, and names no row"
            raise ValueError(msg)
        return value

    def find_table(self, outline: Outline) -> AddressedTable | Problems:
        """The table and its key column.

        Errors: those of the target; TABLE_NOT_FOUND; KEY_NOT_FOUND and MATCH_COUNT_MISMATCH for the column;
        INVALID_ARGUMENT for a table that could not be read.
        """
        section = self.find_section(outline) if self._given_targets() else None
        if isinstance(section, Diagnostic):
            return (section,)
        table = self._table(outline, section)
        if isinstance(table, Diagnostic):
            return (table,)
        if not table.is_proven:
            return (_unproven(table),)
        column = find_column(table, "keyColumn", self.key_column)
        if isinstance(column, Diagnostic):
            return (column,)
        owner = outline.section_at(table.block.span.start)
        return AddressedTable(table, section or owner, owner.index, column)

    def find_row(self, found: AddressedTable, key: str | None = None) -> TableRow | Diagnostic | None:
        """The row of the `key`, by default that of the edit; None where there is none.

        Errors: MATCH_COUNT_MISMATCH.
        """
        rows = found.table.rows_with(found.key_column, self.key if key is None else key)
        if len(rows) < 2:
            return rows[0] if rows else None
        listed = ", ".join(str(row.line) for row in rows[:_MOST_LISTED])
        listed += ", …" if len(rows) > _MOST_LISTED else ""
        return Diagnostic(
            code=Code.MATCH_COUNT_MISMATCH,
            message=f"{len(rows)} rows have that key, at lines {listed}, exactly one is needed",
            hint="use a keyColumn that is unique, or replace_lines",
            place=found.table.lines.position(rows[0].span.start),
        )

    def no_row(self, found: AddressedTable, key: str, where: str = "") -> Diagnostic:
        """KEY_NOT_FOUND for the `key` of no row, which the field `where` has, if it is not `key`."""
        table = found.table
        near = nearest_names(key, table.texts_of(found.key_column))
        return Diagnostic(
            code=Code.KEY_NOT_FOUND,
            message=f"{where}no row of the table at lines {table.block.first_line}-{table.block.last_line} "
            "has that key",
            hint=f"nearest: {', '.join(f'`{visible(key)}`' for key in near)}"
            if near
            else "read the table: keys are compared as written, else as a reader sees them",
            place=table.lines.position(table.header.span.start),
        )

    def _table(self, outline: Outline, section: Section | None) -> TableSource | Diagnostic:
        tables = outline.tables if section is None else outline.tables_in(section.span)
        wanted = self.table.index if self.table is not None else None
        if wanted is None and len(tables) > 1:
            # Of several the column of the keys may say which.
            header = self.table.header if self.table is not None and self.table.header else self.key_column
            tables = tables_with_header(tables, header) or tables
        if wanted is None and len(tables) == 1:
            return tables[0]
        if wanted is not None and wanted < len(tables):
            return tables[wanted]
        return _not_found(outline, tables, section, wanted)


def find_column(table: TableSource, where: str, name: str) -> int | Diagnostic:
    """0-based column of `table` with the header `name`, or with this number from 1, where no header is that.

    `where` in the edit gives it.

    Errors: KEY_NOT_FOUND, MATCH_COUNT_MISMATCH.
    """
    columns = table.columns_named(name)
    if not columns and _NUMBER.fullmatch(name.strip()) and 0 < int(name) <= len(table.columns):
        return int(name) - 1
    if len(columns) == 1:
        return columns[0]
    if columns:
        return Diagnostic(
            code=Code.MATCH_COUNT_MISMATCH,
            message=f"{where}: {len(columns)} columns of the table at line {table.block.first_line} "
            "have that header",
            hint="give one of them another header first",
            place=table.lines.position(table.header.span.start),
        )
    near = nearest_names(name, dict.fromkeys(table.columns))
    hint = f"nearest: {_quoted(near)}" if near else f"its columns are {_quoted(table.columns)}"
    return Diagnostic(
        code=Code.KEY_NOT_FOUND,
        message=f"{where}: the table at line {table.block.first_line} has no column of that name",
        hint=hint,
        place=table.lines.position(table.header.span.start),
    )


def _not_found(
    outline: Outline, tables: Sequence[TableSource], section: Section | None, wanted: int | None
) -> Diagnostic:
    place = "the file" if section is None else "the section"
    if wanted is None and tables:
        message = f"{place} has {len(tables)} tables, and the edit does not say which"
    else:
        message = f"{place} has no table" + (f" of index {wanted}" if wanted is not None else "")
    hint = f'"table": {{"index": …}} is one of: {_listed(tables)}' if tables else _MAKE_ONE
    if not tables and section is not None and outline.tables:
        hint = f"tables of the file: {_listed(outline.tables)}"
    return Diagnostic(code=Code.TABLE_NOT_FOUND, message=message, hint=hint)


def _listed(tables: Sequence[TableSource]) -> str:
    """Tables in words: ``0 (lines 5-9: `Tool`, `Version`)``."""
    descriptions = (
        f"{index} (lines {table.block.first_line}-{table.block.last_line}: {_quoted(table.columns)})"
        for index, table in enumerate(tables[:_MOST_LISTED])
    )
    return ", ".join(descriptions) + (", …" if len(tables) > _MOST_LISTED else "")


def _quoted(names: Sequence[str]) -> str:
    shown = (visible(name) for name in names[:_MOST_COLUMNS])
    short = (name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…" for name in shown)
    return ", ".join(f"`{name}`" for name in short) + (", …" if len(names) > _MOST_COLUMNS else "")


def _unproven(table: TableSource) -> Diagnostic:
    return Diagnostic.invalid(
        f"the cells of the table at line {table.block.first_line} could not be found in the source",
        "use replace_lines there",
        place=table.lines.position(table.block.span.start),
    )
