"""One writer per root: a lock between threads, then one between processes.

The state folder that holds the lock lies in the root, so a stranger may have put it there: it is looked at
before anything in it is used, and it is never written through a link.
"""

import errno
import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.file_name import visible
from mdplan.storage.refusal import StorageRefused, of_error, refusing
from mdplan.storage.root import STATE_FOLDER, Root

if TYPE_CHECKING:
    from filelock import BaseFileLock

DEFAULT_TIMEOUT: Final = 10.0
_LOCK_FILE: Final = "lock"
_POLL_SECONDS: Final = 0.01
_NO_LOCKS: Final = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL})

# By device and inode of the state folder: two roots may be one folder under two names.
_thread_locks: Final[dict[tuple[int, int], threading.Lock]] = {}
_thread_locks_guard: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class RootLock:
    """The proof that this thread is the only one of mdplan that writes below `root`.

    `state_folder` is the open folder `.mdplan`, where a journal has its place. Good inside the `with` block.
    """

    root: Root
    state_folder: int


@contextmanager
def locked(root: Root, timeout: float = DEFAULT_TIMEOUT) -> Iterator[RootLock]:
    """Hold the lock of `root` through the block, waiting for it up to `timeout` seconds.

    Raises `StorageRefused`: LOCK_TIMEOUT, LOCK_UNSUPPORTED, STATE_DIR_UNSAFE (the state folder or the lock is
    a link, another user's, or writable for others), and what the making of the folder gives.
    """
    deadline = time.monotonic() + timeout
    filesystem = root.filesystem
    with refusing(root.show(STATE_FOLDER), "opening the state folder"):
        state_folder = _open_state_folder(root)
    try:
        with refusing(root.show(STATE_FOLDER), "looking at the state folder"):
            status = filesystem.status(state_folder)
        with _thread_locks_guard:
            thread_lock = _thread_locks.setdefault((status.st_dev, status.st_ino), threading.Lock())
        if not thread_lock.acquire(timeout=max(0.0, timeout)):
            raise _timed_out(root, timeout)
        try:
            process_lock = _process_lock(root, timeout, deadline)
            try:
                yield RootLock(root, state_folder)
            finally:
                process_lock.release()
        finally:
            thread_lock.release()
    finally:
        filesystem.release(state_folder)


def _open_state_folder(root: Root) -> int:
    filesystem = root.filesystem
    with suppress(FileExistsError):
        filesystem.make_directory(root.descriptor, STATE_FOLDER)
    try:
        state_folder = filesystem.open_directory(root.descriptor, STATE_FOLDER)
    except (NotADirectoryError, PermissionError) as error:
        raise _unsafe(root, "is not a folder that you can open") from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _unsafe(root, "is a link") from error
        raise
    try:
        _check_state_folder(root, state_folder)
        _ignore_itself(root, state_folder)
    except BaseException:
        filesystem.release(state_folder)
        raise
    return state_folder


def _check_state_folder(root: Root, state_folder: int) -> None:
    status = root.filesystem.status(state_folder)
    if status.st_uid != os.geteuid():
        raise _unsafe(root, "belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _unsafe(root, "can be written by others")
    try:
        status = root.filesystem.status_of(state_folder, _LOCK_FILE)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        raise _unsafe(root, "holds a lock that is a link or no file")


def _ignore_itself(root: Root, state_folder: int) -> None:
    """Keep version control from taking the state folder for content."""
    try:
        descriptor = root.filesystem.create(state_folder, ".gitignore")
    except FileExistsError:
        return
    try:
        root.filesystem.write(descriptor, b"*\n")
    finally:
        root.filesystem.close(descriptor)


def _process_lock(root: Root, timeout: float, deadline: float) -> "BaseFileLock":
    from filelock import FileLock, Timeout

    path = os.path.join(root.path, STATE_FOLDER, _LOCK_FILE)
    # A soft lock, which filelock would fall back to, outlives a killed process.
    lock = FileLock(path, mode=0o600, fallback_to_soft=False, poll_interval=_POLL_SECONDS)
    try:
        lock.acquire(timeout=max(0.0, deadline - time.monotonic()))
    except Timeout as error:
        raise _timed_out(root, timeout) from error
    except (NotImplementedError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in _NO_LOCKS:
            raise StorageRefused((of_error(error, root.show(STATE_FOLDER), "locking"),)) from error
        message = "the file system of the root has no file locks"
        hint = "work on a copy on a local disk"
        raise StorageRefused((Diagnostic(code=Code.LOCK_UNSUPPORTED, message=message, hint=hint),)) from error
    try:
        _check_same_folder(root)
    except BaseException:
        lock.release()
        raise
    return lock


def _check_same_folder(root: Root) -> None:
    """The lock was found by its path, the files are by descriptor: both must be the same folder."""
    with refusing(root.show(""), "looking at the root"):
        descriptor = root.filesystem.open_root(root.path)
        try:
            same = os.path.samestat(
                root.filesystem.status(descriptor), root.filesystem.status(root.descriptor)
            )
        finally:
            root.filesystem.release(descriptor)
    if not same:
        message = "the root folder was replaced by another one since it was opened"
        raise StorageRefused((Diagnostic(code=Code.IO_ERROR, message=message, hint="start mdplan again"),))


def _timed_out(root: Root, timeout: float) -> StorageRefused:
    return StorageRefused(
        (
            Diagnostic(
                code=Code.LOCK_TIMEOUT,
                message=f"another mdplan has been committing below `{visible(root.given)}` for {timeout:g} s",
                hint="try again, or wait longer with the option for the lock's timeout",
            ),
        )
    )


def _unsafe(root: Root, reason: str) -> StorageRefused:
    shown = root.show(STATE_FOLDER)
    return StorageRefused(
        (
            Diagnostic(
                code=Code.STATE_DIR_UNSAFE,
                message=f"the state folder `{shown}` {reason}",
                hint="look at it, then remove it or make it a folder of your own with mode 0700",
                file=shown,
            ),
        )
    )
