"""Merges of stale plans that a person decides: the conflicts, and the plan of the choices."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mdplan.diagnostics import Diagnostic
from mdplan.engine.engine import Engine
from mdplan.engine.plans import MergeService
from mdplan.merge.documents import Choice, ConflictPlace
from mdplan.plan import Plan
from mdplan.planning.replay import FoundFile
from mdplan.storage.filesystem import StorageRefused, granted
from mdplan.text.source import sha256_hex
from mdplan.values import Struct
from mdplan.words import say

if TYPE_CHECKING:
    from mdplan.planning.merging import Sides


class MergedFile(Struct):
    """A file at `path` that both changed, or one, and the `places` of it that need a person."""

    path: str
    places: tuple[ConflictPlace, ...]


class OpenMerge(Struct):
    """A merge of `plan` into its files that is not committed yet. `version` changes with the files."""

    plan: Plan
    files: Sequence[MergedFile]
    version: str

    @property
    def places(self) -> int:
        """Number of places that need a person."""
        return sum(len(file.places) for file in self.files)


def open_merge(engine: Engine, plan_id: str) -> OpenMerge:
    """Return what both the plan and others changed since.

    Raises `StorageRefused` with the errors of loading a plan, or STALE_BASE.
    """
    merging = engine.merging
    opened = _open_sides(merging, plan_id)
    from mdplan.planning.merging import conflict_places

    files: list[MergedFile] = []
    for sides in opened.sides:
        places = granted(merging.documents.with_timeout(sides.path, partial(conflict_places, sides)))
        files.append(MergedFile(sides.path, places))
    return OpenMerge(opened.plan, files, opened.version)


def plan_merge(engine: Engine, plan_id: str, choices: Mapping[str, Sequence[Choice]], version: str) -> str:
    """Save the plan that merges `plan_id` into its files, with `choices` for the conflicts of each path.

    Return the ID of the new plan. Raise `StorageRefused`: INVALID_ARGUMENT if `version` is outdated;
    MERGE_CONFLICT if a conflict has no choice; as for planning.
    """
    merging = engine.merging
    opened = _open_sides(merging, plan_id)
    if opened.version != version:
        message = "a file has changed again since the conflicts were shown"
        raise StorageRefused((Diagnostic.invalid(message, "look at the conflicts again"),))
    planned = merging.of_plan(opened.plan, opened.current_files, choices)
    merging.library.save(planned, origin=opened.plan)
    return planned.plan.plan_id


class _OpenedSides(Struct):
    plan: Plan
    current_files: Sequence[FoundFile]
    sides: "Sequence[Sides]"

    @property
    def version(self) -> str:
        hashes = [f"{sides.path} {sides.ours.sha256}" for sides in self.sides]
        return sha256_hex("\n".join(hashes).encode("utf-8", "surrogatepass"))


def _open_sides(merging: MergeService, plan_id: str) -> _OpenedSides:
    plan, _ = granted(merging.library.load(plan_id))
    if plan.undoes is not None:
        hint = say('undo again with {onStale="merge"}')
        raise StorageRefused((Diagnostic.invalid("an undo is not merged here", hint),))
    current_files = granted(merging.documents.read_current(plan))
    return _OpenedSides(plan, current_files, merging.sides_of(plan, current_files))
