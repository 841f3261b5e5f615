"""Operations on whole lines, and replace_range for the text between two places."""

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from mdplan.diagnostics import Code, Diagnostic, Refused, both, or_problem
from mdplan.markdown.outline import Outline
from mdplan.operations import base
from mdplan.operations.matches import with_nearest_lines, with_nearest_ranges
from mdplan.text.edit import TextEdit
from mdplan.text.lines import Position, Span, common_start, line_end_around, to_lf, with_line_ends
from mdplan.words import say


class LineOperation(base.Operation):
    """An operation on whole lines."""

    needs_markdown: ClassVar = False
    edits_source: ClassVar = True

    expected_text: str | None = Field(
        default=None, description="What these lines contain now; the last line end is optional."
    )

    def at(
        self, outline: Outline, lines: base.LinesField, place: dict[str, Any], proof: "base.Proof"
    ) -> Self:
        """Return the edit at a `place` from line hashes, guarded by the text of `lines` if they prove it."""
        if proof is base.Proof.ALL and self.expected_text is None:
            table = outline.source.lines
            text = outline.text_of(Span(table.start(lines.start), table.content_end(lines.end)))
            place = {**place, "expected_text": to_lf(text)}
        return self.located_at(place, is_unique=proof is not base.Proof.NONE)

    def is_evidence(self, outline: Outline) -> bool:
        """Return True if the expected text proves the place: by line hashes, or because it is unique."""
        if self.expected_text is None or self.is_located:
            return self.expected_text is not None
        whole, wanted = (
            text if text.endswith("\n") else f"{text}\n"
            for text in (outline.view.text, to_lf(self.expected_text))
        )
        return base.occurs_once(f"\n{whole}", f"\n{wanted}")

    def guarded(self, outline: Outline, lines: base.LinesField) -> Span:
        """Return the span of `lines`, with newlines. Errors: RANGE_OUT_OF_BOUNDS, TEXT_MISMATCH."""
        table = outline.source.lines
        if lines.end > table.count:
            raise Refused(
                with_nearest_lines(outline, lines.outside(table.count), self.expected_text or "", None)
            )
        span = table.span(lines.start, lines.end)
        current = to_lf(outline.text_of(Span(span.start, table.content_end(lines.end))))
        if self.expected_text is not None and to_lf(self.expected_text) not in {current, current + "\n"}:
            problem = Code.TEXT_MISMATCH.problem(
                say("lines {}-{} are not {expectedText}", lines.start, lines.end),
                say("read the lines again, or use {replace_match}, which finds the text itself"),
                place=table.position(span.start),
            )
            raise Refused(with_nearest_lines(outline, problem, self.expected_text, span))
        return span


class InsertLines(LineOperation):
    """Insert whole lines before or after a line verbatim: no blank lines are added.

    `line` is 1-based. `expectedText` proves that it is the line you mean. An empty file only accepts ``line:
    1`` with ``position: "before"``. The final newline of the file stays as it was. ``"12:a3f,b07"`` means
    between lines 12 and 13, by both hashes, ``"12:a3f,end"`` after line 12, the last line, and
    ``"1:start,a3f"`` before line 1; none needs `position`. With more than two lines, it means after the
    first, or with ``position: "before"``, before the last.
    """

    example: ClassVar[dict[str, object]] = {"line": 3, "position": "after", "markdown": "A second line."}
    once_condition: ClassVar = base.ONCE_BY_TEXT

    op: Literal["insert_lines"]
    line: base.Ordinal = Field(description='1-based line next to the new lines; or "12:a3f" from md_read.')
    line_hash: base.PlaceHashes | None = Field(default=None, description='Hash of that line, as in "12:a3f".')
    position: Literal["before", "after"] = Field(description="before or after that line.")
    markdown: str = Field(description="New lines.")

    @model_validator(mode="before")
    @classmethod
    def _split_line(cls, given: object) -> object:
        return base.with_line_hash(given)

    def located(self, outline: Outline) -> Self:
        """Return the edit with a line number instead of line hashes. Errors: TEXT_MISMATCH."""
        if self.line_hash is None:
            return self
        hashes = self.line_hash.removeprefix(base.START).removesuffix(base.END).split(",")
        is_first, is_last = self.line_hash.startswith(base.START), self.line_hash.endswith(base.END)
        first = outline.source.lines.count if is_last else self.line
        end = first + len(hashes) - 1
        lines, proof = base.located_lines(
            outline, base.LinesField(start=first, end=end, start_hash=",".join(hashes), end_hash=hashes[-1])
        )
        if (is_first or is_last) and lines.start != first:
            which, more = ("first", "before") if is_first else ("last", "after")
            raise Code.TEXT_MISMATCH.refused(
                f"line {self.line} was the {which} one, and is line {lines.start} now, with more {more} it",
                "read that part of the file again",
                place=Position(line=lines.start, col=1),
            )
        # Only one line is the first, and one the last.
        proof = base.Proof.ALL if is_first or is_last else proof
        line = lines.end if self.position == "before" else lines.start
        return self.at(outline, base.LinesField(start=line, end=line), {"line": line}, proof)

    def resolve(self, outline: Outline) -> base.Resolution:
        """Return one insertion. Errors: RANGE_OUT_OF_BOUNDS, TEXT_MISMATCH, EMPTY_CONTENT."""
        if not self.markdown:
            raise Code.EMPTY_CONTENT.refused(say("{markdown} is empty"), "give the lines to insert")
        if not outline.source.text and (self.line, self.position) == (1, "before") and not self.expected_text:
            return self._insertion(outline, 0, as_lines(outline, 0, self.markdown))
        span = self.guarded(outline, base.LinesField(start=self.line, end=self.line))
        if self.position == "before":
            return self._insertion(outline, span.start, as_lines(outline, span.start, self.markdown))
        text = as_lines(outline, span.end, self.markdown)
        if not outline.source.lines.ending(self.line):
            text = line_end_around(outline.source.lines, span.end) + text.rstrip("\r\n")
        return self._insertion(outline, span.end, text)

    def _insertion(self, outline: Outline, offset: int, text: str) -> base.Resolution:
        owner = outline.section_at(offset - 1) if offset else outline.sections[0]
        edits = (TextEdit.insert(offset, text),)
        is_evidence = self.is_evidence(outline)
        return base.Resolution.at(outline, Span(offset, offset), edits, owner=owner, is_evidence=is_evidence)


class WholeLinesOperation(LineOperation):
    """An operation on the lines that it names."""

    lines: base.LinesField = Field(
        description='1-based {start, end}, inclusive; or "12:a3f-14:b07" from md_read.'
    )

    def located(self, outline: Outline) -> Self:
        """Return the edit with line numbers instead of line hashes; lines that these prove are its guard.

        Errors: as `located_lines`.
        """
        if not (self.lines.start_hash or self.lines.end_hash):
            return self
        lines, proof = base.located_lines(outline, self.lines)
        return self.at(outline, lines, {"lines": lines}, proof)


class ReplaceLines(base.ReplacingOperation, WholeLinesOperation):
    """Replace whole lines, as they are: no blank lines are added, no levels fitted.

    Lines are 1-based and inclusive. The last line end stays as it is, whether the payload has one or not.
    `expectedText` proves that these are the lines you mean.
    """

    example: ClassVar[dict[str, object]] = {
        "lines": {"start": 3, "end": 3},
        "expectedText": "Plans are made before edits.",
        "markdown": "Edits are planned before they are made.",
    }

    op: Literal["replace_lines"]
    markdown: str = Field(description="New lines.")

    def resolve(self, outline: Outline) -> base.Resolution:
        """Return one replacement. Errors: RANGE_OUT_OF_BOUNDS, TEXT_MISMATCH, EMPTY_CONTENT."""
        span, _ = both(lambda: self.guarded(outline, self.lines), self._check_text)
        table = outline.source.lines
        content = Span(span.start, table.content_end(self.lines.end))
        new_text = as_lines(outline, span.start, self.markdown)
        if table.ending(self.lines.end):
            new_text = without_last_line_end(new_text)
        else:
            new_text = new_text.rstrip("\r\n")
        unchanged = to_lf(new_text) == to_lf(outline.text_of(content))
        edits = () if unchanged else (TextEdit(content, new_text),)
        return base.Resolution.at(outline, span, edits, is_evidence=self.is_evidence(outline))

    def _check_text(self) -> None:
        if not self.markdown:
            raise Code.EMPTY_CONTENT.refused(
                say("{markdown} is empty"), say("use {delete_lines} to remove lines")
            )


class DeleteLines(WholeLinesOperation):
    """Delete whole lines: no blank lines are added or removed.

    Lines are 1-based and inclusive. `expectedText` proves that these are the lines you mean. The final
    newline of the file stays as it was.
    """

    example: ClassVar[dict[str, object]] = {"lines": {"start": 3, "end": 4}}
    once_condition: ClassVar = base.ONCE_BY_TEXT

    op: Literal["delete_lines"]

    def resolve(self, outline: Outline) -> base.Resolution:
        """Return one deletion. Errors: RANGE_OUT_OF_BOUNDS, TEXT_MISMATCH."""
        span = self.guarded(outline, self.lines)
        table = outline.source.lines
        if not table.ending(self.lines.end) and self.lines.start > 1:
            span = Span(table.content_end(self.lines.start - 1), span.end)
        owner = outline.section_at(table.start(self.lines.start))
        edits, is_evidence = (TextEdit.delete(span),), self.is_evidence(outline)
        return base.Resolution.at(outline, span, edits, owner=owner, is_evidence=is_evidence)


class ReplaceRange(base.ReplacingOperation):
    """Replace the text in a range, which `expectedText` must prove.

    Lines and columns are 1-based, columns count code points, and `end` is exclusive. The column after the
    text of a line is valid: it is the place before its newline. `expectedText` and `replacement` may use LF
    for any newlines in the file.
    """

    example: ClassVar[dict[str, object]] = {
        "range": {"start": {"line": 3, "col": 1}, "end": {"line": 3, "col": 6}},
        "expectedText": "Plans",
        "replacement": "Edits",
    }
    needs_markdown: ClassVar = False
    quotes_text: ClassVar = True

    op: Literal["replace_range"]
    range: base.RangeField = Field(
        description="1-based {start: {line, col}, end: {line, col}}; end is exclusive."
    )
    replacement: str = Field(description="New text; may be empty.")
    expected_text: str | None = Field(
        default=None, description="Text that is there now; required unless allowInsecureRange."
    )
    allow_insecure_range: bool = Field(default=False, description="Replace without expectedText.")

    @model_validator(mode="after")
    def _check_guard(self) -> "ReplaceRange":
        is_hashed = self.range.start.line_hash and self.range.end.line_hash
        if self.expected_text is None and not self.allow_insecure_range and not is_hashed:
            raise ValueError(say("{expectedText} is required: give the text of the range as it is now"))
        return self

    def located(self, outline: Outline) -> Self:
        """Return the edit with line numbers instead of line hashes. Errors: TEXT_MISMATCH."""
        start, end = self.range.start, self.range.end
        if not (start.line_hash or end.line_hash) or end.line < start.line:
            return self
        lines = base.LinesField(
            start=start.line, end=end.line, start_hash=start.line_hash, end_hash=end.line_hash
        )
        numbers, proof = base.located_lines(outline, lines)
        moved = base.RangeField(
            start=base.PositionField(line=numbers.start, col=start.col),
            end=base.PositionField(line=numbers.end, col=end.col),
        )
        here = self.model_copy(update={"range": moved})
        span = or_problem(here.span_in, outline)
        if isinstance(span, Diagnostic):
            return here
        is_guard = proof is base.Proof.ALL and self.expected_text is None
        expected = outline.text_of(span) if is_guard else self.expected_text
        return here.located_at({"expected_text": expected}, is_unique=proof is not base.Proof.NONE)

    def resolve(self, outline: Outline) -> base.Resolution:
        """Return one replacement.

        Errors: RANGE_OUT_OF_BOUNDS, TEXT_MISMATCH.
        """
        span = or_problem(self.span_in, outline)
        if isinstance(span, Diagnostic):
            raise Refused(with_nearest_ranges(outline, span, self.expected_text or "", None))
        current = outline.text_of(span)
        if self.expected_text is not None and to_lf(current) != to_lf(self.expected_text):
            problem = self._mismatch(current, self.expected_text)
            raise Refused(with_nearest_ranges(outline, problem, self.expected_text, span))
        line_end = outline.view.line_end_around(span.start)
        new_text = with_line_ends(self.replacement, line_end)
        if to_lf(current) == to_lf(self.replacement):
            new_text = current
        return base.Resolution.at(
            outline,
            span,
            (TextEdit(span, new_text),) if new_text != current else (),
            is_evidence=bool(self.expected_text)
            and (self.is_located or base.occurs_once(outline.view.text, to_lf(self.expected_text or ""))),
        )

    def span_in(self, outline: Outline) -> Span:
        """Return the range in `outline`. Errors: RANGE_OUT_OF_BOUNDS."""
        lines = outline.source.lines
        offsets = []
        for name, place in (("start", self.range.start), ("end", self.range.end)):
            offset = lines.offset(place.to_position())
            if offset is None:
                raise Refused(self._out_of_bounds(outline, name, place))
            offsets.append(offset)
        if offsets[1] < offsets[0]:
            raise Code.RANGE_OUT_OF_BOUNDS.refused(
                "range.end is before range.start",
                "swap them; end is exclusive",
                place=self.range.start.to_position(),
            )
        return Span(*offsets)

    def _out_of_bounds(self, outline: Outline, name: str, place: base.PositionField) -> Diagnostic:
        lines = outline.source.lines
        if place.line > lines.count:
            hint = f"the file has {lines.count} lines"
        else:
            width = lines.content_end(place.line) - lines.start(place.line)
            hint = f"line {place.line} goes from column 1 to {width + 1}"
        return Code.RANGE_OUT_OF_BOUNDS.problem(
            f"range.{name} {place.line}:{place.col} is not in the file", hint, place=place.to_position()
        )

    def _mismatch(self, current: str, expected: str) -> Diagnostic:
        current, expected = to_lf(current), to_lf(expected)
        same = common_start(current, expected)
        return Code.TEXT_MISMATCH.problem(
            say(
                "the range has {} characters, {expectedText} has {}, and they differ from character {} on",
                len(current),
                len(expected),
                same + 1,
            ),
            say("read the range again, or use {replace_match}, which finds the text itself"),
            place=self.range.start.to_position(),
        )


# --- Shared parts of operations on whole lines: finding the lines, and their guard.


def as_lines(outline: Outline, offset: int, text: str) -> str:
    """Return `text` as whole lines at `offset`, in the line ends of its surroundings."""
    whole = text if text.endswith(("\n", "\r")) else text + "\n"
    return with_line_ends(whole, line_end_around(outline.source.lines, offset))


def without_last_line_end(text: str) -> str:
    """Return `text` without the LF, CRLF or CR that it ends with."""
    for line_end in ("\r\n", "\n", "\r"):
        if text.endswith(line_end):
            return text.removesuffix(line_end)
    return text
