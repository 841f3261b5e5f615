"""What pins a commit to the bytes that its caller saw (DESIGN section 7)."""

from collections.abc import Sequence

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.operations.base.operation import SectionTargeted
from mdplan.plan import Plan
from mdplan.planning.build import BuiltFile
from mdplan.planning.resolve import ResolvedEdit
from mdplan.text.span import Span


def missing_preconditions(built_files: Sequence[BuiltFile]) -> Problems:
    """PRECONDITION_REQUIRED for every file that neither a base hash nor the evidence of each edit pins."""
    problems: list[Diagnostic] = []
    for built in built_files:
        if built.file.requested.base_sha256 is not None:
            continue
        loose = [item.index for item in (*built.resolved, *built.arriving_edits) if not _has_evidence(item)]
        if loose:
            field = "baseSha256" if built.resolved else "toBaseSha256"
            unguarded = "the edit" if len(loose) == 1 else f"{len(loose)} edits"
            problems.append(
                Diagnostic(
                    code=Code.PRECONDITION_REQUIRED,
                    message=f"`{built.file.path}` could have changed since you read it: "
                    f"nothing guards {unguarded}",
                    hint=f"look at the file, and send its hash as `{field}`, or the text that the edit "
                    "replaces as `expectedText`; or plan the batch first, and apply its planId",
                    file=built.file.path,
                    edit_index=loose[0],
                )
            )
    return tuple(problems)


def _has_evidence(item: ResolvedEdit) -> bool:
    """Whether the guards of an edit fix what it removes, and the section that it inserts into.

    The hash of a section's own body says nothing of its heading and its subsections, and that of a section
    that moves nothing of where it goes.
    """
    operation, section = item.operation, item.resolution.section
    if item.resolution.is_evidence or item.resolution.destination is not None:
        return item.resolution.is_evidence
    if not isinstance(operation, SectionTargeted) or operation.section_sha256 is None or section is None:
        return False
    part = item.outline.hashed_part(section, operation.section_sha256)
    spans = (*(edit.span for edit in item.resolution.edits), *item.resolution.deletions)
    removed = (_without_blanks(item.outline.source.text, span) for span in spans)
    return part is not None and all(map(part.contains, removed))


def _without_blanks(text: str, span: Span) -> Span:
    """`span` without the white space at its edges: the blank lines around a section come and go with it."""
    removed = text[span.start : span.end]
    start = span.start + len(removed) - len(removed.lstrip())
    return Span(start, max(start, span.start + len(removed.rstrip())))


def other_base(plan: Plan, given: str | None) -> Diagnostic | None:
    """STALE_BASE when the `baseSha256` beside a plan ID is not that of the plan's one file."""
    bases = [change.base_sha256 for change in plan.files]
    if given is None or (len(bases) == 1 and (bases[0] or "").startswith(given.lower())):
        return None
    return Diagnostic(
        code=Code.STALE_BASE,
        message="baseSha256 is not the base of this plan",
        hint="leave it out, or plan again on the file as it is now",
    )
