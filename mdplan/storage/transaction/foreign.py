"""Interrupted transactions that this user did not begin, for a person to decide about.

Someone else wrote their records. So nothing here changes a file or hashes one: a record could name the
largest file of the root many times.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.storage.fs.folders import Folders
from mdplan.storage.fs.root import Root
from mdplan.storage.journal.journal import Journal
from mdplan.storage.journal.journal_record import JournalRecord
from mdplan.storage.journal.record_name import State
from mdplan.storage.journal.state_folder import JOURNAL_FOLDER, open_existing
from mdplan.storage.transaction.file_place import StagedPlace, place_of

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
    folder = open_existing(root, JOURNAL_FOLDER)
    if folder is None:
        return ()
    folders = Folders(root)
    try:
        journal = Journal(root, folder)
        names = journal.foreign(State.PENDING, State.CONFLICT)[:MAX_TRANSACTIONS]
        records = (journal.read(name) for name in names)
        found = (_described(folders, record) for record in records if isinstance(record, JournalRecord))
        return tuple(commit for commit in found if commit is not None)
    finally:
        folders.close()
        root.filesystem.release(folder)


def foreign_transactions(root: Root) -> tuple[str, ...]:
    """The IDs in the names of all foreign records of `root`, complete or not; no record is decoded.

    Raises `StorageRefused`.
    """
    folder = open_existing(root, JOURNAL_FOLDER)
    if folder is None:
        return ()
    try:
        names = Journal(root, folder).foreign()
    finally:
        root.filesystem.release(folder)
    return tuple(dict.fromkeys(name.transaction for name in names))


def _described(folders: Folders, record: JournalRecord) -> ForeignTransactionState | None:
    files: list[ForeignFileState] = []
    for index, entry in enumerate(record.entries[:MAX_FILES]):
        place = place_of(folders, None, record, index)
        if isinstance(place, Diagnostic):
            # No one can undo a record that names a file out of reach.
            return None
        action = _action(place)
        if action:
            files.append(ForeignFileState(entry.path, action))
    return ForeignTransactionState(record.transaction, tuple(files))


def _action(place: StagedPlace) -> str:
    """What an undo could do to the file; empty for nothing."""
    there = [_exists(place, name) for name in (place.leaf, place.temporary, place.aside)]
    if place.entry.base is None:
        return "remove" if there[0] else ""
    if place.entry.result is None:
        return "bring back" if there[2] and not there[0] else ""
    return "put back the old content of" if there[1] or there[2] else ""


def _exists(place: StagedPlace, name: str) -> bool:
    with suppress(OSError):
        place.folders.root.filesystem.status_of(place.folder, name)
        return True
    return False
