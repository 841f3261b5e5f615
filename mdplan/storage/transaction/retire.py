"""When a committed transaction needs no look any more: as soon as its cleaning cannot be lost.

The names next to its targets go without a sync. So its record stays `done`, and is examined again, until a
later commit has synced the same folders for its own sake. No commit waits for the cleaning of its own files.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.storage.journal.journal import Journal, RecordName, State
from mdplan.storage.journal.journal_record import JournalRecord
from mdplan.storage.transaction.place import places_of, touched_folders
from mdplan.storage.transaction.root_state import RootState

# Older ones are so old that they are on the disk.
_MOST_LOOKED_AT: Final = 16
_MOST_WAITING: Final = 8


@dataclass(frozen=True, slots=True)
class UnretiredTransaction:
    """A committed transaction that left nothing beside its targets, and the folders they are in."""

    name: RecordName
    folders: frozenset[str]


def unretired_names(journal: Journal, *, everything: bool = False) -> list[RecordName]:
    """The records of committed transactions that are to be looked at, the oldest first."""
    names = journal.names(State.DONE)
    return names if everything else names[-_MOST_LOOKED_AT:]


def find_unretired(state: RootState) -> list[UnretiredTransaction]:
    """The transactions that can be settled as soon as their folders are synced. Raises `StorageRefused`."""
    waiting: list[UnretiredTransaction] = []
    for name in unretired_names(state.journal):
        if name not in state.clean:
            record = state.journal.read(name)
            if isinstance(record, Diagnostic) or not is_clean(state, record):
                continue
            state.clean[name] = frozenset(touched_folders(record))
        waiting.append(UnretiredTransaction(name, state.clean[name]))
    return waiting


def folders_to_sync(waiting: Iterable[UnretiredTransaction]) -> set[str]:
    """The folders that a commit has to sync beside its own, so that no crowd of transactions waits."""
    many = list(waiting)
    return {folder for each in many for folder in each.folders} if len(many) > _MOST_WAITING else set()


def retire(state: RootState, waiting: Iterable[UnretiredTransaction], synced: set[str]) -> None:
    """Let go of what waits only for folders that are `synced`. Raises `StorageRefused`."""
    for each in waiting:
        if each.folders <= synced:
            state.journal.advance(each.name, State.KEPT)


def is_clean(state: RootState, record: JournalRecord) -> bool:
    """Whether nothing lies next to the files of `record` any more, and no folder that it left empty is there.

    False where that cannot be seen.
    """
    places, problems = places_of(state.folders, None, record)
    try:
        return (
            not problems
            and all(place.is_clean() for place in places)
            and not any(map(state.folders.is_empty, record.removed_folders))
        )
    except OSError:
        return False
