"""Contents of files by their SHA-256, in the state folder: what transactions displaced or took away."""

import errno
import os
import re
from contextlib import suppress
from typing import Final

from mdplan.storage.fs.filesystem import FileSystem
from mdplan.storage.fs.regular_file import MAX_IMAGE_BYTES, content_of

_IMAGE: Final = re.compile(r"[0-9a-f]{64}")
_UNFINISHED_COPY: Final = "copy.new"


class BlobStore:
    """The images in the open folder `folder` of the disk. Methods raise `OSError`."""

    def __init__(self, filesystem: FileSystem, folder: int, *, lasting: bool) -> None:
        """Copies, where there have to be some, are synced when they are to be `lasting`."""
        self.folder = folder
        self._filesystem = filesystem
        self._lasting = lasting

    def take(self, folder: int, name: str, digest: str, status: os.stat_result | None = None) -> None:
        """Move the file `name`, whose content has that digest, out of the open `folder` and keep it.

        A file that has other names stays where they are. From another device it is copied. `status` is that
        of the file, where it was seen just before.
        """
        disk = self._filesystem
        status = status or disk.status_of(folder, name)
        if status.st_nlink > 1:
            disk.unlink(folder, name)
            return
        try:
            disk.move(folder, name, self.folder, digest)
        except OSError as error:
            if error.errno == errno.EISDIR:
                # No commit makes a folder there: it came with the root.
                disk.rename(self.folder, digest, f"foreign-{os.urandom(8).hex()}")
                disk.move(folder, name, self.folder, digest)
                return
            if error.errno != errno.EXDEV:
                raise
            self._copy(folder, name, digest)
            disk.unlink(folder, name)

    def sync(self, folder: int, name: str) -> None:
        """Wait until the content of the file `name` in the open `folder` is on the disk."""
        descriptor = self._filesystem.open_file(folder, name)
        try:
            self._filesystem.sync(descriptor)
        finally:
            self._filesystem.release(descriptor)

    def status(self, digest: str) -> os.stat_result | None:
        """The status of an image; None when there is none. What is in it is examined when it is read."""
        try:
            return self._filesystem.status_of(self.folder, digest)
        except FileNotFoundError:
            return None

    def sizes(self) -> dict[str, int]:
        """The digests of all images, and their sizes in bytes."""
        found: dict[str, int] = {}
        for entry in self._filesystem.list(self.folder):
            if entry.is_file and _IMAGE.fullmatch(entry.name):
                found[entry.name] = self._filesystem.status_of(self.folder, entry.name).st_size
        return found

    def forget(self, digest: str) -> None:
        """Remove an image."""
        self._filesystem.unlink(self.folder, digest)

    def _copy(self, folder: int, name: str, digest: str) -> None:
        disk = self._filesystem
        with suppress(FileNotFoundError):
            disk.unlink(self.folder, _UNFINISHED_COPY)
        source = disk.open_file(folder, name)
        try:
            data = disk.read(source, MAX_IMAGE_BYTES)
        finally:
            disk.release(source)
        descriptor = disk.create(self.folder, _UNFINISHED_COPY)
        try:
            disk.write(descriptor, data)
            if self._lasting:
                disk.sync(descriptor)
        finally:
            disk.close(descriptor)
        disk.rename(self.folder, _UNFINISHED_COPY, digest)
        if content_of(disk, self.folder, digest, MAX_IMAGE_BYTES) != digest:
            raise OSError(errno.EIO, "the copy is not like the file")
