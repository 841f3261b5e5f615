"""The files of a commit, where all else finds a disk: listed, read and refused by the same rules."""

import errno
import hashlib
import itertools
import os
import stat
import struct
import subprocess
import weakref
import zlib
from collections.abc import Callable, Collection, Mapping
from contextlib import closing, suppress
from functools import lru_cache, partial
from typing import IO, Any, Final, NamedTuple, TypeAlias

from mdplan.documents.workspace import Workspace, scope_of
from mdplan.git import repository
from mdplan.storage.filesystem import DirectoryEntry, FileSystem, Step, storage_errors
from mdplan.storage.root import Root
from mdplan.text.visible import visible
from mdplan.values import Struct, replace

# Above all descriptors that a process can have, so that a call which goes past these files is refused.
_FIRST_HANDLE: Final = 1 << 30
# As deep as folders usually are and more: each is found from the root.
_KEPT_TREES: Final = 512
_MOST_LISTED: Final = 1_000_000
FOLDER: Final = stat.S_IFDIR
_FOLDER_MODE: Final = FOLDER | 0o755
_SUBMODULE: Final = 0o160000
_ID_BYTES: Final = 20
# The kinds of objects by their numbers in packs.
_KINDS: Final = {"tree": 2, "blob": 3}
# A `git gc` took away the folder for an object, which was empty until then.
FOLDER_GONE: Final = b"unable to create temporary file"
_MOST_TRIES: Final = 20
AddObject: TypeAlias = "Callable[[str, bytes], str]"


class TreeEntry(NamedTuple):
    """An entry of a tree: the mode, and the ID of the object."""

    mode: int
    name: str


class Objects:
    """The objects of the repository at `place`, as one process of `git cat-file` tells them.

    Git finds those that are repacked meanwhile. Every method raises `OSError` (EIO) for an object that is
    missing, as in a partial clone, or damaged, or of another kind.
    """

    def __init__(self, place: repository.RepositoryLocation) -> None:
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None
        self.tree = lru_cache(_KEPT_TREES)(self._read_tree)

    def close(self) -> None:
        """End the process; the next question starts another one."""
        process, self._process = self._process, None
        if process is not None:
            # Of a process that the parent of this one started, only the pipes are closed.
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
        # The name, the kind and the size; one without these is missing.
        found, size, data = told.readline().split(), 0, b""
        if found[2:]:
            size = int(found[2])
            data = told.read(size + 1)[:-1]
        if not found or len(data) < size:
            # Git ends where it meets a damaged object.
            self.close()
        if found[:2] != [name.encode(), kind.encode()] or len(data) < size:
            raise _error(errno.EIO)
        return data

    def tree_of(self, commit: str) -> str:
        """Return the ID of the tree of a commit."""
        return self.read(commit, "commit").partition(b"\n")[0].removeprefix(b"tree ").decode()

    def find(self, tree: str, path: str) -> TreeEntry | None:
        """Return the entry at `path` below the folder `tree`, of which an empty path names itself."""
        found: TreeEntry | None = TreeEntry(FOLDER, tree)
        for name in filter(None, path.split("/")):
            if found is None or not stat.S_ISDIR(found.mode):
                return None
            found = self.tree(found.name).get(name)
        return found

    def _read_tree(self, tree: str) -> dict[str, TreeEntry]:
        data, at = self.read(tree, "tree"), 0
        entries: dict[str, TreeEntry] = {}
        try:
            while at < len(data):
                space = data.index(b" ", at)
                end = data.index(b"\0", space) + 1
                name = data[end : end + _ID_BYTES].hex()
                entries[_decoded(data[space + 1 : end - 1])] = TreeEntry(int(data[at:space], 8), name)
                at = end + _ID_BYTES
        except ValueError as error:
            raise _error(errno.EIO) from error
        return entries


def tree_data(entries: Mapping[str, TreeEntry]) -> bytes:
    """Return the content of a tree with these `entries`."""
    # Git sorts folders as if their names ended in a slash.
    encoded = {
        (b"%s/" % _encoded(name) if stat.S_ISDIR(entry.mode) else _encoded(name)): entry
        for name, entry in entries.items()
    }
    return b"".join(
        b"%o %s\0%s" % (entry.mode, name.removesuffix(b"/"), bytes.fromhex(entry.name))
        for name, entry in sorted(encoded.items())
    )


def write_objects(place: repository.RepositoryLocation, count: int, write: Callable[[AddObject], str]) -> str:
    """Let `write` add `count` objects to the repository, each a kind and its content; return what it returns.

    They are loose objects, which no repack removes before something names them, and are on the disk when this
    returns. `write` is called again where a repack came in between. Raises `StorageRefused`: IO_ERROR, and
    what `write` raises.
    """
    for left in reversed(range(_MOST_TRIES)):
        made = ""
        with repository.start_git(place.path, "unpack-objects", "-q") as process:
            assert process.stdin is not None
            pack = Pack(process.stdin)
            try:
                # Where git has ended early, it says why.
                with suppress(BrokenPipeError):
                    pack.put(struct.pack(">4sII", b"PACK", 2, count))
                    made = write(pack.add)
                    process.stdin.write(pack.checksum.digest())
                said = process.communicate()[1]
            except BaseException:
                process.kill()
                process.communicate()
                raise
        if process.returncode == 0:
            return made
        if FOLDER_GONE not in said or not left:
            done = subprocess.CompletedProcess(["unpack-objects"], process.returncode, b"", said)
            raise repository.git_failed(done, repository.FSCK)
    raise AssertionError


class Pack:
    """A pack that is written to `file`."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.checksum = hashlib.sha1(usedforsecurity=False)

    def put(self, data: bytes) -> None:
        """Write `data` as it is."""
        self.checksum.update(data)
        self._file.write(data)

    def add(self, kind: str, data: bytes) -> str:
        """Write an object, and return its ID."""
        # Its kind and its size, seven bits a byte.
        rest, head = len(data) >> 4, bytearray([_KINDS[kind] << 4 | len(data) & 15])
        while rest:
            head[-1] |= 0x80
            head.append(rest & 0x7F)
            rest >>= 7
        self.put(bytes(head) + zlib.compress(data, 1))
        return hashlib.sha1(f"{kind} {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()


class _OpenObject(Struct):
    """A file, and how far it was read."""

    mode: int
    data: bytes
    read: int = 0


class CommitTree(Struct):
    """The files of one commit of the repository at `place`; every process that sees it can open them."""

    place: repository.RepositoryLocation
    commit: str
    allow: tuple[str, ...]
    deny: tuple[str, ...]

    @property
    def identity(self) -> tuple[str, ...]:
        """The repository and its folder, and what of it is excluded; no commit."""
        return ("git", self.place.path, self.place.below, repr(self.allow), repr(self.deny))

    def stamps(self, paths: Collection[str]) -> Mapping[str, str]:
        """Return the mode and the blob of each file."""
        found = dict[str, str]()
        with closing(Objects(self.place)) as objects, suppress(OSError):
            tree = objects.tree_of(self.commit)
            for path in paths:
                entry = objects.find(tree, self.place.within(path))
                if entry is not None and stat.S_ISREG(entry.mode):
                    found[path] = f"{entry.mode:o} {entry.name}"
        return found

    def open(self) -> Workspace:
        """The files. Raises `StorageRefused` for a repository that cannot be opened."""
        scope = scope_of(self.allow, self.deny)
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
        return repository.changed_files(self.place, reference, self.commit)

    def history(self, paths: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
        """What git knows of the files at `paths` up to this commit. Raises `StorageRefused`."""
        return repository.file_history(self.place, paths, self.commit)


class CommitFileSystem(FileSystem):
    """The disk that a commit would be if it were checked out where it says. Nothing can be written.

    Blobs are files with their executable bit, links are links; a submodule is a folder that cannot be
    entered. Content is that of the blobs: no filter and no line end of `.gitattributes` is applied. What the
    repository lacks, as a partial clone does, is EIO.
    """

    # Nine tree objects can contain each other a billion times.
    most_listed = _MOST_LISTED

    def __init__(self, tree: CommitTree) -> None:
        super().__init__()
        self._objects = Objects(tree.place)
        # Planners are kept as long as their thread, and that may be the end of the process.
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
        """Open the root folder; `path` is the repository. Releasing it ends the reading of objects."""
        del path
        self.before(Step.OPEN_ROOT)
        try:
            self._root = self._handle(self._root_tree())
        except OSError:
            self._close()
            raise
        return self._root

    def open_directory(self, directory: int, name: str) -> int:
        """Open the folder `name`; a link or file in its place is ENOTDIR, a submodule EXDEV."""
        self.before(Step.OPEN_DIRECTORY)
        if name == ".":
            return self._handle(self._folder(directory))
        found = self._find(directory, name)
        if found.mode == _SUBMODULE:
            raise _error(errno.EXDEV)
        if not stat.S_ISDIR(found.mode):
            raise _error(errno.ENOTDIR)
        return self._handle(found.name)

    def open_file(self, directory: int, name: str) -> int:
        """Open `name` for reading; a link in its place is ELOOP."""
        self.before(Step.OPEN_FILE)
        found = self._find(directory, name)
        if not stat.S_ISREG(found.mode):
            raise _error(errno.ELOOP if stat.S_ISLNK(found.mode) else errno.EISDIR)
        number = next(self._numbers)
        self._files[number] = _OpenObject(found.mode, self._content(found.name))
        return number

    def status(self, descriptor: int) -> os.stat_result:
        """The status of an open file or folder."""
        self.before(Step.STATUS)
        opened = self._files.get(descriptor)
        if opened is not None:
            return self._status(opened.mode, len(opened.data))
        self._folder(descriptor)
        return self._status(_FOLDER_MODE, 0)

    def status_of(self, directory: int, name: str) -> os.stat_result:
        """The status of `name`, of the link itself where it is one."""
        self.before(Step.STATUS)
        found = self._find(directory, name)
        if stat.S_ISDIR(found.mode) or found.mode == _SUBMODULE:
            return self._status(_FOLDER_MODE, 0)
        return self._status(found.mode, len(self._content(found.name)))

    def read(self, descriptor: int, size: int) -> bytes:
        """Read up to `size` bytes; fewer only at the end of the file."""
        self.before(Step.READ)
        opened = self._files[descriptor]
        data = opened.data[opened.read : opened.read + size]
        self._files[descriptor] = _OpenObject(opened.mode, opened.data, opened.read + len(data))
        return data

    def read_link(self, directory: int, name: str) -> str:
        """Where the link `name` points to, as it is written in it."""
        self.before(Step.READ_LINK)
        found = self._find(directory, name)
        if not stat.S_ISLNK(found.mode):
            raise _error(errno.EINVAL)
        return _decoded(self._content(found.name))

    def list(self, directory: int) -> list[DirectoryEntry]:
        """Return what the folder holds; a submodule is neither folder nor file.

        Raises `StorageRefused` (IO_ERROR) for a damaged or missing one, which nobody takes for an empty one.
        """
        self.before(Step.LIST)
        with storage_errors(visible(self._below or "."), "reading in the commit a folder of"):
            entries = self._objects.tree(self._folder(directory)).items()
        return [
            DirectoryEntry(name, stat.S_ISDIR(found.mode), stat.S_ISREG(found.mode))
            for name, found in entries
        ]

    def may_write(self, directory: int, name: str) -> bool:
        """Whether a commit could replace `name`: any."""
        del directory, name
        self.before(Step.MAY_WRITE)
        return True

    def release(self, descriptor: int) -> None:
        """Close a file or folder; with the root the repository."""
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
        found = self._objects.tree(self._folder(directory)).get(name)
        if found is None:
            raise _error(errno.ENOENT)
        return found

    def _root_tree(self) -> str:
        found = self._objects.find(self._objects.tree_of(self._commit), self._below)
        if found is None or not stat.S_ISDIR(found.mode):
            raise _error(errno.ENOENT if found is None else errno.ENOTDIR)
        return found.name

    def _status(self, mode: int, size: int) -> os.stat_result:
        # The identity does not matter: no two names of a tree are one file.
        return os.stat_result((mode, 0, 0, 1, os.geteuid(), os.getegid(), size, 0, 0, 0))


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")
