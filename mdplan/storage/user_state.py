"""The user's own state directory: where it is, which roots it knows, and a private folder for each of them.

It holds one folder for each root, named by the hash of the root's path, with the database of
`mdplan.storage.store`. Nothing in it comes with a document, and no command may edit it.
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

STATE_DIRECTORY_VARIABLE: Final = "MDPLAN_STATE_DIR"
_ROOTS: Final = "roots"
_BY_INODE: Final = "moved"
_PATH_FILE: Final = "path"
_CONFLICT: Final = "conflict"


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

    try:
        return str(user_state_path("mdplan"))
    except RuntimeError:
        # Neither HOME nor the system says where this user's home is. Where nothing can be made, the refusal
        # of a commit names the variable.
        return "/nonexistent/mdplan"


def is_known_root(path: str) -> bool:
    """Whether this user has committed or planned something in the root whose real path is `path`."""
    try:
        return os.stat(_folder_of(path, user_state_directory())).st_uid == os.geteuid()
    except OSError:
        return False


def has_conflict(root_path: str) -> bool:
    """Whether a recovery of that root waits for a person, which a look need not open the store for."""
    return os.path.exists(os.path.join(_folder_of(root_path, user_state_directory()), _CONFLICT))


class UnsafeFolderError(PermissionError):
    """A folder of the state directory is another user's, or others can write into it."""


class RootFolder:
    """The folder of one root in the state directory, which no one else can write into.

    `root_path` is the root's real path. The state directory is that of `MDPLAN_STATE_DIR`, or the
    user's own when not given. Methods raise `OSError`.
    """

    def __init__(self, root_path: str, filesystem: FileSystem | None = None) -> None:
        self.root_path = root_path
        self.directory = user_state_directory()
        self.path = _folder_of(root_path, self.directory)
        self.filesystem = filesystem or FileSystem()

    def check(self, *, makes: bool = False) -> None:
        """Raise `OSError` unless the folder is there and this user's alone; with `makes`, make it first.

        The folder of a root that was moved, whose old path is gone, follows it.
        """
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            if not self._follow() and not makes:
                raise
            if makes:
                self._make()
            status = os.stat(self.path)
        if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise UnsafeFolderError(errno.EACCES, os.strerror(errno.EACCES), self.path)

    def mark_conflict(self, *, exists: bool) -> None:
        """Leave a mark for `has_conflict`, or take it away."""
        mark = os.path.join(self.path, _CONFLICT)
        if exists:
            os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
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
                os.symlink(self.path, link)
        # A store in a folder that the next loss of power takes away undoes nothing.
        for folder in {*made, *map(os.path.dirname, made)}:
            descriptor = self.filesystem.open_root(folder)
            try:
                self.filesystem.sync_directory(descriptor)
            finally:
                self.filesystem.release(descriptor)

    def _follow(self) -> bool:
        """Take over the folder of this root from its old path; False where there is none, or it still is."""
        link = self._link()
        if link is None:
            return False
        try:
            with open(os.path.join(link, _PATH_FILE), "rb") as file:
                old_path = os.fsdecode(file.read())
            if os.path.lexists(old_path):
                return False
            os.rename(os.path.realpath(link), self.path)
            self._write_path()
            os.unlink(link)
            os.symlink(self.path, link)
        except OSError:
            return False
        return True

    def _write_path(self) -> None:
        """Say to people whose folder it is."""
        path = os.path.join(self.path, _PATH_FILE)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(os.fsencode(self.root_path))

    def _link(self) -> str | None:
        """The link to this folder whose name is the root's device and inode; None where there is no root."""
        try:
            status = os.stat(self.root_path)
        except (OSError, ValueError):
            return None
        return os.path.join(self.directory, _BY_INODE, f"{status.st_dev:x}-{status.st_ino:x}")


def _folder_of(root_path: str, directory: str) -> str:
    # A hash, so that the folder has a name whatever the path contains.
    return os.path.join(directory, _ROOTS, hashlib.sha256(os.fsencode(root_path)).hexdigest()[:32])
