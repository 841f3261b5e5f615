"""After the commit point: displaced files go into the history, and then the record is retired.

A failure here is a warning. Removing the names next to the targets is not synced. So the record stays `done`,
and is examined again, until a later commit has synced the same folders. No commit waits for its own cleanup.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from mdplan.diagnostics import Code, Diagnostic, Problems, Severity
from mdplan.storage.fs.errors import StorageRefused, of_error
from mdplan.storage.fs.file_name import is_temporary_name
from mdplan.storage.fs.regular_file import is_digest
from mdplan.storage.fs.root import STATE_FOLDER, Root
from mdplan.storage.journal.journal import Journal
from mdplan.storage.journal.journal_record import JournalRecord
from mdplan.storage.journal.record_name import RecordName, State
from mdplan.storage.transaction.file_place import StagedPlace, places_of, touched_folders
from mdplan.storage.transaction.rollback import kept_problem
from mdplan.storage.transaction.root_state import RootState

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


def clean_up(state: RootState, record: JournalRecord) -> CleanupResult:
    """Move what `record`, which is committed, displaced into the history; it may be done more than once."""
    places, problems = places_of(state.folders, state.exchange, record)
    return _clean(state, record, [(place, (place.temporary, place.aside)) for place in places], problems)


def clean_up_after(state: RootState, record: JournalRecord, places: Iterable[StagedPlace]) -> CleanupResult:
    """`clean_up` right after the commit of `record`, when its `places` and their contents are known."""
    left = [(place, (place.displaced,)) for place in places if place.entry.base is not None]
    return _clean(state, record, left, [])


def _clean(
    state: RootState,
    record: JournalRecord,
    left: Iterable[tuple[StagedPlace, tuple[str, ...]]],
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
            state.sync(lambda: state.folders.sync(touched_folders(record)))
            state.folders.remove_empty(record.removed_folders)
        except StorageRefused as refused:
            warnings += refused.problems
    return CleanupResult(
        something, complete, tuple(replace(each, severity=Severity.WARNING) for each in warnings)
    )


def _changed(place: StagedPlace, name: str, *, kept: bool) -> Diagnostic:
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
    """The folders that a commit has to sync next to its own, so that no crowd of transactions waits."""
    many = list(waiting)
    return {folder for each in many for folder in each.folders} if len(many) > _MOST_UNRETIRED else set()


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
