"""The law of the outline, from text edits only: headings without edits stay in place."""

from collections.abc import Sequence

from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.text.edit import EditList
from mdplan.text.lines import Span

# These may give the headings around the target another parent.
MOVES_PARENTS = frozenset({"set_heading_level", "delete_section"})
# A heading that these write may be the new parent of those below it: their text says so.
WRITES_PARENTS = frozenset({"insert_lines", "replace_lines", "replace_range", "replace_match", "apply_diff"})


def check_outline(base: Outline, result: Outline, edits: EditList, ops: frozenset[str]) -> None:
    """Untouched headings keep level and parent, and every other heading of the result was written."""
    headings = {section.heading_start: section for section in result.every_section() if section.heading}
    kept: dict[int, Section] = {}
    for section in base.every_section():
        if not section.heading or _is_touched(_lines_of(base, section), edits, base.source.text):
            continue
        found = _same(section, base, result, edits, headings)
        assert found is not None, f"the heading {section.title!r} is gone"
        assert (found.level, found.nested) == (section.level, section.nested), "another level"
        kept[section.heading_start] = found
    if not ops & MOVES_PARENTS:
        written = edits.result_spans if ops & WRITES_PARENTS else ()
        _check_parents(base, result, kept, written)
    _check_gained(base, result, edits, headings)


def _same(
    section: Section, base: Outline, result: Outline, edits: EditList, headings: dict[int, Section]
) -> Section | None:
    """Return the heading of the result with the lines of `section`, at their place after the edits."""
    text = base.text_of(_lines_of(base, section))
    for after in (True, False):
        start = edits.map_offset(section.heading_start, after=after)
        found = headings.get(start) if start is not None else None
        if found is not None and result.text_of(_lines_of(result, found)) == text:
            return found
    return None


def _check_parents(base: Outline, result: Outline, kept: dict[int, Section], written: Sequence[Span]) -> None:
    """Check that each of `kept` has its old parent, or one whose heading is `written`."""
    for section in base.every_section():
        parent, now = base.parent(section), kept.get(section.heading_start)
        if now is None or parent is None:
            continue
        wanted = kept.get(parent.heading_start) if parent.heading else None
        if parent.heading and wanted is None:
            continue
        found = result.parent(now)
        assert found is not None
        if found.heading and any(span.start <= found.heading_start < span.end for span in written):
            continue
        is_same = found.span == wanted.span if wanted is not None else found.is_root
        assert is_same, f"the heading {section.title!r} has another parent"


def _check_gained(base: Outline, result: Outline, edits: EditList, headings: dict[int, Section]) -> None:
    """Check that each heading of the result starts as a heading of the base, or is written by an edit."""
    written = edits.result_spans
    were_headings = {
        edits.map_offset(offset, after=True)
        for section in base.every_section()
        if section.heading
        for offset in range(*_bounds(_lines_of(base, section)))
    }
    for section in headings.values():
        is_accounted_for = all(
            offset in were_headings or any(span.start <= offset < span.end for span in written)
            for offset in range(*_bounds(_lines_of(result, section)))
        )
        starts_as_before = section.heading_start in were_headings
        assert starts_as_before or is_accounted_for, (
            f"the heading {section.title!r} was not written by an edit"
        )


def _bounds(span: Span) -> tuple[int, int]:
    return span.start, span.end


def _lines_of(outline: Outline, section: Section) -> Span:
    assert section.heading is not None
    return Span(section.heading.span.start, outline.source.lines.content_end(section.heading.last_line))


def _is_touched(lines: Span, edits: EditList, text: str) -> bool:
    """Return True if an edit changes `lines`, or adds text directly at their start or end."""
    for edit in edits:
        if edit.span.overlaps(lines) or lines.start < edit.span.start < lines.end:
            return True
        before = edit.new_text or text[: edit.span.start]
        if edit.span.end == lines.start and before and before[-1] not in "\r\n":
            return True
        behind = edit.new_text or text[edit.span.end :]
        if edit.span.start == lines.end and behind and behind[0] not in "\r\n":
            return True
    return False
