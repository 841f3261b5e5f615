"""Shared parts of operations that write sections: the payload, its levels, and its position."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.block_tree import is_left_open
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import (
    Payload,
    end_of_body,
    end_of_subtree,
    fit_levels,
    read_payload,
    start_of_body,
)
from mdplan.markdown.sections import Section
from mdplan.operations.base.operation import (
    BlockInsertion,
    Claim,
    InsertOrder,
    InsertRank,
    Resolution,
    SectionTargeted,
)
from mdplan.text.lines import Span

SectionPosition = Literal["before", "after", "firstChild", "lastChild"]
BodyEdge = Literal["start", "end", "very end"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertionPoint:
    """Where blocks go: an offset, the section that they become part of, and the level of a section there."""

    offset: int
    parent: Section
    level: int
    rank: InsertRank

    @property
    def order(self) -> InsertOrder:
        """Order among the insertions at the same offset."""
        return InsertOrder.into(self.parent, self.rank)


@dataclass(frozen=True, slots=True)
class Addressed:
    """A section and the payload for it."""

    section: Section
    payload: Payload


class LevelFitting(SectionTargeted):
    """An operation that puts headings somewhere."""

    levels: Literal["fit", "verbatim"] = Field(
        default="fit", description="fit: push headings down to their place; verbatim: leave them."
    )

    def fitted(
        self, payload: Payload, shallowest: int, *, own_level: int | None = None
    ) -> Payload | Diagnostic:
        """`payload` with its headings at `shallowest` or deeper; the first at `own_level` if that is given.

        Errors: HEADING_LEVEL_OVERFLOW.
        """
        if self.levels == "verbatim":
            return payload
        return not_too_deep(fit_levels(payload, shallowest, own_level=own_level))


class PayloadOperation(LevelFitting):
    """An operation that writes Markdown into or next to a section."""

    # Whether what it writes can be the end of the file, and leave open what was open.
    may_end_open: ClassVar[bool] = False

    markdown: str = Field(description="Text to write; headings in it are levelled to fit.")

    def addressed(self, outline: Outline) -> Addressed | Problems:
        """The section and the payload, or what is wrong with either.

        Errors: those of `find_section` and `read_payload`.
        """
        section, payload = self.find_section(outline), self.read_payload()
        if isinstance(section, Section) and isinstance(payload, Diagnostic):
            payload = self._payload_as_open(outline, section) or payload
        if isinstance(section, Section) and isinstance(payload, Payload):
            return Addressed(section, payload)
        return tuple(problem for problem in (section, payload) if isinstance(problem, Diagnostic))

    def read_payload(self) -> Payload | Diagnostic:
        """The payload. Errors: EMPTY_CONTENT; OUTLINE_CHANGED where it leaves a fence or comment open."""
        payload = read_payload(self.markdown)
        if payload.is_blank:
            return Diagnostic(
                code=Code.EMPTY_CONTENT, message="markdown is empty", hint="give the text to write"
            )
        if payload.left_open:
            return Diagnostic(
                code=Code.OUTLINE_CHANGED,
                message=f"markdown leaves the {payload.left_open.kind} of its line "
                f"{payload.left_open.first_line} open, which would swallow what follows",
                hint="close the fence, comment or tag in the payload",
            )
        return payload

    def _payload_as_open(self, outline: Outline, section: Section) -> Payload | None:
        """The payload for a section without subsections that ends the file and leaves its last block open.

        None unless the payload ends in such a block too: then nothing is swallowed that was not before.
        """
        last, text = outline.tree.last_root, outline.source.text
        if not self.may_end_open or last is None or not is_left_open(last, text):
            return None
        if section.span.end < len(text) or section.body.end < section.span.end:
            return None
        payload = read_payload(self.markdown)
        is_same = payload.left_open is not None and payload.left_open.kind is last.kind
        return payload if is_same and last.span.start >= section.body.start else None

    def write_into(
        self, outline: Outline, to: Addressed, child: Literal["firstChild", "lastChild"], edge: BodyEdge
    ) -> Resolution | Problems:
        """Insertion of a payload into its section: as its first or last `child` if it starts with a heading.

        Other text goes to an `edge` of the body, and sections that follow in it are after the whole body,
        so that they take no text for their own. Errors: HEADING_LEVEL_OVERFLOW.
        """
        section, payload = to.section, to.payload
        if payload.starts_with_heading:
            return self._inserted_at(place_next_to(outline, section, child), payload, section)
        place = place_in_body(outline, section, edge)
        if edge == "very end" or not payload.headings:
            return self._inserted_at(place, payload, section)
        text, sections = payload.split()
        behind = self._inserted_at(place_next_to(outline, section, "firstChild"), sections, section)
        if not isinstance(behind, Resolution):
            return behind
        before = self.insertion(text, place, section)
        return replace(
            before,
            claims=before.claims + behind.claims,
            insertions=before.insertions + behind.insertions,
        )

    def _inserted_at(
        self, place: InsertionPoint, payload: Payload, section: Section
    ) -> Resolution | Problems:
        fitted = self.fitted(payload, place.level)
        return (fitted,) if isinstance(fitted, Diagnostic) else self.insertion(fitted, place, section)

    def insertion(self, payload: Payload, place: InsertionPoint, section: Section) -> Resolution:
        """Insertion of `payload` at `place`; `section` was addressed."""
        return Resolution(
            claims=(Claim(span=Span(place.offset, place.offset), owner=place.parent.index),),
            insertions=(BlockInsertion(offset=place.offset, payload=payload, order=place.order),),
            section=section,
        )


def not_too_deep(fitted: Payload | int) -> Payload | Diagnostic:
    """`fitted`, or HEADING_LEVEL_OVERFLOW where it is the level that a heading would have."""
    if isinstance(fitted, Payload):
        return fitted
    return Diagnostic(
        code=Code.HEADING_LEVEL_OVERFLOW,
        message=f"a heading would be at level {fitted}; the maximum is 6",
        hint='use fewer heading levels, or `"levels": "verbatim"`',
    )


def place_in_body(outline: Outline, section: Section, edge: BodyEdge) -> InsertionPoint:
    """Place for text: the start or end of the own body of `section`, or after its last subsection."""
    match edge:
        case "start":
            found = start_of_body(outline, section), InsertRank.BODY_START
        case "end":
            found = end_of_body(outline, section), InsertRank.BODY_END
        case _:
            return place_next_to(outline, section, "lastChild")
    return InsertionPoint(offset=found[0], parent=section, level=section.level + 1, rank=found[1])


def place_next_to(outline: Outline, section: Section, position: SectionPosition) -> InsertionPoint:
    """Place for a section before, after or inside `section`, and the level that fits there.

    Inside it is one below `section`, or that of its first or last subsection where that is deeper.
    """
    parent = outline.parent(section) or section
    if position == "before":
        return InsertionPoint(
            offset=section.span.start, parent=parent, level=section.level, rank=InsertRank.BEFORE
        )
    if position == "after":
        offset = end_of_subtree(outline, section)
        return InsertionPoint(offset=offset, parent=parent, level=section.level, rank=InsertRank.AFTER)
    levels = [child.level for child in outline.children(section)] or [0]
    if position == "firstChild":
        offset, level = end_of_body(outline, section), max(section.level + 1, levels[0])
        return InsertionPoint(offset=offset, parent=section, level=level, rank=InsertRank.FIRST_CHILD)
    offset, level = end_of_subtree(outline, section), max(section.level + 1, levels[-1])
    return InsertionPoint(offset=offset, parent=section, level=level, rank=InsertRank.LAST_CHILD)
