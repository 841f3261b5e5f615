"""The outline of a file for people: lines and headings, without the hashes that programs need."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from mdplan.reading.stat_text import stat_text
from mdplan.reports.stat import SectionEntry, StatReport

_BASE: Final = re.compile(r" baseSha256 [0-9a-f]+")
_ROW_HASH: Final = re.compile(r" [0-9a-f]{16}$", re.MULTILINE)


def outline_text(report: StatReport) -> str:
    """Text of `report`: one line for each section, indented by its level, then what else the file has."""
    if report.files is not None:
        return _ROW_HASH.sub("", stat_text(report))
    is_markdown = report.ini_sections is None and report.text_sections is None and report.keys is None
    if not (report.ok and report.sections and is_markdown):
        return _BASE.sub("", stat_text(report))
    rest = _BASE.sub("", stat_text(replace(report, sections=()))).splitlines()
    head = 3 if report.front_matter else 2
    lines = [*rest[:head], *_sections(report.sections, report.total_sections or 0), *rest[head:]]
    return "".join(f"{line}\n" for line in lines)


def _sections(sections: Sequence[SectionEntry], total: int) -> list[str]:
    lines = [f"{section.start_line}-{section.end_line}" for section in sections]
    width = max(map(len, lines))
    listed = [f"  {line:{width}}  {_heading(each)}" for line, each in zip(lines, sections, strict=True)]
    cut = [f"  {len(sections)} of {total} sections"] if len(sections) < total else []
    return [*listed, *cut]


def _heading(section: SectionEntry) -> str:
    if not section.level:
        return "(text before the first heading)"
    title = section.heading_path[-1] if section.heading_path else section.title
    remark = " (in a quote or list)" if section.nested else ""
    return f"{'  ' * (section.level - 1)}{'#' * section.level} {title}{remark}"
