"""Edits that cannot both be made, by what they claim rather than by the bytes that they happen to change."""

from collections.abc import Sequence

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.planning.resolve import ResolvedEdit
from mdplan.planning.snapshot import SnapshotFile
from mdplan.text.span import Span


def find_conflicts(file: SnapshotFile, resolved: Sequence[ResolvedEdit]) -> Problems:
    """CONFLICTING_EDITS for every edit whose claim overlaps one that starts before it, naming both.

    An insertion strictly inside of another edit's span conflicts too; at its edge it does not.
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
    return tuple(problems)


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
