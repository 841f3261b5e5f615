"""Edits that cannot both be made, by what they claim rather than by the bytes that they happen to change."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.planning.resolve import ResolvedEdit
from mdplan.planning.snapshot import SnapshotFile
from mdplan.text.span import Span


def find_conflicts(file: SnapshotFile, resolved: Sequence[ResolvedEdit]) -> Problems:
    """CONFLICTING_EDITS for every edit whose claim overlaps one that starts before it, naming both.

    An insertion strictly inside of another edit's span conflicts too; at its edge it does not, unless its
    owner is a section that the other edit deletes, replaces, moves or re-levels, or whose whole heading it
    replaces as text.
    """
    claims = sorted(
        ((claim.span, edit.index) for edit in resolved for claim in edit.resolution.claims),
    )
    problems: list[Diagnostic] = []
    widest: tuple[Span, int] | None = None
    for span, index in claims:
        if widest is not None and span.start < widest[0].end and index != widest[1]:
            problems.append(_conflict(file, widest[1], index, span))
        if widest is None or span.end > widest[0].end:
            widest = (span, index)
    reported = {problem.edit_index for problem in problems}
    for problem in (*_of_owners(file, resolved), *_of_headings(file, resolved)):
        if problem.edit_index not in reported:
            reported.add(problem.edit_index)
            problems.append(problem)
    return tuple(problems)


def _of_owners(file: SnapshotFile, resolved: Sequence[ResolvedEdit]) -> Iterator[Diagnostic]:
    takers: dict[int, int] = {}
    for edit in resolved:
        for claim in edit.resolution.claims:
            for section in claim.takes:
                if takers.setdefault(section, edit.index) != edit.index:
                    yield _conflict(file, takers[section], edit.index, claim.span)
                    break
    for edit in resolved:
        for claim in edit.resolution.claims:
            taker = takers.get(claim.owner, edit.index) if claim.owner is not None else edit.index
            if taker != edit.index:
                yield _conflict(file, taker, edit.index, claim.span)
                break


def _of_headings(file: SnapshotFile, resolved: Sequence[ResolvedEdit]) -> Iterator[Diagnostic]:
    """Insertions that would land in another section, because the heading of their own is written over."""
    lines = file.outline.source.lines
    written = sorted(
        (claim.span, edit.index) for edit in resolved for claim in edit.resolution.claims if len(claim.span)
    )
    for edit in resolved:
        if not edit.resolution.insertions:
            continue
        for claim in edit.resolution.claims:
            heading = None if claim.owner is None else file.outline.sections[claim.owner].heading
            if len(claim.span) or heading is None:
                continue
            span = Span(heading.span.start, lines.content_end(heading.last_line))
            before = bisect_right(written, span.start, key=lambda written: written[0].start) - 1
            if before >= 0 and written[before][1] != edit.index and written[before][0].contains(span):
                yield _conflict(file, written[before][1], edit.index, span)
                break


def _conflict(file: SnapshotFile, first: int, second: int, span: Span) -> Diagnostic:
    place = file.outline.source.lines.position(span.start)
    return Diagnostic(
        code=Code.CONFLICTING_EDITS,
        message=f"edits {min(first, second)} and {max(first, second)} both want line {place.line}",
        hint="make one edit of them, or send them one after the other",
        file=file.path,
        edit_index=second,
        place=place,
    )
