"""replace_range: replace the text between two places."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.operations.base.expected_text import with_nearest_ranges
from mdplan.operations.base.fields import LinesField, PositionField, RangeField
from mdplan.operations.base.operation import Claim, Operation, Resolution
from mdplan.operations.base.whole_lines import located_lines
from mdplan.text.edit import TextEdit
from mdplan.text.line_end_view import common_start, to_lf, with_line_ends
from mdplan.text.lines import Span


class ReplaceRange(Operation):
    """Replace the text between two places, which `expectedText` must prove.

    Lines and columns are 1-based, columns count code points, and `end` is the place after the last
    character. A column may be one past the text of its line: that is the place before its line end. Line
    ends in `expectedText` and `replacement` may be LF whatever the file has.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "replace_range",
        "range": {"start": {"line": 3, "col": 1}, "end": {"line": 3, "col": 6}},
        "expectedText": "Plans",
        "replacement": "Edits",
    }
    needs_markdown: ClassVar = False

    op: Literal["replace_range"]
    range: RangeField = Field(description="1-based {start: {line, col}, end: {line, col}}; end is exclusive.")
    replacement: str = Field(description="New text; may be empty.")
    expected_text: str | None = Field(
        default=None, description="Text that is there now; required unless allowInsecureRange."
    )
    allow_insecure_range: bool = Field(default=False, description="Replace without expectedText.")

    @model_validator(mode="after")
    def _check_guard(self) -> "ReplaceRange":
        is_hashed = self.range.start.line_hash and self.range.end.line_hash
        if self.expected_text is None and not self.allow_insecure_range and not is_hashed:
            msg = "expectedText is required: give the text of the range as it is now"
            raise ValueError(msg)
        return self

    def located(self, outline: Outline) -> "ReplaceRange | Diagnostic":
        """The edit with line numbers instead of line hashes. Errors: TEXT_MISMATCH."""
        start, end = self.range.start, self.range.end
        if not (start.line_hash or end.line_hash) or end.line < start.line:
            return self
        lines = LinesField(start=start.line, end=end.line, start_hash=start.line_hash, end_hash=end.line_hash)
        found = located_lines(outline, lines)
        if isinstance(found, Diagnostic):
            return found
        numbers, is_proven = found
        moved = RangeField(
            start=PositionField(line=numbers.start, col=start.col),
            end=PositionField(line=numbers.end, col=end.col),
        )
        here = self.model_copy(update={"range": moved})
        span = here.span_in(outline)
        if self.expected_text is not None or not is_proven or isinstance(span, Diagnostic):
            return here
        return here.model_copy(update={"expected_text": outline.text_of(span)})

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One replacement.

        Errors: RANGE_OUT_OF_BOUNDS, TEXT_MISMATCH.
        """
        span = self.span_in(outline)
        if isinstance(span, Diagnostic):
            return (with_nearest_ranges(outline, span, self.expected_text or "", None),)
        current = outline.text_of(span)
        if self.expected_text is not None and to_lf(current) != to_lf(self.expected_text):
            problem = self._mismatch(current, self.expected_text)
            return (with_nearest_ranges(outline, problem, self.expected_text, span),)
        line_end = outline.view.line_end_around(span.start)
        new_text = with_line_ends(self.replacement, line_end)
        if to_lf(current) == to_lf(self.replacement):
            new_text = current
        return Resolution(
            claims=(Claim(span=span, owner=outline.section_at(span.start).index),),
            edits=(TextEdit(span, new_text),) if new_text != current else (),
            section=outline.section_at(span.start),
            is_evidence=bool(self.expected_text),
        )

    def span_in(self, outline: Outline) -> Span | Diagnostic:
        """The range in `outline`. Errors: RANGE_OUT_OF_BOUNDS."""
        lines = outline.source.lines
        offsets = []
        for name, place in (("start", self.range.start), ("end", self.range.end)):
            offset = lines.offset(place.to_position())
            if offset is None:
                return self._out_of_bounds(outline, name, place)
            offsets.append(offset)
        if offsets[1] < offsets[0]:
            return Diagnostic(
                code=Code.RANGE_OUT_OF_BOUNDS,
                message="range.end is before range.start",
                hint="swap them; end is exclusive",
                place=self.range.start.to_position(),
            )
        return Span(*offsets)

    def _out_of_bounds(self, outline: Outline, name: str, place: PositionField) -> Diagnostic:
        lines = outline.source.lines
        if place.line > lines.count:
            hint = f"the file has {lines.count} lines"
        else:
            width = lines.content_end(place.line) - lines.start(place.line)
            hint = f"line {place.line} goes from column 1 to {width + 1}"
        return Diagnostic(
            code=Code.RANGE_OUT_OF_BOUNDS,
            message=f"range.{name} {place.line}:{place.col} is not in the file",
            hint=hint,
            place=place.to_position(),
        )

    def _mismatch(self, current: str, expected: str) -> Diagnostic:
        current, expected = to_lf(current), to_lf(expected)
        same = common_start(current, expected)
        return Diagnostic(
            code=Code.TEXT_MISMATCH,
            message=f"the range has {len(current)} characters, expectedText has {len(expected)}, "
            f"and they differ from character {same + 1} on",
            hint="read the range again, or use replace_match, which finds the text itself",
            place=self.range.start.to_position(),
        )
