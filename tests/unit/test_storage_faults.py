"""Whatever disk operation fails during a commit, once or from then on: all old or all new, and told."""

import errno
import gc
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Problems, Severity
from mdplan.storage.commit import CommitResult
from mdplan.storage.filesystem import FileSystem, Step, StorageRefused
from mdplan.storage.names import is_temporary_name
from tests.support.commits import change, commit, creation, deletion, recovered, states_of
from tests.support.files import NOBODY, FailingDisk, descriptors, tree

NAMES = ("a.md", "d/b.md", "d/e/c.md")
FILES = (
    *(change(name, b"old " + name.encode(), b"new " + name.encode()) for name in NAMES),
    creation("n/m/new.md", b"created"),
    deletion("d/gone.md", b"gone"),
)
CODES = {
    errno.EIO: Code.IO_ERROR,
    errno.ENOSPC: Code.NO_SPACE,
    errno.EACCES: Code.PERMISSION_DENIED,
    errno.EMFILE: Code.IO_ERROR,
    errno.EBUSY: Code.TARGET_BUSY,
    errno.EROFS: Code.READ_ONLY,
}
# Calls that cannot fail in a commit without links and without second names of files.
UNUSED = {Step.READ_LINK, Step.REMOVE_DIRECTORY, Step.MAKE_DIRECTORY, Step.MAY_WRITE}
ONLY_LINKED = {Step.LINK}
Tree = dict[str, tuple[int, bytes]]


class NoExchange(FailingDisk):
    """A disk on which two files cannot change places."""

    def exchange(self, directory: int, name: str, other: str) -> None:
        super().before(Step.EXCHANGE)
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


class InTwoSteps(NoExchange):
    """A disk on which a replaced file moves aside first, as on Windows."""

    moves_aside = True


ONCE = {"exchange": FailingDisk, "link": NoExchange, "aside": InTwoSteps}


@pytest.fixture(scope="module", autouse=True)
def _small_heap() -> Iterator[None]:
    """Leave what other tests made out of the collections that `descriptors` needs: there are thousands."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def make(folder: Path) -> Tree:
    """Create files in three folders, one with an unusual mode and, if possible, another owner."""
    (folder / "d" / "e").mkdir(parents=True)
    for name in NAMES:
        (folder / name).write_bytes(b"old " + name.encode())
    (folder / "d" / "gone.md").write_bytes(b"gone")
    (folder / "a.md").chmod(0o640)
    if os.geteuid() == 0:
        os.chown(folder / "a.md", NOBODY, NOBODY)
    return tree(folder)


def result(folder: Path) -> Tree:
    """What a commit without a failure makes."""
    make(folder)
    assert commit(folder, *FILES).durable
    return tree(folder)


def tried(folder: Path, disk: FileSystem) -> CommitResult | Problems:
    try:
        return commit(folder, *FILES, disk=disk)
    except StorageRefused as refused:
        return refused.problems


def without_temporary(seen: Tree) -> Tree:
    """`seen` without what the commit made beside its targets."""
    return {name: entry for name, entry in seen.items() if not is_temporary_name(name.rpartition("/")[2])}


def counted(folder: Path, kind: str) -> Counter[Step]:
    """How often a commit does each kind of operation."""
    make(folder)
    disk = ONCE[kind]()
    assert isinstance(tried(folder, disk), CommitResult)
    return disk.reached


# Two errors are enough for the gate: one table has the code of each.
FAILURES = [
    (errno.EIO, "link"),
    (errno.EBUSY, "aside"),
    *(
        pytest.param(
            error, "exchange", marks=[] if error in {errno.EIO, errno.ENOSPC} else [pytest.mark.slow]
        )
        for error in CODES
    ),
]


@pytest.mark.parametrize("kind", ONCE)
def test_every_file_system_step_is_exercised(tmp_path: Path, kind: str) -> None:
    """Else the tests below would not fail it."""
    expected = set(Step) - UNUSED - (set() if kind == "link" else ONLY_LINKED)
    if kind == "aside":
        expected.discard(Step.EXCHANGE)
    if os.geteuid() != 0:
        expected.discard(Step.SET_OWNER)

    assert expected <= set(counted(tmp_path, kind))


@pytest.mark.requirement("commit-1")
@pytest.mark.parametrize(("error", "kind"), FAILURES)
@pytest.mark.parametrize("step", sorted(set(Step) - UNUSED))
def test_one_failure_leaves_all_old_or_all_new(tmp_path: Path, step: Step, error: int, kind: str) -> None:
    """Fault table, ENOSPC, EIO, EACCES, EBUSY, EMFILE: an error before the commit point undoes all."""
    new = result(tmp_path / "new")
    refusals = 0
    for nth in range(1, counted(tmp_path / "counted", kind)[step] + 1):
        folder = tmp_path / str(nth)
        before = make(folder)
        opened = descriptors()
        outcome = tried(folder, ONCE[kind](step, nth, error))

        assert descriptors() == opened
        if isinstance(outcome, CommitResult):
            # It occurred after the commit point, or nothing depends on it.
            assert all(problem.severity is Severity.WARNING for problem in outcome.warnings)
            assert without_temporary(tree(folder)) == new
            continue
        refusals += 1
        assert outcome[0].severity is Severity.ERROR
        if outcome[0].code is Code.COMMIT_IN_DOUBT:
            assert without_temporary(tree(folder)) == new
            assert outcome[1].code is CODES[error]
            continue
        assert outcome[0].code is CODES[error]
        assert tree(folder) == before
        assert "pending" not in states_of(folder)
    # A failure of these cannot go unnoticed.
    if step in {Step.SYNC, Step.RENAME, Step.RENAME_NEW, Step.SET_MODE, Step.READ_ATTRIBUTES}:
        assert refusals > 0


def test_failed_file_sync_is_not_retried(tmp_path: Path) -> None:
    """Case 44: the system forgets what was not written, and a second sync would succeed in vain."""
    whole = counted(tmp_path / "counted", "exchange")[Step.SYNC]
    for nth in range(1, whole + 1):
        make(tmp_path / str(nth))
        disk = FailingDisk(Step.SYNC, nth, errno.EIO)
        outcome = tried(tmp_path / str(nth), disk)

        assert not isinstance(outcome, CommitResult)
        assert disk.reached[Step.SYNC] == nth


def test_commit_whose_store_fails_after_the_commit_point_is_in_doubt(tmp_path: Path) -> None:
    """The files are new, nothing is cleaned up, and the next start finishes."""
    new = result(tmp_path / "new")
    before = make(tmp_path / "x")
    outcome = tried(tmp_path / "x", FailingDisk(Step.STORE_DONE, 2, errno.EIO))

    assert not isinstance(outcome, CommitResult)
    assert [problem.code for problem in outcome] == [Code.COMMIT_IN_DOUBT, Code.IO_ERROR]
    seen = tree(tmp_path / "x")
    assert without_temporary(seen) == new
    assert {content for name, (_, content) in seen.items() if name not in new} == {
        content for _, content in before.values() if content
    }
    found = recovered(tmp_path / "x", settles=False)
    assert len(found.finished) == 1
    assert tree(tmp_path / "x") == new


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_failed_cleanup_is_a_warning_on_success(tmp_path: Path, error: int) -> None:
    """Fault table, S9."""
    new = result(tmp_path / "new")
    folder = tmp_path / "x"
    make(folder)
    # The first four take away what tries an exchange.
    facts = commit(folder, *FILES, disk=FailingDisk(Step.UNLINK, 6, error))

    assert [problem.code for problem in facts.warnings] == [CODES[error]]
    assert {problem.severity for problem in facts.warnings} == {Severity.WARNING}
    left = [name for name in tree(folder) if is_temporary_name(name.rpartition("/")[2])]
    assert len(left) == 1
    assert f"`{left[0].rpartition('/')[2]}`" in facts.warnings[0].hint
    # The next commit does it.
    assert len(recovered(folder, settles=False).finished) == 1
    assert tree(folder) == new


class Interrupted(FailingDisk):
    """A disk on which the user presses Ctrl-C at an operation."""

    def before(self, step: Step) -> None:
        try:
            super().before(step)
        except OSError:
            raise KeyboardInterrupt from None


@pytest.mark.parametrize("step", [Step.SYNC, Step.WRITE, Step.EXCHANGE, Step.RENAME, Step.SYNC_DIRECTORY])
def test_interrupt_before_the_commit_point_is_rolled_back(tmp_path: Path, step: Step) -> None:
    """Fault table: SIGTERM, Ctrl-C, cancel."""
    new = result(tmp_path / "new")
    for nth in range(1, counted(tmp_path / "counted", "exchange")[step] + 1):
        folder = tmp_path / str(nth)
        before = make(folder)
        try:
            commit(folder, *FILES, disk=Interrupted(step, nth, errno.EINTR))
        except KeyboardInterrupt:
            is_committed = "committed" in states_of(folder)
            assert without_temporary(tree(folder)) == (new if is_committed else before)
        recovered(folder)
        assert tree(folder) in (before, new)
