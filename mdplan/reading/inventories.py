"""Inventories of a document as entries of a report."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from typing import Final, TypedDict, TypeVar, cast

from mdplan.markdown.links import local_links
from mdplan.markdown.outline import Outline, find_code_blocks, find_tables, find_tasks
from mdplan.markdown.targets import find_anchors
from mdplan.reports import stat
from mdplan.text.lines import Span
from mdplan.text.visible import escape_for_message, shown_names


class InventoryFields(TypedDict, total=False):
    """Fields of `StatReport` that inventories fill."""

    code_blocks: tuple[stat.CodeBlockEntry, ...]
    tables: tuple[stat.TableEntry, ...]
    lists: tuple[stat.ListEntry, ...]
    tasks: stat.TaskCounts
    anchors: tuple[stat.AnchorEntry, ...]
    regions: tuple[stat.RegionEntry, ...]
    links: stat.LinkCounts
    inventory_totals: dict[str, int]


_Entry = TypeVar("_Entry")


def inventories(
    outline: Outline, names: Collection[str], area: Span, limit: int, find_broken: "FindBroken | None" = None
) -> InventoryFields:
    """The inventories `names` of what starts in `area`, each list with at most `limit` entries.

    `names` are wire names, as in `INVENTORIES`. `find_broken` says which links are broken.
    """
    totals: dict[str, int] = {}

    def cut(name: str, entries: Sequence[_Entry]) -> tuple[_Entry, ...]:
        if len(entries) > limit:
            totals[name] = len(entries)
        return tuple(entries[:limit])

    found = {field: cut(name, find(outline, area)) for name, field, find in _LISTED if name in names}
    fields = cast("InventoryFields", found)
    if "tasks" in names:
        fields["tasks"] = _tasks(outline, area)
    if "links" in names:
        counts, broken = _links(outline, area, find_broken)
        fields["links"] = stat.LinkCounts(**counts, broken=cut("brokenLinks", broken))
    if totals:
        fields["inventory_totals"] = totals
    return fields


def _contains(area: Span, span: Span) -> bool:
    return area.start <= span.start < area.end


def _code_blocks(outline: Outline, area: Span) -> list[stat.CodeBlockEntry]:
    return [
        stat.CodeBlockEntry(
            start_line=found.block.first_line,
            end_line=found.block.last_line,
            fenced=found.index is not None,
            index=found.index,
            language=escape_for_message(found.language) if found.language else None,
            section_id=outline.section_at(found.block.span.start).section_id,
        )
        for found in find_code_blocks(outline)
        if _contains(area, found.block.span)
    ]


def _tables(outline: Outline, area: Span) -> list[stat.TableEntry]:
    return [
        stat.TableEntry(
            index=found.index,
            start_line=found.block.first_line,
            end_line=found.block.last_line,
            columns=shown_names(found.columns),
            rows=found.rows,
            section_id=outline.section_at(found.block.span.start).section_id,
        )
        for found in find_tables(outline)
        if _contains(area, found.block.span)
    ]


def _lists(outline: Outline, area: Span) -> list[stat.ListEntry]:
    return [
        stat.ListEntry(
            index=index,
            start_line=found.block.first_line,
            end_line=found.last_line,
            marker=found.sign,
            items=len(found.items),
            section_id=outline.section_at(found.block.span.start).section_id,
        )
        for index, found in enumerate(outline.lists.outermost)
        if _contains(area, found.block.span)
    ]


def _tasks(outline: Outline, area: Span) -> stat.TaskCounts:
    tasks = [task for task in find_tasks(outline) if _contains(area, task.block.span)]
    return stat.TaskCounts(total=len(tasks), done=sum(task.done for task in tasks))


def _anchors(outline: Outline, area: Span) -> list[stat.AnchorEntry]:
    line_at = outline.source.lines.line_at
    lines = range(line_at(area.start), line_at(area.end - 1) + 1) if len(area) else range(0)
    return [
        stat.AnchorEntry(id=escape_for_message(anchor.id), line=anchor.line, explicit=anchor.explicit)
        for anchor in find_anchors(outline)
        if anchor.line in lines
    ]


def _regions(outline: Outline, area: Span) -> list[stat.RegionEntry]:
    """Regions in the order of their first line, those with one marker among them."""
    if "<!--" not in outline.source.text:
        return []
    from mdplan.markdown.enclosure_search import find_regions

    regions = find_regions(outline)
    found = [
        (
            region.start.span,
            stat.RegionEntry(
                name=escape_for_message(region.name), start_line=region.start.line, end_line=region.end.line
            ),
        )
        for region in regions.pairs
    ]
    for marker in regions.unpaired:
        start, end = (marker.line, None) if marker.is_start else (None, marker.line)
        found.append(
            (
                marker.span,
                stat.RegionEntry(name=escape_for_message(marker.name), start_line=start, end_line=end),
            )
        )
    found.sort(key=lambda entry: entry[0])
    return [entry for span, entry in found if _contains(area, span)]


def _links(
    outline: Outline, area: Span, find_broken: "FindBroken | None"
) -> tuple[dict[str, int], list[stat.BrokenLink]]:
    """Links by kind, and those that lead to nothing."""
    from mdplan.markdown.links import count_links

    count = count_links(outline, area)
    return asdict(count), (find_broken or broken_in_document)(outline, area)


# Wire name and field of each inventory that is a list of entries.
_LISTED: Final[Sequence[tuple[str, str, Callable[[Outline, Span], Sequence[object]]]]] = (
    ("codeBlocks", "code_blocks", _code_blocks),
    ("tables", "tables", _tables),
    ("lists", "lists", _lists),
    ("anchors", "anchors", _anchors),
    ("regions", "regions", _regions),
)


# --- Links of a document into itself that name nothing.

FindBroken = Callable[[Outline, Span], list[stat.BrokenLink]]


def broken_in_document(outline: Outline, area: Span) -> list[stat.BrokenLink]:
    """Links in `area` into the document itself that resolve to nothing."""
    return [
        stat.BrokenLink(line=link.line, target=escape_for_message(link.target))
        for link in local_links(outline, [area])
        if not link.resolves
    ]
