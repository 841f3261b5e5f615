"""The files of a commit, in place of a disk, under the same rules."""

import errno
import itertools
import os
import stat
import subprocess
import weakref
from collections.abc import Collection, Mapping
from contextlib import closing, suppress
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

from mdplan.documents.workspace import Workspace, scope_of
from mdplan.git import repository
from mdplan.git.repository import decoded
from mdplan.storage.filesystem import DirectoryEntry, FileSystem, Step, storage_errors
from mdplan.storage.local import own_ids
from mdplan.storage.root import Root
from mdplan.text.visible import visible
from mdplan.values import Struct, replace

# Higher than any descriptor of a process, so that system calls on these handles fail.
_FIRST_HANDLE: Final = 1 << 30
# More than the usual number of folders: every lookup starts at the root.
_KEPT_TREES: Final = 512
_MOST_LISTED: Final = 1_000_000
FOLDER: Final = stat.S_IFDIR
_FOLDER_MODE: Final = FOLDER | 0o755
_SUBMODULE: Final = 0o160000
_ID_BYTES: Final = 20


class TreeEntry(NamedTuple):
    """An entry of a tree: mode and object ID."""

    mode: int
    name: str


class Objects:
    """The objects of the repository at `place`, read through one `git cat-file` process.

    git also finds objects that are repacked meanwhile. Methods raise `OSError` (EIO) for an object that is
    missing, as in a partial clone, damaged, or of another type.
    """

    def __init__(self, place: repository.RepositoryLocation) -> None:
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None
        self.tree = lru_cache(_KEPT_TREES)(self._read_tree)

    def close(self) -> None:
        """End the process; the next read starts another one."""
        process, self._process = self._process, None
        if process is not None:
            # After a fork, close only the pipes of the parent's process.
            with suppress(BrokenPipeError), process:
                process.kill()

    def read(self, name: str, kind: str) -> bytes:
        """Return the content of an object."""
        if self._process is None:
            self._process = repository.start_git(
                self._place.path, "cat-file", "--batch", stderr=subprocess.DEVNULL
            )
        asked, told = self._process.stdin, self._process.stdout
        assert asked is not None
        assert told is not None
        with suppress(BrokenPipeError):
            asked.write(f"{name}\n".encode())
            asked.flush()
        # Name, type and size; less means that the object is missing.
        found, size, data = told.readline().split(), 0, b""
        if found[2:]:
            size = int(found[2])
            data = told.read(size + 1)[:-1]
        if not found or len(data) < size:
            # git exits at a damaged object.
            self.close()
        if found[:2] != [name.encode(), kind.encode()] or len(data) < size:
            raise _error(errno.EIO)
        return data

    def tree_of(self, commit: str) -> str:
        """Return the tree ID of a commit."""
        return self.read(commit, "commit").partition(b"\n")[0].removeprefix(b"tree ").decode()

    def find(self, tree: str, path: str) -> TreeEntry | None:
        """Return the entry at `path` below `tree`; an empty path is `tree` itself."""
        entry: TreeEntry | None = TreeEntry(FOLDER, tree)
        for name in filter(None, path.split("/")):
            if entry is None or not stat.S_ISDIR(entry.mode):
                return None
            entry = self.tree(entry.name).get(name)
        return entry

    def _read_tree(self, tree: str) -> dict[str, TreeEntry]:
        data, at = self.read(tree, "tree"), 0
        entries: dict[str, TreeEntry] = {}
        try:
            while at < len(data):
                space = data.index(b" ", at)
                end = data.index(b"\0", space) + 1
                name = data[end : end + _ID_BYTES].hex()
                entries[decoded(data[space + 1 : end - 1])] = TreeEntry(int(data[at:space], 8), name)
                at = end + _ID_BYTES
        except ValueError as error:
            raise _error(errno.EIO) from error
        return entries


class _OpenObject(Struct):
    """A file and its read position."""

    mode: int
    data: bytes
    read: int = 0


class CommitTree(Struct):
    """The files of a commit, which any process with access to the repository can open."""

    place: repository.RepositoryLocation
    commit: str
    allow: tuple[str, ...]
    deny: tuple[str, ...]

    @property
    def identity(self) -> tuple[str, ...]:
        """The repository, its folder and its globs, without the commit."""
        return ("git", self.place.path, self.place.below, repr(self.allow), repr(self.deny))

    @property
    def at(self) -> tuple[repository.RepositoryLocation, str]:
        """The repository and the commit."""
        return self.place, self.commit

    def stamps(self, paths: Collection[str]) -> Mapping[str, str]:
        """Return mode and blob ID of each file."""
        stamps = dict[str, str]()
        with closing(Objects(self.place)) as objects, suppress(OSError):
            tree = objects.tree_of(self.commit)
            for path in paths:
                entry = objects.find(tree, self.place.within(path))
                if entry is not None and stat.S_ISREG(entry.mode):
                    stamps[path] = f"{entry.mode:o} {entry.name}"
        return stamps

    def open(self) -> Workspace:
        """Open the files. Raise `StorageRefused`."""
        scope = scope_of(self.allow, self.deny)
        filesystem = CommitFileSystem(self)
        path = self.place.path
        with storage_errors(visible(self.place.below or path), "opening in the commit the folder"):
            descriptor = filesystem.open_root(path)
        return Workspace((Root("", path, path, descriptor, scope, filesystem),))

    def of_repository(self) -> "CommitTree":
        """Return all files of the commit, also outside the root."""
        return CommitTree(replace(self.place, below=""), self.commit, (), ())

    def changed_since(self, reference: str) -> frozenset[str]:
        """Return the paths of files that differ from commit `reference`. Raise `StorageRefused`."""
        return repository.changed_files(self.place, reference, self.commit)

    def history(self, paths: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
        """Return git's facts about the files at `paths` up to this commit. Raise `StorageRefused`."""
        return repository.file_history(self.place, paths, self.commit)


class CommitFileSystem(FileSystem):
    """A read-only view of a commit as if it were checked out.

    Blobs are files with their executable bit, links are links; a submodule is a folder that cannot be
    entered. Content is verbatim, without filters or newline conversion from `.gitattributes`. Objects missing
    in a partial clone are EIO.
    """

    # Nine nested tree objects can contain a billion files.
    most_listed = _MOST_LISTED

    def __init__(self, tree: CommitTree) -> None:
        super().__init__()
        self._objects = Objects(tree.place)
        # Planners live as long as their thread, perhaps until the process ends.
        self._close = weakref.finalize(self, self._objects.close)
        self._commit = tree.commit
        self._below = tree.place.below
        self._numbers = itertools.count(_FIRST_HANDLE)
        self._folders: dict[int, str] = {}
        self._files: dict[int, _OpenObject] = {}
        self._root: int | None = None
        # A file is examined before it is read.
        self._content = lru_cache(1)(partial(self._objects.read, kind="blob"))

    def open_root(self, path: str) -> int:
        """Open the root folder; `path` is the repository. Releasing it stops git."""
        del path
        self.before(Step.OPEN_ROOT)
        try:
            self._root = self._handle(self._root_tree())
        except OSError:
            self._close()
            raise
        return self._root

    def open_directory(self, directory: int, name: str) -> int:
        """Open the folder `name`; ENOTDIR for a link or file, EXDEV for a submodule."""
        self.before(Step.OPEN_DIRECTORY)
        if name == ".":
            return self._handle(self._folder(directory))
        entry = self._find(directory, name)
        if entry.mode == _SUBMODULE:
            raise _error(errno.EXDEV)
        if not stat.S_ISDIR(entry.mode):
            raise _error(errno.ENOTDIR)
        return self._handle(entry.name)

    def open_file(self, directory: int, name: str) -> int:
        """Open `name` for reading; ELOOP for a link."""
        self.before(Step.OPEN_FILE)
        entry = self._find(directory, name)
        if not stat.S_ISREG(entry.mode):
            raise _error(errno.ELOOP if stat.S_ISLNK(entry.mode) else errno.EISDIR)
        number = next(self._numbers)
        self._files[number] = _OpenObject(entry.mode, self._content(entry.name))
        return number

    def status(self, descriptor: int) -> os.stat_result:
        """Return the status of an open file or folder."""
        self.before(Step.STATUS)
        opened = self._files.get(descriptor)
        if opened is not None:
            return self._status(opened.mode, len(opened.data))
        self._folder(descriptor)
        return self._status(_FOLDER_MODE, 0)

    def status_of(self, directory: int, name: str) -> os.stat_result:
        """Return the status of `name` without following links."""
        self.before(Step.STATUS)
        entry = self._find(directory, name)
        if stat.S_ISDIR(entry.mode) or entry.mode == _SUBMODULE:
            return self._status(_FOLDER_MODE, 0)
        return self._status(entry.mode, len(self._content(entry.name)))

    def read(self, descriptor: int, size: int) -> bytes:
        """Read up to `size` bytes; fewer only at the end of the file."""
        self.before(Step.READ)
        opened = self._files[descriptor]
        data = opened.data[opened.read : opened.read + size]
        self._files[descriptor] = _OpenObject(opened.mode, opened.data, opened.read + len(data))
        return data

    def read_link(self, directory: int, name: str) -> str:
        """Return the target of the link `name`, verbatim."""
        self.before(Step.READ_LINK)
        entry = self._find(directory, name)
        if not stat.S_ISLNK(entry.mode):
            raise _error(errno.EINVAL)
        return decoded(self._content(entry.name))

    def list(self, directory: int) -> list[DirectoryEntry]:
        """Return the entries of the folder; a submodule is neither folder nor file.

        Raise `StorageRefused` (IO_ERROR) for a damaged or missing tree, never treating it as empty.
        """
        self.before(Step.LIST)
        with storage_errors(visible(self._below or "."), "reading in the commit a folder of"):
            entries = self._objects.tree(self._folder(directory)).items()
        return [
            DirectoryEntry(name, stat.S_ISDIR(found.mode), stat.S_ISREG(found.mode))
            for name, found in entries
        ]

    def may_write(self, directory: int, name: str) -> bool:
        """Return True: a commit can replace any file."""
        del directory, name
        self.before(Step.MAY_WRITE)
        return True

    def release(self, descriptor: int) -> None:
        """Close a file or folder; closing the root stops git."""
        self._files.pop(descriptor, None)
        self._folders.pop(descriptor, None)
        if descriptor == self._root:
            self._close()

    def _handle(self, tree: str) -> int:
        number = next(self._numbers)
        self._folders[number] = tree
        return number

    def _folder(self, descriptor: int) -> str:
        if descriptor not in self._folders:
            raise _error(errno.EBADF)
        return self._folders[descriptor]

    def _find(self, directory: int, name: str) -> TreeEntry:
        entry = self._objects.tree(self._folder(directory)).get(name)
        if entry is None:
            raise _error(errno.ENOENT)
        return entry

    def _root_tree(self) -> str:
        entry = self._objects.find(self._objects.tree_of(self._commit), self._below)
        if entry is None or not stat.S_ISDIR(entry.mode):
            raise _error(errno.ENOENT if entry is None else errno.ENOTDIR)
        return entry.name

    def _status(self, mode: int, size: int) -> os.stat_result:
        # The identity is irrelevant: a tree has no hard links.
        return os.stat_result((mode, 0, 0, 1, *own_ids(), size, 0, 0, 0))


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
