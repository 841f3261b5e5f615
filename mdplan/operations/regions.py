"""Operations on regions between marker comments, and tables of contents."""

import re
from collections.abc import Sequence
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field, model_validator

from mdplan.diagnostics import Code, Diagnostic, Refused, both
from mdplan.markdown import region_edits
from mdplan.markdown.addresses import MAX_LEVEL
from mdplan.markdown.enclosure_search import find_regions
from mdplan.markdown.enclosures import Region, Regions
from mdplan.markdown.links import target_key
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import Payload, read_closed_payload, read_payload
from mdplan.operations.base import Claim, Operation, ReplacingOperation, Resolution
from mdplan.operations.matches import text_in_line, with_nearest_lines
from mdplan.text.lines import Span
from mdplan.text.source import Source
from mdplan.text.visible import first_few
from mdplan.values import replace
from mdplan.words import say

_MOST_LISTED: Final = 10


class ReplaceRegion(ReplacingOperation):
    """Replace the text of a region, which is between ``<!-- NAME:start -->`` and ``<!-- NAME:end -->``.

    The markers stay. The text goes on separate lines between them, with the same number of blank lines on
    both sides; if both markers share a line, a single line of text stays there. In a quote or list item each
    line gets its prefix.

    `markdown` may be empty, and may contain headings, which keep their levels, and whole regions with other
    names. `expectedText` proves that this is the text you mean. Equal text changes nothing. Markers in code
    are text.
    """

    example: ClassVar[dict[str, object]] = {
        "region": "commands",
        "markdown": "- `mdplan stat`\n- `mdplan apply`",
    }

    op: Literal["replace_region"]
    region: str = Field(description="NAME of the marker comments.")
    markdown: str = Field(description="New text between the markers; may be empty.")
    expected_text: str | None = Field(
        default=None, description="The text of the region as it is now; blank lines around it do not count."
    )

    def resolve(self, outline: Outline) -> Resolution:
        """Return one replacement.

        Errors: REGION_NOT_FOUND, TEXT_MISMATCH; OUTLINE_CHANGED for a payload that leaves a fence or comment
        open; INVALID_ARGUMENT for markers in it that make pairs with as for the file, and for several lines
        where the region is inside a line.
        """
        old, payload = both(lambda: guarded_region(outline, self.region, self.expected_text), self._payload)
        if old.lines is None and old.region.start.line == old.region.end.line and not old.is_alone:
            text = text_in_line(outline, old.region.inside, payload.text.strip(" \t\n"))
            payload = payload if text in payload.text else read_payload(text)
        edit = region_edits.replace_region_text(outline, old, payload)
        if edit is None:
            raise Refused(inside_of_a_line(old.region, say("{markdown} has several lines"), "give one line"))
        claim = claim_of_region(outline, old.region)
        return Resolution(
            claims=(claim,),
            edits=(edit,) if edit.new_text != outline.text_of(edit.span) else (),
            section=outline.section_at(claim.span.start),
            is_evidence=self.expected_text is not None,
        )

    def _payload(self) -> Payload:
        payload = read_closed_payload(self.markdown, before="the end marker")
        if ":start" not in payload.text and ":end" not in payload.text:
            return payload
        markers = find_regions(Outline(Source.from_text(payload.text)))
        if self.region in markers.by_name or markers.unpaired:
            raise Code.INVALID_ARGUMENT.refused(
                "markdown contains markers of the region itself, or markers without their other half",
                "leave the marker comments out: those of the file stay",
            )
        return payload


class DeleteRegion(Operation):
    """Delete a region: its two marker comments, and the text between them.

    A region on separate lines is deleted with the blank lines around it, and a region inside a line with one
    space next to it. `expectedText` proves that this is the text you mean. Text before the start marker and
    after the end marker stays.
    """

    example: ClassVar[dict[str, object]] = {"region": "commands"}
    satisfied_by: ClassVar = frozenset({Code.REGION_NOT_FOUND})

    op: Literal["delete_region"]
    region: str = Field(description="NAME of the marker comments.")
    expected_text: str | None = Field(
        default=None, description="The text of the region as it is now; blank lines around it do not count."
    )

    def resolve(self, outline: Outline) -> Resolution:
        """Return one deletion. Errors: REGION_NOT_FOUND, TEXT_MISMATCH."""
        old = guarded_region(outline, self.region, self.expected_text)
        claim = claim_of_region(outline, old.region)
        change = region_edits.delete_region(outline, old)
        return Resolution(
            claims=(claim,),
            edits=change.edits,
            deletions=change.deletions,
            section=outline.section_at(claim.span.start),
            is_evidence=self.expected_text is not None,
        )

    def already_satisfied(self, problem: Diagnostic, outline: Outline) -> bool:
        """Return True if the file has no marker of the region."""
        regions = find_regions(outline)
        known = {*regions.by_name, *(marker.name for marker in regions.unpaired)}
        return super().already_satisfied(problem, outline) and self.region not in known


_Level = Annotated[int, Field(strict=True, ge=1, le=MAX_LEVEL)]


class UpdateToc(Operation):
    """Write a table of contents into a region: links to the headings after it.

    The region is between ``<!-- toc:start -->`` and ``<!-- toc:end -->``, or between the markers of another
    tool: ``<!-- toc -->`` and ``<!-- /toc -->`` or ``<!-- tocstop -->``, or doctoc's. Both markers must
    exist. `region` replaces the name `toc`. Marker, indentation and levels of the list stay, and so does text
    above it; headings with ``<!-- omit in toc -->`` are skipped.

    The list is made last, from the result of all edits of the batch, with GitHub's anchors: the second of two
    equal headings gets ``-1``. It skips headings before the region, inside it, in quotes and in lists, and
    headings above `minLevel` or below `maxLevel`. Without `minLevel` it also skips the title of the document:
    its first heading, if no other heading has level 1.

    The old text of the region is replaced without a guard. Correct entries stay as written.
    """

    example: ClassVar[dict[str, object]] = {"maxLevel": 3}

    op: Literal["update_toc"]
    region: str = Field(default="toc", description="NAME of the marker comments.")
    min_level: _Level | None = Field(
        default=None, description="Shallowest headings that are listed; without it as now, else 2."
    )
    max_level: _Level | None = Field(
        default=None, description="Deepest headings that are listed; without it as now, else 6."
    )
    bullet: Literal["-", "*", "+", "1."] | None = Field(
        default=None, description="Marker of the items; without it as now, else -."
    )

    @model_validator(mode="after")
    def _check_levels(self) -> "UpdateToc":
        if self.max_level is not None and self.min_level is not None and self.max_level < self.min_level:
            raise ValueError(say("{maxLevel} is less than {minLevel}"))
        return self

    def resolve(self, outline: Outline) -> Resolution:
        """Return the claim on the region. Errors: REGION_NOT_FOUND."""
        found = find_region(outline, self.region)
        claim = claim_of_region(outline, found.region)
        return Resolution(
            claims=(claim,),
            section=outline.section_at(claim.span.start),
            is_evidence=True,
            second_pass=self._resolve_last,
        )

    def _resolve_last(self, outline: Outline) -> Resolution:
        """Return one replacement in the result; the claim on the region shows which one it is.

        Errors: REGION_NOT_FOUND; INVALID_ARGUMENT where the region is inside a line of text.
        """
        found = find_region(outline, self.region)
        has_lines = found.lines is not None or found.is_alone
        contents = read_payload(self._contents(outline, found))
        edit = region_edits.replace_region_text(outline, found, contents) if has_lines else None
        if edit is None:
            raise Refused(inside_of_a_line(found.region, "a list needs separate lines", "use another region"))
        is_new = edit.new_text != outline.text_of(edit.span)
        return Resolution(claims=(claim_of_region(outline, found.region),), edits=(edit,) if is_new else ())

    def _contents(self, outline: Outline, found: region_edits.RegionText) -> str:
        behind = found.region.end.span.end
        headings = (*outline.headings, *outline.sections_in_html())
        below = (section for section in headings if section.heading_start >= behind)
        sections = sorted(below, key=lambda section: section.heading_start)
        form = region_edits.form_of(outline, found.content, sections)
        lowest, deepest = self.min_level or form.min_level, self.max_level or form.max_level
        if lowest != form.min_level:
            form = replace(form, by_level=False, starts={})
        if self.bullet is not None and self.bullet != form.bullet:
            indent = " " * (len(self.bullet) + 1)
            form = replace(form, bullet=self.bullet, indent=indent, starts={}, is_counted=False)
        listed = (
            section
            for section in sections
            if lowest <= section.level <= deepest
            and (not section.nested or target_key(section.anchor or "") in form.listed)
            and not region_edits.is_omitted(outline, section)
        )
        return region_edits.head_of(found.content) + region_edits.contents_list(outline, listed, form)


def region_named(outline: Outline, name: str) -> Region:
    """Return the one region of that name. Errors: REGION_NOT_FOUND."""
    regions = find_regions(outline)
    named = regions.by_name.get(name, ())
    if len(named) != 1:
        raise Refused(_not_found(name, regions, named))
    return named[0]


def find_region(outline: Outline, name: str) -> region_edits.RegionText:
    """Return the one region of that name, and its text. Errors: REGION_NOT_FOUND."""
    region = region_named(outline, name)
    found = region_edits.read_region(outline, region)
    if found is None:
        raise Code.REGION_NOT_FOUND.refused(
            f"the markers of `{name}` at {lines_of_region(region)} are not in the same quote or list item",
            "put both on separate lines in one of them",
        )
    return found


def guarded_region(outline: Outline, name: str, expected_text: str | None) -> region_edits.RegionText:
    """Return the region with that name, after checking its `expected_text` if given.

    Errors: REGION_NOT_FOUND, TEXT_MISMATCH.
    """
    old = find_region(outline, name)
    if expected_text is None:
        return old
    expected = read_payload(expected_text).text
    if old.lines is None:
        expected = expected.strip(" \t")
    if expected == old.content:
        return old
    problem = Code.TEXT_MISMATCH.problem(
        say("the text of `{}` at {} is not {expectedText}", name, lines_of_region(old.region)),
        say("read the region again; {expectedText} is the text between its markers"),
        place=outline.source.lines.position(old.region.start.span.start),
    )
    raise Refused(with_nearest_lines(outline, problem, expected_text, old.region.inside))


def claim_of_region(outline: Outline, region: Region) -> Claim:
    """Return what an edit claims that replaces the text of `region`: all of it, with the markers."""
    declared = Span(region.start.span.start, region.end.span.end)
    owner = outline.section_at(declared.start).index
    taken = range(owner + 1, outline.section_at(declared.end - 1).index + 1)
    return Claim(span=declared, owner=owner, takes=taken, verb="replaces")


def inside_of_a_line(region: Region, why: str, advice: str) -> Diagnostic:
    """Return INVALID_ARGUMENT for a `region` inside a line, which `why` cannot stay so."""
    return Diagnostic.invalid(
        say("the region is inside line {}, and {}", region.start.line, why),
        f"{advice}, or put the markers on separate lines first",
    )


def lines_of_region(region: Region) -> str:
    """Return the lines of `region` and its markers in words."""
    first, last = region.start.line, region.end.line
    return f"line {first}" if first == last else f"lines {first}-{last}"


def _not_found(name: str, regions: Regions, named: Sequence[Region]) -> Diagnostic:
    alone = [marker for marker in regions.unpaired if marker.name == name]
    is_plain = re.fullmatch(r"[\w.-]{1,60}", name)
    shown = f"`{name}`" if is_plain else "of that name"
    if named:
        places = ", ".join(map(lines_of_region, named[:_MOST_LISTED]))
        message = f"there are {len(named)} regions {shown}"
        hint = say("they are at {}; give each a different name, or use {replace_lines}", places)
    elif alone:
        edge, other = ("start", "end") if alone[0].is_start else ("end", "start")
        message = f"the {edge} marker of {shown} at line {alone[0].line} has no {other} marker"
        hint = f"add `<!-- {name}:{other} -->` on a separate line"
    else:
        listed = first_few(
            [f"`{known}` ({lines_of_region(found[0])})" for known, found in regions.by_name.items()]
        )
        message = f"there is no region {shown}"
        own = name if is_plain else "NAME"
        around = f"put `<!-- {own}:start -->` and `<!-- {own}:end -->` around one"
        hint = f"this file has {listed}" if listed else f"this file has no regions: {around}"
    return Code.REGION_NOT_FOUND.problem(message, hint)
