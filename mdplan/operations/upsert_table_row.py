"""upsert_table_row: change the row of a table that has a key, or add it."""

import json
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.headings import heading_title
from mdplan.markdown.outline import Outline
from mdplan.markdown.table_edits import (
    added_row,
    cell_source,
    changed_cells,
    claimed_cells,
    has_line_end,
)
from mdplan.markdown.tables import TableRow, unescaped
from mdplan.operations.base.operation import Claim, Resolution
from mdplan.operations.base.table import AddressedTable, TableOperation, find_column


class UpsertTableRow(TableOperation):
    """Change cells of the table row that has a key, or add that row.

    The row is the one whose cell in `keyColumn` is `key`, as written or as a reader sees it. `row` gives
    cells by the headers of their columns; other cells stay as they are. Where no row has the key, one is
    added, with the key and the cells of `row`, and empty ones for the rest. It goes after the last row, or
    next to the row whose key `before` or `after` gives; a row that exists stays where it is.

    Values are inline Markdown of one line; numbers and booleans become text. Pipes in them are escaped, also
    inside code. A cell keeps its width where the value fits, and a longer one makes its own row wider: other
    rows never change. A row is added in the style of the header row, padded to the width of the columns where
    the table is aligned.

    The cell of the key is never given another value: that would be another row.

    `table` counts from 0 the tables at every depth, as md_stat does; with a section next to it, those
    in the section with its subsections. Without `table` there must be exactly one that has the key column.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "upsert_table_row",
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

    @model_validator(mode="after")
    def _check_place(self) -> "UpsertTableRow":
        if self.before is not None and self.after is not None:
            msg = "give one of before and after"
            raise ValueError(msg)
        return self

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """Edits of the cells that change, or the insertion of a row.

        Errors: those of `find_table` and `find_row`; KEY_NOT_FOUND for an unknown column, INVALID_ARGUMENT
        for a value that cannot be a cell, or another value for the key.
        """
        found = self.find_table(outline)
        if not isinstance(found, AddressedTable):
            return found
        values, row = self._values(found), self.find_row(found)
        if isinstance(values, dict) and not isinstance(row, Diagnostic):
            return self._change(found, row, values) if row else self._addition(found, values)
        problems = () if isinstance(values, dict) else values
        return (*problems, *((row,) if isinstance(row, Diagnostic) else ()))

    def _change(self, found: AddressedTable, row: TableRow, values: Mapping[int, str]) -> Resolution:
        return Resolution(
            claims=tuple(
                Claim(span=span, owner=found.owner)
                for span in claimed_cells(row, sorted(values) or [found.key_column])
            ),
            edits=changed_cells(found.table, row, values),
            section=found.section,
        )

    def _addition(self, found: AddressedTable, values: Mapping[int, str]) -> Resolution | Problems:
        line = self._line_before(found)
        if isinstance(line, Diagnostic):
            return (line,)
        edit = added_row(found.table, {found.key_column: self.key, **values}, line)
        key = heading_title(unescaped(self.key))
        part = ("table row", found.table.index, found.key_column, key)
        return Resolution(
            claims=(Claim(span=edit.span, owner=found.owner, part=part),),
            edits=(edit,),
            section=found.section,
        )

    def _line_before(self, found: AddressedTable) -> int | Diagnostic:
        """The line that a new row goes after. Errors: KEY_NOT_FOUND, MATCH_COUNT_MISMATCH."""
        neighbour = self.after if self.before is None else self.before
        if neighbour is None:
            return found.table.block.last_line
        row = self.find_row(found, neighbour)
        if row is None:
            return self.no_row(found, neighbour, "after: " if self.before is None else "before: ")
        return row if isinstance(row, Diagnostic) else row.line - (self.before is not None)

    def _values(self, found: AddressedTable) -> dict[int, str] | Problems:
        """The cells of `row` by 0-based column, or all that is wrong with them."""
        values: dict[int, str] = {}
        problems: list[Diagnostic] = []
        for name, value in self.row.items():
            column = find_column(found.table, "row", name)
            if isinstance(column, Diagnostic):
                problems.append(column)
            elif column in values:
                problems.append(Diagnostic.invalid("row names one column twice", "give each column once"))
            else:
                values[column] = value
        if any(has_line_end(value) for value in (*self.row.values(), self.key)):
            problems.append(
                Diagnostic.invalid("a cell cannot contain a line break", "write `<br>` in its place")
            )
        if found.key_column in values and not self._is_key(values[found.key_column]):
            problems.append(
                Diagnostic.invalid(
                    "row gives the cell of keyColumn another value than key",
                    "omit it; to rename a key use replace_match in the section",
                )
            )
        return tuple(problems) or values

    def _is_key(self, value: str) -> bool:
        """Whether `value` is the key, as written or as a reader sees it."""
        wanted, given = (unescaped(cell_source(text)) for text in (self.key, value))
        return given == wanted or heading_title(given) in {heading_title(wanted), wanted}
