"""Recovery and rollback: put files back before the commit point, and finish a transaction after it.

Only transactions of this user are recovered. A foreign record may have come with a cloned repository and is
ignored unless a person names its transaction.
"""

import errno
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Final, Literal

from mdplan.diagnostics import Code, Diagnostic, Problems, Severity
from mdplan.storage import transactions
from mdplan.storage.files import UNFINISHED, canonical_path, is_digest, is_temporary_name, visible
from mdplan.storage.filesystem import StorageRefused, of_error
from mdplan.storage.folders import Folders
from mdplan.storage.journal import Journal, JournalEntry, JournalRecord
from mdplan.storage.lock import RootLock, is_locked
from mdplan.storage.root import STATE_FOLDER, Root
from mdplan.storage.state_folder import JOURNAL_FOLDER, RecordName, State, open_existing
from mdplan.storage.user_state import has_key


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
        with _existing_journal(root) as journal, closing(Folders(root)) as folders:
            if journal is None or not blocking_names(journal) or is_locked(root):
                return ()
            return tuple(blocking_transactions(journal, folders))
    except StorageRefused as refused:
        return refused.problems


@contextmanager
def _existing_journal(root: Root) -> Iterator[Journal | None]:
    """Open the journal of `root`; None if there is none yet. Raises `StorageRefused`."""
    folder = open_existing(root, JOURNAL_FOLDER)
    try:
        yield None if folder is None else Journal(root, folder)
    finally:
        if folder is not None:
            root.filesystem.release(folder)


# --- Put files back as they were before a transaction, after a failure and after a crash.
#
# The contents under the three names of a place show how far its file came, and so what to do. All places are
# examined before anything is changed, and every step can be repeated: if it is stopped, it starts over.

Keep = Literal["current", "base"]


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
    state = transactions.RootState.open(lock, syncs=True)
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
    state = transactions.RootState.open(lock, syncs=True)
    try:
        if state.journal.names(State.DONE):
            state.journal.sync()
    finally:
        state.close()


def _undo_foreign(
    state: transactions.RootState, found: _Findings, foreign: Collection[str], *, keep: Keep | None
) -> None:
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


def _undo(state: transactions.RootState, name: RecordName, found: _Findings, *, keep: Keep | None) -> None:
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


def _path_problem(
    state: transactions.RootState, name: RecordName, record: JournalRecord
) -> Diagnostic | None:
    """Why the paths of `record` are none that a commit of ours could have written; None when they could."""
    for path in transactions.touched_paths(record):
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


def _finish(state: transactions.RootState, name: RecordName, found: _Findings, *, settles: bool) -> None:
    """Clean up after a transaction that was committed; a person's recovery also settles it for good."""
    record = state.journal.read(name)
    if isinstance(record, Diagnostic) or _path_problem(state, name, record) is not None:
        return
    if not settles and is_clean(state, record):
        # The commit that follows need not check it again.
        state.clean[name] = frozenset(transactions.touched_folders(record))
        return
    # Its process may have been killed before the commit point was on the disk; nothing may go before that.
    state.sync(state.journal.sync)
    cleaned = clean_up(state, record)
    if cleaned.something:
        found.finished.append(record.transaction)
    found.problems.extend(cleaned.warnings)
    if settles and not cleaned.warnings:
        state.sync(lambda: state.folders.sync(transactions.touched_folders(record)))
        state.journal.advance(name, State.KEPT)


# Another program that writes in a loop is followed this often; then both versions are left for a person.
_MOST_EXCHANGES: Final = 50


class RestoreAction(Enum):
    """The action that restores a file."""

    NOTHING = auto()
    PUT_BACK = auto()
    RESTORE = auto()
    TAKE_AWAY = auto()
    CONFLICT = auto()


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The places that were put back, those where a person has to choose, and what was not possible."""

    restored: tuple[transactions.StagedPlace, ...]
    conflicts: tuple[transactions.StagedPlace, ...]
    problems: tuple[Diagnostic, ...]


def restore(places: Sequence[transactions.StagedPlace], keep: Keep | None = None) -> RestoreResult:
    """Put all of `places` back, the last first; `keep` chooses for those that someone changed concurrently.

    Nothing is thrown away: what was in place is under one of the other two names after that.
    """
    restored: list[transactions.StagedPlace] = []
    conflicts: list[transactions.StagedPlace] = []
    problems: list[Diagnostic] = []
    inspected: list[tuple[transactions.StagedPlace, transactions.FoundContents]] = []
    for place in places:
        try:
            inspected.append((place, place.found()))
        except OSError as error:
            problems.append(_failed(error, place))
    for place, contents in reversed(inspected):
        action = plan_restore(place.entry, contents, known=place.known)
        if action is RestoreAction.NOTHING or (action is RestoreAction.CONFLICT and keep == "current"):
            continue
        try:
            is_forced = action is RestoreAction.CONFLICT and keep
            done = _force_back(place, contents) if is_forced else _run_action(place, contents, action)
        except OSError as error:
            problems.append(_failed(error, place))
        else:
            (restored if done else conflicts).append(place)
    return RestoreResult(tuple(restored), tuple(conflicts), tuple(problems))


def plan_restore(
    entry: JournalEntry, contents: transactions.FoundContents, *, known: bool = True
) -> RestoreAction:
    """Return what restores a file whose three names have `contents`.

    A file that someone changed on top of the transaction, so that neither that nor the old content may be
    thrown away, is a conflict. So is one that would get other content than its base, where the transaction
    is not `known` to be this user's: a stranger could have put that there.
    """
    if entry.base is None:
        return _plan_for_created(entry, contents)
    action = _plan_for_deleted(contents) if entry.result is None else _plan_for_replaced(entry, contents)
    if action in (RestoreAction.PUT_BACK, RestoreAction.RESTORE) and not (
        known or _displaced_content(entry, contents) == entry.base
    ):
        return RestoreAction.CONFLICT
    return action


def exchange_back(place: transactions.StagedPlace, source: str) -> bool:
    """Exchange the target, which should be the result, with what was displaced to `source`.

    If another program wrote the target concurrently, its newest version ends up in place; False when it never
    stops. Raises `OSError`.
    """
    disk = place.folders.root.filesystem
    expected, placed = place.entry.result, place.content(source)
    for _ in range(_MOST_EXCHANGES):
        disk.exchange(place.folder, source, place.leaf)
        taken = place.content(source)
        if taken == expected:
            return True
        expected, placed = placed, taken
    return False


def _plan_for_replaced(entry: JournalEntry, contents: transactions.FoundContents) -> RestoreAction:
    if contents.target == entry.base:
        return RestoreAction.NOTHING
    source = _displaced(entry, contents)
    if source is None:
        # The result waits, or was never written: the target was not replaced, and is someone's own. But a
        # result in place whose old content is gone is no work of ours, and cannot be put back.
        is_staged = contents.temporary is not None
        return (
            RestoreAction.NOTHING if is_staged or contents.target != entry.result else RestoreAction.CONFLICT
        )
    # What was displaced goes back also where it is not the base: someone wrote it at the last moment.
    if contents.target == entry.result:
        return RestoreAction.PUT_BACK
    return RestoreAction.NOTHING if contents.temporary == entry.result else RestoreAction.CONFLICT


def _plan_for_created(entry: JournalEntry, contents: transactions.FoundContents) -> RestoreAction:
    if contents.target is None:
        return RestoreAction.NOTHING
    if contents.target == entry.result and contents.temporary in (None, entry.result):
        return RestoreAction.TAKE_AWAY
    return RestoreAction.CONFLICT if contents.temporary is None else RestoreAction.NOTHING


def _plan_for_deleted(contents: transactions.FoundContents) -> RestoreAction:
    if contents.aside is None or contents.target == contents.aside:
        return RestoreAction.NOTHING
    return RestoreAction.RESTORE if contents.target is None else RestoreAction.CONFLICT


def _displaced(
    entry: JournalEntry, contents: transactions.FoundContents
) -> Literal["aside", "temporary"] | None:
    """Return the name that the old content of a replaced file has."""
    if contents.aside not in (None, entry.result):
        return "aside"
    return None if contents.temporary in (None, entry.result, UNFINISHED) else "temporary"


def _displaced_content(entry: JournalEntry, contents: transactions.FoundContents) -> str | None:
    if entry.result is None or _displaced(entry, contents) == "aside":
        return contents.aside
    return contents.temporary


def _run_action(
    place: transactions.StagedPlace, contents: transactions.FoundContents, action: RestoreAction
) -> bool:
    """Put a file back; False where that turns out to be a conflict. Raises `OSError`."""
    match action:
        case RestoreAction.PUT_BACK if _displaced(place.entry, contents) == "temporary" and place.exchanges:
            return exchange_back(place, place.temporary)
        case RestoreAction.PUT_BACK:
            _rename_back(place, contents)
            return True
        case RestoreAction.RESTORE:
            return _restore(place, place.aside)
        case RestoreAction.TAKE_AWAY:
            return _take_away(place, contents)
        case RestoreAction.CONFLICT | RestoreAction.NOTHING:
            return action is RestoreAction.NOTHING


def _rename_back(place: transactions.StagedPlace, contents: transactions.FoundContents) -> None:
    """Put the displaced content of a replaced file back where two files cannot change places."""
    disk = place.folders.root.filesystem
    source, other = _names(place, contents)
    # The result keeps a second name where it can have one; its plan is in the record in any case.
    with suppress(OSError):
        disk.link(place.folder, place.leaf, other)
    disk.rename(place.folder, source, place.leaf)


def _restore(place: transactions.StagedPlace, source: str) -> bool:
    """Give `source` the name of the file; False when somebody made one of that name."""
    try:
        place.folders.root.filesystem.rename_new(place.folder, source, place.folder, place.leaf)
    except FileExistsError:
        return False
    return True


def _names(place: transactions.StagedPlace, contents: transactions.FoundContents) -> tuple[str, str]:
    """Return the name of the old content, and the other name."""
    if place.entry.result is None or _displaced(place.entry, contents) == "aside":
        return place.aside, place.temporary
    return place.temporary, place.aside


def _take_away(place: transactions.StagedPlace, contents: transactions.FoundContents) -> bool:
    """Let a created file disappear to the name `temporary`; False when it was changed at the last moment."""
    disk = place.folders.root.filesystem
    if contents.temporary is not None:
        # Two names mean a rename that was stopped halfway, or another file of the same content.
        names = [disk.status_of(place.folder, name) for name in (place.leaf, place.temporary)]
        if os.path.samestat(*names):
            disk.unlink(place.folder, place.leaf)
        return True
    disk.rename(place.folder, place.leaf, place.temporary)
    if place.content(place.temporary) == place.entry.result:
        return True
    disk.rename_new(place.folder, place.temporary, place.folder, place.leaf)
    return False


def _force_back(place: transactions.StagedPlace, contents: transactions.FoundContents) -> bool:
    """Put the base in the place of what someone wrote on top; that goes to one of the other names.

    False where the base is gone, or someone writes on.
    """
    disk = place.folders.root.filesystem
    if place.entry.base is None:
        disk.rename(place.folder, place.leaf, place.temporary)
        return True
    if place.entry.result is not None and _displaced(place.entry, contents) is None:
        return False
    if not place.known and _displaced_content(place.entry, contents) != place.entry.base:
        return False
    source, other = _names(place, contents)
    if contents.target is not None:
        disk.rename(place.folder, place.leaf, other)
    return _restore(place, source)


def _failed(error: OSError, place: transactions.StagedPlace) -> Diagnostic:
    reason = of_error(error, place.shown, "putting back")
    return Diagnostic(
        code=Code.RECOVERY_REQUIRED,
        message=reason.message,
        hint=f"{reason.hint}; then run `mdplan recover`",
        file=place.shown,
    )


# --- Undo a transaction that is not committed: the same steps in the failing process and after a crash.


@dataclass(frozen=True, slots=True)
class RollbackResult:
    """The paths of the files that were put back, and what a person has to know or do."""

    files: tuple[str, ...]
    problems: Problems


def roll_back(
    state: transactions.RootState,
    name: RecordName,
    record: JournalRecord,
    *,
    keeps: bool,
    keep: Keep | None = None,
    visible: bool = True,
) -> RollbackResult:
    """Put back the files of the transaction whose record is called `name`, then close that record.

    With `keeps` what it had written stays in the history as a transaction that was rolled back. `keep`
    decides about files that someone changed on top of it; undecided they are RECOVERY_CONFLICT and wait.
    Nothing has to be put back where it is certain that nothing was `visible` yet. Where something is not
    possible, the record stays as it is: RECOVERY_REQUIRED. Does not raise.
    """
    try:
        places, unopened = transactions.places_of(state.folders, state.exchange, record)
        if unopened:
            return RollbackResult((), tuple(_required(problem) for problem in unopened))
        went = restore(places if visible else (), keep)
        files = tuple(place.entry.path for place in went.restored)
        # The old content has its name back for good before its other names go.
        state.sync(lambda: state.folders.sync(transactions.touched_folders(record)))
        if went.problems:
            return RollbackResult(files, went.problems)
        settled = [place for place in places if place not in went.conflicts]
        warnings = _clean_up(state, record, settled, keeps=keeps) if visible else _unstage(state, settled)
        if any(problem.severity is Severity.ERROR for problem in warnings):
            return RollbackResult(files, warnings)
        state.folders.remove_empty(record.made_folders)
        state.sync(lambda: state.folders.sync(transactions.touched_folders(record)))
        _close(state, name, keeps=keeps, conflict=bool(went.conflicts))
    except OSError as error:
        problem = of_error(error, state.journal.shown, "undoing a transaction of")
        return RollbackResult((), (_required(problem),))
    except StorageRefused as refused:
        return RollbackResult((), tuple(_required(problem) for problem in refused.problems))
    return RollbackResult(files, (*(conflict_of(place.shown) for place in went.conflicts), *warnings))


def conflict_of(shown: str) -> Diagnostic:
    """The problem of a file that somebody changed on top of a transaction that was cut off."""
    return Diagnostic(
        code=Code.RECOVERY_CONFLICT,
        message=f"`{shown}` was changed by another program after an interrupted commit had written it",
        hint="look at it, then run `mdplan recover --keep-current` or `mdplan recover --restore-base`",
        file=shown,
    )


def _unstage(state: transactions.RootState, places: Iterable[transactions.StagedPlace]) -> Problems:
    """Remove what was staged; nothing has to be examined, since nothing else can have those names."""
    problems: list[Diagnostic] = []
    for place in places:
        for name in (place.temporary, place.aside):
            try:
                with suppress(FileNotFoundError):
                    state.root.filesystem.unlink(place.folder, name)
            except OSError as error:
                problems.append(_required(of_error(error, place.shown, "cleaning up the temporary file of")))
    return tuple(problems)


def _clean_up(
    state: transactions.RootState,
    record: JournalRecord,
    places: Iterable[transactions.StagedPlace],
    *,
    keeps: bool,
) -> Problems:
    """Take away what lies next to the targets; a problem for each name where that is not possible."""
    problems: list[Diagnostic] = []
    for place in places:
        for name in (place.temporary, place.aside):
            try:
                problem = _take(state, place, name, keeps=keeps)
            except OSError as error:
                problem = _required(of_error(error, place.shown, "cleaning up the temporary file of"))
            if problem is not None:
                problems.append(problem)
        for name in transactions.temporary_names(record.transaction, len(record.entries)):
            with suppress(OSError):
                state.root.filesystem.unlink(place.folder, name)
    return tuple(problems)


def _take(
    state: transactions.RootState, place: transactions.StagedPlace, name: str, *, keeps: bool
) -> Diagnostic | None:
    """Remove one name next to a target. Content that is in no plan and has no other name is always kept."""
    content = place.whole_content(name)
    if content is None:
        return None
    planned = content in (place.entry.base, place.entry.result)
    if is_digest(content) and (keeps or not planned):
        if state.syncs:
            # It may have been interrupted before its own sync.
            state.images.sync(place.folder, name)
        state.images.take(place.folder, name, content)
    elif planned or content == UNFINISHED:
        state.root.filesystem.unlink(place.folder, name)
    else:
        # Someone's folder or link: not ours to throw away, and nothing for the history.
        error = OSError(errno.EEXIST, os.strerror(errno.EEXIST))
        return kept_problem(of_error(error, place.shown, "cleaning up the temporary file of"), name)
    return None


def kept_problem(problem: Diagnostic, name: str) -> Diagnostic:
    """The warning for a file that could not be taken away."""
    hint = f"look at `{name}` in its folder, then remove it"
    return replace(problem, hint=hint, severity=Severity.WARNING)


def _close(state: transactions.RootState, name: RecordName, *, keeps: bool, conflict: bool) -> None:
    if conflict:
        state.journal.advance(name, State.CONFLICT)
    elif keeps:
        state.journal.advance(name, State.UNDONE)
    else:
        for begun in (State.PENDING, State.NEW):
            state.journal.remove(replace(name, state=begun))
    state.sync(state.journal.sync)


def _required(problem: Diagnostic) -> Diagnostic:
    hint = f"{problem.hint}; then run `mdplan recover`" if problem.hint else "run `mdplan recover`"
    return replace(problem, code=Code.RECOVERY_REQUIRED, hint=hint, severity=Severity.ERROR)


# --- Interrupted transactions that this user did not begin, for a person to decide about.
#
# Someone else wrote their records. So nothing here changes a file or hashes one: a record could name the
# largest file of the root many times.

# A person cannot decide about more than this, and a stranger decides how many there are.
MAX_TRANSACTIONS: Final = 20
MAX_FILES: Final = 100


@dataclass(frozen=True, slots=True)
class ForeignFileState:
    """A file that a recovery of a foreign transaction would change, by its path below the root."""

    path: str
    action: str


@dataclass(frozen=True, slots=True)
class ForeignTransactionState:
    """A foreign record of an interrupted transaction, and the files that its recovery would change."""

    transaction: str
    files: tuple[ForeignFileState, ...]


def foreign_commits(root: Root) -> tuple[ForeignTransactionState, ...]:
    """Up to `MAX_TRANSACTIONS` interrupted transactions of others that can be read and undone.

    Raises `StorageRefused`.
    """
    with _existing_journal(root) as journal, closing(Folders(root)) as folders:
        if journal is None:
            return ()
        names = journal.foreign(State.PENDING, State.CONFLICT)[:MAX_TRANSACTIONS]
        records = (journal.read(name) for name in names)
        commits = (_described(folders, record) for record in records if isinstance(record, JournalRecord))
        return tuple(commit for commit in commits if commit is not None)


def foreign_transactions(root: Root) -> tuple[str, ...]:
    """The IDs in the names of all foreign records of `root`, complete or not; no record is decoded.

    Raises `StorageRefused`.
    """
    with _existing_journal(root) as journal:
        names = journal.foreign() if journal is not None else []
    return tuple(dict.fromkeys(name.transaction for name in names))


def _described(folders: Folders, record: JournalRecord) -> ForeignTransactionState | None:
    files: list[ForeignFileState] = []
    for index, entry in enumerate(record.entries[:MAX_FILES]):
        place = transactions.place_of(folders, None, record, index)
        if isinstance(place, Diagnostic):
            # No one can undo a record that names a file out of reach.
            return None
        action = _action(place)
        if action:
            files.append(ForeignFileState(entry.path, action))
    return ForeignTransactionState(record.transaction, tuple(files))


def _action(place: transactions.StagedPlace) -> str:
    """What an undo could do to the file; empty for nothing."""
    there = [_exists(place, name) for name in (place.leaf, place.temporary, place.aside)]
    if place.entry.base is None:
        return "remove" if there[0] else ""
    if place.entry.result is None:
        return "bring back" if there[2] and not there[0] else ""
    return "put back the old content of" if there[1] or there[2] else ""


def _exists(place: transactions.StagedPlace, name: str) -> bool:
    with suppress(OSError):
        place.folders.root.filesystem.status_of(place.folder, name)
        return True
    return False


# --- Transactions that block the next one: interrupted, in conflict, or unreadable.
#
# Foreign records block nothing. Where the user has no key, no record can be told from a foreign one, and then
# all of them block.


def blocking_transactions(
    journal: Journal, folders: Folders, paths: Collection[str] | None = None
) -> list[Diagnostic]:
    """What is in the way of a commit to the files `paths` of the journal's root, or to any file.

    Errors: RECOVERY_REQUIRED, RECOVERY_CONFLICT (only for files that are concerned), JOURNAL_CORRUPT.
    Raises `StorageRefused` when the journal cannot be listed.
    """
    problems: list[Diagnostic] = []
    for name in blocking_names(journal):
        record = journal.read(name)
        if isinstance(record, Diagnostic):
            problems.append(record)
        elif name.state is State.PENDING or not record.known:
            problems.append(interrupted_problem(journal, name, record))
        else:
            problems.extend(_conflicts(folders, record, paths))
    return problems


def blocking_names(journal: Journal) -> list[RecordName]:
    """The records of transactions that can block a commit. Raises `StorageRefused`."""
    names = journal.names(State.PENDING, State.CONFLICT)
    return names if names or has_key() else journal.foreign(State.PENDING, State.CONFLICT)


def blocking_transactions_elsewhere(root: Root) -> Diagnostic | None:
    """What is in the way of a commit in another root, because it was interrupted in `root`.

    Raises `StorageRefused`.
    """
    with _existing_journal(root) as journal:
        if journal is None or not blocking_names(journal):
            return None
    shown = visible(root.given)
    return Diagnostic(
        code=Code.RECOVERY_REQUIRED,
        message=f"a commit in the root `{shown}`, which has files in common with this one, was interrupted",
        hint=f"run `mdplan recover --root {shown}`",
    )


def interrupted_problem(journal: Journal, name: RecordName, record: JournalRecord) -> Diagnostic:
    """The problem of a transaction that was interrupted."""
    if record.known:
        message = (
            f"the transaction `{name.transaction}` was interrupted, and some of its files may have changed"
        )
        hint = "run `mdplan recover`; the next commit does it as well"
    else:
        message = f"`{journal.shown}/{name}` is an interrupted commit, and mdplan has no key to check whose"
        hint = (
            "make the user's state directory writable; if the commit was yours, run "
            "`mdplan recover --foreign`, else remove `.mdplan`"
        )
    return Diagnostic(code=Code.RECOVERY_REQUIRED, message=message, hint=hint)


def _conflicts(folders: Folders, record: JournalRecord, paths: Collection[str] | None) -> list[Diagnostic]:
    problems: list[Diagnostic] = []
    for index, entry in enumerate(record.entries):
        if paths is not None and entry.path not in paths:
            continue
        place = transactions.place_of(folders, None, record, index)
        if isinstance(place, Diagnostic):
            continue
        try:
            if plan_restore(entry, place.found()) is RestoreAction.CONFLICT:
                problems.append(conflict_of(place.shown))
        except OSError as error:
            problems.append(of_error(error, place.shown, "looking at"))
    return problems


# --- After the commit point: displaced files go into the history, and then the record is retired.
#
# A failure here is a warning. Removing the names next to the targets is not synced. So the record stays
# `done`, and is examined again, until a later commit has synced the same folders. No commit waits for its own
# cleanup.

# Older ones are so old that they are on the disk.
_MOST_LOOKED_AT: Final = 16
_MOST_UNRETIRED: Final = 8
_NOT_ENTERED = frozenset({".git", STATE_FOLDER})


@dataclass(frozen=True, slots=True)
class CleanupResult:
    """The result of a cleanup: whether it found anything, and whether the history is complete."""

    something: bool
    complete: bool
    warnings: Problems


def clean_up(state: transactions.RootState, record: JournalRecord) -> CleanupResult:
    """Move what `record`, which is committed, displaced into the history; it may be done more than once."""
    places, problems = transactions.places_of(state.folders, state.exchange, record)
    return _clean(state, record, [(place, (place.temporary, place.aside)) for place in places], problems)


def clean_up_after(
    state: transactions.RootState, record: JournalRecord, places: Iterable[transactions.StagedPlace]
) -> CleanupResult:
    """`clean_up` right after the commit of `record`, when its `places` and their contents are known."""
    left = [(place, (place.displaced,)) for place in places if place.entry.base is not None]
    return _clean(state, record, left, [])


def _clean(
    state: transactions.RootState,
    record: JournalRecord,
    left: Iterable[tuple[transactions.StagedPlace, tuple[str, ...]]],
    warnings: list[Diagnostic],
) -> CleanupResult:
    """Clean up the names that are `left` at each place."""
    something, complete = False, True
    for place, names in left:
        for name in names:
            try:
                seen = place.seen(name)
                content = seen.content
                if content is None:
                    continue
                something = True
                if content != place.entry.base:
                    complete = False
                    warnings.append(_changed(place, name, kept=is_digest(content)))
                if is_digest(content):
                    state.images.take(place.folder, name, content, seen.status)
            except OSError as error:
                complete = False
                warnings.append(
                    kept_problem(of_error(error, place.shown, "keeping the old content of"), name)
                )
    if record.removed_folders:
        # A folder whose removal is on the disk before what was moved out of it would take that along.
        try:
            state.sync(lambda: state.folders.sync(transactions.touched_folders(record)))
            state.folders.remove_empty(record.removed_folders)
        except StorageRefused as refused:
            warnings += refused.problems
    return CleanupResult(
        something, complete, tuple(replace(each, severity=Severity.WARNING) for each in warnings)
    )


def _changed(place: transactions.StagedPlace, name: str, *, kept: bool) -> Diagnostic:
    """The warning that another program wrote into the old file after it was displaced."""
    where = "kept in the history" if kept else f"in `{name}` in its folder"
    return Diagnostic(
        code=Code.CONFLICT_LATE_WRITE,
        message=f"another program wrote into the old `{place.shown}` during the commit; that is {where}",
        hint="reopen the file in that program, and save it again there",
        file=place.shown,
    )


@dataclass(frozen=True, slots=True)
class UnretiredTransaction:
    """A committed transaction that left nothing next to its targets, and the folders they are in."""

    name: RecordName
    folders: frozenset[str]


def unretired_names(journal: Journal, *, everything: bool = False) -> list[RecordName]:
    """The records of committed transactions that are to be examined, the oldest first."""
    names = journal.names(State.DONE)
    return names if everything else names[-_MOST_LOOKED_AT:]


def find_unretired(state: transactions.RootState) -> list[UnretiredTransaction]:
    """The transactions that can be settled as soon as their folders are synced. Raises `StorageRefused`."""
    waiting: list[UnretiredTransaction] = []
    for name in unretired_names(state.journal):
        if name not in state.clean:
            record = state.journal.read(name)
            if isinstance(record, Diagnostic) or not is_clean(state, record):
                continue
            state.clean[name] = frozenset(transactions.touched_folders(record))
        waiting.append(UnretiredTransaction(name, state.clean[name]))
    return waiting


def folders_to_sync(waiting: Iterable[UnretiredTransaction]) -> set[str]:
    """The folders that a commit has to sync next to its own, so that no crowd of transactions waits."""
    many = list(waiting)
    return {folder for each in many for folder in each.folders} if len(many) > _MOST_UNRETIRED else set()


def retire(state: transactions.RootState, waiting: Iterable[UnretiredTransaction], synced: set[str]) -> None:
    """Let go of what waits only for folders that are `synced`. Raises `StorageRefused`."""
    for each in waiting:
        if each.folders <= synced:
            state.journal.advance(each.name, State.KEPT)


def is_clean(state: transactions.RootState, record: JournalRecord) -> bool:
    """Whether nothing lies next to the files of `record` any more, and no folder that it left empty is there.

    False where that cannot be seen.
    """
    places, problems = transactions.places_of(state.folders, None, record)
    try:
        return (
            not problems
            and all(place.is_clean() for place in places)
            and not any(map(state.folders.is_empty, record.removed_folders))
        )
    except OSError:
        return False


def orphan_files(root: Root) -> Iterator[str]:
    """The paths of all files below `root` that are named as a commit names what it works on.

    Links are not followed; folders that cannot be opened, `.git` and `.mdplan` are skipped.
    """
    waiting = [""]
    while waiting:
        path = waiting.pop()
        folder = root.open_folder(path)
        if isinstance(folder, Diagnostic):
            continue
        try:
            entries = sorted(root.filesystem.list(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        finally:
            root.filesystem.release(folder)
        above = f"{path}/" if path else ""
        yield from (above + each.name for each in entries if each.is_file and is_temporary_name(each.name))
        waiting += (
            above + each.name
            for each in reversed(entries)
            if each.is_directory and each.name not in _NOT_ENTERED
        )
