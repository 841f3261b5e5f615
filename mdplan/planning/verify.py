"""Verify a plan: the result keeps its outline and tables, and no two edits contradict each other."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, TypeAlias

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.block_tree import is_left_open
from mdplan.markdown.blocks import Block, BlockKind
from mdplan.markdown.headings import folded
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.planning import build
from mdplan.requests.batch import Batch
from mdplan.text.edit import TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span, overlapping
from mdplan.text.visible import first_few
from mdplan.values import Struct
from mdplan.words import either, say

_MOST_LISTED = 5
_COMMENT = "<!--"
_WHOLE_FILE_EFFECTS = frozenset({"create", "delete"})
_FoldedPath = tuple[str, ...]


def verify(built: build.BuiltFile, batch: Batch) -> Problems:
    """Return everything that the result loses, gains, moves or repeats without having been asked to.

    Errors: OUTLINE_CHANGED, DUPLICATE_HEADING; the batch's `allow…` options silence them.
    """
    return verify_outline(built, batch) + verify_paths(built, batch)


def verify_outline(built: build.BuiltFile, batch: Batch) -> Problems:
    """Return OUTLINE_CHANGED for headings, front matter and regions that come, go or move unasked."""
    # A file that comes or goes as a whole has no outline to keep.
    if (
        not built.edits
        or batch.allow_outline_change
        or built.file.requested.file_effect in _WHOLE_FILE_EFFECTS
    ):
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


def verify_paths(built: build.BuiltFile, batch: Batch) -> Problems:
    """Return DUPLICATE_HEADING for heading paths that repeat more often than in the base."""
    if (
        not built.changed_areas
        or batch.allow_duplicate_headings
        or built.file.requested.file_effect in _WHOLE_FILE_EFFECTS
    ):
        return ()
    return tuple(problem.at(file=built.file.path) for problem in _repeated_paths(built, _PlaceIndex(built)))


class _PlaceIndex:
    """Where headings of the base are in the result, and which changes of the outline edits intend.

    Line edits write Markdown source: an edit that writes or removes a heading changes what is below it, and
    an edit that writes both fences of a code block intends what is between them. An edit that writes only one
    end of a block swallows text by accident.
    """

    def __init__(self, built: build.BuiltFile) -> None:
        self.edits = built.edits
        self.base, self.result = built.base, built.result
        changing = [item.resolution for item in built.resolved if item.resolution.may_change_outline]
        self.parents_may_change = bool(changing)
        self.relevelled = frozenset(
            index for resolution in changing for claim in resolution.claims for index in claim.takes
        )
        items = [item for item in built.resolved if item.operation.edits_source]
        self._taken = [
            edit.span for item in items if item.outline is built.base for edit in item.resolution.edits
        ]
        self._intended = [span for item in items for span in built.written.get(item.index, ())]

    def in_result(self, offset: int) -> int | None:
        """Return where the start `offset` of a heading of the base is in the result.

        It moves after text that is inserted there, unless that becomes a part of the heading: of its first
        line, since lines that are inserted above are not what the heading said.
        """
        after = self.edits.map_offset(offset, after=True)
        if after is not None:
            starts_line = after == 0 or self.result.source.text[after - 1] in "\r\n"
            if starts_line or self.result.heading_at(after) is not None:
                return after
        before = self.edits.map_offset(offset)
        grown = self.result.heading_at(before)
        if grown is None or grown.is_root:
            return after
        # A heading that was inserted whole is another one.
        is_whole = after is not None and grown.body.start <= after
        return after if is_whole else before

    def end_in_result(self, offset: int) -> int:
        """Return where the end `offset` of a heading of the base is in the result, at least."""
        end = self.edits.map_offset(offset)
        if end is not None:
            return end
        return self.edits.result_spans[bisect_right(self.edits.edits, offset, key=_start) - 1].end

    def is_written(self, text: Span) -> bool:
        """Return True if all of `text`, in the result, was written by one edit."""
        written = overlapping(self.edits.result_spans, text)
        return written is not None and written.contains(text)

    def is_same_parent(self, parent: Section | None, now: Section | None) -> bool:
        """Return True if a heading below `parent` in the base may be below `now` in the result.

        It may if an edit wrote `now`, but not in place of the same heading at another level.
        """
        was = -1 if parent is None or parent.is_root else self.in_result(parent.heading_start)
        if was == (-1 if now is None or now.is_root else now.heading_start):
            return True
        if now is None or now.is_root or not self._writes(self.result.heading_span(now)):
            return False
        title = folded(now.title)
        taken = (section for span in self._taken for section in self.base.headings_in(span))
        return all(folded(section.title) != title for section in taken)

    def explain_loss(self, start: int | None) -> bool:
        """Return True if the text at `start` of the result is in a block of which both ends were written."""
        block = None if start is None else self.result.tree.leaf_at(start)
        if block is None or block.kind not in _SWALLOWING or is_left_open(block, self.result.source.text):
            return False
        return all(map(self._writes, _fences(self.result, block.span)))

    def explain_gain(self, start: int | None) -> bool:
        """Return True if the text at `start` of the base was in a block that is gone or was never closed.

        An open block swallowed text by mistake, so an edit that closes it frees that text on purpose.
        """
        block = None if start is None else self.base.tree.leaf_at(start)
        if block is None or block.kind not in _SWALLOWING:
            return False
        if is_left_open(block, self.base.source.text):
            return not _is_open(self.result)
        return all(map(self._takes, _fences(self.base, block.span)))

    def explain_front_matter(self) -> bool:
        """Return True if the front matter appears with a written fence, or disappears with its fences.

        New front matter must have keys, because text between two thematic breaks is not front matter.
        """
        had, has = self.base.front_matter, self.result.front_matter
        if has is not None and had is None:
            # Most edits touch no front matter, and this loads a YAML parser.
            from mdplan.data.content import DataContent

            content = self.result.front_matter_content
            is_mapping = isinstance(content, DataContent) and bool(content.values)
            return is_mapping and any(map(self._writes, _fences(self.result, has.span)))
        return had is not None and all(map(self._takes, _fences(self.base, had.span)))

    def _takes(self, span: Span) -> bool:
        return any(taken.overlaps(span) for taken in self._taken)

    def _writes(self, span: Span) -> bool:
        return any(written.contains(span) for written in self._intended)


_SWALLOWING: Final = frozenset({BlockKind.FENCE, BlockKind.HTML})


def _start(edit: TextEdit) -> int:
    return edit.span.start


def _is_open(outline: Outline) -> bool:
    """Return True if the last block of `outline` has no end."""
    last = outline.tree.last_root
    return last is not None and is_left_open(last, outline.source.text)


def _fences(outline: Outline, span: Span) -> Iterator[Span]:
    """Yield the first and the last line of `span`, without line ends."""
    lines = outline.source.lines
    for offset in (span.start, span.end - 1):
        line = lines.line_at(offset)
        yield Span(lines.start(line), lines.content_end(line))


def _compared_headings(
    built: build.BuiltFile, places: _PlaceIndex
) -> tuple[Iterable[Section], Iterable[Section]]:
    """Return sections of the base and of the result that may have changed.

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
    built: build.BuiltFile, sections: Iterable[Section], places: _PlaceIndex
) -> Iterator[Diagnostic]:
    base, result = built.base, built.result
    lost = [
        section
        for section in sections
        if not section.is_root and not places.edits.touching(base.heading_span(section))
        if not _is_kept_section(base, result, section, places)
    ]
    if lost:
        yield _outline_changed(
            base,
            lost,
            "would vanish, or get another level or parent",
            "an edit turns text around them into code, a comment, or a heading",
        )


def _is_kept_section(base: Outline, result: Outline, section: Section, places: _PlaceIndex) -> bool:
    start = places.in_result(section.heading_start)
    heading = result.heading_at(start)
    if heading is None or heading.is_root:
        return places.explain_loss(start)
    may_be_relevelled = section.index in places.relevelled and not section.nested
    if (heading.level != section.level and not may_be_relevelled) or heading.nested != section.nested:
        return False
    return places.parents_may_change or places.is_same_parent(base.parent(section), result.parent(heading))


def _headings_gained(
    built: build.BuiltFile, old: Iterable[Section], new_sections: Iterable[Section], places: _PlaceIndex
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
            if is_gained and not places.explain_gain(built.edits.unmap_offset(new.start)):
                gained.append(section)
    if gained:
        yield _outline_changed(
            result,
            gained,
            "of the result would come from text that was no heading",
            "close fences and comments, and keep a blank line before lines of dashes or equals signs",
        )


def _outline_changed(outline: Outline, sections: Sequence[Section], problem: str, why: str) -> Diagnostic:
    headings = _at_lines("heading", [section.heading_line for section in sections])
    return Code.OUTLINE_CHANGED.problem(
        f"the {headings} {problem}",
        say("{}; if that is wanted, {send allowOutlineChange=true}", why),
        place=outline.source.lines.position(sections[0].heading_start),
    )


def _at_lines(noun: str, lines: Sequence[int]) -> str:
    listed = first_few(lines, _MOST_LISTED)
    return f"{noun} at line {listed}" if len(lines) == 1 else f"{noun}s at lines {listed}"


def _swallowed(built: build.BuiltFile) -> Iterator[Diagnostic]:
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
                yield Code.OUTLINE_CHANGED.problem(
                    f"the new text would be inside the {block.kind} that starts at line "
                    f"{block.first_line} and is not closed",
                    "close it first, in a separate edit",
                    edit_index=item.index,
                )
    yield from _left_open(built)


def _left_open(built: build.BuiltFile) -> Iterator[Diagnostic]:
    if (built.changed and built.result.ends_as_before) or not _is_open(built.result) or _is_open(built.base):
        return
    last = built.result.tree.last_root
    assert last is not None, "it is open"
    yield Code.OUTLINE_CHANGED.problem(
        f"the {last.kind} at line {last.first_line} of the result would be left open",
        "close the fence, comment or tag",
        place=built.result.source.lines.position(last.span.start),
    )


def _frame_changed(built: build.BuiltFile) -> Iterator[Diagnostic]:
    """Front matter or region markers that come or go."""
    had, has = built.base.front_matter, built.result.front_matter
    start = built.base.unrecognised_front_matter
    if start is not None and any(edit.span.end <= start and edit.new_text.strip() for edit in built.edits):
        yield Code.FRONT_MATTER_INVALID.problem(
            "text would come above what looks like front matter, which then is text",
            say("correct its first line, or edit the lines themselves with {replace_lines}"),
            place=built.base.source.lines.position(start),
        )
    intended = [item.resolution.data for item in built.resolved if item.resolution.data]
    may_go, may_come = any(data.removes for data in intended), any(data.creates for data in intended)
    if had and has and may_go:
        yield Code.OUTLINE_CHANGED.problem(
            "what follows the front matter would become front matter",
            "put another line before it first, in a separate edit",
        )
    is_created, is_removed = had is None and has is not None, had is not None and has is None
    is_unasked = (is_created and not may_come) or (is_removed and not may_go)
    if is_unasked and not _PlaceIndex(built).explain_front_matter():
        yield Code.OUTLINE_CHANGED.problem(
            "the front matter would " + ("vanish" if had else "appear where there was none"),
            "leave the first lines and the fences of the front matter as they are",
        )
    if not _may_change_comments(built):
        return
    from mdplan.markdown.enclosure_search import find_regions

    # Who deletes both markers at once means the region.
    deleted = [edit.span for edit in built.edits if not edit.new_text.strip()]
    before = Counter(
        region.name
        for region in find_regions(built.base).pairs
        if not any(
            span.start <= region.start.span.start and region.end.span.end <= span.end for span in deleted
        )
    )
    if not before:
        return
    after = Counter(region.name for region in find_regions(built.result).pairs)
    for name in sorted(before - after):
        yield Code.OUTLINE_CHANGED.problem(
            f"the region `{name}` would lose one of its markers",
            say("keep both marker comments, or use {delete_region}"),
        )


def _may_change_comments(built: build.BuiltFile) -> bool:
    """Return True if a comment may have come or gone: all other text is what it was."""
    if built.changed is None:
        return True
    base, result = built.base.source.text, built.result.source.text
    return any(
        base.find(_COMMENT, old.start, old.end) >= 0 or result.find(_COMMENT, new.start, new.end) >= 0
        for old, new in built.changed
    )


def _repeated_paths(built: build.BuiltFile, places: _PlaceIndex) -> Iterator[Diagnostic]:
    """Heading paths that repeat more often than in the base; renaming a parent makes no new repetition."""
    before, after = (
        Counter(_folded_path(section) for section in outline.repeated if not section.nested)
        for outline in (built.base, built.result)
    )
    # A unique path in the base counts as one.
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
            yield Code.DUPLICATE_HEADING.problem(
                f"the heading at line {section.heading_line} of the result repeats a heading path",
                either(
                    "use another heading, or edit the section that exists",
                    say("to allow it, {send allowDuplicateHeadings=true}"),
                    joint="; ",
                ),
                place=built.result.source.lines.position(section.heading_start),
            )


def _folded_path(section: Section) -> _FoldedPath:
    return tuple(folded(element) for element in section.path)


# --- Tables that edits around or inside their rows would tear

# What is before the first row of a table in quotes and list items.
_MARKS: Final = lazy_pattern(r"(?:[ \t>]|[-+*][ \t]|\d{1,9}[.)][ \t])*")
_CELL_END: Final = lazy_pattern(r"(?<!\\)\|")


class _Row(Struct):
    """A row of a table of the base, its line end left away; `place` is 0 for the header, 1 for the dashes."""

    line: int
    place: int
    span: Span


def torn_tables(built: build.BuiltFile) -> Problems:
    """Return OUTLINE_CHANGED for rows that no edit replaces whole, and that would vanish or lose cells.

    A row that stays as it is must be a row of a table, and the header and the dashes what they were. A row
    that is changed in part must not get more cells than its table has columns, and no line break.
    """
    tables = (block for area in built.changed_areas for block in built.base.tree.tables_in(area))
    lost = [row for block in tables for row in _lost_rows(built, block)]
    if not lost:
        return ()
    rows = _at_lines("row", [row.line for row in lost])
    return (
        Code.OUTLINE_CHANGED.problem(
            f"the {rows} would fall out of the table, or lose cells",
            say(
                "keep header, dashes and one row in each line; write `\\|` for a pipe in a cell; if that "
                "is wanted, {send allowOutlineChange=true}"
            ),
            place=built.base.source.lines.position(lost[0].span.start),
        ),
    )


def _rows(outline: Outline, block: Block) -> Iterator[_Row]:
    lines = outline.source.lines
    for place, line in enumerate(range(block.first_line, block.last_line + 1)):
        yield _Row(line, place, Span(lines.start(line), lines.content_end(line)))


def _lost_rows(built: build.BuiltFile, block: Block) -> Iterator[_Row]:
    for row in _rows(built.base, block):
        # A line without a pipe became a row because no blank line is above it: no harm if it is text again.
        if len(block.cells) > 1 and not _CELL_END.search(built.base.text_of(row.span)):
            continue
        touching = built.edits.touching(row.span)
        # An edit may replace the whole row, or an end of it with more than the row.
        is_replaced = any(
            each.span.contains(row.span) or not row.span.contains(each.span) for each in touching
        )
        if not is_replaced and not _is_kept_row(built, block, row, touching):
            yield row


def _is_kept_row(built: build.BuiltFile, block: Block, row: _Row, edits: Sequence[TextEdit]) -> bool:
    result = built.result
    start = built.edits.map_offset(row.span.start, after=not edits or edits[0].span.start > row.span.start)
    if start is None:
        return True
    lines = result.source.lines
    line = lines.line_at(start)
    if not edits and lines.start(line) != start:
        # Text was put before it, into its line.
        return True
    table = result.tree.leaf_at(lines.start(line)) or result.tree.leaf_at(start)
    if table is None or table.kind is not BlockKind.TABLE:
        return False
    if min(line - table.first_line, 2) != min(row.place, 2):
        return False
    if not edits:
        return len(table.cells) >= len(block.cells) or row.place > 0
    before = _cells(built.base.text_of(row.span))
    after = _cells(lines.content(line))
    has_break = any("\n" in edit.new_text or "\r" in edit.new_text for edit in edits)
    # A row that has too many cells gets one more where the table gets a column.
    before_or_more = before + max(len(table.cells) - len(block.cells), 0)
    return not (after > max(before_or_more, len(table.cells)) or (has_break and after < before))


def _cells(row: str) -> int:
    text = _MARKS.sub("", row, count=1).strip(" \t")
    return len(_CELL_END.findall(text)) + 1 - text.startswith("|") - (text.endswith("|") and len(text) > 1)


# --- Conflicts between edits, by their claims instead of their changed bytes


def find_conflicts(file: build.SnapshotFile, resolved: Sequence[build.ResolvedEdit]) -> Problems:
    """Return CONFLICTING_EDITS for every two edits that cannot both be made, naming both.

    Two edits conflict if their claims overlap; if one owns text in a section that the other deletes,
    replaces, moves or re-levels, or whose heading it overwrites; or if their named parts are equal or nested.
    An insertion strictly inside the span of another edit overlaps it; at its edge it does not.
    """
    lines = file.outline.source.lines
    by_pair: dict[frozenset[int], Diagnostic] = {}
    for index, other, span, why in chain(_on_sections(file, resolved), _on_text(file, resolved)):
        by_pair.setdefault(
            frozenset((index, other)),
            Code.CONFLICTING_EDITS.problem(
                why, build.TOGETHER, file=file.path, edit_index=index, place=lines.position(span.start)
            ),
        )
    in_two_formats = (problem.at(file=file.path) for problem in build.created_twice(resolved, file.numbers))
    return (*by_pair.values(), *in_two_formats)


# An edit and another one, by index, what the first one claims, and the reason why they conflict.
_Conflict: TypeAlias = tuple[int, int, Span, str]


def _on_sections(file: build.SnapshotFile, resolved: Sequence[build.ResolvedEdit]) -> Iterator[_Conflict]:
    """Yield edits of a section that another one takes whole, or over whose heading it writes."""
    claims = [(edit.index, claim) for edit in resolved for claim in edit.resolution.claims]
    taken: dict[int, tuple[int, str]] = {}
    for index, claim in claims:
        for section in claim.takes:
            taken.setdefault(section, (index, claim.verb))
    for index, claim in claims:
        owner = () if claim.owner is None else (claim.owner,)
        for section in (*claim.takes, *owner):
            other, verb = taken.get(section, (index, ""))
            if other != index:
                line, named = file.outline.sections[section].first_line, file.numbers.named
                why = f"{named(other)} {verb} the section at line {line}, which {named(index)} changes too"
                yield index, other, claim.span, why
                break
    written = sorted(((claim.span, index) for index, claim in claims if len(claim.span)), key=_by_place)
    inserting = {edit.index for edit in resolved if edit.resolution.insertions}
    for index, claim in claims if written else ():
        if index not in inserting or claim.owner is None or len(claim.span):
            continue
        inside = file.outline.sections[claim.owner]
        heading = file.outline.heading_span(inside)
        before = bisect_right(written, heading.start, key=lambda each: each[0].start) - 1
        span, other = written[before]
        if before >= 0 and other != index and not inside.is_root and span.contains(heading):
            named = file.numbers.named
            why = f"{named(other)} writes over the heading at line {inside.heading_line}, and "
            yield index, other, heading, f"{why}{named(index)} writes into its section"


def _on_text(file: build.SnapshotFile, resolved: Sequence[build.ResolvedEdit]) -> Iterator[_Conflict]:
    """Yield edits that claim the same part or nested parts, or overlap.

    Of those that overlap each with the furthest reaching edit that starts before it.
    """
    claims = [(claim, edit.index) for edit in resolved for claim in edit.resolution.claims]

    def conflict(index: int, other: int, span: Span) -> _Conflict:
        line = file.outline.source.lines.position(span.start).line
        return index, other, span, f"{file.numbers.listed((index, other))} both change line {line}"

    owners: dict[tuple[int | str, ...], int] = {}
    for claim, index in sorted(claims, key=lambda each: len(each[0].part)):
        around = (owners.get(claim.part[:depth], index) for depth in range(1, len(claim.part) + 1))
        other = next((each for each in around if each != index), None)
        if other is not None:
            yield conflict(index, other, claim.span)
        if claim.part:
            owners.setdefault(claim.part, index)
    widest: tuple[Span, int] | None = None
    for span, index in sorted(((claim.span, index) for claim, index in claims), key=_by_place):
        if widest is not None and span.start < widest[0].end and index != widest[1]:
            yield conflict(index, widest[1], span)
        if widest is None or span.end > widest[0].end:
            widest = (span, index)


def _by_place(claimed: tuple[Span, int]) -> tuple[int, int, int]:
    return claimed[0].start, claimed[0].end, claimed[1]
