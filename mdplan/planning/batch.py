"""Plan a batch on files that were opened: resolve, check, build, verify. Reads no files itself."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mdplan.diagnostics import Code, Diagnostic, Problems, or_problems
from mdplan.markdown.destinations import FileTree
from mdplan.operations.base import Export, ReplacingOperation, Resolution, SectionTargeted
from mdplan.planning.build import (
    BuildResult,
    BuiltFile,
    ResolvedEdit,
    SnapshotFile,
    build_file,
    has_run_long,
    resolve_edits,
)
from mdplan.planning.losses import with_losses
from mdplan.planning.replan import accepted_batch, needs_rejected
from mdplan.planning.replay import PlannedBatch, stale_base
from mdplan.planning.results import plan_of
from mdplan.planning.sequence import build_in_sequence, with_second_pass
from mdplan.planning.verify import find_conflicts, verify, verify_paths
from mdplan.requests.batch import Batch
from mdplan.text.source import DocumentFormat
from mdplan.values import Struct, field, replace
from mdplan.words import Argument, say

if TYPE_CHECKING:
    from mdplan.planning.moved_text import Labels


def plan_batch(
    batch: Batch, build: Callable[[Batch], BuildResult | Problems], *, is_part: bool = False
) -> PlannedBatch | Problems:
    """Return the plan of `batch`, or of the edits of it that are accepted; or all problems of either.

    `build` makes the files of a batch. A plan that `is_part` of another one has no ID.
    """
    built = build(batch)
    if not isinstance(built, BuildResult):
        return built
    if batch.accept is None:
        return PlannedBatch(plan=plan_of(built, batch, is_part=is_part), files=built.files)
    chosen_batch = accepted_batch(batch)
    if isinstance(chosen_batch, Diagnostic):
        return (chosen_batch,)
    chosen = build(chosen_batch)
    problems = needs_rejected(batch, built, chosen)
    if problems or not isinstance(chosen, BuildResult):
        return problems
    return PlannedBatch(
        plan=plan_of(chosen, chosen_batch, is_part=is_part),
        files=chosen.files,
        accepted=tuple(sorted(set(batch.accept))),
        rejected=tuple(sorted(set(range(batch.edit_count)) - set(batch.accept))),
    )


def build_files(
    snapshot: Sequence[SnapshotFile], batch: Batch, tree: FileTree
) -> Iterator[BuiltFile | Problems]:
    """Yield each file of `snapshot` with the edits of `batch`, or its problems; links are not updated.

    `tree` resolves the entries of a navigation.
    """
    yield from _in_sequence(snapshot, batch) if batch.sequential else _at_once(snapshot, batch, tree)


def check_losses(files: Sequence[BuiltFile], batch: Batch) -> list[BuiltFile] | Problems:
    """Return `files` with a warning on each edit that drops something. Errors: CONTENT_LOST."""
    edits = [item.operation for built in files for item in built.resolved]
    if batch.keep or any(isinstance(edit, ReplacingOperation) and edit.keep for edit in edits):
        # Few batches promise to keep something.
        from mdplan.planning.contract import broken_promises

        problems = broken_promises(files, batch)
        if problems:
            return problems
    return with_losses(files)


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
    for file in snapshot:
        built = refuse_in_sequence(file) or build_in_sequence(file, batch)
        built = with_second_pass(built) if isinstance(built, BuiltFile) else built
        yield (verify_paths(built, batch) or built) if isinstance(built, BuiltFile) else built


# --- Edits of one file that write into another: sections that move there, and entries of new pages


class CrossFileMoves(Struct):
    """By the path of a file, the edits of other files that write into it; and what is wrong with some."""

    by_file: Mapping[str, Sequence[ResolvedEdit]] = field(default_factory=dict)
    problems: Problems = ()


def find_cross_file_moves(
    snapshot: Sequence[SnapshotFile], resolved: Mapping[str, Sequence[ResolvedEdit]], tree: FileTree
) -> CrossFileMoves:
    """Return what the edits `resolved`, by the path of their file, do in other files of `snapshot`.

    `tree` resolves the entries of a navigation. Errors: INVALID_ARGUMENT for a file that no section can move
    to, STALE_BASE, PRECONDITION_REQUIRED; as `Export.insert`.
    """
    if not any(file.other_paths for file in snapshot):
        return CrossFileMoves()
    files = {file.path: file for file in snapshot}
    labels: dict[str, Labels] = {}
    by_file: dict[str, list[ResolvedEdit]] = {}
    problems: list[Diagnostic] = []
    for file in snapshot:
        for item in resolved.get(file.path, ()):
            target = files.get(file.other_paths.get(item.index, ""))
            if target is None:
                continue
            if item.operation.file_effect == "create":
                outcome = _entry(file, item, target, tree)
            elif item.resolution.export is not None:
                outcome = _arrival(file, item, item.resolution.export, target, labels)
            else:
                continue
            if isinstance(outcome, ResolvedEdit):
                by_file.setdefault(target.path, []).append(outcome)
            else:
                problems += (problem.at(file=target.path, edit_index=item.index) for problem in outcome)
    return CrossFileMoves(by_file, tuple(problems))


def refuse_in_sequence(file: SnapshotFile) -> Problems:
    """Return INVALID_ARGUMENT for edits that write into other files, which have no order between them."""
    return tuple(
        Diagnostic.invalid(
            "an edit that writes into another file does not go with sequential",
            "send it in a separate batch",
            file=file.path,
            edit_index=index,
        )
        for index in file.other_paths
    )


def _arrival(
    file: SnapshotFile, item: ResolvedEdit, export: Export, target: SnapshotFile, labels: "dict[str, Labels]"
) -> ResolvedEdit | Problems:
    """Return what `item` of `file` does in the file `target`."""
    from mdplan.planning.moved_text import moved_text

    refused = _stale_target(item, target) or _refusal(file, target)
    if refused is not None:
        return (refused,)
    payload, warnings = moved_text(file, item.resolution.claims[0].span, export.payload, target, labels)
    outcome = or_problems(export.insert, target.outline, payload)
    if not isinstance(outcome, Resolution):
        return outcome
    other = item.operation.other_file
    if (
        (target.requested.base_sha256 or (other and other.base_sha256)) is None
        and isinstance(item.operation, SectionTargeted)
        and item.operation.needs_precondition(outcome)
    ):
        guard = Argument("toBaseSha256", target.outline.source.sha256)
        return (
            Code.PRECONDITION_REQUIRED.problem(
                say("{toSectionId} counts equal headings, so an edit elsewhere could have moved it"),
                say("add {} if this is the file you saw", guard),
            ),
        )
    return ResolvedEdit(
        index=item.index,
        operation=item.operation,
        resolution=replace(outcome, warnings=(*outcome.warnings, *warnings)),
        outline=target.outline,
        origin=file.relative,
    )


def _entry(
    file: SnapshotFile, item: ResolvedEdit, target: SnapshotFile, tree: FileTree
) -> ResolvedEdit | Problems:
    """Return the entry of the new page `file` in the file `target`."""
    # Few batches make pages, and it loads the operations that write entries.
    from mdplan.operations.files import CreatePage
    from mdplan.planning.navigation_entries import new_entry

    operation, stale = item.operation, _stale_target(item, target)
    assert isinstance(operation, CreatePage), "it is the one that makes a listed page"
    if stale is not None:
        return (stale,)
    if not target.exists or target.is_deleted:
        return (
            Diagnostic.invalid(
                "the same batch makes or deletes the file that lists the pages",
                "name a file that stays, or create_file and write the entry yourself",
            ),
        )
    outcome = or_problems(new_entry, operation, file.relative, target.relative, target.outline, tree)
    if not isinstance(outcome, Resolution):
        return outcome
    return ResolvedEdit(
        index=item.index, operation=operation, resolution=outcome, outline=target.outline, origin=None
    )


def _stale_target(item: ResolvedEdit, target: SnapshotFile) -> Diagnostic | None:
    """Return STALE_BASE if the edit says another hash of the file `target`."""
    other = item.operation.other_file
    expected = None if other is None else other.base_sha256
    if expected is None or target.outline.source.sha256.startswith(expected.lower()):
        return None
    return stale_base(target.path, expected, target.outline)


def _refusal(file: SnapshotFile, target: SnapshotFile) -> Diagnostic | None:
    """Return why no section can move from `file` to `target`; None if one can."""
    if target.path == file.path:
        reason, hint = say("{toFile} is the file that the section is in"), say("leave {toFile} out")
    elif target.is_deleted:
        reason, hint = say("{toFile} is deleted by the same batch"), "name a file that stays"
    elif not target.exists and target.requested.edits:
        reason, hint = say("{toFile} is made by the same batch"), "make it first, in a separate batch"
    elif target.outline.format is not DocumentFormat.MARKDOWN:
        reason = say("{toFile} counts as plain text, and a section needs Markdown")
        hint = "name a Markdown file"
    else:
        return None
    return Diagnostic.invalid(reason, hint)
