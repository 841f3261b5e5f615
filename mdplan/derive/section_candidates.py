"""Candidates that name sections: their headings, their texts, and sections that come, go or move."""

from collections.abc import Iterator, Sequence

from mdplan.derive.candidate import CandidateEdits
from mdplan.derive.version_change import Change, ChangedRun
from mdplan.markdown.outline.heading_path import find_by_path
from mdplan.markdown.outline.outline import Outline
from mdplan.markdown.outline.section import Section
from mdplan.text.line_end_view import to_lf

Group = tuple[tuple[ChangedRun, ...], CandidateEdits]


def section_candidates(change: Change, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """A section that goes, or whose own text is another."""
    if hunk.new_start == hunk.new_end:
        yield from _deleted(change, hunk)
    elif not hunk.is_insertion:
        yield from _rewritten(change, hunk)


def named_section_candidates(change: Change, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """A heading with another title or level, a section that comes, text at an end of a section.

    Lines say each of these in fewer tokens.
    """
    if hunk.is_insertion:
        yield from _inserted(change, hunk) if change.has_heading(hunk) else _added(change, hunk)
    elif hunk.old_end - hunk.old_start == 1 == hunk.new_end - hunk.new_start:
        yield from _other_heading(change, hunk)


def moved_sections(change: Change, hunks: Sequence[ChangedRun]) -> Iterator[Group]:
    """Sections that are deleted at one place and inserted at another; the hash of the file guards these."""
    gone = {
        text: hunk for hunk in hunks if hunk.new_start == hunk.new_end and (text := _text_of(change, hunk))
    }
    for hunk in hunks:
        source = gone.get(change.new_text(hunk).strip()) if hunk.is_insertion else None
        section = _first_in(change.old, source.old_start, source.old_end) if source is not None else None
        moved = _first_in(change.new, hunk.new_start, hunk.new_end)
        if source is not None and section is not None and moved is not None:
            for target, position in _neighbours(change, moved, but=section):
                fields = {"toHeadingPath": list(target.path), "position": position}
                edit = CandidateEdits.of("move_section", **address_of(change, section), **fields)
                pair = (source, hunk) if source.index < hunk.index else (hunk, source)
                yield pair, CandidateEdits(edit.edits, is_weak=True)


def address_of(change: Change, section: Section) -> dict[str, object]:
    """The shortest name of `section`."""
    if find_by_path(change.old, [section.title]) is section:
        return {"heading": section.title}
    if find_by_path(change.old, section.path) is section:
        return {"headingPath": list(section.path)}
    return {"sectionId": section.section_id}


def proven_address(change: Change, section: Section) -> dict[str, object]:
    """The name of `section`, and the hash of its own text."""
    return {**address_of(change, section), "sectionSha256": change.old.body_sha256(section)}


def _deleted(change: Change, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """The first section whose heading is deleted, if it is all that goes; its hash proves what it was."""
    section = _first_in(change.old, hunk.old_start, hunk.old_end)
    if section is not None and section.last_line <= hunk.old_end:
        digest = change.old.section_sha256(section)
        yield CandidateEdits.of("delete_section", **address_of(change, section), sectionSha256=digest)


def _rewritten(change: Change, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """The own text of a section, where all of it is in the hunk."""
    section = change.old.section_at(change.old_span(hunk.old_start, hunk.old_end).start)
    span = change.old_span(hunk.old_start, hunk.old_end)
    body, text = section.body, change.old.source.text
    has_all = not (text[body.start : span.start].strip() or text[span.end : body.end].strip())
    if has_all and body.contains(span) and not change.has_heading(hunk):
        markdown = to_lf(change.new_text(hunk)).strip("\n")
        if markdown.strip():
            yield CandidateEdits.of("replace_section", **proven_address(change, section), markdown=markdown)


def _inserted(change: Change, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """A section that comes, if it is all that comes."""
    section = _first_in(change.new, hunk.new_start, hunk.new_end)
    markdown = to_lf(change.new_text(hunk)).strip("\n")
    if section is None or change.new.text_of(section.span).strip() != change.new_text(hunk).strip():
        return
    for target, position in _neighbours(change, section):
        digest = change.old.section_sha256(target)
        place = {**address_of(change, target), "sectionSha256": digest, "position": position}
        yield CandidateEdits.of("insert_section", **place, markdown=markdown)


def _added(change: Change, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """Text at the end or at the start of the own text of a section."""
    at, text = change.old_span(hunk.old_start, hunk.old_start).start, change.old.source.text
    section = change.old.section_at(max(at - 1, 0))
    body, markdown = section.body, to_lf(change.new_text(hunk)).strip("\n")
    if not text[max(at, body.start) : body.end].strip():
        yield CandidateEdits.of("append_to_section", **proven_address(change, section), markdown=markdown)
    elif not text[body.start : at].strip():
        yield CandidateEdits.of("prepend_to_section", **proven_address(change, section), markdown=markdown)


def _other_heading(change: Change, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    before = _first_in(change.old, hunk.old_start, hunk.old_end)
    after = _first_in(change.new, hunk.new_start, hunk.new_end)
    if before is None or after is None or before.heading is None or after.heading is None:
        return
    place = {**address_of(change, before), "sectionSha256": change.old.section_sha256(before)}
    if before.level == after.level:
        yield CandidateEdits.of("rename_heading", **place, newTitle=after.heading.content)
    elif before.heading.content == after.heading.content:
        keep = "keep" if any(change.old.children(before)) else None
        yield CandidateEdits.of("set_heading_level", **place, level=after.level, subsections=keep)


def _neighbours(
    change: Change, section: Section, but: Section | None = None
) -> Iterator[tuple[Section, str]]:
    """Sections of the old version next to `section` of the new one, and where it is of them."""
    parent = change.new.parent(section)
    siblings = [] if parent is None else [*change.new.children(parent)]
    place = next((index for index, each in enumerate(siblings) if each is section), None)
    if parent is None or place is None:
        return
    around = (
        *((each, "after") for each in siblings[:place][-1:]),
        *((each, "before") for each in siblings[place + 1 : place + 2]),
        (parent, "firstChild"),
    )
    for each, position in around:
        found = find_by_path(change.old, each.path) if each.path else None
        if isinstance(found, Section) and found is not but:
            yield found, position


def _text_of(change: Change, hunk: ChangedRun) -> str:
    """The one section that goes with `hunk`, and nothing else; empty where it is none."""
    section = _first_in(change.old, hunk.old_start, hunk.old_end)
    text = change.old_text(hunk.old_start, hunk.old_end).strip()
    return text if section is not None and change.old.text_of(section.span).strip() == text else ""


def _first_in(outline: Outline, start: int, end: int) -> Section | None:
    """The first section that starts in the 0-based lines ``[start, end)``."""
    inside = (
        each for each in outline.sections if start < each.first_line <= end and each.heading is not None
    )
    return next(inside, None)
