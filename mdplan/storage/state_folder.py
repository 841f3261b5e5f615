"""The state folder `.mdplan` of a root: created, checked before use, and synced to disk.

It lies in the root, so a stranger may have put it there: it must be the user's own, writable for no one else,
and no link leads into it or out of it.
"""

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

from mdplan.diagnostics import Code
from mdplan.storage.filesystem import StorageRefused, storage_errors
from mdplan.storage.root import STATE_FOLDER, Root
from mdplan.text.lazy_pattern import lazy_pattern

LOCK_FILE: Final = "lock"
JOURNAL_FOLDER: Final = "tx"
HISTORY_FOLDER: Final = "history"

# It is there once the names of the state folder and of the folders in it are on the disk. Without it they
# are synced again: the process that made them may have been killed before it came to that.
_LASTING: Final = "format"
_IGNORING: Final = ".gitignore"
NO_LOCK_FILE: Final = "contains a lock that is a link or no file"
_FORMAT: Final = b"1\n"


class State(StrEnum):
    """How far a transaction is."""

    # The record is being written; nothing else was done yet.
    NEW = "new"
    # Perhaps staged, perhaps visible, in part or whole; has to be undone, unless its process is still at it.
    PENDING = "pending"
    # Committed; displaced files may still lie next to the targets.
    DONE = "done"
    # Committed and cleaned up, for good.
    KEPT = "kept"
    # Undone by recovery; what it had written is kept.
    UNDONE = "undone"
    # Undone but for files that someone changed on top of it; waits for a person.
    CONFLICT = "conflict"
    # No readable record; a person let it be.
    BROKEN = "broken"


_INTERRUPTED: Final = (f".{State.PENDING}", f".{State.CONFLICT}")


@dataclass(frozen=True, slots=True)
class StateFolders:
    """The open folders of the journal and of the before-images; the caller's to release."""

    journal: int
    history: int


def open_state_folder(root: Root) -> int:
    """Open the state folder of `root`, made if it is missing.

    Raises `StorageRefused`: STATE_DIR_UNSAFE, what the making gives.
    """
    filesystem = root.filesystem
    with storage_errors(root.show(STATE_FOLDER), "opening the state folder"):
        state_folder = _open_or_make(root, root.descriptor, STATE_FOLDER)
        try:
            # Version control keeps away from a folder that ignores itself.
            if not _is_there(root, state_folder, _IGNORING):
                _check_before_writing(root, state_folder)
                _write_once(root, state_folder, _IGNORING, b"*\n")
        except BaseException:
            filesystem.release(state_folder)
            raise
    return state_folder


def open_folders(root: Root, state_folder: int) -> StateFolders:
    """Open the folders inside it, made if they are missing. Raises `StorageRefused`."""
    filesystem = root.filesystem
    opened: list[int] = []
    try:
        with storage_errors(root.show(STATE_FOLDER), "opening the state folder"):
            opened.append(_open_or_make(root, state_folder, JOURNAL_FOLDER))
            opened.append(_open_or_make(root, state_folder, HISTORY_FOLDER))
    except BaseException:
        for folder in opened:
            filesystem.release(folder)
        raise
    return StateFolders(*opened)


def open_existing(root: Root, name: str) -> int | None:
    """Open the folder `name` in the state folder, to look into; None when there is none.

    Raises `StorageRefused`: STATE_DIR_UNSAFE, ….
    """
    with storage_errors(root.show(STATE_FOLDER), "opening the state folder"):
        try:
            state_folder = _open_checked(root, root.descriptor, STATE_FOLDER)
        except FileNotFoundError:
            return None
        try:
            return _open_checked(root, state_folder, name)
        except FileNotFoundError:
            return None
        finally:
            root.filesystem.release(state_folder)


def has_journal(root: Root) -> bool:
    """Whether anything was ever committed below `root`. Raises `StorageRefused`: STATE_DIR_UNSAFE."""
    folder = open_existing(root, JOURNAL_FOLDER)
    if folder is None:
        return False
    root.filesystem.release(folder)
    return True


def may_be_interrupted(root: Root) -> bool:
    """Whether the journal of `root` has a record of a transaction that did not end, whoever wrote it.

    Raises `StorageRefused`.
    """
    folder = open_existing(root, JOURNAL_FOLDER)
    if folder is None:
        return False
    try:
        with storage_errors(root.show(STATE_FOLDER), "reading the journal"):
            names = root.filesystem.list_files(folder)
    finally:
        root.filesystem.release(folder)
    return any(name.endswith(_INTERRUPTED) for name in names)


def make_lasting(root: Root, state_folder: int) -> bool:
    """Wait until the state folder and those in it are on the disk; False where folders cannot be synced.

    A journal in a folder that the next loss of power takes away undoes nothing. Raises `StorageRefused`.
    """
    filesystem = root.filesystem
    with storage_errors(root.show(STATE_FOLDER), "syncing the state folder"):
        if _is_there(root, state_folder, _LASTING):
            return True
        synced = filesystem.sync_directory(state_folder) and filesystem.sync_directory(root.descriptor)
        _write_once(root, state_folder, _LASTING, _FORMAT)
        return synced


def _open_or_make(root: Root, directory: int, name: str) -> int:
    """Open the folder `name` as `_open_checked` does, made if it is missing, which it is once."""
    with suppress(FileNotFoundError):
        return _open_checked(root, directory, name)
    with suppress(FileExistsError):
        root.filesystem.make_directory(directory, name)
    return _open_checked(root, directory, name)


def _open_checked(root: Root, directory: int, name: str) -> int:
    """Open the folder `name`; `FileNotFoundError` when there is none, STATE_DIR_UNSAFE when it is a trap."""
    try:
        folder = root.filesystem.open_directory(directory, name)
    except (NotADirectoryError, PermissionError) as error:
        raise unsafe(root, "is not a folder that you can open") from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise unsafe(root, "is a link") from error
        raise
    try:
        _check_owner(root, root.filesystem.status(folder))
    except BaseException:
        root.filesystem.release(folder)
        raise
    return folder


def _check_owner(root: Root, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise unsafe(root, "belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise unsafe(root, "can be written by others")


def check_lock_file(root: Root, status: os.stat_result) -> None:
    """Refuse a lock of that `status`: one with two names is somebody's, one without any locks nothing."""
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        raise unsafe(root, NO_LOCK_FILE)


def _check_before_writing(root: Root, state_folder: int) -> None:
    """A folder that is a trap stays as it is. Its lock is checked again when it is taken."""
    with suppress(FileNotFoundError):
        check_lock_file(root, root.filesystem.status_of(state_folder, LOCK_FILE))


def _is_there(root: Root, folder: int, name: str) -> bool:
    with suppress(FileNotFoundError):
        root.filesystem.status_of(folder, name)
        return True
    return False


def _write_once(root: Root, folder: int, name: str, data: bytes) -> None:
    """Write the file `name` unless it is there by now."""
    try:
        descriptor = root.filesystem.create(folder, name)
    except FileExistsError:
        return
    try:
        root.filesystem.write(descriptor, data)
    finally:
        root.filesystem.close(descriptor)


def unsafe(root: Root, reason: str) -> StorageRefused:
    """The refusal of a state folder that is a trap."""
    shown = root.show(STATE_FOLDER)
    return StorageRefused.of(
        Code.STATE_DIR_UNSAFE,
        f"the state folder `{shown}` {reason}",
        "look at it, then remove it or make it a folder of your own with mode 0700",
        file=shown,
    )


# --- The names of the records of the journal, which say how far each transaction is.

_NAME: Final = lazy_pattern(r"(\d{8,15})-([0-9a-f]{8,32})(?:-([0-9a-f]{16}))?\.([a-z]+)")
_STATES: Final = {state.value: state for state in State}


@dataclass(frozen=True, slots=True)
class RecordName:
    """The name of a record's file. The sequence shows in which order transactions began.

    `mark` is the beginning of the user's seal on the name, so that a damaged record is distinguished from a
    foreign one. Records of a user without a key have none.
    """

    sequence: int
    transaction: str
    state: State
    mark: str = ""

    def __str__(self) -> str:
        mark = f"-{self.mark}" if self.mark else ""
        return f"{self.sequence:08d}-{self.transaction}{mark}.{self.state}"

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """The name of a record as `str` writes it; None for any other file."""
        matched = _NAME.fullmatch(name)
        if matched is None or matched[4] not in _STATES:
            return None
        parsed = cls(int(matched[1]), matched[2], State(matched[4]), matched[3] or "")
        return parsed if str(parsed) == name else None
