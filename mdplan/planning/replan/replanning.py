"""Replanning: with preconditions, in part, or on a base that changed.

`plan` turns a batch into its plan; each function here calls it once or twice.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.limits import Limits
from mdplan.operations.base import SectionTargeted
from mdplan.plan import Plan
from mdplan.planning.build import BuiltFile
from mdplan.planning.replan.plan_result import PlannedBatch
from mdplan.planning.replan.rebase import numeric_addresses, other_bases, other_effects, request_of
from mdplan.planning.resolve import ResolvedEdit
from mdplan.requests.batch import Batch
from mdplan.requests.batch_reader import read_batch
from mdplan.text.lines import Span

Planner: TypeAlias = Callable[[Batch], PlannedBatch | Problems]
# Adds guards to a batch, except for the files of some paths.
AddGuards: TypeAlias = Callable[[Batch, Collection[str | None]], Batch]


def replan_with_preconditions(plan: Planner, batch: Batch) -> PlannedBatch | Problems:
    """Plan of a batch that is guarded by base hashes or by the evidence of its edits.

    If a base hash does not match and the batch allows a rebase, evidence alone can guard it: it fixes what
    is removed and where text is inserted. Errors: those of planning, PRECONDITION_REQUIRED.
    """
    planned = plan(batch)
    if isinstance(planned, PlannedBatch):
        return missing_preconditions(planned.files) or planned
    if batch.on_stale != "rebase" or any(problem.code is not Code.STALE_BASE for problem in planned):
        return planned
    rebased = plan(batch.without_bases())
    if not isinstance(rebased, PlannedBatch):
        return (*planned, *rebased)
    unguarded_edits = missing_preconditions(rebased.files)
    return (*planned, *unguarded_edits) if unguarded_edits else replace(rebased, rebased=True)


def replan_with_guards(plan: Planner, batch: Batch, add_guards: AddGuards) -> PlannedBatch | Problems:
    """Plan of a batch to which `add_guards` adds base hashes that its caller did not send.

    A file with another hash needs no guard if the evidence of its edits suffices: they were made for a part
    of it, and another part may have changed. Errors: as `replan_with_preconditions`.
    """
    guarded = add_guards(batch, ())
    planned = replan_with_preconditions(plan, guarded)
    if isinstance(planned, PlannedBatch) or any(problem.code is not Code.STALE_BASE for problem in planned):
        return planned
    proven = add_guards(batch, {problem.file for problem in planned})
    if proven == guarded:
        return planned
    replanned = replan_with_preconditions(plan, proven)
    return replanned if isinstance(replanned, PlannedBatch) else planned


def plan_part(plan: Planner, whole: Plan, accept: Sequence[int], limits: Limits) -> PlannedBatch | Problems:
    """Plan of the edits `accept` of the plan `whole`, on its bases. Errors: those of planning, STALE_BASE."""
    planned = _plan_request(plan, request_of(whole, with_bases=True) | {"accept": list(accept)}, limits)
    return (other_bases(whole, planned.plan) or planned) if isinstance(planned, PlannedBatch) else planned


def plan_on_new_base(plan: Planner, stale: Plan, limits: Limits) -> PlannedBatch | Problems:
    """The edits of the plan `stale` on its files as they are now, if they still do the same.

    Errors: those of planning; STALE_BASE.
    """
    numeric = numeric_addresses(stale)
    if numeric:
        return numeric
    planned = _plan_request(plan, request_of(stale, with_bases=False), limits)
    return (other_effects(stale, planned.files) or planned) if isinstance(planned, PlannedBatch) else planned


def _plan_request(plan: Planner, request: dict[str, Any], limits: Limits) -> PlannedBatch | Problems:
    batch = read_batch(request, limits)
    return plan(batch) if isinstance(batch, Batch) else batch


def missing_preconditions(built_files: Sequence[BuiltFile]) -> Problems:
    """PRECONDITION_REQUIRED for every file that neither a base hash nor the evidence of each edit guards."""
    problems: list[Diagnostic] = []
    for built in built_files:
        if built.file.requested.base_sha256 is not None or not built.file.exists:
            continue
        unguarded_edits = [
            item for item in (*built.resolved, *built.arriving_edits) if not _has_evidence(item)
        ]
        if unguarded_edits:
            field = "baseSha256" if built.resolved else "toBaseSha256"
            unguarded = "the edit" if len(unguarded_edits) == 1 else f"{len(unguarded_edits)} edits"
            why = unguarded_edits[0].operation.why_unguarded
            guard = (
                "a literal `pattern` of exact case, which guards itself: by default it must match once"
                if why
                else "the text that the edit replaces as `expectedText`"
            )
            problems.append(
                Diagnostic(
                    code=Code.PRECONDITION_REQUIRED,
                    message=f"`{built.file.path}` could have changed since you read it: "
                    f"nothing guards {unguarded}{f': {why}' if why else ''}",
                    hint=f"look at the file, and send its hash as `{field}`, or {guard}; "
                    "or plan the batch first, and apply its planId",
                    file=built.file.path,
                    edit_index=unguarded_edits[0].index,
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
    """STALE_BASE when the `baseSha256` next to a plan ID is not that of the plan's one file."""
    bases = [change.base_sha256 for change in plan.files]
    if given is None or (len(bases) == 1 and (bases[0] or "").startswith(given.lower())):
        return None
    return Diagnostic(
        code=Code.STALE_BASE,
        message="baseSha256 is not the base of this plan",
        hint="omit it, or plan again on the file as it is now",
    )
