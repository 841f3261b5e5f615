"""Programs that know nothing of the lock: what they write is never overwritten unnoticed."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Severity
from mdplan.storage.commit import StagedFile
from mdplan.storage.filesystem import FileSystem, Step, StorageRefused
from mdplan.storage.store import stored_content
from tests.support.commits import change, commit, creation, recovered, sha256, states_of
from tests.support.files import FailingDisk, tree

NAMES = ("a.md", "b.md", "c.md")
ALL = tuple(change(name, b"old " + name.encode(), b"new " + name.encode()) for name in NAMES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / name).write_bytes(b"old " + name.encode())
    commit(tmp_path, creation("other.md", b"other"))
    return tmp_path


class Interfering(FileSystem):
    """A disk on which something happens just before or just after its n-th operation of a kind.

    The first two exchanges of a disk try it, and do not count.
    """

    def __init__(self, step: Step, nth: int, act: Callable[[], object]) -> None:
        super().__init__()
        self._step, self._left, self._act = step, nth + 2 * (step is Step.EXCHANGE), act

    def before(self, step: Step) -> None:
        if step is self._step:
            self._left -= 1
            if self._left == 0:
                self._act()
        super().before(step)


class NoExchange(Interfering):
    """The same on a disk where two files cannot change places."""

    def exchange(self, directory: int, name: str, other: str) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def contents(folder: Path) -> dict[str, bytes]:
    return {name: content for name, (_, content) in tree(folder).items() if name != "other.md"}


def replace_by(path: Path, content: bytes) -> Callable[[], None]:
    """Write like an editor that creates a new file and renames it."""

    def act() -> None:
        path.with_name("editor").write_bytes(content)
        path.with_name("editor").rename(path)

    return act


def write_into(path: Path, content: bytes) -> Callable[[], None]:
    """Write like an editor that writes into the file."""

    def act() -> None:
        path.write_bytes(content)

    return act


def check_late_write_is_kept(
    folder: Path, disk: FileSystem, name: str, files: tuple[StagedFile, ...] = ALL
) -> None:
    with pytest.raises(StorageRefused) as refused:
        commit(folder, *files, disk=disk)

    assert [problem.code for problem in refused.value.problems] == [Code.CONFLICT_LATE_WRITE]
    expected = {each: b"old " + each.encode() for each in NAMES} | {name: b"late"}
    assert contents(folder) == expected
    assert states_of(folder) == ["committed"]


@pytest.mark.parametrize("write", [replace_by, write_into])
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_foreign_writer_before_an_exchange_wins(
    folder: Path, nth: int, write: Callable[[Path, bytes], Callable[[], None]]
) -> None:
    """Fault table: foreign rename-writer without lock, in-place writer with open file, S5."""
    name = NAMES[nth - 1]
    disk = Interfering(Step.EXCHANGE, nth, write(folder / name, b"late"))

    check_late_write_is_kept(folder, disk, name)


@pytest.mark.parametrize("write", [replace_by, write_into])
@pytest.mark.parametrize("step", [Step.LINK, Step.RENAME])
def test_foreign_writer_before_a_renaming_wins(
    folder: Path, step: Step, write: Callable[[Path, bytes], Callable[[], None]]
) -> None:
    """Where two files cannot change places."""
    name, nth = ("b.md", 2) if step is Step.LINK else ("a.md", 1)
    disk = NoExchange(step, nth, write(folder / name, b"late"))
    if step is Step.RENAME and write is replace_by:
        # This is the moment in which the guard is weak, and says so.
        facts = commit(folder, *ALL, disk=disk)
        assert [problem.code for problem in facts.warnings] == [Code.WEAK_CAS]
        return

    check_late_write_is_kept(folder, disk, name)


@pytest.mark.parametrize("disk", [Interfering, NoExchange])
def test_file_that_appears_at_its_creation_wins(folder: Path, disk: type[Interfering]) -> None:
    files = (*ALL, creation("new.md", b"ours"))
    with pytest.raises(StorageRefused) as refused:
        commit(folder, *files, disk=disk(Step.RENAME_NEW, 1, write_into(folder / "new.md", b"theirs")))

    assert [problem.code for problem in refused.value.problems] == [Code.FILE_EXISTS]
    assert contents(folder) == {name: b"old " + name.encode() for name in NAMES} | {"new.md": b"theirs"}


def test_newest_version_of_a_repeated_writer_wins(folder: Path) -> None:
    """It writes before the exchange, and again before the exchange back: settled in the end."""

    class Persistent(FailingDisk):
        def before(self, step: Step) -> None:
            super().before(step)
            if step is Step.EXCHANGE and 3 <= self.reached[step] <= 6:
                replace_by(folder / "a.md", b"late %d" % self.reached[step])()

    disk = Persistent()
    with pytest.raises(StorageRefused) as refused:
        commit(folder, ALL[0], disk=disk)

    assert [problem.code for problem in refused.value.problems] == [Code.CONFLICT_LATE_WRITE]
    assert (folder / "a.md").read_bytes() == b"late 6"


def test_endless_writer_leaves_the_transaction_pending(folder: Path) -> None:
    class Tireless(FailingDisk):
        def before(self, step: Step) -> None:
            super().before(step)
            if step is Step.EXCHANGE and self.reached[step] >= 3:
                replace_by(folder / "a.md", b"late %d" % self.reached[step])()

    disk = Tireless()
    with pytest.raises(StorageRefused) as refused:
        commit(folder, *ALL, disk=disk)

    assert [problem.code for problem in refused.value.problems] == [
        Code.CONFLICT_LATE_WRITE,
        Code.RECOVERY_CONFLICT,
    ]
    versions = {content for name, content in contents(folder).items() if name not in NAMES[1:]}
    last = disk.reached[Step.EXCHANGE]
    assert versions == {b"late %d" % last, b"late %d" % (last - 1)}
    assert states_of(folder) == ["committed", "conflict"]


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_target_replaced_by_another_kind_is_restored(folder: Path, kind: str) -> None:
    """Fault table: target replaced by a symlink or a directory, S5."""

    def act() -> None:
        (folder / "b.md").unlink()
        if kind == "link":
            (folder / "b.md").symlink_to("a.md")
        else:
            (folder / "b.md").mkdir()

    with pytest.raises(StorageRefused) as refused:
        commit(folder, *ALL, disk=Interfering(Step.EXCHANGE, 2, act))

    assert [problem.code for problem in refused.value.problems] == [Code.CONFLICT_LATE_WRITE]
    assert (folder / "b.md").is_symlink() if kind == "link" else (folder / "b.md").is_dir()
    assert (folder / "a.md").read_bytes() == b"old a.md"
    assert states_of(folder) == ["committed"]


def test_target_deleted_during_the_commit_stays_deleted(folder: Path) -> None:
    """Fault table: target deleted, S5."""
    disk = Interfering(Step.EXCHANGE, 2, (folder / "b.md").unlink)
    with pytest.raises(StorageRefused) as refused:
        commit(folder, *ALL, disk=disk)

    assert [problem.code for problem in refused.value.problems] == [Code.FILE_NOT_FOUND]
    assert contents(folder) == {"a.md": b"old a.md", "c.md": b"old c.md"}


def test_write_over_new_content_is_kept_with_the_old_content(folder: Path) -> None:
    """Both are kept, the file is blocked for commits, and other files are not."""

    class Disk(FailingDisk):
        def before(self, step: Step) -> None:
            if step is Step.EXCHANGE and self.reached[step] == 3:
                (folder / "a.md").write_bytes(b"on top")
            super().before(step)

    with pytest.raises(StorageRefused) as refused:
        commit(folder, *ALL, disk=Disk(Step.EXCHANGE, 5, errno.EIO))

    assert [problem.code for problem in refused.value.problems] == [Code.IO_ERROR, Code.RECOVERY_CONFLICT]
    assert refused.value.problems[1].file == "a.md"
    assert sorted(contents(folder).values()) == [b"old a.md", b"old b.md", b"old c.md", b"on top"]
    assert (folder / "a.md").read_bytes() == b"on top"
    with pytest.raises(StorageRefused) as again:
        commit(folder, change("a.md", b"on top", b"x"))
    assert [problem.code for problem in again.value.problems] == [Code.RECOVERY_CONFLICT]
    commit(folder, ALL[1])

    recovered(folder, keep="base")
    assert contents(folder) == {"a.md": b"old a.md", "b.md": b"new b.md", "c.md": b"old c.md"}
    assert stored_content(str(folder), sha256(b"on top")) == b"on top"


def test_write_through_an_open_descriptor_is_kept_and_reported(folder: Path) -> None:
    """Fault table: in-place writer with open file, S9. That is the old file, which has no name any more."""
    with (folder / "c.md").open("r+b") as editor:

        def write() -> None:
            editor.write(b"EDIT")
            editor.flush()

        disk = Interfering(Step.STORE_DONE, 2, write)
        facts = commit(folder, change("c.md", b"old c.md", b"c"), disk=disk)

    assert (folder / "c.md").read_bytes() == b"c"
    assert [(problem.code, problem.severity) for problem in facts.warnings] == [
        (Code.CONFLICT_LATE_WRITE, Severity.WARNING)
    ]
    assert stored_content(str(folder), sha256(b"EDITc.md")) == b"EDITc.md"
