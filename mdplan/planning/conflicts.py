"""Edits that cannot both be made, by what they claim rather than by the bytes that they happen to change."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.operations.base import Claim
from mdplan.planning.data_changes import created_twice
from mdplan.planning.resolve import ResolvedEdit
from mdplan.planning.snapshot import SnapshotFile
from mdplan.text.lines import BY_PLACE, Span


def find_conflicts(file: SnapshotFile, resolved: Sequence[ResolvedEdit]) -> Problems:
    """CONFLICTING_EDITS for every two edits that cannot both be made, naming both.

    Their claims overlap; or one owns text in a section that the other deletes, replaces, moves or re-levels,
    or whose whole heading it replaces as text; or they name one part, or one of them a part of the other's.
    An insertion strictly inside another edit's span overlaps it; at its edge it does not.
    """
    found: dict[frozenset[int], Diagnostic] = {}
    for conflict in (
        *_between_takers(file, resolved),
        *_of_owners(file, resolved),
        *_of_headings(file, resolved),
        *_of_parts(file, resolved),
        *_of_spans(file, resolved),
    ):
        found.setdefault(frozenset((conflict.edit, conflict.other)), conflict.to_diagnostic(file))
    in_two_formats = (problem.at(file=file.path) for problem in created_twice(resolved, file.numbers))
    return (*found.values(), *in_two_formats)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Conflict:
    """Two edits, by their indexes, and why `edit`, which wants `span`, does not go with the `other`."""

    edit: int
    other: int
    span: Span
    why: str

    def to_diagnostic(self, file: SnapshotFile) -> Diagnostic:
        return Diagnostic(
            code=Code.CONFLICTING_EDITS,
            message=self.why,
            hint="combine them into one edit, or send them one after the other (sequential: true)",
            file=file.path,
            edit_index=self.edit,
            place=file.outline.source.lines.position(self.span.start),
        )


def _between_takers(file: SnapshotFile, resolved: Sequence[ResolvedEdit]) -> Iterator[_Conflict]:
    """Edits that want one whole section."""
    takers: dict[int, tuple[int, Claim]] = {}
    for edit in resolved:
        for claim in edit.resolution.claims:
            for section in claim.takes:
                other, taken = takers.setdefault(section, (edit.index, claim))
                if other != edit.index:
                    line = file.outline.sections[section].first_line
                    why = (
                        f"{file.numbers.named(other)} {taken.verb} the section at line {line}, "
                        f"and {file.numbers.named(edit.index)} {claim.verb} it too"
                    )
                    yield _Conflict(edit=edit.index, other=other, span=claim.span, why=why)
                    break


def _of_owners(file: SnapshotFile, resolved: Sequence[ResolvedEdit]) -> Iterator[_Conflict]:
    """Edits that write into a section that another edit takes whole."""
    takers = {
        section: (edit.index, claim)
        for edit in reversed(resolved)
        for claim in edit.resolution.claims
        for section in claim.takes
    }
    for edit in resolved:
        for claim in edit.resolution.claims:
            if claim.owner is None or claim.owner not in takers:
                continue
            other, taken = takers[claim.owner]
            if other != edit.index:
                line = file.outline.sections[claim.owner].first_line
                why = (
                    f"{file.numbers.named(other)} {taken.verb} the section at line {line}, "
                    f"which {file.numbers.named(edit.index)} writes into"
                )
                yield _Conflict(edit=edit.index, other=other, span=claim.span, why=why)
                break


def _of_headings(file: SnapshotFile, resolved: Sequence[ResolvedEdit]) -> Iterator[_Conflict]:
    """Insertions that would land in another section, because the heading of their own is written over."""
    written = [each for each in _claimed(resolved) if len(each[0])]
    for edit in resolved:
        if not edit.resolution.insertions:
            continue
        for claim in edit.resolution.claims:
            section = None if claim.owner is None else file.outline.sections[claim.owner]
            if len(claim.span) or section is None or section.is_root:
                continue
            span = file.outline.heading_span(section)
            before = bisect_right(written, span.start, key=lambda written: written[0].start) - 1
            if before >= 0 and written[before][1] != edit.index and written[before][0].contains(span):
                other = written[before][1]
                why = (
                    f"{file.numbers.named(other)} writes over the heading at line {section.heading_line}, "
                    f"and {file.numbers.named(edit.index)} writes into its section"
                )
                yield _Conflict(edit=edit.index, other=other, span=span, why=why)
                break


def _of_parts(file: SnapshotFile, resolved: Sequence[ResolvedEdit]) -> Iterator[_Conflict]:
    """Edits that want one part, or a part of what another edit wants."""
    wanted = [(claim, edit.index) for edit in resolved for claim in edit.resolution.claims if claim.part]
    owners: dict[tuple[int | str, ...], int] = {}
    for claim, index in sorted(wanted, key=lambda each: len(each[0].part)):
        for depth in range(1, len(claim.part) + 1):
            other = owners.get(claim.part[:depth])
            if other is not None and other != index:
                line = file.outline.source.lines.position(claim.span.start).line
                named = file.numbers.listed((index, other))
                why = f"{named} both change the text at line {line}"
                yield _Conflict(edit=index, other=other, span=claim.span, why=why)
                break
        owners.setdefault(claim.part, index)


def _of_spans(file: SnapshotFile, resolved: Sequence[ResolvedEdit]) -> Iterator[_Conflict]:
    """Edits of one text: each with the one that reaches furthest of those that start before it."""
    widest: tuple[Span, int] | None = None
    for span, index in _claimed(resolved):
        if widest is not None and span.start < widest[0].end and index != widest[1]:
            other, line = widest[1], file.outline.source.lines.position(span.start).line
            why = f"{file.numbers.listed((index, other))} both change line {line}"
            yield _Conflict(edit=index, other=other, span=span, why=why)
        if widest is None or span.end > widest[0].end:
            widest = (span, index)


def _claimed(resolved: Sequence[ResolvedEdit]) -> list[tuple[Span, int]]:
    """What the edits claim, in the order of the text, each with the index of its edit."""
    claimed = [(claim.span, edit.index) for edit in resolved for claim in edit.resolution.claims]
    return sorted(claimed, key=lambda each: (*BY_PLACE(each[0]), each[1]))
