"""append_to_section: add text to the end of a section."""

from typing import ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Problems
from mdplan.markdown.outline import Outline
from mdplan.operations.base.operation import Resolution
from mdplan.operations.base.section_payload import Addressed, PayloadOperation


class AppendToSection(PayloadOperation):
    """Add Markdown to the end of a section.

    Plain text goes to the end of the section's own body, before its subsections. Text that starts with a
    heading becomes the last subsection. `extent: "subtree"` puts plain text to the very end too.

    Blank lines around the new text are added as needed; an item or row that continues the list or table at
    that place gets none. Trailing link definitions at the end of the file stay after the new text.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "append_to_section",
        "headingPath": ["Install"],
        "markdown": "Restart your shell afterwards.",
    }
    accepts_root: ClassVar = True
    repeats: ClassVar = True
    may_begin_file: ClassVar = True

    op: Literal["append_to_section"]
    extent: Literal["auto", "subtree"] = Field(
        default="auto", description="auto: end of the own body, or last subsection; subtree: the very end."
    )

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One insertion.

        Errors: those of the target; EMPTY_CONTENT, OUTLINE_CHANGED, HEADING_LEVEL_OVERFLOW.
        """
        found = self.addressed(outline)
        if not isinstance(found, Addressed):
            return found
        return self.write_into(outline, found, "lastChild", "very end" if self.extent == "subtree" else "end")
