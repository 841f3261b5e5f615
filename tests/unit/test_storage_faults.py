"""Whatever disk operation fails during a commit, once or from then on: all old, or told."""

import errno
import hashlib
import os
from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Problems, Severity
from mdplan.storage.commit import StagedFile, publish, stage
from mdplan.storage.file_name import TEMPORARY_NAME
from mdplan.storage.filesystem import Step
from mdplan.storage.lock import locked
from mdplan.storage.refusal import StorageRefused
from mdplan.storage.root import Root
from tests.disk import NOBODY, FailingDisk, descriptors, tree

NAMES = ("a.md", "d/b.md", "d/e/c.md")
CODES = {
    errno.EIO: Code.IO_ERROR,
    errno.ENOSPC: Code.NO_SPACE,
    errno.EACCES: Code.PERMISSION_DENIED,
    errno.EMFILE: Code.IO_ERROR,
    errno.EBUSY: Code.TARGET_BUSY,
}
# What a commit does not do where no link stands in its way and no file has a second name.
UNUSED = {Step.READ_LINK, Step.LIST}

Tree = dict[str, tuple[int, bytes]]


class FailingFromThenOn(FailingDisk):
    """A disk on which one kind of operation fails from the n-th time on."""

    def reach(self, step: Step) -> None:
        super().reach(step)
        if step is self._fault[0] and self.reached[step] > self._fault[1]:
            raise OSError(self._error, os.strerror(self._error))


def content(state: str, name: str) -> bytes:
    """What the file holds before (`old`) or after (`new`) the commit."""
    return f"{state} {name}\n".encode()


def make(folder: Path) -> Tree:
    """Three files in three folders, one with a mode and, where possible, an owner of its own."""
    (folder / "d" / "e").mkdir(parents=True)
    for name in NAMES:
        (folder / name).write_bytes(content("old", name))
    (folder / "a.md").chmod(0o640)
    if os.geteuid() == 0:
        os.chown(folder / "a.md", NOBODY, NOBODY)
    return tree(folder)


def commit(folder: Path, disk: FailingDisk) -> Problems:
    """Replace all files; the problems or warnings."""
    files = [
        StagedFile(
            name,
            hashlib.sha256(content("old", name)).hexdigest(),
            content("new", name),
            hashlib.sha256(content("new", name)).hexdigest(),
        )
        for name in NAMES
    ]
    try:
        root = Root.open(folder, filesystem=disk)
    except StorageRefused as refused:
        return refused.problems
    try:
        with locked(root) as lock:
            return publish(stage(lock, files, max_bytes=1000)).warnings
    except StorageRefused as refused:
        return refused.problems
    finally:
        root.close()


def replaced(before: Tree) -> Tree:
    """`before` with all files replaced."""
    return {
        name: (mode, content("new", name) if name in NAMES else data) for name, (mode, data) in before.items()
    }


def without_temporary(seen: Tree) -> Tree:
    """`seen` without what the commit made beside its targets."""
    return {
        name: entry for name, entry in seen.items() if not TEMPORARY_NAME.fullmatch(name.rpartition("/")[2])
    }


def counted(tmp_path: Path) -> FailingDisk:
    """A disk that went through a commit without a failure."""
    disk = FailingDisk()
    before = make(tmp_path / "counted")
    assert commit(tmp_path / "counted", disk) == ()
    assert tree(tmp_path / "counted") == replaced(before)
    return disk


def test_every_kind_of_operation_is_reached(tmp_path: Path) -> None:
    """Else the tests below would not fail it."""
    expected = set(Step) - UNUSED
    if os.geteuid() != 0:
        expected.discard(Step.SET_OWNER)

    assert set(counted(tmp_path).reached) == expected


@pytest.mark.parametrize("error", CODES, ids=errno.errorcode.get)
@pytest.mark.parametrize("step", sorted(set(Step) - UNUSED))
def test_one_failure_leaves_all_old_and_nothing_behind(tmp_path: Path, step: Step, error: int) -> None:
    for nth in range(1, counted(tmp_path).reached[step] + 1):
        folder = tmp_path / str(nth)
        before = make(folder)
        opened = descriptors()
        problems = commit(folder, FailingDisk(step, nth, error))

        assert descriptors() == opened
        assert [problem.code for problem in problems] in (
            [CODES[error]],
            # What keeps the state folder from being opened is for a person to look at.
            [Code.STATE_DIR_UNSAFE] if (step, error) == (Step.OPEN_DIRECTORY, errno.EACCES) else None,
        )
        if step is Step.UNLINK:
            assert problems[0].severity is Severity.WARNING
            assert without_temporary(tree(folder)) == replaced(before)
            assert len(tree(folder)) == len(before) + 1
        else:
            assert problems[0].severity is Severity.ERROR
            assert tree(folder) == before


@pytest.mark.parametrize("step", sorted(set(Step) - UNUSED))
def test_lasting_failure_leaves_all_old_or_is_told(tmp_path: Path, step: Step) -> None:
    """A file that could not be put back is named, and its old content is where the hint says."""
    for nth in range(1, counted(tmp_path).reached[step] + 1):
        folder = tmp_path / str(nth)
        before = make(folder)
        problems = commit(folder, FailingFromThenOn(step, nth, errno.EIO))
        assert problems

        seen = tree(folder)
        if problems[0].severity is Severity.WARNING:
            assert without_temporary(seen) == replaced(before)
            continue
        in_doubt = {problem.file: problem for problem in problems if problem.code is Code.COMMIT_IN_DOUBT}
        for name in NAMES:
            if seen[name] != before[name]:
                kept = in_doubt[name].hint.split("`")[1]
                assert seen[f"{name.rpartition('/')[0]}/{kept}".lstrip("/")] == before[name]


def test_failed_sync_of_a_file_is_not_tried_again(tmp_path: Path) -> None:
    """After a failure the system forgets what was not written, and a second sync would succeed in vain."""
    whole = counted(tmp_path).reached[Step.SYNC]
    for nth in range(1, whole + 1):
        make(tmp_path / str(nth))
        disk = FailingDisk(Step.SYNC, nth, errno.EIO)
        commit(tmp_path / str(nth), disk)

        assert disk.reached[Step.SYNC] == nth
