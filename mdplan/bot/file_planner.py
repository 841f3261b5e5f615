"""Plan single files of a manifest, in any process."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from threading import local
from typing import Any

from mdplan.bot.job import (
    CandidateFile,
    ChangedPlaces,
    Chunk,
    FileOutcome,
    FileStatus,
    Job,
    PackedJob,
    PackedPlan,
    Spool,
    near_miss,
)
from mdplan.bot.selector import SelectedEdits, Selector
from mdplan.diagnostics import Diagnostic, Problems
from mdplan.documents.documents import Documents, LinkIndex
from mdplan.documents.files import OutlineCache
from mdplan.documents.workspace import reading_once
from mdplan.engine.plans import Planner
from mdplan.plan import EditResult, Effect, FileChange
from mdplan.planning.build import SnapshotFile
from mdplan.planning.link_changes import LinkChanges, linked_places, text_of_bytes
from mdplan.planning.replay import PlannedBatch
from mdplan.requests.batch import Batch
from mdplan.storage.filesystem import StorageRefused
from mdplan.values import Struct, replace

# Files are processed one after the other, so few outlines are worth caching.
_KEPT_BYTES = 1 << 20
_KEPT_OUTLINES = 8


class FilePlanner:
    """Plan the files of a job one by one, in one thread."""

    def __init__(self, job: Job) -> None:
        self.workspace = job.tree.open()
        settings, links = job.settings, job.loaded.manifest.links
        self.documents = Documents(
            self.workspace,
            settings.max_file_bytes,
            settings.max_lines,
            settings.of_documents,
            OutlineCache(_KEPT_BYTES, _KEPT_OUTLINES),
            links.rules() if links is not None else None,
        )
        self._loaded = job.loaded
        self.selecting = Selector(job.loaded, self.documents, job.history, job.repairs)
        self._linked: dict[str, LinkIndex] = {}
        # The limit on files is checked when all are planned.
        limits = replace(settings.batch, files=sys.maxsize)
        self._planner = Planner(self.documents, limits, self._link_index, makes_parts=True)
        # Changes in other files are determined once all files are known.
        self._scope = "none" if job.loaded.manifest.update_references == "none" else "file"

    def plan(self, candidate: CandidateFile) -> FileOutcome:
        """Return the outcome for `candidate`, assuming that other files do not change."""
        with reading_once():
            selected = self.selecting.select(candidate)
            if selected is None:
                return FileOutcome(path=candidate.path, verdict=FileStatus.SKIPPED)
            if isinstance(selected, SelectedEdits):
                return self._outcome(candidate.path, selected)
            return FileOutcome(path=candidate.path, verdict=FileStatus.REFUSED, problems=selected)

    def open_edits(self, candidate: CandidateFile) -> SelectedEdits | Problems | None:
        """Return the edits that `candidate` still needs, or None."""
        with reading_once():
            selected = self.selecting.select(candidate)
            return self._planned(selected).left if isinstance(selected, SelectedEdits) else selected

    def plan_batch(self, edits: Sequence[SelectedEdits]) -> PlannedBatch | Problems:
        """Plan several files as one batch, reading them again."""
        first = edits[0].batch
        batch = first.model_copy(update={"files": tuple(each.batch.files[0] for each in edits)})
        with reading_once():
            return self._planner.plan(batch)

    def links(self, path: str, places: ChangedPlaces) -> frozenset[str]:
        """Return the names in `places` that the file `path` may link to, without parsing it."""
        name = self.workspace.locate(path)
        read = (
            name if isinstance(name, Diagnostic) else self.workspace.read(name, self.documents.max_file_bytes)
        )
        return (
            frozenset() if isinstance(read, Diagnostic) else linked_places(text_of_bytes(read.data), places)
        )

    def _outcome(self, path: str, selected: SelectedEdits) -> FileOutcome:
        alone = self._planned(selected)
        planned, left, misses = alone.planned, alone.left, alone.misses
        if left is None:
            return FileOutcome(path=path, verdict=FileStatus.SATISFIED, misses=misses)
        if not isinstance(planned, PlannedBatch):
            problems = tuple(self._placed(problem, left) for problem in planned)
            return FileOutcome(path=path, verdict=FileStatus.REFUSED, problems=problems, misses=misses)
        if planned.plan.is_no_op:
            return FileOutcome(path=path, verdict=FileStatus.SATISFIED, misses=misses)
        return FileOutcome(
            path=path,
            verdict=FileStatus.CHANGES,
            plan=PackedPlan.of(
                planned,
                self._changed_places(planned),
                needs_others=any(edit.other_file is not None for edit in left.batch.files[0].edits),
                all_open=left is selected,
            ),
            misses=misses,
        )

    def _planned(self, selected: SelectedEdits) -> "_PlannedAlone":
        """Plan `selected`; its conditional edits only if the others change the file."""
        firm = [index for index, path in enumerate(selected.paths) if path not in selected.conditional]
        if len(firm) < len(selected.paths):
            others = selected.only(firm)
            alone = _PlannedAlone((), None) if others is None else self._planned_open(others)
            if alone.left is None or not isinstance(alone.planned, PlannedBatch):
                return alone
            if alone.planned.plan.is_no_op:
                return replace(alone, left=None)
        return self._planned_open(selected)

    def _planned_open(self, selected: SelectedEdits) -> "_PlannedAlone":
        """Plan the unsatisfied edits of `selected`."""
        planned = self._plan_alone(selected.batch)
        if isinstance(planned, PlannedBatch):
            return _PlannedAlone(planned, selected)
        settled = self._unsatisfied(selected, planned)
        if not settled:
            return _PlannedAlone(planned, selected)
        left = selected.only([index for index in range(len(selected.paths)) if index not in settled])
        file = selected.batch.files[0]
        misses = (
            near_miss(file.edits[index], problem.at(file=file.file), selected.paths[index], self._loaded)
            for index, problem in settled.items()
        )
        planned = () if left is None else self._plan_alone(left.batch)
        return _PlannedAlone(planned, left, tuple(chain.from_iterable(misses)))

    def _plan_alone(self, batch: Batch) -> PlannedBatch | Problems:
        return self._planner.plan(batch.model_copy(update={"update_references": self._scope}))

    def _unsatisfied(self, selected: SelectedEdits, problems: Problems) -> dict[int, Diagnostic]:
        """Return `problems` that mean that an edit is already satisfied, by edit index."""
        file = selected.batch.files[0]
        name = self.workspace.locate(file.file)
        outline = (
            name if isinstance(name, Diagnostic) else self.documents.open(name, file.encoding, file.format)
        )
        if isinstance(outline, Diagnostic):
            return {}
        return {
            problem.edit_index: problem
            for problem in problems
            if problem.edit_index is not None
            and file.edits[problem.edit_index].already_satisfied(problem, outline)
        }

    def _placed(self, problem: Diagnostic, selected: SelectedEdits) -> Diagnostic:
        problem = problem.at(file=selected.batch.files[0].file)
        if problem.edit_index is None:
            return problem
        return self.selecting.of_manifest(problem, selected.paths[problem.edit_index])

    def _changed_places(self, planned: PlannedBatch) -> ChangedPlaces:
        """Return link targets that change or lead elsewhere."""
        return LinkChanges.of(planned.files, self._link_index(planned.files[0].file)).places

    def _link_index(self, file: SnapshotFile) -> LinkIndex:
        """Return the other files of the root of `file`, listing each folder once."""
        root = file.path.removesuffix(file.relative)
        if root not in self._linked:
            self._linked[root] = LinkIndex.for_file(file, self.documents)
        return self._linked[root]


class _PlannedAlone(Struct):
    """The plan of a file, and its unsatisfied edits, or None."""

    planned: PlannedBatch | Problems
    left: SelectedEdits | None
    misses: Problems = ()


_of_thread = local()


def plan_chunk(packed: PackedJob, chunk: Chunk) -> list[FileOutcome]:
    """Plan the candidates of `chunk`, in any process."""
    try:
        planner = planner_of(packed)
    except StorageRefused as refused:
        return [
            FileOutcome(path=each.path, verdict=FileStatus.REFUSED, problems=refused.problems)
            for each in chunk
        ]
    return [planner.plan(candidate) for candidate in chunk]


def links_of_chunk(
    packed: PackedJob, places: ChangedPlaces, paths: Sequence[str]
) -> list[tuple[str, frozenset[str]]]:
    """Return the `paths` that may link to `places`, with the names."""
    planner = planner_of(packed)
    return [(path, names) for path in paths if (names := planner.links(path, places))]


def planner_of(packed: PackedJob) -> FilePlanner:
    """Return this thread's planner for the job `packed`, new for each run."""
    known = getattr(_of_thread, "planner", None)
    if known is None or known[0] != packed.key:
        if known is not None:
            known[1].workspace.close()
        known = (packed.key, FilePlanner(packed.unpacked()))
        _of_thread.planner = known
    planner = known[1]
    assert isinstance(planner, FilePlanner)
    return planner


# --- Plans that wait on disk until all files are planned


class SpooledPlans(Struct):
    """The plans `made`, stored in `spool`, for `merge_plans`."""

    made: Sequence[PackedPlan]
    spool: Spool

    @property
    def warnings(self) -> Problems:
        """The warnings of all plans."""
        return tuple(warning for each in self.made for warning in each.warnings)

    def sizes(self) -> Iterable[tuple[int, int]]:
        """Return the numbers of files and edits of each plan."""
        return [(len(each.written), each.edits) for each in self.made]

    def changes(self, number: int) -> Sequence[tuple[FileChange, Sequence[Mapping[str, Any]]]]:
        """Return the files of a plan with their requested edits."""
        return self.spool.get(self.made[number].at[0])

    def effects(self, number: int) -> Sequence[tuple[Effect, ...]]:
        """Return what its edits remove and insert."""
        return self.spool.get(self.made[number].at[1])

    def results(self, number: int) -> Sequence[EditResult]:
        """Return the results of its edits."""
        return self.spool.get(self.made[number].at[2])

    def diffs(self) -> Iterator[bytes]:
        """Yield the exact diff, plan by plan."""
        return (self.spool.get(each.at[3])[0] for each in self.made)
