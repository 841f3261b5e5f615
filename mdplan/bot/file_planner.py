"""Plans of single files, as any process can make them."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from threading import local

from mdplan.bot.job import CandidateFile, Chunk, FileOutcome, FileStatus, Job, PackedJob
from mdplan.bot.near_misses import SkippedNearMiss, near_miss
from mdplan.bot.read_once_workspace import ReadOnceWorkspace
from mdplan.bot.selector import SelectedEdits, Selector
from mdplan.diagnostics import Diagnostic, Problems
from mdplan.documents.files import OutlineCache
from mdplan.documents.links import LinkIndex
from mdplan.documents.snapshot import Documents
from mdplan.engine.planner import Planner
from mdplan.markdown.links.link_path import page_key
from mdplan.planning.links.link_changes import LinkChanges
from mdplan.planning.links.link_names import linked_names, text_of_bytes
from mdplan.planning.replan.merge_plans import ready_to_merge
from mdplan.planning.replan.plan_result import PlannedBatch
from mdplan.planning.snapshot import SnapshotFile
from mdplan.requests.batch import Batch
from mdplan.storage.fs.errors import StorageRefused

# Files are examined one after the other, so that few outlines are worth keeping.
_KEPT_BYTES = 1 << 20


class FilePlanner:
    """Plans files of a job one by one. It is used by one thread."""

    def __init__(self, job: Job) -> None:
        self.workspace = ReadOnceWorkspace.over(job.tree.open())
        settings = job.settings
        self.documents = Documents(
            self.workspace,
            settings.max_file_bytes,
            settings.max_lines,
            settings.of_documents,
            OutlineCache(_KEPT_BYTES),
        )
        self.selecting = Selector(job.loaded, self.documents)
        self._linked: dict[str, LinkIndex] = {}
        # The files of a manifest are counted when all are planned.
        limits = replace(settings.batch, files=sys.maxsize)
        self._planner = Planner(self.documents, limits, self._link_index)
        links = job.loaded.manifest.links
        self._rules = links.rules() if links is not None else None
        # What changes in other files is found when all files are known.
        self._scope = "none" if job.loaded.manifest.update_references == "none" else "file"

    def plan(self, candidate: CandidateFile) -> FileOutcome:
        """What becomes of `candidate`, if nothing happens to other files."""
        try:
            selected = self.selecting.select(candidate)
            if selected is None:
                return FileOutcome(path=candidate.path, verdict=FileStatus.SKIPPED)
            if isinstance(selected, SelectedEdits):
                return self._outcome(candidate.path, selected)
            return FileOutcome(path=candidate.path, verdict=FileStatus.REFUSED, problems=selected)
        finally:
            self.workspace.forget()

    def open_edits(self, candidate: CandidateFile) -> SelectedEdits | Problems | None:
        """What is asked of `candidate` and does not hold yet; None where nothing is."""
        selected = self.selecting.select(candidate)
        if not isinstance(selected, SelectedEdits):
            return selected
        return self._planned(selected).left

    def plan_batch(self, edits: Sequence[SelectedEdits]) -> PlannedBatch | Problems:
        """The plan of several files as one batch; what was read for them before is read anew."""
        self.workspace.forget()
        first = edits[0].batch
        batch = first.model_copy(update={"files": tuple(each.batch.files[0] for each in edits)})
        return self._planner.plan(batch)

    def links(self, path: str, names: frozenset[str]) -> frozenset[str]:
        """Those of `names` (page keys) that the file `path` may link to; it is not parsed."""
        name = self.workspace.locate(path)
        read = (
            name if isinstance(name, Diagnostic) else self.workspace.read(name, self.documents.max_file_bytes)
        )
        self.workspace.forget()
        return frozenset() if isinstance(read, Diagnostic) else names & linked_names(text_of_bytes(read.data))

    def _outcome(self, path: str, selected: SelectedEdits) -> FileOutcome:
        found = self._planned(selected)
        planned, left, misses = found.planned, found.left, found.misses
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
            plan=ready_to_merge(planned.plan),
            diff=planned.diff,
            names=self._changed_names(planned),
            needs_others=any(edit.other_file is not None for edit in left.batch.files[0].edits),
            misses=misses,
        )

    def _planned(self, selected: SelectedEdits) -> "_Alone":
        planned = self._plan_alone(selected.batch)
        if isinstance(planned, PlannedBatch):
            return _Alone(planned, selected)
        settled = self._unsatisfied(selected, planned)
        if not settled:
            return _Alone(planned, selected)
        left = _without(selected, settled)
        file = selected.batch.files[0]
        misses = (
            near_miss(file.edits[index], problem, selected.paths[index], file.file)
            for index, problem in settled.items()
        )
        return _Alone(
            () if left is None else self._plan_alone(left.batch),
            left,
            tuple(miss for miss in misses if miss is not None),
        )

    def _plan_alone(self, batch: Batch) -> PlannedBatch | Problems:
        return self._planner.plan(batch.model_copy(update={"update_references": self._scope}))

    def _unsatisfied(self, selected: SelectedEdits, problems: Problems) -> dict[int, Diagnostic]:
        """Those of `problems` that say that nothing is left to do, by the index of the edit."""
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

    def _changed_names(self, planned: PlannedBatch) -> frozenset[str]:
        """Page keys of the files that links can name otherwise than before."""
        changes = LinkChanges.of(planned.files, self._link_index(planned.files[0].file))
        made = (
            built.file.result_path
            for built in planned.files
            if not built.file.exists or built.file.new_path is not None
        )
        return changes.names | frozenset(map(page_key, made))

    def _link_index(self, file: SnapshotFile) -> LinkIndex:
        """The other files of the root of `file`; each of their folders is listed once."""
        root = file.path.removesuffix(file.relative)
        if root not in self._linked:
            self._linked[root] = LinkIndex.for_file(file, self.documents, self._rules)
        return self._linked[root]


@dataclass(frozen=True, slots=True)
class _Alone:
    """The plan of one file, and what of it does not hold yet: None where all of it does."""

    planned: PlannedBatch | Problems
    left: SelectedEdits | None
    misses: tuple[SkippedNearMiss, ...] = ()


_of_thread = local()


def plan_chunk(packed: PackedJob, chunk: Chunk) -> list[FileOutcome]:
    """What becomes of the candidates of `chunk`; any process can be asked."""
    try:
        planner = _planner_of(packed)
    except StorageRefused as refused:
        return [
            FileOutcome(path=each.path, verdict=FileStatus.REFUSED, problems=refused.problems)
            for each in chunk
        ]
    return [planner.plan(candidate) for candidate in chunk]


def links_of_chunk(
    packed: PackedJob, names: frozenset[str], paths: Sequence[str]
) -> list[tuple[str, frozenset[str]]]:
    """Each of `paths` with those of `names` (page keys) that it may link to."""
    planner = _planner_of(packed)
    return [(path, planner.links(path, names)) for path in paths]


def _planner_of(packed: PackedJob) -> FilePlanner:
    """The planner of this thread for the job `packed`, made when it is another than before."""
    known = getattr(_of_thread, "planner", None)
    if known is None or known[0] != packed.digest:
        if known is not None:
            known[1].workspace.close()
        known = (packed.digest, FilePlanner(packed.unpacked()))
        _of_thread.planner = known
    planner = known[1]
    assert isinstance(planner, FilePlanner)
    return planner


def _without(selected: SelectedEdits, settled: Iterable[int]) -> SelectedEdits | None:
    kept = [index for index in range(len(selected.paths)) if index not in set(settled)]
    if not kept:
        return None
    file = selected.batch.files[0]
    left = file.model_copy(update={"edits": tuple(file.edits[index] for index in kept)})
    return SelectedEdits(
        selected.batch.model_copy(update={"files": (left,)}), tuple(selected.paths[index] for index in kept)
    )
