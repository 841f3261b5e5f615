"""Candidates that name sections and tasks."""

from collections.abc import Iterator

from mdplan.derive.candidate import Candidate
from mdplan.derive.change import Change, Hunk
from mdplan.markdown.elements.lists import ListItem
from mdplan.markdown.outline.heading_path import find_by_path
from mdplan.markdown.outline.outline import Outline
from mdplan.markdown.outline.section import Section


def structure_candidates(change: Change, hunk: Hunk) -> Iterator[Candidate]:
    """A section that is deleted, or a task whose box changes."""
    if hunk.new_start == hunk.new_end:
        yield from _deleted_section(change, hunk)
    elif hunk.old_end - hunk.old_start == 1 == hunk.new_end - hunk.new_start:
        yield from _task(change, hunk)


def _deleted_section(change: Change, hunk: Hunk) -> Iterator[Candidate]:
    """The first section whose heading is deleted, if it is all that goes; its hash proves what it was."""
    outline = change.old
    inside = (each for each in outline.sections if hunk.old_start < each.first_line <= hunk.old_end)
    section = next(inside, None)
    if section is not None and section.last_line <= hunk.old_end:
        digest = outline.section_sha256(section)
        yield Candidate.of("delete_section", **_address(change, section), sectionSha256=digest)


def _address(change: Change, section: Section) -> dict[str, object]:
    """The shortest name of `section`."""
    if find_by_path(change.old, [section.title]) is section:
        return {"heading": section.title}
    if find_by_path(change.old, section.path) is section:
        return {"headingPath": list(section.path)}
    return {"sectionId": section.section_id}


def _task(change: Change, hunk: Hunk) -> Iterator[Candidate]:
    before, after = _item(change.old, hunk.old_start + 1), _item(change.new, hunk.new_start + 1)
    is_task = before is not None and after is not None and None not in (before.mark, after.mark)
    if is_task and before is not None and after is not None and before.text == after.text:
        yield Candidate.of("set_task", item=before.text, done=after.mark != " ")


def _item(outline: Outline, line: int) -> ListItem | None:
    """The list item that starts at `line`, 1-based."""
    items = (item for listing in outline.lists.all for item in listing.items)
    return next((item for item in items if item.first_line == line), None)
