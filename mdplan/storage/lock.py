"""One writer per root: a lock on the root folder, across threads and processes.

A commit locks its root exclusively and the known roots above it shared. So two commits in nested roots
exclude each other. If the file system cannot lock folders, a file in the user's state directory is locked
instead; then only commits with the same state directory exclude each other.
"""

import errno
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final, NamedTuple

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.filesystem import Step, StorageRefused, storage_errors
from mdplan.storage.names import with_parents
from mdplan.storage.root import Root
from mdplan.storage.store import Store
from mdplan.storage.user_state import STATE_DIRECTORY_VARIABLE, RootFolder, is_known_root
from mdplan.text.visible import visible

DEFAULT_TIMEOUT: Final = 10.0
_LOCK_FILE: Final = "lock"
_POLL_SECONDS: Final = 0.01

# Errors without lock support: NFS requires a file open for writing, which a folder never is.
_NO_LOCKS: Final = frozenset({errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})

# By device and inode of the root folder: two roots may be one folder under two names. Threads queue here;
# between processes the lock is polled.
_thread_locks: Final[dict[tuple[int, int], threading.Lock]] = {}
_thread_locks_guard: Final = threading.Lock()

# Open folders and files whose locks this process holds.
_locked_descriptors: Final[set[int]] = set()


class RootLock(NamedTuple):
    """Proof that this thread is the only writer of mdplan below `root`, with its `store`.

    `warnings` name weaknesses of the lock. Valid inside the `with` block.
    """

    root: Root
    store: Store
    warnings: tuple[Diagnostic, ...] = ()


@contextmanager
def locked(root: Root, timeout: float = DEFAULT_TIMEOUT) -> Iterator[RootLock]:
    """Lock `root` and, shared, the roots above it; wait up to `timeout` seconds for each.

    Raise `StorageRefused`: LOCK_TIMEOUT, or a failure to open a folder.
    """
    with ExitStack() as held:
        for above in with_parents(root.path)[-2:0:-1]:
            if is_known_root(above):
                held.enter_context(_held(root, above, timeout, shared=True))
        is_folder = held.enter_context(_held(root, root.path, timeout, shared=False))
        _check_same_folder(root)
        warnings = () if is_folder or not root.filesystem.locks_folders else (NO_FOLDER_LOCK,)
        yield RootLock(root, Store(root.path, filesystem=root.filesystem), warnings)


NO_FOLDER_LOCK: Final = Diagnostic.warning(
    Code.LOCK_UNSUPPORTED,
    "this file system cannot lock folders: only commits with the same state directory wait for each other",
    "edit this root from one machine and one user at a time",
)


def is_locked(root: Root) -> bool:
    """Return True if another process or thread is committing below `root`."""
    try:
        with _held(root, root.path, 0.0, shared=True):
            return False
    except StorageRefused as refused:
        return any(problem.code is Code.LOCK_TIMEOUT for problem in refused.problems)


@contextmanager
def _held(root: Root, path: str, timeout: float, *, shared: bool) -> Iterator[bool]:
    """Lock the folder `path`, `root` or above it; yield True if folders can be locked there."""
    deadline = time.monotonic() + timeout
    with ExitStack() as opened:
        with storage_errors(visible(path), "locking"):
            # Use a separate descriptor: closing a shared one would release another lock.
            if path == root.path:
                folder = root.filesystem.open_directory(root.descriptor, ".")
            else:
                folder = root.filesystem.open_root(path)
        opened.callback(root.filesystem.release, folder)
        if not shared:
            opened.enter_context(_turn_of_thread(root.filesystem.identity(folder), path, timeout))
        descriptor, has_locks, holder = folder, True, None
        while (taken := _try_lock(root, descriptor, path, shared=shared)) is not True:
            if descriptor == folder:
                holder = holder if taken is None or holder is not None else _holder(folder)
                has_locks = taken is not None
                if not has_locks or (holder is not None and _is_ancestor(holder)):
                    # `flock . mdplan …`: the parent program holds the lock and waits for us.
                    descriptor = _open_lock_file(path)
                    opened.callback(os.close, descriptor)
                    continue
            elif taken is None:
                raise StorageRefused.of(
                    Code.LOCK_UNSUPPORTED,
                    f"neither `{visible(path)}` nor the state directory can be locked",
                    f"name a state directory on a disk of this machine with {STATE_DIRECTORY_VARIABLE}",
                )
            if time.monotonic() >= deadline:
                raise _timed_out(path, timeout, _holder(descriptor))
            time.sleep(_POLL_SECONDS)
        _locked_descriptors.add(descriptor)
        try:
            yield has_locks
        finally:
            _locked_descriptors.discard(descriptor)
            # If unlocking fails, closing unlocks.
            with suppress(OSError):
                root.filesystem.unlock(descriptor)


@contextmanager
def _turn_of_thread(identity: tuple[int, int], path: str, timeout: float) -> Iterator[None]:
    with _thread_locks_guard:
        thread_lock = _thread_locks.setdefault(identity, threading.Lock())
    if not thread_lock.acquire(timeout=max(0.0, timeout)):
        raise _timed_out(path, timeout, os.getpid())
    try:
        yield
    finally:
        thread_lock.release()


def _try_lock(root: Root, descriptor: int, path: str, *, shared: bool) -> bool | None:
    """Try once to take the lock; None if the file system has no locks."""
    with storage_errors(visible(path), "locking"):
        try:
            root.filesystem.before(Step.LOCK)
            return root.filesystem.try_lock(descriptor, shared=shared)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            return None


def _open_lock_file(path: str) -> int:
    """Open the file that is locked instead of the folder `path`."""
    folder = RootFolder(path)
    with storage_errors(visible(folder.path), "locking"):
        folder.check(makes=True)
        return os.open(os.path.join(folder.path, _LOCK_FILE), os.O_RDWR | os.O_CREAT, 0o600)


def _holder(descriptor: int) -> int | None:
    """Return the process that holds the lock of an open folder or file, if the system reports it."""
    if sys.platform != "linux":
        return None
    status = os.fstat(descriptor)
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    with suppress(OSError, ValueError, IndexError), open("/proc/locks", encoding="ascii") as locks:
        for line in locks:
            fields = line.split()
            if fields[1] == "FLOCK" and fields[5] == device:
                return int(fields[4])
    return None


def _is_ancestor(process: int) -> bool:
    """Return True if `process` is an ancestor of this one."""
    current = os.getppid()
    while current > 1:
        if current == process:
            return True
        try:
            with open(f"/proc/{current}/stat", encoding="ascii", errors="replace") as status:
                current = int(status.read().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return False
    return False


def _timed_out(path: str, timeout: float, holder: int | None) -> StorageRefused:
    who = f"process {holder}" if holder else "another program"
    return StorageRefused.of(
        Code.LOCK_TIMEOUT,
        f"{who} has held the lock of `{visible(path)}` for {timeout:g} s",
        "try again, or wait longer with the option for the lock's timeout",
    )


def _check_same_folder(root: Root) -> None:
    """Raise IO_ERROR if the root's path now leads to another folder."""
    filesystem = root.filesystem
    with storage_errors(root.show(""), "looking at the root"):
        same = os.path.samestat(filesystem.status_at(root.path), filesystem.status(root.descriptor))
    if not same:
        message = "the root folder was replaced by another one since it was opened"
        raise StorageRefused.of(Code.IO_ERROR, message, "start mdplan again")


def _release_in_child() -> None:
    """Drop the locks in a forked child, so that they end with the parent.

    Descriptors are closed but not unlocked, which would release the parent's lock.
    """
    for descriptor in _locked_descriptors:
        with suppress(OSError):
            os.close(descriptor)
    _locked_descriptors.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_in_child)
