"""move_section: take a section to another place of the file, or to another file."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.addresses import find_by_id, find_by_path
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import (
    Payload,
    end_of_subtree,
    end_of_text_before,
    read_payload,
    replace_blocks,
    within_enclosures,
)
from mdplan.markdown.sections import Section
from mdplan.operations.base.fields import SectionHash
from mdplan.operations.base.operation import BlockInsertion, Claim, Resolution
from mdplan.operations.base.section_payload import LevelFitting, SectionPosition, place_next_to
from mdplan.text.lines import Span


class MoveSection(LevelFitting):
    """Move a section with its subsections before or after another one, or into it as first or last child.

    With `levels: "fit"` its headings are pushed down together until the first fits the new place; they are
    never lifted.

    With `toFile` it goes to another file of the root, to the place that `toSectionId` or `toHeadingPath`
    names there; without these, to the end of that file, which is made where it is missing. Relative links and
    images in what moves are corrected. The link definitions that it uses and the other file lacks, and the
    footnotes that it uses, are copied to its end; those of the first file stay. A label that the other file
    defines otherwise is changed. Links elsewhere follow with `updateReferences`. Both files guard the edit:
    the other one by its own `baseSha256` in the batch or by `toBaseSha256`, or both by a plan. It does not go
    with `sequential`.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "move_section",
        "headingPath": ["Install"],
        "toHeadingPath": ["Use"],
        "position": "after",
    }
    moves_text: ClassVar = True

    op: Literal["move_section"]
    to_section_id: str | None = Field(default=None, description="Section ID of the section to move to.")
    to_heading_path: tuple[str, ...] | None = Field(
        default=None, description="Heading path of the section to move to; [] is the preamble."
    )
    position: SectionPosition | None = Field(
        default=None,
        description="Position relative to that one; lastChild is the default with toFile alone.",
    )
    to_file: str | None = Field(default=None, min_length=1, description="File to move it to, if another one.")
    to_base_sha256: SectionHash | None = Field(
        default=None, description="SHA-256 of toFile as you saw it; at least 16 hex digits."
    )

    @model_validator(mode="after")
    def _check_destination(self) -> "MoveSection":
        has_id, has_path = self.to_section_id is not None, self.to_heading_path is not None
        if (has_id and has_path) or not (has_id or has_path or self.to_file is not None):
            raise ValueError("give one of toSectionId and toHeadingPath")
        if self.to_base_sha256 is not None and self.to_file is None:
            raise ValueError("toBaseSha256 requires toFile")
        if self.position is None and (has_id or has_path):
            raise ValueError("give position: before, after, firstChild or lastChild")
        return self

    @property
    def other_file(self) -> str | None:
        """The file that the section goes to."""
        return self.to_file

    @property
    def makes_other_file(self) -> bool:
        """Whether the section goes to no place that only an existing file can have."""
        is_inside = self._position in {"firstChild", "lastChild"}
        return (
            is_inside and self.to_section_id is None and not self.to_heading_path and not self.to_base_sha256
        )

    @property
    def other_base_sha256(self) -> str | None:
        """The hash of that file."""
        return self.to_base_sha256

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One deletion and one insertion; with `toFile` a deletion here.

        Errors: those of both targets; INVALID_ARGUMENT for a place inside the section itself, or next to
        the preamble; HEADING_LEVEL_OVERFLOW; OUTLINE_CHANGED for text that would swallow what follows in
        another file.
        """
        if self.to_file is not None:
            return self._resolve_here(outline)
        section, to = self.find_section(outline), self._find_destination(outline)
        problems = tuple(problem for problem in (section, to) if isinstance(problem, Diagnostic))
        if isinstance(section, Diagnostic) or isinstance(to, Diagnostic):
            return problems
        wrong = self._wrong_place(outline, section, to)
        if wrong:
            return (wrong,)
        place = place_next_to(outline, to, self._position)
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
            deletions=(within_enclosures(outline, section.span),),
            insertions=(BlockInsertion(offset=place.offset, payload=fitted, order=place.order),),
            section=section,
            destination=to,
        )

    def _resolve_here(self, outline: Outline) -> Resolution | Problems:
        """The deletion in the file that the section leaves."""
        section = self.find_section(outline)
        if isinstance(section, Diagnostic):
            return (section,)
        text = Span(section.span.start, end_of_subtree(outline, section))
        payload = read_payload(outline.text_of(text))
        if payload.left_open:
            line = section.first_line + payload.left_open.first_line - 1
            return (
                Diagnostic(
                    code=Code.OUTLINE_CHANGED,
                    message=f"the section leaves the {payload.left_open.kind} of line {line} open, and it "
                    "would swallow what follows in another file",
                    hint="close the fence, comment or tag first",
                ),
            )
        claim = Claim(span=text, owner=section.index, takes=outline.members(section), verb="moves")
        return Resolution(
            claims=(claim,),
            deletions=(within_enclosures(outline, section.span),),
            section=section,
            exported=payload,
        )

    def resolve_in_target(self, outline: Outline, exported: Payload) -> Resolution | Problems:
        """One insertion. Errors: those of the destination, HEADING_LEVEL_OVERFLOW."""
        to = self._find_destination(outline)
        if isinstance(to, Diagnostic):
            return (to,)
        wrong = _no_section_there(to, self._position)
        place = place_next_to(outline, to, self._position)
        fitted = self.fitted(exported, place.level)
        if wrong is not None or not isinstance(fitted, Payload):
            return tuple(each for each in (wrong, fitted) if isinstance(each, Diagnostic))
        return Resolution(
            claims=(Claim(span=Span(place.offset, place.offset), owner=place.parent.index),),
            insertions=(BlockInsertion(offset=place.offset, payload=fitted, order=place.order),),
            destination=to,
            is_evidence=self.to_base_sha256 is not None,
        )

    @property
    def _position(self) -> SectionPosition:
        return self.position or "lastChild"

    def needs_precondition(self, resolution: Resolution) -> bool:
        """Whether an address with a count, of the section or the destination, needs a precondition."""
        to = resolution.destination
        is_counted = self.to_section_id is not None and to is not None and to.repeats > 1
        return is_counted or super().needs_precondition(resolution)

    def _find_destination(self, outline: Outline) -> Section | Diagnostic:
        if self.to_section_id is not None:
            return find_by_id(outline, self.to_section_id)
        return find_by_path(outline, self.to_heading_path or ())

    def _wrong_place(self, outline: Outline, section: Section, to: Section) -> Diagnostic | None:
        problem = _no_section_there(to, self._position)
        if problem is not None:
            return problem
        is_inside = to.index in outline.members(section)
        if is_inside and (to.index != section.index or self._position in {"firstChild", "lastChild"}):
            return Diagnostic.invalid("a section cannot move into itself", "name a section outside it")
        return None


def _no_section_there(to: Section, position: SectionPosition) -> Diagnostic | None:
    """Why no section can be at `position` of the section `to`; None where one can."""
    if not to.nested and not (to.is_root and position in {"before", "after"}):
        return None
    return Diagnostic.invalid(
        "no section can be there",
        "name another section, or use firstChild or lastChild with toHeadingPath []",
    )
