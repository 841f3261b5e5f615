"""Disks with injected failures, other users, and trees as values, for tests of the storage."""

import gc
import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest

from mdplan.diagnostics import Diagnostic
from mdplan.markdown.destinations import TargetKind
from mdplan.markdown.paths import NO_RULES
from mdplan.planning.build import SnapshotFile
from mdplan.storage.filesystem import FileSystem, Step
from mdplan.storage.names import NOTE
from mdplan.storage.store import close_idle

NOBODY = 65534


class FailingDisk(FileSystem):
    """A disk whose n-th (1-based) operation of one kind fails with `error`; it counts all operations."""

    def __init__(self, step: Step | None = None, nth: int = 0, error: int = 0) -> None:
        super().__init__()
        self._fault = (step, nth)
        self._error = error
        self.reached: Counter[Step] = Counter()

    def before(self, step: Step) -> None:
        self.reached[step] += 1
        if (step, self.reached[step]) == self._fault:
            raise OSError(self._error, os.strerror(self._error))
        super().before(step)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Run the block as an unprivileged user; skip if this process is not root."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def descriptors() -> int:
    """Return the number of open files and folders, without stores of roots."""
    close_idle()
    # Garbage collection closes roots that earlier tests left open.
    gc.collect()
    return len(list(Path("/dev/fd").iterdir()))


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return all paths below `folder` except a commit note, with mode and content (or link target)."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name == NOTE:
            continue
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            content = os.fsencode(path.readlink())
        elif stat.S_ISREG(mode):
            content = path.read_bytes()
        else:
            content = b""
        found[name] = (mode, content)
    return found


# --- A root with only the files of the batch


class NoOtherFiles:
    """A root without other files."""

    def at(self, path: str) -> TargetKind:
        del path
        return TargetKind.NOTHING

    def anchors(self, path: str) -> None:
        del path

    def pages(self, key: str) -> Sequence[str]:
        del key
        return ()

    rules = NO_RULES
    rules_problem = None
    labels: ClassVar[Mapping[str, frozenset[str]]] = {}

    def spelled(self, path: str) -> str | None:
        del path
        return None

    def linking_to(self, names: frozenset[str]) -> Iterator[SnapshotFile | Diagnostic]:
        del names
        return iter(())

    def navigation(self, names: frozenset[str]) -> Iterator[SnapshotFile | Diagnostic]:
        del names
        return iter(())

    def refusal(self, file: SnapshotFile) -> Diagnostic | None:
        del file
        return None
