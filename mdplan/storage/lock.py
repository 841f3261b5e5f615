"""One writer per root: a lock between threads, then one between processes.

Where roots lie in each other, the outer lock is taken first: here those of folders above the root, in a
commit those of folders between the root and its files.
"""

import errno
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.file_name import visible
from mdplan.storage.leaf import read_leaf
from mdplan.storage.nested import roots_above
from mdplan.storage.refusal import StorageRefused, of_error, refusing
from mdplan.storage.root import STATE_FOLDER, Root
from mdplan.storage.state_folder import LOCK_FILE, open_state_folder

if TYPE_CHECKING:
    from filelock import BaseFileLock

DEFAULT_TIMEOUT: Final = 10.0
_HOLDER_FILE: Final = "lock.holder"
_MAX_HOLDER_BYTES: Final = 200
_HOLDER: Final = re.compile(rb"(\d{1,10}) ([A-Za-z0-9._-]{1,100})\n")
_POLL_SECONDS: Final = 0.01
_NO_LOCKS: Final = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL})

# By device and inode of the state folder: two roots may be one folder under two names.
_thread_locks: Final[dict[tuple[int, int], threading.Lock]] = {}
_thread_locks_guard: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class RootLock:
    """The proof that this thread is the only one of mdplan that writes below `root`.

    `state_folder` is the open folder `.mdplan`, `outer` are the locks of roots in which this one lies, and
    `timeout` is how many seconds to wait for further ones. Good inside the `with` block.
    """

    root: Root
    state_folder: int
    outer: tuple["RootLock", ...] = ()
    timeout: float = DEFAULT_TIMEOUT


@contextmanager
def locked(root: Root, timeout: float = DEFAULT_TIMEOUT) -> Iterator[RootLock]:
    """Hold the lock of `root`, and of roots that it lies in, waiting for each up to `timeout` seconds.

    Raises `StorageRefused`: LOCK_TIMEOUT, LOCK_UNSUPPORTED, STATE_DIR_UNSAFE (the state folder or the lock is
    a link, another user's, or writable for others), and what the making of the folder gives.
    """
    with ExitStack() as held:
        outer: list[RootLock] = []
        for above in roots_above(root):
            held.callback(above.close)
            outer.append(held.enter_context(locked_alone(above, timeout)))
        lock = held.enter_context(locked_alone(root, timeout))
        yield RootLock(root, lock.state_folder, tuple(outer), timeout)


@contextmanager
def locked_alone(root: Root, timeout: float) -> Iterator[RootLock]:
    """The same for `root` without those that it lies in."""
    deadline = time.monotonic() + timeout
    filesystem = root.filesystem
    state_folder = open_state_folder(root)
    try:
        with refusing(root.show(STATE_FOLDER), "looking at the state folder"):
            status = filesystem.status(state_folder)
        with _thread_locks_guard:
            thread_lock = _thread_locks.setdefault((status.st_dev, status.st_ino), threading.Lock())
        if not thread_lock.acquire(timeout=max(0.0, timeout)):
            raise _timed_out(root, state_folder, timeout)
        try:
            process_lock = _process_lock(root, state_folder, timeout, deadline)
            try:
                _tell_holder(root, state_folder)
                yield RootLock(root, state_folder, timeout=timeout)
            finally:
                process_lock.release()
        finally:
            thread_lock.release()
    finally:
        filesystem.release(state_folder)


def is_held(root: Root) -> bool:
    """Whether another process or thread is committing below `root` right now."""
    try:
        with locked_alone(root, timeout=0.0):
            return False
    except StorageRefused as refused:
        return any(problem.code is Code.LOCK_TIMEOUT for problem in refused.problems)


def _process_lock(root: Root, state_folder: int, timeout: float, deadline: float) -> "BaseFileLock":
    from filelock import FileLock, Timeout

    path = os.path.join(root.path, STATE_FOLDER, LOCK_FILE)
    # A soft lock, which filelock would fall back to, outlives a killed process.
    lock = FileLock(path, mode=0o600, fallback_to_soft=False, poll_interval=_POLL_SECONDS)
    try:
        lock.acquire(timeout=max(0.0, deadline - time.monotonic()))
    except Timeout as error:
        raise _timed_out(root, state_folder, timeout) from error
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


def _tell_holder(root: Root, state_folder: int) -> None:
    """Write down who holds the lock, for those who wait; nothing depends on it."""
    holder = f"{os.getpid()} {os.uname().nodename}\n".encode("utf-8", "replace")
    filesystem = root.filesystem
    written = read_leaf(filesystem, state_folder, _HOLDER_FILE, _HOLDER_FILE, _MAX_HOLDER_BYTES)
    if not isinstance(written, Diagnostic) and written.data == holder:
        return
    with suppress(OSError):
        if not (isinstance(written, Diagnostic) and written.code is Code.FILE_NOT_FOUND):
            filesystem.unlink(state_folder, _HOLDER_FILE)
        descriptor = filesystem.create(state_folder, _HOLDER_FILE)
        try:
            filesystem.write(descriptor, holder)
        finally:
            filesystem.close(descriptor)


def _timed_out(root: Root, state_folder: int, timeout: float) -> StorageRefused:
    written = read_leaf(root.filesystem, state_folder, _HOLDER_FILE, _HOLDER_FILE, _MAX_HOLDER_BYTES)
    # What stands there may be anybody's text, so only a number and a plain name are repeated.
    holder = None if isinstance(written, Diagnostic) else _HOLDER.fullmatch(written.data)
    who = f" (process {int(holder[1])} on `{holder[2].decode()}` holds it)" if holder else ""
    return StorageRefused(
        (
            Diagnostic(
                code=Code.LOCK_TIMEOUT,
                message=f"another mdplan has been committing below `{visible(root.given)}` for {timeout:g} s",
                hint=f"try again, or wait longer with the option for the lock's timeout{who}",
            ),
        )
    )
