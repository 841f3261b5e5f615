"""insert_lines: add whole lines before or after a line."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.operations.base.fields import LinesField, Ordinal, PlaceHashes
from mdplan.operations.base.line_addresses import END, START, with_line_hash
from mdplan.operations.base.operation import Claim, Resolution
from mdplan.operations.base.whole_lines import LineOperation, as_lines, located_lines
from mdplan.text.edit import TextEdit
from mdplan.text.line_end_view import line_end_around
from mdplan.text.lines import Position, Span


class InsertLines(LineOperation):
    """Insert whole lines before or after a line, as they are: no blank lines are added.

    `line` is 1-based. `expectedText` proves that it is the line you mean. Into an empty file only
    ``line: 1`` with ``position: "before"`` goes. The final newline of the file is left as it was.
    ``"12:a3f,b07"`` is the place between lines 12 and 13 by the hashes of both, ``"12:a3f,end"`` the one
    after line 12 as the last of the file, and ``"1:start,a3f"`` the one before line 1; they need no
    `position`. Of more than two lines the place is after the first, or before the last with
    ``position: "before"``.
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
    line: Ordinal = Field(description='1-based line next to the new lines; or "12:a3f" from md_read.')
    line_hash: PlaceHashes | None = Field(default=None, description='Hash of that line, as in "12:a3f".')
    position: Literal["before", "after"] = Field(description="before or after that line.")
    markdown: str = Field(description="New lines.")

    @model_validator(mode="before")
    @classmethod
    def _split_line(cls, given: object) -> object:
        return with_line_hash(given)

    def located(self, outline: Outline) -> "LineOperation | Diagnostic":
        """The edit with a line number instead of line hashes. Errors: TEXT_MISMATCH."""
        if self.line_hash is None:
            return self
        hashes = self.line_hash.removeprefix(START).removesuffix(END).split(",")
        is_first, is_last = self.line_hash.startswith(START), self.line_hash.endswith(END)
        first = outline.source.lines.count if is_last else self.line
        end = first + len(hashes) - 1
        found = located_lines(
            outline, LinesField(start=first, end=end, start_hash=",".join(hashes), end_hash=hashes[-1])
        )
        if isinstance(found, Diagnostic):
            return found
        lines, is_proven = found
        if (is_first or is_last) and lines.start != first:
            return _not_at_edge("first" if is_first else "last", self.line, lines.start)
        # Only one line is the first, and one the last.
        is_proven = is_proven or is_first or is_last
        line = lines.end if self.position == "before" else lines.start
        guard = self.guard_of(outline, LinesField(start=line, end=line)) if is_proven else {}
        return self.model_copy(update={"line": line, **guard})

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


def _not_at_edge(which: str, stated: int, line: int) -> Diagnostic:
    more = "before" if which == "first" else "after"
    return Diagnostic(
        code=Code.TEXT_MISMATCH,
        message=f"line {stated} was the {which} one, and is line {line} now, with more {more} it",
        hint="read that part of the file again",
        place=Position(line=line, col=1),
    )


_EMPTY = Diagnostic(code=Code.EMPTY_CONTENT, message="markdown is empty", hint="give the lines to insert")
