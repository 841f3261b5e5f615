"""prepend_to_section: add text to the start of a section."""

from typing import ClassVar, Literal

from mdplan.diagnostics import Problems
from mdplan.markdown.outline import Outline
from mdplan.operations.base.operation import Resolution
from mdplan.operations.base.section_payload import Addressed, PayloadOperation


class PrependToSection(PayloadOperation):
    """Add Markdown to the start of a section.

    Plain text goes right after the heading. Text that starts with a heading becomes the first subsection,
    so that it cannot take the section's own text for its own; so do sections that follow plain text. Blank
    lines are added as needed; an item that continues into the list at that place gets none.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "prepend_to_section",
        "headingPath": ["Install"],
        "markdown": "You need Python 3.11 or newer.",
    }
    accepts_root: ClassVar = True
    repeats: ClassVar = True
    may_begin_file: ClassVar = True

    op: Literal["prepend_to_section"]

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One insertion.

        Errors: those of the target; EMPTY_CONTENT, OUTLINE_CHANGED, HEADING_LEVEL_OVERFLOW.
        """
        found = self.addressed(outline)
        if not isinstance(found, Addressed):
            return found
        return self.write_into(outline, found, "firstChild", "start")
