"""Compact answers of stat, read and search: long lists as one text of lines, short ones as objects."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from mdplan.mcp.compact.compact_json import compact_wire, pruned
from mdplan.reading.plain_text import key_lines
from mdplan.reading.read import file_listing, hit_lines
from mdplan.reading.stat_text import inventory_lines, row_line, section_line, unique_length
from mdplan.reports.base import to_wire
from mdplan.reports.read import ReadReport, SearchedFile, SearchReport
from mdplan.reports.stat import LinkCounts, SectionEntry, StatReport
from mdplan.text.source import visible

# More sections are lines of text.
MOST_OBJECTS: Final = 40
_USUAL: Final[dict[str, object]] = {"format": "markdown", "encoding": "utf-8", "bom": False}
_DERIVED: Final = frozenset({"finalNewline", "lineEnds", "bytes", "detail"})


def without_redundancy(report: StatReport, *, was_asked: bool) -> StatReport:
    """A stat without what its rows say anyway, and without empty inventories, unless all `was_asked` for."""
    if not report.ok or was_asked:
        return report
    return replace(
        report,
        detail=None,
        sections=tuple(map(_bare, report.sections)),
        keys=None if report.keys is None else tuple(replace(each, sha256=None) for each in report.keys),
        code_blocks=report.code_blocks or None,
        tables=report.tables or None,
        tasks=report.tasks if report.tasks is not None and report.tasks.total else None,
        anchors=None,
        regions=report.regions or None,
        links=_broken_only(report.links),
    )


def _broken_only(links: LinkCounts | None) -> LinkCounts | None:
    if links is None or not links.broken:
        return None
    return LinkCounts(
        inline=0, reference=0, autolink=0, image=0, wiki=0, footnote=0, html=0, broken=links.broken
    )


def _bare(section: SectionEntry) -> SectionEntry:
    return replace(section, section_sha256=None, tokens=None, anchor=None)


def stat_wire(report: StatReport, *, as_objects: bool | None = None) -> dict[str, Any]:
    """A stat as decoded JSON: many sections are lines of `outline`, few ones, or `as_objects`, `sections`."""
    if not report.ok:
        return compact_wire(report)
    bare = replace(
        report,
        sections=(),
        keys=None,
        files=None,
        code_blocks=None,
        tables=None,
        lists=None,
        tasks=None,
        anchors=None,
        regions=None,
        links=None,
        inventory_totals=None,
    )
    wire = compact_wire(bare)
    wire = {name: each for name, each in wire.items() if name not in _DERIVED and each != _USUAL.get(name)}
    wire |= _unusual_lines(report) | _rows(report, as_objects=as_objects)
    if wire.get("totalSections") == len(report.sections):
        del wire["totalSections"]
    inventory = _lines(inventory_lines(report))
    return wire | ({"inventory": inventory} if inventory else {})


def _unusual_lines(report: StatReport) -> dict[str, Any]:
    """Line ends that are not all LF, and a last line without one."""
    ends = {name: count for name, count in (report.line_ends or {}).items() if count}
    found: dict[str, Any] = {"lineEnds": ends} if set(ends) - {"lf"} else {}
    return found | ({"finalNewline": False} if report.final_newline is False else {})


def _rows(report: StatReport, *, as_objects: bool | None) -> dict[str, Any]:
    if report.files is not None:
        return {"outline": _lines(line for row in report.files for line in row_line(row))}
    if report.keys is not None:
        return {"outline": _lines(key_lines(report.keys))}
    if not report.sections or report.ini_sections is not None:
        return {}
    if not is_outline(report, as_objects=as_objects):
        return {"sections": [_row(section) for section in report.sections]}
    digits = unique_length(report.sections)
    return {"outline": _lines(section_line(each, digits, is_short=True) for each in report.sections)}


def is_outline(report: StatReport, *, as_objects: bool | None) -> bool:
    """Whether the sections of `report` are lines of text; None as `as_objects` leaves it to their number."""
    return len(report.sections) > MOST_OBJECTS if as_objects is None else not as_objects


def _row(section: SectionEntry) -> dict[str, Any]:
    wire: dict[str, Any] = to_wire(section)
    kept = {name: each for name, each in wire.items() if each is not False}
    return {name: each if isinstance(each, list) else pruned(each) for name, each in kept.items()}


def read_wire(report: ReadReport) -> dict[str, Any]:
    """What was read, as decoded JSON. Places that could not be read have a `problem`."""
    wire = compact_wire(replace(report, results=()))
    if not report.ok and len(report.results) == 1:
        # The error says all of it.
        return wire
    wire["results"] = [pruned(to_wire(replace(result, left_out=None))) for result in report.results]
    for made, result in zip(wire["results"], report.results, strict=True):
        if result.content == "":
            made["content"] = ""
        if result.left_out:
            rows = (f"{row.start_line} {row.heading} {row.section_id[7:15]}" for row in result.left_out)
            made["leftOut"] = "\n".join(rows)
    return wire


def search_wire(report: SearchReport) -> dict[str, Any]:
    """Hits as decoded JSON: those of one file are one text of lines, and so are files without hits."""
    wire = compact_wire(replace(report, files=(), pattern=None, truncated=None))
    if report.files:
        del wire["searchedFiles"]
    if wire.get("totalFiles") == len(report.files):
        del wire["totalFiles"]
    if report.ok and report.files and not any(found.groups or found.front_matter for found in report.files):
        wire["listing"] = "\n".join(file_listing(report.files))
    elif report.ok:
        wire["files"] = [_found(found) for found in report.files]
    return wire


def _found(found: SearchedFile) -> dict[str, Any]:
    wire: dict[str, Any] = pruned(to_wire(replace(found, groups=())))
    if found.groups:
        wire["hits"] = _lines(hit_lines(found, brief=True))
    if not found.groups:
        del wire["baseSha256"]
    if sum(len(group.hits) for group in found.groups) == found.matches:
        del wire["matches"]
    return wire


def _lines(lines: Iterator[str]) -> str:
    return visible("\n".join(lines))
