"""The result of each edit of a batch."""

from collections.abc import Sequence
from dataclasses import replace

from mdplan.markdown.outline import Outline
from mdplan.operations.base import MatchReport
from mdplan.plan import EditResult, MatchResult, Range
from mdplan.planning.build import BuiltFile
from mdplan.planning.resolve import ResolvedEdit
from mdplan.planning.results.section_mapping import MappedSection, map_sections
from mdplan.text.lines import Lines, Span
from mdplan.text.source import visible

MOST_MATCHES = 50
_MATCH_TEXT = 200


def edit_results(built_files: Sequence[BuiltFile]) -> tuple[EditResult, ...]:
    """One result an edit of `built_files`, in batch order."""
    there = {item.index: (built, item) for built in built_files for item in built.arriving_edits}
    results: list[EditResult] = []
    for built in built_files:
        after = map_sections(built, built.resolved)
        for item in built.resolved:
            result = _result(built, item, after.get(item.index))
            results.append(_moved_here(result, *there[item.index]) if item.index in there else result)
    return tuple(results)


def _moved_here(result: EditResult, built: BuiltFile, item: ResolvedEdit) -> EditResult:
    """`result` of an edit that moves text to the file `built`, with what `item` does there."""
    after = map_sections(built, (item,)).get(item.index)
    return replace(
        result,
        to_file=built.file.path,
        result_lines=_lines(built.result, built.written.get(item.index, ())[:MOST_MATCHES]),
        new_section_id=after.new_id if after else None,
        new_section_sha256=after.sha256 if after else None,
        warnings=(
            *result.warnings,
            *(each.at(file=built.file.path, edit_index=item.index) for each in item.resolution.warnings),
        ),
    )


def _result(built: BuiltFile, item: ResolvedEdit, after: MappedSection | None) -> EditResult:
    resolution = item.resolution
    matches = resolution.matches
    section = resolution.section
    written = built.written.get(item.index, ())
    return EditResult(
        edit_index=item.index,
        op=item.operation.op,
        file=built.file.path,
        no_op=not _changes_file(built, item)
        and not (resolution.edits or resolution.deletions or resolution.insertions)
        and not (item.operation.has_second_pass and written),
        ranges=tuple(_range(item.outline, claim.span) for claim in resolution.claims[:MOST_MATCHES]),
        result_lines=_lines(built.result, written[:MOST_MATCHES]),
        section_id=section.section_id if section else None,
        new_section_id=after.new_id if after else None,
        new_section_sha256=after.sha256 if after else None,
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


def _changes_file(built: BuiltFile, item: ResolvedEdit) -> bool:
    """Whether the edit makes, removes or renames the file."""
    effect = item.operation.file_effect
    return effect in {"create", "delete"} or (effect == "rename" and built.file.new_path is not None)


def _matches(base: Outline, report: MatchReport) -> tuple[MatchResult, ...]:
    results: list[MatchResult] = []
    for match in report.matches[:MOST_MATCHES]:
        place = _range(base, match.span)
        text = base.source.text[match.span.start : min(match.span.end, match.span.start + _MATCH_TEXT)]
        results.append(
            MatchResult(line=place.start.line, col=place.start.col, text=visible(text), range=place)
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
