"""order_sections: bring the subsections of a section into an order."""

import re
from collections.abc import Sequence
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.headings import canonical_heading, heading_title
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.operations.base.operation import Claim, Resolution, SectionTargeted
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import Span
from mdplan.text.source import Source

_LINE_END: Final = re.compile(r"\r\n?|\n")


class OrderSections(SectionTargeted):
    """Bring the subsections of a section into an order.

    `order` lists their headings. Those that the section has change places among each other and take their
    own subsections along; a heading that it does not have is skipped, and subsections that `order` does not
    list stay where they are. Case and markup of headings do not matter. Blank lines between sections stay in
    their places.

    Without a section, the subsections of the first heading are ordered where it is the only one of its
    level, else the sections of that level.
    """

    example: ClassVar[dict[str, object]] = {"op": "order_sections", "order": ["Brew", "Install"]}
    target_is_required: ClassVar = False
    accepts_root: ClassVar = True
    moves_text: ClassVar = True

    op: Literal["order_sections"]
    order: Annotated[tuple[str, ...], Field(min_length=1)] = Field(
        description="Headings of subsections in their new order."
    )

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One edit from the first section that changes to the last.

        Errors: those of the target; OUTLINE_CHANGED where the sections would be others in the new order.
        """
        parent = self.find_section(outline) if self._given_targets() else _default_parent(outline)
        if isinstance(parent, Diagnostic):
            return (parent,)
        sections = _subsections(outline, parent)
        known = zip(_ranks(self.order, sections), sections, strict=True)
        listed = [(rank, section) for rank, section in known if rank is not None]
        ordered = sorted(listed, key=lambda each: each[0])
        moves = [
            (place, moved)
            for (_, place), (_, moved) in zip(listed, ordered, strict=True)
            if place is not moved
        ]
        edits = _edits(outline, moves)
        problem = _changed_sections(outline, moves, edits)
        if problem is not None:
            return (problem,)
        return Resolution(
            claims=tuple(Claim(span=edit.span, owner=None) for edit in edits),
            edits=edits,
            section=parent,
            may_change_outline=True,
        )


def _ranks(order: Sequence[str], sections: Sequence[Section]) -> list[int | None]:
    """The place in `order` of each of `sections`; None for one that it does not list.

    A heading that is listed as it is gets that place; the form that ignores case and punctuation counts for
    names that no heading has, since it can be that of several headings.
    """
    titles = {each.title for each in sections}
    exact: dict[str, int] = {}
    loose: dict[str, int] = {}
    for number, title in enumerate(order):
        # As rendered, such as `-Version <N>`, or as Markdown.
        names = (" ".join(title.split()), heading_title(title))
        for name in titles.intersection(names):
            exact.setdefault(name, number)
        if titles.isdisjoint(names):
            for name in names:
                loose.setdefault(canonical_heading(name), number)
    return [exact.get(each.title, loose.get(canonical_heading(each.title))) for each in sections]


def _default_parent(outline: Outline) -> Section:
    """The section whose subsections are those of the page."""
    top = _subsections(outline, outline.sections[0])
    return top[0] if len(top) == 1 else outline.sections[0]


def _subsections(outline: Outline, parent: Section) -> list[Section]:
    return [each for each in outline.sections if each.parent == parent.index and not each.is_root]


def _edits(outline: Outline, moves: Sequence[tuple[Section, Section]]) -> tuple[TextEdit, ...]:
    """One edit for all `moves`: of each the place, and the section that comes there."""
    if not moves:
        return ()
    old = [_text_span(outline, place) for place, _ in moves]
    new = [outline.text_of(_text_span(outline, moved)) for _, moved in moves]
    source = outline.source.text
    ends = [*(span.start for span in old[1:]), _below(outline, moves[-1][0], old[-1]).start]
    moved_to = {place.index: moved for place, moved in moves}
    gaps = []
    for (place, _), span, end in zip(moves, old, ends, strict=True):
        stop = outline.members(place).stop
        follower = moved_to.get(stop) or next(iter(outline.sections[stop : stop + 1]), None)
        gaps.append(_apart(source[span.end : end], follower))
    text = "".join(piece + gap for piece, gap in zip(new, gaps, strict=True))
    return (TextEdit(Span(old[0].start, ends[-1]), text),)


def _below(outline: Outline, last: Section, text: Span) -> Span:
    """The section below `last`, or the place after its `text` where there is none."""
    stop = outline.members(last).stop
    return outline.sections[stop].span if stop < len(outline.sections) else Span(text.end, text.end)


def _apart(gap: str, below: Section | None) -> str:
    """`gap` with a blank line where the anchor lines of `below` would continue the text above them."""
    has_lead = below is not None and below.span.start < below.heading_start
    line_ends = _LINE_END.findall(gap[: len(gap) - len(gap.lstrip())])
    return line_ends[0] + gap if has_lead and len(line_ends) == 1 else gap


def _text_span(outline: Outline, section: Section) -> Span:
    """`section` with its subsections, without the blank lines and the line end after it."""
    text = outline.text_of(section.span)
    return Span(section.span.start, section.span.start + len(text.rstrip()))


def _changed_sections(
    outline: Outline, moves: Sequence[tuple[Section, Section]], edits: Sequence[TextEdit]
) -> Diagnostic | None:
    """OUTLINE_CHANGED where the result of `edits` does not parse as the same sections in the new order."""
    if not edits:
        return None
    moved = {place.index: section for place, section in moves}
    wanted: list[Section] = []
    at = 0
    while at < len(outline.sections):
        here = outline.sections[at]
        members = outline.members(moved[at]) if at in moved else range(at, at + 1)
        wanted += (outline.sections[each] for each in members)
        at = outline.members(here).stop if at in moved else at + 1
    made = EditList(tuple(edits))
    result = outline.edited(made, Source.from_text(made.apply(outline.source.text)))
    if [(each.title, each.level) for each in result.sections] == [
        (each.title, each.level) for each in wanted
    ]:
        return None
    return Diagnostic(
        code=Code.OUTLINE_CHANGED,
        message="in the new order the sections would parse as others",
        hint="look for a code block or comment in one of them that does not end",
        place=outline.source.lines.position(edits[0].span.start),
    )
