"""Files that have a word in each other, planned as one batch."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from mdplan.bot.file_planner import FilePlanner
from mdplan.bot.job import CandidateFile, FileStatus, PackedPlan
from mdplan.bot.selector import SelectedEdits
from mdplan.diagnostics import Diagnostic, Problems
from mdplan.planning.replay import PlannedBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """The plan of a group, None if nothing changes; `refused` has the problems of files by path."""

    plan: PackedPlan | None
    diff: bytes
    refused: Mapping[str, Problems]
    verdicts: Mapping[FileStatus, int]


def plan_group(
    planner: FilePlanner,
    together: Sequence[CandidateFile],
    all_open: Collection[str],
    *,
    keep_going: bool,
) -> GroupPlan:
    """The plan of the files `together`; with `keep_going` without those that have problems.

    Of the files `all_open` it is known that no edit is done yet.
    """
    refused: dict[str, Problems] = {}
    selected: dict[str, SelectedEdits] = {}
    for candidate in together:
        found = (
            planner.selecting.select(candidate)
            if candidate.path in all_open
            else planner.open_edits(candidate)
        )
        if isinstance(found, SelectedEdits):
            selected[candidate.path] = found
        elif found is not None:
            refused[candidate.path] = found
    while selected:
        planned = planner.plan_batch(list(selected.values()))
        if isinstance(planned, PlannedBatch):
            return _made(planned, selected, refused, len(together))
        by_file = _by_file(planner, planned, selected)
        refused |= by_file
        if not keep_going:
            break
        for path in by_file:
            del selected[path]
    return GroupPlan(plan=None, diff=b"", refused=refused, verdicts={FileStatus.REFUSED: len(refused)})


def _made(
    planned: PlannedBatch, selected: Mapping[str, SelectedEdits], refused: Mapping[str, Problems], count: int
) -> GroupPlan:
    changed = sum(not change.is_no_op for change in planned.plan.files if change.path in selected)
    return GroupPlan(
        plan=None if planned.plan.is_no_op else PackedPlan.of(planned.plan),
        diff=planned.diff,
        refused=refused,
        verdicts={
            FileStatus.CHANGES: changed,
            FileStatus.REFUSED: len(refused),
            FileStatus.SATISFIED: count - changed - len(refused),
        },
    )


def _by_file(
    planner: FilePlanner, problems: Problems, selected: Mapping[str, SelectedEdits]
) -> dict[str, Problems]:
    """`problems` by the file whose edits have them; those of no file count for all."""
    owners = [(path, number) for path, each in selected.items() for number in range(len(each.paths))]
    found: defaultdict[str, list[Diagnostic]] = defaultdict(list)
    for problem in problems:
        if problem.edit_index is not None:
            path, number = owners[problem.edit_index]
            placed = planner.selecting.of_manifest(problem.at(file=path), selected[path].paths[number])
            found[path].append(placed)
        elif problem.file in selected:
            found[problem.file or ""].append(problem)
        else:
            for path in selected:
                found[path].append(problem)
    return {path: tuple(dict.fromkeys(each)) for path, each in found.items()}
