"""A commit that is cut off anywhere, on a disk that loses all it may, is all old or all new in the end."""

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mdplan.diagnostics import Code, Problems, Severity
from mdplan.storage.filesystem import Durability, FileSystem, Step, StorageRefused
from tests.conftest import FULL
from tests.crash.checker import EITHER, NEW, OLD, TRANSACTION, Checker, Crash, Found, State
from tests.crash.judge import documents, mixture
from tests.crash.model_disk import ModelDisk, disk_image
from tests.crash.scenario import Change, Scenario, created, deleted, renamed, replaced, swapped
from tests.crash.volume import Image, Volume, tree_of

BEFORE = (replaced("before.md"),)
MIXED = (*replaced("a.md"), *created("x/y/new.md"), *deleted("d/gone.md"), *renamed("d/from.md", "to.md"))
FIRST, SECOND, THIRD = b"first\n", b"the second\n", b"this is the third\n"
LINKED = Scenario("rename-by-link", renamed("d/from.md", "to.md"), BEFORE, exchange=False)

UNDONE = Scenario(
    "undo-of-creation",
    tuple(Change(change.path, change.new, None) for change in created("x/y/new.md")),
    (created("x/y/new.md"),),
    removed_folders=("x", "x/y"),
)

SMALL = (
    Scenario("replace", replaced("a.md"), BEFORE),
    Scenario("create", created("new.md"), BEFORE),
    Scenario("create-in-new-folders", created("x/y/new.md"), BEFORE),
    Scenario("delete", deleted("d/gone.md"), BEFORE),
    Scenario("rename", renamed("d/from.md", "to.md"), BEFORE),
    Scenario("swap", swapped("a.md", "d/b.md"), BEFORE),
    # Staged contents are already in the history, as the files displaced by the previous commit.
    Scenario("back", (Change("a.md", SECOND, FIRST),), ((Change("a.md", FIRST, SECOND),),)),
    Scenario("replace-by-link", replaced("a.md"), BEFORE, exchange=False),
    UNDONE,
    LINKED,
    Scenario("replace-by-copy", replaced("a.md"), BEFORE, exchange=False, links=False),
    Scenario("rename-by-copy", renamed("d/from.md", "to.md"), BEFORE, exchange=False, links=False),
    Scenario("mixed-without-syncs", MIXED, BEFORE, durability=Durability.PROCESS),
)

LARGE = (
    Scenario("three", replaced("a.md", "d/b.md", "d/c.md"), BEFORE),
    Scenario("mixed", MIXED, BEFORE),
    Scenario("mixed-by-link", MIXED, BEFORE, exchange=False),
    Scenario("mixed-by-copy", MIXED, BEFORE, exchange=False, links=False),
    Scenario("mixed-on-unsynced-files", MIXED, BEFORE, synced_bases=False),
    Scenario("swap-by-link", swapped("a.md", "d/b.md"), BEFORE, exchange=False),
    Scenario("swap-on-unsynced-files", swapped("a.md", "d/b.md"), BEFORE, synced_bases=False),
    Scenario("mixed-where-moves-tear", MIXED, BEFORE, torn_moves=True),
)

CLUTTERED = (
    Scenario("first-commit", MIXED),
    Scenario("first-trial-of-exchange", replaced("a.md"), BEFORE, tries_exchange=True),
    Scenario(
        "after-an-unsynced-cleanup",
        (Change("a.md", SECOND, THIRD),),
        ((Change("a.md", FIRST, SECOND),),),
        synced_earlier=False,
    ),
    Scenario(
        "after-an-unsynced-cleanup-elsewhere",
        (Change("a.md", SECOND, THIRD),),
        (replaced("d/b.md"), (Change("a.md", FIRST, SECOND),)),
        synced_earlier=False,
    ),
)

# Each operation gets a fault on these.
FAULTY = Scenario("some", (*replaced("a.md"), *created("x/new.md"), *deleted("d/gone.md")), BEFORE)


def scenarios(*chosen: Scenario, slow: tuple[Scenario, ...] = ()) -> pytest.MarkDecorator:
    """Run the test once per scenario; `slow` ones only in the long run."""
    quick = [pytest.param(each, id=each.name) for each in chosen]
    return pytest.mark.parametrize(
        "scenario", quick + [pytest.param(each, id=each.name, marks=pytest.mark.slow) for each in slow]
    )


def check(found: Found) -> None:
    assert found.states > 0
    assert not found.violations, "\n".join(found.violations)


@pytest.mark.requirement("commit-3")
@scenarios(*SMALL)
def test_nested_crashes_end_all_old_or_all_new(scenario: Scenario, tmp_path: Path) -> None:
    checker = Checker(scenario, tmp_path)
    check(checker.check(checker.run()))


@scenarios(*SMALL, slow=LARGE)
def test_next_commit_succeeds_after_every_crash(scenario: Scenario, tmp_path: Path) -> None:
    checker = Checker(scenario, tmp_path)
    disk = checker.run()
    states = {state.volume.key(): state for state in checker.crashed(disk, EITHER, NEW)}
    found = Found(len(disk.events) + 1, len(states))
    for state in states.values():
        found.violations += checker.goes_on(state)
    check(found)


@scenarios(*LARGE[1:3], LARGE[4])
def test_crash_of_a_large_commit_ends_all_old_or_all_new(scenario: Scenario, tmp_path: Path) -> None:
    checker = Checker(scenario, tmp_path)
    check(checker.check(checker.run(), depth=0))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@scenarios(*LARGE[:-1])
def test_nested_crashes_of_a_large_commit_end_all_old_or_all_new(scenario: Scenario, tmp_path: Path) -> None:
    checker = Checker(scenario, tmp_path)
    check(checker.check(checker.run()))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@scenarios(LARGE[-1])
def test_nested_crash_with_torn_renames_ends_all_old_or_all_new(scenario: Scenario, tmp_path: Path) -> None:
    """Only once: the halves of moves make more states than can be followed to the end."""
    checker = Checker(scenario, tmp_path)
    check(checker.check(checker.run(), depth=1))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@scenarios(*CLUTTERED)
def test_crash_among_many_unsynced_names_ends_all_old_or_all_new(scenario: Scenario, tmp_path: Path) -> None:
    checker = Checker(scenario, tmp_path)
    check(checker.check(checker.run(), depth=0))


class FaultyDisk(ModelDisk):
    """A disk whose operation number `nth` (from 1) fails with EIO, and with `lasting` all after it."""

    nth = 0
    lasting = False
    reached = 0

    def before(self, step: Step) -> None:
        self.reached += 1
        if self.reached == self.nth or (self.lasting and self.reached > self.nth > 0):
            raise OSError(errno.EIO, "EIO")


def failed(checker: Checker, nth: int, *, lasting: bool) -> tuple[FaultyDisk, Problems | None]:
    """The disk after a commit during which that operation failed; the problems if it was refused."""
    disk = checker.disk(checker.start, FaultyDisk)
    disk.reached, disk.nth, disk.lasting = 0, nth, lasting
    try:
        checker.commit(disk, checker.scenario.changes, TRANSACTION)
    except StorageRefused as refused:
        return disk, refused.problems
    return disk, None


def check_fault(checker: Checker, disk: FaultyDisk, problems: Problems | None) -> Found:
    """What is wrong at once after the commit that met the fault, and after a crash then."""
    codes = {problem.code for problem in problems or ()}
    left = documents(disk.volume.image())
    may_be = frozenset({NEW} if problems is None else {OLD})
    if Code.COMMIT_IN_DOUBT in codes:
        may_be = EITHER
    found = checker.check_states(
        checker.pending_transactions(disk.volume, may_be, (Crash(disk, len(disk.events), ""),)), depth=0
    )
    told = {Code.RECOVERY_REQUIRED, Code.COMMIT_IN_DOUBT} & codes
    warned = any(problem.severity is Severity.WARNING for problem in problems or ())
    if problems is not None and not told and not warned and left != checker.old:
        found.violations.append(f"refused with {codes}, and left {mixture(left, checker.old, checker.new)}")
    found.violations = [f"operation {disk.nth} failed: {violation}" for violation in found.violations]
    return found


def check_faults(scenario: Scenario, folder: Path, *, lasting: bool) -> None:
    checker = Checker(scenario, folder)
    healthy, _ = failed(checker, 0, lasting=False)
    found = Found()
    for nth in range(1, healthy.reached + 1):
        disk, problems = failed(checker, nth, lasting=lasting)
        found += check_fault(checker, disk, problems)
    check(found)


@scenarios(FAULTY, slow=LARGE)
def test_failed_commit_is_all_old_or_all_new_and_reports_which(scenario: Scenario, tmp_path: Path) -> None:
    """Also when the power is lost right after its answer."""
    check_faults(scenario, tmp_path, lasting=False)


@scenarios(FAULTY, slow=LARGE)
def test_commit_on_a_dying_disk_is_all_old_or_all_new_and_reports_which(
    scenario: Scenario, tmp_path: Path
) -> None:
    check_faults(scenario, tmp_path, lasting=True)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("lasting", [False, True])
@scenarios(FAULTY, *LARGE[1:3])
def test_rollback_after_a_fault_may_be_interrupted(scenario: Scenario, lasting: bool, tmp_path: Path) -> None:
    checker = Checker(scenario, tmp_path)
    healthy, _ = failed(checker, 0, lasting=False)

    def states() -> Iterator[State]:
        for nth in range(1, healthy.reached + 1):
            disk, problems = failed(checker, nth, lasting=lasting)
            if Code.COMMIT_IN_DOUBT not in {problem.code for problem in problems or ()}:
                yield from checker.crashed(disk, EITHER, NEW if problems is None else OLD)

    check(checker.check_states(states(), depth=0))


# --- The simulated disk behaves like a real one, and loses exactly the unsynced changes in a crash.

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
    disk.rename_new(root, "a", folder, "b")
    before = states(disk)
    disk.sync_directory(folder if synced else root)

    assert before == {files(a=b"1"), files(d_b=b"1")}
    assert states(disk) == {files(d_b=b"1")}


def test_torn_move_may_lose_the_file_or_leave_two_names() -> None:
    disk = ModelDisk(Volume(disk_image({"a": b"1", "d/": b""}), torn_moves=True))
    root = disk.open_root("/")
    disk.rename_new(root, "a", disk.open_directory(root, "d"), "b")

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

        def before(self, step: object) -> None:
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
    disk.rename_new(root, "t", folder, "t")
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
        step=st.just("rename_new"),
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
    """Return True if the real disk can exchange two names."""
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
