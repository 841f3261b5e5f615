"""The journal of a root: one file for each transaction, whose suffix is the transaction's state.

A transaction moves from state to state by renaming its record, so each step happens at once or not at all.
The one from `pending` to `done` is the commit point. What is settled stays as the history.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.fs.errors import refusing
from mdplan.storage.fs.regular_file import read_leaf
from mdplan.storage.fs.root import STATE_FOLDER, Root
from mdplan.storage.journal.journal_record import MAX_RECORD_BYTES, Record, decode_record, encode_record
from mdplan.storage.journal.state_folder import JOURNAL_FOLDER

_NAME: Final = re.compile(r"(\d{8,15})-([0-9a-f]{8,32})\.([a-z]+)")
_LAST_SEQUENCE: Final = 10**15 - 1


class State(StrEnum):
    """How far a transaction is."""

    # The record is being written; nothing else was done yet.
    NEW = "new"
    # Perhaps staged, perhaps visible, in part or whole; has to be undone, unless its process is still at it.
    PENDING = "pending"
    # Committed; displaced files may still lie beside the targets.
    DONE = "done"
    # Committed and cleaned up, for good.
    KEPT = "kept"
    # Undone by recovery; what it had written is kept.
    UNDONE = "undone"
    # Undone but for files that somebody changed on top of it; waits for a person.
    CONFLICT = "conflict"
    # No readable record; a person let it be.
    BROKEN = "broken"


_STATES: Final = {state.value: state for state in State}
_BY_ENDING: Final = {f".{state}": state for state in State}
_KEPT: Final = f".{State.KEPT}"
# How many a sequence has at least.
_DIGITS: Final = 8


@dataclass(frozen=True, slots=True)
class RecordName:
    """The name of a record's file. The sequence tells in which order transactions began."""

    sequence: int
    transaction: str
    state: State

    def __str__(self) -> str:
        return f"{self.sequence:08d}-{self.transaction}.{self.state}"


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

    def names(self, *states: State) -> list[RecordName]:
        """The names of all records in one of `states` (in any, when none is given), the oldest first."""
        found = list(self.newest_first(*states))
        found.reverse()
        return found

    def newest_first(self, *states: State) -> Iterator[RecordName]:
        """The same from the other end; a caller that needs but a few pays for those."""
        by_sequence = sorted(self._in(states), key=_age, reverse=True)
        return (parsed for name in by_sequence if (parsed := _parsed(name)) is not None)

    def newest(self) -> int:
        """The sequence of the record that was begun last; 0 when there is none."""
        if self._newest is None:
            names = list(self._in(()))
            # Names with sequences of one length sort as they are; only very long journals have others.
            is_plain = all(name.startswith("-", _DIGITS) for name in names)
            # What sorts last may be no record at all.
            last = _parsed(max(names, key=None if is_plain else _age, default="")) or next(
                self.newest_first(), None
            )
            self._newest = 0 if last is None else last.sequence
        return self._newest

    def count(self, *states: State) -> int:
        """How many files there are that are called as records in one of `states` are."""
        return sum(len(self._listed()[state]) for state in states)

    def read(self, name: RecordName) -> Record | Diagnostic:
        """The record called `name`. Errors: JOURNAL_CORRUPT; those of `read_leaf`."""
        shown = f"{self.shown}/{name}"
        found = read_leaf(self.root.filesystem, self.folder, str(name), shown, MAX_RECORD_BYTES)
        if isinstance(found, Diagnostic):
            return found
        record = decode_record(found.data, self.root.path)
        if record is None or record.transaction != name.transaction:
            return Diagnostic(
                code=Code.JOURNAL_CORRUPT,
                message=f"the journal record `{shown}` is damaged, and nothing was done about it",
                hint="look at the files that changed last, then accept them: `mdplan recover --keep-current`",
                file=shown,
            )
        return record

    def write_new(self, record: Record, *, syncs: bool) -> RecordName:
        """Write `record` as the newest one; with `syncs` its content is on the disk then."""
        name = RecordName(min(self.newest() + 1, _LAST_SEQUENCE), record.transaction, State.NEW)
        data = encode_record(record, self.root.path)
        filesystem = self.root.filesystem
        with refusing(self.shown, "writing the journal"):
            descriptor = filesystem.create(self.folder, str(name))
            try:
                filesystem.write(descriptor, data)
                if syncs:
                    filesystem.sync(descriptor)
            except BaseException:
                filesystem.release(descriptor)
                raise
            filesystem.close(descriptor)
        self._listed()[State.NEW].add(str(name))
        self._newest = name.sequence
        return name

    def advance(self, name: RecordName, state: State) -> RecordName:
        """Give the transaction another state; its new name."""
        moved = replace(name, state=state)
        with refusing(self.shown, "writing the journal"):
            self.root.filesystem.rename(self.folder, str(name), str(moved))
        self._listed()[name.state].discard(str(name))
        self._listed()[state].add(str(moved))
        return moved

    def holds(self, name: RecordName) -> bool:
        """Whether the record is there in that state."""
        with refusing(self.shown, "reading the journal"):
            try:
                self.root.filesystem.status_of(self.folder, str(name))
            except FileNotFoundError:
                return False
        return True

    def remove(self, name: RecordName) -> None:
        """Forget a transaction; nothing happens when it is forgotten already."""
        with refusing(self.shown, "cleaning up the journal"), suppress(FileNotFoundError):
            self.root.filesystem.unlink(self.folder, str(name))
        self._listed()[name.state].discard(str(name))
        self._newest = None

    def sync(self) -> bool:
        """Wait until the states of all transactions are on the disk; False where folders cannot be synced."""
        with refusing(self.shown, "syncing the journal"):
            return self.root.filesystem.sync_directory(self.folder)

    def _in(self, states: tuple[State, ...]) -> Iterator[str]:
        """The files whose names end as those of records in `states` (in any, when there is none) do."""
        listed = self._listed()
        return chain.from_iterable(listed[state] for state in states or State)

    def _listed(self) -> dict[State, set[str]]:
        """The names of all files that end in a state, by that."""
        if self._names is None:
            with refusing(self.shown, "reading the journal"):
                names = self.root.filesystem.list_files(self.folder)
            found: dict[State, set[str]] = {state: set() for state in State}
            # Nearly all are settled, and those take the short way.
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


def _parsed(name: str) -> RecordName | None:
    matched = _NAME.fullmatch(name)
    if matched is None or matched[3] not in _STATES:
        return None
    parsed = RecordName(int(matched[1]), matched[2], State(matched[3]))
    return parsed if str(parsed) == name else None
