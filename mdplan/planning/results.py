"""Describe a plan: the result of each edit, warnings about the whole, and reports after a write."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.blocks import BlockKind
from mdplan.markdown.enclosures import may_have_tags
from mdplan.markdown.headings import SectionId
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.operations.base import MatchReport
from mdplan.plan import EditResult, FileChange, MatchResult, Plan, Range
from mdplan.planning.build import BuildResult, BuiltFile, ResolvedEdit
from mdplan.planning.plan_document import effects_of, new_plan
from mdplan.reports.plan import ContextBlock, FileReport, LineShift, WrittenFile
from mdplan.requests.batch import Batch, normalized_edits
from mdplan.text.diff import ChangedLines, DiffStat, DiffText, changed_lines, kept_lines
from mdplan.text.edit import EditList
from mdplan.text.lines import LineIndex, Lines, Position, Span, lines_of, overlapping, to_lf
from mdplan.text.source import Source, visible
from mdplan.values import replace

if TYPE_CHECKING:
    from mdplan.markdown.tables import TableSource


MOST_MATCHES = 50
_MATCH_TEXT = 200


def edit_results(built_files: Sequence[BuiltFile]) -> tuple[EditResult, ...]:
    """Return one result for each edit of `built_files`, in batch order."""
    arrived = {item.index: (built, item) for built in built_files for item in built.arriving_edits}
    results: list[EditResult] = []
    hashes: dict[tuple[str, SectionId], str] = {}
    for built in built_files:
        for item in built.resolved:
            result = _edit_result(built, item, hashes)
            if item.index in arrived:
                # What it does in the file to which it moves text.
                there, arriving = arrived[item.index]
                moved = _edit_result(there, arriving, hashes)
                result = replace(
                    result,
                    to_file=moved.file,
                    result_lines=moved.result_lines,
                    new_section_id=moved.new_section_id,
                    new_section_sha256=moved.new_section_sha256,
                    warnings=(*result.warnings, *moved.warnings),
                )
            results.append(result)
    return tuple(results)


def _edit_result(
    built: BuiltFile, item: ResolvedEdit, hashes: dict[tuple[str, SectionId], str]
) -> EditResult:
    """Return what `item` does in the file `built`; `hashes` are those of sections of the results."""
    resolution, operation = item.resolution, item.operation
    matches, section = resolution.matches, resolution.section
    written = built.written.get(item.index, ())
    changes_text = resolution.edits or resolution.deletions or resolution.insertions
    makes_or_moves_file = operation.file_effect in {"create", "delete"} or (
        operation.file_effect == "rename" and built.file.new_path is not None
    )
    made = _made_section(built, item)
    after = made or _same_section(built, item)
    if after is not None and (built.file.path, after.section_id) not in hashes:
        hashes[built.file.path, after.section_id] = built.result.section_sha256(after)
    is_other = after is not None and (
        made is not None or section is None or after.section_id != section.section_id
    )
    return EditResult(
        edit_index=item.index,
        op=operation.op,
        file=built.file.path,
        no_op=not (makes_or_moves_file or changes_text or (resolution.second_pass and written)),
        ranges=tuple(_range(item.outline, claim.span) for claim in resolution.claims[:MOST_MATCHES]),
        result_lines=_lines(built.result, written[:MOST_MATCHES]),
        section_id=section.section_id if section else None,
        new_section_id=after.section_id if after is not None and is_other else None,
        new_section_sha256=hashes[built.file.path, after.section_id] if after is not None else None,
        matches_found=matches.found if matches else None,
        matches_replaced=matches.replaced if matches else None,
        matches=_matches(item.outline, matches) if matches else (),
        excluded_matches=dict(matches.excluded) if matches else None,
        line_ends_normalized=(matches.line_ends_normalized or None) if matches else None,
        hunk_offsets=resolution.hunk_offsets if any(resolution.hunk_offsets) else None,
        warnings=tuple(
            warning.at(file=built.file.path, edit_index=item.index) for warning in resolution.warnings
        ),
    )


def _matches(base: Outline, report: MatchReport) -> tuple[MatchResult, ...]:
    results: list[MatchResult] = []
    for match in report.matches[:MOST_MATCHES]:
        match_range = _range(base, match.span)
        text = base.source.text[match.span.start : min(match.span.end, match.span.start + _MATCH_TEXT)]
        results.append(
            MatchResult(
                line=match_range.start.line, col=match_range.start.col, text=visible(text), range=match_range
            )
        )
    return tuple(results)


def _range(outline: Outline, span: Span) -> Range:
    lines = outline.source.lines
    return Range(start=lines.position(span.start), end=lines.position(span.end))


def _lines(result: Outline, written: Sequence[Span]) -> tuple[Lines, ...]:
    lines = result.source.lines
    return tuple(
        Lines(start=lines.line_at(span.start), end=lines.line_at(max(span.start, span.end - 1)))
        for span in written
    )


# --- From built files to the plan, and from a plan to its report


def plan_of(build: BuildResult, batch: Batch, *, is_part: bool = False) -> Plan:
    """Return the plan that makes the files `build` of `batch`, with the warnings about the whole.

    A plan that becomes a part of another one gets no ID.
    """
    built_files = build.files
    warnings: list[Diagnostic] = []
    for built in built_files:
        for find in _CHECKS:
            warnings += (warning.at(file=built.file.path) for warning in find(built))
        warnings += built.warnings
    return new_plan(
        files=tuple(_file_change(built) for built in built_files),
        requested=tuple(normalized_edits(built.file.requested) for built in built_files),
        options=batch.options,
        effects=effects_of(built_files),
        results=edit_results(built_files),
        warnings=(*warnings, *build.warnings),
        intent=batch.intent,
        is_part=is_part,
    )


def report_fields(plan: Plan, diff: bytes | None) -> dict[str, Any]:
    """Return what every report on `plan` says, as the fields of a `PlanReport`; None if there is no diff."""
    files = tuple(FileReport.of(change) for change in plan.files)
    diff_text = DiffText.of(diff) if diff is not None else None
    only = files[0] if len(files) == 1 else None
    excluded = Counter[str]()
    matches: list[MatchResult] = []
    warnings: list[Diagnostic] = []
    applied_count = found_count = replaced_count = 0
    # Read once: the results of the plan of a manifest are on the disk.
    for result in plan.results:
        excluded.update(result.excluded_matches or {})
        matches += result.matches if only else ()
        warnings += result.warnings
        applied_count += not result.no_op
        found_count += result.matches_found or 0
        replaced_count += result.matches_replaced or 0
    return {
        "plan_id": plan.plan_id,
        "title": plan.intent.title or None,
        "description": plan.intent.description or None,
        "no_op": plan.is_no_op,
        "file": only.file if only else None,
        "base_sha256": only.base_sha256 if only else None,
        "files": files,
        "diff": diff_text.text if diff_text else None,
        "diff_exact": diff_text.exact if diff_text else None,
        "edits_applied": applied_count,
        "matches_found": found_count,
        "matches_replaced": replaced_count,
        "matches": tuple(matches[:MOST_MATCHES]) or None,
        "excluded_matches": dict(excluded),
        "edit_results": plan.results,
        "warnings": (*warnings, *plan.warnings),
    }


def _file_change(built: BuiltFile) -> FileChange:
    stat = DiffStat.of(built.hunks)
    # They tell which sections made a plan stale; irrelevant if it only changes front matter.
    is_above = bool(built.edits) and built.edits.edits[-1].span.end <= built.base.body_start
    has_sections = built.file.exists and not is_above
    return FileChange(
        path=built.file.path,
        encoding=built.file.requested.encoding,
        format=built.file.requested.format,
        base_sha256=built.base.source.sha256 if built.file.exists else None,
        result_sha256=None if built.file.is_deleted else built.result.source.sha256,
        edits=built.edits,
        lines_added=stat.added,
        lines_removed=stat.removed,
        base_sections=built.base.own_hashes() if has_sections else {},
        new_path=built.file.new_path,
        references_updated=built.references_updated,
    )


# --- Warnings about a result: deletions, merged lists, halves of tags, broken rows and front matter

_MANY_LINES: Final = 100


def large_deletions(built: BuiltFile) -> Iterator[Diagnostic]:
    """Yield LARGE_DELETION if a file loses more than 100 lines, or more than half of them.

    Ignores replaced lines, lines that the plan writes elsewhere, even in another file, and files deleted by
    name.
    """
    lines = built.base.source.lines
    if built.file.is_deleted or not _is_large(_most_that_go(built), lines.count):
        return
    gone = _lines_that_go(built) - _lines_that_leave(built)
    if _is_large(gone, lines.count):
        yield Code.LARGE_DELETION.warning(
            f"the file loses {gone} of its {lines.count} lines",
            "check in the diff that it removes only what you intended",
        )


def _is_large(gone: int, count: int) -> bool:
    return gone > _MANY_LINES or 2 * gone > count


def _most_that_go(built: BuiltFile) -> int:
    """Return an upper bound of the lost lines: the replaced newlines, and a last line without one."""
    replaced = (built.base.text_of(edit.span) for edit in built.edits if len(edit.span))
    return 1 + sum(text.count("\n") + text.count("\r") for text in replaced)


def _lines_that_go(built: BuiltFile) -> int:
    base, result = built.base.source.lines, built.result.source.lines
    changes = list(changed_lines(base, built.edits, result))
    shrinking = [change for change in changes if change.shrinks_by > 0]
    growing = [change for change in changes if change.shrinks_by < 0]
    gone = sum(change.shrinks_by for change in shrinking)
    taken = Counter(text for change in shrinking for text in _texts(base, change.old_start, change.old_end))
    written = Counter(text for change in growing for text in _texts(result, change.new_start, change.new_end))
    most_moved = -sum(change.shrinks_by for change in growing)
    return gone - min((taken & written).total(), most_moved, gone)


def _lines_that_leave(built: BuiltFile) -> int:
    """Count the lines that go to another file."""
    lines = built.base.source.lines
    return sum(
        lines.line_at(span.end) - lines.line_at(span.start)
        for item in built.resolved
        if item.resolution.export is not None
        for span in item.resolution.deletions
    )


def _texts(lines: LineIndex, start: int, end: int) -> Iterator[tuple[str, bool]]:
    """Yield lines ``[start, end)``; a blank line comes with the text before it, as blank lines look alike."""
    text = ""
    for line in range(start, end):
        content = lines.content(line)
        is_blank = not content.strip(" \t")
        text = text if is_blank else content
        yield text, is_blank


def merged_lists(built: BuiltFile) -> Iterator[Diagnostic]:
    """Yield LISTS_MERGED for lists of the result with several lists, or with other blocks, of the base.

    It is the same with blocks that an edit inserted.
    """
    # Where the batch has no edit, only destinations of links change, which are in lines that stay.
    if not (built.resolved or built.arriving_edits) or not built.edits or built.file.is_deleted:
        return
    lines, merged = built.result.source.lines, dict[int, list[int]]()
    for start, is_list in sorted(_starts(built)):
        root = built.result.tree.root_at(start)
        if root is None or root.kind is not BlockKind.LIST:
            continue
        if is_list:
            merged.setdefault(root.span.start, []).append(lines.line_at(start))
        elif root.span.start < start:
            yield Code.LISTS_MERGED.warning(
                f"the text at line {lines.line_at(start)} of the result is a part of the list above it",
                "indent it less, or put the comment `<!-- -->` on a separate line above it, to keep it apart",
                place=lines.position(start),
            )
    for start, first_lines in merged.items():
        if len(first_lines) > 1:
            yield Code.LISTS_MERGED.warning(
                f"the lists at lines {', '.join(map(str, first_lines))} of the result are one list",
                "put text between them, or the comment `<!-- -->` on a separate line, to keep them apart",
                place=lines.position(start),
            )


def _starts(built: BuiltFile) -> Iterator[tuple[int, bool]]:
    """Yield where blocks at top level start in the result, and whether they were lists.

    They are of the base, where edits may have changed them, or were inserted and are no lists.
    """
    roots = {
        block.span.start: block
        for area in built.changed_areas
        for block in built.base.tree.inside(area)
        if not block.depth
    }
    for block in roots.values():
        start = built.edits.map_offset(block.span.start, after=True)
        if start is not None:
            yield start, block.kind is BlockKind.LIST
    for item in built.resolved:
        payloads = [insertion.payload for insertion in item.resolution.insertions]
        for payload, written in zip(payloads, built.written.get(item.index, ()), strict=False):
            if payload.tree.roots and payload.tree.roots[0].kind is not BlockKind.LIST:
                yield written.start, False


def unbalanced_tags(built: BuiltFile) -> Iterator[Diagnostic]:
    """Yield UNBALANCED_TAG for each tag of the result without its other half, if the base has fewer of it."""
    changed_texts = (built.base.text_of(edit.span) + edit.new_text for edit in built.edits)
    if built.file.is_deleted or not any(map(may_have_tags, changed_texts)):
        return
    before = Counter(tag.name for tag in built.base.enclosures.unbalanced)
    for tag in built.result.enclosures.unbalanced:
        before[tag.name] -= 1
        if before[tag.name] < 0:
            half = "closing" if tag.opens else "opening"
            yield Code.UNBALANCED_TAG.warning(
                f"the tag at line {tag.line} of the result has no {half} tag",
                f"write the {half} tag, or take this one away",
                place=built.result.source.lines.position(tag.start),
            )


def broken_rows(built: BuiltFile) -> Iterator[Diagnostic]:
    """Yield TABLE_TORN for each row that an edit wrote and that has more cells than its table has columns."""
    if built.file.is_deleted or not any("|" in edit.new_text for edit in built.edits):
        return
    written = [span for span in built.edits.result_spans if len(span)]
    tables = [table for table in built.result.tables if overlapping(written, table.block.span)]
    lines = built.base.source.lines
    known = frozenset(
        lines.content(line).strip()
        for table in (built.base.tables if tables else ())
        for line in range(table.block.first_line, table.block.last_line + 1)
    )
    yield from overlong_rows(built.result, tables, known)


def overlong_rows(
    outline: Outline, tables: "Iterable[TableSource]", known: Container[str]
) -> Iterator[Diagnostic]:
    """Yield TABLE_TORN for rows of `tables` with text in more cells than there are columns.

    `known` are rows that are no news.
    """
    lines = outline.source.lines
    for table in tables:
        for row in table.rows:
            extra = len(row.cells) - len(table.columns)
            is_news = extra > 0 and lines.content(row.line).strip() not in known
            if is_news and outline.text_of(row.cells[-1]).strip():
                yield Code.TABLE_TORN.warning(
                    f"the row at line {row.line} has {len(row.cells)} cells, and its table "
                    f"{len(table.columns)} columns: readers do not see the rest",
                    "escape a pipe that is text as `\\|`",
                    place=Position(row.line, 1),
                )


def broken_front_matter(built: BuiltFile) -> Iterator[Diagnostic]:
    """Yield FRONT_MATTER_INVALID if edits leave front matter that cannot be read any more."""
    ends = [side.front_matter.span.end for side in (built.base, built.result) if side.front_matter]
    if not ends or built.file.is_deleted or not any(edit.span.start <= max(ends) for edit in built.edits):
        return
    # Most edits touch no front matter, and this loads a YAML parser.
    from mdplan.markdown.front_matter import Unreadable

    if isinstance(built.base.front_matter_content, Unreadable):
        return
    if (problem := unreadable_front_matter(built.base, built.result)) is not None:
        yield problem


def unreadable_front_matter(old: Outline | None, new: Outline) -> Diagnostic | None:
    """Return FRONT_MATTER_INVALID for unreadable front matter of `new`, or if it became text."""
    from mdplan.markdown.front_matter import Unreadable

    after = new.front_matter_content
    if isinstance(after, Unreadable):
        place = None
        if after.offset is not None and new.front_matter is not None:
            place = new.source.lines.position(new.front_matter.content.start + after.offset)
        return Code.FRONT_MATTER_INVALID.warning(
            f"the front matter cannot be read: {after.reason}",
            "correct its syntax",
            place=place or Position(1, 1),
        )
    if old is None or old.front_matter is None or after is not None:
        return None
    lines = [line for line in map(str.strip, lines_of(to_lf(old.text_of(old.front_matter.content)))) if line]
    kept = frozenset(map(str.strip, lines_of(to_lf(new.source.text)))).intersection(lines)
    fence = old.text_of(Span(0, old.front_matter.content.start)).strip()
    is_open = bool(fence) and new.source.text.startswith(fence)
    # Who deletes front matter takes its lines away.
    if not is_open and 2 * len(kept) < max(len(lines), 1):
        return None
    fact = "is no longer closed, so it is" if is_open else "no longer begins on line 1, so it is"
    return Code.FRONT_MATTER_INVALID.warning(
        f"the front matter {fact} read as text",
        f"end it with a separate line: {fence}" if is_open else "put it, with both fences, at the very top",
        place=Position(1, 1),
    )


def _made_section(built: BuiltFile, item: ResolvedEdit) -> Section | None:
    """Return the first section that `item` makes, if it inserts blocks and replaces nothing."""
    resolution = item.resolution
    if not resolution.insertions or resolution.edits or resolution.deletions:
        return None
    return _first_written(built, item)


def _same_section(built: BuiltFile, item: ResolvedEdit) -> Section | None:
    """Return the section that `item` addressed, in the result, or None.

    A section stays the same while any part of its heading line remains. Otherwise take the heading that
    replaced it, or the heading that `item` wrote at the destination of a move.
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
    return next((heading for span in spans if (heading := _first_heading(built, span)) is not None), None)


def _first_heading(built: BuiltFile, span: Span) -> Section | None:
    """Return the first section of the result whose heading starts in `span`."""
    return next((heading for heading in built.result.headings_in(span) if not heading.nested), None)


def _replacement(edits: EditList, offset: int) -> tuple[Span, Span]:
    """Return the span of the edit that replaces the character at `offset`, and the span of its new text."""
    index = bisect_right(edits.edits, offset, key=lambda edit: edit.span.start) - 1
    edit = edits.edits[index]
    end = edits.map_offset(edit.span.end)
    assert end is not None, "the end of an edit is outside it"
    return edit.span, Span(end - len(edit.new_text), end)


# Checks for warnings, each with the condition that makes it necessary. Of changed
# areas, `BuiltFile.changed_areas`, only changes below front matter have blocks.
_CHECKS: Final = (
    large_deletions,  # newlines in replaced text
    merged_lists,  # a block in a changed area, or an inserted one
    unbalanced_tags,  # a tag character in old or new text
    broken_rows,  # a pipe in new text
    broken_front_matter,  # an edit that begins in front matter, as it was or as it is
)


# --- Reports on files after a write, so that the next edit needs no new read

# How many lines are shown on both sides of the first and of the last line of a change.
_CONTEXT_LINES: Final = 3

# What all files of one report may take: of ranges in line maps, and of characters in context.
_MOST_RANGES: Final = 200
_MOST_CHARACTERS: Final = 4000


def written_files(
    plan: Plan, bases: Sequence[Source], results: Sequence[Source | None] | None = None
) -> tuple[WrittenFile, ...]:
    """Describe the files that `plan` changed, once it was written onto `bases`; `results` may be known."""
    ranges_left, characters_left = _MOST_RANGES, _MOST_CHARACTERS
    written: list[WrittenFile] = []
    for index, change in enumerate(plan.files):
        if change.is_no_op or change.result_sha256 is None:
            continue
        if not ranges_left and not characters_left:
            # Of many files the later bases need not be read for that.
            path = change.new_path or change.path
            written.append(
                WrittenFile(
                    file=path, line_map=(), context=(), line_map_truncated=True, context_truncated=True
                )
            )
            continue
        base, result = bases[index], results[index] if results else None
        file = _written_file(change, base, result, ranges_left, characters_left)
        ranges_left -= len(file.line_map)
        characters_left -= sum(len(block.text) for block in file.context)
        written.append(file)
    return tuple(written)


def _written_file(
    change: FileChange, base: Source, result: Source | None, most_ranges: int, most_characters: int
) -> WrittenFile:
    text = change.edits.apply(base.text) if result is None else result.text
    lines = LineIndex(text) if result is None else result.lines
    changes = list(changed_lines(base.lines, change.edits, lines))
    kept = kept_lines(changes, base.lines.count)
    line_map = tuple(
        LineShift(start_line=start, end_line=end - 1, shift=shift)
        for start, end, shift in islice(kept, most_ranges + 1)
    )
    context, is_cut = _context(text, lines, changes, most_characters)
    return WrittenFile(
        file=change.new_path or change.path,
        line_map=line_map[:most_ranges],
        line_map_truncated=len(line_map) > most_ranges or None,
        context=context,
        context_truncated=is_cut or None,
    )


def _context(
    text: str, lines: LineIndex, changes: Sequence[ChangedLines], most_characters: int
) -> tuple[tuple[ContextBlock, ...], bool]:
    """Return the lines of `text` around `changes`, in `most_characters`; and whether there are more."""
    blocks: list[ContextBlock] = []
    left = most_characters
    for start, end in _blocks_around(changes, lines.count):
        # A line may be longer than all the room there is; what is cut short need not be made visible.
        span = lines.span(start, end)
        shown = visible(text[span.start : min(span.end, span.start + left + 1)])
        fitting = shown[:left]
        if fitting:
            last = start + LineIndex(fitting).count - 1
            blocks.append(ContextBlock(start_line=start, end_line=last, text=fitting))
        if fitting != shown:
            return tuple(blocks), True
        left -= len(fitting)
    return tuple(blocks), False


def _blocks_around(changes: Sequence[ChangedLines], count: int) -> Iterator[tuple[int, int]]:
    """Yield inclusive ranges of lines of the result near the edges of `changes`; near ranges are one."""
    current: tuple[int, int] | None = None
    for edge in (at for change in changes for at in (change.new_start, change.new_end)):
        start, end = max(edge - _CONTEXT_LINES, 1), min(edge + _CONTEXT_LINES - 1, count)
        if end < start:
            continue
        if current is not None and start <= current[1] + _CONTEXT_LINES + 1:
            current = (current[0], max(end, current[1]))
            continue
        if current is not None:
            yield current
        current = (start, end)
    if current is not None:
        yield current
