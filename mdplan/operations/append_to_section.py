"""append_to_section: add text to the end of a section."""

from typing import ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import Payload, fit_levels, read_payload
from mdplan.markdown.section import Section
from mdplan.markdown.spacing import end_of_body, end_of_subtree
from mdplan.operation import BlockInsertion, Claim, InsertOrder, Resolution, SectionTargeted
from mdplan.text.span import Span

_BODY_END = 1
_LAST_CHILD = 2


class AppendToSection(SectionTargeted):
    """Add Markdown to the end of a section.

    Plain text goes to the end of the section's own body, before its subsections. Text that starts with a
    heading becomes the last subsection. `extent: "subtree"` puts plain text to the very end too.

    Blank lines around the new text are added as needed; an item or row that continues the list or table at
    that place gets none. Trailing link definitions at the end of the file stay behind the new text.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "append_to_section",
        "headingPath": ["Install"],
        "markdown": "Restart your shell afterwards.",
    }
    accepts_root: ClassVar = True

    op: Literal["append_to_section"]
    markdown: str = Field(description="Text to add; headings in it are levelled to fit.")
    extent: Literal["auto", "subtree"] = Field(
        default="auto", description="auto: end of the own body, or last subsection; subtree: the very end."
    )
    levels: Literal["fit", "verbatim"] = Field(
        default="fit", description="fit: push headings below the target's level; verbatim: leave them."
    )

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One insertion.

        Errors: those of the target, EMPTY_CONTENT, OUTLINE_CHANGED, HEADING_LEVEL_OVERFLOW.
        """
        section = self.find_section(outline)
        payload = self._payload(section)
        problems = tuple(problem for problem in (section, payload) if isinstance(problem, Diagnostic))
        if isinstance(section, Diagnostic) or isinstance(payload, Diagnostic):
            return problems
        is_child = payload.starts_with_heading or self.extent == "subtree"
        offset = end_of_subtree(outline, section) if is_child else end_of_body(outline, section)
        order = InsertOrder(_LAST_CHILD if is_child else _BODY_END, -len(section.path))
        return Resolution(
            claims=(Claim(span=Span(offset, offset), owner=section.index),),
            insertions=(BlockInsertion(offset=offset, text=payload.text, order=order),),
            section=section,
            is_evidence=self.section_sha256 is not None,
        )

    def _payload(self, section: Section | Diagnostic) -> Payload | Diagnostic:
        payload = read_payload(self.markdown)
        if payload.is_blank:
            return Diagnostic(
                code=Code.EMPTY_CONTENT,
                message="markdown is empty, so there is nothing to append",
                hint="give the text to append",
            )
        if payload.left_open:
            return Diagnostic(
                code=Code.OUTLINE_CHANGED,
                message=f"markdown leaves the {payload.left_open.kind} of its line "
                f"{payload.left_open.first_line} open, which would swallow what follows",
                hint="close the fence, comment or tag in the payload",
            )
        if isinstance(section, Diagnostic) or self.levels == "verbatim":
            return payload
        fitted = fit_levels(payload, section.level + 1)
        if isinstance(fitted, Payload):
            return fitted
        return Diagnostic(
            code=Code.HEADING_LEVEL_OVERFLOW,
            message=f"a heading of the payload would be at level {fitted}, and levels end at 6",
            hint='use fewer heading levels in markdown, or `"levels": "verbatim"`',
        )
