"""Undo of past transactions, their diffs, and recovery of interrupted commits."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final, TypeVar

from mdplan.diagnostics import Code, Diagnostic, Problems, Severity
from mdplan.documents.documents import Documents
from mdplan.documents.workspace import Workspace
from mdplan.engine.history import History, PastTransaction, changed_paths
from mdplan.engine.interrupted import without_hidden
from mdplan.plan import FileChange, Plan
from mdplan.planning.replan import UndoneFile, merge_undone, not_undoable, rebase_undone, undo_file, undo_plan
from mdplan.planning.replay import FoundFile, bases_of, is_applied, no_text, replay, stale_file
from mdplan.reports.plan import ApplyReport, RecoveredTransactions
from mdplan.requests.verbs import OnStale
from mdplan.storage import neighbours, recovery
from mdplan.storage.filesystem import StorageRefused, granted
from mdplan.storage.folders import Folders
from mdplan.storage.lock import is_locked, locked
from mdplan.storage.neighbours import StagedPlace
from mdplan.storage.root import Root
from mdplan.storage.store import Record, Store, stored_content
from mdplan.text.source import Source
from mdplan.text.visible import visible
from mdplan.values import Struct, replace
from mdplan.words import Step, say

# Every commit asks whether one before was interrupted; few were.
if TYPE_CHECKING:
    from mdplan.reports.history import ForeignTransaction, RecoverReport


class PlannedUndo(Struct):
    """A plan and its `bases`: of an undo, or one that was committed.

    `is_applied` if the files already are the results of an undo, and `rebased` if it was carried over later
    changes.
    """

    plan: Plan
    bases: Sequence[Source]
    is_applied: bool = False
    rebased: bool | None = None


class UndoService:
    """Undo of the transactions in `history`, on the files of `documents`."""

    def __init__(self, documents: Documents, history: History) -> None:
        """Plan on files of `documents`."""
        self._documents = documents
        self._history = history

    def find(self, transaction: str | None, actor: str | None = None) -> PastTransaction | Diagnostic:
        """Return a transaction by its ID, or the beginning of one; None for the last of `actor`, or of all.

        Errors: NOT_UNDOABLE; JOURNAL_CORRUPT where the last one cannot be read.
        """
        if transaction is not None:
            return self._history.find(transaction) or _unknown(transaction)
        last = self._history.last(actor)
        if last is not None:
            return last
        newest = self._history.last()
        return _of_others(newest, actor) if isinstance(newest, PastTransaction) else _unknown(None)

    def plan(
        self, past: PastTransaction, on_stale: OnStale = "refuse", files: Sequence[str] = ()
    ) -> PlannedUndo:
        """Return the plan that undoes `past`, on the files that it left, or `on_stale` on the current files.

        With `files`, undo only these. Finds files that mdplan renamed since. Raises `StorageRefused`:
        NOT_UNDOABLE for every file with incomplete history; INVALID_ARGUMENT for `files` that it did not
        change; STALE_BASE, FILE_EXISTS, FILE_NOT_FOUND or MERGE_CONFLICT for changed files; PARSE_TIMEOUT; as
        for reading.
        """
        committed = _committed_plan(past)
        part = self._part(past, committed, files) if files else committed
        return granted(self._documents.with_timeout_of(part, lambda: self._plan(past, part, on_stale)))

    def _part(self, past: PastTransaction, committed: Plan, files: Sequence[str]) -> Plan:
        """Return the part of a `committed` plan that is about `files`, by any name that they had since."""
        named = {str(granted(self._documents.workspace.locate(file))): file for file in files}
        renames = self._history.renames_since(past)
        names = [
            {*changed_paths(change), _path_now(change.new_path or change.path, renames)}
            for change in committed.files
        ]
        for name, file in named.items():
            if not any(name in each for each in names):
                raise StorageRefused((_not_changed(past, committed, file),))
        kept = tuple(
            change for change, each in zip(committed.files, names, strict=True) if each & named.keys()
        )
        return replace(committed, files=kept)

    def _plan(self, past: PastTransaction, committed: Plan, on_stale: OnStale) -> PlannedUndo:
        is_part = len(committed.files) < len(_committed_plan(past).files)
        renames = self._history.renames_since(past)
        plan = _plan_of(past, self._undone(past, committed, renames), is_part=is_part)
        current_files = granted(self._documents.read_current(plan))
        if is_applied(plan, current_files):
            return PlannedUndo(plan, (), is_applied=True)
        stale = self._documents.stale(plan, current_files)
        if not stale:
            return PlannedUndo(plan, bases_of(plan, current_files))
        if on_stale == "refuse":
            raise StorageRefused(
                tuple(replace(each, hint=_NEXT_STEPS.get(each.code, each.hint)) for each in stale)
            )
        rebase = merge_undone if on_stale == "merge" else rebase_undone
        undone_files = self._undone(past, committed, renames)
        pairs = zip(undone_files, current_files, strict=True)
        rebased = (_on_current_file(file, current, rebase) for file, current in pairs)
        plan = _plan_of(past, rebased, is_part=is_part)
        return PlannedUndo(plan, bases_of(plan, current_files), rebased=True)

    def is_redo(self, past: PastTransaction) -> bool:
        """Return True if undoing `past` is a redo: `past` is an undo, and not a redo itself."""
        is_redo = False
        undone = past.note.undoes
        while undone is not None:
            is_redo = not is_redo
            before = self._history.find(undone)
            undone = before.note.undoes if before is not None else None
        return is_redo

    def folders_to_remove(self, plan: Plan) -> tuple[str, ...]:
        """Return the folders that `plan`, if it is an undo, created before and may remove when empty."""
        transaction = plan.undoes
        past = self._history.find(transaction) if transaction is not None else None
        return tuple(past.stored.record.made_folders) if past is not None else ()

    def diff(self, past: PastTransaction) -> bytes:
        """Return the exact diff of `past`. Raise `StorageRefused` as `committed`."""
        committed = self.committed(past)
        paths = [
            (past.relative(change.path), change.new_path and past.relative(change.new_path))
            for change in committed.plan.files
        ]
        return granted(replay(committed.plan, paths, committed.bases)).diff

    def committed(self, past: PastTransaction) -> PlannedUndo:
        """Return the plan of `past` without unchanged files, and the old content of the others.

        Raise `StorageRefused` (NOT_UNDOABLE) if the history lacks old content.
        """
        plan = _committed_plan(past)
        plan = replace(plan, files=tuple(change for change in plan.files if not change.is_no_op))
        return PlannedUndo(plan, [granted(self._base(past, change)) for change in plan.files])

    def _undone(
        self, past: PastTransaction, plan: Plan, renames: Sequence[Mapping[str, str]]
    ) -> Iterator[UndoneFile | Problems]:
        """Yield the inverse change of each file of `past`, under the name that it has after `renames`.

        One by one, because all texts take much memory.
        """
        if plan.is_no_op or not past.is_committed:
            yield (_without_plan(past),)
            return
        for change in plan.files:
            if not change.is_no_op:
                sha256 = change.base_sha256
                before = stored_content(past.root.path, sha256) if sha256 is not None else None
                undone = undo_file(change, before)
                if isinstance(undone, UndoneFile):
                    path = _path_now(undone.change.path, renames)
                    yield replace(undone, change=replace(undone.change, path=path))
                else:
                    yield (undone,)

    def _base(self, past: PastTransaction, change: FileChange) -> Source | Diagnostic:
        if change.base_sha256 is None:
            return no_text(change.encoding)
        data = stored_content(past.root.path, change.base_sha256)
        source = Source.decode(data, change.encoding) if data is not None else None
        if isinstance(source, Source) and source.sha256 == change.base_sha256:
            return source
        return not_undoable(change.path, "its content from before the transaction is not in the history")


def _committed_plan(past: PastTransaction) -> Plan:
    """Return the plan of `past`. Raises `StorageRefused` where it cannot be undone or shown."""
    plan = past.plan_now()
    if past.hides_files:
        raise StorageRefused((_HIDDEN,))
    return granted(_without_plan(past) if plan is None else plan)


def _path_now(path: str, renames: Iterable[Mapping[str, str]]) -> str:
    """Return the path that a file has after `renames`."""
    for new_paths in renames:
        path = new_paths.get(path, path)
    return path


def _not_changed(past: PastTransaction, committed: Plan, file: str) -> Diagnostic:
    names = ", ".join(f"`{visible(change.path)}`" for change in committed.files[:_MOST_NAMED])
    return Diagnostic.invalid(
        f"the transaction {past.id} did not change `{visible(file)}`", f"it changed {names}", file=file
    )


def _plan_of(past: PastTransaction, files: Iterable[UndoneFile | Problems], *, is_part: bool) -> Plan:
    """Yield the plan of `files`. Raises `StorageRefused` with all problems where some cannot be undone."""
    problems: list[Diagnostic] = []

    def possible() -> Iterator[UndoneFile]:
        for file in files:
            if isinstance(file, UndoneFile):
                yield file
            else:
                problems.extend(file)

    plan = undo_plan(past.id, possible(), is_part=is_part)
    granted(tuple(problems))
    return plan


def _on_current_file(
    undone: UndoneFile | Problems,
    current: FoundFile,
    rebase: Callable[[UndoneFile, Source], UndoneFile | Problems],
) -> UndoneFile | Problems:
    """Return `undone` for the current file, changed by `rebase` if the file changed."""
    if not isinstance(undone, UndoneFile):
        return undone
    change = undone.change
    if current.renamed_sha256 is None and current.sha256 == change.base_sha256:
        return undone
    source = current.read()
    if source is not None and change.base_sha256 is not None and current.renamed_sha256 is None:
        return rebase(undone, source)
    problem = stale_file(change, current)
    assert problem is not None, "it is not the base"
    return (problem,)


_MOST_NAMED: Final = 5
_NEXT_STEPS: Final = {
    Code.STALE_BASE: say(
        '{onStale="rebase"} undoes it if other lines have changed, {onStale="merge"} merges both'
    ),
    Code.FILE_NOT_FOUND: say("{step history} lists what took it away: undo that first"),
    Code.FILE_EXISTS: "another file has this name now: rename that first",
}


def _unknown(transaction: str | None) -> Diagnostic:
    if transaction is None:
        message = "there is nothing to undo here"
    else:
        message = f"no transaction has the ID `{visible(transaction)}`, or several IDs begin with it"
    return Code.NOT_UNDOABLE.problem(
        message, say("see {step history}; what the history has forgotten cannot be undone")
    )


_HIDDEN: Final = Code.PATH_OUTSIDE_ROOT.problem(
    "the transaction changed a file that `--allow` or `--deny` excludes: it is not shown or undone",
    say("{run undo} without these options"),
)


def _of_others(past: PastTransaction, actor: str | None) -> Diagnostic:
    return Code.NOT_UNDOABLE.problem(
        f"the history contains no transaction of {actor}; the last one is {past.id} of {past.note.actor}",
        say(
            "name the transaction to undo one of another user or client: {}",
            Step("undo", transaction=past.id),
        ),
    )


def _without_plan(past: PastTransaction) -> Diagnostic:
    reason = "its record has no plan of this version" if past.is_committed else "it was never committed"
    return Code.NOT_UNDOABLE.problem(
        f"the transaction {past.id} cannot be undone or shown: {reason}",
        "write the old text with a new batch",
    )


# --- Recovery of interrupted commits, by verbs that commit and by `recover`.

AnyApplied = TypeVar("AnyApplied", bound=ApplyReport)


class Recovery:
    """Recovery in the roots of `workspace`."""

    def __init__(self, workspace: Workspace, lock_timeout: float) -> None:
        """Wait up to `lock_timeout` seconds for the lock of a root."""
        self._workspace = workspace
        self._lock_timeout = lock_timeout

    def recover_pending(self) -> list[recovery.RecoveryResult]:
        """Recover the roots in which a commit was interrupted, as far as that needs no person.

        Raises `StorageRefused`, as `locked` does.
        """
        recovered = []
        for root in self._workspace.roots:
            if recovery.pending(root):
                with locked(root, self._lock_timeout) as lock:
                    recovered.append(self._shown(recovery.recover(lock)))
        return recovered

    def recover(self, keep: recovery.Keep | None, *, adopt: bool = False) -> "RecoverReport":
        """Recover all roots from interrupted commits of this user, and with `adopt` of others.

        `keep` settles conflicts: keep the files as they are, or as they were before. Errors: as for recovery,
        such as RECOVERY_CONFLICT, and for locking.
        """
        from mdplan.reports.history import RecoverReport

        recovered: list[recovery.RecoveryResult] = []
        problems: list[Diagnostic] = []
        for root in self._workspace.roots:
            try:
                if not _is_unfinished(root):
                    continue
                with locked(root, self._lock_timeout) as lock:
                    done = recovery.recover(lock, settles=True, adopts=adopt, keep=keep)
                    recovered.append(self._shown(done))
            except StorageRefused as refused:
                problems += without_hidden(self._workspace, refused.problems)
        problems += (problem for result in recovered for problem in result.problems)
        errors = tuple(problem for problem in problems if problem.severity is Severity.ERROR)
        return RecoverReport(
            ok=not errors,
            error=errors[0] if errors else None,
            diagnostics=errors,
            recovered=_merged(recovered),
            foreign=self.foreign() or None,
            warnings=tuple(problem for problem in problems if problem.severity is Severity.WARNING),
        )

    def foreign(self) -> "tuple[ForeignTransaction, ...]":
        """Return the interrupted commits of other users, and what their recovery would change.

        Skips roots with an unreadable store, which `recover` reports.
        """
        transactions: list[ForeignTransaction] = []
        for root in self._workspace.roots:
            with suppress(StorageRefused):
                transactions += _foreign(root)
        return tuple(transactions)

    def _shown(self, recovered: recovery.RecoveryResult) -> recovery.RecoveryResult:
        """Return `recovered` without the names of files that `--allow` or `--deny` excludes."""
        return recovery.RecoveryResult(
            recovered.rolled_back,
            recovered.finished,
            tuple(file for file in recovered.files if not self._workspace.hides(file)),
            without_hidden(self._workspace, recovered.problems),
        )


def with_recovered(report: AnyApplied, recovered: Iterable[recovery.RecoveryResult]) -> AnyApplied:
    """Return `report` of a commit with the recovery that preceded it."""
    results = list(recovered)
    done = _merged(results, report.recovered)
    if done == report.recovered:
        return report
    problems = (problem for result in results for problem in result.problems)
    warnings = (problem for problem in problems if problem.severity is Severity.WARNING)
    return replace(report, recovered=done, warnings=(*report.warnings, *warnings))


def _merged(
    recovered: Iterable[recovery.RecoveryResult], after: RecoveredTransactions | None = None
) -> RecoveredTransactions | None:
    """Return all that was `recovered`, and `after` that; None for nothing."""
    results = [*recovered, *((after,) if after is not None else ())]
    merged = RecoveredTransactions(
        rolled_back=tuple(transaction for result in results for transaction in result.rolled_back),
        finished=tuple(transaction for result in results for transaction in result.finished),
        files=tuple(file for result in results for file in result.files),
    )
    return None if merged == RecoveredTransactions() else merged


def _foreign(root: Root) -> "Iterator[ForeignTransaction]":
    """Yield the interrupted commit of another identity in `root`, unless it runs, and its possible undo."""
    from mdplan.reports.history import ForeignFile, ForeignTransaction

    note, store = neighbours.read_note(root), Store(root.path, filesystem=root.filesystem)
    if not isinstance(note, Record) or not neighbours.is_foreign(note, store) or is_locked(root):
        return
    with closing(Folders(root)) as folders:
        places, _ = neighbours.places_of(folders, note)
        is_complete = recovery.is_complete(folders, note)
        actions = [
            (each.entry.path, "keep the new state of" if is_complete else _possible_undo(each))
            for each in places
        ]
    files = tuple(
        ForeignFile(file=root.show(path), action=action)
        for path, action in actions
        if action and root.scope.refusal(path) is None
    )
    yield ForeignTransaction(transaction=note.transaction, root=root.name or None, files=files)


def _possible_undo(place: StagedPlace) -> str:
    """Return what an undo could do to the file; empty for nothing."""
    disk = place.folders.root.filesystem
    there = [disk.has(place.folder, name) for name in (place.leaf, place.temporary, place.aside)]
    if place.entry.base is None:
        return "remove" if there[0] else ""
    if place.entry.result is None:
        return "bring back" if there[2] and not there[0] else ""
    return "put back the old content of" if there[1] or there[2] else ""


def _is_unfinished(root: Root) -> bool:
    """Return True if a commit below `root` runs, was interrupted, needs a person, or left something behind.

    Raise `StorageRefused`.
    """
    store = Store(root.path, filesystem=root.filesystem)
    return root.has_note() or bool(store.interrupted() or store.uncleaned())
