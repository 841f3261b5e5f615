"""Crash recovery: roll back transactions before their commit point, and finish those after it.

Only transactions of this user are recovered. A foreign record may have come with a cloned repository and is
ignored unless a person names its transaction.
"""

from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass, field

from mdplan.diagnostics import Code, Diagnostic, Problems, Severity
from mdplan.storage.fs.errors import StorageRefused
from mdplan.storage.fs.file_name import canonical_path
from mdplan.storage.fs.folders import Folders
from mdplan.storage.fs.root import Root
from mdplan.storage.journal.journal import Journal
from mdplan.storage.journal.journal_record import JournalRecord
from mdplan.storage.journal.lock import RootLock, is_locked
from mdplan.storage.journal.record_name import RecordName, State
from mdplan.storage.journal.state_folder import JOURNAL_FOLDER, open_existing
from mdplan.storage.transaction.blocking import blocking_names, blocking_transactions, interrupted_problem
from mdplan.storage.transaction.cleanup import clean_up, is_clean, unretired_names
from mdplan.storage.transaction.file_place import touched_folders, touched_paths
from mdplan.storage.transaction.restore import Keep
from mdplan.storage.transaction.rollback import roll_back
from mdplan.storage.transaction.root_state import RootState
from mdplan.storage.user.user_state import has_key

__all__ = ["Keep", "RecoveryResult", "confirm", "pending", "recover"]


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """The result of a recovery: the IDs of transactions that it rolled back or finished.

    `files` are the restored paths. Errors among the `problems` need a person; the others are information.
    """

    rolled_back: tuple[str, ...]
    finished: tuple[str, ...]
    files: tuple[str, ...]
    problems: Problems


@dataclass(slots=True)
class _Findings:
    rolled_back: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)


def pending(root: Root) -> Problems:
    """What a commit below `root` would have to recover first, without recovering it or taking the lock.

    A running commit of another process is not a problem. Without pending transactions this costs one listing
    of a folder. Errors: RECOVERY_REQUIRED, RECOVERY_CONFLICT, JOURNAL_CORRUPT, STATE_DIR_UNSAFE.
    """
    try:
        folder = open_existing(root, JOURNAL_FOLDER)
        if folder is None:
            return ()
        with ExitStack() as opened:
            opened.callback(root.filesystem.release, folder)
            journal, folders = Journal(root, folder), Folders(root)
            opened.callback(folders.close)
            if not blocking_names(journal) or is_locked(root):
                return ()
            return tuple(blocking_transactions(journal, folders))
    except StorageRefused as refused:
        return refused.problems


def recover(
    lock: RootLock, *, settles: bool, foreign: Collection[str] = (), keep: Keep | None = None
) -> RecoveryResult:
    """Undo this user's transactions of the locked root that were interrupted, and finish the committed ones.

    With `settles`, as `mdplan recover` does, every committed transaction is checked and none is left for a
    later commit. `foreign` are the IDs of interrupted transactions to undo that this user did not begin.
    `keep` decides what becomes of files that someone changed on top of a transaction: they stay as they are
    now (`current`), or get their old content (`base`); what they lose is in the history. With `current`,
    records that cannot be read are given up, too. Calling it again does no harm. Errors among the problems:
    RECOVERY_REQUIRED, RECOVERY_CONFLICT, JOURNAL_CORRUPT. Raises `StorageRefused` when the journal cannot be
    opened.
    """
    # The cause may have been a loss of power, so this lasts whatever the commit was asked for.
    state = RootState.open(lock, syncs=True)
    found = _Findings()
    try:
        # Of these nothing was done yet but the writing of the record.
        for name in state.journal.unfinished():
            state.journal.remove(name)
        for name in state.journal.names(State.PENDING, State.CONFLICT):
            _undo(state, name, found, keep=keep)
        _undo_foreign(state, found, foreign, keep=keep)
        for name in unretired_names(state.journal, everything=settles):
            _finish(state, name, found, settles=settles)
    finally:
        state.close()
    return RecoveryResult(
        tuple(found.rolled_back), tuple(found.finished), tuple(found.files), tuple(found.problems)
    )


def confirm(lock: RootLock) -> None:
    """Wait until every commit point below the locked root is on the disk.

    A commit syncs its own. But a process may be killed between the two; then the next one to report the
    transaction as committed has to sync it first. Raises `StorageRefused`.
    """
    state = RootState.open(lock, syncs=True)
    try:
        if state.journal.names(State.DONE):
            state.journal.sync()
    finally:
        state.close()


def _undo_foreign(state: RootState, found: _Findings, foreign: Collection[str], *, keep: Keep | None) -> None:
    """Undo those interrupted transactions of others that a person named; where no key tells, name all."""
    if not foreign and has_key():
        return
    for name in state.journal.foreign(State.PENDING, State.CONFLICT):
        if name.transaction in foreign:
            _undo(state, name, found, keep=keep)
        elif not has_key():
            record = state.journal.read(name)
            found.problems.append(
                interrupted_problem(state.journal, name, record)
                if isinstance(record, JournalRecord)
                else record
            )


def _undo(state: RootState, name: RecordName, found: _Findings, *, keep: Keep | None) -> None:
    record = state.journal.read(name)
    problem = record if isinstance(record, Diagnostic) else _path_problem(state, name, record)
    if isinstance(record, Diagnostic) or problem is not None:
        if keep == "current":
            state.journal.advance(name, State.BROKEN)
        elif problem is not None:
            found.problems.append(problem)
        return
    undone = roll_back(state, name, record, keeps=True, keep=keep)
    found.files.extend(undone.files)
    found.problems.extend(undone.problems)
    if all(problem.severity is Severity.WARNING for problem in undone.problems):
        found.rolled_back.append(record.transaction)


def _path_problem(state: RootState, name: RecordName, record: JournalRecord) -> Diagnostic | None:
    """Why the paths of `record` are none that a commit of ours could have written; None when they could."""
    for path in touched_paths(record):
        checked = canonical_path(path)
        if checked != path:
            reason = checked.message if isinstance(checked, Diagnostic) else "a path is not in its plain form"
            return Diagnostic(
                code=Code.JOURNAL_CORRUPT,
                message=f"the journal record `{state.journal.shown}/{name}` is refused: {reason}",
                hint="if this root came from elsewhere, remove its `.mdplan`",
                file=f"{state.journal.shown}/{name}",
            )
    return None


def _finish(state: RootState, name: RecordName, found: _Findings, *, settles: bool) -> None:
    """Clean up after a transaction that was committed; a person's recovery also settles it for good."""
    record = state.journal.read(name)
    if isinstance(record, Diagnostic) or _path_problem(state, name, record) is not None:
        return
    if not settles and is_clean(state, record):
        # The commit that follows need not check it again.
        state.clean[name] = frozenset(touched_folders(record))
        return
    # Its process may have been killed before the commit point was on the disk; nothing may go before that.
    state.sync(state.journal.sync)
    cleaned = clean_up(state, record)
    if cleaned.something:
        found.finished.append(record.transaction)
    found.problems.extend(cleaned.warnings)
    if settles and not cleaned.warnings:
        state.sync(lambda: state.folders.sync(touched_folders(record)))
        state.journal.advance(name, State.KEPT)
