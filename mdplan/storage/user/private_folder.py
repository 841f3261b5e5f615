"""A folder of one root in the user's state directory, which no one else can write into.

A root is known there by the hash of its path, so that its folder has a name whatever the path contains.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from mdplan.storage.fs.filesystem import FileSystem
from mdplan.storage.user.user_state import user_state_directory


class PrivateFolder:
    """The folder `name` of the root whose real path is `root_path`; it is made when it is first needed.

    `directory` is the state directory of all roots, from `MDPLAN_STATE_DIR` or the user's own when not given.
    Its methods raise `OSError`.
    """

    def __init__(
        self, root_path: str, name: str, directory: str | None = None, filesystem: FileSystem | None = None
    ) -> None:
        key = hashlib.sha256(os.fsencode(root_path)).hexdigest()[:32]
        self._names = (key, name)
        self._directory = directory
        self.filesystem = filesystem or FileSystem()

    @contextmanager
    def open(self, *, makes: bool = False) -> Iterator[int]:
        """The open folder, which with `makes` is made where it is missing, and what it lies in.

        Raises `OSError` when it is not there or not this user's alone.
        """
        base, filesystem = self._base(), self.filesystem
        if makes:
            filesystem.make_directories(base)
        opened = [filesystem.open_root(base)]
        try:
            for name in self._names:
                if makes:
                    with suppress(FileExistsError):
                        filesystem.make_directory(opened[-1], name)
                opened.append(filesystem.open_directory(opened[-1], name))
                status = filesystem.status(opened[-1])
                if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            yield opened[-1]
        finally:
            for descriptor in opened:
                filesystem.release(descriptor)

    def write(self, folder: int, name: str, data: bytes) -> None:
        """Write a file so that it is never seen in parts, not even after a loss of power."""
        self.write_parts(folder, name, (data,))

    def write_parts(self, folder: int, name: str, parts: Iterable[bytes]) -> None:
        """The same with the content in `parts`."""
        self._write(folder, parts, lambda temporary: self.filesystem.rename(folder, temporary, name))

    def write_new(self, folder: int, name: str, data: bytes) -> None:
        """Write a new file atomically; it is on the disk afterwards. Raises `FileExistsError`."""
        self._write(
            folder, (data,), lambda temporary: self.filesystem.rename_new(folder, temporary, folder, name)
        )
        self.filesystem.sync_directory(folder)

    def _write(self, folder: int, parts: Iterable[bytes], put_in_place: Callable[[str], None]) -> None:
        temporary = f".mdplan-{os.urandom(8).hex()}-1.tmp"
        try:
            descriptor = self.filesystem.create(folder, temporary)
            try:
                for part in parts:
                    self.filesystem.write(descriptor, part)
                self.filesystem.sync(descriptor)
            finally:
                self.filesystem.close(descriptor)
            put_in_place(temporary)
        except BaseException:
            with suppress(OSError):
                self.filesystem.unlink(folder, temporary)
            raise

    def remove_older(self, folder: int, oldest: float) -> None:
        """Remove the files that were written before `oldest`, in seconds since the epoch."""
        for entry in self.filesystem.list(folder):
            # Another process may be removing as well.
            with suppress(OSError):
                if self.filesystem.status_of(folder, entry.name).st_mtime < oldest:
                    self.filesystem.unlink(folder, entry.name)

    @property
    def path(self) -> str:
        """Its absolute path."""
        return os.path.join(self._base(), *self._names)

    def _base(self) -> str:
        return os.path.abspath(self._directory) if self._directory else user_state_directory()
