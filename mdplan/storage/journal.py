"""The journal of a root: one file for each transaction, whose suffix is the transaction's state.

A transaction moves from state to state by renaming its record, so each step happens at once or not at all.
The one from `pending` to `done` is the commit point. What is complete stays as the history.

A record that this user's key did not seal is foreign: it may have come with a cloned repository. It is listed
only where a caller asks for foreign records, and it has no part in the order of the others.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.files import MAX_IMAGE_BYTES, content_of, read_regular_file
from mdplan.storage.filesystem import FileSystem, storage_errors
from mdplan.storage.root import STATE_FOLDER, Root
from mdplan.storage.state_folder import JOURNAL_FOLDER, RecordName, State
from mdplan.storage.user_state import is_sealed, seal
from mdplan.text.lazy_pattern import lazy_pattern

_LAST_SEQUENCE: Final = 10**15 - 1
_BY_ENDING: Final = {f".{state}": state for state in State}
_KEPT: Final = f".{State.KEPT}"
_MARK_DIGITS: Final = 16

# Why a file cannot be opened that mdplan did not write: no permission, a link, a device.
_NOT_OURS: Final = frozenset({errno.EACCES, errno.ELOOP, errno.ENXIO})


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One file of a transaction, by its path below the root.

    `base` and `result` are the SHA-256 digests of its content before and after, None where the file is not
    there; they differ. The sizes in bytes tell a foreign file apart without reading all of it.
    """

    path: str
    base: str | None
    base_bytes: int
    result: str | None
    result_bytes: int

    @property
    def at_most(self) -> int:
        """The size in bytes beyond which a file is neither base nor result."""
        return max(self.base_bytes, self.result_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRecord:
    """What a transaction changes. The entries are in the order of the batch.

    `made_folders` are made before the files, the outer first; `removed_folders` are removed after the commit
    if they are empty then, the inner first. `note` is the encoded JSON object of the engine. `known` means
    that this user's key sealed the record, so no one else can have written it.
    """

    transaction: str
    entries: tuple[JournalEntry, ...]
    made_folders: tuple[str, ...] = ()
    removed_folders: tuple[str, ...] = ()
    note: bytes = field(default=b"{}", repr=False)
    known: bool = True

    def decoded_note(self) -> dict[str, Any]:
        """The engine's note; empty when it is not an object."""
        decoded = _decoded(self.note)
        return decoded if isinstance(decoded, dict) else {}


@dataclass(frozen=True, slots=True)
class RecordBinding:
    """Where a record belongs: a sealed record that is copied or renamed is foreign.

    `folder` is the inode of the journal's folder. A record stays the user's own when the root is moved, which
    keeps the inode, or copied back to `root_path`. `sequence` is the number in the name of the record.
    """

    root_path: str
    folder: int
    sequence: int


class Journal:
    """The records in the open folder `folder` of `root`. Methods raise `StorageRefused` about that folder.

    It is listed once: whoever changes it holds the lock, and does so through one object.
    """

    def __init__(self, root: Root, folder: int) -> None:
        self.root = root
        self.folder = folder
        self.shown = root.show(f"{STATE_FOLDER}/{JOURNAL_FOLDER}")
        self._names: dict[State, set[str]] | None = None
        self._newest: int | None = None
        self._inode: int | None = None
        # Whether this user wrote a record, by its name without the state.
        self._is_own: dict[tuple[int, str, str], bool] = {}

    def names(self, *states: State) -> list[RecordName]:
        """The names of this user's records in one of `states` (any, when none is given), the oldest first."""
        found = list(self.newest_first(*states))
        found.reverse()
        return found

    def newest_first(self, *states: State, beginning: str = "") -> Iterator[RecordName]:
        """Yield the names of this user's records, newest first, whose transaction has that `beginning`.

        The seals of other records are not checked: somebody may have shipped thousands.
        """
        named = (name for name in self._sorted(states) if name.transaction.startswith(beginning))
        return filter(self.is_own, named)

    def foreign(self, *states: State) -> list[RecordName]:
        """The names of the records in one of `states` (any, when none is given) that are not this user's."""
        return [name for name in self._sorted(states) if not self.is_own(name)]

    def unfinished(self) -> list[RecordName]:
        """The names of all records that may be incomplete, so that no seal tells whose they are."""
        return list(self._sorted((State.NEW,)))

    def newest(self) -> int:
        """The sequence of this user's record that was begun last; 0 when there is none."""
        if self._newest is None:
            last = next(self.newest_first(), None)
            self._newest = 0 if last is None else last.sequence
        return self._newest

    def has_more(self, most: int, *states: State) -> bool:
        """Whether there are more than `most` records of this user in one of `states`."""
        if sum(len(self._listed()[state]) for state in states) <= most:
            return False
        return sum(1 for _ in self.newest_first(*states)) > most

    def is_own(self, name: RecordName) -> bool:
        """Whether this user's key sealed the record. It costs at most a read of its first line."""
        key = name.sequence, name.transaction, name.mark
        if key not in self._is_own:
            if name.mark and name.mark == self._mark(name):
                self._is_own[key] = True
                return True
            try:
                self._is_own[key] = self._check_seal(name)
            except FileNotFoundError:
                # It has another state since it was listed.
                return self._is_own_after_settling(name)
            except OSError as error:
                # What a bad disk hides may be this user's, and then it has to stop a commit.
                self._is_own[key] = error.errno not in _NOT_OURS
        return self._is_own[key]

    def read(self, name: RecordName) -> JournalRecord | Diagnostic:
        """The record called `name`, of which a foreign one has to be small.

        Errors: JOURNAL_CORRUPT; those of `read_regular_file`.
        """
        shown = f"{self.shown}/{name}"
        is_own = self.is_own(name)
        most = MAX_RECORD_BYTES if is_own else MAX_FOREIGN_BYTES
        found = read_regular_file(self.root.filesystem, self.folder, str(name), shown, most)
        if isinstance(found, Diagnostic):
            return found
        record = decode_record(found.data, self._binding(name))
        if record is None or record.transaction != name.transaction or record.known is not is_own:
            return Diagnostic(
                code=Code.JOURNAL_CORRUPT,
                message=f"the journal record `{shown}` is damaged, and nothing was done about it",
                hint="check what changed last, then run `mdplan recover --keep-current` to keep it",
                file=shown,
            )
        return record

    def write_new(self, record: JournalRecord, *, syncs: bool) -> RecordName:
        """Write `record` as the newest one; with `syncs` its content is on the disk then."""
        name = RecordName(min(self.newest() + 1, _LAST_SEQUENCE), record.transaction, State.NEW)
        name = replace(name, mark=self._mark(name))
        data, file_name = encode_record(record, self._binding(name)), str(name)
        filesystem = self.root.filesystem
        with storage_errors(self.shown, "writing the journal"):
            descriptor = filesystem.create(self.folder, file_name)
            try:
                filesystem.write(descriptor, data)
                if syncs:
                    filesystem.sync(descriptor)
            except BaseException:
                filesystem.release(descriptor)
                raise
            filesystem.close(descriptor)
        self._listed()[State.NEW].add(file_name)
        self._newest = name.sequence
        self._is_own[name.sequence, name.transaction, name.mark] = True
        return name

    def advance(self, name: RecordName, state: State) -> RecordName:
        """Give the transaction another state; its new name."""
        moved = replace(name, state=state)
        old, new = str(name), str(moved)
        with storage_errors(self.shown, "writing the journal"):
            self.root.filesystem.rename(self.folder, old, new)
        self._listed()[name.state].discard(old)
        self._listed()[state].add(new)
        return moved

    def contains(self, name: RecordName) -> bool:
        """Whether the record is there in that state."""
        with storage_errors(self.shown, "reading the journal"):
            try:
                self.root.filesystem.status_of(self.folder, str(name))
            except FileNotFoundError:
                return False
        return True

    def remove(self, name: RecordName) -> None:
        """Forget a transaction; nothing happens when it is forgotten already."""
        with storage_errors(self.shown, "cleaning up the journal"), suppress(FileNotFoundError):
            self.root.filesystem.unlink(self.folder, str(name))
        self._listed()[name.state].discard(str(name))
        self._newest = None

    def sync(self) -> bool:
        """Wait until the states of all transactions are on the disk; False where folders cannot be synced."""
        with storage_errors(self.shown, "syncing the journal"):
            return self.root.filesystem.sync_directory(self.folder)

    def _sorted(self, states: tuple[State, ...]) -> Iterator[RecordName]:
        """The names of all records in one of `states` (any, when there is none), the largest number first."""
        listed = self._listed()
        found = chain.from_iterable(listed[state] for state in states or State)
        by_sequence = sorted(found, key=_age, reverse=True)
        return (parsed for name in by_sequence if (parsed := RecordName.parse(name)) is not None)

    def _mark(self, name: RecordName) -> str:
        """The mark that this user's key gives the name; empty without a key."""
        text = f"record name\0{name.transaction}\0{name.sequence}"
        return seal(self.root.path, text.encode("ascii"))[:_MARK_DIGITS]

    def _check_seal(self, name: RecordName) -> bool:
        """Whether this user's key sealed the record, read from the disk. Raises `OSError`."""
        disk = self.root.filesystem
        descriptor = disk.open_file(self.folder, str(name))
        try:
            status = disk.status(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_RECORD_BYTES:
                return False
            head = read_head(disk.read(descriptor, MAX_HEAD_BYTES))
            return head is not None and head.is_own(name.transaction, self._binding(name))
        finally:
            disk.release(descriptor)

    def _is_own_after_settling(self, name: RecordName) -> bool:
        with suppress(OSError):
            return self._check_seal(replace(name, state=State.KEPT))
        return False

    def _binding(self, name: RecordName) -> RecordBinding:
        if self._inode is None:
            with storage_errors(self.shown, "reading the journal"):
                self._inode = self.root.filesystem.status(self.folder).st_ino
        return RecordBinding(self.root.path, self._inode, name.sequence)

    def _listed(self) -> dict[State, set[str]]:
        """The names of all files that end in a state, by that."""
        if self._names is None:
            with storage_errors(self.shown, "reading the journal"):
                names = self.root.filesystem.list_files(self.folder)
            found: dict[State, set[str]] = {state: set() for state in State}
            # Nearly all are complete, and those take the short way.
            found[State.KEPT] = {name for name in names if name.endswith(_KEPT)}
            for name in set(names) - found[State.KEPT]:
                state = _BY_ENDING.get(name[name.rfind(".") :])
                if state is not None:
                    found[state].add(name)
            self._names = found
        return self._names


def _age(name: str) -> tuple[int, str]:
    """A key by which the names of records sort by their sequences: longer numbers are larger ones."""
    return name.find("-"), name


# --- One record of the journal: the changes of a transaction, in a form that proves who wrote it.
#
# Three lines: a head; the changes; the note of the engine. The head names the size and the SHA-256 of the
# two
# other lines, and the user's key seals it. So a short read of the head shows whether this user wrote the
# record, however large the rest is. Recovery reads the changes without decoding the note, which contains
# the
# plan.

MAX_RECORD_BYTES: Final = 1 << 28

# No one vouches for a record of someone else, so no more than this is ever decoded of one.
MAX_FOREIGN_BYTES: Final = 1 << 16
MAX_HEAD_BYTES: Final = 1 << 11
TRANSACTION: Final = lazy_pattern(r"[0-9a-f]{8,32}")
_FORMAT: Final = 2
_SHA256: Final = lazy_pattern(r"[0-9a-f]{64}")
_MAX_SIZE: Final = 1 << 50

# Separates what is sealed here from the decisions on plans.
_KIND: Final = "record"


@dataclass(frozen=True, slots=True)
class RecordHead:
    """The first line of a record: the length of the line in bytes, and the size and digest of the rest."""

    line_bytes: int
    body_bytes: int
    sha256: str
    seals: tuple[str, ...]

    def is_own(self, transaction: str, binding: RecordBinding) -> bool:
        """Whether this user's key sealed this head for that place and transaction."""
        sealed = _sealed_head(transaction, binding.sequence, self.body_bytes, self.sha256)
        return any(
            is_sealed(place, sealed, given)
            for place, given in zip(_places(binding), self.seals, strict=True)
            if given
        )


def read_head(data: bytes) -> RecordHead | None:
    """The head in `data`, the first `MAX_HEAD_BYTES` of a record or all of it; None if there is none."""
    line, end, _ = data[:MAX_HEAD_BYTES].partition(b"\n")
    head = _decoded(line) if end else None
    if not isinstance(head, dict):
        return None
    digest, size = head.get("sha256"), _size(head.get("bytes"))
    seals = _texts([head.get("seal"), head.get("folderSeal")])
    if head.get("format") != _FORMAT or not (isinstance(digest, str) and _SHA256.fullmatch(digest)):
        return None
    return None if size is None or seals is None else RecordHead(len(line), size, digest, seals)


def encode_note(note: Mapping[str, Any]) -> bytes:
    """The bytes of `note` in a record."""
    import json

    return json.dumps(note, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def encode_record(record: JournalRecord, binding: RecordBinding) -> bytes:
    """The bytes of `record`, sealed for the place in `binding`."""
    changes = {
        "transaction": record.transaction,
        "entries": [
            {
                "path": entry.path,
                "base": entry.base,
                "baseBytes": entry.base_bytes,
                "result": entry.result,
                "resultBytes": entry.result_bytes,
            }
            for entry in record.entries
        ],
        "madeFolders": record.made_folders,
        "removedFolders": record.removed_folders,
    }
    # A note may be large: it is put together with the rest once.
    body = (encode_note(changes), b"\n", record.note, b"\n")
    digest = hashlib.sha256()
    for part in body:
        digest.update(part)
    size = sum(map(len, body))
    sealed = _sealed_head(record.transaction, binding.sequence, size, digest.hexdigest())
    seals = [seal(place, sealed) for place in _places(binding)]
    head = {
        "format": _FORMAT,
        "bytes": size,
        "sha256": digest.hexdigest(),
        "seal": seals[0],
        "folderSeal": seals[1],
    }
    return b"".join((encode_note(head), b"\n", *body))


def decode_record(data: bytes, binding: RecordBinding) -> JournalRecord | None:
    """The record in `data`; None when it is torn, tampered with, or was never one.

    Paths in it are texts: whoever uses them checks them like those of a caller.
    """
    head = read_head(data)
    if head is None:
        return None
    body = data[head.line_bytes + 1 :]
    if head.body_bytes != len(body) or head.sha256 != hashlib.sha256(body).hexdigest():
        return None
    changes_line, _, note = body.partition(b"\n")
    changes = _decoded(changes_line)
    if not isinstance(changes, dict):
        return None
    transaction, entries = changes.get("transaction"), changes.get("entries")
    made, removed = _texts(changes.get("madeFolders")), _texts(changes.get("removedFolders"))
    if not (isinstance(transaction, str) and TRANSACTION.fullmatch(transaction)) or not isinstance(
        entries, list
    ):
        return None
    checked = [_entry(entry) for entry in entries]
    if made is None or removed is None or None in checked:
        return None
    return JournalRecord(
        transaction=transaction,
        entries=tuple(entry for entry in checked if entry is not None),
        made_folders=made,
        removed_folders=removed,
        note=note.removesuffix(b"\n"),
        known=head.is_own(transaction, binding),
    )


def _places(binding: RecordBinding) -> tuple[str, str]:
    """What the two seals are bound to; no absolute path begins like the second."""
    return binding.root_path, f"inode {binding.folder}"


def _sealed_head(transaction: str, sequence: int, size: int, digest: str) -> bytes:
    return f"{_KIND}\0{transaction}\0{sequence}\0{size}\0{digest}".encode("ascii")


def _entry(found: object) -> JournalEntry | None:
    if not isinstance(found, dict):
        return None
    path, base, result = found.get("path"), found.get("base"), found.get("result")
    base_bytes, result_bytes = _size(found.get("baseBytes")), _size(found.get("resultBytes"))
    if not isinstance(path, str) or not (_is_digest(base) and _is_digest(result)) or base == result:
        return None
    if base_bytes is None or result_bytes is None:
        return None
    return JournalEntry(path=path, base=base, base_bytes=base_bytes, result=result, result_bytes=result_bytes)


def _is_digest(found: object) -> bool:
    return found is None or (isinstance(found, str) and _SHA256.fullmatch(found) is not None)


def _size(found: object) -> int | None:
    return found if type(found) is int and 0 <= found <= _MAX_SIZE else None


def _texts(found: object) -> tuple[str, ...] | None:
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        return None
    return tuple(found)


def _decoded(line: bytes) -> object:
    """The JSON value in `line`; None when there is none, however it was broken."""
    import json

    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


# --- Contents of files by their SHA-256, in the state folder: what transactions displaced or took away.

_IMAGE: Final = lazy_pattern(r"[0-9a-f]{64}")
_UNFINISHED_COPY: Final = "copy.new"


class BlobStore:
    """The images in the open folder `folder` of the disk. Methods raise `OSError`."""

    def __init__(self, filesystem: FileSystem, folder: int, *, lasting: bool) -> None:
        """Copies, where there have to be some, are synced when they are to be `lasting`."""
        self.folder = folder
        self._filesystem = filesystem
        self._lasting = lasting

    def take(self, folder: int, name: str, digest: str, status: os.stat_result | None = None) -> None:
        """Move the file `name`, whose content has that digest, out of the open `folder` and keep it.

        A file that has other names stays where they are. From another device it is copied. `status` is that
        of the file, where it was seen just before.
        """
        disk = self._filesystem
        status = status or disk.status_of(folder, name)
        if status.st_nlink > 1:
            disk.unlink(folder, name)
            return
        try:
            disk.move(folder, name, self.folder, digest)
        except OSError as error:
            if error.errno == errno.EISDIR:
                # No commit makes a folder there: it came with the root.
                disk.rename(self.folder, digest, f"foreign-{os.urandom(8).hex()}")
                disk.move(folder, name, self.folder, digest)
                return
            if error.errno != errno.EXDEV:
                raise
            self._copy(folder, name, digest)
            disk.unlink(folder, name)

    def sync(self, folder: int, name: str) -> None:
        """Wait until the content of the file `name` in the open `folder` is on the disk."""
        descriptor = self._filesystem.open_file(folder, name)
        try:
            self._filesystem.sync(descriptor)
        finally:
            self._filesystem.release(descriptor)

    def status(self, digest: str) -> os.stat_result | None:
        """The status of an image; None when there is none. What is in it is examined when it is read."""
        try:
            return self._filesystem.status_of(self.folder, digest)
        except FileNotFoundError:
            return None

    def sizes(self) -> dict[str, int]:
        """The digests of all images, and their sizes in bytes."""
        found: dict[str, int] = {}
        for entry in self._filesystem.list(self.folder):
            if entry.is_file and _IMAGE.fullmatch(entry.name):
                found[entry.name] = self._filesystem.status_of(self.folder, entry.name).st_size
        return found

    def forget(self, digest: str) -> None:
        """Remove an image."""
        self._filesystem.unlink(self.folder, digest)

    def _copy(self, folder: int, name: str, digest: str) -> None:
        disk = self._filesystem
        with suppress(FileNotFoundError):
            disk.unlink(self.folder, _UNFINISHED_COPY)
        source = disk.open_file(folder, name)
        try:
            data = disk.read(source, MAX_IMAGE_BYTES)
        finally:
            disk.release(source)
        descriptor = disk.create(self.folder, _UNFINISHED_COPY)
        try:
            disk.write(descriptor, data)
            if self._lasting:
                disk.sync(descriptor)
        finally:
            disk.close(descriptor)
        disk.rename(self.folder, _UNFINISHED_COPY, digest)
        if content_of(disk, self.folder, digest, MAX_IMAGE_BYTES) != digest:
            raise OSError(errno.EIO, "the copy is not like the file")
