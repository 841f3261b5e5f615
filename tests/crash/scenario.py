"""Commits to crash: files before, changes, and the kind of disk."""

import hashlib
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field

from mdplan.storage.commit import StagedFile
from mdplan.storage.files import FileName
from mdplan.storage.filesystem import Durability
from tests.crash.model_disk import own
from tests.crash.volume import Content, Volume, numbers_of

PRIVATE = stat.S_IFREG | 0o640


@dataclass(frozen=True, slots=True)
class Change:
    """The change of a file: without `old`, it is created; without `new`, it is deleted."""

    path: str
    old: bytes | None
    new: bytes | None
    like: str | None = None

    def staged(self) -> StagedFile:
        """The change as a commit takes it."""
        return StagedFile(
            FileName("", self.path),
            digest(self.old),
            self.new,
            digest(self.new),
            like=None if self.like is None else FileName("", self.like),
        )


@dataclass(frozen=True, slots=True)
class Scenario:
    """A commit of `changes` after `earlier` ones. `others` exist before and after.

    `removed_folders` are empty after the commit, which removes them.

    Without `synced_bases` the author of the files has not synced them; without `synced_earlier` a power loss
    can still revert unsynced parts of the earlier commits. With `tries_exchange` each process begins by
    testing whether the disk can exchange files.
    """

    name: str
    changes: tuple[Change, ...]
    earlier: tuple[tuple[Change, ...], ...] = ()
    removed_folders: tuple[str, ...] = ()
    others: Mapping[str, bytes] = field(default_factory=lambda: {"other.md": b"other\n"})
    exchange: bool = True
    links: bool = True
    torn_moves: bool = False
    synced_bases: bool = True
    synced_earlier: bool = True
    tries_exchange: bool = False
    durability: Durability = Durability.FULL

    def files(self) -> dict[str, bytes | Content]:
        """Return everything before the first commit. Files to be changed have an unusual mode.

        They also have attributes on disks where files can have several names: real file systems have both or
        neither.
        """
        attributes = (("user.note", b"kept"),) if self.links else ()
        files: dict[str, bytes | Content] = dict(self.others)
        first: dict[str, Change] = {}
        for change in [change for changes in (*self.earlier, self.changes) for change in changes]:
            first.setdefault(change.path, change)
        for change in first.values():
            if change.old is not None:
                files[change.path] = own(change.old, PRIVATE)._replace(attributes=attributes)
        return files

    def before_commit(self, volume: Volume) -> Volume:
        """The disk before the last commit, of which as much is kept as the scenario says."""
        if self.synced_earlier:
            volume = Volume(volume.image(), self.torn_moves)
        numbers = numbers_of(volume)
        for change in self.changes if not self.synced_bases else ():
            if change.old is not None:
                number = numbers[change.path]
                volume.kept[number] = volume.content[number]._replace(data=b"")
        return volume


def digest(data: bytes | None) -> str | None:
    """Return the SHA-256 of the content."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def replaced(*paths: str) -> tuple[Change, ...]:
    """Changes that replace those files."""
    return tuple(Change(path, f"old {path}\n".encode(), f"new text of {path}\n".encode()) for path in paths)


def created(*paths: str) -> tuple[Change, ...]:
    """Changes that create those files."""
    return tuple(Change(path, None, f"created {path}\n".encode()) for path in paths)


def deleted(*paths: str) -> tuple[Change, ...]:
    """Changes that delete those files."""
    return tuple(Change(path, f"doomed {path}\n".encode(), None) for path in paths)


def renamed(path: str, target: str) -> tuple[Change, ...]:
    """Changes that give a file another name: its content and all else it has is created there."""
    data = f"moved {path}\n".encode()
    return Change(path, data, None), Change(target, None, data, like=path)


def swapped(path: str, other: str) -> tuple[Change, ...]:
    """Changes that give each of two files the name of the other one."""
    first, second = (f"moved {each}\n".encode() for each in (path, other))
    return Change(path, first, second, like=other), Change(other, second, first, like=path)


def again(changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """Changes that replace what `changes` wrote."""
    return tuple(Change(change.path, change.new, b"again " + (change.new or b"")) for change in changes)
