"""Operations that write sections: append, prepend, insert, replace, upsert and format."""

from collections.abc import Sequence
from typing import ClassVar, Final, Literal

from pydantic import Field, model_validator

from mdplan.diagnostics import Code, Diagnostic, Refused, both, or_problem
from mdplan.markdown.addresses import find_by_path
from mdplan.markdown.block_tree import is_left_open
from mdplan.markdown.blocks import Block, BlockKind
from mdplan.markdown.headings import PREAMBLE_ID, atx_heading, folded, render_text, with_marks_of, with_title
from mdplan.markdown.outline import Outline
from mdplan.markdown.parser import attribute_lines, marks_behind, without_attributes
from mdplan.markdown.payload import (
    EMPTY,
    Payload,
    above_separator,
    end_for_text,
    end_of_body,
    end_of_subtree,
    end_of_text_before,
    fit_levels,
    read_payload,
    read_text_payload,
    replace_blocks,
    start_of_body,
)
from mdplan.markdown.sections import Section
from mdplan.operations.base import (
    ONCE_BY_TEXT,
    BlockInsertion,
    Claim,
    InsertOrder,
    InsertRank,
    ReplacingOperation,
    Resolution,
    SectionTargeted,
)
from mdplan.text.edit import EditList
from mdplan.text.lines import Span
from mdplan.text.source import Source
from mdplan.values import Struct, replace
from mdplan.words import Send, either, say

BodyEdge = Literal["start", "end", "very end"]


class InsertionPoint(Struct, kw_only=True):
    """Where blocks go: an offset, the section that they become part of, and the level of a section there."""

    offset: int
    parent: Section
    level: int
    rank: InsertRank

    def insertion(self, payload: Payload) -> Resolution:
        """Return insertion of `payload` here, claiming the place."""
        order = InsertOrder.into(self.parent, self.rank)
        return Resolution(
            claims=(Claim(span=Span(self.offset, self.offset), owner=self.parent.index),),
            insertions=(BlockInsertion(offset=self.offset, payload=payload, order=order),),
        )


class LevelFitting(SectionTargeted):
    """An operation that puts headings somewhere."""

    levels: Literal["fit", "verbatim"] = Field(
        default="fit", description="fit: push headings down to their place; verbatim: leave them."
    )

    def fitted(self, payload: Payload, shallowest: int, *, own_level: int | None = None) -> Payload:
        """Return `payload` with its headings at `shallowest` or deeper, optionally the first at `own_level`.

        Errors: HEADING_LEVEL_OVERFLOW.
        """
        if self.levels == "verbatim":
            return payload
        return fit_levels(payload, shallowest, own_level=own_level)


class PayloadOperation(LevelFitting):
    """An operation that writes Markdown into or next to a section."""

    markdown: str = Field(description="Text to write; headings in it are levelled to fit.")

    def addressed(self, outline: Outline) -> tuple[Section, Payload]:
        """Return the section and the payload. Errors: as `find_section` and `read_payload`."""
        return both(lambda: self.find_section(outline), self.read_payload)

    def read_payload(self) -> Payload:
        """Return the payload. Errors: EMPTY_CONTENT; OUTLINE_CHANGED if a fence or comment stays open."""
        return read_text_payload(self.markdown)

    def write_into(
        self,
        outline: Outline,
        section: Section,
        payload: Payload,
        child: Literal["firstChild", "lastChild"],
        edge: BodyEdge,
    ) -> Resolution:
        """Return the insertion of a payload into its section: as a `child` if it starts with a heading.

        Other text goes to an `edge` of the body, and its sections go after the whole body, so that they do
        not absorb text of the section. Errors: HEADING_LEVEL_OVERFLOW.
        """
        payload = self._without_own_heading(section, payload)
        if payload.starts_with_heading:
            return self.insertion(payload, place_next_to(outline, section, child), section)
        place = place_in_body(outline, section, edge, payload)
        if edge == "very end" or not payload.headings:
            return self.insertion(payload, place, section)
        text, sections = payload.split()
        behind = self.insertion(sections, place_next_to(outline, section, "firstChild"), section)
        before = self.insertion(text, place, section)
        return replace(
            before, claims=before.claims + behind.claims, insertions=before.insertions + behind.insertions
        )

    def _without_own_heading(self, section: Section, payload: Payload) -> Payload:
        """Return `payload` without a first heading that repeats the heading of `section`.

        A deeper first heading belongs to a subsection and stays. Errors: EMPTY_CONTENT if nothing else is
        left; INVALID_ARGUMENT for headings at or above the level of the section.
        """
        own_heading = payload.headings[0] if _has_heading_of(section, payload) else None
        if own_heading is None or own_heading.level > section.level or _has_other_marks(section, payload):
            around = set(map(_name, section.path))
            repeated = [heading for heading in payload.headings if _name(_title(heading)) in around]
            _check_beside(repeated, section.level)
            return payload
        text = read_payload(payload.text[own_heading.span.end :])
        _check_beside(payload.headings[1:], own_heading.level)
        if text.is_blank:
            raise Refused(EMPTY)
        return text

    def insertion(self, payload: Payload, place: InsertionPoint, section: Section) -> Resolution:
        """Return insertion of `payload`, fitted to `place`; `section` was addressed."""
        return replace(place.insertion(self.fitted(payload, place.level)), section=section)


class AppendToSection(PayloadOperation):
    """Add Markdown to the end of a section.

    Plain text goes to the end of the section's own body, before its subsections. Text that starts with a
    heading becomes the last subsection; the section's own heading is dropped. `extent: "subtree"` puts plain
    text to the very end too.

    Blank lines around the new text are added as needed, but not before an item or row that continues a list
    or table. Trailing link definitions at the end of the file stay after the new text.
    """

    example: ClassVar[dict[str, object]] = {
        "headingPath": ["Install"],
        "markdown": "Restart your shell afterwards.",
    }
    accepts_root: ClassVar = True
    once_condition: ClassVar = ONCE_BY_TEXT
    may_begin_file: ClassVar = True

    op: Literal["append_to_section"]
    extent: Literal["auto", "subtree"] = Field(
        default="auto", description="auto: end of the own body, or last subsection; subtree: the very end."
    )

    def resolve(self, outline: Outline) -> Resolution:
        """Return one insertion.

        Errors: as for the target; EMPTY_CONTENT, OUTLINE_CHANGED, HEADING_LEVEL_OVERFLOW; INVALID_ARGUMENT
        for a payload that repeats the heading of a section around.
        """
        edge: BodyEdge = "very end" if self.extent == "subtree" else "end"
        return self.write_into(outline, *self.addressed(outline), "lastChild", edge)


class PrependToSection(PayloadOperation):
    """Add Markdown to the start of a section.

    Plain text goes right after the heading. Text that starts with a heading becomes the first subsection,
    after the section's own text; so do sections that follow plain text. The section's own heading is dropped.
    Blank lines are added as needed, but not between items of one list.
    """

    example: ClassVar[dict[str, object]] = {
        "headingPath": ["Install"],
        "markdown": "You need Python 3.11 or newer.",
    }
    accepts_root: ClassVar = True
    once_condition: ClassVar = ONCE_BY_TEXT
    may_begin_file: ClassVar = True

    op: Literal["prepend_to_section"]

    def resolve(self, outline: Outline) -> Resolution:
        """Return one insertion.

        Errors: as for the target; EMPTY_CONTENT, OUTLINE_CHANGED, HEADING_LEVEL_OVERFLOW.
        """
        return self.write_into(outline, *self.addressed(outline), "firstChild", "start")


# --- Shared parts of operations that write sections: the payload, its levels, and its position.

SectionPosition = Literal["before", "after", "firstChild", "lastChild"]


class InsertSection(PayloadOperation):
    """Add a new section before or after another one, or as its first or last subsection.

    `markdown` starts with the heading of the new section. With `levels: "fit"` all its headings are pushed
    down together until the first fits its place: the level of the sibling, or one below the parent; next to
    deeper subsections, theirs.
    """

    example: ClassVar[dict[str, object]] = {
        "headingPath": ["Install"],
        "position": "after",
        "markdown": "## Upgrade\n\nRun the installer again.",
    }
    accepts_root: ClassVar = True
    once_condition: ClassVar = "hasSection: TITLE"
    may_begin_file: ClassVar = True

    op: Literal["insert_section"]
    position: SectionPosition = Field(description="Position relative to the target section.")

    def resolve(self, outline: Outline) -> Resolution:
        """Return one insertion.

        Errors: as for the target; EMPTY_CONTENT, OUTLINE_CHANGED, HEADING_LEVEL_OVERFLOW;
        INVALID_ARGUMENT for a payload without a heading in front, and next to the preamble.
        """
        section, payload = self.addressed(outline)
        return self.insertion(payload, place_next_to(outline, section, self.position), section)

    def find_section(self, outline: Outline) -> Section:
        """Return the target section. Errors: as for the base class; INVALID_ARGUMENT next to the preamble."""
        section = super().find_section(outline)
        if section.is_root and self.position in {"before", "after"}:
            raise Code.INVALID_ARGUMENT.refused(
                "the preamble has no sibling before or after it",
                say("use {position} firstChild or lastChild with {headingPath=[]}, or name a section"),
            )
        return section

    def read_payload(self) -> Payload:
        """Return the payload. Errors: as for the base class; INVALID_ARGUMENT without a first heading."""
        payload = super().read_payload()
        if not payload.starts_with_heading:
            raise Code.INVALID_ARGUMENT.refused(
                say("{markdown} does not start with a heading, and a section has one"),
                say("start it with a heading, or use {append_to_section} for text"),
            )
        return payload


class ReplaceSection(ReplacingOperation, PayloadOperation):
    """Replace the text of a section.

    A payload that begins with the section's own heading replaces the heading too; otherwise it is the body.
    Subsections stay, unless the payload repeats all of them, in order, and so is the whole section;
    `keepSubsections` says it outright: true keeps them, false replaces them. Send back what you read with
    one word changed, and only that line changes.
    """

    example: ClassVar[dict[str, object]] = {
        "headingPath": ["Install"],
        "markdown": "Download the archive and run it.",
    }
    accepts_root: ClassVar = True

    op: Literal["replace_section"]
    keep_subsections: bool | None = Field(
        default=None, description="Keep subsections (true), replace them (false); found from the payload."
    )

    def resolve(self, outline: Outline) -> Resolution:
        """Return one replacement.

        Errors: as for the target; EMPTY_CONTENT, OUTLINE_CHANGED, HEADING_LEVEL_OVERFLOW; INVALID_ARGUMENT
        for a payload with another heading at or above the target's level; DUPLICATE_HEADING if it repeats
        only some subsections.
        """
        return replace_section(self, outline, *self.addressed(outline), self.keep_subsections)

    def addressed(self, outline: Outline) -> tuple[Section, Payload]:
        """Return the section and the payload; it may leave the same block open as the section."""
        section = or_problem(self.find_section, outline)
        payload = None if isinstance(section, Diagnostic) else self._payload_as_open(outline, section)
        if isinstance(section, Diagnostic) or payload is None:
            return super().addressed(outline)
        return section, payload

    def _payload_as_open(self, outline: Outline, section: Section) -> Payload | None:
        """Return the payload for a section that ends the file with an open block, if it ends in one too.

        Otherwise return None. Such a payload absorbs nothing that the section did not.
        """
        last, text = outline.tree.last_root, outline.source.text
        if last is None or not is_left_open(last, text):
            return None
        if section.span.end < len(text) or section.body.end < section.span.end:
            return None
        payload = read_payload(self.markdown)
        is_same = payload.left_open is not None and payload.left_open.kind is last.kind
        return payload if is_same and last.span.start >= section.body.start else None


_MAKE: Final = say("{createIfMissing=true} would make it")


class UpsertSection(ReplacingOperation, PayloadOperation):
    """Write a section; with `createIfMissing: true` create it if it does not exist.

    An existing section is replaced, appended to or prepended to, as `mode` says. A missing one becomes the
    last subsection of `parentPath`, else of the path above it, which must exist; it gets the payload's
    heading, else the last element of `headingPath`. A `sectionId` or `sectionSha256` never creates a section,
    because it refers to an existing one.
    """

    example: ClassVar[dict[str, object]] = {
        "headingPath": ["Guide", "Support"],
        "markdown": "Write to us.",
        "createIfMissing": True,
    }
    accepts_root: ClassVar = True
    may_begin_file: ClassVar = True

    op: Literal["upsert_section"]
    mode: Literal["replace", "append", "prepend"] = Field(
        default="replace", description="What happens to a section that exists."
    )
    create_if_missing: bool = Field(default=False, description="Make the section where there is none.")
    parent_path: tuple[str, ...] | None = Field(
        default=None, description="Section to make it in; [] is the top; else headingPath[:-1]."
    )
    keep_subsections: bool | None = Field(
        default=None, description="With mode replace: keep subsections (true), or replace them (false)."
    )

    @model_validator(mode="after")
    def _check_mode(self) -> "UpsertSection":
        if self.parent_path is not None and not self.create_if_missing:
            raise ValueError(say("{parentPath} requires {createIfMissing}"))
        return self

    def resolve(self, outline: Outline) -> Resolution:
        """Return one replacement or insertion.

        Errors: as for the target and of `replace_section`, `append_to_section` or `prepend_to_section`;
        SECTION_NOT_FOUND for a parent that does not exist either; INVALID_ARGUMENT for a path element that
        gives the new section no heading, or another level than its place.
        """
        section, payload = both(lambda: self._existing(outline), self.read_payload)
        if section is None:
            return self._create(outline, payload)
        if self.mode == "replace":
            return replace_section(self, outline, section, payload, self.keep_subsections)
        if self.mode == "append":
            return self.write_into(outline, section, payload, "lastChild", "end")
        return self.write_into(outline, section, payload, "firstChild", "start")

    def _existing(self, outline: Outline) -> Section | None:
        """Return the section, or None if it is missing and may be created. Errors: as for the target."""
        try:
            return self.find_section(outline)
        except Refused as refused:
            problem = refused.diagnostics[0]
            named = self.heading_path or ((self.heading,) if self.heading is not None else ())
            is_missing = problem.code is Code.SECTION_NOT_FOUND
            if self.section_sha256 is not None or not named or not is_missing:
                raise
            if self.create_if_missing:
                return None
            raise Refused(replace(problem, hint=either(problem.hint, _MAKE, joint="; "))) from None

    def _create(self, outline: Outline, payload: Payload) -> Resolution:
        path = self.heading_path if self.heading_path is not None else (self.heading or "",)
        parent = find_by_path(outline, self.parent_path if self.parent_path is not None else path[:-1])
        if parent.nested:
            raise Code.INVALID_ARGUMENT.refused(
                say("{parentPath} names a heading in a quote or list, which has no sections"),
                "name a section of the document",
            )
        place = place_next_to(outline, parent, "lastChild")
        if payload.starts_with_heading:
            return self.insertion(payload, place, parent)
        whole = _under_heading(path[-1], payload, place.level)
        shallowest = 1 if self.levels == "verbatim" else place.level + 1
        fitted = fit_levels(whole, shallowest, own_level=place.level)
        return replace(place.insertion(fitted), section=parent)


def _under_heading(element: str, payload: Payload, level: int) -> Payload:
    """Return `payload` below a heading of level 1, which is to go to `level`.

    `element` is the title as one line of Markdown; it may carry its level.
    """
    headings = read_payload(element).headings
    given, title = (headings[0].level, headings[0].content) if headings else (level, element.strip())
    if not title:
        raise Refused(_NO_TITLE)
    if given != level:
        raise Code.INVALID_ARGUMENT.refused(
            say("{headingPath} gives the new section level {}, and its place has level {}", given, level),
            "give the heading without marks, or another parent",
        )
    heading = atx_heading(1, title)
    if heading is None:
        raise Refused(_NO_TITLE)
    return read_payload(f"{heading}\n\n{payload.text}")


_NO_TITLE = Diagnostic.invalid(
    say("the last element of {headingPath} gives the new section no title"),
    "name the section, or start markdown with its heading",
)


class FormatSection(SectionTargeted):
    """Format a section and its subsections the way `mdformat` does.

    It needs the extra `mdplan[mdformat]`. Headings keep their text and level; link definitions, footnotes,
    and the blank lines around the section stay as they are. In a document with site syntax, such as `!!!
    note`, `{: .class}`, `$$` or templates, blocks stay unchanged if the text or column of a line would
    change, because it could mean something else there. The edit is refused if the rendered section would
    change, apart from whitespace.
    """

    example: ClassVar[dict[str, object]] = {"headingPath": ["Install"]}

    op: Literal["format_section"]

    def resolve(self, outline: Outline) -> Resolution:
        """Return the replacement of changed lines. Errors: as for the target; FORMATTER_FAILED."""
        from mdplan.markdown.formatting import format_lines

        section = self.find_section(outline)
        # With the blank lines at its end, which are part of a fence that is not closed.
        edits = format_lines(outline, section.span)
        span = Span(section.span.start, end_of_subtree(outline, section))
        claim = Claim(span=span, owner=section.index, takes=outline.members(section), verb="formats")
        return Resolution(claims=(claim,), edits=edits, section=section)


def place_in_body(outline: Outline, section: Section, edge: BodyEdge, payload: Payload) -> InsertionPoint:
    """Return the place for `payload`: an edge of the section's body, or after its last subsection."""
    match edge:
        case "start":
            found = start_of_body(outline, section), InsertRank.BODY_START
        case "end":
            found = end_for_text(outline, section, payload), InsertRank.BODY_END
        case _:
            return place_next_to(outline, section, "lastChild")
    return InsertionPoint(offset=found[0], parent=section, level=section.level + 1, rank=found[1])


def place_next_to(outline: Outline, section: Section, position: SectionPosition) -> InsertionPoint:
    """Return the place for a section before, after or inside `section`, and the level that fits there.

    A child is one level below `section`, or at the level of its first or last subsection if that is deeper.
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
    if not section.is_root:
        offset = above_separator(outline, Span(section.body.start, offset))
    return InsertionPoint(offset=offset, parent=section, level=level, rank=InsertRank.LAST_CHILD)


# --- Replacing the text of a section by a payload: which part of it the payload stands for.

_Path = tuple[str, ...]


def replace_section(
    operation: LevelFitting,
    outline: Outline,
    section: Section,
    payload: Payload,
    keep_subsections: bool | None,  # noqa: FBT001 (a field of the edit, handed on)
) -> Resolution:
    """Return the replacement of the text of `section` by `payload`.

    Errors: INVALID_HEADING_PATH for the empty path, which is rarely meant as the text before the first
    heading; HEADING_LEVEL_OVERFLOW; INVALID_ARGUMENT for a payload with another heading at or above the level
    of the section; DUPLICATE_HEADING if it repeats only some subsections.
    """
    if operation.heading_path == ():
        raise Code.INVALID_HEADING_PATH.refused(
            say("an empty {headingPath} names no section to replace"),
            say(
                "name the section; to replace the text before the first heading, {}",
                Send("sectionId", PREAMBLE_ID),
            ),
        )
    has_heading = _has_heading_of(section, payload)
    own_level = payload.headings[0].level if has_heading else section.level
    _, keeps = both(
        lambda: _check_beside(() if section.is_root else payload.headings[has_heading:], own_level),
        lambda: _keeps_subsections(outline, section, payload, keep_subsections),
    )
    if has_heading:
        payload = _with_id_of(outline, section, payload)
    fitted = operation.fitted(
        payload,
        _level_of_subsections(outline, section) if keeps else section.level + 1,
        own_level=section.level if has_heading else None,
    )
    start = _start(outline, section, payload, has_heading=has_heading)
    end = max(start, _end(outline, section, payload, keeps=keeps is True))
    declared = Span(start if has_heading else section.body.start, end)
    members = outline.members(section)
    taken = members[:1] if keeps else members
    return Resolution(
        claims=(Claim(span=declared, owner=section.index, takes=taken, verb="replaces"),),
        edits=replace_blocks(outline, Span(start, end), fitted),
        section=section,
    )


def _keeps_subsections(
    outline: Outline,
    section: Section,
    payload: Payload,
    asked: bool | None,  # noqa: FBT001 (a field of the edit, handed on)
) -> bool:
    if asked is not None:
        return asked
    wanted = [
        tuple(_name(title) for title in outline.sections[index].path[len(section.path) :])
        for index in outline.members(section)
        if index != section.index
    ]
    given = _paths_in(payload, behind_own_heading=_has_heading_of(section, payload))
    repeated = set(wanted) & set(given)
    if not repeated:
        return True
    if _is_subsequence(wanted, given):
        return False
    raise Code.DUPLICATE_HEADING.refused(
        f"the payload repeats {len(repeated)} of {len(set(wanted))} subsections",
        say("repeat all of them in order, or none; or say it with {keepSubsections}"),
    )


def _paths_in(payload: Payload, *, behind_own_heading: bool) -> list[_Path]:
    """Return path of each heading of `payload`, by folded titles, as it is among the others."""
    paths: list[_Path] = []
    above: list[tuple[int, _Path]] = [(0, ())]
    for block in payload.headings[int(behind_own_heading) :]:
        while above[-1][0] >= block.level:
            above.pop()
        path = (*above[-1][1], _name(_title(block)))
        above.append((block.level, path))
        paths.append(path)
    return paths


def _level_of_subsections(outline: Outline, section: Section) -> int:
    """Return the level for new subsections, which must not become parents of the remaining ones."""
    first = next(outline.children(section), None)
    return max(section.level + 1, first.level if first else 0)


def _start(outline: Outline, section: Section, payload: Payload, *, has_heading: bool) -> int:
    """Return the start of the replaced text; keeps anchor lines unless the payload has some."""
    if not has_heading:
        return start_of_body(outline, section)
    return section.span.start if payload.starts_with_anchor else section.heading_start


def _with_id_of(outline: Outline, section: Section, payload: Payload) -> Payload:
    """Return `payload` with the attributes and invisible parts of the old heading, unless it has some."""
    heading, text = payload.headings[0], payload.text
    assert section.heading is not None
    below = outline.source.text[section.heading_end : section.body.start]
    if attribute_lines([0], [heading.span.end], text):
        return payload
    content = with_marks_of(heading.content, section.heading.content)
    if content != heading.content:
        edit = with_title(Source.from_text(text), heading, content)
        text = text if edit is None else EditList((edit,)).apply(text)
    elif below and "{" not in marks_behind(heading.content):
        head = text[: heading.span.end].removesuffix("\n")
        text = f"{head}\n{below.rstrip()}\n{text[heading.span.end :]}"
    return read_payload(text)


def _end(outline: Outline, section: Section, payload: Payload, *, keeps: bool) -> int:
    """Return where the replaced text ends: before tags of other enclosures, unless the payload has them.

    So it is with a rule below the section.
    """
    end = end_of_body(outline, section) if keeps else end_of_subtree(outline, section)
    last = payload.tree.roots[-1] if payload.tree.roots else None
    if last is None or last.kind is not BlockKind.RULE:
        end = above_separator(outline, Span(section.body.start, end))
    whole = section.body.end if keeps else section.span.end
    has_lone = outline.enclosures.first_crossing(Span(section.body.start, whole)) is not None
    if has_lone and Outline(Source.from_text(payload.text)).enclosures.lone:
        return end_of_text_before(outline, whole)
    return end


def _has_heading_of(section: Section, payload: Payload) -> bool:
    """Return True if `payload` begins with the heading of `section`, by its rendered text."""
    return (
        not section.is_root
        and payload.starts_with_heading
        and _name(_title(payload.headings[0])) == _name(section.title)
    )


def _has_other_marks(section: Section, payload: Payload) -> bool:
    """Return True if the heading of `payload` brings an ID or attributes that `section` does not have."""
    heading = payload.headings[0]
    marks = marks_behind(heading.content).strip()
    has_line_below = bool(attribute_lines([0], [heading.span.end], payload.text))
    old = section.heading.content if section.heading else ""
    return payload.starts_with_anchor or has_line_below or not old.endswith(marks)


def _title(heading: Block) -> str:
    return render_text(without_attributes(heading.content))


def _name(title: str) -> str:
    """Return `title` as sections are compared here: folded, without what readers do not see at its end."""
    return folded(title.removesuffix(marks_behind(title)))


def _check_beside(headings: Sequence[Block], level: int) -> None:
    """Refuse a payload with one of `headings` at or above the `level` of its section."""
    beside = next((heading for heading in headings if heading.level <= level), None)
    if beside is not None:
        raise Code.INVALID_ARGUMENT.refused(
            f"line {beside.first_line} of the payload is another heading at or above the level of the "
            "section",
            say(
                "send the text of this section alone; to change its heading use {rename_heading}, to add a "
                "section next to it {insert_section}; subsections need a deeper level"
            ),
        )


def _is_subsequence(wanted: Sequence[_Path], given: Sequence[_Path]) -> bool:
    rest = iter(given)
    return all(any(path == found for found in rest) for path in wanted)
