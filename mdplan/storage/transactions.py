"""The transactions of a root, as the journal keeps them, and the contents that they displaced.

All of it is readable without the lock. It lies in the root, so it is input like any other: a record that this
user's key did not seal is not part of it, and an image that its digest does not match is never used.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from mdplan.diagnostics import Code, Diagnostic, Problems, Severity
from mdplan.storage.files import (
    MAX_IMAGE_BYTES,
    FileSnapshot,
    KnownContent,
    content_of,
    read_regular_file,
    take_snapshot,
)
from mdplan.storage.filesystem import StorageRefused, storage_errors
from mdplan.storage.folders import Exchange, Folders, folder_of
from mdplan.storage.journal import BlobStore, Journal, JournalEntry, JournalRecord
from mdplan.storage.lock import RootLock
from mdplan.storage.root import STATE_FOLDER, Root
from mdplan.storage.state_folder import HISTORY_FOLDER, JOURNAL_FOLDER, RecordName, State, open_existing

DEFAULT_MAX_TRANSACTIONS: Final = 200
DEFAULT_MAX_BYTES: Final = 256 * 1024 * 1024

_STATES: Final[dict[State, Literal["committed", "rolled back"]]] = {
    State.DONE: "committed",
    State.KEPT: "committed",
    State.UNDONE: "rolled back",
}

# What `collect` may remove: records that no recovery needs.
_COLLECTED: Final = frozenset({State.KEPT, State.UNDONE, State.BROKEN})
_COLLECT_EVERY: Final = 16


@dataclass(frozen=True, slots=True)
class TransactionFile:
    """One file of a transaction: its path, and the SHA-256 before and after; None where there was no file."""

    path: str
    base_sha256: str | None
    result_sha256: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """A transaction that is complete. `note` is the engine's.

    `made_folders` were made for it, `removed_folders` were removed after it if they were empty. It is
    `undoable` when it was committed and the history has the old content of every file.
    """

    id: str
    state: Literal["committed", "rolled back"]
    note: dict[str, Any] = field(repr=False)
    files: tuple[TransactionFile, ...]
    made_folders: tuple[str, ...]
    removed_folders: tuple[str, ...]
    undoable: bool


def transactions(root: Root, beginning: str = "") -> Iterator[Transaction | Diagnostic]:
    """Yield the transactions of this user in `root` whose ID has that `beginning`, the newest first.

    What cannot be read is a diagnostic in its place: JOURNAL_CORRUPT, STATE_DIR_UNSAFE, those of
    `read_regular_file`.
    """
    try:
        with ExitStack() as opened:
            folders = [open_existing(root, name) for name in (JOURNAL_FOLDER, HISTORY_FOLDER)]
            for folder in folders:
                if folder is not None:
                    opened.callback(root.filesystem.release, folder)
            if folders[0] is None:
                return
            journal = Journal(root, folders[0])
            images = BlobStore(root.filesystem, folders[1], lasting=False) if folders[1] is not None else None
            for name in journal.newest_first(*_STATES, beginning=beginning):
                found = _read(journal, name)
                yield _transaction(name, found, images) if isinstance(found, JournalRecord) else found
    except StorageRefused as refused:
        yield from refused.problems


def before_image(root: Root, sha256: str) -> bytes | None:
    """The content with that SHA-256 (64 hex digits), if the history of `root` has it."""
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        return None
    try:
        folder = open_existing(root, HISTORY_FOLDER)
    except StorageRefused:
        return None
    if folder is None:
        return None
    try:
        found = read_regular_file(root.filesystem, folder, sha256, sha256, MAX_IMAGE_BYTES)
    finally:
        root.filesystem.release(folder)
    if isinstance(found, Diagnostic) or hashlib.sha256(found.data).hexdigest() != sha256:
        return None
    return found.data


def collect(
    lock: RootLock, max_transactions: int = DEFAULT_MAX_TRANSACTIONS, max_bytes: int = DEFAULT_MAX_BYTES
) -> Problems:
    """Forget the oldest transactions beyond a number, and beyond a size in bytes of all that is kept.

    A transaction that still waits for something is never forgotten, nor the last one that was committed. The
    number is examined every time, the sizes with every 16th transaction, and records are read only when
    something has to go, so it may be called after every commit. What no record names goes then, too. What
    could not be removed is a warning.
    """
    root = lock.root
    try:
        state = RootState.open(lock, syncs=False)
    except StorageRefused as refused:
        return tuple(replace(problem, severity=Severity.WARNING) for problem in refused.problems)
    try:
        newest = state.journal.newest()
        is_due = newest > 0 and newest % _COLLECT_EVERY == 0
        if not is_due and not state.journal.has_more(max_transactions + _COLLECT_EVERY, *_COLLECTED):
            return ()
        with storage_errors(root.show(STATE_FOLDER), "cleaning up the history of"):
            sizes = state.images.sizes()
            if state.journal.has_more(max_transactions, *_COLLECTED) or _size(state, sizes) > max_bytes:
                _collect(state, sizes, max_transactions, max_bytes)
    except StorageRefused as refused:
        return tuple(replace(problem, severity=Severity.WARNING) for problem in refused.problems)
    finally:
        state.close()
    return ()


# --- Where a file of a transaction lies, under which names its contents wait, and what is there now.


@dataclass(frozen=True, slots=True)
class FoundContents:
    """What is there under each of the three names of a place, as `leaf.content_of` tells it."""

    target: str | None
    temporary: str | None
    aside: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedPlace:
    """A file of a transaction, in its open folder.

    `leaf` is its name and `shown` its path for messages. Besides it, `temporary` holds the result until that
    is in place, and the old content after an exchange; `aside` holds the old content where there is no
    exchange, and that of a deleted file. `exchanges` shows whether two names there can change places, and
    `known` whether it is this user's own record that names the file. `base` is its content, if it is held.
    """

    entry: JournalEntry
    folders: Folders
    folder: int
    leaf: str
    shown: str
    temporary: str
    aside: str
    exchanges: bool
    known: bool
    base: KnownContent | None = None

    def content(self, name: str) -> str | None:
        """What is there under the name `name` of this place. Raises `OSError`."""
        return content_of(self.folders.root.filesystem, self.folder, name, self.entry.at_most, self.base)

    def whole_content(self, name: str) -> str | None:
        """What is there under `name`, hashed also if it is larger than base and result. Raises `OSError`."""
        return self.seen(name).content

    def seen(self, name: str) -> FileSnapshot:
        """What is there under `name`, with its status. Raises `OSError`."""
        return take_snapshot(self.folders.root.filesystem, self.folder, name, MAX_IMAGE_BYTES, self.base)

    @property
    def displaced(self) -> str:
        """The name under which a commit that went through leaves the old content, if there was one."""
        return self.temporary if self.exchanges and self.entry.result is not None else self.aside

    def found(self) -> FoundContents:
        """What is there under all three names. Raises `OSError`."""
        return FoundContents(self.content(self.leaf), self.content(self.temporary), self.content(self.aside))

    def is_clean(self) -> bool:
        """Whether nothing lies next to the target. Raises `OSError`."""
        disk = self.folders.root.filesystem
        for name in (self.temporary, self.aside):
            with suppress(FileNotFoundError):
                disk.status_of(self.folder, name)
                return False
        return True


# --- All that a transaction works with below a locked root.


@dataclass(frozen=True, slots=True)
class RootState:
    """The journal and images of `root`, its folders as far as they were needed, and how files are swapped.

    `clean` is that of the lock. `syncs` says whether what is done has to outlive a loss of power.
    """

    root: Root
    journal: Journal
    clean: dict[RecordName, frozenset[str]]
    images: BlobStore
    folders: Folders
    exchange: Exchange
    syncs: bool

    @staticmethod
    def open(lock: RootLock, *, syncs: bool) -> "RootState":
        """Open what `lock` guards. Raises `StorageRefused`."""
        root, opened = lock.root, lock.opened()
        return RootState(
            root=root,
            journal=opened.journal,
            clean=opened.clean,
            images=BlobStore(root.filesystem, opened.history, lasting=syncs),
            folders=Folders(root),
            exchange=Exchange(root.filesystem, lock.state_folder),
            syncs=syncs,
        )

    def close(self) -> None:
        """Close all that was opened; what belongs to the lock stays open with it."""
        self.folders.close()

    def place(self, record: JournalRecord, index: int) -> StagedPlace | Diagnostic:
        """The place of the `index`-th file of `record`. Errors: those of `place_of`."""
        return place_of(self.folders, self.exchange, record, index)

    def sync(self, sync: Callable[[], bool]) -> bool:
        """Call `sync` if anything is to be synced; whether what it is about is on the disk now."""
        return self.syncs and sync()


def _size(state: RootState, sizes: Mapping[str, int]) -> int:
    """How many bytes all images, whose `sizes` are given, and all records have."""
    disk, journal = state.root.filesystem, state.journal
    records = (disk.status_of(journal.folder, str(name)).st_size for name in journal.newest_first())
    return sum(sizes.values()) + sum(records)


def _collect(state: RootState, sizes: Mapping[str, int], max_transactions: int, max_bytes: int) -> None:
    """Keep the newest records, as many as allowed, and the images that they or unsettled ones name.

    Foreign records stay and count for nothing. An image that no record of this user names may be another
    key's, so it stays next to foreign records while there is room.
    """
    filesystem = state.root.filesystem
    kept: set[str] = set()
    forgotten: set[str] = set()
    room, count = max_bytes, 0
    for name in state.journal.newest_first():
        record = state.journal.read(name)
        digests = set() if isinstance(record, Diagnostic) else _digests(record) & sizes.keys()
        if name.state in _COLLECTED:
            size = filesystem.status_of(state.journal.folder, str(name)).st_size
            size += sum(sizes[digest] for digest in digests - kept)
            if count >= max_transactions or (size > room and count > 0):
                state.journal.remove(name)
                forgotten |= digests
                continue
            room -= size
            count += 1
        kept |= digests
    are_shared = state.journal.foreign() and sum(sizes.values()) <= max_bytes
    for digest in (forgotten if are_shared else sizes.keys()) - kept:
        state.images.forget(digest)


def _digests(record: JournalRecord) -> set[str]:
    contents = {content for entry in record.entries for content in (entry.base, entry.result)}
    return {content for content in contents if content is not None}


def _read(journal: Journal, name: RecordName) -> JournalRecord | Diagnostic:
    """The record called `name`, also when its transaction was settled since it was listed."""
    found = journal.read(name)
    if isinstance(found, Diagnostic) and found.code is Code.FILE_NOT_FOUND:
        return journal.read(replace(name, state=State.KEPT))
    return found


def _transaction(name: RecordName, record: JournalRecord, images: BlobStore | None) -> Transaction:
    bases = {entry.base for entry in record.entries if entry.base is not None}
    is_complete = not bases or (images is not None and all(map(images.status, bases)))
    return Transaction(
        id=record.transaction,
        state=_STATES[name.state],
        note=record.decoded_note(),
        files=tuple(TransactionFile(entry.path, entry.base, entry.result) for entry in record.entries),
        made_folders=record.made_folders,
        removed_folders=record.removed_folders,
        undoable=is_complete and _STATES[name.state] == "committed",
    )


@dataclass(frozen=True, slots=True)
class HistorySize:
    """The number of this user's records, the bytes of those and of all old content; the foreign records."""

    transactions: int
    bytes: int
    foreign: int


def history_size(root: Root) -> HistorySize:
    """The size of the history of `root`, without the lock. Raises `StorageRefused`, and `OSError`."""
    with ExitStack() as opened:
        folders = [open_existing(root, name) for name in (JOURNAL_FOLDER, HISTORY_FOLDER)]
        for folder in folders:
            if folder is not None:
                opened.callback(root.filesystem.release, folder)
        journal_folder, images_folder = folders
        if journal_folder is None:
            return HistorySize(0, 0, 0)
        journal = Journal(root, journal_folder)
        names = journal.names()
        size = sum(root.filesystem.status_of(journal_folder, str(name)).st_size for name in names)
        if images_folder is not None:
            size += sum(BlobStore(root.filesystem, images_folder, lasting=False).sizes().values())
        return HistorySize(len(names), size, len(journal.foreign()))


def temporary_names(transaction: str, index: int) -> tuple[str, str]:
    """The names next to the `index`-th file of a transaction: for its result, and for its old content.

    They follow from the record's own name and cannot be chosen by what is written in it.
    """
    return f".mdplan-{transaction}-{2 * index}.tmp", f".mdplan-{transaction}-{2 * index + 1}.tmp"


def place_of(
    folders: Folders, exchange: Exchange | None, record: JournalRecord, index: int
) -> StagedPlace | Diagnostic:
    """The place of the `index`-th file of `record`; its folder stays open.

    Without `exchange` the place is only to be examined. The path is checked like a caller's. Errors: those
    of `Root.locate` and `Root.open_folder`.
    """
    entry, root = record.entries[index], folders.root
    name = root.locate(entry.path)
    if isinstance(name, Diagnostic):
        return name
    folder = folders.open(folder_of(name.path))
    if isinstance(folder, Diagnostic):
        return folder
    temporary, aside = temporary_names(record.transaction, index)
    return StagedPlace(
        entry=entry,
        folders=folders,
        folder=folder,
        leaf=name.path.rpartition("/")[2],
        shown=root.show(name.path),
        temporary=temporary,
        aside=aside,
        known=record.known,
        exchanges=exchange is not None
        and exchange.works_in(folder, temporary_names(record.transaction, len(record.entries))),
    )


def places_of(
    folders: Folders, exchange: Exchange | None, record: JournalRecord
) -> tuple[list[StagedPlace], list[Diagnostic]]:
    """The places of all files whose folder is still there, and why others could not be opened."""
    found = [place_of(folders, exchange, record, index) for index in range(len(record.entries))]
    problems = [each for each in found if isinstance(each, Diagnostic)]
    return (
        [each for each in found if isinstance(each, StagedPlace)],
        [problem for problem in problems if problem.code is not Code.FILE_NOT_FOUND],
    )


def touched_folders(record: JournalRecord) -> set[str]:
    """The folders whose names `record` changes, by path."""
    return {folder_of(path) for path in touched_paths(record)}


def touched_paths(record: JournalRecord) -> Iterable[str]:
    """The paths of all files and folders that `record` changes."""
    yield from (entry.path for entry in record.entries)
    yield from record.made_folders
    yield from record.removed_folders
