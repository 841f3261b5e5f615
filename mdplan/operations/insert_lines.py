"""insert_lines: add whole lines before or after a line."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline.outline import Outline
from mdplan.operations.base.fields import LineHashes, LinesField, Ordinal
from mdplan.operations.base.line_text import with_line_hash
from mdplan.operations.base.lines import LineOperation, as_lines
from mdplan.operations.base.operation import Claim, Resolution
from mdplan.text.edit import TextEdit
from mdplan.text.line_end_view import line_end_around
from mdplan.text.span import Span


class InsertLines(LineOperation):
    """Insert whole lines before or after a line, as they are: no blank lines are added.

    `line` is 1-based. `expectedText` proves that it is the line you mean. Into an empty file only
    ``line: 1`` with ``position: "before"`` goes. The final newline of the file is left as it was.
    ``"12:a3f,b07"`` is the place between lines 12 and 13 by the hashes of both, and needs no `position`.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "insert_lines",
        "line": 3,
        "position": "after",
        "markdown": "A second line.",
    }
    needs_markdown: ClassVar = False
    repeats: ClassVar = True

    op: Literal["insert_lines"]
    line: Ordinal = Field(description='1-based line that the new lines go beside; or "12:a3f" from md_read.')
    line_hash: LineHashes | None = Field(default=None, description='Hash of that line, as in "12:a3f".')
    position: Literal["before", "after"] = Field(description="before or after that line.")
    markdown: str = Field(description="New lines.")

    @model_validator(mode="before")
    @classmethod
    def _split_line(cls, given: object) -> object:
        return with_line_hash(given)

    def located(self, outline: Outline) -> "LineOperation | Diagnostic":
        """The same with the number that a hash stands for. Errors: TEXT_MISMATCH."""
        if self.line_hash is None:
            return self
        hashes = self.line_hash.split(",")
        end = self.line + len(hashes) - 1
        lines = LinesField(start=self.line, end=end, start_hash=self.line_hash, end_hash=hashes[-1])
        return self.with_lines(outline, lines, "line")

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One insertion. Errors: RANGE_OUT_OF_BOUNDS, TEXT_MISMATCH, EMPTY_CONTENT."""
        if not self.markdown:
            return (_EMPTY,)
        if not outline.source.text and (self.line, self.position) == (1, "before") and not self.expected_text:
            return self._insertion(outline, 0, as_lines(outline, 0, self.markdown))
        span = self.guarded(outline, LinesField(start=self.line, end=self.line))
        if isinstance(span, Diagnostic):
            return (span,)
        if self.position == "before":
            return self._insertion(outline, span.start, as_lines(outline, span.start, self.markdown))
        text = as_lines(outline, span.end, self.markdown)
        if not outline.source.lines.ending(self.line):
            text = line_end_around(outline.source.lines, span.end) + text.rstrip("\r\n")
        return self._insertion(outline, span.end, text)

    def _insertion(self, outline: Outline, offset: int, text: str) -> Resolution:
        section = outline.section_at(offset - 1) if offset else outline.sections[0]
        return Resolution(
            claims=(Claim(span=Span(offset, offset), owner=section.index),),
            edits=(TextEdit.insert(offset, text),),
            section=section,
            is_evidence=self.expected_text is not None,
        )


_EMPTY = Diagnostic(code=Code.EMPTY_CONTENT, message="markdown is empty", hint="give the lines to insert")
