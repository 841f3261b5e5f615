"""Plans of different files as one plan."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.plan import NO_INTENT, EditResult, Effect, FileChange, Intent, Plan
from mdplan.planning.plan_document import new_plan


@dataclass(frozen=True, slots=True)
class _Part:
    """One file of a plan, with what belongs to its edits."""

    change: FileChange
    requested: tuple[Mapping[str, Any], ...]
    effects: tuple[tuple[Effect, ...], ...]
    results: tuple[EditResult, ...]


def merge_plans(
    plans: Iterable[Plan],
    options: Mapping[str, bool | str],
    intent: Intent = NO_INTENT,
) -> Plan | Problems:
    """One plan that does what all of `plans` do, in their order, asked with `options`, for `intent`.

    The indexes of edits go through all of it. Errors: INVALID_ARGUMENT for a path that two of them change.
    """
    parts: list[_Part] = []
    warnings: list[Diagnostic] = []
    for plan in plans:
        parts += _parts(plan)
        warnings += plan.warnings
    problems = tuple(_duplicate_file(path) for path in _repeated(parts))
    return problems or _plan_of(parts, options, warnings, intent)


def ready_to_merge(plan: Plan) -> Plan:
    """`plan` without the files that stay as they are, which are not all of them.

    It knows no sections of its bases, which only show what made a base stale, and no single matches, which no
    report on several files has: these two are most of a plan.
    """
    parts = [
        replace(
            part,
            change=replace(part.change, base_sections={}),
            results=tuple(replace(result, matches=()) for result in part.results),
        )
        for part in _parts(plan)
        if not part.change.is_no_op
    ]
    return _plan_of(parts, plan.options, plan.warnings, plan.intent)


def _parts(plan: Plan) -> Iterator[_Part]:
    first = 0
    for change, requested in zip(plan.files, plan.requested, strict=True):
        end = first + len(requested)
        yield _Part(change, requested, plan.effects[first:end], plan.results[first:end])
        first = end


def _plan_of(
    parts: Sequence[_Part],
    options: Mapping[str, bool | str],
    warnings: Sequence[Diagnostic],
    intent: Intent,
) -> Plan:
    results: list[EditResult] = []
    for part in parts:
        results += (_at(result, index) for index, result in enumerate(part.results, start=len(results)))
    return new_plan(
        files=[part.change for part in parts],
        requested=[part.requested for part in parts],
        options=options,
        effects=tuple(effects for part in parts for effects in part.effects),
        results=tuple(results),
        warnings=tuple(warnings),
        intent=intent,
    )


def _at(result: EditResult, index: int) -> EditResult:
    if result.edit_index == index:
        return result
    warnings = tuple(replace(warning, edit_index=index) for warning in result.warnings)
    return replace(result, edit_index=index, warnings=warnings)


def _repeated(parts: Sequence[_Part]) -> list[str]:
    paths = sorted(
        path for part in parts for path in (part.change.path, part.change.new_path) if path is not None
    )
    return [path for path, same in groupby(paths) if len(list(same)) > 1]


def _duplicate_file(path: str) -> Diagnostic:
    return Diagnostic.invalid(
        f"`{path}` would be changed twice, by edits of different files",
        "let one file write into it; a new name must be free",
        file=path,
    )
