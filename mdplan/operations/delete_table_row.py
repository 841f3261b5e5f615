"""delete_table_row: delete the row of a table that has a key."""

from typing import ClassVar, Literal

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.operations.base.operation import Claim, Resolution
from mdplan.operations.base.table import AddressedTable, TableOperation


class DeleteTableRow(TableOperation):
    """Delete the table row that has a key.

    The row is the one whose cell in `keyColumn` is `key`, as written or as a reader sees it. When it is the
    last one, the header and the row of dashes stay.

    `table` counts from 0 the tables at every depth, as md_stat does; with a section next to it, those
    in the section with its subsections. Without `table` there must be exactly one that has the key column.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "delete_table_row",
        "heading": "Brew",
        "keyColumn": "Tea",
        "key": "Rooibos",
    }
    satisfied_by: ClassVar = frozenset({Code.KEY_NOT_FOUND})

    op: Literal["delete_table_row"]

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One deletion. Errors: those of `find_table` and `find_row`; KEY_NOT_FOUND."""
        found = self.find_table(outline)
        if not isinstance(found, AddressedTable):
            return found
        row = self.find_row(found)
        if row is None:
            return (self.no_row(found, self.key),)
        if isinstance(row, Diagnostic):
            return (row,)
        span = outline.source.lines.span(row.line, row.line)
        return Resolution(
            claims=(Claim(span=span, owner=found.owner),), deletions=(span,), section=found.section
        )
