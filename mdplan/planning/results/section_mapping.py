"""Maps the section of each edit to the result, so that the next edit can address and guard it."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from mdplan.markdown.headings import SectionId
from mdplan.markdown.sections import Section
from mdplan.planning.build import BuiltFile
from mdplan.planning.resolve import ResolvedEdit
from mdplan.text.edit import EditList
from mdplan.text.lines import Span


@dataclass(frozen=True, slots=True)
class MappedSection:
    """The section that an edit made, else the one that it addressed, in the result.

    `new_id` is its ID where that is not the one that the edit addressed; `sha256` is its hash, as in stat.
    """

    new_id: SectionId | None
    sha256: str


def map_sections(built: BuiltFile, items: Iterable[ResolvedEdit]) -> dict[int, MappedSection]:
    """By the index of each of `items` the section that it made or addressed; those without are left out."""
    after: dict[int, MappedSection] = {}
    hashes: dict[SectionId, str] = {}
    for item in items:
        addressed, made = item.resolution.section, _made_section(built, item)
        section = made or _same_section(built, item)
        if section is None:
            continue
        section_id = section.section_id
        if section_id not in hashes:
            hashes[section_id] = built.result.section_sha256(section)
        is_other = made is not None or addressed is None or section_id != addressed.section_id
        after[item.index] = MappedSection(section_id if is_other else None, hashes[section_id])
    return after


def _made_section(built: BuiltFile, item: ResolvedEdit) -> Section | None:
    """The first section that `item` makes, if it inserts blocks and replaces nothing."""
    resolution = item.resolution
    if not resolution.insertions or resolution.edits or resolution.deletions:
        return None
    return _first_written(built, item)


def _same_section(built: BuiltFile, item: ResolvedEdit) -> Section | None:
    """The section that `item` addressed, as it is in the result; None where it is gone, or there was none.

    A section is the same while something of its heading's line stays; else it is the one with the heading
    that was written in place of the old one, or that `item` wrote where it moved the section to.
    """
    section = item.resolution.section
    if section is None:
        return None
    if section.is_root:
        return built.result.sections[0]
    edits = built.edits_after(item.index)
    start = section.heading_start
    followed = edits.map_offset(start, after=True)
    if followed is not None:
        return built.result.heading_at(followed) or built.result.heading_at(edits.map_offset(start))
    replaced, written = _replacement(edits, start)
    is_whole_line = replaced.start <= start and section.heading_end <= replaced.end
    return (
        (None if is_whole_line else built.result.heading_at(written.start))
        or _first_heading(built, written)
        or _first_written(built, item)
    )


def _first_written(built: BuiltFile, item: ResolvedEdit) -> Section | None:
    spans = built.written.get(item.index, ())
    return next((found for span in spans if (found := _first_heading(built, span)) is not None), None)


def _first_heading(built: BuiltFile, span: Span) -> Section | None:
    """The first section of the result whose heading starts in `span`."""
    return next((found for found in built.result.headings_in(span) if not found.nested), None)


def _replacement(edits: EditList, offset: int) -> tuple[Span, Span]:
    """Span of the one of `edits` that replaces the code point at `offset`, and of its text in the result."""
    index = bisect_right(edits.edits, offset, key=lambda edit: edit.span.start) - 1
    edit = edits.edits[index]
    end = edits.map_offset(edit.span.end)
    assert end is not None, "the end of an edit is outside it"
    return edit.span, Span(end - len(edit.new_text), end)
