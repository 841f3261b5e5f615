"""move_section: take a section to another place of the file."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.block_edits import end_of_text_before, replace_blocks
from mdplan.markdown.heading_path import find_by_id, find_by_path
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import Payload, read_payload
from mdplan.markdown.section import Section
from mdplan.markdown.spacing import end_of_subtree
from mdplan.operation import BlockInsertion, Claim, Resolution
from mdplan.payload_operation import LevelFitting, SectionPosition, place_beside
from mdplan.text.span import Span


class MoveSection(LevelFitting):
    """Move a section with its subsections before or after another one, or into it as first or last child.

    With `levels: "fit"` its headings are pushed down together until the first fits the new place; they are
    never lifted.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "move_section",
        "headingPath": ["Install"],
        "toHeadingPath": ["Use"],
        "position": "after",
    }

    op: Literal["move_section"]
    to_section_id: str | None = Field(default=None, description="Section ID of the section to move to.")
    to_heading_path: tuple[str, ...] | None = Field(
        default=None, description="Heading path of the section to move to; [] is the preamble."
    )
    position: SectionPosition = Field(description="Where the section goes, seen from that one.")

    @model_validator(mode="after")
    def _check_destination(self) -> "MoveSection":
        if (self.to_section_id is None) == (self.to_heading_path is None):
            raise ValueError("give one of toSectionId and toHeadingPath")
        return self

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One deletion and one insertion.

        Errors: those of both targets; INVALID_ARGUMENT for a place inside of the section itself, or beside
        the preamble; HEADING_LEVEL_OVERFLOW.
        """
        section, to = self.find_section(outline), self._find_destination(outline)
        problems = tuple(problem for problem in (section, to) if isinstance(problem, Diagnostic))
        if isinstance(section, Diagnostic) or isinstance(to, Diagnostic):
            return problems
        wrong = self._wrong_place(outline, section, to)
        if wrong:
            return (wrong,)
        place = place_beside(outline, to, self.position)
        text = Span(section.span.start, end_of_subtree(outline, section))
        fitted = self.fitted(read_payload(outline.text_of(text)), place.level)
        if not isinstance(fitted, Payload):
            return (fitted,)
        taken = Claim(span=text, owner=section.index, takes=outline.members(section), verb="moves")
        if end_of_text_before(outline, section.span.start) <= place.offset <= section.span.end:
            # It stays where it is, and its levels may have to change.
            edits = replace_blocks(outline, text, fitted)
            return Resolution(claims=(taken,), edits=edits, section=section, destination=to)
        return Resolution(
            claims=(taken, Claim(span=Span(place.offset, place.offset), owner=place.parent.index)),
            deletions=(section.span,),
            insertions=(BlockInsertion(offset=place.offset, payload=fitted, order=place.order),),
            section=section,
            destination=to,
        )

    def needs_pin(self, resolution: Resolution) -> bool:
        """The same of the destination."""
        to = resolution.destination
        is_counted = self.to_section_id is not None and to is not None and to.repeats > 1
        return is_counted or super().needs_pin(resolution)

    def _find_destination(self, outline: Outline) -> Section | Diagnostic:
        if self.to_section_id is not None:
            return find_by_id(outline, self.to_section_id)
        return find_by_path(outline, self.to_heading_path or ())

    def _wrong_place(self, outline: Outline, section: Section, to: Section) -> Diagnostic | None:
        if to.nested or (to.is_root and self.position in {"before", "after"}):
            return Diagnostic(
                code=Code.INVALID_ARGUMENT,
                message="no section can stand there",
                hint="name a section of its own, or use firstChild or lastChild with toHeadingPath []",
            )
        is_inside = to.index in outline.members(section)
        if is_inside and (to.index != section.index or self.position in {"firstChild", "lastChild"}):
            return Diagnostic(
                code=Code.INVALID_ARGUMENT,
                message="a section cannot move into itself",
                hint="name a section outside of it",
            )
        return None
