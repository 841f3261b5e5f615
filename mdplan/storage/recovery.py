"""Recovery and rollback: restore files before the commit point, clean up after it.

The next commit, or `mdplan recover`, recovers transactions of this user's store. A commit by another user or
state directory is only undone on request, based on its note.
"""

import errno
import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing, suppress
from enum import Enum, auto
from typing import Final, Literal, NamedTuple

import msgspec

from mdplan.diagnostics import Code, Diagnostic, Problems, Severity
from mdplan.storage import neighbours
from mdplan.storage.files import MAX_IMAGE_BYTES, UNFINISHED, is_digest, read_regular_file
from mdplan.storage.filesystem import StorageRefused, of_error, storage_errors
from mdplan.storage.folders import Folders, folder_of
from mdplan.storage.lock import RootLock, is_locked
from mdplan.storage.neighbours import FoundContents, StagedPlace
from mdplan.storage.root import Root
from mdplan.storage.store import FileEntry, Record, State, Store
from mdplan.values import replace
from mdplan.words import say


class RecoveryResult(msgspec.Struct):
    """The result of a recovery: IDs of transactions rolled back or finished.

    `files` are the restored paths. Errors in `problems` need a person; other problems are information.
    """

    rolled_back: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    problems: Problems = ()


class RootState(NamedTuple):
    """A locked root with its store and folders.

    `syncs`: the work must survive a power loss.
    """

    root: Root
    store: Store
    folders: Folders
    syncs: bool

    def sync(self, *records: Record) -> bool:
        """Sync the names that `records` change; return True if synced."""
        return self.syncs and self.folders.sync(folders_of(*records))


def folders_of(*records: Record) -> set[str]:
    """Return the paths of folders in which `records` change names."""
    return {folder_of(path) for record in records for path in neighbours.touched_paths(record)}


def pending(root: Root) -> Problems:
    """Return what a commit below `root` would have to recover first, without recovering or locking.

    A commit running in another process is not a problem. Errors: RECOVERY_REQUIRED, RECOVERY_CONFLICT.
    """
    store = Store(root.path, filesystem=root.filesystem)
    note = neighbours.read_note(root)
    try:
        interrupted = store.interrupted()
        note = note if note is not None and neighbours.is_foreign(note, store) else None
        if not (interrupted or note) or is_locked(root):
            return ()
        with closing(Folders(root)) as folders:
            problems = _blocking(folders, interrupted, None)
    except StorageRefused as refused:
        # Only the existence of the commit is known, not its owner.
        problems, note = [*refused.problems], None if is_locked(root) else note
    if note is not None:
        problems.append(neighbours.interrupted_elsewhere(root, note))
    return tuple(problems)


def blocking_transactions(state: RootState, paths: Collection[str]) -> list[Diagnostic]:
    """Return what blocks a commit to the files `paths`.

    Errors: RECOVERY_REQUIRED, RECOVERY_CONFLICT (only for affected files). Raise `StorageRefused`.
    """
    problems = _blocking(state.folders, state.store.interrupted(), paths)
    return [*problems, *neighbours.foreign_commits(state.folders, state.store, paths)]


def _blocking(
    folders: Folders, interrupted: Iterable[tuple[State, Record]], paths: Collection[str] | None
) -> list[Diagnostic]:
    problems: list[Diagnostic] = []
    for state, record in interrupted:
        if state is State.CONFLICT:
            problems.extend(_conflicts(folders, record, paths))
            continue
        problems.append(
            Code.RECOVERY_REQUIRED.problem(
                f"the transaction `{record.transaction}` was interrupted, "
                "and some of its files may have changed",
                say("{run recover}; the next commit does it as well"),
            )
        )
    return problems


def _conflicts(folders: Folders, record: Record, paths: Collection[str] | None) -> list[Diagnostic]:
    problems: list[Diagnostic] = []
    for index, entry in enumerate(record.entries):
        if paths is not None and entry.path not in paths:
            continue
        place = neighbours.place_of(folders, record, index)
        if isinstance(place, Diagnostic):
            continue
        try:
            if plan_restore(entry, place.found(), moves_aside=place.moves_aside) is RestoreAction.CONFLICT:
                problems.append(conflict_of(place.shown))
        except OSError as error:
            problems.append(of_error(error, place.shown, "looking at"))
    return problems


# --- Restoring files, after a failure and after a crash
#
# The contents under the three names of a place show how far its file got, and so the action. All places are
# examined before any change, and every step is repeatable: an interrupted recovery starts over.

Keep = Literal["current", "base"]


def recover(
    lock: RootLock, *, settles: bool = False, adopts: bool = False, keep: Keep | None = None
) -> RecoveryResult:
    """Undo this user's interrupted transactions of the locked root, and clean up after the others.

    - `settles`: leave nothing for a later commit, as `mdplan recover` does.
    - `adopts`: also undo another identity's commit, or finish it if all its files are new.
    - `keep`: for files changed on top of a transaction, keep them (`current`) or restore the old content
      (`base`); the other version is in the store.

    Repeatable. Errors: RECOVERY_REQUIRED, RECOVERY_CONFLICT. Raise `StorageRefused` if the store cannot be
    read and, without `settles`, for another identity's commit.
    """
    # The cause may have been a power loss, so sync whatever the commit's durability.
    state = RootState(lock.root, lock.store, Folders(lock.root), syncs=True)
    findings = RecoveryResult()
    try:
        for interrupted, record in state.store.interrupted():
            _settle_own(state, interrupted, record, findings, keep)
        uncleaned = state.store.uncleaned()
        for record in uncleaned:
            _finish(state, record, findings)
        _settle_note(state, findings, adopts=adopts, keep=keep, is_own=bool(uncleaned))
        if settles and uncleaned:
            state.folders.sync(folders_of(*uncleaned) | {""})
            state.store.mark_clean(record.transaction for record in uncleaned)
        state.store.mark_conflicts()
        # Plans based on half-finished work would be refused for other reasons, or not at all.
        foreign = () if settles else tuple(neighbours.foreign_commits(state.folders, state.store, ()))
        if foreign:
            raise StorageRefused(foreign)
    finally:
        state.folders.close()
    return findings


def _settle_own(
    state: RootState, interrupted: State, record: Record, findings: RecoveryResult, keep: Keep | None
) -> None:
    """Undo a transaction of this user, unless its changes are already complete."""
    note = neighbours.read_note(state.root)
    if note is None or (isinstance(note, Record) and note.transaction != record.transaction):
        record = replace(record, noted=interrupted is State.CONFLICT)
    if not record.noted and is_complete(state.folders, record):
        state.store.settle(record.transaction, State.COMMITTED, syncs=True)
    else:
        _undo(state, record, findings, keep=keep)


def _undo(state: RootState, record: Record, findings: RecoveryResult, *, keep: Keep | None) -> bool:
    """Undo a transaction; return True if done."""
    undone = roll_back(state, record, keeps=True, keep=keep)
    findings.files += undone.files
    findings.problems += undone.problems
    is_done = all(problem.severity is Severity.WARNING for problem in undone.problems)
    if is_done:
        findings.rolled_back += (record.transaction,)
    return is_done


def _finish(state: RootState, record: Record, findings: RecoveryResult) -> None:
    """Clean up after a committed transaction."""
    places, _ = neighbours.places_of(state.folders, record)
    is_found, warnings = clean_up(state, record, places)
    if is_found:
        findings.finished += (record.transaction,)
    findings.problems += warnings


def _settle_note(
    state: RootState, findings: RecoveryResult, *, adopts: bool, keep: Keep | None, is_own: bool
) -> None:
    """Remove the note of a settled commit; with `adopts`, undo or finish another identity's.

    A power loss can truncate a note. `is_own`: a commit of this user may have left it.
    """
    record = neighbours.read_note(state.root)
    if record is None:
        return
    is_settled = is_own
    if isinstance(record, Record):
        known = state.store.state_of(record.transaction)
        is_settled = known not in (None, State.PENDING) or (
            known is None and adopts and _adopted(state, record, findings, keep)
        )
    elif adopts and not is_own:
        findings.problems += (record,)
    if is_settled:
        with suppress(OSError):
            neighbours.remove_note(state.root)


def _adopted(state: RootState, record: Record, findings: RecoveryResult, keep: Keep | None) -> bool:
    """Undo or finish a commit that is not in this user's store; return True if done."""
    if not is_complete(state.folders, record):
        return _undo(state, record, findings, keep=keep)
    _finish(state, record, findings)
    state.sync(record)
    return True


def is_complete(folders: Folders, record: Record) -> bool:
    """Return True if all files of `record` are its results, without leftovers unless it has a note."""
    places, problems = neighbours.places_of(folders, record)
    if problems or len(places) < len(record.entries):
        return False
    with storage_errors(folders.root.show("."), "looking at the files of"):
        results = [(place.entry.result, place.found()) for place in places]
    return all(
        contents == FoundContents(result, None, None) or (record.noted and contents.target == result)
        for result, contents in results
    )


# Exchange attempts against a program that keeps writing; then both versions are left for a person.
_MOST_EXCHANGES: Final = 50


class RestoreAction(Enum):
    """How to restore a file."""

    NOTHING = auto()
    PUT_BACK = auto()
    RESTORE = auto()
    TAKE_AWAY = auto()
    CONFLICT = auto()


def restore(
    places: Sequence[StagedPlace], keep: Keep | None = None
) -> tuple[list[StagedPlace], list[StagedPlace], Problems]:
    """Restore all of `places`, last first; `keep` decides about concurrently changed files.

    Return the restored places, those that need a decision, and problems. Nothing is lost: the replaced
    content is under one of the other two names.
    """
    restored: list[StagedPlace] = []
    conflicts: list[StagedPlace] = []
    problems: list[Diagnostic] = []
    inspected: list[tuple[StagedPlace, FoundContents]] = []
    for place in places:
        try:
            inspected.append((place, place.found()))
        except OSError as error:
            problems.append(_required(of_error(error, place.shown, "putting back")))
    for place, contents in reversed(inspected):
        action = plan_restore(place.entry, contents, known=place.known, moves_aside=place.moves_aside)
        if action is RestoreAction.NOTHING or (action is RestoreAction.CONFLICT and keep == "current"):
            continue
        if action is RestoreAction.TAKE_AWAY and not place.noted:
            continue
        try:
            is_forced = action is RestoreAction.CONFLICT and keep
            done = _force_back(place, contents) if is_forced else _run_action(place, contents, action)
        except OSError as error:
            problems.append(_required(of_error(error, place.shown, "putting back")))
        else:
            (restored if done else conflicts).append(place)
    return restored, conflicts, tuple(problems)


def plan_restore(
    entry: FileEntry, contents: FoundContents, *, known: bool = True, moves_aside: bool = False
) -> RestoreAction:
    """Return how to restore a file whose three names have `contents`.

    CONFLICT if someone changed the file on top of the transaction, or if the restored content would differ
    from the base and the transaction is not `known` as this user's, so that a stranger could have supplied
    it. With `moves_aside`, an interrupted replacement can leave no target, and only the old content aside.
    """
    if entry.base is None:
        return _plan_for_created(entry, contents)
    is_deleted = entry.result is None or (moves_aside and contents.target is None)
    action = _plan_for_deleted(contents) if is_deleted else _plan_for_replaced(entry, contents)
    if action in (RestoreAction.PUT_BACK, RestoreAction.RESTORE) and not (
        known or _displaced_content(entry, contents) == entry.base
    ):
        return RestoreAction.CONFLICT
    return action


def exchange_back(place: StagedPlace, source: str) -> bool:
    """Exchange the target, which should be the result, with the displaced file `source`.

    If another program wrote the target meanwhile, its newest version ends up in place; return False if it
    never stops. Raise `OSError`.
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


def _plan_for_replaced(entry: FileEntry, contents: FoundContents) -> RestoreAction:
    if contents.target == entry.base:
        return RestoreAction.NOTHING
    source = _displaced(entry, contents)
    if source is None:
        # A waiting or unwritten result means that the target was not replaced, so it is someone's own. But a
        # result in place without old content is not our work, and cannot be restored.
        is_staged = contents.temporary is not None
        return (
            RestoreAction.NOTHING if is_staged or contents.target != entry.result else RestoreAction.CONFLICT
        )
    # Displaced content is restored even if it is not the base: someone wrote it at the last moment.
    if contents.target == entry.result:
        return RestoreAction.PUT_BACK
    return RestoreAction.NOTHING if contents.temporary == entry.result else RestoreAction.CONFLICT


def _plan_for_created(entry: FileEntry, contents: FoundContents) -> RestoreAction:
    if contents.target is None:
        return RestoreAction.NOTHING
    if contents.target == entry.result and contents.temporary in (None, entry.result):
        return RestoreAction.TAKE_AWAY
    return RestoreAction.CONFLICT if contents.temporary is None else RestoreAction.NOTHING


def _plan_for_deleted(contents: FoundContents) -> RestoreAction:
    if contents.aside is None or contents.target == contents.aside:
        return RestoreAction.NOTHING
    return RestoreAction.RESTORE if contents.target is None else RestoreAction.CONFLICT


def _displaced(entry: FileEntry, contents: FoundContents) -> Literal["aside", "temporary"] | None:
    """Return which name holds the old content of a replaced or deleted file."""
    if entry.result is None or contents.aside not in (None, entry.result):
        return "aside"
    return None if contents.temporary in (None, entry.result, UNFINISHED) else "temporary"


def _displaced_content(entry: FileEntry, contents: FoundContents) -> str | None:
    return contents.aside if _displaced(entry, contents) == "aside" else contents.temporary


def _run_action(place: StagedPlace, contents: FoundContents, action: RestoreAction) -> bool:
    """Restore a file; return False on a conflict. Raise `OSError`."""
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


def _rename_back(place: StagedPlace, contents: FoundContents) -> None:
    """Restore the displaced content of a replaced file without exchange."""
    disk = place.folders.root.filesystem
    source, other = _names(place, contents)
    # The result gets a second name if possible; its plan is recorded in any case.
    with suppress(OSError):
        disk.link(place.folder, place.leaf, other)
    disk.rename(place.folder, source, place.leaf)


def _restore(place: StagedPlace, source: str) -> bool:
    """Rename `source` to the file's name; return False if that exists."""
    try:
        place.folders.root.filesystem.rename_new(place.folder, source, place.folder, place.leaf)
    except FileExistsError:
        return False
    return True


def _names(place: StagedPlace, contents: FoundContents) -> tuple[str, str]:
    """Return the name of the old content, and the other name."""
    if _displaced(place.entry, contents) == "aside":
        return place.aside, place.temporary
    return place.temporary, place.aside


def _take_away(place: StagedPlace, contents: FoundContents) -> bool:
    """Move a created file to `temporary`; return False if it was changed at the last moment."""
    disk = place.folders.root.filesystem
    if contents.temporary is not None:
        # Two names are an interrupted rename, or another file with the same content.
        names = [disk.status_of(place.folder, name) for name in (place.leaf, place.temporary)]
        if os.path.samestat(*names):
            disk.unlink(place.folder, place.leaf)
        return True
    disk.rename(place.folder, place.leaf, place.temporary)
    if place.content(place.temporary) == place.entry.result:
        return True
    disk.rename_new(place.folder, place.temporary, place.folder, place.leaf)
    return False


def _force_back(place: StagedPlace, contents: FoundContents) -> bool:
    """Restore the base over a concurrent change, which moves to one of the other names.

    Return False if the base is gone, or someone keeps writing.
    """
    disk = place.folders.root.filesystem
    if place.entry.base is None:
        disk.rename(place.folder, place.leaf, place.temporary)
        return True
    if _displaced(place.entry, contents) is None:
        return False
    if not place.known and _displaced_content(place.entry, contents) != place.entry.base:
        return False
    source, other = _names(place, contents)
    if contents.target is not None:
        disk.rename(place.folder, place.leaf, other)
    return _restore(place, source)


# --- Undoing an uncommitted transaction: the same steps on failure and after a crash


class RollbackResult(NamedTuple):
    """The paths of restored files, and problems for a person."""

    files: tuple[str, ...]
    problems: Problems


def roll_back(
    state: RootState, record: Record, *, keeps: bool, keep: Keep | None = None, visible: bool = True
) -> RollbackResult:
    """Restore the files of the transaction `record`, then settle it.

    With `keeps`, its results stay in the store as a rolled-back transaction. `keep` decides about files
    changed on top of it; undecided ones are RECOVERY_CONFLICT. If nothing was `visible` yet, nothing needs
    restoring. On failure the transaction stays: RECOVERY_REQUIRED. Never raises.
    """
    try:
        places, unopened = neighbours.places_of(state.folders, record)
        if unopened:
            return RollbackResult((), tuple(_required(problem) for problem in unopened))
        restored, conflicts, problems = restore(places if visible else (), keep)
        files = tuple(place.entry.path for place in restored)
        # Sync the restored name before removing the other names.
        state.sync(record)
        if problems:
            return RollbackResult(files, problems)
        settled = [place for place in places if place not in conflicts]
        warnings = _clean_up(state, settled, keeps=keeps)
        if any(problem.severity is Severity.ERROR for problem in warnings):
            return RollbackResult(files, warnings)
        state.folders.remove_empty(record.made_folders)
        if record.known:
            neighbours.remove_note(state.root)
        if state.syncs:
            state.folders.sync(folders_of(record) | {""})
        _settle(state, record, keeps=keeps, conflict=bool(conflicts))
    except OSError as error:
        problem = of_error(error, state.root.show("."), "undoing a transaction of")
        return RollbackResult((), (_required(problem),))
    except StorageRefused as refused:
        return RollbackResult((), tuple(_required(problem) for problem in refused.problems))
    return RollbackResult(files, (*(conflict_of(place.shown) for place in conflicts), *warnings))


def conflict_of(shown: str) -> Diagnostic:
    """Return the problem for a file changed on top of an interrupted transaction."""
    return Code.RECOVERY_CONFLICT.problem(
        f"`{shown}` was changed by another program after an interrupted commit had written it",
        say("look at it, then {run recover --keep-current} or {mdplan recover --restore-base}"),
        file=shown,
    )


def _settle(state: RootState, record: Record, *, keeps: bool, conflict: bool) -> None:
    if record.known and (conflict or keeps):
        outcome = State.CONFLICT if conflict else State.UNDONE
        state.store.settle(record.transaction, outcome, syncs=state.syncs)
    elif record.known:
        state.store.forget(record.transaction, syncs=state.syncs)


def _clean_up(state: RootState, places: Collection[StagedPlace], *, keeps: bool) -> Problems:
    """Remove temporary files next to the targets; return a problem for each failure."""
    problems: list[Diagnostic] = []
    for place in places:
        for name in (place.temporary, place.aside):
            try:
                content = _take(state, place, name, keeps=keeps)
            except OSError as error:
                problems.append(_required(of_error(error, place.shown, _CLEANING)))
            else:
                if not _is_ours(content):
                    in_the_way = OSError(errno.EEXIST, os.strerror(errno.EEXIST))
                    problems.append(_kept_problem(of_error(in_the_way, place.shown, _CLEANING), name))
    problems += _remove_trials(places)
    return tuple(problems)


def _remove_trials(places: Iterable[StagedPlace]) -> list[Diagnostic]:
    """Remove leftovers of exchange tests; return a warning for each failure."""
    problems: list[Diagnostic] = []
    tried = {(place.folder, name): place for place in places for name in place.trial}
    for (folder, name), place in tried.items():
        try:
            with suppress(FileNotFoundError):
                place.folders.root.filesystem.unlink(folder, name)
        except OSError as error:
            problems.append(_kept_problem(of_error(error, place.shown, _CLEANING), name))
    return problems


_CLEANING: Final = "cleaning up the temporary file of"


def _take(state: RootState, place: StagedPlace, name: str, *, keeps: bool) -> str | None:
    """Remove a name next to a target; return its content, as `files.content_of`.

    Foreign files, or with `keeps` all files, are stored first. Foreign folders and links stay. Raise
    `OSError` or `StorageRefused`.
    """
    content = place.whole_content(name)
    if is_digest(content) and (keeps or content not in (place.entry.base, place.entry.result)):
        keep_content(state, place, name)
    if content is not None and _is_ours(content):
        state.root.filesystem.unlink(place.folder, name)
    return content


def _is_ours(content: str | None) -> bool:
    """Return True if it is a file or nothing: never remove a folder or link."""
    return content is None or is_digest(content) or content == UNFINISHED


def keep_content(state: RootState, place: StagedPlace, name: str) -> None:
    """Store the content of the file `name` next to a target. Raise `StorageRefused`."""
    import hashlib

    content = read_regular_file(state.root.filesystem, place.folder, name, place.shown, MAX_IMAGE_BYTES)
    if isinstance(content, Diagnostic):
        raise StorageRefused((content,))
    state.store.keep(hashlib.sha256(content.data).hexdigest(), content.data, syncs=state.syncs)


def _kept_problem(problem: Diagnostic, name: str) -> Diagnostic:
    """Return `problem` as a warning about a file that could not be removed."""
    hint = f"look at `{name}` in its folder, then remove it"
    return replace(problem, hint=hint, severity=Severity.WARNING)


def _required(problem: Diagnostic) -> Diagnostic:
    hint = say("{}; then {run recover}", problem.hint) if problem.hint else say("{run recover}")
    return replace(problem, code=Code.RECOVERY_REQUIRED, hint=hint, severity=Severity.ERROR)


# --- After the commit point: remove displaced files. A failure here is a warning.


def clean_up(state: RootState, record: Record, places: Collection[StagedPlace]) -> tuple[bool, Problems]:
    """Remove the leftovers of the committed `record` at `places`; repeatable.

    Return True if there were any, and warnings. The store has held the old contents since before the commit;
    later writes to displaced files are stored too.
    """
    is_found = False
    warnings: list[Diagnostic] = []
    names = [(place, name) for place in places for name in (place.temporary, place.aside)]
    for place, name in names:
        try:
            content = _take(state, place, name, keeps=not record.known)
        except OSError as error:
            warnings.append(
                _kept_problem(of_error(error, place.shown, "cleaning up the old content of"), name)
            )
        except StorageRefused as refused:
            warnings += (_kept_problem(problem, name) for problem in refused.problems)
        else:
            is_found |= content is not None
            if content not in (None, place.entry.base, place.entry.result, UNFINISHED):
                warnings.append(_changed(place, name, kept=is_digest(content)))
    warnings += _remove_trials(places)
    if record.removed_folders:
        # Sync moves out of a folder before its removal, or a power loss could take them along.
        try:
            state.sync(record)
            state.folders.remove_empty(record.removed_folders)
        except StorageRefused as refused:
            warnings += refused.problems
    return is_found, tuple(replace(warning, severity=Severity.WARNING) for warning in warnings)


def _changed(place: StagedPlace, name: str, *, kept: bool) -> Diagnostic:
    """Return the warning that another program wrote to the displaced file."""
    where = "kept in the history" if kept else f"in `{name}` in its folder"
    return Code.CONFLICT_LATE_WRITE.problem(
        f"another program wrote into the old `{place.shown}` during the commit; that is {where}",
        "reopen the file in that program, and save it again there",
        file=place.shown,
    )
