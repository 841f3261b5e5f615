"""The inventory of INI files and plain text as lines of text."""

from collections.abc import Iterable, Iterator, Mapping

from mdplan.reports.ini import IniKeyEntry, IniSectionEntry, KeyEntry
from mdplan.reports.stat import StatReport
from mdplan.text.source import visible


def plain_text_lines(report: StatReport) -> Iterator[str]:
    """Lines for the INI sections, marked sections, comments and blank lines of `report`."""
    totals = report.inventory_totals or {}
    if report.ini_sections:
        shown = len(report.ini_sections)
        total = totals.get("iniSections", shown)
        columns = "lines [section]" + (" sectionSha256: keys" if report.detail == "full" else "")
        yield f"{'' if shown == total else f'{shown} of '}{total} INI sections: {columns}"
        yield from map(_ini_section, report.ini_sections)
        yield from _total(totals, "iniKeys", "keys")
    if report.keys is not None:
        shown, total = len(report.keys), totals.get("keys", len(report.keys))
        columns = "lines key (entries)" + (" sha256" if report.detail == "full" else "")
        yield f"{'' if shown == total else f'{shown} of '}{total} keys: {columns}"
        yield from key_lines(report.keys)
    for section in report.text_sections or ():
        yield f"section {_lines(section.start_line, section.end_line)} {section.marker}"
    yield from _total(totals, "textSections", "sections")
    if report.comment_blocks:
        blocks = (f"{_lines(each.start_line, each.end_line)} {each.prefix}" for each in report.comment_blocks)
        yield f"comments: {', '.join(blocks)}"
    yield from _total(totals, "commentBlocks", "comments")
    if report.blank_line_groups:
        groups = (_lines(each.start, each.end) for each in report.blank_line_groups)
        yield f"blank lines: {', '.join(groups)}"
    yield from _total(totals, "blankLineGroups", "groups of blank lines")


def key_lines(keys: Iterable[KeyEntry]) -> Iterator[str]:
    """One line for each of `keys`: its lines, its address, and how many entries it has."""
    for each in keys:
        items = "" if each.items is None else f" ({each.items})"
        sha256 = f" {each.sha256}" if each.sha256 else ""
        yield f"{_lines(each.start_line, each.end_line)} {visible(each.key)}{items}{sha256}"


def _ini_section(section: IniSectionEntry) -> str:
    name = "(before the first section)" if section.name is None else f"[{section.name}]"
    parts = [_lines(section.start_line, section.end_line), name]
    parts += [section.section_sha256] if section.section_sha256 else []
    keys = f": {', '.join(map(_ini_key, section.keys))}" if section.keys else ""
    return " ".join(parts) + keys


def _ini_key(key: IniKeyEntry) -> str:
    return f"{key.key} {_lines(key.line, key.end_line or key.line)}"


def _lines(start: int, end: int) -> str:
    return str(start) if start == end else f"{start}-{end}"


def _total(totals: Mapping[str, int], name: str, what: str) -> Iterator[str]:
    if name in totals:
        yield f"{what}: {totals[name]} in all"
