"""Recovery and rollback: put files back before the commit point, and clean up after it.

Transactions of this user's store are recovered by the next commit, or by `mdplan recover`. A commit that
another user or state directory began is only undone when a person asks for it, by the note that it left.
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
from mdplan.storage.folders import Folders
from mdplan.storage.lock import RootLock, is_locked
from mdplan.storage.neighbours import FoundContents, StagedPlace
from mdplan.storage.root import Root
from mdplan.storage.store import FileEntry, Record, State, Store
from mdplan.values import Struct, field, replace
from mdplan.words import say


class RecoveryResult(Struct):
    """The result of a recovery: the IDs of transactions that it rolled back or finished.

    `files` are the restored paths. Errors among the `problems` need a person; the others are information.
    """

    rolled_back: tuple[str, ...]
    finished: tuple[str, ...]
    files: tuple[str, ...]
    problems: Problems


class RootState(NamedTuple):
    """All that a transaction works with below a locked root: its store, and its folders.

    `syncs` says whether what is done has to outlive a loss of power.
    """

    root: Root
    store: Store
    folders: Folders
    syncs: bool

    def sync(self, *records: Record) -> bool:
        """Wait until the names that `records` change are on the disk; whether they are."""
        return self.syncs and self.folders.sync(folders_of(*records))


def folders_of(*records: Record) -> set[str]:
    """The folders whose names `records` change, by path."""
    return {folder for record in records for folder in neighbours.touched_folders(record)}


def pending(root: Root) -> Problems:
    """What a commit below `root` would have to recover first, without recovering it or taking the lock.

    A running commit of another process is not a problem. Errors: RECOVERY_REQUIRED, RECOVERY_CONFLICT.
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
        # Whose commit it is cannot be told, but that there is one.
        problems, note = [*refused.problems], None if is_locked(root) else note
    if note is not None:
        problems.append(neighbours.interrupted_elsewhere(root, note))
    return tuple(problems)


def blocking_transactions(state: RootState, paths: Collection[str]) -> list[Diagnostic]:
    """What is in the way of a commit to the files `paths`.

    Errors: RECOVERY_REQUIRED, RECOVERY_CONFLICT (only for files that are concerned). Raises `StorageRefused`.
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
            if plan_restore(entry, place.found()) is RestoreAction.CONFLICT:
                problems.append(conflict_of(place.shown))
        except OSError as error:
            problems.append(of_error(error, place.shown, "looking at"))
    return problems


# --- Put files back as they were before a transaction, after a failure and after a crash.
#
# The contents under the three names of a place show how far its file came, and so what to do. All places are
# examined before anything is changed, and every step can be repeated: if it is stopped, it starts over.

Keep = Literal["current", "base"]


class _Findings(msgspec.Struct):
    rolled_back: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)


def recover(
    lock: RootLock, *, settles: bool = False, adopts: bool = False, keep: Keep | None = None
) -> RecoveryResult:
    """Undo this user's transactions of the locked root that were interrupted, and clean up after the others.

    With `settles`, as `mdplan recover` does, nothing is left for a later commit. With `adopts`, also undo the
    commit that another user or state directory began, or finish it where all its files are new. `keep`
    decides what becomes of files that someone changed on top of a transaction: they stay as they are now
    (`current`), or get their old content (`base`); what they lose is in the store. Calling it again does no
    harm. Errors among the problems: RECOVERY_REQUIRED, RECOVERY_CONFLICT. Raises `StorageRefused` when the
    store cannot be read, and, without `settles`, for a commit that another user or state directory began.
    """
    # The cause may have been a loss of power, so this lasts whatever the commit was asked for.
    state = RootState(lock.root, lock.store, Folders(lock.root), syncs=True)
    findings = _Findings()
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
        # Plans made of what somebody else left half done would be refused for other reasons, or not at all.
        foreign = () if settles else tuple(neighbours.foreign_commits(state.folders, state.store, ()))
        if foreign:
            raise StorageRefused(foreign)
    finally:
        state.folders.close()
    return RecoveryResult(
        tuple(findings.rolled_back), tuple(findings.finished), tuple(findings.files), tuple(findings.problems)
    )


def _settle_own(
    state: RootState, interrupted: State, record: Record, findings: _Findings, keep: Keep | None
) -> None:
    """Undo a transaction of this user, unless somebody else finished it or made the same change."""
    note = neighbours.read_note(state.root)
    if note is None or (isinstance(note, Record) and note.transaction != record.transaction):
        record = replace(record, noted=interrupted is State.CONFLICT)
    if not record.noted and is_complete(state.folders, record):
        state.store.settle(record.transaction, State.COMMITTED, syncs=True)
    else:
        _undo(state, record, findings, keep=keep)


def _undo(state: RootState, record: Record, findings: _Findings, *, keep: Keep | None) -> bool:
    """Undo one transaction; whether that is done."""
    undone = roll_back(state, record, keeps=True, keep=keep)
    findings.files.extend(undone.files)
    findings.problems.extend(undone.problems)
    is_done = all(problem.severity is Severity.WARNING for problem in undone.problems)
    if is_done:
        findings.rolled_back.append(record.transaction)
    return is_done


def _finish(state: RootState, record: Record, findings: _Findings) -> None:
    """Clean up after a commit that went through."""
    places, _ = neighbours.places_of(state.folders, record)
    is_found, warnings = clean_up(state, record, places)
    if is_found:
        findings.finished.append(record.transaction)
    findings.problems.extend(warnings)


def _settle_note(
    state: RootState, findings: _Findings, *, adopts: bool, keep: Keep | None, is_own: bool
) -> None:
    """Remove the note of a settled commit; with `adopts`, undo or finish somebody else's.

    A loss of power can leave half of a note. It `is_own` where a commit of this user may have left it.
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
        findings.problems.append(record)
    if is_settled:
        with suppress(OSError):
            neighbours.remove_note(state.root)


def _adopted(state: RootState, record: Record, findings: _Findings, keep: Keep | None) -> bool:
    """Undo a commit that is not in this user's store, or finish it; whether that is done."""
    if not is_complete(state.folders, record):
        return _undo(state, record, findings, keep=keep)
    _finish(state, record, findings)
    state.sync(record)
    return True


def is_complete(folders: Folders, record: Record) -> bool:
    """Whether all files of `record` are its results, and, without a note, nothing lies next to them."""
    places, problems = neighbours.places_of(folders, record)
    if problems or len(places) < len(record.entries):
        return False
    with storage_errors(folders.root.show("."), "looking at the files of"):
        found = [(place.entry.result, place.found()) for place in places]
    return all(
        contents == FoundContents(result, None, None) or (record.noted and contents.target == result)
        for result, contents in found
    )


# Another program that writes in a loop is followed this often; then both versions are left for a person.
_MOST_EXCHANGES: Final = 50


class RestoreAction(Enum):
    """The action that restores a file."""

    NOTHING = auto()
    PUT_BACK = auto()
    RESTORE = auto()
    TAKE_AWAY = auto()
    CONFLICT = auto()


def restore(
    places: Sequence[StagedPlace], keep: Keep | None = None
) -> tuple[list[StagedPlace], list[StagedPlace], Problems]:
    """Put all of `places` back, the last first; `keep` chooses for those that someone changed concurrently.

    Return those that were put back, those where a person has to choose, and what was not possible. Nothing is
    thrown away: what was in place is under one of the other two names after that.
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
        action = plan_restore(place.entry, contents, known=place.known)
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


def plan_restore(entry: FileEntry, contents: FoundContents, *, known: bool = True) -> RestoreAction:
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


def exchange_back(place: StagedPlace, source: str) -> bool:
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


def _plan_for_replaced(entry: FileEntry, contents: FoundContents) -> RestoreAction:
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
    """Return the name that the old content of a replaced or deleted file has."""
    if entry.result is None or contents.aside not in (None, entry.result):
        return "aside"
    return None if contents.temporary in (None, entry.result, UNFINISHED) else "temporary"


def _displaced_content(entry: FileEntry, contents: FoundContents) -> str | None:
    return contents.aside if _displaced(entry, contents) == "aside" else contents.temporary


def _run_action(place: StagedPlace, contents: FoundContents, action: RestoreAction) -> bool:
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


def _rename_back(place: StagedPlace, contents: FoundContents) -> None:
    """Put the displaced content of a replaced file back where two files cannot change places."""
    disk = place.folders.root.filesystem
    source, other = _names(place, contents)
    # The result keeps a second name where it can have one; its plan is in the record in any case.
    with suppress(OSError):
        disk.link(place.folder, place.leaf, other)
    disk.rename(place.folder, source, place.leaf)


def _restore(place: StagedPlace, source: str) -> bool:
    """Give `source` the name of the file; False when somebody made one of that name."""
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


def _force_back(place: StagedPlace, contents: FoundContents) -> bool:
    """Put the base in the place of what someone wrote on top; that goes to one of the other names.

    False where the base is gone, or someone writes on.
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


# --- Undo a transaction that is not committed: the same steps in the failing process and after a crash.


class RollbackResult(NamedTuple):
    """The paths of the files that were put back, and what a person has to know or do."""

    files: tuple[str, ...]
    problems: Problems


def roll_back(
    state: RootState, record: Record, *, keeps: bool, keep: Keep | None = None, visible: bool = True
) -> RollbackResult:
    """Put back the files of the transaction `record`, then settle it.

    With `keeps` what it had written stays in the store as a transaction that was rolled back. `keep` decides
    about files that someone changed on top of it; undecided they are RECOVERY_CONFLICT and wait. Nothing has
    to be put back where it is certain that nothing was `visible` yet. Where something is not possible, the
    transaction stays as it is: RECOVERY_REQUIRED. Does not raise.
    """
    try:
        places, unopened = neighbours.places_of(state.folders, record)
        if unopened:
            return RollbackResult((), tuple(_required(problem) for problem in unopened))
        restored, conflicts, problems = restore(places if visible else (), keep)
        files = tuple(place.entry.path for place in restored)
        # The old content has its name back for good before its other names go.
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
    """The problem of a file that somebody changed on top of a transaction that was cut off."""
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
    """Take away what lies next to the targets; a problem for each name where that is not possible."""
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
    """Remove what a trial of the exchange may have left; a warning for each file that stays."""
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
    """Remove one name next to a target; return what was there, as `files.content_of` tells it.

    A file that is not of the transaction goes into the store first; with `keeps` any does. A folder or link
    of somebody stays. Raises `OSError`, `StorageRefused`.
    """
    content = place.whole_content(name)
    if is_digest(content) and (keeps or content not in (place.entry.base, place.entry.result)):
        keep_content(state, place, name)
    if content is not None and _is_ours(content):
        state.root.filesystem.unlink(place.folder, name)
    return content


def _is_ours(content: str | None) -> bool:
    """Whether nothing, or a file, is there: a folder or link is not ours to throw away."""
    return content is None or is_digest(content) or content == UNFINISHED


def keep_content(state: RootState, place: StagedPlace, name: str) -> None:
    """Put the content of the file `name` next to a target into the store. Raises `StorageRefused`."""
    import hashlib

    found = read_regular_file(state.root.filesystem, place.folder, name, place.shown, MAX_IMAGE_BYTES)
    if isinstance(found, Diagnostic):
        raise StorageRefused((found,))
    state.store.keep(hashlib.sha256(found.data).hexdigest(), found.data, syncs=state.syncs)


def _kept_problem(problem: Diagnostic, name: str) -> Diagnostic:
    """The warning for a file that could not be taken away."""
    hint = f"look at `{name}` in its folder, then remove it"
    return replace(problem, hint=hint, severity=Severity.WARNING)


def _required(problem: Diagnostic) -> Diagnostic:
    hint = say("{}; then {run recover}", problem.hint) if problem.hint else say("{run recover}")
    return replace(problem, code=Code.RECOVERY_REQUIRED, hint=hint, severity=Severity.ERROR)


# --- After the commit point: the displaced files go. A failure here is a warning.


def clean_up(state: RootState, record: Record, places: Collection[StagedPlace]) -> tuple[bool, Problems]:
    """Remove the names that `record`, which is committed, left at each of `places`; again does no harm.

    Return whether there were any, and warnings. The store has the old contents since before the commit. What
    another program wrote into a displaced file since is put there, too.
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
        # A folder whose removal is on the disk before what was moved out of it would take that along.
        try:
            state.sync(record)
            state.folders.remove_empty(record.removed_folders)
        except StorageRefused as refused:
            warnings += refused.problems
    return is_found, tuple(replace(warning, severity=Severity.WARNING) for warning in warnings)


def _changed(place: StagedPlace, name: str, *, kept: bool) -> Diagnostic:
    """The warning that another program wrote into the old file after it was displaced."""
    where = "kept in the history" if kept else f"in `{name}` in its folder"
    return Code.CONFLICT_LATE_WRITE.problem(
        f"another program wrote into the old `{place.shown}` during the commit; that is {where}",
        "reopen the file in that program, and save it again there",
        file=place.shown,
    )
