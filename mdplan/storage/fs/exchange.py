"""Whether two files can change places here: tried before it is relied on.

There are file systems that take the system call and lose a file. So it is tried once in each, with two files
that no one misses.
"""

import os
from contextlib import suppress
from weakref import WeakKeyDictionary

from mdplan.storage.fs.filesystem import FileSystem
from mdplan.storage.fs.regular_file import content_of

_PROBE_NAMES = ("exchange-a", "exchange-b")
_CONTENTS = (b"a", b"bb")

# By disk and device: once in a process.
_known: WeakKeyDictionary[FileSystem, dict[int, bool]] = WeakKeyDictionary()


class Exchange:
    """Whether the file system can exchange files, tested in the open `state_folder` if possible."""

    def __init__(self, filesystem: FileSystem, state_folder: int) -> None:
        self._filesystem = filesystem
        self._state_folder = state_folder
        self._by_device = _known.setdefault(filesystem, {})
        self._by_folder: dict[int, bool] = {}

    def works_in(self, folder: int, names: tuple[str, str]) -> bool:
        """Whether two files in the open `folder` can change places.

        Where it is on another device than the state folder, two files called `names` are made in it for a
        moment. Raises `OSError`.
        """
        if folder not in self._by_folder:
            device = self._filesystem.status(folder).st_dev
            if device not in self._by_device:
                own = self._filesystem.status(self._state_folder).st_dev == device
                place = (self._state_folder, _PROBE_NAMES) if own else (folder, names)
                self._by_device[device] = self._is_proven(*place)
            self._by_folder[folder] = self._by_device[device]
        return self._by_folder[folder]

    def _is_proven(self, folder: int, names: tuple[str, str]) -> bool:
        disk = self._filesystem
        try:
            self._remove(folder, names)
        except OSError:
            # A folder of that name came with the root; these names no one can foresee.
            token = os.urandom(8).hex()
            names = (f"exchange-{token}-a", f"exchange-{token}-b")
        try:
            for name, content in zip(names, _CONTENTS, strict=True):
                descriptor = disk.create(folder, name)
                try:
                    disk.write(descriptor, content)
                finally:
                    disk.close(descriptor)
            before = self._contents(folder, names)
            disk.exchange(folder, *names)
            between = self._contents(folder, names)
            disk.exchange(folder, *names)
            return between == before[::-1] and self._contents(folder, names) == before
        except OSError:
            # Whatever it was: there is a way without.
            return False
        finally:
            with suppress(OSError):
                self._remove(folder, names)

    def _contents(self, folder: int, names: tuple[str, str]) -> list[str | None]:
        return [content_of(self._filesystem, folder, name, len(_CONTENTS[1])) for name in names]

    def _remove(self, folder: int, names: tuple[str, str]) -> None:
        for name in names:
            with suppress(FileNotFoundError):
                self._filesystem.unlink(folder, name)
