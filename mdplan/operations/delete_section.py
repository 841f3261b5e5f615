"""delete_section: remove a section, its heading, or its body."""

from typing import ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import end_of_body, end_of_subtree, within_enclosures
from mdplan.markdown.sections import Section
from mdplan.operations.base.operation import Claim, Resolution, SectionTargeted
from mdplan.text.lines import Span


class DeleteSection(SectionTargeted):
    """Delete a section with its subsections, or its heading alone, or its own body alone.

    With `part: "heading"` the text and the subsections stay and belong to the section before. Where blocks
    are joined, one blank line stays between them.
    """

    example: ClassVar[dict[str, object]] = {"op": "delete_section", "headingPath": ["Install"]}
    satisfied_by: ClassVar = frozenset({Code.SECTION_NOT_FOUND, Code.ANCHOR_NOT_FOUND})

    op: Literal["delete_section"]
    part: Literal["whole", "heading", "body"] = Field(
        default="whole",
        description="whole: with subsections; heading: the heading with its anchor lines; body: own text.",
    )

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One deletion. Errors: those of the target."""
        section = self.find_section(outline)
        if isinstance(section, Diagnostic):
            return (section,)
        text, span = self._spans(outline, section)
        return Resolution(
            claims=(self._claim(outline, section, text),),
            deletions=(span,) if len(text) else (),
            section=section,
            may_change_outline=self.part == "heading",
        )

    def _claim(self, outline: Outline, section: Section, span: Span) -> Claim:
        members = outline.members(section)
        if self.part == "whole":
            return Claim(span=span, owner=section.index, takes=members, verb="deletes")
        return Claim(span=span, owner=section.index, takes=members[:1], verb=f"deletes the {self.part} of")

    def _spans(self, outline: Outline, section: Section) -> tuple[Span, Span]:
        """What goes, without and with the blank lines after it."""
        assert section.heading is not None
        match self.part:
            case "whole":
                whole = within_enclosures(outline, section.span)
                return Span(section.span.start, end_of_subtree(outline, section)), whole
            case "heading":
                whole = Span(section.span.start, section.body.start)
                return whole, whole
            case "body":
                body = within_enclosures(outline, section.body)
                return Span(section.body.start, end_of_body(outline, section)), body
