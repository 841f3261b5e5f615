"""Verifies the parsed result of a plan: the promises of DESIGN section 7."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.block_tree import is_left_open
from mdplan.markdown.blocks import BlockKind
from mdplan.markdown.headings import folded
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.planning.build import BuiltFile
from mdplan.planning.intended_changes import IntendedChanges
from mdplan.planning.torn_tables import torn_tables
from mdplan.requests.batch import Batch
from mdplan.text.lines import Span

_LISTED = 5
_COMMENT = "<!--"
_WHOLE = frozenset({"create", "delete"})
_SWALLOWING = frozenset({BlockKind.FENCE, BlockKind.HTML})

_FoldedPath = tuple[str, ...]


def verify(built: BuiltFile, batch: Batch) -> Problems:
    """Everything that the result loses, gains, moves or repeats without having been asked to.

    Errors: OUTLINE_CHANGED, DUPLICATE_HEADING; the batch's `allow…` options silence them.
    """
    return verify_outline(built, batch) + verify_paths(built, batch)


def verify_outline(built: BuiltFile, batch: Batch) -> Problems:
    """OUTLINE_CHANGED for headings, front matter and regions that come, go or move unasked."""
    # A file that comes or goes as a whole has no outline to keep.
    if not built.edits or batch.allow_outline_change or built.file.requested.file_effect in _WHOLE:
        return ()
    places = _PlaceIndex(built)
    old, new = _compared_headings(built, places)
    old = list(old)
    problems = (
        *_headings_lost(built, old, places),
        *_headings_gained(built, old, new, places),
        *torn_tables(built),
        *_swallowed(built),
        *_frame_changed(built),
    )
    return tuple(problem.at(file=built.file.path) for problem in problems)


def verify_paths(built: BuiltFile, batch: Batch) -> Problems:
    """DUPLICATE_HEADING for heading paths that repeat more often than in the base."""
    if not built.edits or batch.allow_duplicate_headings or built.file.requested.file_effect in _WHOLE:
        return ()
    return tuple(problem.at(file=built.file.path) for problem in _repeated_paths(built, _PlaceIndex(built)))


class _PlaceIndex:
    """Where the headings of the base are in the result, and which of them an edit wrote into."""

    def __init__(self, built: BuiltFile) -> None:
        self._edits = built.edits
        self._spans = [edit.span for edit in built.edits]
        self._starts = [span.start for span in self._spans]
        self._written = built.edits.result_spans
        self._written_starts = [span.start for span in self._written]
        self.result = built.result
        self._result_text = built.result.source.text
        self.intended = IntendedChanges(built)
        intended = [item.resolution for item in built.resolved if item.resolution.may_change_outline]
        self.parents_may_change = bool(intended)
        self.relevelled = frozenset(
            index for resolution in intended for claim in resolution.claims for index in claim.takes
        )

    def is_touched(self, heading: Span) -> bool:
        """Whether an edit replaces text of `heading`, or inserts strictly inside it."""
        index = bisect_right(self._starts, heading.end) - 1
        while index >= 0 and self._spans[index].end >= heading.start:
            span = self._spans[index]
            if span.overlaps(heading) or heading.start < span.start < heading.end:
                return True
            index -= 1
        return False

    def in_result(self, offset: int) -> int | None:
        """Where the start `offset` of a heading of the base is in the result.

        It moves after text that is inserted there, unless that becomes a part of the heading: of its first
        line, since lines that are inserted above are not what the heading said.
        """
        after = self._edits.map_offset(offset, after=True)
        if after is not None and (self._starts_a_line(after) or self.result.heading_at(after) is not None):
            return after
        before = self._edits.map_offset(offset)
        grown = self.result.heading_at(before)
        if grown is None or grown.is_root:
            return after
        # A heading that was inserted whole is another one.
        is_whole = after is not None and grown.body.start <= after
        return after if is_whole else before

    def _starts_a_line(self, offset: int) -> bool:
        return offset == 0 or self._result_text[offset - 1] in "\r\n"

    def end_in_result(self, offset: int) -> int:
        """Where the end `offset` of a heading of the base is in the result, at least."""
        end = self._edits.map_offset(offset)
        if end is not None:
            return end
        return self._written[bisect_right(self._starts, offset) - 1].end

    def is_written(self, text: Span) -> bool:
        """Whether all of `text`, in the result, was written by one edit."""
        index = bisect_right(self._written_starts, text.start) - 1
        return index >= 0 and text.end <= self._written[index].end


def _compared_headings(built: BuiltFile, places: _PlaceIndex) -> tuple[Iterable[Section], Iterable[Section]]:
    """Sections of the base and of the result that may have changed.

    Outside what was scanned again a heading is what it was, and so is its parent while the headings that
    were scanned again are as many as before, with the same levels, each in the place of one.
    """
    base, result = built.base, built.result
    old: list[Section] = []
    new: list[Section] = []
    for before, after in built.changed or ():
        old += base.headings_in(before)
        new += result.headings_in(after)
    is_alike = built.changed is not None and len(old) == len(new)
    if is_alike and all(
        (was.level, was.nested, places.in_result(was.heading_start))
        == (now.level, now.nested, now.heading_start)
        for was, now in zip(old, new, strict=True)
    ):
        return old, new
    return base.every_section(), result.every_section()


def _headings_lost(
    built: BuiltFile, sections: Iterable[Section], places: _PlaceIndex
) -> Iterator[Diagnostic]:
    base, result = built.base, built.result
    lost = [
        section
        for section in sections
        if not section.is_root and not places.is_touched(base.heading_span(section))
        if not _is_kept(base, result, section, places)
    ]
    if lost:
        yield _outline_changed(
            base,
            lost,
            "would vanish, or get another level or parent",
            "an edit turns text around them into code, a comment, or a heading",
        )


def _is_kept(base: Outline, result: Outline, section: Section, places: _PlaceIndex) -> bool:
    start = places.in_result(section.heading_start)
    found = result.heading_at(start)
    if found is None or found.is_root:
        return places.intended.explain_loss(start)
    may_be_relevelled = section.index in places.relevelled and not section.nested
    if (found.level != section.level and not may_be_relevelled) or found.nested != section.nested:
        return False
    if places.parents_may_change:
        return True
    parent, found_parent = base.parent(section), result.parent(found)
    has_none = parent is None or parent.is_root
    if parent is None or found_parent is None or has_none or found_parent.is_root:
        is_same = has_none and (found_parent is None or found_parent.is_root)
    else:
        is_same = places.in_result(parent.heading_start) == found_parent.heading_start
    return is_same or places.intended.explain_parent(found_parent)


def _headings_gained(
    built: BuiltFile, old: Iterable[Section], new_sections: Iterable[Section], places: _PlaceIndex
) -> Iterator[Diagnostic]:
    base, result = built.base, built.result
    known = {
        start: places.end_in_result(base.heading_span(section).end)
        for section in old
        if not section.is_root and (start := places.in_result(section.heading_start)) is not None
    }
    gained = []
    for section in new_sections:
        if not section.is_root:
            text = result.heading_span(section)
            # A heading of the base may have become longer, but not by other lines of the base.
            new = Span(min(known.get(text.start, text.start), text.end), text.end)
            is_gained = len(new) and not places.is_written(new)
            if is_gained and not places.intended.explain_gain(built.edits.unmap_offset(new.start)):
                gained.append(section)
    if gained:
        yield _outline_changed(
            result,
            gained,
            "of the result would come from text that was no heading",
            "close fences and comments, and keep a blank line before lines of dashes or equals signs",
        )


def _outline_changed(outline: Outline, sections: Sequence[Section], what: str, why: str) -> Diagnostic:
    lines = [section.heading_line for section in sections]
    listed = ", ".join(map(str, lines[:_LISTED])) + (", …" if len(lines) > _LISTED else "")
    noun = "heading at line" if len(lines) == 1 else "headings at lines"
    return Diagnostic(
        code=Code.OUTLINE_CHANGED,
        message=f"the {noun} {listed} {what}",
        hint=f'{why}; if that is wanted, send `"allowOutlineChange": true`',
        place=outline.source.lines.position(sections[0].heading_start),
    )


def _swallowed(built: BuiltFile) -> Iterator[Diagnostic]:
    """Inserted blocks that landed inside a fence or comment, and blocks that an edit left open."""
    result = built.result
    for item in (*built.resolved, *built.arriving_edits):
        if not item.resolution.insertions:
            continue
        for span in built.written.get(item.index, ()):
            block = result.tree.root_at(span.start)
            if block is None or block.span.start >= span.start:
                continue
            if block.kind in _SWALLOWING:
                yield Diagnostic(
                    code=Code.OUTLINE_CHANGED,
                    message=f"the new text would be inside the {block.kind} that starts at line "
                    f"{block.first_line} and is not closed",
                    hint="close it first, in a separate edit",
                    edit_index=item.index,
                )
    yield from _left_open(built)


def _left_open(built: BuiltFile) -> Iterator[Diagnostic]:
    if built.changed and built.result.ends_as_before:
        return
    last = built.result.tree.last_root
    if last is None or not is_left_open(last, built.result.source.text):
        return
    base_last = built.base.tree.last_root
    if base_last is not None and is_left_open(base_last, built.base.source.text):
        return
    yield Diagnostic(
        code=Code.OUTLINE_CHANGED,
        message=f"the {last.kind} at line {last.first_line} of the result would be left open",
        hint="close the fence, comment or tag",
        place=built.result.source.lines.position(last.span.start),
    )


def _frame_changed(built: BuiltFile) -> Iterator[Diagnostic]:
    """Front matter or region markers that come or go."""
    had, has = built.base.front_matter, built.result.front_matter
    intended = [item.resolution.data for item in built.resolved if item.resolution.data]
    may_go, may_come = any(each.removes for each in intended), any(each.creates for each in intended)
    if had and has and may_go:
        yield Diagnostic(
            code=Code.OUTLINE_CHANGED,
            message="what follows the front matter would become front matter",
            hint="put another line before it first, in a separate edit",
        )
    is_created, is_removed = had is None and has is not None, had is not None and has is None
    is_unasked = (is_created and not may_come) or (is_removed and not may_go)
    if is_unasked and not IntendedChanges(built).explain_front_matter():
        yield Diagnostic(
            code=Code.OUTLINE_CHANGED,
            message="the front matter would " + ("vanish" if had else "appear where there was none"),
            hint="leave the first lines and the fences of the front matter as they are",
        )
    if not _may_change_comments(built):
        return
    from mdplan.markdown.enclosure_search import find_regions

    before = Counter(region.name for region in find_regions(built.base).pairs)
    if not before:
        return
    after = Counter(region.name for region in find_regions(built.result).pairs)
    for name in sorted(before - after):
        yield Diagnostic(
            code=Code.OUTLINE_CHANGED,
            message=f"the region `{name}` would lose one of its markers",
            hint="keep both marker comments",
        )


def _may_change_comments(built: BuiltFile) -> bool:
    """Whether a comment may have come or gone: all other text is what it was."""
    if built.changed is None:
        return True
    base, result = built.base.source.text, built.result.source.text
    return any(
        base.find(_COMMENT, old.start, old.end) >= 0 or result.find(_COMMENT, new.start, new.end) >= 0
        for old, new in built.changed
    )


def _repeated_paths(built: BuiltFile, places: _PlaceIndex) -> Iterator[Diagnostic]:
    """Heading paths that repeat more often than in the base; renaming a parent makes no new repetition."""
    before, after = (
        Counter(_folded_path(section) for section in outline.repeated if not section.nested)
        for outline in (built.base, built.result)
    )
    # What is alone in the base counts as one in any case.
    if all(count <= max(before[path], 1) for path, count in after.items()):
        return
    repeating = [(section, _folded_path(section)) for section in built.result.repeated if not section.nested]
    now = {section.heading_start for section, _ in repeating}
    starts = [start for start in built.base.heading_starts if places.in_result(start) in now]
    origins = {
        places.in_result(section.heading_start): _folded_path(section)
        for section in map(built.base.heading_at, starts)
        if section is not None and not section.nested
    }
    came_from: defaultdict[_FoldedPath, Counter[_FoldedPath]] = defaultdict(Counter)
    for section, path in repeating:
        if section.heading_start in origins:
            came_from[path][origins[section.heading_start]] += 1
    for section, path in repeating:
        repeated = max(1, before[path], *came_from[path].values())
        if section.ordinal == repeated + 1 and after[path] > repeated:
            yield Diagnostic(
                code=Code.DUPLICATE_HEADING,
                message=f"the heading at line {section.heading_line} of the result repeats a heading path",
                hint="use another heading, or edit the section that exists; to allow it, send "
                '`"allowDuplicateHeadings": true`',
                place=built.result.source.lines.position(section.heading_start),
            )


def _folded_path(section: Section) -> _FoldedPath:
    return tuple(folded(element) for element in section.path)
