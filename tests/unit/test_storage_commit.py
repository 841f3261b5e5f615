"""All files of a batch are replaced, or none; and a replaced file keeps what belongs to it."""

import errno
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from mdplan.diagnostics import Code
from mdplan.storage.commit import CommitResult, StagedFile, stage
from mdplan.storage.files import FileName
from mdplan.storage.filesystem import Durability, FileSystem, Step, StorageRefused
from mdplan.storage.lock import locked
from mdplan.storage.names import is_temporary_name
from mdplan.storage.recovery import recover
from mdplan.storage.root import Root
from mdplan.storage.store import Store
from tests.support.commits import LIMIT, change, commit, creation, deletion, sha256, states_of
from tests.support.files import NOBODY, FailingDisk, descriptors, names_in, tree


def check_refused(
    folder: Path, codes: list[Code], *changes: StagedFile, between: Callable[[], None] = lambda: None
) -> StorageRefused:
    """The commit is refused with `codes`, one per problem, and `folder` is as `between` left it."""
    after: list[object] = [tree(folder)]

    def act() -> None:
        between()
        after[0] = {name: seen for name, seen in tree(folder).items() if not is_temporary(name)}

    with pytest.raises(StorageRefused) as refused:
        commit(folder, *changes, between=act)
    assert [problem.code for problem in refused.value.problems] == codes
    assert tree(folder) == after[0]
    return refused.value


def is_temporary(name: str) -> bool:
    """Return True if the commit made the file of that path."""
    return is_temporary_name(name.rpartition("/")[2])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files in two folders."""
    (tmp_path / "d").mkdir()
    for name in ("a.md", "d/b.md", "d/c.md"):
        (tmp_path / name).write_bytes(name.encode())
    return tmp_path


ALL = tuple(change(name, name.encode(), name.encode() * 2) for name in ("a.md", "d/b.md", "d/c.md"))


@pytest.mark.parametrize("durability", list(Durability))
def test_all_files_are_replaced_and_nothing_else_is_left(folder: Path, durability: Durability) -> None:
    facts = commit(folder, *ALL, durability=durability)

    assert {name: content for name, (_, content) in tree(folder).items()} == {
        "a.md": b"a.mda.md",
        "d": b"",
        "d/b.md": b"d/b.mdd/b.md",
        "d/c.md": b"d/c.mdd/c.md",
    }
    assert facts == CommitResult(cas="strong", durable=durability is Durability.FULL, warnings=())


def test_nothing_is_visible_before_publish(folder: Path) -> None:
    before = tree(folder)

    def look() -> None:
        now = tree(folder)
        assert {name: seen for name, seen in now.items() if not is_temporary(name)} == before
        assert sorted(map(is_temporary, now)) == [False] * len(before) + [True] * len(ALL)

    commit(folder, *ALL, between=look)


def test_staged_files_are_removed_when_they_are_not_published(folder: Path) -> None:
    before = tree(folder)
    root = Root.open(folder)
    opened = descriptors()
    with locked(root) as lock:
        warnings = stage(lock, ALL, transaction="ab" * 8, note=b"{}", now=0.0, max_bytes=LIMIT).discard()

    assert warnings == ()
    assert tree(folder) == before
    assert states_of(folder) == []
    assert descriptors() == opened
    root.close()


def test_result_beyond_the_limit_can_be_undone(folder: Path) -> None:
    before = tree(folder)
    disk = FailingDisk(Step.STORE_BEGIN, 2, errno.EIO)  # The commit point.
    with pytest.raises(StorageRefused):
        commit(folder, change("a.md", b"a.md", b"x" * (LIMIT + 1)), ALL[1], disk=disk)

    assert tree(folder) == before


def test_all_problems_are_reported(folder: Path) -> None:
    (folder / "a.md").write_bytes(b"changed")
    (folder / "d" / "b.md").unlink()
    (folder / "d" / "c.md").chmod(0o444)

    check_refused(folder, [Code.STALE_BASE, Code.FILE_NOT_FOUND, Code.READ_ONLY], *ALL)


def test_write_after_staging_is_stale(folder: Path) -> None:
    check_refused(
        folder, [Code.STALE_BASE], *ALL, between=lambda: (folder / "d" / "c.md").write_bytes(b"late") and None
    )


def test_link_instead_of_a_staged_file_is_refused(folder: Path) -> None:
    (folder / "outside").write_bytes(b"d/b.md")

    def swap() -> None:
        (folder / "d" / "b.md").unlink()
        (folder / "d" / "b.md").symlink_to("../outside")

    check_refused(folder, [Code.SYMLINK_REFUSED], *ALL, between=swap)
    assert (folder / "outside").read_bytes() == b"d/b.md"


def test_folder_replaced_by_a_link_after_staging_is_not_followed(folder: Path) -> None:
    """Its descriptor is held: what is written goes where the bases were."""
    (folder / "outside").mkdir()
    (folder / "outside" / "b.md").write_bytes(b"untouched")

    def swap() -> None:
        (folder / "d").rename(folder / "moved")
        (folder / "d").symlink_to("outside")

    commit(folder, *ALL, between=swap)
    assert (folder / "outside" / "b.md").read_bytes() == b"untouched"
    assert (folder / "moved" / "b.md").read_bytes() == b"d/b.mdd/b.md"


def test_two_names_of_one_file_are_a_conflict(folder: Path) -> None:
    (folder / "d" / "c.md").unlink()
    (folder / "d" / "c.md").hardlink_to(folder / "a.md")
    two = change("a.md", b"a.md", b"1"), change("d/c.md", b"a.md", b"2")

    check_refused(folder, [Code.ALIAS_CONFLICT, Code.ALIAS_CONFLICT], *two)


def test_same_file_twice_is_a_conflict(folder: Path) -> None:
    two = change("a.md", b"a.md", b"1"), change("a.md", b"a.md", b"2")

    check_refused(folder, [Code.ALIAS_CONFLICT, Code.ALIAS_CONFLICT], *two)


@pytest.mark.requirement("commit-4")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755, 0o222])
def test_mode_is_kept(folder: Path, mode: int) -> None:
    if mode == 0o222 and os.geteuid() != 0:
        pytest.skip("needs root, to read a file without permission")
    (folder / "a.md").chmod(mode)
    commit(folder, ALL[0])

    assert (folder / "a.md").stat().st_mode & 0o7777 == mode


def test_owner_is_kept(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a file away")
    os.chown(folder / "a.md", NOBODY, 1)
    (folder / "a.md").chmod(0o640)
    commit(folder, ALL[0])

    status = (folder / "a.md").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (NOBODY, 1, 0o640)


@pytest.mark.requirement("commit-4")
def test_extended_attributes_are_kept(folder: Path) -> None:
    path = folder / "a.md"
    try:
        os.setxattr(path, "user.mdplan", b"\0value")
    except OSError as error:
        pytest.skip(f"this file system has no extended attributes: {error}")
    commit(folder, ALL[0])

    assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == {"user.mdplan": b"\0value"}


# The entries of an ACL as the kernel stores them: version 2, then tag, permissions and ID of each.
ENTRIES = ((0x01, 6, -1), (0x02, 6, 1), (0x04, 4, -1), (0x10, 6, -1), (0x20, 0, -1))


def stored_acl(*entries: tuple[int, int, int]) -> bytes:
    """The value of the attribute `system.posix_acl_access` or `…_default`."""
    rows = (
        tag.to_bytes(2, "little") + bits.to_bytes(2, "little") + (who & 0xFFFFFFFF).to_bytes(4, "little")
        for tag, bits, who in entries
    )
    return (2).to_bytes(4, "little") + b"".join(rows)


@pytest.mark.parametrize("on_file", [True, False], ids=["own-acl", "acl-of-folder-is-not-inherited"])
def test_acl_is_kept(folder: Path, on_file: bool) -> None:
    path = folder / "a.md"
    path.chmod(0o640)
    try:
        if on_file:
            os.setxattr(path, "system.posix_acl_access", stored_acl(*ENTRIES))
        else:
            os.setxattr(folder, "system.posix_acl_default", stored_acl(*ENTRIES))
    except OSError as error:
        pytest.skip(f"this file system has no ACLs: {error}")
    before = {name: os.getxattr(path, name) for name in os.listxattr(path)}, path.stat().st_mode
    commit(folder, ALL[0])

    after = {name: os.getxattr(path, name) for name in os.listxattr(path)}, path.stat().st_mode
    assert after == before
    assert ("system.posix_acl_access" in after[0]) is on_file


def test_file_is_created_in_folders_that_are_made_for_it(folder: Path) -> None:
    commit(folder, creation("n/e/w.md", b"new"))
    mask = os.umask(0)
    os.umask(mask)

    assert (folder / "n" / "e" / "w.md").read_bytes() == b"new"
    assert (folder / "n" / "e" / "w.md").stat().st_mode & 0o7777 == 0o666 & ~mask
    assert (folder / "n" / "e").stat().st_mode & 0o7777 == 0o777 & ~mask
    assert names_in(folder / "n" / "e") == ["w.md"]


def test_refused_creation_leaves_no_folders(folder: Path) -> None:
    check_refused(folder, [Code.STALE_BASE], creation("n/e/w.md", b"new"), change("a.md", b"other", b"x"))


def test_creation_below_a_file_is_refused(folder: Path) -> None:
    check_refused(folder, [Code.FILE_NOT_FOUND], creation("a.md/x.md", b"new"))


def test_creation_through_a_link_is_refused(folder: Path) -> None:
    (folder / "link").symlink_to("d")

    check_refused(folder, [Code.SYMLINK_REFUSED], creation("link/x.md", b"new"))


def test_two_creations_of_one_path_are_a_conflict(folder: Path) -> None:
    check_refused(folder, [Code.ALIAS_CONFLICT] * 2, creation("n.md", b"1"), creation("n.md", b"2"))


def test_renamed_file_keeps_mode_owner_and_attributes(folder: Path) -> None:
    (folder / "a.md").chmod(0o640)
    if os.geteuid() == 0:
        os.chown(folder / "a.md", NOBODY, NOBODY)
    before = (folder / "a.md").stat()
    commit(folder, creation("d/new.md", b"a.md", like="a.md"), deletion("a.md", b"a.md"))
    after = (folder / "d" / "new.md").stat()

    assert sorted(tree(folder)) == ["d", "d/b.md", "d/c.md", "d/new.md"]
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_folders_are_removed_after_the_commit_when_they_are_empty(folder: Path) -> None:
    (folder / "e" / "f").mkdir(parents=True)
    (folder / "e" / "f" / "x.md").write_bytes(b"x")
    commit(
        folder, deletion("e/f/x.md", b"x"), deletion("d/b.md", b"d/b.md"), removed_folders=("d", "e", "e/f")
    )

    assert sorted(tree(folder)) == ["a.md", "d", "d/c.md"]


def test_recreated_folder_is_not_removed(folder: Path) -> None:
    (folder / "e").mkdir()
    (folder / "e" / "x.md").write_bytes(b"x")
    commit(folder, deletion("e/x.md", b"x"), removed_folders=("e",))
    (folder / "e").mkdir()
    with locked(Root.open(folder)) as lock:
        recover(lock)
    commit(folder, change("a.md", b"a.md", b"1"))

    assert (folder / "e").is_dir()


def test_restored_file_regains_mode_owner_and_attributes(folder: Path) -> None:
    """The store has them."""
    (folder / "a.md").chmod(0o604)
    commit(folder, deletion("a.md", b"a.md"))
    commit(folder, StagedFile(FileName("", "a.md"), None, b"a.md", sha256(b"a.md"), restores=True))

    assert (folder / "a.md").stat().st_mode & 0o7777 == 0o604


class Recorder(FileSystem):
    """A disk that writes down what was done to it, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []

    def before(self, step: Step) -> None:
        self.steps.append(step)
        super().before(step)


LASTING = {
    Step.SYNC,
    Step.SYNC_DIRECTORY,
    Step.RENAME,
    Step.RENAME_NEW,
    Step.EXCHANGE,
    Step.LINK,
    Step.STORE_COMMIT,
}


@pytest.mark.requirement("commit-2")
def test_durable_steps_follow_the_order_of_the_protocol(folder: Path) -> None:
    commit(folder, change("a.md", b"a.md", b"0"))
    disk = Recorder()
    commit(
        folder, change("a.md", b"0", b"1"), creation("n.md", b"new"), deletion("d/b.md", b"d/b.md"), disk=disk
    )
    steps = [step for step in disk.steps if step in LASTING]

    assert steps == [
        Step.STORE_COMMIT,  # The intent, and the old contents.
        Step.SYNC_DIRECTORY,  # The note, because a file is created.
        *[Step.EXCHANGE] * 2,  # The disk is tried.
        *[Step.SYNC] * 4,  # The bases, which are the way back, and the results.
        *[Step.EXCHANGE, Step.RENAME_NEW, Step.RENAME],  # The swaps.
        *[Step.SYNC_DIRECTORY] * 2,  # Their folders.
        Step.STORE_COMMIT,  # The commit point.
    ]


def test_process_durability_syncs_nothing(folder: Path) -> None:
    # The first change of a store syncs the folders that are made for it.
    with Store(str(folder)).write():
        disk = Recorder()
    commit(folder, *ALL, disk=disk, durability=Durability.PROCESS)

    assert not {Step.SYNC, Step.SYNC_DIRECTORY} & set(disk.steps)
    assert Store(str(folder)).uncleaned() == []


class NoDirectorySync(FileSystem):
    """A disk whose directories cannot be synced."""

    def sync_directory(self, directory: int) -> bool:
        return False


def test_file_system_without_folder_sync_is_reported(folder: Path) -> None:
    """Fault table: directory fsync EINVAL or ENOTSUP."""
    assert not commit(folder, *ALL, disk=NoDirectorySync()).durable


def test_commits_in_changing_folders_leave_no_pending_transaction(folder: Path) -> None:
    """Else every commit would look at all that there ever were."""
    for number in range(12):
        (folder / str(number)).mkdir()
        commit(folder, creation(f"{number}/a.md", b"x"))

    assert len(Store(str(folder)).uncleaned()) <= 9


# --- What a commit asks of the disk: nothing twice that cannot have changed under its lock.

FILES = 20

# The fixed cost of a commit, and the cost per file.
ALWAYS = Counter({Step.OPEN_DIRECTORY: 1, Step.LIST: 1, Step.CREATE: 1, Step.STORE_COMMIT: 3})
EACH = Counter({Step.CREATE: 1, Step.WRITE: 1, Step.EXCHANGE: 1, Step.UNLINK: 1, Step.OPEN_FILE: 4})


class CountingDisk(FileSystem):
    def __init__(self) -> None:
        super().__init__()
        self.steps: Counter[Step] = Counter()

    def before(self, step: Step) -> None:
        self.steps[step] += 1
        super().before(step)


def steps_of(folder: Path, count: int) -> Counter[Step]:
    """Count the steps of a commit of this many files, once the exchange was tested and the folders exist."""
    disk = CountingDisk()
    for number in range(count):
        (folder / f"{number}.md").write_bytes(b"0")
    for old, new in ((b"0", b"1"), (b"1", b"2")):
        disk.steps.clear()
        files = [change(f"{number}.md", old, new) for number in range(count)]
        if commit(folder, *files, disk=disk, durability=Durability.PROCESS).cas == "weak":
            pytest.skip("two files cannot change places here")
    return disk.steps


@pytest.mark.requirement("commit-once-1")
def test_folders_of_a_commit_are_opened_and_listed_once(tmp_path: Path) -> None:
    steps = steps_of(tmp_path, 1)

    assert {step: steps[step] for step in ALWAYS} == ALWAYS + Counter({Step.CREATE: EACH[Step.CREATE]})


def test_further_files_add_only_steps_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "many").mkdir()
    one, many = steps_of(tmp_path / "one", 1), steps_of(tmp_path / "many", 1 + FILES)
    added = {step: (many[step] - one[step]) / FILES for step in Step}

    assert {step: added[step] for step in EACH} == EACH
    assert {step: added[step] for step in ALWAYS - EACH} == dict.fromkeys(ALWAYS - EACH, 0)
    assert sum(added.values()) <= 32
