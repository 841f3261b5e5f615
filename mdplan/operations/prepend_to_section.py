"""prepend_to_section: add text to the start of a section."""

from typing import ClassVar, Literal

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.operation import Resolution
from mdplan.payload_operation import PayloadOperation, place_beside, place_in_body


class PrependToSection(PayloadOperation):
    """Add Markdown to the start of a section.

    Plain text goes right behind the heading. Text that starts with a heading becomes the first subsection,
    so that it cannot take the section's own text for its own. Blank lines are added as needed; an item that
    continues into the list at that place gets none.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "prepend_to_section",
        "headingPath": ["Install"],
        "markdown": "You need Python 3.11 or newer.",
    }
    accepts_root: ClassVar = True

    op: Literal["prepend_to_section"]

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One insertion.

        Errors: those of the target; EMPTY_CONTENT, OUTLINE_CHANGED, HEADING_LEVEL_OVERFLOW.
        """
        section = self.find_section(outline)
        payload = self.read_payload()
        problems = tuple(problem for problem in (section, payload) if isinstance(problem, Diagnostic))
        if isinstance(section, Diagnostic) or isinstance(payload, Diagnostic):
            return problems
        if payload.starts_with_heading:
            place = place_beside(outline, section, "firstChild")
        else:
            place = place_in_body(outline, section, "start")
        fitted = self.fitted(payload, place.level)
        return (fitted,) if isinstance(fitted, Diagnostic) else self.insertion(fitted, place, section)
