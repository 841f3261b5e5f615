"""Shared parts of operations on regions: names and claims."""

import re
from collections.abc import Sequence
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.enclosure_search import find_regions
from mdplan.markdown.enclosures import Region, Regions
from mdplan.markdown.outline import Outline
from mdplan.markdown.region_edits import RegionText, read_region
from mdplan.operations.base.operation import Claim
from mdplan.text.lines import Span

_MOST_LISTED: Final = 10


def find_region(outline: Outline, name: str) -> RegionText | Diagnostic:
    """The one region of that name, and its text. Errors: REGION_NOT_FOUND."""
    regions = find_regions(outline)
    named = regions.by_name.get(name, ())
    if len(named) != 1:
        return _not_found(name, regions, named)
    found = read_region(outline, named[0])
    return found or Diagnostic(
        code=Code.REGION_NOT_FOUND,
        message=f"the markers of `{name}` at {lines_of_region(named[0])} are not in the same "
        "quote or list item",
        hint="put both on separate lines in one of them",
    )


def claim_of_region(outline: Outline, region: Region) -> Claim:
    """What an edit claims that replaces the text of `region`: all of it, with the markers."""
    declared = Span(region.start.span.start, region.end.span.end)
    owner = outline.section_at(declared.start).index
    taken = range(owner + 1, outline.section_at(declared.end - 1).index + 1)
    return Claim(span=declared, owner=owner, takes=taken, verb="replaces")


def inside_of_a_line(region: Region, why: str, advice: str) -> Diagnostic:
    """INVALID_ARGUMENT for a `region` inside a line, which `why` cannot stay so."""
    return Diagnostic.invalid(
        f"the region is inside line {region.start.line}, and {why}",
        f"{advice}, or put the markers on separate lines first",
    )


def lines_of_region(region: Region) -> str:
    """The lines of `region`, with those of its markers, in words."""
    first, last = region.start.line, region.end.line
    return f"line {first}" if first == last else f"lines {first}-{last}"


def _not_found(name: str, regions: Regions, named: Sequence[Region]) -> Diagnostic:
    alone = [marker for marker in regions.unpaired if marker.name == name]
    shown = f"`{name}`" if re.fullmatch(r"[\w.-]{1,60}", name) else "of that name"
    if named:
        places = ", ".join(lines_of_region(region) for region in named[:_MOST_LISTED])
        message = f"there are {len(named)} regions {shown}"
        hint = f"they are at {places}; give each a different name, or use replace_lines"
    elif alone:
        edge, other = ("start", "end") if alone[0].is_start else ("end", "start")
        message = f"the {edge} marker of {shown} at line {alone[0].line} has no {other} marker"
        hint = f"add `<!-- {name}:{other} -->` on a separate line"
    else:
        listed = ", ".join(
            f"`{known}` ({lines_of_region(found[0])})"
            for known, found in list(regions.by_name.items())[:_MOST_LISTED]
        )
        more = ", …" if len(regions.by_name) > _MOST_LISTED else ""
        message = f"there is no region {shown}"
        hint = (
            f"this file has {listed}{more}"
            if listed
            else "this file has no regions: put `<!-- NAME:start -->` and `<!-- NAME:end -->` around one"
        )
    return Diagnostic(code=Code.REGION_NOT_FOUND, message=message, hint=hint)
