"""Cases 41 to 56: failures and obstacles between a plan and its commit.

tests/crash covers every moment of a commit; here each case occurs once, through the public engine.
"""

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mdplan.diagnostics import Code
from mdplan.documents.workspace import Workspace
from mdplan.engine.engine import Engine
from mdplan.settings import Settings
from mdplan.storage import store as stored
from mdplan.storage.filesystem import FAILPOINT_VARIABLE, Durability, Step
from mdplan.storage.neighbours import write_note
from mdplan.storage.plans import PlanStore
from mdplan.storage.store import FileEntry, Store
from tests.conftest import REPOSITORY
from tests.crash.mounts import bound, immutable
from tests.hostile.trial import HERE, SECRET, Place, check_accepted, check_refused, problems_of
from tests.support.commits import change_store
from tests.support.files import FailingDisk, names_in, tree

NAMES = [f"d{number}/file.md" for number in range(5)]
BATCH = {"files": [{"file": name, "edits": [{"op": "append_to_file", "markdown": "New."}]} for name in NAMES]}
ONE = {"file": "here.md", "edits": [{"op": "append_to_file", "markdown": "New."}]}
NEW = HERE + b"New.\n"


@pytest.fixture
def five(place: Place) -> Place:
    """The same place with five files in five folders."""
    for name in NAMES:
        (place.root / name).parent.mkdir()
        (place.root / name).write_bytes(HERE)
    return place


def all_old(place: Place) -> bool:
    return {(place.root / name).read_bytes() for name in NAMES} == {HERE} and _is_tidy(place)


def all_new(place: Place) -> bool:
    return len({(place.root / name).read_bytes() for name in NAMES} - {HERE}) == 1 and _is_tidy(place)


def _is_tidy(place: Place) -> bool:
    """Nothing lies beside the five files."""
    return all(names_in((place.root / name).parent) == ["file.md"] for name in NAMES)


@pytest.mark.hostile_case(41)
@pytest.mark.parametrize("target", ["d2/file.md", "d2"])
def test_one_immutable_file_of_five_leaves_all_files_old(five: Place, target: str) -> None:
    with immutable(five.root / target):
        codes = {Code.PERMISSION_DENIED, Code.READ_ONLY}
        act = lambda: five.engine.write(BATCH)  # noqa: E731
        check_refused(f"41 immutable {target}", act, codes, five.folder, locks=True)
    assert all_old(five)


@pytest.mark.hostile_case(42)
def test_mount_point_as_target_leaves_all_files_old(five: Place) -> None:
    with bound(five.root / "d2" / "file.md"):
        act = lambda: five.engine.write(BATCH)  # noqa: E731
        codes = {Code.TARGET_BUSY}
        check_refused("42 mount point", act, codes, five.root / "d0", locks=True)
    assert all_old(five)


CHANGING = (
    Step.MAKE_DIRECTORY,
    Step.CREATE,
    Step.WRITE,
    Step.SET_ATTRIBUTES,
    Step.SET_MODE,
    Step.SYNC,
    Step.SYNC_DIRECTORY,
    Step.LINK,
    Step.RENAME,
    Step.RENAME_NEW,
    Step.EXCHANGE,
    Step.UNLINK,
    Step.STORE_BEGIN,
    Step.STORE_COMMIT,
    Step.STORE_DONE,
)


def failing(place: Place, step: Step, nth: int, error: int) -> tuple[Any, FailingDisk]:
    """Return the report of the batch on a disk whose `nth` operation of that kind fails."""
    disk = FailingDisk(step, nth, error)
    workspace = Workspace.open([place.root], filesystem=disk)
    try:
        return Engine(workspace, Settings(durability=Durability.FULL)).write(BATCH), disk
    finally:
        workspace.close()


@pytest.mark.parametrize(
    ("case", "steps", "error", "codes"),
    [
        (
            "43 no space",
            CHANGING,
            errno.ENOSPC,
            {Code.NO_SPACE, Code.COMMIT_IN_DOUBT, Code.RECOVERY_REQUIRED},
        ),
        (
            "44 sync that fails",
            (Step.SYNC, Step.SYNC_DIRECTORY),
            errno.EIO,
            {Code.IO_ERROR, Code.COMMIT_IN_DOUBT, Code.RECOVERY_REQUIRED},
        ),
    ],
    ids=["case_43", "case_44"],
)
def test_failure_of_any_system_call_leaves_all_old_or_all_new(
    five: Place, case: str, steps: tuple[Step, ...], error: int, codes: set[Code]
) -> None:
    """The next call settles a commit in doubt."""
    tried = 0
    for step in steps:
        for nth in range(1, 100):
            for name in NAMES:
                (five.root / name).write_bytes(HERE)
            report, disk = failing(five, step, nth, error)
            if disk.reached[step] < nth:
                break
            tried += 1
            # Incomplete cleanup is a warning, and the next call finishes it.
            five.engine.recover()
            is_whole = all_old(five) or all_new(five)
            # Only a commit in doubt may be reported as failed and still have happened.
            is_told = report.ok == all_new(five) or report.error.code is Code.COMMIT_IN_DOUBT
            is_expected = is_whole and is_told and (report.ok or report.error.code in codes)
            assert is_expected, (step, nth, report.error)
    assert tried > 10


@pytest.mark.hostile_case(45)
def test_failed_cleanup_is_a_warning_on_success(five: Place) -> None:
    """What was displaced cannot be removed."""
    report, _ = failing(five, Step.UNLINK, 5, errno.EIO)

    is_expected = (
        report.ok and report.applied and all((five.root / name).read_bytes() == NEW for name in NAMES)
    )
    assert is_expected
    assert {warning.code for warning in report.warnings} == {Code.IO_ERROR}


def apply(place: Place, plan_id: str, failpoint: str = "") -> subprocess.CompletedProcess[str]:
    """`mdplan apply` as a process, killed at the failpoint."""
    return subprocess.run(
        [sys.executable, "-m", "mdplan", "apply", plan_id, "--root", place.root, "--json"],
        capture_output=True,
        check=False,
        cwd=REPOSITORY,
        encoding="utf-8",
        env={**os.environ, **({FAILPOINT_VARIABLE: failpoint} if failpoint else {})},
    )


def kill(place: Place, failpoint: str) -> str:
    """Let a commit of the batch be killed; its plan ID."""
    plan_id = place.engine.plan(BATCH).plan_id
    assert plan_id is not None
    assert apply(place, plan_id, failpoint).returncode == -signal.SIGKILL
    return plan_id


KILLED = ["write:4", "exchange:3"]
# The crash tests kill before each operation.
SELDOM_KILLED = ["create:3", "exchange:1", "store-commit:2", "store-done:2", "unlink:6"]


@pytest.mark.hostile_case(46)
@pytest.mark.parametrize(
    "failpoint", [*KILLED, *(pytest.param(point, marks=pytest.mark.slow) for point in SELDOM_KILLED)]
)
def test_killed_commit_is_applied_once_by_the_next_call(five: Place, failpoint: str) -> None:
    plan_id = kill(five, failpoint)

    again = [apply(five, plan_id) for _ in range(2)]
    is_once = {(five.root / name).read_bytes() for name in NAMES} == {NEW} and _is_tidy(five)
    is_expected = is_once and [run.returncode for run in again] == [0, 0]
    assert is_expected, [run.stdout for run in again]
    assert json.loads(again[1].stdout)["alreadyApplied"]


@pytest.mark.hostile_case(47)
def test_file_edited_after_a_crash_is_kept_with_its_base(five: Place) -> None:
    kill(five, "exchange:5")
    changed = next(name for name in NAMES if (five.root / name).read_bytes() == NEW)
    (five.root / changed).write_bytes(b"mine")

    act = lambda: five.engine.write(BATCH)  # noqa: E731
    check_refused("47 edit after a crash", act, {Code.RECOVERY_CONFLICT}, five.folder / "secret.md")
    assert (five.root / changed).read_bytes() == b"mine"
    assert any(
        path.is_file() and path.read_bytes() == HERE for path in (five.root / changed).parent.iterdir()
    )


@pytest.mark.hostile_case(48)
@pytest.mark.parametrize("damage", ["cut", "flip", "text"])
def test_damaged_store_is_reported_and_changes_nothing(five: Place, damage: str) -> None:
    assert five.engine.write(ONE).ok
    store = Store(str(five.root))
    with store.read() as database:
        assert database is not None
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    path = Path(store.path)
    data = bytearray(path.read_bytes())
    data[18:] = os.urandom(len(data) - 18) if damage == "flip" else data[18:]
    path.write_bytes({"cut": data[: len(data) // 3], "flip": bytes(data), "text": b"x" * 5000}[damage])
    damaged, before = path.read_bytes(), tree(five.root)

    found = problems_of(five.engine.write(BATCH))
    is_refused = bool(found) and found[0].code is Code.JOURNAL_CORRUPT and tree(five.root) == before
    assert is_refused, found
    assert path.read_bytes() == damaged


HOSTILE_PATHS = ["../../etc/x", "/etc/x", "../secret.md", ".git/config", "link/a.md", "here.md"]


@pytest.mark.hostile_case(49)
@pytest.mark.parametrize("path", HOSTILE_PATHS)
@pytest.mark.parametrize("verb", ["write", "recover", "adopt", "plan"])
def test_note_shipped_in_a_clone_changes_nothing(place: Place, path: str, verb: str) -> None:
    """A repository contains a valid commit note that names other files."""
    (place.root / "link").symlink_to("..")
    place.engine.write(ONE)
    secret = hashlib.sha256(SECRET).hexdigest()
    entry = FileEntry(path=path, base="0" * 64, base_bytes=1, result=secret, result_bytes=len(SECRET))
    write_note(place.engine.workspace.roots[0], stored.Record(transaction="8" * 16, entries=(entry,)))
    (place.root / f".mdplan-{'8' * 16}-0.tmp").symlink_to("../secret.md")
    act: dict[str, Callable[[], object]] = {
        "write": lambda: place.engine.write(ONE),
        "recover": place.engine.recover,
        "adopt": lambda: place.engine.recover(adopt=True),
        "plan": lambda: place.engine.plan(ONE),
    }
    before = (place.root / "here.md").read_bytes()
    outside = {name: (place.folder / name).read_bytes() for name in ("x", "secret.md")}
    found = act[verb]()

    is_untouched = outside == {name: (place.folder / name).read_bytes() for name in outside}
    is_untouched &= (place.root / "here.md").read_bytes() == before
    assert is_untouched, found
    assert bool(problems_of(found)) is (verb in ("write", "adopt")), found


TRAPS: dict[str, Callable[[Path, Path], object]] = {
    "state folder is a link": lambda root, outside: root.symlink_to(outside),
    "state folder that all can write": lambda root, _: _open_folder(root),
    "state folder is a file": lambda root, _: root.write_bytes(b""),
}


def _open_folder(path: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: f"case_50_{trap.replace(' ', '_')}")
def test_unsafe_state_folder_is_refused(place: Place, trap: str) -> None:
    folder = Path(Store(str(place.root)).folder.path)
    folder.parent.mkdir(parents=True)
    (place.folder / "open").mkdir(mode=0o777)
    (place.folder / "open").chmod(0o777)
    TRAPS[trap](folder, place.folder / "open")
    act = lambda: place.engine.write(ONE)  # noqa: E731
    check_refused(
        f"50 {trap}", act, {Code.STATE_DIR_UNSAFE, Code.FILE_NOT_FOUND, Code.IO_ERROR}, place.folder
    )


FIELDS = {"a text edit": ("New.", "Bad."), "the file": ('"here.md"', '"other.md"'), "a hash": (None, None)}


@pytest.mark.hostile_case(51)
@pytest.mark.parametrize("field", FIELDS)
def test_changed_plan_is_refused(place: Place, field: str) -> None:
    """In the store, and as a file."""
    (place.root / "other.md").write_bytes(HERE)
    plan_id = place.engine.plan(ONE).plan_id
    assert plan_id is not None
    exported = place.engine.export(plan_id)
    assert isinstance(exported, bytes)
    old, new = FIELDS[field]
    text = exported.decode()
    result = json.loads(text)["files"][0]["resultSha256"]
    changed = text.replace(old, new) if old and new else text.replace(result, "0" * 64)
    assert changed != text

    act = lambda: place.engine.apply(json.loads(changed))  # noqa: E731
    codes = {Code.PLAN_TAMPERED}
    check_refused(f"51 {field} of a plan file", act, codes, place.folder, locks=True)
    assert PlanStore(str(place.root)).save_plan(plan_id, [changed.encode()], 0.0)
    by_id = lambda: place.engine.apply({"planId": plan_id})  # noqa: E731
    check_refused(f"51 {field} of a stored plan", by_id, codes, place.folder, locks=True)


@pytest.mark.hostile_case(52)
def test_unknown_expired_or_foreign_plan_is_not_found(place: Place) -> None:
    other_root = place.folder / "other"
    other_root.mkdir()
    (other_root / "here.md").write_bytes(HERE)
    other = Engine.open([other_root], settings=Settings(durability=Durability.PROCESS))
    foreign = other.plan(ONE).plan_id
    other.workspace.close()
    for name, plan_id in {
        "unknown": "sha256-" + "0" * 64,
        "of another root": foreign,
        "a path": "sha256-../../x",
        "short": "sha256-00",
    }.items():
        act = lambda plan_id=plan_id: place.engine.apply({"planId": plan_id})  # noqa: E731
        codes = {Code.PLAN_NOT_FOUND, Code.INVALID_ARGUMENT}
        check_refused(f"52 plan, {name}", act, codes, place.folder, locks=True)
    kept = place.engine.plan(ONE).plan_id
    change_store(place.root, "UPDATE plans SET saved_at = 1")
    fresh = Engine.open([place.root], settings=Settings(durability=Durability.PROCESS))
    fresh.plan({**ONE, "edits": [{"op": "append_to_file", "markdown": "Other."}]})
    act = lambda: fresh.apply({"planId": kept})  # noqa: E731
    check_refused("52 plan, expired", act, {Code.PLAN_NOT_FOUND}, place.folder, locks=True)
    fresh.workspace.close()


@pytest.mark.hostile_case(53)
@pytest.mark.parametrize(
    ("case", "data"),
    [("a byte", HERE.replace(b"text", b"Text")), ("line ends", HERE.replace(b"\n", b"\r\n"))],
)
def test_changed_base_is_stale(place: Place, case: str, data: bytes) -> None:
    plan_id = place.engine.plan(ONE).plan_id
    (place.root / "here.md").write_bytes(data)

    act = lambda: place.engine.apply({"planId": plan_id})  # noqa: E731
    check_refused(f"53 {case}", act, {Code.STALE_BASE}, place.folder, locks=True)


@pytest.mark.parametrize("case", ["53 time alone", "54 there and back"], ids=["case_53", "case_54"])
def test_plan_is_applied_when_its_base_has_the_same_bytes_again(place: Place, case: str) -> None:
    """Equal hashes are the contract."""
    path = place.root / "here.md"
    plan_id = place.engine.plan(ONE).plan_id
    if case.startswith("54"):
        path.write_bytes(b"other")
        path.write_bytes(HERE)
    os.utime(path, (1, 1))

    check_accepted(case, lambda: place.engine.apply({"planId": plan_id}), lambda _: path.read_bytes() == NEW)


@pytest.mark.hostile_case(55)
@pytest.mark.parametrize("what", ["file", "folder", "link", "dangling link", "fifo"])
def test_creation_over_an_existing_name_is_refused(place: Place, what: str) -> None:
    path = place.root / "new.md"
    make: dict[str, Callable[[], object]] = {
        "file": lambda: path.write_bytes(SECRET),
        "folder": path.mkdir,
        "link": lambda: path.symlink_to("../secret.md"),
        "dangling link": lambda: path.symlink_to("none"),
        "fifo": lambda: os.mkfifo(path),
    }
    create = {"file": "new.md", "edits": [{"op": "create_file", "markdown": "Owned."}]}
    plan_id = place.engine.plan(create).plan_id
    make[what]()

    codes = {Code.FILE_EXISTS, Code.SYMLINK_REFUSED, Code.NOT_A_TEXT_FILE}
    by_id = lambda: place.engine.apply({"planId": plan_id})  # noqa: E731
    check_refused(f"55 {what}", lambda: place.engine.write(create), codes, place.folder)
    check_refused(f"55 {what} since the plan", by_id, codes, place.folder, locks=True)


@pytest.fixture
def foreign(place: Place) -> Iterator[list[bytes]]:
    """The versions that another program, which knows no lock, puts in place of the file meanwhile."""
    versions: list[bytes] = []
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            version = b"# Here\n\nforeign %d\n" % len(versions)
            temporary = place.folder / "foreign.tmp"
            temporary.write_bytes(version)
            temporary.replace(place.root / "here.md")
            versions.append(version)

    writer = threading.Thread(target=write)
    writer.start()
    yield versions
    stop.set()
    writer.join()


@pytest.mark.hostile_case(56)
def test_foreign_writer_is_never_overwritten_unnoticed(place: Place, foreign: list[bytes]) -> None:
    """tests/concurrency has the long form, with a separate program."""
    codes = set()
    for _ in range(100):
        report = place.engine.write(ONE)
        codes |= {None if report.ok else report.diagnostics[0].code}

    expected = {
        None,
        Code.STALE_BASE,
        Code.CONFLICT_LATE_WRITE,
        Code.RECOVERY_CONFLICT,
        Code.RECOVERY_REQUIRED,
    }
    assert codes <= expected
    assert len(foreign) > 1
