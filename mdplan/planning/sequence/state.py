"""The document that earlier edits of a sequential batch have made, and where parts of the base are in it."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.planning.build import BuiltFile
from mdplan.text.edit import EditList, compose
from mdplan.text.lines import Span


@dataclass(frozen=True, slots=True)
class SequentialState:
    """Result `current` of `edits` on `base`.

    `starts` says where headings of the base start in it, by where they started; those that are gone are left
    out.
    """

    base: Outline
    edits: EditList
    current: Outline
    starts: Mapping[int, int]

    @classmethod
    def before_all(cls, base: Outline) -> "SequentialState":
        """The base itself."""
        return cls(
            base,
            EditList(),
            base,
            {section.heading_start: section.heading_start for section in _headed(base)},
        )

    def after(self, step: BuiltFile) -> "SequentialState":
        """What the one edit of `step` makes of it."""
        followed = _followed(step)
        return SequentialState(
            self.base,
            compose(self.edits, step.edits, len(self.base.source.text)),
            step.result,
            {old: followed[start] for old, start in self.starts.items() if start in followed},
        )

    def section_now(self, section: Section) -> Section | None:
        """What `section` of the base has become; None when it is gone."""
        if section.is_root:
            return self.current.sections[0]
        start = self.starts.get(section.heading_start)
        return next((found for found in _headed(self.current) if found.heading_start == start), None)

    def section_before(self, section: Section) -> Section | None:
        """The section of the base that `section` was; None when an edit made it."""
        if section.is_root:
            return self.base.sections[0]
        old = next((old for old, start in self.starts.items() if start == section.heading_start), None)
        return next((found for found in _headed(self.base) if found.heading_start == old), None)

    def span_now(self, span: Span) -> Span | None:
        """Where the text of `span` is, or what was written in its place; None where an edit cut it."""
        start = self.edits.map_offset(span.start, after=True)
        start = self.edits.map_offset(span.start) if start is None else start
        end = start if not len(span) else self.edits.map_offset(span.end)
        if start is None or end is None or end < start:
            return None
        return Span(start, end)


def _headed(outline: Outline) -> Iterator[Section]:
    return (section for section in outline.every_section() if section.heading)


def _followed(step: BuiltFile) -> dict[int, int]:
    """Where the headings of the base of one step start in its result, by where they started.

    A heading stays the same when its own line is rewritten, and when its section moves.
    """
    followed: dict[int, int] = dict(_moved(step))
    for section in _headed(step.base):
        start = section.heading_start
        after = step.edits.map_offset(start, after=True)
        now = _rewritten(step, section) if after is None else _start_of_line(step, start, after)
        if start not in followed and now is not None and step.result.heading_at(now) is not None:
            followed[start] = now
    return followed


def _start_of_line(step: BuiltFile, start: int, after: int) -> int:
    """Where the heading that began at `start` begins now; `after` is where its first character is.

    Something may have been put before that, into the same line: a mark of a deeper level.
    """
    before = step.edits.map_offset(start)
    found = step.result.heading_at(before)
    is_in_line = found is not None and found.heading is not None and after < found.heading.span.end
    return before if before is not None and is_in_line else after


def _rewritten(step: BuiltFile, section: Section) -> int | None:
    """Where a heading starts whose first characters an edit took or wrote anew; None where all of it went."""
    assert section.heading is not None
    start, end = section.heading_start, section.heading.span.end
    edit = next(edit for edit in step.edits if edit.span.start <= start < edit.span.end)
    is_removed = edit.span.start < start or (not edit.new_text and edit.span.end >= end)
    return None if is_removed else step.edits.map_offset(start)


def _moved(step: BuiltFile) -> Iterator[tuple[int, int]]:
    """The headings of a section that moved: its text has as many as before, in the same order."""
    (item,) = step.resolved
    section = item.resolution.section
    if item.resolution.destination is None or section is None:
        return
    written = [span.start for span in step.written.get(item.index, ()) if len(span)]
    start = written[0] if item.resolution.insertions else step.edits.map_offset(section.span.start)
    members = [step.base.sections[index].heading_start for index in step.base.members(section)]
    headings = [found.heading_start for found in step.result.sections[1:]]
    first = bisect_left(headings, start or 0)
    found = headings[first : first + len(members)]
    # With `allowOutlineChange` an open fence may have swallowed what moved: then there is nothing to follow.
    if len(found) == len(members) and step.result.section_at(found[0]).span.start == start:
        yield from zip(members, found, strict=True)
