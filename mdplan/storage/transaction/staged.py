"""Files that are written next to their targets and not visible yet."""

import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.durability import Durability
from mdplan.storage.fs.errors import StorageRefused, storage_errors
from mdplan.storage.fs.file_name import FileName
from mdplan.storage.fs.filesystem import FileSystem
from mdplan.storage.fs.regular_file import UNFINISHED_MODE
from mdplan.storage.transaction.file_place import StagedPlace

# So many results are written before the first of them is synced: the disk takes them together.
_OPEN_AT_ONCE: Final = 32
_ORDINARY_MODE: Final = 0o666


@dataclass(frozen=True, slots=True)
class LaterContent:
    """Content of `size` bytes that is made when it is written, so that many files are never held at a time.

    `make` raises `StorageRefused` where it cannot be made any more.
    """

    size: int
    make: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class StagedFile:
    """One file of a commit: its name, and the hex digests of its base and of `result`.

    Without a base it is created and must not exist; without a result it is deleted. A created file gets the
    owner, mode and attributes of the file `like`, which has a base in the same commit; or, when it
    `restores` what was deleted, those of the before-image of its result, where the history has one. `base`
    are the bytes of its base, if they are held.
    """

    name: FileName
    base_sha256: str | None
    result: bytes | LaterContent | None = field(repr=False)
    result_sha256: str | None
    like: FileName | None = None
    restores: bool = False
    base: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if (self.result is None) is not (self.result_sha256 is None):
            raise ValueError("a result and its digest go together")
        if self.base_sha256 is None and self.result is None:
            raise ValueError("a file that is not there cannot be deleted")

    @property
    def size(self) -> int:
        """How many bytes the result has; 0 where there is none."""
        result = self.result
        return result.size if isinstance(result, LaterContent) else len(result or b"")

    def content(self) -> bytes:
        """The bytes of the result. Raises `StorageRefused` where they cannot be made any more."""
        result = self.result
        return result.make() if isinstance(result, LaterContent) else result or b""


@dataclass(frozen=True, slots=True)
class TemplateFile:
    """A file whose owner, mode and attributes another one gets: its name in an open folder, its status."""

    folder: int
    name: str
    status: os.stat_result


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedTarget:
    """A file of a commit where it was found. `status` is that of its base, None where there is none.

    `model` is what a new file is made like; where there is none it becomes an ordinary file of the user.
    """

    file: StagedFile
    place: StagedPlace
    status: os.stat_result | None
    model: TemplateFile | None


def write_results(disk: FileSystem, targets: Sequence[StagedTarget], durability: Durability) -> None:
    """Write the result of every target to its temporary name, and sync it and its base.

    Raises `StorageRefused`: NO_SPACE, OWNER_CHANGE, PERMISSION_DENIED, IO_ERROR.
    """
    for target in targets:
        if target.file.result is None and durability is Durability.FULL:
            _sync_base(disk, target)
    written = [target for target in targets if target.file.result is not None]
    for start in range(0, len(written), _OPEN_AT_ONCE):
        _write_some(disk, written[start : start + _OPEN_AT_ONCE], durability)


def _write_some(disk: FileSystem, targets: Sequence[StagedTarget], durability: Durability) -> None:
    opened: list[tuple[StagedTarget, int]] = []
    try:
        for target in targets:
            with storage_errors(target.place.shown, "reading the attributes of"):
                attributes = _attributes(disk, target, durability)
            with storage_errors(target.place.shown, "writing beside"):
                mode = _ORDINARY_MODE if target.model is None else UNFINISHED_MODE
                descriptor = disk.create(target.place.folder, target.place.temporary, mode)
                opened.append((target, descriptor))
                disk.write(descriptor, target.file.content())
                if target.model is not None:
                    _make_like(disk, descriptor, target, target.model.status, attributes)
                if durability is Durability.FULL and len(targets) > 1:
                    disk.start_writing(descriptor)
        if durability is Durability.FULL:
            for target, descriptor in opened:
                with storage_errors(target.place.shown, "syncing the temporary file of"):
                    disk.sync(descriptor)
        while opened:
            target, descriptor = opened.pop()
            with storage_errors(target.place.shown, "writing beside"):
                disk.close(descriptor)
    finally:
        for _, descriptor in opened:
            disk.release(descriptor)


def _sync_base(disk: FileSystem, target: StagedTarget) -> None:
    with storage_errors(target.place.shown, "syncing"):
        descriptor = disk.open_file(target.place.folder, target.place.leaf)
        try:
            disk.sync(descriptor)
        finally:
            disk.release(descriptor)


def _attributes(disk: FileSystem, target: StagedTarget, durability: Durability) -> dict[str, bytes]:
    """The extended attributes that the target gets; on the way its own base, our way back, is synced."""
    if target.model is None:
        return {}
    descriptor = disk.open_file(target.model.folder, target.model.name)
    try:
        if durability is Durability.FULL and target.status is not None:
            disk.sync(descriptor)
        return disk.attributes(descriptor)
    finally:
        disk.release(descriptor)


def _make_like(
    disk: FileSystem,
    descriptor: int,
    target: StagedTarget,
    model: os.stat_result,
    attributes: dict[str, bytes],
) -> None:
    """Give the new file owner, attributes and mode of its model; the mode, which says it is whole, last."""
    made = disk.status(descriptor)
    if (made.st_uid, made.st_gid) != (model.st_uid, model.st_gid):
        try:
            disk.set_owner(descriptor, model.st_uid, model.st_gid)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EINVAL):
                raise
            problem = Diagnostic(
                code=Code.OWNER_CHANGE,
                message=f"`{target.place.shown}` would get another owner or group",
                hint="let its owner apply the plan",
                file=target.place.shown,
            )
            raise StorageRefused((problem,)) from error
    disk.set_attributes(descriptor, attributes)
    disk.set_mode(descriptor, model.st_mode)
