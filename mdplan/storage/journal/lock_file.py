"""The lock between processes: of the file `lock` in the state folder, which also says who holds it."""

import errno
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.fs.errors import StorageRefused, of_error, storage_errors
from mdplan.storage.fs.regular_file import read_regular_file
from mdplan.storage.fs.root import STATE_FOLDER, Root
from mdplan.storage.journal.state_folder import LOCK_FILE, NO_LOCK_FILE, check_lock_file, unsafe

_MAX_HOLDER_BYTES: Final = 200
_HOLDER: Final = re.compile(rb"(\d{1,10}) ([A-Za-z0-9._-]{1,100})\n")
_POLL_SECONDS: Final = 0.01
# What the system says of what is there in place of the file: a link, a folder, a socket.
_NO_FILE: Final = frozenset({errno.ELOOP, errno.EISDIR, errno.ENXIO})
_NO_LOCKS: Final = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL})

# The open lock files whose locks this process has.
_held: Final[set[int]] = set()


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
        _held.add(descriptor)
        try:
            with storage_errors(root.show(STATE_FOLDER), "locking"):
                check_lock_file(root, os.fstat(descriptor))
            _tell_holder(descriptor)
            yield True
        finally:
            _held.discard(descriptor)
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
    for descriptor in _held:
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_in_child)


def _tell_holder(descriptor: int) -> None:
    """Write into the lock file who holds it, for those who wait; nothing depends on it."""
    own = f"{os.getpid()} {os.uname().nodename}\n".encode("utf-8", "replace")
    with suppress(OSError):
        if os.pread(descriptor, _MAX_HOLDER_BYTES, 0) != own:
            os.pwrite(descriptor, own, 0)
            os.ftruncate(descriptor, len(own))
