"""replace_region: replace what stands between a pair of marker comments."""

import re
from collections.abc import Sequence
from typing import ClassVar, Final, Literal

from pydantic import Field

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.expected_text import with_nearest_lines
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import Payload, read_payload
from mdplan.markdown.region import Region, Regions
from mdplan.markdown.region_text import RegionText, read_region, replace_region_text
from mdplan.markdown.regions import find_regions
from mdplan.operation import Claim, Operation, Resolution
from mdplan.text.source import Source
from mdplan.text.span import Span

_MOST_LISTED: Final = 10


class ReplaceRegion(Operation):
    """Replace the text of a region, which stands between ``<!-- NAME:start -->`` and ``<!-- NAME:end -->``.

    The markers stay as they are. The text stands on lines of its own between theirs, with as many blank
    lines on both sides as there were; where both markers stand inside of one line of text, so does the new
    text, if it is one line. In a quote or a list item its marks and indentation are put before each line.

    `markdown` may hold headings, which keep their levels, and may be empty. It may hold whole regions of
    other names. `expectedText` proves that this is the text you mean. The same text again changes nothing.
    Markers in code are text and name no region.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "replace_region",
        "region": "commands",
        "markdown": "- `mdplan stat`\n- `mdplan apply`",
    }

    op: Literal["replace_region"]
    region: str = Field(description="NAME of the marker comments.")
    markdown: str = Field(description="New text between the markers; may be empty.")
    expected_text: str | None = Field(
        default=None, description="The text of the region as it is now; blank lines around it do not count."
    )

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One replacement.

        Errors: REGION_NOT_FOUND, TEXT_MISMATCH; OUTLINE_CHANGED for a payload that leaves a fence or comment
        open; INVALID_ARGUMENT for markers in it that make pairs with those of the file, and for several lines
        where the region stands inside of a line.
        """
        old = self._find(outline)
        payload = self._payload()
        problems = [each for each in (old, payload) if isinstance(each, Diagnostic)]
        if isinstance(old, RegionText):
            problems += self._mismatch(outline, old)
        if problems or isinstance(old, Diagnostic) or isinstance(payload, Diagnostic):
            return tuple(problems)
        edit = replace_region_text(outline, old, payload)
        if edit is None:
            return (_inside_of_a_line(old.region),)
        region = old.region
        declared = Span(region.start.span.start, region.end.span.end)
        section = outline.section_at(declared.start)
        taken = range(section.index + 1, outline.section_at(declared.end - 1).index + 1)
        return Resolution(
            claims=(Claim(span=declared, owner=section.index, takes=taken, verb="replaces"),),
            edits=(edit,) if edit.new_text != outline.text_of(edit.span) else (),
            section=section,
            is_evidence=self.expected_text is not None,
        )

    def _find(self, outline: Outline) -> RegionText | Diagnostic:
        regions = find_regions(outline)
        named = regions.by_name.get(self.region, ())
        if len(named) != 1:
            return self._not_found(regions, named)
        found = read_region(outline, named[0])
        return found or Diagnostic(
            code=Code.REGION_NOT_FOUND,
            message=f"the markers of `{self.region}` at {_lines(named[0])} do not stand in the same "
            "quote or list item",
            hint="put both on lines of their own in one of them",
        )

    def _not_found(self, regions: Regions, named: Sequence[Region]) -> Diagnostic:
        alone = [marker for marker in regions.unpaired if marker.name == self.region]
        name = f"`{self.region}`" if re.fullmatch(r"[\w.-]{1,60}", self.region) else "of that name"
        if named:
            places = ", ".join(_lines(region) for region in named[:_MOST_LISTED])
            message = f"there are {len(named)} regions {name}"
            hint = f"they are at {places}; give each a name of its own, or use replace_lines"
        elif alone:
            edge, other = ("start", "end") if alone[0].is_start else ("end", "start")
            message = f"the {edge} marker of {name} at line {alone[0].line} has no {other} marker"
            hint = f"add `<!-- {self.region}:{other} -->` on a line of its own"
        else:
            listed = ", ".join(
                f"`{known}` ({_lines(found[0])})"
                for known, found in list(regions.by_name.items())[:_MOST_LISTED]
            )
            more = ", …" if len(regions.by_name) > _MOST_LISTED else ""
            message = f"there is no region {name}"
            hint = (
                f"this file has {listed}{more}"
                if listed
                else "this file has no regions: put `<!-- NAME:start -->` and `<!-- NAME:end -->` around one"
            )
        return Diagnostic(code=Code.REGION_NOT_FOUND, message=message, hint=hint)

    def _payload(self) -> Payload | Diagnostic:
        payload = read_payload(self.markdown)
        if payload.left_open:
            return Diagnostic(
                code=Code.OUTLINE_CHANGED,
                message=f"markdown leaves the {payload.left_open.kind} of its line "
                f"{payload.left_open.first_line} open, which would swallow the end marker",
                hint="close the fence, comment or tag in the payload",
            )
        if ":start" not in payload.text and ":end" not in payload.text:
            return payload
        markers = find_regions(Outline(Source.from_text(payload.text)))
        if self.region in markers.by_name or markers.unpaired:
            return Diagnostic(
                code=Code.INVALID_ARGUMENT,
                message="markdown holds markers of the region itself, or markers without their other half",
                hint="leave the marker comments out: those of the file stay",
            )
        return payload

    def _mismatch(self, outline: Outline, old: RegionText) -> list[Diagnostic]:
        if self.expected_text is None:
            return []
        expected = read_payload(self.expected_text).text
        if old.lines is None:
            expected = expected.strip(" \t")
        if expected == old.content:
            return []
        problem = Diagnostic(
            code=Code.TEXT_MISMATCH,
            message=f"the text of `{self.region}` at {_lines(old.region)} is not expectedText",
            hint="read the region again; expectedText is what stands between its markers",
            place=outline.source.lines.position(old.region.start.span.start),
        )
        return [with_nearest_lines(outline, problem, self.expected_text, old.region.inside)]


def _lines(region: Region) -> str:
    """Its lines in words."""
    first, last = region.start.line, region.end.line
    return f"line {first}" if first == last else f"lines {first}-{last}"


def _inside_of_a_line(region: Region) -> Diagnostic:
    return Diagnostic(
        code=Code.INVALID_ARGUMENT,
        message=f"the region stands inside of line {region.start.line}, and markdown has several lines",
        hint="give one line, or put the markers on lines of their own first",
    )
