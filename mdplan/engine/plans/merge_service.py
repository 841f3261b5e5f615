"""`onStale: "merge"`: a change of files that others changed since becomes a new plan on them as they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.documents.documents import Documents
from mdplan.engine.planner import Planner
from mdplan.engine.plans.plan_library import PlanLibrary
from mdplan.limits import Limits
from mdplan.plan import FileChange, Plan
from mdplan.planning.replay import FoundFile, PlannedBatch, stale_file
from mdplan.progress import ProgressCallback, no_progress
from mdplan.requests.batch import Batch
from mdplan.storage.fs.errors import StorageRefused
from mdplan.storage.fs.file_name import FileName
from mdplan.storage.fs.regular_file import FileBytes
from mdplan.storage.workspace import Workspace
from mdplan.text.source import Source, sha256_hex

# Few plans are stale: what merges them, and git, is loaded for these.
if TYPE_CHECKING:
    from mdplan.planning.merging import Choices, Sides


@dataclass(frozen=True, slots=True)
class _PastWorkspace(Workspace):
    """The roots of another workspace, in which the files `past` have the bytes of before."""

    past: Mapping[FileName, bytes]

    def read(self, name: FileName, max_bytes: int) -> FileBytes | Diagnostic:
        """Read a file. Errors: those of `Workspace.read`."""
        # Two arguments: the class is made again with slots.
        found = super(_PastWorkspace, self).read(name, max_bytes)
        data = self.past.get(name)
        return found if data is None or isinstance(found, Diagnostic) else replace(found, data=data)


@dataclass(frozen=True, slots=True)
class MergeService:
    """Merges of plans in `library`, and of batches, into `documents`. `planner` plans the result."""

    documents: Documents
    library: PlanLibrary
    planner: Planner
    limits: Limits

    def plan(self, batch: Batch, tick: ProgressCallback = no_progress) -> PlannedBatch | Problems:
        """The plan of `batch`; where it asks for that, merged into files that are not those that it names.

        Errors: those of planning; MERGE_CONFLICT.
        """
        planned = self.planner.plan(batch, tick)
        if batch.on_stale != "merge" or isinstance(planned, PlannedBatch) or not _are_stale(planned):
            return planned
        return self._of_batch(batch)

    def of_plan(
        self, stale: Plan, found: Sequence[FoundFile], choices: "Choices" = MappingProxyType({})
    ) -> PlannedBatch | Problems:
        """The plan that does what `stale` did, on its files as they were `found`, with `choices`.

        Errors: MERGE_CONFLICT, STALE_BASE; those of planning.
        """
        return self._merged(stale, found, self.library.bases_of(stale.plan_id), choices)

    def sides_of(self, stale: Plan, found: Sequence[FoundFile]) -> "list[Sides] | Problems":
        """The files of `stale` that are merged, as they were `found`. Errors: STALE_BASE."""
        return self._all_sides(stale, found, self.library.bases_of(stale.plan_id))

    def _of_batch(self, batch: Batch) -> PlannedBatch | Problems:
        from mdplan.planning.merging import not_kept

        past: dict[FileName, bytes] = {}
        for file in batch.files:
            name = self.documents.workspace.locate(file.file)
            if isinstance(name, Diagnostic) or file.base_sha256 is None:
                continue
            now = self.documents.read(name, file.encoding)
            if isinstance(now, Source) and not now.sha256.startswith(file.base_sha256.lower()):
                data = self.past(name, file.base_sha256.lower(), {})
                if data is None:
                    return (not_kept(file.file),)
                past[name] = data
        workspace = _PastWorkspace(self.documents.workspace.roots, past)
        planner = Planner(replace(self.documents, workspace=workspace), self.limits)
        planned = planner.plan(batch)
        if not isinstance(planned, PlannedBatch):
            return planned
        found = self.documents.read_current(planned.plan)
        kept = {sha256_hex(base.data): base.data for base in planned.bases}
        return self._merged(planned.plan, found, kept) if isinstance(found, list) else found

    def _merged(
        self,
        stale: Plan,
        found: Sequence[FoundFile],
        kept: Mapping[str, bytes],
        choices: "Choices" = MappingProxyType({}),
    ) -> PlannedBatch | Problems:
        from mdplan.planning.merging import merged_request
        from mdplan.requests.batch import read_batch

        files = self._all_sides(stale, found, kept)
        if isinstance(files, tuple):
            return files
        request = self.documents.with_timeout_of(stale, lambda: merged_request(files, stale, choices))
        if isinstance(request, tuple):
            return request
        batch = read_batch(request, self.limits)
        planned = self.planner.plan(batch) if isinstance(batch, Batch) else batch
        return replace(planned, rebased=True) if isinstance(planned, PlannedBatch) else planned

    def _all_sides(
        self, stale: Plan, found: Sequence[FoundFile], kept: Mapping[str, bytes]
    ) -> "list[Sides] | Problems":
        files: list[Sides] = []
        for change, now in zip(stale.files, found, strict=True):
            problem = stale_file(change, now)
            is_text = change.base_sha256 and change.result_sha256 and change.new_path is None
            if not is_text:
                if problem is not None:
                    return (problem,)
                continue
            sides = self._sides(change, now, kept)
            if isinstance(sides, Diagnostic):
                return (sides,)
            files.append(sides)
        return files

    def _sides(self, change: FileChange, now: FoundFile, kept: Mapping[str, bytes]) -> "Sides | Diagnostic":
        from mdplan.planning.merging import Sides, not_kept, theirs_of

        ours = now.read()
        name = self.documents.workspace.locate(change.path)
        if ours is None or isinstance(name, Diagnostic):
            problem = stale_file(change, now)
            return problem or not_kept(change.path)
        is_base = ours.sha256 == change.base_sha256
        data = ours.data if is_base else self.past(name, change.base_sha256 or "", kept)
        base = Source.decode(data, change.encoding) if data is not None else None
        theirs = theirs_of(change, base) if isinstance(base, Source) else None
        if not isinstance(base, Source) or theirs is None:
            return not_kept(change.path)
        return Sides.of(change, base, ours, theirs)

    def past(self, name: FileName, sha256: str, kept: Mapping[str, bytes]) -> bytes | None:
        """What the file `name` contained when its hash began with `sha256`.

        It is kept with the plan, in the history of what was committed, or in the last commit of git.
        """
        if sha256 in kept:
            return kept[sha256]
        from mdplan.storage.transaction.transaction_log import before_image

        data = before_image(self.documents.workspace.root_of(name), sha256) or self._last_commit(name)
        return data if data is not None and sha256_hex(data).startswith(sha256) else None

    def _last_commit(self, name: FileName) -> bytes | None:
        from mdplan.git.repository import RepositoryLocation, find_base
        from mdplan.git.tree import CommitTree

        try:
            place = RepositoryLocation.of(self.documents.workspace)
            commit = find_base(place, "HEAD").commit
            scope = self.documents.workspace.root_of(name).scope
            with CommitTree(place, commit, scope.allow, scope.deny).open() as workspace:
                found = workspace.read(name, self.documents.max_file_bytes)
        except StorageRefused:
            return None
        return None if isinstance(found, Diagnostic) else found.data


def _are_stale(problems: Problems) -> bool:
    """Whether nothing but other contents of files stands against a change."""
    return bool(problems) and all(problem.code is Code.STALE_BASE for problem in problems)
