"""Write the files of a plan: all of them or none, through kills, full disks and losses of power.

`stage` writes next to the targets and `publish` makes that visible. The order of steps is the protocol: what
has to be on the disk before what. Whatever fails before the commit point is undone, here or by the next
recovery.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from mdplan.diagnostics import Code, Diagnostic, Problems, Severity
from mdplan.storage.durability import Durability
from mdplan.storage.fs.errors import StorageRefused, storage_errors
from mdplan.storage.fs.regular_file import KnownContent
from mdplan.storage.journal.journal_record import MAX_RECORD_BYTES, TRANSACTION, JournalRecord, encode_note
from mdplan.storage.journal.lock import RootLock, locked_alone
from mdplan.storage.journal.nested_roots import roots_between
from mdplan.storage.journal.record_name import RecordName, State
from mdplan.storage.journal.state_folder import make_lasting
from mdplan.storage.transaction.blocking import blocking_transactions, blocking_transactions_elsewhere
from mdplan.storage.transaction.cleanup import (
    UnretiredTransaction,
    clean_up_after,
    find_unretired,
    folders_to_sync,
    retire,
)
from mdplan.storage.transaction.file_place import touched_folders
from mdplan.storage.transaction.preconditions import FilePrecondition, check_again, find_bases
from mdplan.storage.transaction.rollback import roll_back
from mdplan.storage.transaction.root_state import RootState
from mdplan.storage.transaction.staged import (
    LaterContent,
    StagedFile,
    StagedTarget,
    TemplateFile,
    write_results,
)
from mdplan.storage.transaction.swap import Guard, swap_all

__all__ = ["CommitResult", "Durability", "LaterContent", "Staged", "StagedFile", "publish", "stage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitResult:
    """The result of a successful commit.

    `cas` is `weak` where another program's write in the microseconds before a replacement could be lost.
    `durable` is False when syncs were not asked for, or when the file system cannot sync names. `undoable`
    says whether the history has the old content of every file. `warnings` change nothing about the success.
    """

    cas: Guard
    durable: bool
    undoable: bool
    warnings: Problems


class Staged:
    """A transaction that is written next to its targets; `publish` or `discard` uses it up."""

    def __init__(self, lock: RootLock, durability: Durability) -> None:
        self.durability = durability
        self.state = RootState.open(lock, syncs=durability is Durability.FULL)
        self.lock = lock
        self.held = ExitStack()
        self.record: JournalRecord | None = None
        self.name: RecordName | None = None
        self.targets: tuple[StagedTarget, ...] = ()
        self.waiting: list[UnretiredTransaction] = []
        self.durable = self.state.syncs
        self.visible = False

    def discard(self) -> Problems:
        """Take everything back; what a person has to know of that. Does not raise."""
        try:
            if self.record is None or self.name is None:
                return ()
            if self.visible and self.state.journal.contains(replace(self.name, state=State.DONE)):
                # The system reported a failure, or the user stopped us, at the commit point itself.
                return (_in_doubt(),)
            return roll_back(self.state, self.name, self.record, keeps=False, visible=self.visible).problems
        except StorageRefused as refused:
            return tuple(replace(problem, code=Code.RECOVERY_REQUIRED) for problem in refused.problems)
        finally:
            self.close()

    def close(self) -> None:
        """Close all folders and release the locks that were taken for them."""
        self.held.close()
        self.state.close()


def stage(  # noqa: PLR0913 - Each says another thing about the one commit, by its name.
    lock: RootLock,
    files: Sequence[StagedFile],
    *,
    transaction: str,
    note: Mapping[str, Any] | bytes,
    max_bytes: int,
    durability: Durability = Durability.FULL,
    removed_folders: Sequence[str] = (),
) -> Staged:
    """Verify the base of every file, then write every result next to its target; nothing is visible yet.

    `transaction` is its ID, 8 to 32 hex digits. `note` is a JSON object that becomes part of the history, as
    values or as the one line that says it. `max_bytes` is the limit on the size of a base. Folders that
    created files need are made; `removed_folders`, which another commit made, are removed after the commit if
    they are empty then.
    Raises `StorageRefused` with the problems of all files, and leaves nothing after then: those of
    `unsettled` and `find_bases`, what `LaterContent` raises,
    LOCK_TIMEOUT, NO_SPACE, OWNER_CHANGE, PERMISSION_DENIED, IO_ERROR.
    """
    assert TRANSACTION.fullmatch(transaction), "the ID of a transaction is 8 to 32 hex digits"
    staged = Staged(lock, durability)
    try:
        _lock_roots_between(staged, files)
        _refuse_blocked(staged, files)
        bases = find_bases(staged.state.folders, files, max_bytes)
        staged.record = JournalRecord(
            transaction=transaction,
            entries=tuple(base.entry for base in bases.files),
            made_folders=bases.made_folders,
            removed_folders=tuple(removed_folders),
            note=note if isinstance(note, bytes) else encode_note(note),
        )
        _write_record(staged, staged.record)
        # The journal has it, and nothing else asks for it.
        staged.record = replace(staged.record, note=b"")
        for folder in bases.made_folders:
            staged.state.folders.make(folder)
        staged.targets = _targets(staged, staged.record, bases.files)
        write_results(lock.root.filesystem, staged.targets, durability)
    except StorageRefused as refused:
        raise StorageRefused(refused.problems + staged.discard()) from refused
    except BaseException:
        staged.discard()
        raise
    return staged


def publish(staged: Staged) -> CommitResult:
    """Put all staged files in place; `staged` is used up, whatever happens.

    Raises `StorageRefused` after undoing what was done: STALE_BASE and FILE_EXISTS (nothing had been replaced
    yet), CONFLICT_LATE_WRITE, FILE_EXISTS, TARGET_BUSY, PERMISSION_DENIED, NO_SPACE, IO_ERROR. Besides one of
    them RECOVERY_REQUIRED shows that not all could be undone, and RECOVERY_CONFLICT that another program
    changed a file concurrently. COMMIT_IN_DOUBT: the files are new, and whether they stay so through a loss
    of power now is not known.
    """
    state, record = staged.state, staged.record
    assert record is not None
    assert staged.name is not None
    try:
        check_again(staged.targets)
        staged.visible = True
        cas = swap_all(state, staged.targets, staged.durability)
        synced = touched_folders(record) | folders_to_sync(staged.waiting)
        staged.durable &= state.sync(lambda: state.folders.sync(synced))
        # The commit point.
        done = state.journal.advance(staged.name, State.DONE)
    except StorageRefused as refused:
        raise StorageRefused(refused.problems + staged.discard()) from refused
    except BaseException as stopped:
        for problem in staged.discard():
            stopped.add_note(problem.message)
        raise
    try:
        _confirm(staged)
        return _finished(staged, record, done, synced, cas)
    finally:
        staged.close()


def _lock_roots_between(staged: Staged, files: Sequence[StagedFile]) -> None:
    """Lock what lies between the root and its files, and see that nothing was cut off there or above."""
    paths = [file.name.path for file in files]
    problems = [blocking_transactions_elsewhere(lock.root) for lock in staged.lock.outer]
    for root in roots_between(staged.state.folders, paths):
        staged.held.enter_context(locked_alone(root, staged.lock.timeout))
        problems.append(blocking_transactions_elsewhere(root))
    refusals = tuple(problem for problem in problems if problem is not None)
    if refusals:
        raise StorageRefused(refusals)


def _refuse_blocked(staged: Staged, files: Sequence[StagedFile]) -> None:
    state = staged.state
    paths = [file.name.path for file in files]
    problems = blocking_transactions(state.journal, state.folders, paths)
    if problems:
        raise StorageRefused(tuple(problems))
    staged.waiting = find_unretired(state)


def _write_record(staged: Staged, record: JournalRecord) -> None:
    """From here on a crash means undo: what follows is found and taken away, whatever part of it happened."""
    if len(record.note) > MAX_RECORD_BYTES // 2:
        message = "the plan is too large for the journal"
        hint = "send the edits in several batches"
        raise StorageRefused.of(Code.BATCH_TOO_LARGE, message, hint)
    state = staged.state
    if state.syncs:
        staged.durable &= make_lasting(state.root, staged.lock.state_folder)
    staged.name = state.journal.write_new(record, syncs=state.syncs)
    staged.name = state.journal.advance(staged.name, State.PENDING)
    staged.durable &= state.sync(state.journal.sync)


def _targets(
    staged: Staged, record: JournalRecord, bases: Sequence[FilePrecondition]
) -> tuple[StagedTarget, ...]:
    with storage_errors(staged.lock.root.show("."), "looking at the folders of"):
        places = [staged.state.place(record, index) for index in range(len(bases))]
    problems = tuple(place for place in places if isinstance(place, Diagnostic))
    if problems:
        raise StorageRefused(problems)
    own = {
        base.entry.path: TemplateFile(place.folder, place.leaf, base.status)
        for base, place in zip(bases, places, strict=True)
        if base.status is not None and not isinstance(place, Diagnostic)
    }
    return tuple(
        StagedTarget(
            file=base.file,
            place=replace(place, base=_known_content(base.file)),
            status=base.status,
            model=_model(staged.state, base, own),
        )
        for base, place in zip(bases, places, strict=True)
        if not isinstance(place, Diagnostic)
    )


def _known_content(file: StagedFile) -> KnownContent | None:
    if file.base is None or file.base_sha256 is None:
        return None
    return KnownContent(file.base, file.base_sha256)


def _model(state: RootState, base: FilePrecondition, own: Mapping[str, TemplateFile]) -> TemplateFile | None:
    """What the new file is made like: its base, the file that it was, or itself before it was deleted."""
    if base.status is not None:
        return own[base.entry.path]
    if base.file.like is not None:
        return own[base.file.like.path]
    images = state.images
    if base.file.restores and base.entry.result and (status := images.status(base.entry.result)):
        return TemplateFile(images.folder, base.entry.result, status)
    return None


def _confirm(staged: Staged) -> None:
    """Wait until the commit point is on the disk: nothing that an undo needs may go before that."""
    try:
        staged.durable &= staged.state.sync(staged.state.journal.sync)
    except StorageRefused as refused:
        raise StorageRefused((_in_doubt(), *refused.problems)) from refused


def _finished(
    staged: Staged, record: JournalRecord, done: RecordName, synced: set[str], cas: Guard
) -> CommitResult:
    """Clean up; nothing that fails now makes the commit a failure."""
    state = staged.state
    cleaned = clean_up_after(state, record, [target.place for target in staged.targets])
    warnings = [*cleaned.warnings]
    if not cleaned.complete:
        warnings.append(_not_undoable())
    if cas == "weak":
        warnings.append(_weak())
    try:
        retire(state, staged.waiting, synced)
        if (record.removed_folders or not state.syncs) and not cleaned.warnings:
            # A folder that someone makes there now is not the one that was to go.
            state.sync(lambda: state.folders.sync(touched_folders(record)))
            state.journal.advance(done, State.KEPT)
    except StorageRefused as refused:
        warnings.extend(replace(problem, severity=Severity.WARNING) for problem in refused.problems)
    return CommitResult(cas=cas, durable=staged.durable, undoable=cleaned.complete, warnings=tuple(warnings))


def _in_doubt() -> Diagnostic:
    return Diagnostic(
        code=Code.COMMIT_IN_DOUBT,
        message="all files are new, but the disk did not confirm the commit: a loss of power now may undo it",
        hint="check the disk, then run `mdplan recover`; the next commit does it as well",
    )


def _not_undoable() -> Diagnostic:
    return Diagnostic.warning(
        Code.NOT_UNDOABLE,
        "the old content of a file could not be put into the history, so this commit cannot be undone",
        "keep a copy elsewhere if you need it",
    )


def _weak() -> Diagnostic:
    return Diagnostic.warning(
        Code.WEAK_CAS,
        "this file system has no atomic swap: a concurrent write of another program could have been lost",
    )
