"""The files of a commit, where all else finds a disk: listed, read and refused by the same rules."""

import errno
import itertools
import os
import stat
import weakref
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple, TypeVar

from dulwich.errors import ApplyDeltaError, ChecksumMismatch, FileFormatException
from dulwich.object_store import iter_tree_contents, tree_lookup_path
from dulwich.objects import Blob, Commit, ObjectID, Tree

from mdplan.git.changed_files import changed_files
from mdplan.git.file_history import file_history
from mdplan.git.objects import read_object
from mdplan.git.repository import RepositoryLocation
from mdplan.storage.fs.errors import storage_errors
from mdplan.storage.fs.file_name import visible
from mdplan.storage.fs.filesystem import DirectoryEntry, FileSystem, Step
from mdplan.storage.fs.root import Root
from mdplan.storage.fs.scope import Scope
from mdplan.storage.workspace import Workspace

# Above all descriptors that a process can have, so that a call which goes past these files is refused.
_FIRST_HANDLE: Final = 1 << 30
_KEPT_TREES: Final = 64
_DAMAGED: Final = (ApplyDeltaError, ChecksumMismatch, FileFormatException)
_FOLDER_MODE: Final = stat.S_IFDIR | 0o755
_SUBMODULE: Final = 0o160000
Kind = TypeVar("Kind", Blob, Tree, Commit)


class _TreeEntry(NamedTuple):
    """An entry of a tree."""

    mode: int
    object_id: ObjectID


@dataclass(frozen=True, slots=True)
class _OpenObject:
    """A file, and how far it was read."""

    mode: int
    data: bytes
    read: int = 0


@dataclass(frozen=True, slots=True)
class CommitTree:
    """The files of one commit of the repository at `place`; every process that sees it can open them."""

    place: RepositoryLocation
    commit: ObjectID
    allow: tuple[str, ...]
    deny: tuple[str, ...]

    @property
    def identity(self) -> tuple[str, ...]:
        """The repository and its folder, and what of it is excluded; no commit."""
        return ("git", self.place.path, self.place.below, repr(self.allow), repr(self.deny))

    def stamps(self, paths: Collection[str]) -> Mapping[str, str]:
        """The mode and the blob of each file."""
        wanted, found = frozenset(paths), dict[str, str]()
        with self.place.open() as repository, suppress(OSError), _sound():
            store = repository.object_store
            top = read_object(store, self.commit)
            assert isinstance(top, Commit)
            tree = top.tree
            if self.place.below:
                _, tree = tree_lookup_path(partial(read_object, store), tree, os.fsencode(self.place.below))
            for entry in iter_tree_contents(store, tree):
                path = _decoded(entry.path)
                if path in wanted and stat.S_ISREG(entry.mode):
                    found[path] = f"{entry.mode:o} {entry.sha.decode()}"
        return found

    def open(self) -> Workspace:
        """The files. Raises `StorageRefused` for a repository that cannot be opened."""
        scope = Scope.of(self.allow, self.deny)
        filesystem = CommitFileSystem(self)
        path = self.place.path
        with storage_errors(visible(self.place.below or path), "opening in the commit the folder"):
            descriptor = filesystem.open_root(path)
        return Workspace((Root("", path, path, descriptor, scope, filesystem),))

    def of_repository(self) -> "CommitTree":
        """All files of the commit, also those outside the root."""
        return CommitTree(replace(self.place, below=""), self.commit, (), ())

    def changed_since(self, reference: str) -> frozenset[str]:
        """Paths of the files that differ from the commit `reference`. Raises `StorageRefused`."""
        return changed_files(self.place, reference, self.commit)

    def history(self, paths: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
        """What git knows of the files at `paths` up to this commit. Raises `StorageRefused`."""
        return file_history(self.place, paths, self.commit)


class CommitFileSystem(FileSystem):
    """The disk that a commit would be if it were checked out where it says. Nothing can be written.

    Blobs are files with their executable bit, links are links; a submodule is a folder that cannot be
    entered. Content is that of the blobs: no filter and no line end of `.gitattributes` is applied. What the
    repository lacks, as a partial clone does, is EIO.
    """

    def __init__(self, tree: CommitTree) -> None:
        super().__init__()
        self._repository = tree.place.opened()
        # Planners are kept as long as their thread, and that may be the end of the process.
        self._close = weakref.finalize(self, self._repository.close)
        self._commit = tree.commit
        self._below = tree.place.below
        self._numbers = itertools.count(_FIRST_HANDLE)
        self._folders: dict[int, ObjectID] = {}
        self._files: dict[int, _OpenObject] = {}
        self._root: int | None = None
        self._entries = lru_cache(_KEPT_TREES)(self._read_tree)
        # A file is examined before it is read.
        self._content = lru_cache(1)(self._read_blob)

    def open_root(self, path: str) -> int:
        """Open the root folder; `path` is the repository, which is open. Releasing it closes that."""
        del path
        self.reach(Step.OPEN_ROOT)
        try:
            self._root = self._handle(self._root_tree())
        except OSError:
            self._close()
            raise
        return self._root

    def open_directory(self, directory: int, name: str) -> int:
        """Open the folder `name`; a link or file in its place is ENOTDIR, a submodule EXDEV."""
        self.reach(Step.OPEN_DIRECTORY)
        if name == ".":
            return self._handle(self._folder(directory))
        found = self._find(directory, name)
        if found.mode == _SUBMODULE:
            raise _error(errno.EXDEV)
        if not stat.S_ISDIR(found.mode):
            raise _error(errno.ENOTDIR)
        return self._handle(found.object_id)

    def open_file(self, directory: int, name: str) -> int:
        """Open `name` for reading; a link in its place is ELOOP."""
        self.reach(Step.OPEN_FILE)
        found = self._find(directory, name)
        if not stat.S_ISREG(found.mode):
            raise _error(errno.ELOOP if stat.S_ISLNK(found.mode) else errno.EISDIR)
        number = next(self._numbers)
        self._files[number] = _OpenObject(found.mode, self._content(found.object_id))
        return number

    def status(self, descriptor: int) -> os.stat_result:
        """The status of an open file or folder."""
        self.reach(Step.STATUS)
        opened = self._files.get(descriptor)
        if opened is not None:
            return self._status(opened.mode, len(opened.data))
        self._folder(descriptor)
        return self._status(_FOLDER_MODE, 0)

    def status_of(self, directory: int, name: str) -> os.stat_result:
        """The status of `name`, of the link itself where it is one."""
        self.reach(Step.STATUS)
        found = self._find(directory, name)
        if stat.S_ISDIR(found.mode) or found.mode == _SUBMODULE:
            return self._status(_FOLDER_MODE, 0)
        return self._status(found.mode, len(self._content(found.object_id)))

    def read(self, descriptor: int, size: int) -> bytes:
        """Read up to `size` bytes; fewer only at the end of the file."""
        self.reach(Step.READ)
        opened = self._files[descriptor]
        data = opened.data[opened.read : opened.read + size]
        self._files[descriptor] = _OpenObject(opened.mode, opened.data, opened.read + len(data))
        return data

    def read_link(self, directory: int, name: str) -> str:
        """Where the link `name` points to, as it is written in it."""
        self.reach(Step.READ_LINK)
        found = self._find(directory, name)
        if not stat.S_ISLNK(found.mode):
            raise _error(errno.EINVAL)
        return _decoded(self._content(found.object_id))

    def list_files(self, directory: int) -> list[str]:
        """The names of the regular files in the folder, in no order."""
        return [entry.name for entry in self.list(directory) if entry.is_file]

    def list(self, directory: int) -> list[DirectoryEntry]:
        """What the folder holds; a submodule is neither folder nor file."""
        self.reach(Step.LIST)
        entries = self._entries(self._folder(directory)).items()
        return [
            DirectoryEntry(name, stat.S_ISDIR(found.mode), stat.S_ISREG(found.mode))
            for name, found in entries
        ]

    def may_write(self, directory: int, name: str) -> bool:
        """Whether a commit could replace `name`: any."""
        del directory, name
        self.reach(Step.MAY_WRITE)
        return True

    def release(self, descriptor: int) -> None:
        """Close a file or folder; with the root the repository."""
        self._files.pop(descriptor, None)
        self._folders.pop(descriptor, None)
        if descriptor == self._root:
            self._close()

    def _handle(self, tree: ObjectID) -> int:
        number = next(self._numbers)
        self._folders[number] = tree
        return number

    def _folder(self, descriptor: int) -> ObjectID:
        if descriptor not in self._folders:
            raise _error(errno.EBADF)
        return self._folders[descriptor]

    def _find(self, directory: int, name: str) -> _TreeEntry:
        found = self._entries(self._folder(directory)).get(name)
        if found is None:
            raise _error(errno.ENOENT)
        return found

    def _root_tree(self) -> ObjectID:
        commit = self._object(self._commit, Commit)
        if not self._below:
            return ObjectID(commit.tree)
        try:
            mode, found = tree_lookup_path(
                partial(read_object, self._repository.object_store), commit.tree, os.fsencode(self._below)
            )
        except (KeyError, ValueError) as error:
            raise _error(errno.ENOENT) from error
        if not stat.S_ISDIR(mode):
            raise _error(errno.ENOTDIR)
        return ObjectID(found)

    def _read_tree(self, tree: ObjectID) -> dict[str, _TreeEntry]:
        with _sound():
            entries = self._object(tree, Tree).items()
        return {_decoded(entry.path): _TreeEntry(entry.mode, entry.sha) for entry in entries}

    def _read_blob(self, blob: ObjectID) -> bytes:
        return self._object(blob, Blob).data

    def _object(self, name: ObjectID, kind: type[Kind]) -> Kind:
        with _sound():
            found = read_object(self._repository.object_store, name)
        if not isinstance(found, kind):
            raise _error(errno.EIO)
        return found

    def _status(self, mode: int, size: int) -> os.stat_result:
        # The identity does not matter: no two names of a tree are one file.
        return os.stat_result((mode, 0, 0, 1, os.geteuid(), os.getegid(), size, 0, 0, 0))


@contextmanager
def _sound() -> Iterator[None]:
    """Objects that are missing or damaged are EIO."""
    try:
        yield
    except (KeyError, ValueError, AssertionError, zlib.error, *_DAMAGED) as error:
        raise _error(errno.EIO) from error


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
