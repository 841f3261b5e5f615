"""The simulated disk behaves like a real one, and loses exactly the unsynced changes in a crash."""

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mdplan.storage.filesystem import FileSystem
from tests.conftest import FULL
from tests.crash.model_disk import ModelDisk, disk_image
from tests.crash.volume import Image, Volume, tree_of

FOLDERS = ("", "d", "e")
NAMES = ("a", "b", "d", "e")


def disk_with(**files: bytes) -> tuple[ModelDisk, int]:
    """A disk with these files, all kept, and two folders `d` and `e`; and its open root."""
    disk = ModelDisk(Volume(disk_image({**files, "d/": b"", "e/": b""})))
    return disk, disk.open_root("/")


def put(disk: FileSystem, folder: int, name: str, data: bytes, *, sync: bool) -> None:
    descriptor = disk.create(folder, name)
    disk.write(descriptor, data)
    if sync:
        disk.sync(descriptor)
    disk.close(descriptor)


def seen(images: set[Image]) -> set[frozenset[tuple[str, bytes]]]:
    """The files of each image."""
    return {
        frozenset((path, node.data) for path, node in tree_of(image).items() if stat.S_ISREG(node.mode))
        for image in images
    }


def states(disk: ModelDisk) -> set[frozenset[tuple[str, bytes]]]:
    """The files as they may be after a crash now."""
    return seen(disk.crash_states(len(disk.events)))


def files(**contents: bytes) -> frozenset[tuple[str, bytes]]:
    return frozenset((name.replace("_", "/"), data) for name, data in contents.items())


def test_unsynced_write_may_be_lost_partial_or_complete() -> None:
    disk, root = disk_with()
    put(disk, root, "a", b"1234", sync=False)
    disk.sync_directory(root)

    assert states(disk) == {files(a=b""), files(a=b"12"), files(a=b"1234")}


def test_synced_write_is_kept_but_its_name_only_by_syncing_the_folder() -> None:
    disk, root = disk_with()
    put(disk, root, "a", b"1234", sync=True)
    before = states(disk)
    disk.sync_directory(root)

    assert before == {files(), files(a=b"1234")}
    assert states(disk) == {files(a=b"1234")}


def test_rename_may_be_undone_until_the_folder_is_synced() -> None:
    disk, root = disk_with(a=b"old", b=b"new")
    disk.rename(root, "b", "a")
    before = states(disk)
    disk.sync_directory(root)

    assert before == {files(a=b"old", b=b"new"), files(a=b"new")}
    assert states(disk) == {files(a=b"new")}


def test_exchange_is_atomic() -> None:
    disk, root = disk_with(a=b"old", b=b"new")
    disk.exchange(root, "a", "b")

    assert states(disk) == {files(a=b"old", b=b"new"), files(a=b"new", b=b"old")}


def test_later_change_may_be_kept_without_the_one_before() -> None:
    """So a file can lose its last name, if the folder is not synced between."""
    disk, root = disk_with(a=b"old", b=b"new")
    disk.link(root, "a", "c")
    disk.rename(root, "b", "a")

    assert files(a=b"new") in states(disk)


def test_sync_of_one_folder_does_not_sync_another() -> None:
    disk, root = disk_with(a=b"old")
    folder = disk.open_directory(root, "d")
    disk.unlink(root, "a")
    put(disk, folder, "b", b"", sync=True)
    disk.sync_directory(folder)

    assert states(disk) == {files(a=b"old", d_b=b""), files(d_b=b"")}


def test_names_in_a_new_folder_are_lost_with_it() -> None:
    disk, root = disk_with()
    disk.make_directory(root, "new")
    folder = disk.open_directory(root, "new")
    put(disk, folder, "a", b"1", sync=True)
    disk.sync_directory(folder)

    assert states(disk) == {files(), files(new_a=b"1")}


@pytest.mark.parametrize("synced", ["", "d"])
def test_move_between_folders_is_atomic_and_either_sync_persists_it(synced: str) -> None:
    disk, root = disk_with(a=b"1")
    folder = disk.open_directory(root, "d")
    disk.move(root, "a", folder, "b")
    before = states(disk)
    disk.sync_directory(folder if synced else root)

    assert before == {files(a=b"1"), files(d_b=b"1")}
    assert states(disk) == {files(d_b=b"1")}


def test_torn_move_may_lose_the_file_or_leave_two_names() -> None:
    disk = ModelDisk(Volume(disk_image({"a": b"1", "d/": b""}), torn_moves=True))
    root = disk.open_root("/")
    disk.move(root, "a", disk.open_directory(root, "d"), "b")

    assert states(disk) == {files(a=b"1"), files(), files(a=b"1", d_b=b"1"), files(d_b=b"1")}


def test_unsynced_mode_is_kept_with_the_content_or_without_or_lost() -> None:
    disk, root = disk_with()
    descriptor = disk.create(root, "a")
    disk.write(descriptor, b"12")
    disk.set_mode(descriptor, 0o644)
    disk.sync_directory(root)
    left = {tree_of(image)["a"] for image in disk.crash_states(len(disk.events))}

    assert {(stat.S_IMODE(content.mode), content.data) for content in left} == {
        (0o600, b""),
        (0o600, b"1"),
        (0o644, b""),
        (0o644, b"1"),
        (0o644, b"12"),
    }


def test_sync_after_a_failed_one_keeps_nothing() -> None:
    class Failing(ModelDisk):
        fails = True

        def reach(self, step: object) -> None:
            if step == "sync" and self.fails:
                raise OSError(errno.EIO, "EIO")

    disk = Failing(Volume(disk_image({})))
    root = disk.open_root("/")
    descriptor = disk.create(root, "a")
    disk.sync_directory(root)
    disk.write(descriptor, b"12")
    with pytest.raises(OSError, match="EIO"):
        disk.sync(descriptor)
    disk.fails = False
    disk.sync(descriptor)

    assert files(a=b"") in states(disk)


def test_new_images_of_all_events_cover_every_moment() -> None:
    """What the checker relies on when it looks at each event's own images only."""
    disk, root = disk_with(a=b"old", b=b"other")
    put(disk, root, "t", b"new", sync=True)
    disk.exchange(root, "t", "a")
    disk.sync_directory(root)
    folder = disk.open_directory(root, "d")
    disk.move(root, "t", folder, "t")
    put(disk, folder, "u", b"more", sync=False)
    disk.link(folder, "t", "v")
    disk.sync_directory(folder)
    disk.unlink(root, "b")
    new = {image for volume, event in disk.moments() for image in volume.crash_images(event)}

    assert new == {image for at in range(len(disk.events) + 1) for image in disk.crash_states(at)}


def test_many_pending_changes_are_sampled_the_same_way_each_time() -> None:
    def build() -> set[Image]:
        disk, root = disk_with()
        for number in range(9):
            put(disk, root, f"n{number}", b"", sync=True)
        return disk.crash_states(len(disk.events))

    images = build()

    assert build() == images
    assert 150 < len(images) < 2**9
    assert {len(tree_of(image)) - 2 for image in images} >= {0, 1, 8, 9}


def test_state_keys_differ_where_crash_results_differ() -> None:
    """Equal for a program, but one may still lose its file."""
    synced, root = disk_with()
    put(synced, root, "a", b"1", sync=True)
    unsynced = synced.volume.copy()
    synced.sync_directory(root)

    assert synced.volume.image() == unsynced.image()
    assert synced.volume.key() != unsynced.key()
    assert synced.volume.key() == Volume(synced.volume.image()).key()


class BothDisks(RuleBasedStateMachine):
    """The same calls to the disk in memory and to the real one."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        for name in FOLDERS[1:]:
            (self.folder / name).mkdir(mode=0o755)
        real = FileSystem()
        model = ModelDisk(Volume(disk_image({"d/": b"", "e/": b""})), exchange=can_exchange(self.folder))
        model.mask = os.umask(0)
        os.umask(model.mask)
        self.disks: tuple[FileSystem, FileSystem] = (model, real)
        self.roots = model.open_root("/"), real.open_root(str(self.folder))

    def teardown(self) -> None:
        self.disks[1].release(self.roots[1])
        shutil.rmtree(self.folder)

    def both(self, call: Callable[..., object], *folders: str) -> None:
        """Call with each disk and the open folders of that name; the answers, or the errors, must agree."""
        assert answer(call, self.disks[0], self.roots[0], folders) == answer(
            call, self.disks[1], self.roots[1], folders
        )

    @invariant()
    def same_tree(self) -> None:
        self.both(whole_tree, "")

    @rule(folder=st.sampled_from(FOLDERS), name=st.sampled_from(NAMES), parts=st.lists(st.binary(max_size=4)))
    def create(self, folder: str, name: str, parts: list[bytes]) -> None:
        def call(disk: FileSystem, opened: int) -> None:
            descriptor = disk.create(opened, name, 0o640)
            for part in parts:
                disk.write(descriptor, part)
            disk.sync(descriptor)
            disk.close(descriptor)

        self.both(call, folder)

    @rule(folder=st.sampled_from(FOLDERS), name=st.sampled_from(NAMES), mode=st.sampled_from([0o600, 0o444]))
    def look(self, folder: str, name: str, mode: int) -> None:
        def call(disk: FileSystem, opened: int) -> object:
            descriptor = disk.open_file(opened, name)
            try:
                status = disk.status(descriptor)
                disk.set_mode(descriptor, mode)
                disk.set_owner(descriptor, os.geteuid(), os.getegid())
                parts = [disk.read(descriptor, size) for size in (2, 1000)]
                return parts, status.st_size, disk.may_write(opened, name)
            finally:
                disk.release(descriptor)

        self.both(call, folder)

    @rule(folder=st.sampled_from(FOLDERS), name=st.sampled_from(NAMES), value=st.binary(max_size=3))
    def attributes(self, folder: str, name: str, value: bytes) -> None:
        def call(disk: FileSystem, opened: int) -> object:
            descriptor = disk.open_file(opened, name)
            try:
                disk.set_attributes(descriptor, {"user.one": value} if value else {})
                return disk.attributes(descriptor)
            finally:
                disk.release(descriptor)

        with contextlib.suppress(Unsupported):
            self.both(call, folder)

    @rule(
        step=st.sampled_from(
            ["make_directory", "remove_directory", "unlink", "read_link", "open_directory", "status_of"]
        ),
        folder=st.sampled_from(FOLDERS),
        name=st.sampled_from(NAMES),
    )
    def one_name(self, step: str, folder: str, name: str) -> None:
        def call(disk: FileSystem, opened: int) -> None:
            given = getattr(disk, step)(opened, name)
            if step == "open_directory":
                disk.release(given)

        self.both(call, folder)

    @rule(
        step=st.sampled_from(["link", "rename", "exchange"]),
        folder=st.sampled_from(FOLDERS),
        name=st.sampled_from(NAMES),
        other=st.sampled_from(NAMES),
    )
    def two_names(self, step: str, folder: str, name: str, other: str) -> None:
        self.both(lambda disk, opened: getattr(disk, step)(opened, name, other), folder)

    @rule(
        step=st.sampled_from(["rename_new", "move"]),
        folder=st.sampled_from(FOLDERS),
        name=st.sampled_from(NAMES),
        other_folder=st.sampled_from(FOLDERS),
        other=st.sampled_from(NAMES),
    )
    def two_folders(self, step: str, folder: str, name: str, other_folder: str, other: str) -> None:
        self.both(
            lambda disk, opened, target: getattr(disk, step)(opened, name, target, other),
            folder,
            other_folder,
        )


def can_exchange(folder: Path) -> bool:
    """Whether the real disk can exchange two names there."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        FileSystem().exchange(opened, "d", "e")
        FileSystem().exchange(opened, "d", "e")
    except OSError:
        return False
    finally:
        os.close(opened)
    return True


class Unsupported(Exception):  # noqa: N818 - It says something of the machine.
    """The real disk has no such thing."""


def answer(
    call: Callable[..., object], disk: FileSystem, root: int, folders: tuple[str, ...]
) -> tuple[object, int | None]:
    """What the call gives, or the number of its error."""
    opened: list[int] = []
    try:
        opened.extend(disk.open_directory(root, folder or ".") for folder in folders)
        return call(disk, *opened), None
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            raise Unsupported from error
        return None, error.errno
    finally:
        for descriptor in opened:
            disk.release(descriptor)


def whole_tree(disk: FileSystem, folder: int) -> dict[str, object]:
    """Everything below the folder: kind, mode, links and content."""
    found: dict[str, object] = {}
    for entry in disk.list(folder):
        status = disk.status_of(folder, entry.name)
        found[entry.name] = entry, status.st_mode, status.st_nlink
        if entry.is_directory:
            inner = disk.open_directory(folder, entry.name)
            found[entry.name] = found[entry.name], whole_tree(disk, inner)
            disk.release(inner)
        else:
            descriptor = disk.open_file(folder, entry.name)
            found[entry.name] = found[entry.name], disk.read(descriptor, 1000)
            disk.release(descriptor)
    return found


TestBothDisks = BothDisks.TestCase
TestBothDisks.settings = settings(max_examples=2000 if FULL else 12, stateful_step_count=20)
