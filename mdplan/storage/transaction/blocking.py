"""Transactions that stand in the way of the next one: cut off, in conflict, or unreadable."""

from collections.abc import Collection

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.fs.errors import of_error
from mdplan.storage.fs.file_name import visible
from mdplan.storage.fs.folders import Folders
from mdplan.storage.fs.root import Root
from mdplan.storage.journal.journal import Journal, RecordName, State
from mdplan.storage.journal.journal_record import Record
from mdplan.storage.journal.state_folder import JOURNAL_FOLDER, open_existing
from mdplan.storage.transaction.place import place_of
from mdplan.storage.transaction.restore import Way, way_back
from mdplan.storage.transaction.undo import conflict_of


def unsettled(journal: Journal, folders: Folders, paths: Collection[str] | None = None) -> list[Diagnostic]:
    """What stands in the way of a commit to the files `paths` of the journal's root, or to any file.

    Errors: RECOVERY_REQUIRED, RECOVERY_CONFLICT (only for files that are concerned), JOURNAL_CORRUPT.
    Raises `StorageRefused` when the journal cannot be listed.
    """
    problems: list[Diagnostic] = []
    for name in journal.names(State.PENDING, State.CONFLICT):
        record = journal.read(name)
        if isinstance(record, Diagnostic):
            problems.append(record)
        elif name.state is State.PENDING:
            problems.append(cut_off(journal, name, record))
        else:
            problems.extend(_conflicts(folders, record, paths))
    return problems


def unsettled_elsewhere(root: Root) -> Diagnostic | None:
    """What stands in the way of a commit in another root, because it was cut off in `root`.

    Raises `StorageRefused`.
    """
    folder = open_existing(root, JOURNAL_FOLDER)
    if folder is None:
        return None
    try:
        names = Journal(root, folder).names(State.PENDING, State.CONFLICT)
    finally:
        root.filesystem.release(folder)
    if not names:
        return None
    shown = visible(root.given)
    return Diagnostic(
        code=Code.RECOVERY_REQUIRED,
        message=f"a commit in the root `{shown}`, which has files in common with this one, was cut off",
        hint=f"run `mdplan recover --root {shown}`",
    )


def cut_off(journal: Journal, name: RecordName, record: Record) -> Diagnostic:
    """The problem of a transaction that was cut off; of a stranger's one a person has to decide."""
    if record.known:
        message = f"the commit `{name.transaction}` was cut off, and some of its files may be visible"
        hint = "run `mdplan recover`; the next commit does it as well"
    else:
        message = f"`{journal.shown}/{name}` tells of a commit that was cut off and that you did not begin"
        hint = "if this root is yours, run `mdplan recover`; if it came from elsewhere, remove its `.mdplan`"
    return Diagnostic(code=Code.RECOVERY_REQUIRED, message=message, hint=hint)


def _conflicts(folders: Folders, record: Record, paths: Collection[str] | None) -> list[Diagnostic]:
    problems: list[Diagnostic] = []
    for index, entry in enumerate(record.entries):
        if paths is not None and entry.path not in paths:
            continue
        place = place_of(folders, None, record, index)
        if isinstance(place, Diagnostic):
            continue
        try:
            if way_back(entry, place.found(), known=record.known) is Way.CONFLICT:
                problems.append(conflict_of(place.shown))
        except OSError as error:
            problems.append(of_error(error, place.shown, "looking at"))
    return problems
