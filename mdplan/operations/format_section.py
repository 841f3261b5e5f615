"""format_section: write a section the way mdformat does."""

from typing import ClassVar, Literal

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import end_of_subtree
from mdplan.operations.base.operation import Claim, Resolution, SectionTargeted
from mdplan.text.lines import Span


class FormatSection(SectionTargeted):
    """Format a section and its subsections the way `mdformat` does.

    It needs the extra `mdplan[mdformat]`. Headings keep their text and level; link definitions, footnotes,
    and the blank lines around the section stay as they are. A section that would not be rendered as before,
    but for white space, is refused.
    """

    example: ClassVar[dict[str, object]] = {"op": "format_section", "headingPath": ["Install"]}

    op: Literal["format_section"]

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """Replacement of the lines that differ. Errors: those of the target; FORMATTER_FAILED."""
        from mdplan.markdown.formatting import format_lines

        section = self.find_section(outline)
        if isinstance(section, Diagnostic):
            return (section,)
        # With the blank lines at its end, which are part of a fence that is not closed.
        edits = format_lines(outline, section.span)
        if isinstance(edits, Diagnostic):
            return (edits,)
        span = Span(section.span.start, end_of_subtree(outline, section))
        claim = Claim(span=span, owner=section.index, takes=outline.members(section), verb="formats")
        return Resolution(claims=(claim,), edits=edits, section=section)
