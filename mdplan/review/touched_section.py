"""The section that an edit touches, before and after it."""

from mdplan.markdown.outline import Outline
from mdplan.plan import EditResult
from mdplan.review.file_sides import FileSides
from mdplan.review.plan_review import SectionSide, TouchedSection
from mdplan.text.source import visible


def touched_section(sides: FileSides, result: EditResult) -> TouchedSection | None:
    """The section that the edit of `result` touches in the file of `sides`; None where there is none.

    It is the one that the edit names or inserts; for an edit that names none, the one in which it is
    first. In INI and plain text that is the whole file.
    """
    if result.section_id is not None:
        before = _by_id(sides.base_outline, result.section_id)
        after = _by_id(sides.result_outline, result.new_section_id or result.section_id)
        return TouchedSection(before=before, after=after) if before or after else None
    before = after = None
    if sides.change.path == result.file and result.ranges and sides.base.text:
        offset = sides.base.lines.offset(result.ranges[0].start)
        before = _at(sides.base_outline, offset) if offset is not None else None
    if sides.change.path == (result.to_file or result.file) and result.result_lines and sides.result_text:
        after = _at(sides.result_outline, sides.result_lines.start(result.result_lines[0].start))
    return TouchedSection(before=before, after=after) if before or after else None


def _by_id(outline: Outline, section_id: str) -> SectionSide | None:
    section = next((each for each in outline.every_section() if each.section_id == section_id), None)
    return _at(outline, section.span.start) if section is not None and not section.nested else None


def _at(outline: Outline, offset: int) -> SectionSide:
    section = outline.section_at(offset)
    span = section.body if section.is_root else section.span
    return SectionSide(tuple(map(visible, section.path)), visible(outline.text_of(span)))
