"""After the commit point: the displaced files go into the history. Whatever fails here is a warning."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from mdplan.diagnostics import Code, Diagnostic, Problems, Severity
from mdplan.storage.fs.errors import StorageRefused, of_error
from mdplan.storage.fs.regular_file import is_digest
from mdplan.storage.journal.journal_record import JournalRecord
from mdplan.storage.transaction.place import StagedPlace, places_of, touched_folders
from mdplan.storage.transaction.root_state import RootState
from mdplan.storage.transaction.undo import kept_problem


@dataclass(frozen=True, slots=True)
class CleanupResult:
    """What a cleaning did: whether it found anything, and whether the history has all that was displaced."""

    something: bool
    complete: bool
    warnings: Problems


def clean_up(state: RootState, record: JournalRecord) -> CleanupResult:
    """Move what `record`, which is committed, displaced into the history; it may be done more than once."""
    places, problems = places_of(state.folders, state.exchange, record)
    return _clean(state, record, [(place, (place.temporary, place.aside)) for place in places], problems)


def clean_up_after(state: RootState, record: JournalRecord, places: Iterable[StagedPlace]) -> CleanupResult:
    """The same right after the commit of `record`, whose `places` are known, and what each of them has."""
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
        hint="open the file anew in that program, and write it again there",
        file=place.shown,
    )
