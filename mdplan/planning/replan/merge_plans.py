"""Plans of different files as one plan."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, groupby
from typing import Any

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.plan import NO_INTENT, EditResult, Effect, FileChange, Intent, Plan
from mdplan.planning.plan_document import new_plan
from mdplan.planning.replan.stored_plans import PlansByNumber, StoredEntries


def merge_plans(
    plans: PlansByNumber,
    warnings: Problems,
    options: Mapping[str, bool | str],
    intent: Intent = NO_INTENT,
) -> Plan | Problems:
    """One plan that does what all of `plans` do, in their order, asked with `options`, for `intent`.

    The indexes of edits go through all of it. `warnings` are those of all `plans`. The plan loads its files
    and edits when they are read. Errors: INVALID_ARGUMENT for a path that two of `plans` change.
    """
    files, edits = zip(*plans.sizes(), strict=True)
    first = [0, *accumulate(edits)]
    # Who reads a file reads what was requested for it, too.
    changes = lru_cache(maxsize=1)(plans.changes)
    changed = StoredEntries(files, lambda number: [change for change, _ in changes(number)])
    problems = tuple(_duplicate_file(path) for path in _repeated(changed))
    return problems or new_plan(
        files=changed,
        requested=StoredEntries(files, lambda number: [requested for _, requested in changes(number)]),
        options=options,
        effects=StoredEntries(edits, plans.effects),
        results=StoredEntries(edits, lambda number: _numbered(plans.results(number), first[number])),
        warnings=warnings,
        intent=intent,
    )


def ready_to_merge(plan: Plan) -> Plan:
    """`plan` without the files that stay as they are, which are not all of them; with the ID of `plan`.

    It knows no sections of its bases, which only show what made a base stale, and no single matches, which no
    report on several files has: these two are most of a plan.
    """
    files: list[FileChange] = []
    requested: list[Sequence[Mapping[str, Any]]] = []
    effects: list[tuple[Effect, ...]] = []
    results: list[EditResult] = []
    first = 0
    for change, edits in zip(plan.files, plan.requested, strict=True):
        end = first + len(edits)
        if not change.is_no_op:
            files.append(replace(change, base_sections={}))
            requested.append(edits)
            effects += plan.effects[first:end]
            bare = [replace(each, matches=()) for each in plan.results[first:end]]
            results += _numbered(bare, len(results))
        first = end
    return replace(
        plan,
        files=tuple(files),
        requested=tuple(requested),
        effects=tuple(effects),
        results=tuple(results),
    )


def _numbered(results: Iterable[EditResult], first: int) -> list[EditResult]:
    """`results` with indexes of edits that begin at `first`."""
    return [_at(result, index) for index, result in enumerate(results, start=first)]


def _at(result: EditResult, index: int) -> EditResult:
    if result.edit_index == index:
        return result
    warnings = tuple(replace(warning, edit_index=index) for warning in result.warnings)
    return replace(result, edit_index=index, warnings=warnings)


def _repeated(changes: Iterable[FileChange]) -> list[str]:
    paths = sorted(path for change in changes for path in (change.path, change.new_path) if path is not None)
    return [path for path, same in groupby(paths) if len(list(same)) > 1]


def _duplicate_file(path: str) -> Diagnostic:
    return Diagnostic.invalid(
        f"`{path}` would be changed twice, by edits of different files",
        "let one file write into it; a new name must be free",
        file=path,
    )
