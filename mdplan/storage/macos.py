"""The file system of macOS: differences from Linux, for which the base class is written."""

import ctypes
import errno
import os
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Final

from mdplan.storage.filesystem import FileSystem, Step
from mdplan.text.visible import composed

# `F_FULLFSYNC` of <sys/fcntl.h>: `fsync` leaves the data in the cache of the disk.
_FULL_SYNC: Final = 51


class MacFileSystem(FileSystem):
    """The disk on macOS, where most volumes find a name whatever its case and its form of Unicode.

    A name must have the case that the folder lists: otherwise `--deny` would not match the name of the file
    that is read. `é` may be one character or two, because no program shows the difference.
    """

    def __init__(self) -> None:
        super().__init__()
        # By device and inode of a folder: its time of change, and its names.
        self._listed: dict[tuple[int, int], tuple[int, frozenset[str]]] = {}

    def open_directory(self, directory: int, name: str) -> int:
        """Open the directory `name`; a link fails with ENOTDIR or ELOOP."""
        opened = super().open_directory(directory, name)
        return self._if_listed(opened, directory, name)

    def open_file(self, directory: int, name: str) -> int:
        """Open `name` for reading, without blocking on FIFOs; a link fails with ELOOP."""
        return self._if_listed(super().open_file(directory, name), directory, name)

    def status_of(self, directory: int, name: str) -> os.stat_result:
        """Return the status of `name` without following links."""
        status = super().status_of(directory, name)
        if not self._lists(directory, name):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        return status

    def sync(self, descriptor: int) -> None:
        """Wait until the file's content is on disk."""
        if sys.platform == "darwin":
            import fcntl

            self.before(Step.SYNC)
            fcntl.fcntl(descriptor, _FULL_SYNC)
        else:
            super().sync(descriptor)

    def may_write(self, directory: int, name: str) -> bool:
        """Return True if permissions allow writing `name` (`.` is the directory itself)."""
        self.before(Step.MAY_WRITE)
        # Old versions take no flag against links here; the caller has looked already.
        return os.access(name, os.W_OK, dir_fd=directory, effective_ids=True)

    def attributes(self, descriptor: int) -> dict[str, bytes]:
        """Return the extended attributes, among them tags of the Finder; not ACLs."""
        self.before(Step.READ_ATTRIBUTES)
        if sys.platform == "darwin":
            names = _filled(partial(_library().flistxattr, descriptor), 0).split(b"\0")[:-1]
            call = _library().fgetxattr
            return {os.fsdecode(name): _filled(partial(call, descriptor, name), 0, 0) for name in names}
        return {}

    def set_attributes(self, descriptor: int, attributes: Mapping[str, bytes]) -> None:
        """Set the file's extended attributes to exactly `attributes`."""
        self.before(Step.SET_ATTRIBUTES)
        present = self.attributes(descriptor)
        for name, content in attributes.items():
            if present.get(name) != content:
                size = ctypes.c_size_t(len(content))
                _checked(_library().fsetxattr(descriptor, os.fsencode(name), content, size, 0, 0))
        for name in present.keys() - attributes.keys():
            _checked(_library().fremovexattr(descriptor, os.fsencode(name), 0))

    def _if_listed(self, opened: int, directory: int, name: str) -> int:
        try:
            if self._lists(directory, name):
                return opened
        except OSError:
            self.release(opened)
            raise
        self.release(opened)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)

    def _lists(self, directory: int, name: str) -> bool:
        """Return True if the folder lists `name` in that case."""
        if name == ".":
            return True
        status = os.fstat(directory)
        key, changed = (status.st_dev, status.st_ino), status.st_mtime_ns
        known = self._listed.get(key)
        if known is None or known[0] != changed or composed(name) not in known[1]:
            known = changed, frozenset(map(composed, os.listdir(directory)))
            self._listed[key] = known
        return composed(name) in known[1]


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _filled(call: Callable[..., int], *options: int) -> bytes:
    """Return what `call` writes into a buffer, whose size it tells when asked without one."""
    size = _checked(call(None, ctypes.c_size_t(0), *options))
    buffer = ctypes.create_string_buffer(size)
    return buffer.raw[: _checked(call(buffer, ctypes.c_size_t(size), *options))]


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
