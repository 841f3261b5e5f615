"""Shared parts of operations on whole lines: finding the lines, and their guard."""

from typing import Any, ClassVar, Final

from pydantic import Field

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.outline import Outline
from mdplan.operations.base.expected_text import with_nearest_lines
from mdplan.operations.base.fields import LinesField
from mdplan.operations.base.operation import Operation
from mdplan.text.line_end_view import line_end_around, to_lf, with_line_ends
from mdplan.text.lines import Position, Span

_MOST_LISTED: Final = 5


class LineOperation(Operation):
    """An operation on whole lines."""

    edits_source: ClassVar[bool] = True
    finds_text: ClassVar[bool] = True

    expected_text: str | None = Field(
        default=None, description="What these lines contain now; the last line end is optional."
    )

    def with_lines(self, outline: Outline, lines: LinesField) -> "LineOperation | Diagnostic":
        """The same edit with the numbers of its `lines`; proven lines as guard.

        Errors: those of `located_lines`.
        """
        found = located_lines(outline, lines)
        if isinstance(found, Diagnostic):
            return found
        numbers, is_proven = found
        guard = self.guard_of(outline, numbers) if is_proven else {}
        return self.model_copy(update={"lines": numbers, **guard})

    def guard_of(self, outline: Outline, lines: LinesField) -> dict[str, Any]:
        """The text of `lines` as the field that guards it, unless the edit has that."""
        if self.expected_text is not None:
            return {}
        table = outline.source.lines
        text = outline.text_of(Span(table.start(lines.start), table.content_end(lines.end)))
        return {"expected_text": to_lf(text)}

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


def located_lines(outline: Outline, lines: LinesField) -> tuple[LinesField, bool] | Diagnostic:
    """`lines` by their numbers alone, where their hashes say, and whether the hashes prove all their text.

    What moved is found again where no other lines have these hashes. They prove the text where each
    line has one: of `12:a3f-20:b07` nothing is known of the lines between. Errors: TEXT_MISMATCH.
    """
    start, end = lines.start_hash or "", lines.end_hash or ""
    places = outline.line_hashes.places(start, end, lines.end - lines.start)
    is_unique = bool(start and end) and len(places) == 1
    is_listed = lines.start == lines.end or "," in start
    is_proven = is_unique and (is_listed or lines.end - lines.start == 1)
    if lines.start in places:
        return LinesField(start=lines.start, end=lines.end), is_proven
    if is_unique:
        return LinesField(start=places[0], end=places[0] + lines.end - lines.start), is_proven
    named = f"{lines.start}:{start}" if is_listed else f"{lines.start}:{start}-{lines.end}:{end}"
    listed = ", ".join(map(str, places[:_MOST_LISTED]))
    return Diagnostic(
        code=Code.TEXT_MISMATCH,
        message=f"`{named}` is another text now"
        if not places
        else f"`{named}` is another text now, and {len(places)} places have those hashes (lines {listed})",
        hint="read the lines again",
        place=Position(line=min(lines.start, max(outline.source.lines.count, 1)), col=1),
    )


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
