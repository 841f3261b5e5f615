"""delete_lines: remove whole lines."""

from typing import ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.operations.base.fields import LinesField
from mdplan.operations.base.operation import Claim, Resolution
from mdplan.operations.base.whole_lines import LineOperation
from mdplan.text.edit import TextEdit
from mdplan.text.lines import Span


class DeleteLines(LineOperation):
    """Delete whole lines, as they are: no blank lines are added or removed.

    Lines are 1-based and inclusive. `expectedText` proves that these are the lines you mean. The final
    newline of the file is left as it was.
    """

    example: ClassVar[dict[str, object]] = {"op": "delete_lines", "lines": {"start": 3, "end": 4}}
    needs_markdown: ClassVar = False
    repeats: ClassVar = True

    op: Literal["delete_lines"]
    lines: LinesField = Field(description='1-based {start, end}, inclusive; or "12:a3f-14:b07" from md_read.')

    def located(self, outline: Outline) -> "LineOperation | Diagnostic":
        """The edit with line numbers instead of line hashes. Errors: TEXT_MISMATCH."""
        is_hashed = self.lines.start_hash or self.lines.end_hash
        return self.with_lines(outline, self.lines) if is_hashed else self

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One deletion. Errors: RANGE_OUT_OF_BOUNDS, TEXT_MISMATCH."""
        span = self.guarded(outline, self.lines)
        if isinstance(span, Diagnostic):
            return (span,)
        table = outline.source.lines
        if not table.ending(self.lines.end) and self.lines.start > 1:
            span = Span(table.content_end(self.lines.start - 1), span.end)
        section = outline.section_at(table.start(self.lines.start))
        return Resolution(
            claims=(Claim(span=span, owner=section.index),),
            edits=(TextEdit.delete(span),),
            section=section,
            is_evidence=self.expected_text is not None,
        )
