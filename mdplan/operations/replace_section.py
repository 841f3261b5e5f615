"""replace_section: replace the text of a section."""

from typing import ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Problems
from mdplan.markdown.outline import Outline
from mdplan.operations.base.operation import Resolution
from mdplan.operations.base.section_payload import Addressed, PayloadOperation
from mdplan.operations.base.section_replacement import replace_section


class ReplaceSection(PayloadOperation):
    """Replace the text of a section.

    A payload that begins with the section's own heading replaces the heading too; otherwise it is the body.
    Subsections stay, unless the payload repeats all of them, in order, and so is the whole section;
    `keepSubsections` says it outright: true keeps them, false replaces them. Send back what you read with
    one word changed, and only that line changes.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "replace_section",
        "headingPath": ["Install"],
        "markdown": "Download the archive and run it.",
    }
    accepts_root: ClassVar = True
    may_end_open: ClassVar = True

    op: Literal["replace_section"]
    keep_subsections: bool | None = Field(
        default=None, description="Keep subsections (true), replace them (false); found from the payload."
    )

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One replacement.

        Errors: those of the target; EMPTY_CONTENT, OUTLINE_CHANGED, HEADING_LEVEL_OVERFLOW;
        INVALID_ARGUMENT for a payload with another heading at or above the target's level;
        DUPLICATE_HEADING for one that repeats some of the subsections.
        """
        found = self.addressed(outline)
        if not isinstance(found, Addressed):
            return found
        return replace_section(self, outline, found.section, found.payload, self.keep_subsections)
