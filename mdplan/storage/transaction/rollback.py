"""Undo a transaction that is not committed: the same steps in the failing process and after a crash."""

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

from mdplan.diagnostics import Code, Diagnostic, Problems, Severity
from mdplan.storage.fs.errors import StorageRefused, of_error
from mdplan.storage.fs.regular_file import UNFINISHED, is_digest
from mdplan.storage.journal.journal_record import JournalRecord
from mdplan.storage.journal.record_name import RecordName, State
from mdplan.storage.transaction.file_place import StagedPlace, places_of, temporary_names, touched_folders
from mdplan.storage.transaction.restore import Keep, restore
from mdplan.storage.transaction.root_state import RootState


@dataclass(frozen=True, slots=True)
class RollbackResult:
    """The paths of the files that were put back, and what a person has to know or do."""

    files: tuple[str, ...]
    problems: Problems


def roll_back(
    state: RootState,
    name: RecordName,
    record: JournalRecord,
    *,
    keeps: bool,
    keep: Keep | None = None,
    visible: bool = True,
) -> RollbackResult:
    """Put back the files of the transaction whose record is called `name`, then close that record.

    With `keeps` what it had written stays in the history as a transaction that was rolled back. `keep`
    decides about files that someone changed on top of it; undecided they are RECOVERY_CONFLICT and wait.
    Nothing has to be put back where it is certain that nothing was `visible` yet. Where something is not
    possible, the record stays as it is: RECOVERY_REQUIRED. Does not raise.
    """
    try:
        places, unopened = places_of(state.folders, state.exchange, record)
        if unopened:
            return RollbackResult((), tuple(_required(problem) for problem in unopened))
        went = restore(places if visible else (), keep)
        files = tuple(place.entry.path for place in went.restored)
        # The old content has its name back for good before its other names go.
        state.sync(lambda: state.folders.sync(touched_folders(record)))
        if went.problems:
            return RollbackResult(files, went.problems)
        settled = [place for place in places if place not in went.conflicts]
        warnings = _clean_up(state, record, settled, keeps=keeps) if visible else _unstage(state, settled)
        if any(problem.severity is Severity.ERROR for problem in warnings):
            return RollbackResult(files, warnings)
        state.folders.remove_empty(record.made_folders)
        state.sync(lambda: state.folders.sync(touched_folders(record)))
        _close(state, name, keeps=keeps, conflict=bool(went.conflicts))
    except OSError as error:
        problem = of_error(error, state.journal.shown, "undoing a transaction of")
        return RollbackResult((), (_required(problem),))
    except StorageRefused as refused:
        return RollbackResult((), tuple(_required(problem) for problem in refused.problems))
    return RollbackResult(files, (*(conflict_of(place.shown) for place in went.conflicts), *warnings))


def conflict_of(shown: str) -> Diagnostic:
    """The problem of a file that somebody changed on top of a transaction that was cut off."""
    return Diagnostic(
        code=Code.RECOVERY_CONFLICT,
        message=f"`{shown}` was changed by another program after an interrupted commit had written it",
        hint="look at it, then run `mdplan recover --keep-current` or `mdplan recover --restore-base`",
        file=shown,
    )


def _unstage(state: RootState, places: Iterable[StagedPlace]) -> Problems:
    """Remove what was staged; nothing has to be examined, since nothing else can have those names."""
    problems: list[Diagnostic] = []
    for place in places:
        for name in (place.temporary, place.aside):
            try:
                with suppress(FileNotFoundError):
                    state.root.filesystem.unlink(place.folder, name)
            except OSError as error:
                problems.append(_required(of_error(error, place.shown, "cleaning up the temporary file of")))
    return tuple(problems)


def _clean_up(
    state: RootState, record: JournalRecord, places: Iterable[StagedPlace], *, keeps: bool
) -> Problems:
    """Take away what lies next to the targets; a problem for each name where that is not possible."""
    problems: list[Diagnostic] = []
    for place in places:
        for name in (place.temporary, place.aside):
            try:
                problem = _take(state, place, name, keeps=keeps)
            except OSError as error:
                problem = _required(of_error(error, place.shown, "cleaning up the temporary file of"))
            if problem is not None:
                problems.append(problem)
        for name in temporary_names(record.transaction, len(record.entries)):
            with suppress(OSError):
                state.root.filesystem.unlink(place.folder, name)
    return tuple(problems)


def _take(state: RootState, place: StagedPlace, name: str, *, keeps: bool) -> Diagnostic | None:
    """Remove one name next to a target. Content that is in no plan and has no other name is always kept."""
    content = place.whole_content(name)
    if content is None:
        return None
    planned = content in (place.entry.base, place.entry.result)
    if is_digest(content) and (keeps or not planned):
        if state.syncs:
            # It may have been interrupted before its own sync.
            state.images.sync(place.folder, name)
        state.images.take(place.folder, name, content)
    elif planned or content == UNFINISHED:
        state.root.filesystem.unlink(place.folder, name)
    else:
        # Someone's folder or link: not ours to throw away, and nothing for the history.
        error = OSError(errno.EEXIST, os.strerror(errno.EEXIST))
        return kept_problem(of_error(error, place.shown, "cleaning up the temporary file of"), name)
    return None


def kept_problem(problem: Diagnostic, name: str) -> Diagnostic:
    """The warning for a file that could not be taken away."""
    hint = f"look at `{name}` in its folder, then remove it"
    return replace(problem, hint=hint, severity=Severity.WARNING)


def _close(state: RootState, name: RecordName, *, keeps: bool, conflict: bool) -> None:
    if conflict:
        state.journal.advance(name, State.CONFLICT)
    elif keeps:
        state.journal.advance(name, State.UNDONE)
    else:
        for begun in (State.PENDING, State.NEW):
            state.journal.remove(replace(name, state=begun))
    state.sync(state.journal.sync)


def _required(problem: Diagnostic) -> Diagnostic:
    hint = f"{problem.hint}; then run `mdplan recover`" if problem.hint else "run `mdplan recover`"
    return replace(problem, code=Code.RECOVERY_REQUIRED, hint=hint, severity=Severity.ERROR)
