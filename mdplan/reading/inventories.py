"""List code blocks, tables, lists, tasks, anchors, regions and links for a report."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, TypeVar

from mdplan.markdown.blocks import is_done
from mdplan.markdown.links import count_links, find_anchors, local_links
from mdplan.markdown.outline import Outline, fence_language, find_code_blocks, find_tables, find_tasks
from mdplan.reports import stat
from mdplan.text.lines import Span
from mdplan.text.visible import shortened, shown_names

# Finds the broken links in a span of a document.
FindBroken = Callable[[Outline, Span], list[stat.BrokenLink]]
_Entry = TypeVar("_Entry")


def inventories(
    outline: Outline, names: Collection[str], area: Span, limit: int, find_broken: FindBroken | None = None
) -> dict[str, Any]:
    """Return the inventories `names` of elements that start in `area`, as fields of `StatReport`.

    `names` are wire names, as in `INVENTORIES`. Lists are limited to `limit` entries. Without `find_broken`,
    only links within the document are checked.
    """
    totals: dict[str, int] = {}

    def cut(name: str, entries: Sequence[_Entry]) -> tuple[_Entry, ...]:
        if len(entries) > limit:
            totals[name] = len(entries)
        return tuple(entries[:limit])

    fields: dict[str, Any] = {
        field: cut(name, find(outline, area)) for name, field, find in _LISTED if name in names
    }
    if "tasks" in names:
        fields["tasks"] = _tasks(outline, area)
    if "links" in names:
        broken = cut("brokenLinks", (find_broken or broken_in_document)(outline, area))
        fields["links"] = stat.LinkCounts(**count_links(outline, area), broken=broken)
    if totals:
        fields["inventory_totals"] = totals
    return fields


def _contains(area: Span, span: Span) -> bool:
    return area.start <= span.start < area.end


def _code_blocks(outline: Outline, area: Span) -> list[stat.CodeBlockEntry]:
    return [
        stat.CodeBlockEntry(
            start_line=block.first_line,
            end_line=block.last_line,
            fenced=index is not None,
            index=index,
            language=shortened(fence_language(block) or "") or None if index is not None else None,
            section_id=outline.section_at(block.span.start).section_id,
        )
        for block, index in find_code_blocks(outline)
        if _contains(area, block.span)
    ]


def _tables(outline: Outline, area: Span) -> list[stat.TableEntry]:
    return [
        stat.TableEntry(
            index=index,
            start_line=table.first_line,
            end_line=table.last_line,
            columns=shown_names(table.cells),
            rows=table.last_line - table.first_line - 1,
            section_id=outline.section_at(table.span.start).section_id,
        )
        for index, table in enumerate(find_tables(outline))
        if _contains(area, table.span)
    ]


def _lists(outline: Outline, area: Span) -> list[stat.ListEntry]:
    return [
        stat.ListEntry(
            index=index,
            start_line=listing.block.first_line,
            end_line=listing.last_line,
            marker=listing.sign,
            items=len(listing.items),
            section_id=outline.section_at(listing.block.span.start).section_id,
        )
        for index, listing in enumerate(outline.lists.outermost)
        if _contains(area, listing.block.span)
    ]


def _tasks(outline: Outline, area: Span) -> stat.TaskCounts:
    marks = [mark for item, mark in find_tasks(outline) if _contains(area, item.span)]
    return stat.TaskCounts(total=len(marks), done=sum(map(is_done, marks)))


def _anchors(outline: Outline, area: Span) -> list[stat.AnchorEntry]:
    line_at = outline.source.lines.line_at
    lines = range(line_at(area.start), line_at(area.end - 1) + 1) if len(area) else range(0)
    return [
        stat.AnchorEntry(id=shortened(anchor.id), line=anchor.line, explicit=anchor.explicit)
        for anchor in find_anchors(outline)
        # mdbook-spec rules occur in every section, and are read with its text.
        if anchor.line in lines and not outline.source.lines.content(anchor.line).startswith("r[")
    ]


def _regions(outline: Outline, area: Span) -> list[stat.RegionEntry]:
    """List regions in order of their first line, including unpaired markers."""
    if "<!--" not in outline.source.text:
        return []
    from mdplan.markdown.enclosure_search import find_regions

    regions = find_regions(outline)
    markers: list[tuple[Span, str, int | None, int | None]] = [
        (region.start.span, region.name, region.start.line, region.end.line) for region in regions.pairs
    ]
    for marker in regions.unpaired:
        start, end = (marker.line, None) if marker.is_start else (None, marker.line)
        markers.append((marker.span, marker.name, start, end))
    return [
        stat.RegionEntry(name=shortened(name), start_line=start, end_line=end)
        for span, name, start, end in sorted(markers, key=lambda marker: marker[0])
        if _contains(area, span)
    ]


# Wire name and field of each list inventory.
_LISTED: Final[Sequence[tuple[str, str, Callable[[Outline, Span], Sequence[object]]]]] = (
    ("codeBlocks", "code_blocks", _code_blocks),
    ("tables", "tables", _tables),
    ("lists", "lists", _lists),
    ("anchors", "anchors", _anchors),
    ("regions", "regions", _regions),
)


def broken_in_document(outline: Outline, area: Span) -> list[stat.BrokenLink]:
    """Return the broken links in `area` to targets in the document itself."""
    return [
        stat.BrokenLink(line=link.line, target=shortened(link.target))
        for link in local_links(outline, [area])
        if not link.resolves
    ]
