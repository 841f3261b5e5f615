"""delete_section: remove a section, its heading, or its body."""

from typing import ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.markdown.section import Section
from mdplan.markdown.spacing import delete_blocks
from mdplan.operation import Claim, Resolution, SectionTargeted
from mdplan.text.span import Span


class DeleteSection(SectionTargeted):
    """Delete a section with its subsections, or its heading alone, or its own body alone.

    With `part: "heading"` the text and the subsections stay and belong to the section before. Where blocks
    are joined, one blank line stays between them.
    """

    example: ClassVar[dict[str, object]] = {"op": "delete_section", "headingPath": ["Install"]}

    op: Literal["delete_section"]
    part: Literal["whole", "heading", "body"] = Field(
        default="whole", description="whole: with subsections; heading: the heading line; body: own text."
    )

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One deletion. Errors: those of the target."""
        section = self.find_section(outline)
        if isinstance(section, Diagnostic):
            return (section,)
        span = self._span(section)
        return Resolution(
            claims=(Claim(span=span, owner=section.index, takes=self._taken(outline, section)),),
            edits=delete_blocks(outline, span),
            section=section,
            may_change_outline=self.part == "heading",
        )

    def _taken(self, outline: Outline, section: Section) -> range:
        members = outline.members(section)
        return members if self.part == "whole" else members[:1]

    def _span(self, section: Section) -> Span:
        assert section.heading is not None
        match self.part:
            case "whole":
                return section.span
            case "heading":
                return section.heading.span
            case "body":
                return section.body
