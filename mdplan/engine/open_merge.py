"""A stale plan and its files as they are now: what both changed, and the plan of a person's choices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.engine.engine import Engine
from mdplan.engine.plans import MergeService
from mdplan.merge.documents import Choice, ConflictPlace
from mdplan.plan import Plan
from mdplan.planning.replay import FoundFile, PlannedBatch
from mdplan.text.source import sha256_hex

if TYPE_CHECKING:
    from mdplan.planning.merging import Sides


@dataclass(frozen=True, slots=True)
class MergedFile:
    """A file at `path` that both changed, or one, and the `places` of it that need a person."""

    path: str
    places: tuple[ConflictPlace, ...]


@dataclass(frozen=True, slots=True)
class OpenMerge:
    """A merge of `plan` into its files that is not committed yet. `version` changes with the files."""

    plan: Plan
    files: Sequence[MergedFile]
    version: str

    @property
    def places(self) -> int:
        """How many places need a person."""
        return sum(len(each.places) for each in self.files)


def open_merge(engine: Engine, plan_id: str) -> OpenMerge | Problems:
    """What both the plan and others changed since. Errors: those of loading a plan; STALE_BASE."""
    merging = engine.merging
    loaded = _loaded(merging, plan_id)
    if not isinstance(loaded, _Loaded):
        return loaded
    from mdplan.planning.merging import conflict_places

    files: list[MergedFile] = []
    for sides in loaded.sides:
        found = merging.documents.with_timeout(sides.path, partial(conflict_places, sides))
        if isinstance(found, Diagnostic):
            return (found,)
        problems = tuple(each for each in found if isinstance(each, Diagnostic))
        if problems:
            return problems
        files.append(MergedFile(sides.path, tuple(each for each in found if isinstance(each, ConflictPlace))))
    return OpenMerge(loaded.plan, files, loaded.version)


def plan_merge(
    engine: Engine, plan_id: str, choices: Mapping[str, Sequence[Choice]], version: str
) -> str | Problems:
    """Save the plan that merges `plan_id` into its files, with `choices` for the conflicts of each path.

    Its ID comes back. Errors: INVALID_ARGUMENT where `version` is not that of the files any more;
    MERGE_CONFLICT without a choice for each conflict; those of planning.
    """
    merging = engine.merging
    loaded = _loaded(merging, plan_id)
    if not isinstance(loaded, _Loaded):
        return loaded
    if loaded.version != version:
        message = "a file has changed again since the conflicts were shown"
        return (Diagnostic.invalid(message, "look at the conflicts again"),)
    planned = merging.of_plan(loaded.plan, loaded.found, choices)
    if not isinstance(planned, PlannedBatch):
        return planned
    merging.library.save(planned, origin=loaded.plan)
    return planned.plan.plan_id


@dataclass(frozen=True, slots=True)
class _Loaded:
    plan: Plan
    found: Sequence[FoundFile]
    sides: "Sequence[Sides]"

    @property
    def version(self) -> str:
        hashes = [f"{each.path} {each.ours.sha256}" for each in self.sides]
        return sha256_hex("\n".join(hashes).encode("utf-8", "surrogatepass"))


def _loaded(merging: MergeService, plan_id: str) -> _Loaded | Problems:
    loaded = merging.library.load(plan_id)
    if isinstance(loaded, Diagnostic):
        return (loaded,)
    plan = loaded[0]
    if plan.undoes is not None:
        return (Diagnostic.invalid("an undo is not merged here", "undo again with onStale: merge"),)
    found = merging.documents.read_current(plan)
    if not isinstance(found, list):
        return found
    sides = merging.sides_of(plan, found)
    return _Loaded(plan, found, sides) if isinstance(sides, list) else sides
