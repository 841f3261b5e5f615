"""One writer per root: a lock between threads, then one between processes, of a file that names its holder.

Where roots lie in each other, the outer lock is taken first: here those of folders above the root, in a
commit those of folders between the root and its files.
"""

import errno
import os
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.files import read_regular_file, visible
from mdplan.storage.filesystem import StorageRefused, of_error, storage_errors
from mdplan.storage.folders import Folders
from mdplan.storage.journal import Journal
from mdplan.storage.root import STATE_FOLDER, Root
from mdplan.storage.state_folder import (
    LOCK_FILE,
    NO_LOCK_FILE,
    RecordName,
    check_lock_file,
    open_folders,
    open_state_folder,
    unsafe,
)
from mdplan.text.lazy_pattern import lazy_pattern

DEFAULT_TIMEOUT: Final = 10.0

# By device and inode of the state folder: two roots may be one folder under two names.
_thread_locks: Final[dict[tuple[int, int], threading.Lock]] = {}
_thread_locks_guard: Final = threading.Lock()
_MAX_HOLDER_BYTES: Final = 200
_HOLDER: Final = lazy_pattern(rb"(\d{1,10}) ([A-Za-z0-9._-]{1,100})\n")
_POLL_SECONDS: Final = 0.01

# What the system says of what is there in place of the file: a link, a folder, a socket.
_NO_FILE: Final = frozenset({errno.ELOOP, errno.EISDIR, errno.ENXIO})
_NO_LOCKS: Final = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL})

# The open lock files whose locks this process has.
_locked_descriptors: Final[set[int]] = set()


@dataclass(frozen=True, slots=True)
class LockedState:
    """What is opened once for all that happens under a lock: the journal, and the folder of the history.

    `clean` are the committed transactions of which nothing lies next to their targets any more, as they were
    seen under this lock, with the folders that they touched.
    """

    journal: Journal
    history: int
    clean: dict[RecordName, frozenset[str]] = field(default_factory=dict)


@dataclass(slots=True)
class RootLock:
    """The proof that this thread is the only one of mdplan that writes below `root`.

    `state_folder` is the open folder `.mdplan`, `outer` are the locks of roots in which this one lies, and
    `timeout` is how many seconds to wait for further ones. Good inside the `with` block.
    """

    root: Root
    state_folder: int
    outer: tuple["RootLock", ...] = ()
    timeout: float = DEFAULT_TIMEOUT
    _opened: LockedState | None = field(default=None, init=False, repr=False)

    def opened(self) -> LockedState:
        """The folders in the state folder, made if they are missing. Raises `StorageRefused`."""
        if self._opened is None:
            folders = open_folders(self.root, self.state_folder)
            self._opened = LockedState(Journal(self.root, folders.journal), folders.history)
        return self._opened

    def close(self) -> None:
        """Close what was opened."""
        if self._opened is not None:
            self.root.filesystem.release(self._opened.journal.folder)
            self.root.filesystem.release(self._opened.history)


@contextmanager
def locked(root: Root, timeout: float = DEFAULT_TIMEOUT) -> Iterator[RootLock]:
    """Hold the lock of `root`, and of roots that it lies in, waiting for each up to `timeout` seconds.

    Raises `StorageRefused`: LOCK_TIMEOUT, LOCK_UNSUPPORTED, STATE_DIR_UNSAFE (the state folder or the lock is
    a link, another user's, or writable for others), and what the making of the folder gives.
    """
    with ExitStack() as resources:
        outer: list[RootLock] = []
        for above in roots_above(root):
            resources.callback(above.close)
            outer.append(resources.enter_context(locked_alone(above, timeout)))
        yield resources.enter_context(locked_alone(root, timeout, tuple(outer)))


@contextmanager
def locked_alone(root: Root, timeout: float, outer: tuple[RootLock, ...] = ()) -> Iterator[RootLock]:
    """Hold the lock of `root` only; `outer` are the locks of the roots that contain it."""
    deadline = time.monotonic() + timeout
    filesystem = root.filesystem
    state_folder = open_state_folder(root)
    try:
        with storage_errors(root.show(STATE_FOLDER), "looking at the state folder"):
            status = filesystem.status(state_folder)
        with _thread_locks_guard:
            thread_lock = _thread_locks.setdefault((status.st_dev, status.st_ino), threading.Lock())
        if not thread_lock.acquire(timeout=max(0.0, timeout)):
            raise _timed_out(root, state_folder, timeout)
        try:
            with lock_file(root, state_folder, deadline) as is_taken:
                if not is_taken:
                    raise _timed_out(root, state_folder, timeout)
                _check_same_folder(root)
                lock = RootLock(root, state_folder, outer, timeout)
                try:
                    yield lock
                finally:
                    lock.close()
        finally:
            thread_lock.release()
    finally:
        filesystem.release(state_folder)


def is_locked(root: Root) -> bool:
    """Whether another process or thread is committing below `root` right now."""
    try:
        with locked_alone(root, timeout=0.0):
            return False
    except StorageRefused as refused:
        return any(problem.code is Code.LOCK_TIMEOUT for problem in refused.problems)


def _check_same_folder(root: Root) -> None:
    """Whoever names the root by its path must mean the folder that was opened."""
    filesystem = root.filesystem
    with storage_errors(root.show(""), "looking at the root"):
        same = os.path.samestat(filesystem.status_at(root.path), filesystem.status(root.descriptor))
    if not same:
        message = "the root folder was replaced by another one since it was opened"
        raise StorageRefused.of(Code.IO_ERROR, message, "start mdplan again")


def _timed_out(root: Root, state_folder: int, timeout: float) -> StorageRefused:
    found = holder(root, state_folder)
    who = f" (held by {found})" if found else ""
    return StorageRefused.of(
        Code.LOCK_TIMEOUT,
        f"another mdplan has been committing below `{visible(root.given)}` for {timeout:g} s",
        f"try again, or wait longer with the option for the lock's timeout{who}",
    )


@contextmanager
def lock_file(root: Root, state_folder: int, deadline: float) -> Iterator[bool]:
    """Hold the lock of the file in the open `state_folder` of `root`; False where `deadline` came first.

    The system lets go of it when this process ends, however it does. `deadline` is by the monotonic clock.
    Raises `StorageRefused`: LOCK_UNSUPPORTED, STATE_DIR_UNSAFE, what the opening gives.
    """
    descriptor = _open_lock(root, state_folder)
    try:
        while not _take(root, descriptor):
            if time.monotonic() >= deadline:
                yield False
                return
            time.sleep(_POLL_SECONDS)
        _locked_descriptors.add(descriptor)
        try:
            with storage_errors(root.show(STATE_FOLDER), "locking"):
                check_lock_file(root, os.fstat(descriptor))
            _write_holder(descriptor)
            yield True
        finally:
            _locked_descriptors.discard(descriptor)
            _release(descriptor)
    finally:
        root.filesystem.release(descriptor)


def holder(root: Root, state_folder: int) -> str | None:
    """Who holds the lock, or held it last, as far as a plain number and name say it."""
    written = read_regular_file(root.filesystem, state_folder, LOCK_FILE, LOCK_FILE, _MAX_HOLDER_BYTES)
    # What is there may be anybody's text, so only a number and a plain name are repeated.
    found = None if isinstance(written, Diagnostic) else _HOLDER.fullmatch(written.data)
    return f"process {int(found[1])} on `{found[2].decode()}`" if found else None


def _open_lock(root: Root, state_folder: int) -> int:
    try:
        return root.filesystem.open_lock(state_folder, LOCK_FILE)
    except OSError as error:
        if error.errno in _NO_FILE:
            raise unsafe(root, NO_LOCK_FILE) from error
        raise StorageRefused((of_error(error, root.show(STATE_FOLDER), "locking"),)) from error


def _take(root: Root, descriptor: int) -> bool:
    """Try once to take the lock."""
    from filelock import lock_descriptor

    try:
        return lock_descriptor(descriptor, blocking=False)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise StorageRefused((of_error(error, root.show(STATE_FOLDER), "locking"),)) from error
        message = "the file system of the root has no file locks"
        hint = "work on a copy on a local disk"
        raise StorageRefused.of(Code.LOCK_UNSUPPORTED, message, hint) from error


def _release(descriptor: int) -> None:
    from filelock import unlock_descriptor

    # Where that fails, closing the file does it.
    with suppress(OSError):
        unlock_descriptor(descriptor)


def _release_in_child() -> None:
    """A process that is forked off has no part in the lock: it must not hold it when its parent is killed."""
    for descriptor in _locked_descriptors:
        with suppress(OSError):
            os.close(descriptor)
    _locked_descriptors.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_in_child)


def _write_holder(descriptor: int) -> None:
    """Write into the lock file who holds it, for those who wait; nothing depends on it."""
    own = f"{os.getpid()} {os.uname().nodename}\n".encode("utf-8", "replace")
    with suppress(OSError):
        if os.pread(descriptor, _MAX_HOLDER_BYTES, 0) != own:
            os.pwrite(descriptor, own, 0)
            os.ftruncate(descriptor, len(own))


# --- Roots in roots: other state folders that rule over the same files.
#
# Only state folders of this user count. One of another user could not be locked, and must not stop this
# user.

# Folders above a root that this user cannot look into have no state folder of this user's.
_OUT_OF_REACH: Final = frozenset({errno.EACCES, errno.EPERM, errno.ENOENT})


def roots_above(root: Root) -> Iterator[Root]:
    """The roots in which `root` lies, the outermost first, opened; the caller closes them.

    Raises `StorageRefused`.
    """
    components = root.path.strip("/").split("/")
    for depth in range(len(components)):
        path = "/" + "/".join(components[:depth])
        if path == root.path:
            return
        above = _opened(root, path)
        if above is not None:
            yield above


def roots_between(folders: Folders, paths: Iterable[str]) -> Iterator[Root]:
    """The roots between the root of `folders` and the files `paths` below it, the outer and first ones first.

    Their folders are those of `folders`, which closes them. Raises `StorageRefused`.
    """
    root = folders.root
    above = {
        "/".join(components[:depth])
        for components in (path.split("/") for path in paths)
        for depth in range(1, len(components))
    }
    for path in sorted(above):
        folder = folders.open(path)
        if not isinstance(folder, Diagnostic) and _has_own_state(root, folder, path):
            full = os.path.join(root.path, path)
            yield Root(root.show(path), full, full, folder, root.scope, root.filesystem)


def _opened(root: Root, path: str) -> Root | None:
    """The folder `path` above `root` as a root, if it has a state folder of this user's."""
    filesystem = root.filesystem
    with storage_errors(path, "looking for other roots in"):
        # Most folders have none, which one look shows.
        if not filesystem.is_there(os.path.join(path, STATE_FOLDER)):
            return None
        try:
            descriptor = filesystem.open_root(path)
        except OSError as error:
            if error.errno in _OUT_OF_REACH:
                return None
            raise
        found = False
        try:
            found = _has_own_state(root, descriptor, path)
        finally:
            if not found:
                filesystem.release(descriptor)
    return Root("", path, path, descriptor, root.scope, filesystem) if found else None


def _has_own_state(root: Root, folder: int, shown: str) -> bool:
    with storage_errors(shown, "looking for other roots in"), suppress(FileNotFoundError):
        status = root.filesystem.status_of(folder, STATE_FOLDER)
        return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    return False
