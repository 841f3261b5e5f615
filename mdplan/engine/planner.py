"""The part of the line that plans: decode, parse, resolve, check, build, verify, derive."""

from collections.abc import Callable, Iterator, Sequence

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.documents.links import LinkedFiles
from mdplan.documents.snapshot import Documents
from mdplan.planning.build import Built, BuiltFile, build_file
from mdplan.planning.conflicts import find_conflicts
from mdplan.planning.cross_file_moves import find_arrivals, refuse_in_sequence
from mdplan.planning.links.derived_edits import derive
from mdplan.planning.replan.plan_result import Chosen, Planned
from mdplan.planning.replan.subset import accepted_batch, needs_rejected
from mdplan.planning.resolve import ResolvedEdit, has_run_long, resolve_edits
from mdplan.planning.results.summary import plan_of
from mdplan.planning.sequence.second_pass import with_late_edits
from mdplan.planning.snapshot import SnapshotFile
from mdplan.planning.verify import verify, verify_paths
from mdplan.progress import Tick, unheard
from mdplan.requests.batch import Batch
from mdplan.requests.limits import Limits


class Planner:
    """Plans of batches on the files of `documents`."""

    def __init__(
        self,
        documents: Documents,
        limits: Limits,
        linked_beside: Callable[[SnapshotFile], LinkedFiles] | None = None,
    ) -> None:
        """Read files through `documents`; a plan has no more files than `limits` allow a batch.

        `linked_beside` gives the files around one of a batch, for who plans many batches on files that nobody
        changes meanwhile; without it they are looked at anew for each batch.
        """
        self._documents = documents
        self._limits = limits
        self._linked_beside = linked_beside or (lambda file: LinkedFiles.beside(file, documents))

    def plan(self, batch: Batch, tick: Tick = unheard) -> Planned | Problems:
        """The plan of `batch`, or of the edits of it that are accepted; or all problems.

        `tick` hears of each file that was read, and then of each that was planned.
        """
        file, count = batch.files[0].file, len(batch.files)
        planned = self._documents.timely(file, lambda: self._plan(batch, tick), count)
        return (planned,) if isinstance(planned, Diagnostic) else planned

    def _plan(self, batch: Batch, tick: Tick) -> Planned | Problems:
        built = self._build(batch, tick)
        if not isinstance(built, Built):
            return built
        if batch.accept is None:
            return Planned(Chosen(plan_of(built, batch)), built.files)
        chosen_batch = accepted_batch(batch)
        if isinstance(chosen_batch, Diagnostic):
            return (chosen_batch,)
        chosen = self._build(chosen_batch)
        problems = needs_rejected(batch, built, chosen)
        if problems or not isinstance(chosen, Built):
            return problems
        accepted = tuple(sorted(set(batch.accept)))
        rejected = tuple(sorted(set(range(batch.edit_count)) - set(accepted)))
        return Planned(Chosen(plan_of(chosen, chosen_batch), accepted, rejected), chosen.files)

    def _build(self, batch: Batch, tick: Tick = unheard) -> Built | Problems:
        """Every file of `batch` decoded, parsed, resolved, checked, built and verified, and links derived."""
        total = 2 * len(batch.files)
        snapshot, problems = self._documents.snapshot(batch, lambda done, _: tick(done, total))
        built_files: list[BuiltFile] = []
        for built in _build_in_sequence(snapshot, batch) if batch.sequential else _build(snapshot, batch):
            tick(len(batch.files) + len(built_files), total)
            if isinstance(built, BuiltFile):
                built_files.append(built)
            else:
                problems += built
        if problems:
            return tuple(problems)
        linked = self._linked_beside(built_files[0].file)
        made = derive(built_files, batch.update_references, linked)
        made = self._documents.within_limits(made, self._limits) if isinstance(made, Built) else made
        if isinstance(made, Built):
            self._expect(made.files)
        return made

    def _expect(self, files: Sequence[BuiltFile]) -> None:
        """Keep the outlines of results, which the next call will ask for if these are committed."""
        for built in files:
            asked = built.file.requested
            if built.edits and not built.file.is_deleted and built.file.new_path is None:
                self._documents.expect(built.file.path, built.result, asked.encoding, asked.format)


def _build(snapshot: Sequence[SnapshotFile], batch: Batch) -> Iterator[BuiltFile | Problems]:
    """Resolve, check, build and verify each file, all edits against its base."""
    resolved: dict[str, tuple[tuple[ResolvedEdit, ...], Problems]] = {}
    for file in snapshot:
        resolved[file.path] = resolve_edits(file)
        if has_run_long(resolved[file.path][1]):
            yield resolved[file.path][1]
            return
    arrivals = find_arrivals(snapshot, {path: edits for path, (edits, _) in resolved.items()})
    yield arrivals.problems
    for file in snapshot:
        edits, problems = resolved[file.path]
        arriving = arrivals.by_file.get(file.path, ())
        problems += find_conflicts(file, [*edits, *arriving])
        built = problems or build_file(file, edits, arriving)
        built = with_late_edits(built) if isinstance(built, BuiltFile) else built
        yield (verify(built, batch) or built) if isinstance(built, BuiltFile) else built


def _build_in_sequence(snapshot: Sequence[SnapshotFile], batch: Batch) -> Iterator[BuiltFile | Problems]:
    """The same, each edit against the result of those before it."""
    from mdplan.planning.sequence.sequential import build_in_sequence

    for file in snapshot:
        built = refuse_in_sequence(file) or build_in_sequence(file, batch)
        built = with_late_edits(built) if isinstance(built, BuiltFile) else built
        yield (verify_paths(built, batch) or built) if isinstance(built, BuiltFile) else built
