"""A batch on files that were opened: resolve, check, build, verify; it reads nothing by itself."""

from collections.abc import Callable, Iterator, Sequence

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.destinations import FileTree
from mdplan.planning.build import BuildResult, BuiltFile, build_file
from mdplan.planning.conflicts import find_conflicts
from mdplan.planning.cross_file_moves import find_cross_file_moves, refuse_in_sequence
from mdplan.planning.replan.plan_result import PlannedBatch, PlanSelection
from mdplan.planning.replan.subset import accepted_batch, needs_rejected
from mdplan.planning.resolve import ResolvedEdit, has_run_long, resolve_edits
from mdplan.planning.results.summary import plan_of
from mdplan.planning.sequence.second_pass import with_second_pass
from mdplan.planning.snapshot import SnapshotFile
from mdplan.planning.verify import verify, verify_paths
from mdplan.requests.batch import Batch


def plan_batch(batch: Batch, build: Callable[[Batch], BuildResult | Problems]) -> PlannedBatch | Problems:
    """The plan of `batch`, or of the edits of it that are accepted; or all problems of either.

    `build` makes the files of a batch.
    """
    built = build(batch)
    if not isinstance(built, BuildResult):
        return built
    if batch.accept is None:
        return PlannedBatch(PlanSelection(plan_of(built, batch)), built.files)
    chosen_batch = accepted_batch(batch)
    if isinstance(chosen_batch, Diagnostic):
        return (chosen_batch,)
    chosen = build(chosen_batch)
    problems = needs_rejected(batch, built, chosen)
    if problems or not isinstance(chosen, BuildResult):
        return problems
    accepted = tuple(sorted(set(batch.accept)))
    rejected = tuple(sorted(set(range(batch.edit_count)) - set(accepted)))
    return PlannedBatch(PlanSelection(plan_of(chosen, chosen_batch), accepted, rejected), chosen.files)


def build_files(
    snapshot: Sequence[SnapshotFile], batch: Batch, tree: FileTree
) -> Iterator[BuiltFile | Problems]:
    """Each file of `snapshot` with the edits of `batch`, or its problems; links are not updated.

    `tree` resolves the entries of a navigation.
    """
    yield from _in_sequence(snapshot, batch) if batch.sequential else _at_once(snapshot, batch, tree)


def _at_once(
    snapshot: Sequence[SnapshotFile], batch: Batch, tree: FileTree
) -> Iterator[BuiltFile | Problems]:
    """Resolve, check, build and verify each file, all edits against its base."""
    resolved: dict[str, tuple[tuple[ResolvedEdit, ...], Problems]] = {}
    for file in snapshot:
        resolved[file.path] = resolve_edits(file)
        if has_run_long(resolved[file.path][1]):
            yield resolved[file.path][1]
            return
    edits_of = {path: edits for path, (edits, _) in resolved.items()}
    arrivals = find_cross_file_moves(snapshot, edits_of, tree)
    yield arrivals.problems
    for file in snapshot:
        edits, problems = resolved[file.path]
        arriving = arrivals.by_file.get(file.path, ())
        problems += find_conflicts(file, [*edits, *arriving])
        built = problems or build_file(file, edits, arriving)
        built = with_second_pass(built) if isinstance(built, BuiltFile) else built
        yield (verify(built, batch) or built) if isinstance(built, BuiltFile) else built


def _in_sequence(snapshot: Sequence[SnapshotFile], batch: Batch) -> Iterator[BuiltFile | Problems]:
    """Resolve, check, build and verify each file, each edit against the result of the edits before it."""
    from mdplan.planning.sequence.sequential import build_in_sequence

    for file in snapshot:
        built = refuse_in_sequence(file) or build_in_sequence(file, batch)
        built = with_second_pass(built) if isinstance(built, BuiltFile) else built
        yield (verify_paths(built, batch) or built) if isinstance(built, BuiltFile) else built
