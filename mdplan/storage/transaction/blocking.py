"""Transactions that block the next one: interrupted, in conflict, or unreadable.

Foreign records block nothing. Where the user has no key, no record can be told from a foreign one, and then
all of them block.
"""

from collections.abc import Collection

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.fs.errors import of_error
from mdplan.storage.fs.file_name import visible
from mdplan.storage.fs.folders import Folders
from mdplan.storage.fs.root import Root
from mdplan.storage.journal.journal import Journal
from mdplan.storage.journal.journal_record import JournalRecord
from mdplan.storage.journal.record_name import RecordName, State
from mdplan.storage.journal.state_folder import JOURNAL_FOLDER, open_existing
from mdplan.storage.transaction.file_place import place_of
from mdplan.storage.transaction.restore import RestoreAction, plan_restore
from mdplan.storage.transaction.rollback import conflict_of
from mdplan.storage.user.user_state import has_key


def blocking_transactions(
    journal: Journal, folders: Folders, paths: Collection[str] | None = None
) -> list[Diagnostic]:
    """What is in the way of a commit to the files `paths` of the journal's root, or to any file.

    Errors: RECOVERY_REQUIRED, RECOVERY_CONFLICT (only for files that are concerned), JOURNAL_CORRUPT.
    Raises `StorageRefused` when the journal cannot be listed.
    """
    problems: list[Diagnostic] = []
    for name in blocking_names(journal):
        record = journal.read(name)
        if isinstance(record, Diagnostic):
            problems.append(record)
        elif name.state is State.PENDING or not record.known:
            problems.append(interrupted_problem(journal, name, record))
        else:
            problems.extend(_conflicts(folders, record, paths))
    return problems


def blocking_names(journal: Journal) -> list[RecordName]:
    """The records of transactions that can block a commit. Raises `StorageRefused`."""
    names = journal.names(State.PENDING, State.CONFLICT)
    return names if names or has_key() else journal.foreign(State.PENDING, State.CONFLICT)


def blocking_transactions_elsewhere(root: Root) -> Diagnostic | None:
    """What is in the way of a commit in another root, because it was interrupted in `root`.

    Raises `StorageRefused`.
    """
    folder = open_existing(root, JOURNAL_FOLDER)
    if folder is None:
        return None
    try:
        names = blocking_names(Journal(root, folder))
    finally:
        root.filesystem.release(folder)
    if not names:
        return None
    shown = visible(root.given)
    return Diagnostic(
        code=Code.RECOVERY_REQUIRED,
        message=f"a commit in the root `{shown}`, which has files in common with this one, was interrupted",
        hint=f"run `mdplan recover --root {shown}`",
    )


def interrupted_problem(journal: Journal, name: RecordName, record: JournalRecord) -> Diagnostic:
    """The problem of a transaction that was interrupted."""
    if record.known:
        message = (
            f"the transaction `{name.transaction}` was interrupted, and some of its files may have changed"
        )
        hint = "run `mdplan recover`; the next commit does it as well"
    else:
        message = f"`{journal.shown}/{name}` is an interrupted commit, and mdplan has no key to check whose"
        hint = (
            "make the user's state directory writable; if the commit was yours, run "
            "`mdplan recover --foreign`, else remove `.mdplan`"
        )
    return Diagnostic(code=Code.RECOVERY_REQUIRED, message=message, hint=hint)


def _conflicts(folders: Folders, record: JournalRecord, paths: Collection[str] | None) -> list[Diagnostic]:
    problems: list[Diagnostic] = []
    for index, entry in enumerate(record.entries):
        if paths is not None and entry.path not in paths:
            continue
        place = place_of(folders, None, record, index)
        if isinstance(place, Diagnostic):
            continue
        try:
            if plan_restore(entry, place.found()) is RestoreAction.CONFLICT:
                problems.append(conflict_of(place.shown))
        except OSError as error:
            problems.append(of_error(error, place.shown, "looking at"))
    return problems
