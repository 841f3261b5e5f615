"""replace_region: replace what is between a pair of marker comments."""

from typing import ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.enclosure_search import find_regions
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import Payload, read_payload
from mdplan.markdown.region_edits import RegionText, replace_region_text
from mdplan.operations.base.expected_text import with_nearest_lines
from mdplan.operations.base.operation import Operation, Resolution
from mdplan.operations.base.region_edit import claim_of_region, find_region, inside_of_a_line, lines_of_region
from mdplan.operations.base.text_in_line import text_in_line
from mdplan.text.source import Source


class ReplaceRegion(Operation):
    """Replace the text of a region, which is between ``<!-- NAME:start -->`` and ``<!-- NAME:end -->``.

    The markers stay as they are. The text is on separate lines between theirs, with as many blank
    lines on both sides as there were; where both markers are inside one line of text, so does the new
    text, if it is one line. In a quote or a list item its marks and indentation are put before each line.

    `markdown` may contain headings, which keep their levels, and may be empty. It may contain whole regions
    of other names. `expectedText` proves that this is the text you mean. The same text again changes nothing.
    Markers in code are text and name no region.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "replace_region",
        "region": "commands",
        "markdown": "- `mdplan stat`\n- `mdplan apply`",
    }

    op: Literal["replace_region"]
    region: str = Field(description="NAME of the marker comments.")
    markdown: str = Field(description="New text between the markers; may be empty.")
    expected_text: str | None = Field(
        default=None, description="The text of the region as it is now; blank lines around it do not count."
    )

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One replacement.

        Errors: REGION_NOT_FOUND, TEXT_MISMATCH; OUTLINE_CHANGED for a payload that leaves a fence or comment
        open; INVALID_ARGUMENT for markers in it that make pairs with those of the file, and for several lines
        where the region is inside a line.
        """
        old = find_region(outline, self.region)
        payload = self._payload()
        problems = [each for each in (old, payload) if isinstance(each, Diagnostic)]
        if isinstance(old, RegionText):
            problems += self._mismatch(outline, old)
        if problems or isinstance(old, Diagnostic) or isinstance(payload, Diagnostic):
            return tuple(problems)
        if old.lines is None and old.region.start.line == old.region.end.line and not old.is_alone:
            text = text_in_line(outline, old.region.inside, payload.text.strip(" \t\n"))
            if isinstance(text, Diagnostic):
                return (text,)
            payload = payload if text in payload.text else read_payload(text)
        edit = replace_region_text(outline, old, payload)
        if edit is None:
            return (inside_of_a_line(old.region, "markdown has several lines", "give one line"),)
        claim = claim_of_region(outline, old.region)
        return Resolution(
            claims=(claim,),
            edits=(edit,) if edit.new_text != outline.text_of(edit.span) else (),
            section=outline.section_at(claim.span.start),
            is_evidence=self.expected_text is not None,
        )

    def _payload(self) -> Payload | Diagnostic:
        payload = read_payload(self.markdown)
        if payload.left_open:
            return Diagnostic(
                code=Code.OUTLINE_CHANGED,
                message=f"markdown leaves the {payload.left_open.kind} of its line "
                f"{payload.left_open.first_line} open, which would swallow the end marker",
                hint="close the fence, comment or tag in the payload",
            )
        if ":start" not in payload.text and ":end" not in payload.text:
            return payload
        markers = find_regions(Outline(Source.from_text(payload.text)))
        if self.region in markers.by_name or markers.unpaired:
            return Diagnostic.invalid(
                "markdown contains markers of the region itself, or markers without their other half",
                "leave the marker comments out: those of the file stay",
            )
        return payload

    def _mismatch(self, outline: Outline, old: RegionText) -> list[Diagnostic]:
        if self.expected_text is None:
            return []
        expected = read_payload(self.expected_text).text
        if old.lines is None:
            expected = expected.strip(" \t")
        if expected == old.content:
            return []
        problem = Diagnostic(
            code=Code.TEXT_MISMATCH,
            message=f"the text of `{self.region}` at {lines_of_region(old.region)} is not expectedText",
            hint="read the region again; expectedText is the text between its markers",
            place=outline.source.lines.position(old.region.start.span.start),
        )
        return [with_nearest_lines(outline, problem, self.expected_text, old.region.inside)]
