"""The disk of this machine and the user of this process, whatever the system."""

import os
import sys
import time
from typing import Final

from mdplan.storage.filesystem import FileSystem

_POLL_SECONDS: Final = 0.02


def local_disk() -> FileSystem:
    """Return the file system of this machine."""
    if sys.platform == "win32":
        from mdplan.storage.windows import WindowsFileSystem

        return WindowsFileSystem()
    if sys.platform == "darwin":
        from mdplan.storage.macos import MacFileSystem

        return MacFileSystem()
    return FileSystem()


def wait_for_lock(descriptor: int) -> None:
    """Lock an open file exclusively, waiting for others; closing it unlocks."""
    disk = local_disk()
    while not disk.try_lock(descriptor, shared=False):
        time.sleep(_POLL_SECONDS)


def own_ids() -> tuple[int, int]:
    """Return this process's user and group; on Windows the zeros that every status has."""
    if sys.platform == "win32":
        return 0, 0
    return os.geteuid(), os.getegid()


def is_own(path: str, *, closed: int = 0) -> bool:
    """Return True if this user owns `path`, and its mode has no bit of `closed`; links are not followed.

    Windows has no such bits; a folder that mdplan makes there has a private ACL. Raise `OSError`.
    """
    if sys.platform == "win32":
        from mdplan.storage import windows

        return windows.is_own(path)
    status = os.lstat(path)
    return status.st_uid == os.geteuid() and not status.st_mode & closed
