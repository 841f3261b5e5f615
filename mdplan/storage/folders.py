"""The folders of a transaction, opened once and held until it ends.

Files are reached through folder descriptors, so they stay put whatever happens to paths meanwhile.
"""

from collections.abc import Iterable
from contextlib import suppress

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.files import content_of
from mdplan.storage.filesystem import FileSystem, of_error, storage_errors
from mdplan.storage.root import Root


class Folders:
    """Open folders of `root`, by path (empty for the root itself)."""

    def __init__(self, root: Root) -> None:
        self.root = root
        # The root's descriptor is not ours to close.
        self._opened: dict[str, int] = {"": root.descriptor}

    def open(self, path: str) -> int | Diagnostic:
        """Open the folder `path`, without following links; it stays open. Errors: as `Root.open_folder`."""
        if path not in self._opened:
            above = folder_of(path)
            opened: int | Diagnostic | None = None
            if above in self._opened:
                opened = self.root.open_folder(path, (above, self._opened[above]))
            if not isinstance(opened, int):
                # Walk from the root, which also detects obstacles.
                opened = self.root.open_folder(path)
            if isinstance(opened, Diagnostic):
                return opened
            self._opened[path] = opened
        return self._opened[path]

    def missing(self, path: str) -> tuple[str, ...] | Diagnostic:
        """Return the folders to make for `path`, outermost first.

        Errors: as `Root.open_folder`, except for the missing folder.
        """
        opened = self.open(path)
        if not isinstance(opened, Diagnostic):
            return ()
        above, _, name = path.rpartition("/")
        missing = self.missing(above) if opened.code is Code.FILE_NOT_FOUND else opened
        if isinstance(missing, Diagnostic) or missing:
            return missing if isinstance(missing, Diagnostic) else (*missing, path)
        # The parent exists. A file in place of this folder may block it.
        try:
            self.root.filesystem.status_of(self._opened[above], name)
        except FileNotFoundError:
            return (path,)
        except OSError as error:
            return of_error(error, self.root.show(path), "looking at")
        return opened

    def make(self, path: str) -> None:
        """Make and open the folder `path`, with the umask; it may exist already.

        Raise `StorageRefused`.
        """
        above, _, name = path.rpartition("/")
        with storage_errors(self.root.show(path), "making the folder"), suppress(FileExistsError):
            self.root.filesystem.make_directory(self._opened[above], name, 0o777)
        with storage_errors(self.root.show(path), "opening the folder"):
            self._opened[path] = self.root.filesystem.open_directory(self._opened[above], name)

    def remove_empty(self, paths: Iterable[str]) -> None:
        """Remove the empty ones of the folders `paths`, innermost first.

        Anything else in them belongs to someone else and stays.
        """
        for path in sorted(paths, reverse=True):
            above, _, name = path.rpartition("/")
            folder = self.open(above)
            if not isinstance(folder, Diagnostic):
                # Windows removes no open folder.
                opened = self._opened.pop(path, None)
                if opened is not None:
                    self.root.filesystem.release(opened)
                with suppress(OSError):
                    self.root.filesystem.remove_directory(folder, name)

    def sync(self, paths: Iterable[str]) -> bool:
        """Sync the names in the open folders among `paths`.

        Return False if one cannot be synced. Raise `StorageRefused`.
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


def folder_of(path: str) -> str:
    """Return the folder of the file or folder `path`."""
    return path.rpartition("/")[0]


# --- Test if files can be exchanged here, before relying on it

_CONTENTS = (b"a", b"bb")


def can_exchange(disk: FileSystem, folder: int, names: tuple[str, str]) -> bool:
    """Return True if files in the open `folder` can be exchanged; tested once per device.

    Some file systems accept the system call and lose a file, so the first use tests it with two scratch files
    called `names`. Raise `OSError`.
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
        # Any failure means: use the fallback.
        return False
    finally:
        with suppress(OSError):
            _remove(disk, folder, names)


def _remove(disk: FileSystem, folder: int, names: tuple[str, str]) -> None:
    for name in names:
        with suppress(FileNotFoundError):
            disk.unlink(folder, name)
