"""Files that are written beside their targets and not visible yet."""

import errno
import hashlib
import os
from dataclasses import dataclass, field, replace
from enum import StrEnum

from mdplan.diagnostics import Code, Diagnostic, Problems, Severity
from mdplan.storage.filesystem import FileSystem
from mdplan.storage.leaf import read_leaf
from mdplan.storage.refusal import StorageRefused, of_error, refusing
from mdplan.storage.root import Root


class Durability(StrEnum):
    """What a commit survives: the loss of power, or only the death of the process (nothing is synced)."""

    FULL = "full"
    PROCESS = "process"


@dataclass(frozen=True, slots=True)
class StagedFile:
    """One file to replace: its path below the root, and the hex digests of its base and of `result`."""

    path: str
    base_sha256: str
    result: bytes = field(repr=False)
    result_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A file to replace, as it was found: in the open `folder`, with its status and digest."""

    file: StagedFile
    folder: int
    leaf: str
    shown: str
    status: os.stat_result
    found_sha256: str

    @property
    def identity(self) -> tuple[int, int]:
        """The device and inode, equal for two names of one file."""
        return self.status.st_dev, self.status.st_ino


@dataclass(frozen=True, slots=True)
class Replacement:
    """A target and the name, in its folder, under which its result waits."""

    target: Target
    temporary: str


class Staged:
    """What a commit has written so far, and what of it has to be removed again.

    Only folders are held open. `replacements` are in the order in which they will be published.
    """

    def __init__(self, root: Root, durability: Durability, max_bytes: int) -> None:
        self.root = root
        self.durability = durability
        self.max_bytes = max_bytes
        self.replacements: list[Replacement] = []
        self._folders: dict[str, int] = {}
        self._temporary: dict[tuple[int, str], str] = {}
        self._token = os.urandom(8).hex()
        self._made = 0

    @property
    def filesystem(self) -> FileSystem:
        """The disk that the root is on."""
        return self.root.filesystem

    def find(self, file: StagedFile) -> Target | Diagnostic:
        """Read the file that `file` is to replace; its folder stays open. Errors: those of `Root.read`."""
        path = self.root.canonical(file.path)
        if isinstance(path, Diagnostic):
            return path
        parent, _, leaf = path.rpartition("/")
        if parent not in self._folders:
            opened = self.root.open_folder(parent)
            if isinstance(opened, Diagnostic):
                return replace(opened, file=self.root.show(path))
            self._folders[parent] = opened
        folder = self._folders[parent]
        shown = self.root.show(path)
        found = read_leaf(self.filesystem, folder, leaf, shown, self.max_bytes)
        if isinstance(found, Diagnostic):
            return self.root.explained(found, folder, path)
        digest = hashlib.sha256(found.data).hexdigest()
        return Target(
            file=file, folder=folder, leaf=leaf, shown=shown, status=found.status, found_sha256=digest
        )

    def add(self, target: Target) -> None:
        """Write the result for `target` beside it; raises `StorageRefused`."""
        self.replacements.append(Replacement(target, self.write_beside(target, target.file.result)))

    def write_beside(self, target: Target, data: bytes) -> str:
        """Write `data` to a new file beside `target`, with that file's owner, mode and attributes; its name.

        Raises `StorageRefused`.
        """
        with refusing(target.shown, "reading the attributes of"):
            attributes = self._attributes(target)
        name = self.name_beside(target)
        with refusing(target.shown, "writing beside"):
            descriptor = self.filesystem.create(target.folder, name)
            try:
                self.filesystem.write(descriptor, data)
                self._set_owner(descriptor, target)
                self.filesystem.set_attributes(descriptor, attributes)
                self.filesystem.set_mode(descriptor, target.status.st_mode)
                if self.durability is Durability.FULL:
                    self.filesystem.sync(descriptor)
            except BaseException:
                self.filesystem.release(descriptor)
                raise
            self.filesystem.close(descriptor)
        return name

    def name_beside(self, target: Target) -> str:
        """A new name in the folder of `target`, which `discard` will remove if it exists then."""
        self._made += 1
        name = f".mdplan-{self._token}-{self._made}.tmp"
        self._temporary[target.folder, name] = target.shown
        return name

    def keep(self, target: Target, name: str) -> None:
        """Let `discard` leave `name`, in the folder of `target`, as it is."""
        del self._temporary[target.folder, name]

    def sync_folders(self) -> bool:
        """Wait until the names in all folders are on the disk; False where that was not asked or cannot be.

        Raises `StorageRefused`.
        """
        if self.durability is not Durability.FULL:
            return False
        synced = True
        for parent, folder in self._folders.items():
            with refusing(self.root.show(parent or "."), "syncing the folder"):
                synced = self.filesystem.sync_directory(folder) and synced
        return synced

    def discard(self) -> Problems:
        """Remove what is not in place and close the folders; a warning for each file that had to stay."""
        stayed: list[Diagnostic] = []
        for (folder, name), shown in self._temporary.items():
            try:
                self.filesystem.unlink(folder, name)
            except FileNotFoundError:
                continue
            except OSError as error:
                hint = f"remove `{name}` in its folder"
                stayed.append(replace(of_error(error, shown, "cleaning up beside"), hint=hint))
        for folder in self._folders.values():
            self.filesystem.release(folder)
        self._temporary.clear()
        self._folders.clear()
        return tuple(replace(problem, severity=Severity.WARNING) for problem in stayed)

    def _attributes(self, target: Target) -> dict[str, bytes]:
        """The extended attributes of the target; on the way its content, our way back, is synced."""
        descriptor = self.filesystem.open_file(target.folder, target.leaf)
        try:
            if self.durability is Durability.FULL:
                self.filesystem.sync(descriptor)
            return self.filesystem.attributes(descriptor)
        finally:
            self.filesystem.release(descriptor)

    def _set_owner(self, descriptor: int, target: Target) -> None:
        wanted = target.status.st_uid, target.status.st_gid
        made = self.filesystem.status(descriptor)
        if (made.st_uid, made.st_gid) == wanted:
            return
        try:
            self.filesystem.set_owner(descriptor, *wanted)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EINVAL):
                raise
            problem = Diagnostic(
                code=Code.OWNER_CHANGE,
                message=f"`{target.shown}` would get another owner or group",
                hint="let its owner apply the plan",
                file=target.shown,
            )
            raise StorageRefused((problem,)) from error
