"""The user's state directory: its location, the known roots, and a private folder for each root.

Folders are named by the hash of the root's path and contain the database of `mdplan.storage.store`. Nothing
in it comes from documents, and no command may edit it.
"""

import errno
import hashlib
import os
import stat
import sys
from contextlib import suppress
from functools import cache
from typing import Final

from mdplan.storage.filesystem import FileSystem
from mdplan.storage.local import is_own, local_disk
from mdplan.storage.names import slashed

STATE_DIRECTORY_VARIABLE: Final = "MDPLAN_STATE_DIR"
_ROOTS: Final = "roots"
_BY_INODE: Final = "moved"
_PATH_FILE: Final = "path"
_CONFLICT: Final = "conflict"


def user_state_directory() -> str:
    """Return the absolute path of the directory, which may not exist yet."""
    given = os.environ.get(STATE_DIRECTORY_VARIABLE)
    if given:
        return os.path.abspath(given)
    return _usual_directory(os.environ.get("XDG_STATE_HOME"), os.environ.get("HOME"))


@cache
def _usual_directory(state_home: str | None, home: str | None) -> str:
    """Return the platform's state directory."""
    # Every command needs this, and importing platformdirs takes longer than reading a short file.
    if sys.platform == "linux" and not state_home and home and os.path.isabs(home):
        return os.path.join(home, ".local/state/mdplan")
    from platformdirs import user_state_path

    try:
        return str(user_state_path("mdplan", appauthor=False))
    except RuntimeError:
        # Neither HOME nor the system names a home directory. If nothing can be created, the refusal of a
        # commit names the variable.
        return "/nonexistent/mdplan"


def is_known_root(path: str) -> bool:
    """Return True if this user has committed or planned in the root with the real path `path`."""
    try:
        return is_own(_folder_of(path, user_state_directory()))
    except OSError:
        return False


def has_conflict(root_path: str) -> bool:
    """Return True if a recovery of that root waits for a person, without opening the store."""
    return os.path.exists(os.path.join(_folder_of(root_path, user_state_directory()), _CONFLICT))


class UnsafeFolderError(PermissionError):
    """A folder of the state directory belongs to, or is writable by, someone else."""


class RootFolder:
    """The private folder of a root in the state directory (`MDPLAN_STATE_DIR` or the default).

    `root_path` is the root's real path. Methods raise `OSError`.
    """

    def __init__(self, root_path: str, filesystem: FileSystem | None = None) -> None:
        self.root_path = root_path
        self.directory = user_state_directory()
        self.path = _folder_of(root_path, self.directory)
        self.filesystem = filesystem or local_disk()

    def check(self, *, makes: bool = False) -> None:
        """Raise `OSError` unless the folder exists and is private; `makes` creates it.

        The folder of a moved root, whose old path is gone, is taken over.
        """
        try:
            is_safe = is_own(self.path, closed=stat.S_IWGRP | stat.S_IWOTH)
        except FileNotFoundError:
            if not self._follow() and not makes:
                raise
            if makes:
                self._make()
            is_safe = is_own(self.path, closed=stat.S_IWGRP | stat.S_IWOTH)
        if not is_safe:
            raise UnsafeFolderError(errno.EACCES, os.strerror(errno.EACCES), self.path)

    def mark_conflict(self, *, exists: bool) -> None:
        """Set or clear the mark for `has_conflict`."""
        mark = os.path.join(self.path, _CONFLICT)
        if exists:
            os.close(os.open(mark, os.O_WRONLY | os.O_CREAT, 0o600))
        else:
            with suppress(FileNotFoundError):
                os.unlink(mark)

    def _make(self) -> None:
        missing = self.path
        made: list[str] = []
        while not os.path.isdir(missing):
            made.append(missing)
            missing = os.path.dirname(missing)
        for folder in reversed(made):
            self.filesystem.make_directories(folder)
        self._write_path()
        link = self._link()
        if link is not None:
            self.filesystem.make_directories(os.path.dirname(link))
            with suppress(FileNotFoundError):
                os.unlink(link)
            with suppress(FileExistsError):
                _point_to(self.path, link)
        # A store in a folder lost to a power failure could undo nothing.
        for folder in {*made, *map(os.path.dirname, made)}:
            descriptor = self.filesystem.open_root(folder)
            try:
                self.filesystem.sync_directory(descriptor)
            finally:
                self.filesystem.release(descriptor)

    def _follow(self) -> bool:
        """Take over the folder of this root from its old path; return False if there is none."""
        link = self._link()
        if link is None:
            return False
        try:
            folder = _pointed_to(link)
            with open(os.path.join(folder, _PATH_FILE), "rb") as file:
                old_path = os.fsdecode(file.read())
            if os.path.lexists(old_path):
                return False
            os.rename(folder, self.path)
            self._write_path()
            os.unlink(link)
            _point_to(self.path, link)
        except OSError:
            return False
        return True

    def _write_path(self) -> None:
        """Write the root's path, for people."""
        path = os.path.join(self.path, _PATH_FILE)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(os.fsencode(self.root_path))

    def _link(self) -> str | None:
        """Return the link to this folder, named by the root's device and inode; None without root."""
        try:
            status = os.stat(self.root_path)
        except (OSError, ValueError):
            return None
        return os.path.join(self.directory, _BY_INODE, f"{status.st_dev:x}-{status.st_ino:x}")


def _folder_of(root_path: str, directory: str) -> str:
    # Hashing yields a valid name for any path.
    return os.path.join(directory, _ROOTS, hashlib.sha256(os.fsencode(slashed(root_path))).hexdigest()[:32])


def _point_to(folder: str, link: str) -> None:
    """Make `link` lead to `folder`: a link or, because Windows lets few users make links, a file."""
    if sys.platform == "win32":
        with open(link, "x", encoding="utf-8") as file:
            file.write(folder)
    else:
        os.symlink(folder, link)


def _pointed_to(link: str) -> str:
    """Return the folder to which `link` leads. Raise `OSError`."""
    if sys.platform == "win32":
        with open(link, encoding="utf-8") as file:
            return file.read()
    return os.path.realpath(link)
