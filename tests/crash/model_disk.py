"""A disk in memory that tracks unsynced data, behind the same interface as the real one.

It behaves like `FileSystem` on Linux, without links and other users: tests in this file compare both. It also
records every event, and lists the possible states of the disk after a crash at each moment.
"""

import errno
import os
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import ClassVar

from mdplan.storage.filesystem import DirectoryEntry, FileSystem, Step
from mdplan.storage.store import Store, make_tables
from tests.crash.volume import (
    ROOT,
    Assignment,
    Changed,
    Content,
    Event,
    Image,
    Made,
    Named,
    Stored,
    Synced,
    Volume,
    image_from,
    numbered,
)

DEVICE = 77
# In addition to those of the system.
FIRST_DESCRIPTOR = 1 << 20
FOLDER = stat.S_IFDIR | 0o755
FILE = stat.S_IFREG | 0o644


def own(data: bytes = b"", mode: int = FILE) -> Content:
    """A file or folder of this user."""
    return Content(data, mode, (os.geteuid(), os.getegid()))


def disk_image(files: Mapping[str, bytes | Content]) -> Image:
    """The image of files by their absolute paths, with folders above them; a folder's path ends in `/`."""
    tree: dict[str, Content] = {}
    for path, data in files.items():
        parts = path.lstrip("/").split("/")
        for depth in range(1, len(parts)):
            tree.setdefault("/".join(parts[:depth]) + "/", own(mode=FOLDER))
        if parts[-1]:
            tree["/".join(parts)] = own(data) if isinstance(data, bytes) else data
    return image_from(tree, own(mode=FOLDER))


STORE = "store"


class ModelStore(Store):
    """The store of the root on a `ModelDisk`: a database in memory whose dump is a file of the disk.

    A change of it is on the disk at once, as SQLite promises.
    """

    _saved: ClassVar[dict[bytes, bytes]] = {}

    def __init__(self, disk: "ModelDisk") -> None:
        super().__init__(disk.mounted_at, filesystem=disk)
        self.disk = disk

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection | None]:
        with self._errors("reading"):
            self.disk.before(Step.STORE_READ)
            with closing(self._load()) as connection:
                yield connection

    @contextmanager
    def write(self, *, syncs: bool = True) -> Iterator[sqlite3.Connection]:
        with self._errors("writing"):
            self.disk.before(Step.STORE_BEGIN)
            with closing(self._load()) as connection:
                connection.execute("BEGIN")
                yield connection
                self.disk.before(Step.STORE_COMMIT)
                connection.execute("COMMIT")
                dump = "\n".join(connection.iterdump()).encode()
                self._saved[dump] = connection.serialize()
            number = self.disk.volume.names[ROOT][STORE]
            if dump != self.disk.volume.content[number].data:
                self.disk.happens(Stored(number, own(dump), lasts=syncs))
            self.disk.before(Step.STORE_DONE)

    def checkpoint(self) -> None:
        """Nothing: there is no WAL."""

    def mark_conflicts(self) -> None:
        """Nothing: the mark is for looks without the store."""

    def _load(self) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        dump = self.disk.volume.content[self.disk.volume.names[ROOT][STORE]].data
        if dump:
            connection.deserialize(self._saved[dump])
        else:
            make_tables(connection)
        connection.execute("PRAGMA foreign_keys = ON")
        return connection


class ModelDisk(FileSystem):
    """A disk that holds `volume`, mounted at that path. `events` are the changes since then.

    Without `exchange` the file system has no flags of rename, without `links` files have only one name. After
    a failed sync the system has forgotten the unwritten data: a later sync of that file succeeds but writes
    nothing.
    """

    def __init__(
        self, volume: Volume, *, mounted_at: str = "/", exchange: bool = True, links: bool = True
    ) -> None:
        super().__init__()
        self.mounted_at = mounted_at
        self.exchanges = exchange
        self.links = links
        self.start = volume.copy()
        self.volume = volume.copy()
        self.events: list[Event] = []
        self.opened: dict[int, int] = {}
        self._next_descriptor = FIRST_DESCRIPTOR
        self._written_to: set[int] = set()
        self._read_up_to: dict[int, int] = {}
        self._forgotten: set[int] = set()
        self.mask = 0o022

    # What happened, and what a crash makes of it.

    def happens(self, event: Event) -> None:
        """Let the event happen and remember it."""
        self.events.append(event)
        self.volume.apply(event)

    def moments(self) -> Iterator[tuple[Volume, Event | None]]:
        """Yield the disk before the first event and after each, with the event; valid until the next one."""
        volume = self.start.copy()
        yield volume, None
        for event in self.events:
            volume.apply(event)
            yield volume, event

    def crash_states(self, at: int) -> set[Image]:
        """Everything that the disk may hold when the power is lost after `at` events."""
        volume = self.start.copy()
        for event in self.events[:at]:
            volume.apply(event)
        return set(volume.crash_images())

    # The seam: folders.

    def open_root(self, path: str) -> int:
        self.before(Step.OPEN_ROOT)
        number = ROOT
        for name in self._below(path):
            number = self._folder_at(number, name)
        return self._open(number)

    def status_at(self, path: str) -> os.stat_result:
        self.before(Step.STATUS)
        number = ROOT
        for name in self._below(path):
            number = self._at(number, name)
        return self._status(number)

    def is_there(self, path: str) -> bool:
        try:
            self.status_at(path)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return False
            raise
        return True

    def open_directory(self, directory: int, name: str) -> int:
        self.before(Step.OPEN_DIRECTORY)
        return self._open(self._folder_at(self.opened[directory], name))

    def make_directory(self, directory: int, name: str, mode: int = 0o700) -> None:
        self.before(Step.MAKE_DIRECTORY)
        self._make(self.opened[directory], name, stat.S_IFDIR | (mode & ~self.mask), is_folder=True)

    def make_directories(self, path: str) -> None:
        self.before(Step.MAKE_DIRECTORY)
        number = ROOT
        for name in self._below(path):
            if name not in self.volume.names[number]:
                self._make(number, name, stat.S_IFDIR | (0o700 & ~self.mask), is_folder=True)
            number = self._folder_at(number, name)

    def remove_directory(self, directory: int, name: str) -> None:
        self.before(Step.REMOVE_DIRECTORY)
        folder = self._folder_at(self.opened[directory], name)
        if self.volume.names[folder]:
            raise failure(errno.ENOTEMPTY, name)
        self._name((self.opened[directory], name, None))

    def list(self, directory: int) -> list[DirectoryEntry]:
        self.before(Step.LIST)
        names = self.volume.names
        return [
            DirectoryEntry(name, number in names, number not in names)
            for name, number in names[self.opened[directory]].items()
        ]

    def sync_directory(self, directory: int) -> bool:
        self.before(Step.SYNC_DIRECTORY)
        self.happens(Synced(self.opened[directory]))
        return True

    # The seam: what an open file or a name tells.

    def open_file(self, directory: int, name: str) -> int:
        self.before(Step.OPEN_FILE)
        return self._open(self._at(self.opened[directory], name))

    def status(self, descriptor: int) -> os.stat_result:
        self.before(Step.STATUS)
        return self._status(self.opened[descriptor])

    def status_of(self, directory: int, name: str) -> os.stat_result:
        self.before(Step.STATUS)
        return self._status(self._at(self.opened[directory], name))

    def read(self, descriptor: int, size: int) -> bytes:
        self.before(Step.READ)
        number = self.opened[descriptor]
        if number in self.volume.names:
            raise failure(errno.EISDIR)
        start = self._read_up_to.get(descriptor, 0)
        part = self.volume.content[number].data[start : start + size]
        self._read_up_to[descriptor] = start + len(part)
        return part

    def read_link(self, directory: int, name: str) -> str:
        self.before(Step.READ_LINK)
        self._at(self.opened[directory], name)
        raise failure(errno.EINVAL, name)

    def may_write(self, directory: int, name: str) -> bool:
        self.before(Step.MAY_WRITE)
        mode = self.volume.content[self._at(self.opened[directory], name)].mode
        return os.geteuid() == 0 or bool(mode & stat.S_IWUSR)

    def attributes(self, descriptor: int) -> dict[str, bytes]:
        self.before(Step.READ_ATTRIBUTES)
        return dict(self.volume.content[self.opened[descriptor]].attributes)

    # The seam: files that are written.

    def create(self, directory: int, name: str, mode: int = 0o600) -> int:
        self.before(Step.CREATE)
        made = self._make(self.opened[directory], name, stat.S_IFREG | (mode & ~self.mask), is_folder=False)
        descriptor = self._open(made)
        self._written_to.add(descriptor)
        return descriptor

    def write(self, descriptor: int, data: bytes) -> None:
        if not data:
            return
        self.before(Step.WRITE)
        if descriptor not in self._written_to:
            raise failure(errno.EBADF)
        content = self.volume.content[self.opened[descriptor]]
        self._change(descriptor, content._replace(data=content.data + data))

    def set_attributes(self, descriptor: int, attributes: Mapping[str, bytes]) -> None:
        self.before(Step.SET_ATTRIBUTES)
        content = self.volume.content[self.opened[descriptor]]
        self._change(descriptor, content._replace(attributes=tuple(sorted(attributes.items()))))

    def set_owner(self, descriptor: int, user: int, group: int) -> None:
        self.before(Step.SET_OWNER)
        content = self.volume.content[self.opened[descriptor]]
        self._change(descriptor, content._replace(owner=(user, group)))

    def set_mode(self, descriptor: int, mode: int) -> None:
        self.before(Step.SET_MODE)
        content = self.volume.content[self.opened[descriptor]]
        self._change(descriptor, content._replace(mode=stat.S_IFMT(content.mode) | stat.S_IMODE(mode)))

    def start_writing(self, descriptor: int) -> None:
        """Nothing: what the disk has begun with may be lost as well."""

    def sync(self, descriptor: int) -> None:
        number = self.opened[descriptor]
        try:
            self.before(Step.SYNC)
        except OSError:
            self._forgotten.add(number)
            raise
        if number not in self._forgotten:
            self.happens(Synced(number))

    def close(self, descriptor: int) -> None:
        try:
            self.before(Step.CLOSE)
        finally:
            self.release(descriptor)

    def release(self, descriptor: int) -> None:
        self._written_to.discard(descriptor)
        del self.opened[descriptor]

    # The seam: names.

    def link(self, directory: int, name: str, other: str) -> None:
        self.before(Step.LINK)
        folder = self.opened[directory]
        number = self._at(folder, name)
        if other in self.volume.names[folder]:
            raise failure(errno.EEXIST, other)
        if not self.links or number in self.volume.names:
            raise failure(errno.EPERM, name)
        self._name((folder, other, number))

    def rename(self, directory: int, name: str, target: str) -> None:
        self.before(Step.RENAME)
        self._rename(self.opened[directory], name, self.opened[directory], target)

    def rename_new(self, directory: int, name: str, target_directory: int, target: str) -> None:
        self.before(Step.RENAME_NEW)
        folder, target_folder = self.opened[directory], self.opened[target_directory]
        number = self._at(folder, name)
        if target in self.volume.names[target_folder]:
            raise failure(errno.EEXIST, target)
        # The real one goes on with a link where the system does not know the flag, or finds the call invalid.
        if self.exchanges and target_folder not in numbered(self.volume.names, number):
            self._rename(folder, name, target_folder, target)
            return
        if not self.links or number in self.volume.names:
            self._rename(folder, name, target_folder, target)
            return
        self._name((target_folder, target, number))
        self.sync_directory(target_directory)
        self._name((folder, name, None))

    def exchange(self, directory: int, name: str, other: str) -> None:
        self.before(Step.EXCHANGE)
        if not self.exchanges:
            raise failure(errno.EINVAL, name)
        folder = self.opened[directory]
        first, second = self._at(folder, name), self._at(folder, other)
        if first != second:
            self._name((folder, name, second), (folder, other, first))

    def unlink(self, directory: int, name: str) -> None:
        self.before(Step.UNLINK)
        folder = self.opened[directory]
        if self._at(folder, name) in self.volume.names:
            raise failure(errno.EISDIR, name)
        self._name((folder, name, None))

    def _below(self, path: str) -> tuple[str, ...]:
        """The components of an absolute path below the mount point."""
        mount, parts = ([part for part in whole.split("/") if part] for whole in (self.mounted_at, path))
        if parts[: len(mount)] != mount:
            raise failure(errno.ENOENT, path)
        return tuple(parts[len(mount) :])

    def _open(self, number: int) -> int:
        # A number is never used twice, so what is used after its release is noticed.
        self._next_descriptor += 1
        self.opened[self._next_descriptor] = number
        return self._next_descriptor

    def _at(self, folder: int, name: str) -> int:
        if name == ".":
            return folder
        number = self.volume.names[folder].get(name)
        if number is None:
            raise failure(errno.ENOENT, name)
        return number

    def _folder_at(self, folder: int, name: str) -> int:
        number = self._at(folder, name)
        if number not in self.volume.names:
            raise failure(errno.ENOTDIR, name)
        return number

    def _make(self, folder: int, name: str, mode: int, *, is_folder: bool) -> int:
        if name in self.volume.names[folder]:
            raise failure(errno.EEXIST, name)
        number = len(self.volume.content)
        self.happens(Made(number, own(mode=mode), is_folder))
        self._name((folder, name, number))
        return number

    def _rename(self, folder: int, name: str, target_folder: int, target: str) -> None:
        names = self.volume.names
        number = self._at(folder, name)
        displaced = names[target_folder].get(target)
        if target_folder in numbered(names, number):
            raise failure(errno.EINVAL, target)
        if number == displaced:
            # Two names of one file: the system leaves both.
            return
        if displaced is not None:
            if displaced in names and folder in numbered(names, displaced):
                # The folder that holds the source, or one above it.
                raise failure(errno.ENOTEMPTY, target)
            if number in names and displaced not in names:
                raise failure(errno.ENOTDIR, target)
            if number not in names and displaced in names:
                raise failure(errno.EISDIR, target)
            if names.get(displaced):
                raise failure(errno.ENOTEMPTY, target)
        self._name((folder, name, None), (target_folder, target, number))

    def _name(self, *names: Assignment) -> None:
        self.happens(Named(names))

    def _change(self, descriptor: int, content: Content) -> None:
        number = self.opened[descriptor]
        if content != self.volume.content[number]:
            self.happens(Changed(number, content))

    def _status(self, number: int) -> os.stat_result:
        content = self.volume.content[number]
        folders = self.volume.names
        if number in folders:
            links = 2 + sum(below in folders for below in folders[number].values())
        else:
            links = sum(list(below.values()).count(number) for below in folders.values())
        user, group = content.owner
        times = (0, 0, 0)
        return os.stat_result((content.mode, number, DEVICE, links, user, group, len(content.data), *times))


def failure(code: int, name: str = "") -> OSError:
    """The error as the system raises it."""
    return OSError(code, os.strerror(code), name)
