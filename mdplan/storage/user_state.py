"""The user's own state directory, out of reach of what lies in a root; and the key in it.

The key seals the records of the journal. A record without this user's seal is foreign: it may have come with
a cloned repository, so nothing acts on it unless a person asks for that. One key serves all records: the seal
binds each of them to the place where it was written.
"""

import os
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.storage.files import read_regular_file
from mdplan.storage.filesystem import FileSystem

STATE_DIRECTORY_VARIABLE: Final = "MDPLAN_STATE_DIR"
_KEY_FILE: Final = "journal.key"
_KEY_BYTES: Final = 32


def user_state_directory() -> str:
    """The absolute path of the directory; it may not exist yet."""
    given = os.environ.get(STATE_DIRECTORY_VARIABLE)
    if given:
        return os.path.abspath(given)
    return _usual_directory(os.environ.get("XDG_STATE_HOME"), os.environ.get("HOME"))


@cache
def _usual_directory(state_home: str | None, home: str | None) -> str:
    """Where the platform keeps such things, which follows from these two."""
    # Every command asks, and platformdirs takes longer to import than a short file to read.
    if sys.platform == "linux" and not state_home and home and os.path.isabs(home):
        return os.path.join(home, ".local/state/mdplan")
    from platformdirs import user_state_path

    return str(user_state_path("mdplan"))


def state_directory_identity(roots: Iterable[str]) -> tuple[int, int] | None:
    """The device and inode of the directory, which is made if it is missing and would lie in one of `roots`.

    `roots` are real paths. None where there is no such directory, and no one can make it through a root.
    """
    disk, directory = FileSystem(), user_state_directory()
    try:
        status = disk.status_at(directory)
    except OSError:
        real = os.path.realpath(directory)
        if not any(f"{real}/".startswith(f"{root.rstrip('/')}/") for root in roots):
            return None
        try:
            disk.make_directories(real)
            status = disk.status_at(real)
        except OSError:
            return None
    return status.st_dev, status.st_ino


def lies_in(path: str, identity: tuple[int, int]) -> bool:
    """Whether the folder of that `identity` is the real path `path`, or one that it lies in."""
    disk, above = FileSystem(), ""
    while path != above:
        with suppress(OSError):
            status = disk.status_at(path)
            if (status.st_dev, status.st_ino) == identity:
                return True
        path, above = os.path.dirname(path), path
    return False


def user_name() -> str:
    """The name of the user of this process, by its ID and not by what the environment says."""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def has_key() -> bool:
    """Whether the user has a key, which is made when it is missing."""
    return _key(user_state_directory()) is not None


def seal(root_path: str, data: bytes) -> str:
    """The user's seal on `data` of the root whose real path is given; empty when the user can have no key."""
    key = _key(user_state_directory())
    if key is None:
        return ""
    import hmac

    return hmac.digest(key, os.fsencode(root_path) + b"\0" + data, "sha256").hex()


def is_sealed(root_path: str, data: bytes, given: str) -> bool:
    """Whether `given` is the user's seal on `data` of that root."""
    import hmac

    expected = seal(root_path, data)
    # Texts are compared as bytes: of a text that is not ASCII the comparison would raise.
    return expected != "" and hmac.compare_digest(expected.encode(), given.encode("utf-8", "surrogatepass"))


@cache
def _key(directory: str) -> bytes | None:
    """The user's key, made when it is missing; None when it cannot be kept, or could be known to others.

    The user's directory is not part of any commit, so it is reached by a disk of its own.
    """
    disk = FileSystem()
    try:
        disk.make_directories(directory)
        folder = disk.open_root(directory)
        try:
            _make_key(disk, folder)
            status = disk.status(folder)
            found = read_regular_file(disk, folder, _KEY_FILE, _KEY_FILE, _KEY_BYTES)
        finally:
            disk.release(folder)
    except OSError:
        return None
    if isinstance(found, Diagnostic) or len(found.data) != _KEY_BYTES:
        return None
    own = status.st_uid == found.status.st_uid == os.geteuid()
    closed = not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not found.status.st_mode & 0o077
    return found.data if own and closed else None


def _make_key(disk: FileSystem, folder: int) -> None:
    """Write a key unless there is one; of two processes that do so at once, one wins."""
    try:
        disk.status_of(folder, _KEY_FILE)
    except FileNotFoundError:
        temporary = f".mdplan-{os.urandom(8).hex()}-0.tmp"
        try:
            descriptor = disk.create(folder, temporary)
            try:
                disk.write(descriptor, os.urandom(_KEY_BYTES))
                disk.sync(descriptor)
            finally:
                disk.close(descriptor)
            with suppress(FileExistsError):
                disk.rename_new(folder, temporary, folder, _KEY_FILE)
            # Without its key, an interrupted commit is foreign after a loss of power.
            disk.sync_directory(folder)
        finally:
            with suppress(FileNotFoundError):
                disk.unlink(folder, temporary)
