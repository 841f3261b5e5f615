"""A process that is killed before any of its disk operations leaves every file whole."""

import hashlib
import os
import signal
import warnings
from collections import Counter
from pathlib import Path

import pytest

from mdplan.storage.commit import Durability, StagedFile, publish, stage
from mdplan.storage.file_name import TEMPORARY_NAME
from mdplan.storage.filesystem import FAILPOINT_VARIABLE, FileSystem, Step
from mdplan.storage.lock import locked
from mdplan.storage.root import Root
from tests.disk import FailingDisk, tree

NAMES = ("a.md", "d/b.md", "d/c.md")
OLD, NEW = b"old\n" * 5000, b"new\n" * 7000


def make(folder: Path) -> None:
    """Three old files in two folders."""
    (folder / "d").mkdir(parents=True)
    for name in NAMES:
        (folder / name).write_bytes(OLD)


def commit(folder: Path, disk: FileSystem) -> None:
    """Make all files new that are not."""
    root = Root.open(folder, filesystem=disk)
    digests = {data: hashlib.sha256(data).hexdigest() for data in (OLD, NEW)}
    files = [
        StagedFile(name, digests[OLD], NEW, digests[NEW])
        for name in NAMES
        if (folder / name).read_bytes() == OLD
    ]
    with locked(root) as lock:
        publish(stage(lock, files, max_bytes=1 << 20, durability=Durability.PROCESS))
    root.close()


def killed(folder: Path, failpoint: str) -> bool:
    """Commit in a process with that failpoint; whether it was killed."""
    with warnings.catch_warnings():
        # The child runs no threads of its parent and returns nowhere.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os.environ[FAILPOINT_VARIABLE] = failpoint
            commit(folder, FileSystem())
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def check_whole(folder: Path) -> None:
    """Each file is old or new, the new ones first; beside them are only files of a commit."""
    assert "".join("n" if (folder / name).read_bytes() == NEW else "o" for name in NAMES) in {
        "ooo",
        "noo",
        "nno",
        "nnn",
    }
    seen = tree(folder)
    assert {seen[name][1] for name in NAMES} <= {OLD, NEW}
    others = set(seen) - {*NAMES, "d"}
    assert all(TEMPORARY_NAME.fullmatch(name.rpartition("/")[2]) for name in others)


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Counter[Step]:
    """How often a commit does each kind of operation."""
    disk = FailingDisk()
    folder = tmp_path_factory.mktemp("counted")
    make(folder)
    commit(folder, disk)
    return disk.reached


@pytest.mark.parametrize("step", list(Step))
def test_killed_commit_leaves_whole_files_and_the_next_one_succeeds(
    tmp_path: Path, counts: Counter[Step], step: Step
) -> None:
    for nth in range(1, counts[step] + 1):
        folder = tmp_path / str(nth)
        make(folder)

        assert killed(folder, f"{step}:{nth}")
        check_whole(folder)
        commit(folder, FileSystem())
        assert {(folder / name).read_bytes() for name in NAMES} == {NEW}


def test_failpoint_that_is_not_reached_does_nothing(tmp_path: Path) -> None:
    make(tmp_path / "x")

    assert not killed(tmp_path / "x", "rename:1000")
    assert {(tmp_path / "x" / name).read_bytes() for name in NAMES} == {NEW}


def test_unknown_failpoint_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelled one would make a test pass that tests nothing."""
    monkeypatch.setenv(FAILPOINT_VARIABLE, "renam")
    with pytest.raises(ValueError, match="renam"):
        FileSystem()
