"""The folders that a transaction works in, opened once and held until it ends.

Descriptors are held for folders only: whatever happens to a path concurrently, the files stay where they were
found.
"""

from collections.abc import Iterable
from contextlib import suppress

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.files import component_problem, content_of
from mdplan.storage.filesystem import FileSystem, of_error, storage_errors
from mdplan.storage.root import Root


class Folders:
    """Open folders of `root`, by their paths below it (empty for the root itself)."""

    def __init__(self, root: Root) -> None:
        self.root = root
        # The root's own descriptor is not ours to close.
        self._opened: dict[str, int] = {"": root.descriptor}

    def open(self, path: str) -> int | Diagnostic:
        """The folder `path`, through no link; it stays open. Errors: those of `Root.open_folder`."""
        if path not in self._opened:
            opened = self._below_an_open_one(path)
            if opened is None:
                # From the root down, which also shows what is in the way.
                walked = self.root.open_folder(path)
                if isinstance(walked, Diagnostic):
                    return walked
                opened = walked
            self._opened[path] = opened
        return self._opened[path]

    def missing(self, path: str) -> tuple[str, ...] | Diagnostic:
        """What has to be made before there is a folder `path`, the outer folder first.

        Errors: those of `Root.open_folder`, but not that the folder is missing.
        """
        opened = self.open(path)
        if not isinstance(opened, Diagnostic):
            return ()
        above, _, name = path.rpartition("/")
        missing = self.missing(above) if opened.code is Code.FILE_NOT_FOUND else opened
        if isinstance(missing, Diagnostic) or missing:
            return missing if isinstance(missing, Diagnostic) else (*missing, path)
        # The folder above is there. What keeps this one from being opened may be a file in its place.
        try:
            self.root.filesystem.status_of(self._opened[above], name)
        except FileNotFoundError:
            return (path,)
        except OSError as error:
            return of_error(error, self.root.show(path), "looking at")
        return opened

    def make(self, path: str) -> None:
        """Make the folder `path`, for all whom the user's mask lets in, and open it; it may be there by now.

        Raises `StorageRefused`.
        """
        above, _, name = path.rpartition("/")
        with storage_errors(self.root.show(path), "making the folder"), suppress(FileExistsError):
            self.root.filesystem.make_directory(self._opened[above], name, 0o777)
        with storage_errors(self.root.show(path), "opening the folder"):
            self._opened[path] = self.root.filesystem.open_directory(self._opened[above], name)

    def remove_empty(self, paths: Iterable[str]) -> None:
        """Remove those of the folders `paths` that are empty, the inner ones first.

        What is in the way stays: it is someone's.
        """
        for path in sorted(paths, reverse=True):
            above, _, name = path.rpartition("/")
            folder = self.open(above)
            if not isinstance(folder, Diagnostic):
                with suppress(OSError):
                    self.root.filesystem.remove_directory(folder, name)

    def sync(self, paths: Iterable[str]) -> bool:
        """Wait until the names in those of the folders `paths` that are open are on the disk.

        False where one cannot be synced. Raises `StorageRefused`.
        """
        synced = True
        for path in sorted(set(paths) & self._opened.keys()):
            with storage_errors(self.root.show(path) or ".", "syncing the folder"):
                synced = self.root.filesystem.sync_directory(self._opened[path]) and synced
        return synced

    def close(self) -> None:
        """Close all folders."""
        for path, folder in self._opened.items():
            if path:
                self.root.filesystem.release(folder)
        self._opened = {"": self.root.descriptor}

    def _below_an_open_one(self, path: str) -> int | None:
        """The folder `path`, opened in the one above it; None where that is not open, or that fails."""
        above, _, name = path.rpartition("/")
        if above not in self._opened or component_problem(name) is not None:
            return None
        with suppress(OSError):
            opened = self.root.filesystem.open_directory(self._opened[above], name)
            if not self.root.is_private(opened):
                return opened
            self.root.filesystem.release(opened)
        return None


def folder_of(path: str) -> str:
    """The folder that the file or folder `path` is in."""
    return path.rpartition("/")[0]


# --- Whether two files can change places here: tried before it is relied on.

_CONTENTS = (b"a", b"bb")


def can_exchange(disk: FileSystem, folder: int, names: tuple[str, str]) -> bool:
    """Whether two files in the open `folder` can change places, found out once for each device of `disk`.

    There are file systems that take the system call and lose a file. So the first time two files called
    `names`, which no one misses, are made in the folder for a moment. Raises `OSError`.
    """
    device = disk.status(folder).st_dev
    if device not in disk.exchanges_by_device:
        disk.exchanges_by_device[device] = _is_proven(disk, folder, names)
    return disk.exchanges_by_device[device]


def _is_proven(disk: FileSystem, folder: int, names: tuple[str, str]) -> bool:
    def contents() -> list[str | None]:
        return [content_of(disk, folder, name, len(_CONTENTS[1])) for name in names]

    try:
        _remove(disk, folder, names)
        for name, content in zip(names, _CONTENTS, strict=True):
            descriptor = disk.create(folder, name)
            try:
                disk.write(descriptor, content)
            finally:
                disk.close(descriptor)
        before = contents()
        disk.exchange(folder, *names)
        between = contents()
        disk.exchange(folder, *names)
        return between == before[::-1] and contents() == before
    except OSError:
        # Whatever it was: there is a way without.
        return False
    finally:
        with suppress(OSError):
            _remove(disk, folder, names)


def _remove(disk: FileSystem, folder: int, names: tuple[str, str]) -> None:
    for name in names:
        with suppress(FileNotFoundError):
            disk.unlink(folder, name)
