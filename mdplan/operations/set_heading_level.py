"""set_heading_level: bring a section to another level."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.addresses import MAX_LEVEL
from mdplan.markdown.headings import shift_levels
from mdplan.markdown.outline import Outline
from mdplan.operations.base.operation import Claim, Resolution, SectionTargeted
from mdplan.text.lines import Span


class SetHeadingLevel(SectionTargeted):
    """Bring a heading to another level, its subsections with it.

    All headings of the section move by the same number of levels; `subsections: "keep"` moves the heading
    alone. Text stays where it is. The section may get another parent, and so another ID.
    """

    example: ClassVar[dict[str, object]] = {"op": "set_heading_level", "headingPath": ["Install"], "level": 3}

    op: Literal["set_heading_level"]
    level: Annotated[int, Field(strict=True, ge=1, le=MAX_LEVEL)] = Field(description="New level, 1 to 6.")
    subsections: Literal["shift", "keep"] = Field(
        default="shift", description="shift: subsections move along; keep: they stay at their levels."
    )

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One edit a heading.

        Errors: those of the target; HEADING_LEVEL_OVERFLOW; INVALID_ARGUMENT for a heading over several
        lines that would have to become ATX.
        """
        section = self.find_section(outline)
        if isinstance(section, Diagnostic):
            return (section,)
        assert section.heading is not None
        shift = self.level - section.level
        members = outline.members(section)
        taken = members if self.subsections == "shift" else members[:1]
        headings = [outline.sections[index].heading for index in taken]
        deepest = max(outline.sections[index].level for index in taken) + shift
        if deepest > MAX_LEVEL:
            return (
                Diagnostic(
                    code=Code.HEADING_LEVEL_OVERFLOW,
                    message=f"a subsection would be at level {deepest}; the maximum is {MAX_LEVEL}",
                    hint='use a smaller level, or `"subsections": "keep"`',
                ),
            )
        edits = shift_levels(outline.source, [heading for heading in headings if heading], shift)
        if not isinstance(edits, tuple):
            return (
                Diagnostic.invalid(
                    f"the heading at line {edits.first_line} has several lines and cannot become ATX",
                    "rename it to one line first",
                ),
            )
        start = section.heading.span.start
        first, *others = [edit.span for edit in edits] or [Span(start, start)]
        return Resolution(
            claims=(
                Claim(span=first, owner=None, takes=taken, verb="changes the level of"),
                *(Claim(span=span, owner=None) for span in others),
            ),
            edits=edits,
            section=section,
            may_change_outline=True,
        )
