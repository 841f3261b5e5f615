"""Operations on headings and whole sections: rename, change the level, move, order and delete."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field, model_validator

from mdplan.diagnostics import Code, Diagnostic, both, or_problem
from mdplan.markdown.addresses import MAX_LEVEL, find_by_id, find_by_path
from mdplan.markdown.headings import (
    canonical_heading,
    canonical_names,
    heading_title,
    shift_levels,
    with_marks_of,
    with_title,
)
from mdplan.markdown.links import first_definitions, with_kept_anchors
from mdplan.markdown.outline import Outline
from mdplan.markdown.parser import read_content
from mdplan.markdown.payload import (
    Payload,
    above_separator,
    end_of_body,
    end_of_subtree,
    end_of_text_before,
    read_payload,
    replace_blocks,
    within_enclosures,
)
from mdplan.markdown.sections import Section
from mdplan.operations.base import Claim, Export, OtherFile, Resolution, SectionHash, SectionTargeted
from mdplan.operations.sections import LevelFitting, SectionPosition, place_next_to
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span
from mdplan.text.source import Source
from mdplan.values import replace
from mdplan.words import say

_MARKS: Final = lazy_pattern(r"#{1,6}[ \t]")


class RenameHeading(SectionTargeted):
    """Change the text of a heading; its level, its section and everything below stay.

    `newTitle` is one line of Markdown, without leading marks. Invisible parts stay unless it brings its own:
    `{#id}`, `{.class}`, ` ^id`, comments, `<a id="id"></a>`. Links to the old anchor follow with
    `updateReferences`; without it, broken links in the same file are BROKEN_LINK warnings. The section and
    its subsections get new IDs: see `newSectionId` in the result.
    """

    example: ClassVar[dict[str, object]] = {"headingPath": ["Install"], "newTitle": "Installation"}
    accepts_nested: ClassVar = True

    op: Literal["rename_heading"]
    new_title: str = Field(description="New heading text, one line of Markdown without leading #.")

    def resolve(self, outline: Outline) -> Resolution:
        """Return one replacement of the heading's text.

        Errors: as for the target; EMPTY_CONTENT; INVALID_ARGUMENT for a title that is no single line, or
        that the heading cannot carry.
        """
        title = self.new_title.strip()
        section, _ = both(lambda: self.find_section(outline), lambda: _check_title(title))
        assert section.heading is not None
        # The invisible parts of a heading outlive its title.
        title = title if read_content(title).id else with_kept_anchors(outline, section.heading, title)
        title = with_marks_of(title, section.heading.content)
        edit = with_title(outline.source, section.heading, title)
        if edit is None:
            raise Code.INVALID_ARGUMENT.refused(
                f"the heading at line {section.heading_line} cannot carry this title as one line",
                "escape what Markdown would read as something else than a title",
            )
        unchanged = outline.text_of(edit.span) == edit.new_text
        return Resolution(
            claims=(Claim(span=edit.span, owner=None),), edits=() if unchanged else (edit,), section=section
        )

    def already_satisfied(self, problem: Diagnostic, outline: Outline) -> bool:
        """Return True if the heading already has its new title, at the end of the same path.

        The path of a heading named by anchor or ID is unknown, because both change with the title; then any
        section with the new title counts.
        """
        if problem.code not in (Code.SECTION_NOT_FOUND, Code.ANCHOR_NOT_FOUND):
            return False
        path = self.heading_path or ("",)
        return isinstance(or_problem(find_by_path, outline, [*path[:-1], self.new_title]), Section)


def _check_title(title: str) -> None:
    """Refuse what cannot be the text of a heading."""
    if not title:
        raise Code.EMPTY_CONTENT.refused(say("{newTitle} is empty"), "give the new text of the heading")
    if "\n" in title or "\r" in title:
        raise Code.INVALID_ARGUMENT.refused(
            say("{newTitle} has a line break, and a heading is one line"),
            say("use {append_to_section} for text below the heading"),
        )
    if _MARKS.match(title):
        raise Code.INVALID_ARGUMENT.refused(
            say("{newTitle} starts with heading marks; the level of the heading stays as it is"),
            "give the text alone, without #",
        )


class SetHeadingLevel(SectionTargeted):
    """Change the level of a heading and of its subsections.

    All headings of the section move by the same number of levels; with `subsections: "keep"` only the heading
    moves. Text stays in place. The section may get another parent, and so another ID.
    """

    example: ClassVar[dict[str, object]] = {"headingPath": ["Install"], "level": 3}

    op: Literal["set_heading_level"]
    level: Annotated[int, Field(strict=True, ge=1, le=MAX_LEVEL)] = Field(description="New level, 1 to 6.")
    subsections: Literal["shift", "keep"] = Field(
        default="shift", description="shift: subsections move along; keep: they stay at their levels."
    )

    def resolve(self, outline: Outline) -> Resolution:
        """Return one edit a heading.

        Errors: as for the target; HEADING_LEVEL_OVERFLOW; INVALID_ARGUMENT for a heading over several
        lines that would have to become ATX.
        """
        section = self.find_section(outline)
        assert section.heading is not None
        shift = self.level - section.level
        members = outline.members(section)
        taken = members if self.subsections == "shift" else members[:1]
        headings = [outline.sections[index].heading for index in taken]
        deepest = max(outline.sections[index].level for index in taken) + shift
        if deepest > MAX_LEVEL:
            raise Code.HEADING_LEVEL_OVERFLOW.refused(
                f"a subsection would be at level {deepest}; the maximum is {MAX_LEVEL}",
                say('use a smaller level, or {subsections="keep"}'),
            )
        edits = shift_levels(outline.source, [heading for heading in headings if heading], shift)
        if not isinstance(edits, tuple):
            raise Code.INVALID_ARGUMENT.refused(
                f"the heading at line {edits.first_line} has several lines and cannot become ATX",
                "rename it to one line first",
            )
        start = section.heading.span.start
        first, *others = [edit.span for edit in edits] or [Span(start, start)]
        return Resolution(
            claims=(
                Claim(span=first, owner=None, takes=taken, verb="changes the level of"),
                *(Claim(span=span, owner=None) for span in others),
            ),
            edits=edits,
            section=section,
            may_change_outline=True,
        )


class MoveSection(LevelFitting):
    """Move a section with its subsections before or after another one, or into it as first or last child.

    With `levels: "fit"` its headings are pushed down together until the first fits the new place; they are
    never lifted.

    `toFile` moves it to another file of the root: to the section `toSectionId` or `toHeadingPath` there, or
    to the end of that file, which is created if it is missing. Relative links and images in the section are
    corrected. Footnotes that it uses, and link definitions that the other file lacks, are copied to the end;
    the first file keeps its own. A label with another definition there is renamed. Links elsewhere follow
    with `updateReferences`. Both files need a guard: the other one its own `baseSha256` in the batch or
    `toBaseSha256`, or a plan guards both. It does not work with `sequential`.
    """

    example: ClassVar[dict[str, object]] = {
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
        default=None, description="Position relative to that one; lastChild is the default with toFile alone."
    )
    to_file: str | None = Field(default=None, min_length=1, description="File to move it to, if another one.")
    to_base_sha256: SectionHash | None = Field(
        default=None, description="SHA-256 of toFile as you saw it; at least 16 hex digits."
    )

    @model_validator(mode="after")
    def _check_destination(self) -> "MoveSection":
        has_id, has_path = self.to_section_id is not None, self.to_heading_path is not None
        if (has_id and has_path) or not (has_id or has_path or self.to_file is not None):
            raise ValueError(say("give one of {toSectionId and toHeadingPath}"))
        if self.to_base_sha256 is not None and self.to_file is None:
            raise ValueError(say("{toBaseSha256} requires {toFile}"))
        if self.position is None and (has_id or has_path):
            raise ValueError(say("give {position}: before, after, firstChild or lastChild"))
        return self

    @property
    def other_file(self) -> OtherFile | None:
        """The file that the section moves to; created unless the destination must exist."""
        if self.to_file is None:
            return None
        is_old = self.to_section_id is not None or bool(self.to_heading_path or self.to_base_sha256)
        is_made = not is_old and self._position in {"firstChild", "lastChild"}
        return OtherFile(self.to_file, self.to_base_sha256, is_made)

    def resolve(self, outline: Outline) -> Resolution:
        """Return one deletion and one insertion; with `toFile` a deletion here.

        Errors: as for both targets; INVALID_ARGUMENT for a place inside the section itself, or next to
        the preamble; HEADING_LEVEL_OVERFLOW; OUTLINE_CHANGED for text that would swallow what follows in
        another file.
        """
        if self.to_file is not None:
            return self._resolve_here(outline)
        section, to = both(lambda: self.find_section(outline), lambda: self._find_destination(outline))
        self._check_place(to)
        is_inside = to.index in outline.members(section)
        if is_inside and (to.index != section.index or self._position in {"firstChild", "lastChild"}):
            raise Code.INVALID_ARGUMENT.refused(
                "a section cannot move into itself", "name a section outside it"
            )
        _check_enclosures(outline, section)
        place = place_next_to(outline, to, self._position)
        text = Span(section.span.start, end_of_subtree(outline, section))
        fitted = self.fitted(read_payload(outline.text_of(text)), place.level)
        taken = Claim(span=text, owner=section.index, takes=outline.members(section), verb="moves")
        if end_of_text_before(outline, section.span.start) <= place.offset <= section.span.end:
            # It stays where it is, and its levels may have to change.
            edits = replace_blocks(outline, text, fitted)
            return Resolution(claims=(taken,), edits=edits, section=section, destination=to)
        insertion = place.insertion(fitted)
        return replace(
            insertion,
            claims=(taken, *insertion.claims),
            deletions=(within_enclosures(outline, section.span),),
            section=section,
            destination=to,
        )

    def _resolve_here(self, outline: Outline) -> Resolution:
        """Return the deletion in the file that the section leaves."""
        section = self.find_section(outline)
        _check_enclosures(outline, section)
        text = Span(section.span.start, end_of_subtree(outline, section))
        payload = read_payload(outline.text_of(text))
        if payload.left_open:
            line = section.first_line + payload.left_open.first_line - 1
            raise Code.OUTLINE_CHANGED.refused(
                f"the section leaves the {payload.left_open.kind} of line {line} open, and it "
                "would swallow what follows in another file",
                "close the fence, comment or tag first",
            )
        claim = Claim(span=text, owner=section.index, takes=outline.members(section), verb="moves")
        return Resolution(
            claims=(claim,),
            deletions=(within_enclosures(outline, section.span),),
            section=section,
            export=Export(payload, self._resolve_there),
        )

    def _resolve_there(self, outline: Outline, exported: Payload) -> Resolution:
        """Return the insertion in the other file. Errors: as for the destination, HEADING_LEVEL_OVERFLOW."""
        to = self._find_destination(outline)
        place = place_next_to(outline, to, self._position)
        _, fitted = both(lambda: self._check_place(to), lambda: self.fitted(exported, place.level))
        return replace(place.insertion(fitted), destination=to, is_evidence=self.to_base_sha256 is not None)

    @property
    def _position(self) -> SectionPosition:
        return self.position or "lastChild"

    def needs_precondition(self, resolution: Resolution) -> bool:
        """Return True if an address with a count, of the section or the destination, needs a precondition."""
        to = resolution.destination
        is_counted = self.to_section_id is not None and to is not None and to.repeats > 1
        return is_counted or super().needs_precondition(resolution)

    def _find_destination(self, outline: Outline) -> Section:
        if self.to_section_id is not None:
            return find_by_id(outline, self.to_section_id)
        return find_by_path(outline, self.to_heading_path or ())

    def _check_place(self, to: Section) -> None:
        """Refuse a position next to or in the section `to` where no section can be."""
        if to.nested or (to.is_root and self._position in {"before", "after"}):
            raise Code.INVALID_ARGUMENT.refused(
                "no section can be there",
                say("name another section, or use firstChild or lastChild with {toHeadingPath=[]}"),
            )


_LINE_END: Final = lazy_pattern(r"\r\n?|\n")


class OrderSections(SectionTargeted):
    """Reorder the subsections of a section.

    `order` lists their headings. Listed subsections swap places, together with their own subsections. Unknown
    headings are skipped, and unlisted subsections stay where they are. Case and markup of headings do not
    matter. Blank lines between sections stay in place.

    Without a section, it reorders the subsections of the first heading if it is the only heading of its
    level, else the sections of that level.
    """

    example: ClassVar[dict[str, object]] = {"order": ["Brew", "Install"]}
    target_is_required: ClassVar = False
    accepts_root: ClassVar = True
    moves_text: ClassVar = True

    op: Literal["order_sections"]
    order: Annotated[tuple[str, ...], Field(min_length=1)] = Field(
        description="Headings of subsections in their new order."
    )

    def resolve(self, outline: Outline) -> Resolution:
        """Return one edit from the first section that changes to the last.

        Errors: as for the target; OUTLINE_CHANGED where the sections would be others in the new order.
        """
        parent = self.named_section(outline) or _default_parent(outline)
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
        order = _new_order(outline, moves)
        _check_sections(outline, order, edits)
        _check_enclosures(outline, *(section for _, section in moves))
        return Resolution(
            claims=tuple(Claim(span=edit.span, owner=None) for edit in edits),
            edits=edits,
            section=parent,
            may_change_outline=True,
            order=tuple(span for span in order if any(map(span.overlaps, (edit.span for edit in edits)))),
        )


def _ranks(order: Sequence[str], sections: Sequence[Section]) -> list[int | None]:
    """Return the index in `order` of each of `sections`, or None if it is not listed.

    Exact headings take precedence; the form that ignores case and punctuation only applies to names that no
    heading has, because it can match several headings.
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
    return [
        exact.get(section.title, next((loose[n] for n in canonical_names(section.title) if n in loose), None))
        for section in sections
    ]


def _default_parent(outline: Outline) -> Section:
    """Return the section that contains the subsections of the page."""
    top = _subsections(outline, outline.sections[0])
    return top[0] if len(top) == 1 else outline.sections[0]


def _subsections(outline: Outline, parent: Section) -> list[Section]:
    return [each for each in outline.sections if each.parent == parent.index and not each.is_root]


def _edits(outline: Outline, moves: Sequence[tuple[Section, Section]]) -> tuple[TextEdit, ...]:
    """Return one edit for all `moves`: of each the place, and the section that comes there."""
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
        gap = source[span.end : end]
        gaps.append(_blank_line(gap, follower) + gap)
    text = "".join(piece + gap for piece, gap in zip(new, gaps, strict=True))
    rest = source[ends[-1] :]
    # Where text is below and no section, definitions are, which would continue a paragraph.
    text += _blank_line(rest, None) if rest.strip() else ""
    return (TextEdit(Span(old[0].start, ends[-1]), text),)


def _below(outline: Outline, last: Section, text: Span) -> Span:
    """Return the section below `last`, or the end of its `text` if there is none."""
    stop = outline.members(last).stop
    return outline.sections[stop].span if stop < len(outline.sections) else Span(text.end, text.end)


def _blank_line(gap: str, below: Section | None) -> str:
    """Return the newline that `gap` needs to keep the text `below` apart from the text above.

    Definitions at the end of a file, anchor lines and setext headings would continue a paragraph.
    """
    text = below.heading if below is not None and below.span.start == below.heading_start else None
    is_heading = text is not None and text.markup.startswith("#")
    line_ends = _LINE_END.findall(gap[: len(gap) - len(gap.lstrip())])
    return line_ends[0] if len(line_ends) == 1 and not is_heading else ""


def _text_span(outline: Outline, section: Section) -> Span:
    """Return `section` with its subsections, without closing tags, blank lines and the line end after it."""
    span = within_enclosures(outline, section.span)
    return Span(span.start, span.start + len(outline.text_of(span).rstrip()))


def _new_order(outline: Outline, moves: Sequence[tuple[Section, Section]]) -> list[Span]:
    """Return the sections after `moves`: moved ones with their subsections, others one by one."""
    moved = {place.index: section.span for place, section in moves}
    order: list[Span] = []
    at = 0
    while at < len(outline.sections):
        here = outline.sections[at]
        order.append(moved.get(at, Span(here.span.start, here.body.end)))
        at = outline.members(here).stop if at in moved else at + 1
    return order


def _check_sections(outline: Outline, order: Sequence[Span], edits: Sequence[TextEdit]) -> None:
    """Refuse `edits` that do not make the same sections in this order, or lose a definition."""
    if not edits:
        return
    wanted = [heading for span in order for heading in outline.headings_in(span)]
    made = EditList(tuple(edits))
    result = outline.edited(made, Source.from_text(made.apply(outline.source.text)))
    is_same = [(each.title, each.level) for each in result.headings] == [
        (each.title, each.level) for each in wanted
    ]
    if not is_same or first_definitions(result).keys() != first_definitions(outline).keys():
        raise Code.OUTLINE_CHANGED.refused(
            "in the new order the sections would parse as others",
            "look for a code block or comment in one of them that does not end",
            place=outline.source.lines.position(edits[0].span.start),
        )


def _check_enclosures(outline: Outline, *moved: Section) -> None:
    """Refuse where text after the tag of an enclosure that leads out of a section would stay."""
    lines = outline.source.lines
    for section in moved:
        rest = Span(within_enclosures(outline, section.span).end, section.span.end)
        tags = {tag.line for pair in outline.enclosures.pairs for tag in pair} if len(rest) else set()
        for line in range(lines.line_at(rest.start), lines.line_at(rest.end - 1) + 1) if tags else ():
            if line not in tags and lines.content(line).strip():
                raise Code.OUTLINE_CHANGED.refused(
                    f"the block that begins or ends at line {lines.line_at(rest.start)} goes on in "
                    "another section, and text behind that line would stay",
                    "leave that section where it is, or end the block in the section first",
                    place=lines.position(rest.start),
                )


class DeleteSection(SectionTargeted):
    """Delete a section with its subsections, or only its heading, or only its own body.

    With `part: "heading"` the text and the subsections stay and join the previous section. One blank line
    remains between the joined blocks.
    """

    example: ClassVar[dict[str, object]] = {"headingPath": ["Install"]}
    satisfied_by: ClassVar = frozenset({Code.SECTION_NOT_FOUND, Code.ANCHOR_NOT_FOUND})

    op: Literal["delete_section"]
    part: Literal["whole", "heading", "body"] = Field(
        default="whole",
        description="whole: with subsections; heading: the heading with its anchor lines; body: own text.",
    )

    def resolve(self, outline: Outline) -> Resolution:
        """Return one deletion.

        Errors: as for the target; OUTLINE_CHANGED where text of the section would stay.
        """
        section = self.find_section(outline)
        if self.part == "whole":
            _check_enclosures(outline, section)
        text, span = self._spans(outline, section)
        return Resolution(
            claims=(self._claim(outline, section, text),),
            deletions=(span,) if len(text) else (),
            section=section,
            may_change_outline=self.part == "heading",
        )

    def _claim(self, outline: Outline, section: Section, span: Span) -> Claim:
        members = outline.members(section)
        if self.part == "whole":
            return Claim(span=span, owner=section.index, takes=members, verb="deletes")
        return Claim(span=span, owner=section.index, takes=members[:1], verb=f"deletes the {self.part} of")

    def _spans(self, outline: Outline, section: Section) -> tuple[Span, Span]:
        """Return what goes, without and with the blank lines after it."""
        assert section.heading is not None
        match self.part:
            case "whole":
                whole = within_enclosures(outline, section.span)
                start = self._start(outline, section)
                return Span(start, end_of_subtree(outline, section)), Span(start, whole.end)
            case "heading":
                whole = Span(section.span.start, section.body.start)
                return whole, whole
            case "body":
                body = within_enclosures(outline, section.body)
                return Span(section.body.start, end_of_body(outline, section)), body

    def _start(self, outline: Outline, section: Section) -> int:
        """Return where the deletion starts; with the last section, the rule above it is deleted too."""
        has_next = outline.members(section).stop < len(outline.sections)
        end, own_end = section.span.start, end_of_subtree(outline, section)
        if has_next or above_separator(outline, Span(section.body.start, own_end)) < own_end:
            return end
        before = Span(outline.sections[section.index - 1].body.start, end_of_text_before(outline, end))
        start = above_separator(outline, before)
        return (
            end
            if start == before.end
            else outline.source.lines.start(outline.source.lines.line_at(before.end - 1))
        )
