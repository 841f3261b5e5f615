"""replace_lines: replace whole lines."""

from typing import ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.operations.base.fields import LinesField
from mdplan.operations.base.operation import Claim, Resolution
from mdplan.operations.base.whole_lines import LineOperation, as_lines, without_last_line_end
from mdplan.text.edit import TextEdit
from mdplan.text.line_end_view import to_lf
from mdplan.text.lines import Span


class ReplaceLines(LineOperation):
    """Replace whole lines, as they are: no blank lines are added, no levels fitted.

    Lines are 1-based and inclusive. The last line end stays as it is, whether the payload has one or not.
    `expectedText` proves that these are the lines you mean.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "replace_lines",
        "lines": {"start": 3, "end": 3},
        "expectedText": "Plans are made before edits.",
        "markdown": "Edits are planned before they are made.",
    }
    needs_markdown: ClassVar = False

    op: Literal["replace_lines"]
    lines: LinesField = Field(description='1-based {start, end}, inclusive; or "12:a3f-14:b07" from md_read.')
    markdown: str = Field(description="New lines.")

    def located(self, outline: Outline) -> "LineOperation | Diagnostic":
        """The edit with line numbers instead of line hashes. Errors: TEXT_MISMATCH."""
        is_hashed = self.lines.start_hash or self.lines.end_hash
        return self.with_lines(outline, self.lines) if is_hashed else self

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One replacement. Errors: RANGE_OUT_OF_BOUNDS, TEXT_MISMATCH, EMPTY_CONTENT."""
        span = self.guarded(outline, self.lines)
        problems = [span] if isinstance(span, Diagnostic) else []
        if not self.markdown:
            problems.append(_EMPTY)
        if problems or isinstance(span, Diagnostic):
            return tuple(problems)
        table = outline.source.lines
        content = Span(span.start, table.content_end(self.lines.end))
        new_text = as_lines(outline, span.start, self.markdown)
        if table.ending(self.lines.end):
            new_text = without_last_line_end(new_text)
        else:
            new_text = new_text.rstrip("\r\n")
        unchanged = to_lf(new_text) == to_lf(outline.text_of(content))
        section = outline.section_at(span.start)
        return Resolution(
            claims=(Claim(span=span, owner=section.index),),
            edits=() if unchanged else (TextEdit(content, new_text),),
            section=section,
            is_evidence=self.expected_text is not None,
        )


_EMPTY = Diagnostic(
    code=Code.EMPTY_CONTENT, message="markdown is empty", hint="use delete_lines to remove lines"
)
