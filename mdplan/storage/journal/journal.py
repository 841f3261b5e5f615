"""The journal of a root: one file for each transaction, whose suffix is the transaction's state.

A transaction moves from state to state by renaming its record, so each step happens at once or not at all.
The one from `pending` to `done` is the commit point. What is complete stays as the history.

A record that this user's key did not seal is foreign: it may have come with a cloned repository. It is listed
only where a caller asks for foreign records, and it has no part in the order of the others.
"""

import errno
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.fs.errors import storage_errors
from mdplan.storage.fs.regular_file import read_regular_file
from mdplan.storage.fs.root import STATE_FOLDER, Root
from mdplan.storage.journal.journal_record import (
    MAX_FOREIGN_BYTES,
    MAX_HEAD_BYTES,
    MAX_RECORD_BYTES,
    JournalRecord,
    RecordBinding,
    decode_record,
    encode_record,
    read_head,
)
from mdplan.storage.journal.record_name import RecordName, State
from mdplan.storage.journal.state_folder import JOURNAL_FOLDER
from mdplan.storage.user.user_state import seal

_LAST_SEQUENCE: Final = 10**15 - 1


_BY_ENDING: Final = {f".{state}": state for state in State}
_KEPT: Final = f".{State.KEPT}"
_MARK_DIGITS: Final = 16
# Why a file cannot be opened that mdplan did not write: no permission, a link, a device.
_NOT_OURS: Final = frozenset({errno.EACCES, errno.ELOOP, errno.ENXIO})


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

    def newest_first(self, *states: State) -> Iterator[RecordName]:
        """The names of this user's records, newest first, as a lazy iterator."""
        return filter(self.is_own, self._sorted(states))

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
