"""insert_section: add a new section next to or inside another one."""

from typing import ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.operations.base.operation import Resolution
from mdplan.operations.base.section_payload import PayloadOperation, SectionPosition, place_next_to


class InsertSection(PayloadOperation):
    """Add a new section before or after another one, or as its first or last subsection.

    `markdown` starts with the heading of the new section. With `levels: "fit"` all its headings are pushed
    down together until the first fits its place: the level of the sibling, or one below the parent; next to
    deeper subsections, theirs.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "insert_section",
        "headingPath": ["Install"],
        "position": "after",
        "markdown": "## Upgrade\n\nRun the installer again.",
    }
    accepts_root: ClassVar = True
    repeats: ClassVar = True
    once_condition: ClassVar = "hasSection: TITLE"
    may_begin_file: ClassVar = True

    op: Literal["insert_section"]
    position: SectionPosition = Field(description="Position relative to the target section.")

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One insertion.

        Errors: those of the target; EMPTY_CONTENT, OUTLINE_CHANGED, HEADING_LEVEL_OVERFLOW;
        INVALID_ARGUMENT for a payload without a heading in front, and next to the preamble.
        """
        section = self.find_section(outline)
        payload = self.read_payload()
        problems = [problem for problem in (section, payload) if isinstance(problem, Diagnostic)]
        if not isinstance(payload, Diagnostic) and not payload.starts_with_heading:
            problems.append(_NO_HEADING)
        if isinstance(section, Section) and section.is_root and self.position in {"before", "after"}:
            problems.append(_BESIDE_ROOT)
        if problems or isinstance(section, Diagnostic) or isinstance(payload, Diagnostic):
            return tuple(problems)
        place = place_next_to(outline, section, self.position)
        fitted = self.fitted(payload, place.level)
        return (fitted,) if isinstance(fitted, Diagnostic) else self.insertion(fitted, place, section)


_NO_HEADING = Diagnostic.invalid(
    "markdown does not start with a heading, and a section has one",
    "start it with a heading, or use append_to_section for text",
)
_BESIDE_ROOT = Diagnostic.invalid(
    "the preamble has no sibling before or after it",
    "use position firstChild or lastChild with headingPath [], or name a section",
)
