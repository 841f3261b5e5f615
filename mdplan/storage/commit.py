"""Commit the files of a plan atomically, through kills, full disks and power loss.

`stage` writes next to the targets, `publish` makes the results visible. The protocol is the order of steps:
what must be on disk before what. A failure before the commit point is undone, here or by the next recovery.
"""

import errno
import hashlib
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, Literal, NamedTuple

from mdplan.diagnostics import Code, Diagnostic, Problems, Severity
from mdplan.storage import filesystem, neighbours, recovery
from mdplan.storage.files import UNFINISHED_MODE, FileName, is_digest, read_regular_file, write_refusal
from mdplan.storage.folders import Folders, folder_of
from mdplan.storage.lock import RootLock
from mdplan.storage.neighbours import StagedPlace
from mdplan.storage.recovery import RootState
from mdplan.storage.store import TRANSACTION, FileEntry, Record, State, Traits, add_record, keep_base
from mdplan.values import Struct, replace
from mdplan.words import say

# A plan with a larger note cannot be stored in the history, so it is not committed.
_MOST_NOTE_BYTES: Final = 1 << 27
_MOST_LEFT: Final = 8
_MOST_FILES_LEFT: Final = 128

# "strong": files are exchanged atomically, so another program's last-moment write survives. "weak": the old
# content gets a second name first, and a write between the last check and the rename could be lost.
SwapStrength = Literal["strong", "weak"]


class CommitResult(Struct, kw_only=True):
    """The result of a successful commit.

    - `cas`: `weak` if a concurrent write within microseconds of a replacement could be lost.
    - `durable`: False without syncs, or if the file system cannot sync names.
    - `warnings`: do not affect the success.
    """

    cas: SwapStrength
    durable: bool
    warnings: Problems


class Staged:
    """A transaction written next to its targets; consumed by `publish` or `discard`."""

    def __init__(self, lock: RootLock, *, syncs: bool) -> None:
        self.state = RootState(lock.root, lock.store, Folders(lock.root), syncs)
        self.lock = lock
        self.record: Record | None = None
        self.targets: tuple[StagedTarget, ...] = ()
        self.durable = self.state.syncs
        self.visible = False
        self.settles = False

    def discard(self) -> Problems:
        """Undo everything; return warnings. Never raises."""
        try:
            if self.record is None:
                return ()
            if self.settles and self._may_be_committed(self.record):
                return (_IN_DOUBT,)
            return recovery.roll_back(self.state, self.record, keeps=False, visible=self.visible).problems
        except filesystem.StorageRefused as refused:
            return tuple(replace(problem, code=Code.RECOVERY_REQUIRED) for problem in refused.problems)
        finally:
            self.state.folders.close()

    def _may_be_committed(self, record: Record) -> bool:
        """Return True if the commit point itself failed or was interrupted."""
        try:
            return self.state.store.state_of(record.transaction) is State.COMMITTED
        except filesystem.StorageRefused:
            return True


class LaterContent(NamedTuple):
    """Content of `size` bytes created when written, so that many files are never held at once.

    `make` may raise `StorageRefused`.
    """

    size: int
    make: Callable[[], bytes]


class StagedFile(Struct):
    """A file of a commit, with the hex digests of its base and `result`.

    Without a base it is created and must not exist; without a result it is deleted. A file copies owner, mode
    and attributes from `like`, a file with a base in the same commit, else from its base or, if it `restores`
    a deleted file, from the store.
    """

    name: FileName
    base_sha256: str | None
    result: bytes | LaterContent | None
    result_sha256: str | None
    like: FileName | None = None
    restores: bool = False

    def __post_init__(self) -> None:
        assert (self.result is None) is (self.result_sha256 is None), "a result and its digest go together"
        assert self.base_sha256 or self.result_sha256, "a file that is not there cannot be deleted"

    @property
    def size(self) -> int:
        """Size of the result in bytes, or 0."""
        result = self.result
        return result.size if isinstance(result, LaterContent) else len(result or b"")

    def content(self) -> bytes:
        """Return the bytes of the result. Raise `StorageRefused` if they can no longer be created."""
        result = self.result
        return result.make() if isinstance(result, LaterContent) else result or b""


def stage(  # noqa: PLR0913 - Each says another thing about the one commit, by its name.
    lock: RootLock,
    files: Sequence[StagedFile],
    *,
    transaction: str,
    note: bytes,
    now: float,
    max_bytes: int,
    durability: filesystem.Durability = filesystem.Durability.FULL,
    removed_folders: Sequence[str] = (),
) -> Staged:
    """Verify all bases, then write all results next to their targets; nothing is visible yet.

    `transaction` is an ID of 8 to 32 hex digits, `note` a JSON object for the history, `now` seconds since
    the epoch, `max_bytes` the size limit of a base. Missing folders of created files are made;
    `removed_folders`, made by another commit, are removed after the commit if empty.

    Raise `StorageRefused` with the problems of all files and leave nothing behind: as
    `blocking_transactions`, `check_bases` and `LaterContent`, or LOCK_TIMEOUT, NO_SPACE, OWNER_CHANGE,
    PERMISSION_DENIED, IO_ERROR.
    """
    assert TRANSACTION.fullmatch(transaction), "the ID of a transaction is 8 to 32 hex digits"
    staged = Staged(lock, syncs=durability is filesystem.Durability.FULL)
    state = staged.state
    try:
        _refuse_blocked(state, files, len(note))
        with state.store.write(syncs=state.syncs) as database:
            bases, made_folders = check_bases(state.folders, files, max_bytes, database)
            record = Record(
                transaction=transaction,
                entries=tuple(base.entry for base in bases),
                made_folders=made_folders,
                removed_folders=tuple(removed_folders),
            )
            add_record(database, record, note, now)
            # It may be committed although the store reports a failure.
            staged.record = record
        neighbours.write_note(lock.root, record)
        if state.syncs and any(entry.base is None for entry in record.entries):
            # Recovery recognises created files only by the note.
            state.folders.sync({""})
        for folder in made_folders:
            state.folders.make(folder)
        staged.targets = _targets(staged, record, bases)
        write_results(state, staged.targets)
    except filesystem.StorageRefused as refused:
        raise filesystem.StorageRefused(refused.problems + staged.discard()) from refused
    except BaseException:
        staged.discard()
        raise
    return staged


def _refuse_blocked(state: RootState, files: Sequence[StagedFile], note_bytes: int) -> None:
    problems = recovery.blocking_transactions(state, [file.name.path for file in files])
    if problems:
        raise filesystem.StorageRefused(tuple(problems))
    if note_bytes > _MOST_NOTE_BYTES:
        message = "the plan is too large for the history"
        hint = "send the edits in several batches"
        raise filesystem.StorageRefused.of(Code.BATCH_TOO_LARGE, message, hint)


def publish(staged: Staged) -> CommitResult:
    """Put all staged files in place; consumes `staged` in any case.

    Raise `StorageRefused` after undoing everything: STALE_BASE or FILE_EXISTS (nothing was replaced yet),
    CONFLICT_LATE_WRITE, FILE_EXISTS, TARGET_BUSY, PERMISSION_DENIED, NO_SPACE, IO_ERROR. An additional
    RECOVERY_REQUIRED means that the undo is incomplete, RECOVERY_CONFLICT that another program changed a file
    meanwhile. COMMIT_IN_DOUBT: the files are new, but may not survive a power loss now.
    """
    state, record = staged.state, staged.record
    assert record is not None
    try:
        check_again(staged.targets)
        staged.visible = True
        cas = swap_all(state, staged.targets)
        staged.durable &= state.sync(record)
        synced = recovery.folders_of(record)
        uncleaned = state.store.uncleaned()
        clean = [each.transaction for each in uncleaned if recovery.folders_of(each) | {""} <= synced]
        left = [*(each for each in uncleaned if each.transaction not in clean), record]
        # The commit point.
        staged.settles = True
        state.store.settle(record.transaction, State.COMMITTED, clean, syncs=state.syncs)
    except filesystem.StorageRefused as refused:
        # Report first that the files are new, then why the disk did not confirm it.
        problems = sorted(refused.problems + staged.discard(), key=lambda problem: problem != _IN_DOUBT)
        raise filesystem.StorageRefused(tuple(problems)) from refused
    except BaseException as stopped:
        for problem in staged.discard():
            stopped.add_note(problem.message)
        raise
    try:
        return _finished(staged, left, cas)
    finally:
        state.folders.close()


# --- Checks before anything is written; all problems are reported at once


class CheckedFile(NamedTuple):
    """A checked file: its store entry, and the status of its base, if any.

    `missing` are folders that a created file needs. `problem` is why the commit cannot use the file, always
    None in results of `check_bases`.
    """

    file: StagedFile
    entry: FileEntry
    status: os.stat_result | None = None
    missing: tuple[str, ...] = ()
    problem: Diagnostic | None = None


class TemplateFile(NamedTuple):
    """A file in an open folder whose owner, mode and attributes are copied."""

    folder: int
    name: str
    status: os.stat_result


class StagedTarget(Struct, kw_only=True):
    """A located file of a commit; `status` is that of its base, or None.

    A new file copies `template`, or becomes an ordinary file of the user. `exchanges`: files can be exchanged
    there, which is tried before anything is written.
    """

    file: StagedFile
    place: StagedPlace
    status: os.stat_result | None
    template: TemplateFile | Traits | None
    exchanges: bool


def _targets(staged: Staged, record: Record, bases: Sequence[CheckedFile]) -> tuple[StagedTarget, ...]:
    places = [neighbours.place_of(staged.state.folders, record, index) for index in range(len(bases))]
    problems = tuple(place for place in places if isinstance(place, Diagnostic))
    if problems:
        raise filesystem.StorageRefused(problems)
    own = {
        base.entry.path: TemplateFile(place.folder, place.leaf, base.status)
        for base, place in zip(bases, places, strict=True)
        if base.status is not None and not isinstance(place, Diagnostic)
    }
    with filesystem.storage_errors(staged.lock.root.show("."), "looking at the folders of"):
        return tuple(
            StagedTarget(
                file=base.file,
                place=place,
                status=base.status,
                template=_template(staged.state, base, own),
                exchanges=place.exchanges,
            )
            for base, place in zip(bases, places, strict=True)
            if not isinstance(place, Diagnostic)
        )


def _template(
    state: RootState, base: CheckedFile, own: Mapping[str, TemplateFile]
) -> TemplateFile | Traits | None:
    """Return the template of the new file: its old name, its base, or itself before deletion."""
    if base.file.like is not None:
        return own[base.file.like.path]
    if base.status is not None:
        return own[base.entry.path]
    if base.file.restores and base.entry.result and (traits := state.store.traits_of(base.entry.result)):
        return traits
    return None


def _finished(staged: Staged, left: Sequence[Record], cas: SwapStrength) -> CommitResult:
    """Clean up; failures from here on do not fail the commit.

    The last record in `left` is this commit, the others are earlier unclean ones.
    """
    state = staged.state
    _, late = recovery.clean_up(state, left[-1], [target.place for target in staged.targets])
    warnings = [*staged.lock.warnings, *late]
    if cas == "weak":
        warnings.append(_WEAK)
    try:
        neighbours.remove_note(state.root)
        if not late:
            _settle_clean_up(state, left)
        state.store.checkpoint()
    except OSError as error:
        problem = filesystem.of_error(error, state.root.show("."), "removing the note of the commit in")
        warnings.append(replace(problem, severity=Severity.WARNING))
    except filesystem.StorageRefused as refused:
        warnings.extend(replace(problem, severity=Severity.WARNING) for problem in refused.problems)
    return CommitResult(cas=cas, durable=staged.durable, warnings=tuple(warnings))


def _settle_clean_up(state: RootState, left: Sequence[Record]) -> None:
    """Record the clean-up durably, unless it is small: no commit waits for that sync.

    A later commit that syncs the same folders records it.
    """
    is_small = len(left) <= _MOST_LEFT and sum(len(each.entries) for each in left) <= _MOST_FILES_LEFT
    # A removed folder that is created again later is a different one.
    if state.syncs and is_small and not left[-1].removed_folders:
        return
    if state.syncs:
        state.folders.sync(recovery.folders_of(*left) | {""})
    state.store.mark_clean(each.transaction for each in left)


_IN_DOUBT: Final = Code.COMMIT_IN_DOUBT.problem(
    "all files are new, but the disk did not confirm the commit: a loss of power now may undo it",
    say("check the disk, then {run recover}; the next commit does it as well"),
)

_WEAK: Final = Diagnostic.warning(
    Code.WEAK_CAS,
    "this file system has no atomic swap: a concurrent write of another program could have been lost",
)


def check_bases(
    folders: Folders, files: Sequence[StagedFile], max_bytes: int, database: sqlite3.Connection
) -> tuple[list[CheckedFile], tuple[str, ...]]:
    """Read every base once, store its content, and check that it matches and may be replaced.

    Return the files in batch order, and the folders to make, outermost first. Raise `StorageRefused` with the
    problems of all files: STALE_BASE, FILE_EXISTS, ALIAS_CONFLICT (two names of one file), or as `Root.read`
    and `Root.write_refusal`.
    """
    results = [_check(folders, file, max_bytes, database) for file in files]
    names = Counter(
        identity for result in results if isinstance(result, CheckedFile) for identity in _identities(result)
    )
    problems: list[Diagnostic] = []
    checked: list[CheckedFile] = []
    missing: set[str] = set()
    for result in results:
        if isinstance(result, CheckedFile):
            missing.update(result.missing)
            checked.append(result)
            problem = _alias_problem(folders, result, names) or result.problem
        else:
            problem = result
        if problem is not None:
            problems.append(problem)
    if problems:
        raise filesystem.StorageRefused(tuple(problems))
    return checked, tuple(sorted(missing))


def check_again(targets: Sequence[StagedTarget]) -> None:
    """Check again right before replacing. Raise `StorageRefused`: STALE_BASE, FILE_EXISTS, …."""
    problems = [problem for target in targets if (problem := _changed_since(target)) is not None]
    if problems:
        raise filesystem.StorageRefused(tuple(problems))


def _check(
    folders: Folders, file: StagedFile, max_bytes: int, database: sqlite3.Connection
) -> CheckedFile | Diagnostic:
    path = file.name.path
    folder = folders.open(folder_of(path))
    if file.base_sha256 is None:
        return _check_created(folders, file, path, folder)
    if isinstance(folder, Diagnostic):
        return replace(folder, file=folders.root.show(path))
    return _check_based(folders, file, path, folder, max_bytes, database)


def _check_created(
    folders: Folders, file: StagedFile, path: str, folder: int | Diagnostic
) -> CheckedFile | Diagnostic:
    """Check that a file is missing; its folder may be missing too."""
    shown = folders.root.show(path)
    if isinstance(folder, Diagnostic):
        missing = folders.missing(folder_of(path))
        if isinstance(missing, Diagnostic):
            return replace(missing, file=shown)
        return CheckedFile(file, _entry(file, path), missing=missing)
    try:
        folders.root.filesystem.status_of(folder, path.rpartition("/")[2])
    except FileNotFoundError:
        return CheckedFile(file, _entry(file, path))
    except OSError as error:
        return filesystem.of_error(error, shown, "looking at")
    return Code.FILE_EXISTS.of(file=shown)


def _check_based(
    folders: Folders, file: StagedFile, path: str, folder: int, max_bytes: int, database: sqlite3.Connection
) -> CheckedFile | Diagnostic:
    """Check that a file matches its plan and may be replaced; store its content."""
    root, leaf = folders.root, path.rpartition("/")[2]
    shown = root.show(path)
    content = read_regular_file(root.filesystem, folder, leaf, shown, max_bytes)
    if isinstance(content, Diagnostic):
        return root.explained(content, folder, path)
    stale = _stale_problem(shown, hashlib.sha256(content.data).hexdigest(), file.base_sha256)
    problem = stale or write_refusal(root.filesystem, folder, leaf, shown, content.status)
    if problem is None and file.base_sha256 is not None:
        traits = None
        if file.result is None:
            with filesystem.storage_errors(shown, "reading the attributes of"):
                traits = _read_traits(root.filesystem, folder, leaf, content.status)
        keep_base(database, file.base_sha256, content.data, traits)
    return CheckedFile(file, _entry(file, path, len(content.data)), content.status, problem=problem)


def _read_traits(
    disk: filesystem.FileSystem, folder: int, leaf: str, status: os.stat_result, *, syncs: bool = False
) -> Traits:
    """Return the traits of a file with `status`; with `syncs`, sync it."""
    descriptor = disk.open_file(folder, leaf)
    try:
        if syncs:
            disk.sync(descriptor)
        return Traits(status.st_mode, status.st_uid, status.st_gid, disk.attributes(descriptor))
    finally:
        disk.release(descriptor)


def _entry(file: StagedFile, path: str, base_bytes: int = 0) -> FileEntry:
    return FileEntry(path, file.base_sha256, base_bytes, file.result_sha256, file.size)


def _identities(base: CheckedFile) -> list[object]:
    """Return keys that must be unique in a commit: the path, and device and inode of a base."""
    if base.status is None:
        return [base.entry.path]
    return [base.entry.path, (base.status.st_dev, base.status.st_ino)]


def _alias_problem(folders: Folders, base: CheckedFile, names: Counter[object]) -> Diagnostic | None:
    count = max(names[identity] for identity in _identities(base))
    if count == 1:
        return None
    shown = folders.root.show(base.entry.path)
    return Code.ALIAS_CONFLICT.problem(
        f"`{shown}` is one of {count} names of one file in this batch",
        "put all edits of the file under one name",
        file=shown,
    )


def _changed_since(target: StagedTarget) -> Diagnostic | None:
    place, disk = target.place, target.place.folders.root.filesystem
    try:
        status = disk.status_of(place.folder, place.leaf)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and target.status is None:
            return None
        return filesystem.of_error(error, place.shown, "looking at")
    if target.status is None:
        return Code.FILE_EXISTS.of(file=place.shown)
    if _traits(status) == _traits(target.status):
        return None
    content = read_regular_file(disk, place.folder, place.leaf, place.shown, place.entry.at_most)
    if isinstance(content, Diagnostic):
        return content if content.code is not Code.FILE_TOO_LARGE else _changed_meanwhile(place.shown, "")
    return _stale_problem(place.shown, hashlib.sha256(content.data).hexdigest(), target.file.base_sha256)


def _traits(status: os.stat_result) -> tuple[int, ...]:
    """Return fields that change when another program writes a file, within clock resolution."""
    times = status.st_mtime_ns, status.st_ctime_ns
    return status.st_dev, status.st_ino, status.st_size, status.st_mode, *times


def _stale_problem(shown: str, sha256: str, base_sha256: str | None) -> Diagnostic | None:
    if sha256 == base_sha256:
        return None
    return _changed_meanwhile(shown, f"; its content now has the SHA-256 {sha256}")


def _changed_meanwhile(shown: str, now: str = "") -> Diagnostic:
    return Code.STALE_BASE.problem(f"`{shown}` is not as the plan saw it", f"plan again{now}", file=shown)


# --- Writing results next to their targets

# Results to write before syncing the first: the disk handles them together.
_OPEN_AT_ONCE: Final = 32
_ORDINARY_MODE: Final = 0o666


def write_results(state: RootState, targets: Sequence[StagedTarget]) -> None:
    """Write and sync every result under its temporary name, and sync its base.

    Raise `StorageRefused`: NO_SPACE, OWNER_CHANGE, PERMISSION_DENIED, IO_ERROR.
    """
    for target in targets:
        is_read = target.file.result is not None and target.file.like is None
        if not is_read and target.status is not None and state.syncs:
            _sync_base(state.root.filesystem, target)
    written = [target for target in targets if target.file.result is not None]
    for start in range(0, len(written), _OPEN_AT_ONCE):
        _write_some(state, written[start : start + _OPEN_AT_ONCE])


def _write_some(state: RootState, targets: Sequence[StagedTarget]) -> None:
    disk = state.root.filesystem
    opened: list[tuple[StagedTarget, int]] = []
    try:
        for target in targets:
            with filesystem.storage_errors(target.place.shown, "reading the attributes of"):
                traits = _traits_of(state, target)
            with filesystem.storage_errors(target.place.shown, "writing beside"):
                mode = _ORDINARY_MODE if target.template is None else UNFINISHED_MODE
                descriptor = disk.create(target.place.folder, target.place.temporary, mode)
                opened.append((target, descriptor))
                disk.write(descriptor, target.file.content())
                if traits is not None:
                    _make_like(disk, descriptor, target, traits)
                if state.syncs and len(targets) > 1:
                    disk.start_writing(descriptor)
        if state.syncs:
            for target, descriptor in opened:
                with filesystem.storage_errors(target.place.shown, "syncing the temporary file of"):
                    disk.sync(descriptor)
        while opened:
            target, descriptor = opened.pop()
            with filesystem.storage_errors(target.place.shown, "writing beside"):
                disk.close(descriptor)
    finally:
        for _, descriptor in opened:
            disk.release(descriptor)


def _sync_base(disk: filesystem.FileSystem, target: StagedTarget) -> None:
    with filesystem.storage_errors(target.place.shown, "syncing"):
        descriptor = disk.open_file(target.place.folder, target.place.leaf)
        try:
            disk.sync(descriptor)
        finally:
            disk.release(descriptor)


def _traits_of(state: RootState, target: StagedTarget) -> Traits | None:
    """Return owner, mode and attributes for the target; sync its base, which an undo needs."""
    template = target.template
    if not isinstance(template, TemplateFile):
        return template
    syncs = state.syncs and target.file.like is None
    disk = state.root.filesystem
    return _read_traits(disk, template.folder, template.name, template.status, syncs=syncs)


def _make_like(disk: filesystem.FileSystem, descriptor: int, target: StagedTarget, traits: Traits) -> None:
    """Copy owner, attributes and finally mode, which marks the file as complete, from the template."""
    made = disk.status(descriptor)
    if (made.st_uid, made.st_gid) != (traits.uid, traits.gid):
        try:
            disk.set_owner(descriptor, traits.uid, traits.gid)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EINVAL):
                raise
            problem = Code.OWNER_CHANGE.problem(
                f"`{target.place.shown}` would get another owner or group",
                "let its owner apply the plan",
                file=target.place.shown,
            )
            raise filesystem.StorageRefused((problem,)) from error
    disk.set_attributes(descriptor, traits.attributes)
    disk.set_mode(descriptor, traits.mode)


# --- Putting results in place, and examining what they displaced


def swap_all(state: RootState, targets: Sequence[StagedTarget]) -> SwapStrength:
    """Put all results in place: created and changed files first, deletions last.

    Thus a renamed file is never missing. Raise `StorageRefused` at the first problem; `restore` finds what
    was done so far.
    """
    disk = state.root.filesystem
    changed = (target for target in targets if target.status is not None and target.file.result is not None)
    linked = [target for target in changed if not (target.exchanges or disk.moves_aside)]
    for target in linked:
        _keep_aside(state, target)
    # Otherwise a power loss could keep the rename and lose the second name.
    if linked and state.syncs:
        state.folders.sync({folder_of(target.place.entry.path) for target in linked})
    for target in targets:
        with filesystem.storage_errors(target.place.shown, "replacing"):
            if target.file.base_sha256 is None:
                _create(disk, target)
            elif target.file.result is not None and target.exchanges:
                _exchange(state, target)
            elif target.file.result is not None:
                _rename_over(disk, target)
    for target in targets:
        if target.file.result is None:
            with filesystem.storage_errors(target.place.shown, "deleting"):
                _delete(disk, target)
    return "weak" if linked else "strong"


def _exchange(state: RootState, target: StagedTarget) -> None:
    place = target.place
    state.root.filesystem.exchange(place.folder, place.temporary, place.leaf)
    if place.content(place.temporary) != target.file.base_sha256:
        # Do this immediately: the other program's file is out of place until then.
        if recovery.exchange_back(place, place.temporary):
            _keep_superseded(state, place)
        raise _late_write(target)


def _keep_superseded(state: RootState, place: StagedPlace) -> None:
    """Store an older version of the other program's file in the history, if it kept writing."""
    content = place.whole_content(place.temporary)
    if content != place.entry.result and is_digest(content):
        recovery.keep_content(state, place, place.temporary)
        state.root.filesystem.unlink(place.folder, place.temporary)


def _create(disk: filesystem.FileSystem, target: StagedTarget) -> None:
    place = target.place
    try:
        disk.rename_new(place.folder, place.temporary, place.folder, place.leaf)
    except FileExistsError as error:
        raise filesystem.StorageRefused((Code.FILE_EXISTS.of(file=place.shown),)) from error


def _delete(disk: filesystem.FileSystem, target: StagedTarget) -> None:
    place = target.place
    disk.rename(place.folder, place.leaf, place.aside)
    if place.content(place.aside) != target.file.base_sha256:
        # If the file was re-created concurrently, keep both: the rollback reports a conflict.
        with suppress(FileExistsError):
            disk.rename_new(place.folder, place.aside, place.folder, place.leaf)
        raise _late_write(target)


def _keep_aside(state: RootState, target: StagedTarget) -> None:
    """Give the base a second name, or copy it if the file system has no links."""
    place, disk = target.place, state.root.filesystem
    with filesystem.storage_errors(place.shown, "keeping the old content of"):
        try:
            disk.link(place.folder, place.leaf, place.aside)
        except OSError as error:
            if error.errno not in filesystem.NO_LINK:
                raise
            _copy_aside(state, target)
        if place.content(place.aside) != target.file.base_sha256:
            raise _late_write(target)


def _copy_aside(state: RootState, target: StagedTarget) -> None:
    """Copy the base; file systems without links have no owners or attributes to copy."""
    place, disk = target.place, state.root.filesystem
    source = disk.open_file(place.folder, place.leaf)
    try:
        data = disk.read(source, place.entry.base_bytes + 1)
    finally:
        disk.release(source)
    descriptor = disk.create(place.folder, place.aside)
    try:
        disk.write(descriptor, data)
        disk.set_mode(descriptor, target.status.st_mode if target.status else 0o600)
        if state.syncs:
            disk.sync(descriptor)
    finally:
        disk.close(descriptor)


def _rename_over(disk: filesystem.FileSystem, target: StagedTarget) -> None:
    place = target.place
    if place.content(place.leaf) != target.file.base_sha256:
        raise _late_write(target)
    if disk.moves_aside:
        disk.replace(place.folder, place.temporary, place.leaf, place.aside)
    else:
        disk.rename(place.folder, place.temporary, place.leaf)
    if place.content(place.aside) != target.file.base_sha256:
        raise _late_write(target)


def _late_write(target: StagedTarget) -> filesystem.StorageRefused:
    return filesystem.StorageRefused.of(
        Code.CONFLICT_LATE_WRITE,
        f"another program wrote `{target.place.shown}` during the commit",
        "plan again on its new content",
        file=target.place.shown,
    )
