"""What operations on whole lines share: finding the lines, and their guard."""

from pydantic import Field

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.outline.outline import Outline
from mdplan.operations.base.expected_text import with_nearest_lines
from mdplan.operations.base.operation import LinesField, Operation
from mdplan.text.line_end_view import line_end_around, to_lf, with_line_ends
from mdplan.text.span import Span


class LineOperation(Operation):
    """An operation on whole lines."""

    expected_text: str | None = Field(
        default=None, description="What these lines hold now; the last line end may be left out."
    )

    def guarded(self, outline: Outline, lines: LinesField) -> Span | Diagnostic:
        """Span of `lines`, with their line ends. Errors: RANGE_OUT_OF_BOUNDS, TEXT_MISMATCH."""
        table = outline.source.lines
        if lines.end > table.count:
            problem = Diagnostic(
                code=Code.RANGE_OUT_OF_BOUNDS,
                message=f"lines {lines.start}-{lines.end} are not in the file",
                hint=f"the file has {table.count} lines",
            )
            return with_nearest_lines(outline, problem, self.expected_text or "", None)
        span = table.span(lines.start, lines.end)
        current = to_lf(outline.text_of(Span(span.start, table.content_end(lines.end))))
        if self.expected_text is not None and to_lf(self.expected_text) not in {current, current + "\n"}:
            problem = Diagnostic(
                code=Code.TEXT_MISMATCH,
                message=f"lines {lines.start}-{lines.end} are not expectedText",
                hint="read the lines again, or use replace_match, which finds the text itself",
                place=table.position(span.start),
            )
            return with_nearest_lines(outline, problem, self.expected_text, span)
        return span


def as_lines(outline: Outline, offset: int, text: str) -> str:
    """`text` as whole lines at `offset`, in the line ends of its surroundings."""
    whole = text if text.endswith(("\n", "\r")) else text + "\n"
    return with_line_ends(whole, line_end_around(outline.source.lines, offset))


def without_last_line_end(text: str) -> str:
    """`text` without the LF, CRLF or CR that it ends with."""
    for line_end in ("\r\n", "\n", "\r"):
        if text.endswith(line_end):
            return text.removesuffix(line_end)
    return text
