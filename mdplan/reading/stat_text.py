"""Write a stat report as text, with everything needed for the next step."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mdplan.reading.plain_text import plain_text_lines
from mdplan.reports.stat import FileRow, LinkCounts, SectionEntry, StatReport, TaskCounts
from mdplan.text.source import visible
from mdplan.text.visible import counted

_SHORT_ID: Final = 8
_ID: Final = 16
_SHORT_HASH: Final = 16
_LINE_ENDS: Final = {"lf": "LF", "crlf": "CRLF", "cr": "CR"}
_LINK_KINDS: Final = ("inline", "reference", "autolink", "image", "wiki", "footnote", "html")
_LABELS: Final = {
    "code blocks": "code_blocks",
    "tables": "tables",
    "lists": "lists",
    "tasks": "tasks",
    "anchors": "anchors",
    "regions": "regions",
    "links": "links",
}


def stat_text(report: StatReport) -> str:
    """Return `report` as lines that end in LF; the hash is omitted if missing.

    Brief detail has a line per section, ``12-25 ## Install 3fa9c1d2``: lines, heading, and enough digits of
    the ID. Full detail adds hash, tokens and anchor of the section, and inventories.
    """
    if not report.ok:
        lines = _problems(report)
    elif report.files is not None:
        lines = _folder(report, report.files)
    else:
        lines = _document(report)
    return visible("".join(f"{line}\n" for line in lines))


def _problems(report: StatReport) -> Iterator[str]:
    for problem in report.diagnostics:
        yield f"{problem.code}: {problem.message}" + (f"; {problem.hint}" if problem.hint else "")
        for place in problem.candidates:
            path = " / ".join(place.heading_path)
            yield f"  {place.start_line}-{place.end_line} {path} {_digits(place.section_id or '', _ID)}"


def _folder(report: StatReport, rows: Sequence[FileRow]) -> Iterator[str]:
    yield f"{report.file}: {counted(report.total_files or 0, 'file')}"
    for row in rows:
        yield from row_line(row)
    yield from _more(report)


def row_line(row: FileRow) -> Iterator[str]:
    """Yield the line of a file in a folder, followed by its broken links, if requested."""
    if row.problem is not None:
        yield f"{row.file}: {row.problem}"
        return
    title = f" {row.title}" if row.title else ""
    numbers = f"{counted(row.sections or 0, 'section')}, {row.tokens} tokens"
    yield f"{row.file}:{title} ({numbers})" + (f" {row.base_sha256[:_SHORT_HASH]}" if row.base_sha256 else "")
    broken = [f"{link.target} {link.line}" for link in row.broken_links or ()]
    yield from (f"  {line}" for line in _list("links to nothing", broken, row.total_broken_links))


def _document(report: StatReport) -> Iterator[str]:
    yield f"{report.file}" + (f" baseSha256 {report.base_sha256[:_SHORT_HASH]}" if report.base_sha256 else "")
    yield ", ".join(_facts(report))
    if report.front_matter:
        entry = report.front_matter
        keys = "keys cannot be read" if entry.keys is None else ", ".join(entry.keys) or "no keys"
        yield f"front matter {entry.start_line}-{entry.end_line} {entry.format}: {keys}"
    if report.sections and report.ini_sections is None:
        total = report.total_sections or 0
        shown = "" if len(report.sections) == total else f"{len(report.sections)} of "
        columns = " sectionSha256 ~tokens #anchor" if report.detail == "full" else ""
        yield f"{shown}{counted(total, 'section')}: lines heading sectionId{columns}"
        length = unique_length(report.sections)
        yield from (section_line(section, length) for section in report.sections)
    yield from plain_text_lines(report)
    yield from inventory_lines(report)
    if report.trailing_definitions:
        lines = report.trailing_definitions
        yield f"definitions {lines.start}-{lines.end} belong to no section"
    yield from _more(report)
    yield from (f"{warning.code}: {warning.message}; {warning.hint}" for warning in report.warnings)


def _facts(report: StatReport) -> Iterator[str]:
    yield f"{report.format}"
    yield counted(report.total_lines or 0, "line")
    yield counted(report.bytes or 0, "byte")
    yield f"{report.encoding}" + (" with BOM" if report.bom else "")
    if report.invalid_bytes:
        yield counted(report.invalid_bytes, "invalid byte")
    ends = {name: count for name, count in (report.line_ends or {}).items() if count}
    if len(ends) == 1:
        yield from (_LINE_ENDS[name] for name in ends)
    elif ends:
        yield "mixed line ends (" + ", ".join(f"{n} {_LINE_ENDS[name]}" for name, n in ends.items()) + ")"
    if not report.final_newline:
        yield "no final newline"


def section_line(section: SectionEntry, length: int, *, is_short: bool = False) -> str:
    """Return the line of a section with `length` digits of its ID.

    `is_short`: only the first line number, and no ID if the heading is unique.
    """
    title = section.heading_path[-1] if section.heading_path else section.title
    heading = f"{'#' * section.level} {title}" if section.level else "(preamble)"
    lines = str(section.start_line) if is_short else f"{section.start_line}-{section.end_line}"
    parts = [lines, heading]
    if not is_short or not section.has_own_heading:
        parts.append(_digits(section.section_id, length))
    if section.section_sha256:
        parts += [section.section_sha256[:_SHORT_HASH], f"~{section.tokens}"]
    if section.anchor:
        parts.append(f"#{section.anchor}")
    if section.duplicate_of:
        parts.append(f"(repeats {_digits(section.duplicate_of, length)})")
    if section.nested:
        parts.append("(nested)")
    return " ".join(parts)


def inventory_lines(report: StatReport) -> Iterator[str]:
    """Yield a line per kind of element, or per table, and list the missing kinds."""
    totals = report.inventory_totals or {}
    code = [
        f"{'indented' if block.index is None else block.index}"
        f"{f' {block.language}' if block.language else ''} {_lines(block.start_line, block.end_line)}"
        for block in report.code_blocks or ()
    ]
    yield from _list("code blocks", code, totals.get("codeBlocks"))
    for table in report.tables or ():
        lines, cells = _lines(table.start_line, table.end_line), " | ".join(table.columns)
        yield f"table {table.index} {lines}, {counted(table.rows, 'row')}: {cells}"
    if "tables" in totals:
        yield f"tables: {totals['tables']} in all"
    lists = [
        f"{each.index} {_lines(each.start_line, each.end_line)} ({counted(each.items, 'item')})"
        for each in report.lists or ()
    ]
    yield from _list("lists", lists, totals.get("lists"))
    if report.tasks and report.tasks.total:
        yield f"tasks: {report.tasks.done} of {report.tasks.total} done"
    # In full detail, sections include their anchors.
    with_generated = report.detail == "brief"
    anchors = [f"#{each.id} {each.line}" for each in report.anchors or () if each.explicit or with_generated]
    yield from _list("anchors" if with_generated else "explicit anchors", anchors, totals.get("anchors"))
    regions = [f"{each.name} {_lines(each.start_line, each.end_line)}" for each in report.regions or ()]
    yield from _list("regions", regions, totals.get("regions"))
    if report.links:
        links = [f"{count} {kind}" for kind in _LINK_KINDS if (count := getattr(report.links, kind))]
        yield from _list("links", links, None)
        broken = [f"{link.target} {link.line}" for link in report.links.broken]
        yield from _list("links to nothing", broken, totals.get("brokenLinks"))
    empty = [label for label, field in _LABELS.items() if _is_empty(getattr(report, field))]
    if empty:
        yield f"no {', '.join(empty)}"


def _is_empty(inventory: object) -> bool:
    """Return True for an empty inventory."""
    match inventory:
        case TaskCounts():
            return inventory.total == 0
        case LinkCounts():
            return not any(getattr(inventory, kind) for kind in _LINK_KINDS)
        case _:
            return inventory == ()


def _list(label: str, entries: Sequence[str], total: int | None) -> Iterator[str]:
    if entries:
        yield f"{label}: {', '.join(entries)}" + (f"; {total} in all" if total else "")


def _lines(start: int | None, end: int | None) -> str:
    """Return a line range; for an unpaired marker, its line."""
    if start is None:
        return f"{end} (start missing)"
    return f"{start} (end missing)" if end is None else f"{start}-{end}"


def _more(report: StatReport) -> Iterator[str]:
    if report.next_cursor:
        yield f"more: cursor {report.next_cursor}"


def unique_length(sections: Iterable[SectionEntry]) -> int:
    """Return the number of ID digits, at least 8, that distinguish `sections`."""
    digits = {_digits(section.section_id, _ID) for section in sections}
    return next(
        length
        for length in range(_SHORT_ID, _ID + 1)
        if len({each[:length] for each in digits}) == len(digits)
    )


def _digits(section_id: str, length: int) -> str:
    return section_id.removeprefix("sha256-")[:length]
