"""All files of a batch are replaced, or none; and a replaced file keeps what belongs to it."""

import errno
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Severity
from mdplan.storage.commit import CommitFacts, Durability, StagedFile, publish, stage
from mdplan.storage.file_name import TEMPORARY_NAME
from mdplan.storage.filesystem import FileSystem, Step
from mdplan.storage.lock import locked
from mdplan.storage.refusal import StorageRefused
from mdplan.storage.root import Root
from mdplan.storage.scope import Scope
from tests.disk import NOBODY, FailingDisk, descriptors, tree

LIMIT = 1 << 20


def change(path: str, base: bytes, result: bytes) -> StagedFile:
    """The replacement of `base` by `result`."""
    return StagedFile(path, hashlib.sha256(base).hexdigest(), result, hashlib.sha256(result).hexdigest())


def commit(
    folder: Path,
    *changes: StagedFile,
    disk: FileSystem | None = None,
    durability: Durability = Durability.FULL,
    between: Callable[[], None] = lambda: None,
) -> CommitFacts:
    """Stage and publish `changes`; `between` happens when all is staged."""
    root = Root.open(folder, filesystem=disk)
    try:
        with locked(root) as lock:
            staged = stage(lock, changes, max_bytes=LIMIT, durability=durability)
            between()
            return publish(staged)
    finally:
        root.close()


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
    """Whether the commit made the file of that path."""
    return TEMPORARY_NAME.fullmatch(name.rpartition("/")[2]) is not None


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
    assert facts == CommitFacts(cas="weak", durable=durability is Durability.FULL, warnings=())


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
        warnings = stage(lock, ALL, max_bytes=LIMIT).discard()

    assert warnings == ()
    assert tree(folder) == before
    assert descriptors() == opened
    root.close()


@pytest.mark.parametrize("result", [b"", b"\xff\0\r", b"x" * (3 << 20)], ids=["empty", "odd", "beyond-limit"])
def test_result_may_be_any_bytes(folder: Path, result: bytes) -> None:
    commit(folder, change("a.md", b"a.md", result))

    assert (folder / "a.md").read_bytes() == result


def test_result_beyond_the_limit_can_be_undone(folder: Path) -> None:
    before = tree(folder)
    disk = FailingDisk(Step.RENAME, 2, errno.EIO)
    with pytest.raises(StorageRefused):
        commit(folder, change("a.md", b"a.md", b"x" * (LIMIT + 1)), ALL[1], disk=disk)

    assert tree(folder) == before


@pytest.mark.parametrize("content", [b"x.md", b"a.md\r", b"", b"a.m"])
def test_case_53_changed_base_is_stale(folder: Path, content: bytes) -> None:
    (folder / "a.md").write_bytes(content)

    refused = check_refused(folder, [Code.STALE_BASE], *ALL)
    assert hashlib.sha256(content).hexdigest() in refused.problems[0].hint


def test_case_53_new_time_alone_is_not_stale(folder: Path) -> None:
    os.utime(folder / "a.md", (1, 1))
    commit(folder, *ALL)

    assert (folder / "a.md").read_bytes() == b"a.mda.md"


def test_all_problems_are_told(folder: Path) -> None:
    (folder / "a.md").write_bytes(b"changed")
    (folder / "d" / "b.md").unlink()
    (folder / "d" / "c.md").chmod(0o444)

    check_refused(folder, [Code.STALE_BASE, Code.FILE_NOT_FOUND, Code.READ_ONLY], *ALL)


def test_write_after_staging_is_stale(folder: Path) -> None:
    check_refused(
        folder, [Code.STALE_BASE], *ALL, between=lambda: (folder / "d" / "c.md").write_bytes(b"late") and None
    )


def test_case_27_link_in_place_of_a_staged_file_is_refused(folder: Path) -> None:
    (folder / "outside").write_bytes(b"d/b.md")

    def swap() -> None:
        (folder / "d" / "b.md").unlink()
        (folder / "d" / "b.md").symlink_to("../outside")

    check_refused(folder, [Code.SYMLINK_REFUSED], *ALL, between=swap)
    assert (folder / "outside").read_bytes() == b"d/b.md"


def test_folder_that_becomes_a_link_after_staging_is_still_the_folder(folder: Path) -> None:
    """Its descriptor is held: what is written goes where the bases were."""
    (folder / "outside").mkdir()
    (folder / "outside" / "b.md").write_bytes(b"untouched")

    def swap() -> None:
        (folder / "d").rename(folder / "moved")
        (folder / "d").symlink_to("outside")

    commit(folder, *ALL, between=swap)
    assert (folder / "outside" / "b.md").read_bytes() == b"untouched"
    assert (folder / "moved" / "b.md").read_bytes() == b"d/b.mdd/b.md"


def test_case_34_two_names_of_one_file_are_a_conflict(folder: Path) -> None:
    (folder / "d" / "c.md").unlink()
    (folder / "d" / "c.md").hardlink_to(folder / "a.md")
    two = change("a.md", b"a.md", b"1"), change("d/c.md", b"a.md", b"2")

    check_refused(folder, [Code.ALIAS_CONFLICT, Code.ALIAS_CONFLICT], *two)


def test_case_22_same_file_by_two_spellings_is_a_conflict(folder: Path) -> None:
    two = change("a.md", b"a.md", b"1"), change("./a.md", b"a.md", b"2")

    check_refused(folder, [Code.ALIAS_CONFLICT, Code.ALIAS_CONFLICT], *two)


def test_scope_of_the_root_holds_for_commits(folder: Path) -> None:
    root = Root.open(folder, scope=Scope.of([], ["d/"]))
    with locked(root) as lock, pytest.raises(StorageRefused) as refused:
        stage(lock, ALL, max_bytes=LIMIT)

    assert [problem.code for problem in refused.value.problems] == [Code.PATH_OUTSIDE_ROOT] * 2
    root.close()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755, 0o222])
def test_case_39_mode_is_kept(folder: Path, mode: int) -> None:
    if mode == 0o222 and os.geteuid() != 0:
        pytest.skip("needs root, to read a file without permission")
    (folder / "a.md").chmod(mode)
    commit(folder, ALL[0])

    assert (folder / "a.md").stat().st_mode & 0o7777 == mode


def test_case_39_owner_is_kept(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a file away")
    os.chown(folder / "a.md", NOBODY, 1)
    (folder / "a.md").chmod(0o640)
    commit(folder, ALL[0])

    status = (folder / "a.md").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (NOBODY, 1, 0o640)


def test_case_39_extended_attributes_are_kept(folder: Path) -> None:
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
def test_case_39_acl_is_kept(folder: Path, on_file: bool) -> None:
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


class LateWriter(FileSystem):
    """A disk on which another program writes `path` just before the n-th file is replaced."""

    def __init__(self, path: Path, nth: int, step: Step) -> None:
        super().__init__()
        self._path, self._left, self._step = path, nth, step

    def reach(self, step: Step) -> None:
        if step is self._step:
            self._left -= 1
            if self._left == 0:
                self._path.write_bytes(b"late")
        super().reach(step)


def test_write_between_two_replacements_is_kept_and_the_rest_undone(folder: Path) -> None:
    with pytest.raises(StorageRefused) as refused:
        commit(folder, *ALL, disk=LateWriter(folder / "d" / "c.md", 3, Step.LINK))

    assert [problem.code for problem in refused.value.problems] == [Code.CONFLICT_LATE_WRITE]
    assert {name: content for name, (_, content) in tree(folder).items() if content} == {
        "a.md": b"a.md",
        "d/b.md": b"d/b.md",
        "d/c.md": b"late",
    }


class LateWriterAndFault(FailingDisk):
    """A disk on which another program writes the first file after it was replaced, and the third fails."""

    def __init__(self, path: Path) -> None:
        super().__init__(Step.RENAME, 3, errno.EIO)
        self._path = path

    def reach(self, step: Step) -> None:
        if step is Step.RENAME and self.reached[step] == 1:
            self._path.write_bytes(b"late")
        super().reach(step)


def test_write_on_top_of_a_replaced_file_is_kept_beside_its_old_content(folder: Path) -> None:
    """What was there before is neither put back over it nor thrown away."""
    with pytest.raises(StorageRefused) as refused:
        commit(folder, *ALL, disk=LateWriterAndFault(folder / "a.md"))

    assert [problem.code for problem in refused.value.problems] == [Code.IO_ERROR, Code.COMMIT_IN_DOUBT]
    kept = [name for name in tree(folder) if is_temporary(name)]
    assert len(kept) == 1
    assert f"`{kept[0]}`" in refused.value.problems[1].hint
    assert {name: content for name, (_, content) in tree(folder).items() if content} == {
        kept[0]: b"a.md",
        "a.md": b"late",
        "d/b.md": b"d/b.md",
        "d/c.md": b"d/c.md",
    }


class NoLinks(FailingDisk):
    """A disk on which a file has one name."""

    def reach(self, step: Step) -> None:
        if step is Step.LINK:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        super().reach(step)


@pytest.mark.parametrize("failing_rename", [0, 3])
def test_file_system_without_links_keeps_copies(folder: Path, failing_rename: int) -> None:
    (folder / "a.md").chmod(0o640)
    before = tree(folder)
    disk = NoLinks(Step.RENAME, failing_rename, errno.EIO)
    if failing_rename:
        with pytest.raises(StorageRefused):
            commit(folder, *ALL, disk=disk)
        assert tree(folder) == before
    else:
        commit(folder, *ALL, disk=disk)
        assert (folder / "a.md").read_bytes() == b"a.mda.md"
        assert not [name for name in tree(folder) if is_temporary(name)]


class Recorder(FileSystem):
    """A disk that writes down what was done to it, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []

    def reach(self, step: Step) -> None:
        self.steps.append(step)
        super().reach(step)


def test_everything_is_synced_before_the_first_replacement_and_the_folders_after_the_last(
    folder: Path,
) -> None:
    disk = Recorder()
    commit(folder, *ALL, disk=disk)
    lasting = {Step.SYNC, Step.RENAME, Step.SYNC_DIRECTORY, Step.UNLINK}

    assert [step for step in disk.steps if step in lasting] == [
        *[Step.SYNC] * 6,  # Each base, which is the way back, and each result.
        *[Step.RENAME] * 3,
        *[Step.SYNC_DIRECTORY] * 2,
        *[Step.UNLINK] * 3,
    ]


def test_commit_that_need_not_outlive_the_power_syncs_nothing(folder: Path) -> None:
    disk = Recorder()
    commit(folder, *ALL, disk=disk, durability=Durability.PROCESS)

    assert not {Step.SYNC, Step.SYNC_DIRECTORY} & set(disk.steps)


class NoDirectorySync(FileSystem):
    """A disk whose directories cannot be synced."""

    def sync_directory(self, directory: int) -> bool:
        return False


def test_file_system_that_cannot_sync_folders_is_told(folder: Path) -> None:
    assert not commit(folder, *ALL, disk=NoDirectorySync()).durable


def test_case_45_failure_to_clean_up_is_success_with_a_warning(folder: Path) -> None:
    facts = commit(folder, *ALL, disk=FailingDisk(Step.UNLINK, 2, errno.EIO))

    assert [(problem.code, problem.severity) for problem in facts.warnings] == [
        (Code.IO_ERROR, Severity.WARNING)
    ]
    left = [name for name in tree(folder) if is_temporary(name)]
    assert len(left) == 1
    assert f"`{left[0].rpartition('/')[2]}`" in facts.warnings[0].hint
    assert (folder / "d" / "c.md").read_bytes() == b"d/c.mdd/c.md"


class Interrupted(FailingDisk):
    """A disk on which the user presses Ctrl-C at an operation."""

    def reach(self, step: Step) -> None:
        try:
            super().reach(step)
        except OSError:
            raise KeyboardInterrupt from None


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_interrupt_is_undone(folder: Path, nth: int) -> None:
    before = tree(folder)
    with pytest.raises(KeyboardInterrupt):
        commit(folder, *ALL, disk=Interrupted(Step.RENAME, nth))

    assert tree(folder) == before


@pytest.mark.parametrize("kind", ["immutable", "bind-mount"])
def test_case_41_and_42_file_that_cannot_be_replaced_is_refused(folder: Path, kind: str) -> None:
    target = folder / "d" / "b.md"
    before = tree(folder)
    make, unmake, code = {
        "immutable": (["chattr", "+i"], ["chattr", "-i"], Code.PERMISSION_DENIED),
        "bind-mount": (["mount", "--bind", str(target)], ["umount"], Code.TARGET_BUSY),
    }[kind]
    if shutil.which(make[0]) is None:
        pytest.skip(f"{make[0]} is not installed")
    made = subprocess.run([*make, str(target)], check=False, capture_output=True)
    if made.returncode:
        pytest.skip(f"{make[0]} does not work here: {made.stderr.decode().strip()}")
    try:
        with pytest.raises(StorageRefused) as refused:
            commit(folder, *ALL)
        assert [problem.code for problem in refused.value.problems] == [code]
        assert tree(folder) == before
    finally:
        subprocess.run([*unmake, str(target)], check=True)
