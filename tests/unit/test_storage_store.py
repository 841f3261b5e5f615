"""The store of a root, its lock, and what is kept there: transactions, contents and plans."""

import errno
import fcntl
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Problems
from mdplan.documents.workspace import find_root
from mdplan.storage.commit import stage
from mdplan.storage.filesystem import Step, StorageRefused
from mdplan.storage.lock import locked
from mdplan.storage.plans import DEFAULT_KEPT_SECONDS, PlanStore
from mdplan.storage.root import Root
from mdplan.storage.store import FileEntry, State, Store, stored_content
from tests.support.case_tables import CaseTables
from tests.support.commits import change, commit, creation, deletion, sha256, states_of
from tests.support.files import NOBODY, FailingDisk, descriptors, names_in, tree

CASE_TABLES = CaseTables(__file__)
COUNT = 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A file that was changed many times; the ID of a change is its number."""
    (tmp_path / "a.md").write_bytes(b"0")
    for number in range(COUNT):
        step = change("a.md", b"%d" % number, b"%d" % (number + 1))
        commit(tmp_path, step, transaction=f"{number:016x}")
    return tmp_path


def kept(folder: Path) -> set[bytes]:
    """The numbers that the store has as contents."""
    return {
        b"%d" % number for number in range(COUNT + 1) if stored_content(str(folder), sha256(b"%d" % number))
    }


def test_root_without_commits_has_no_store_and_nothing_in_it(tmp_path: Path, state_dir: Path) -> None:
    assert list(Store(str(tmp_path)).transactions()) == []
    assert stored_content(str(tmp_path), sha256(b"")) is None
    assert (names_in(tmp_path), state_dir.exists()) == ([], False)


def test_transactions_are_listed_newest_first(folder: Path) -> None:
    listed = list(Store(str(folder)).transactions())

    assert [int(item.id, 16) for item in listed] == list(range(COUNT))[::-1]
    assert (listed[0].state, listed[0].note, listed[0].undoable) == ("committed", {"of": "a test"}, True)
    assert listed[0].record.entries == (
        FileEntry(path="a.md", base=sha256(b"19"), base_bytes=2, result=sha256(b"20"), result_bytes=2),
    )
    assert kept(folder) == {b"%d" % number for number in range(COUNT)}
    assert names_in(folder) == ["a.md"]


def test_record_lists_created_and_deleted_files_and_folders(tmp_path: Path) -> None:
    commit(tmp_path, creation("n/m/a.md", b"x"))
    commit(tmp_path, deletion("n/m/a.md", b"x"), removed_folders=("n", "n/m"))
    removed, made = (found.record for found in Store(str(tmp_path)).transactions())

    assert (made.made_folders, removed.removed_folders) == (("n", "n/m"), ("n", "n/m"))


@pytest.mark.parametrize(
    ("limits", "left"),
    [((2, 1 << 20, 0.0), 2), ((100, 1, 0.0), 1), ((100, 1 << 20, 1e9), 1), ((100, 1 << 20, 0.0), 20)],
)
def test_history_is_limited_by_number_bytes_and_age(
    folder: Path, limits: tuple[int, int, float], left: int
) -> None:
    Store(str(folder)).collect(*limits)

    assert len(states_of(folder)) == left
    assert kept(folder) == {b"%d" % number for number in range(COUNT - left, COUNT)}


def test_content_shared_with_a_later_transaction_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"x")
    for _ in range(2):
        commit(tmp_path, change("a.md", b"x", b"y"))
        commit(tmp_path, change("a.md", b"y", b"x"))
    Store(str(tmp_path)).collect(1, 1 << 20, 0.0)

    assert stored_content(str(tmp_path), sha256(b"y")) == b"y"


@pytest.mark.parametrize("state", [State.PENDING, State.CONFLICT])
def test_transaction_that_waits_is_never_forgotten(folder: Path, state: State) -> None:
    store = Store(str(folder))
    store.settle(f"{0:016x}", state, syncs=False)
    store.collect(1, 1, 1e9)

    assert states_of(folder) == [state, "committed"]
    assert b"0" in kept(folder)


def test_large_content_lies_in_rows_of_a_mebibyte(tmp_path: Path) -> None:
    data = os.urandom(3 * (1 << 20) + 5)
    Store(str(tmp_path)).keep(sha256(data), data, syncs=True)

    assert stored_content(str(tmp_path), sha256(data)) == data
    with Store(str(tmp_path)).read() as database:
        assert database is not None
        sizes = [row[0] for row in database.execute("SELECT length(data) FROM parts ORDER BY part")]
    assert (len(sizes), max(sizes) < (1 << 20) + 1000) == (4, True)


def test_views_show_transactions_and_plans(folder: Path) -> None:
    PlanStore(str(folder)).save_plan(A, [b"{}"], NOW)
    with sqlite3.connect(Store(str(folder)).path) as database:
        transactions = database.execute("SELECT state, path FROM transaction_list").fetchall()
        plans = database.execute("SELECT id FROM plan_list").fetchall()

    assert transactions == [("committed", "a.md")] * COUNT
    assert plans == [(A,)]


@pytest.mark.parametrize("step", [Step.STORE_READ, Step.STORE_BEGIN, Step.STORE_COMMIT])
@pytest.mark.parametrize(
    ("error", "code"),
    [(errno.ENOSPC, Code.NO_SPACE), (errno.EIO, Code.IO_ERROR), (errno.EROFS, Code.READ_ONLY)],
)
def test_failing_store_refuses_the_commit_and_loses_nothing(
    folder: Path, step: Step, error: int, code: Code
) -> None:
    before = tree(folder)
    disk = FailingDisk()
    commit(folder, change("a.md", b"20", b"21"), disk=disk)
    commit(folder, change("a.md", b"21", b"20"))
    for nth in range(1, disk.reached[step] + 1):
        problems: Problems = ()
        try:
            facts = commit(folder, change("a.md", b"20", b"21"), disk=FailingDisk(step, nth, error))
        except StorageRefused as refused:
            problems = refused.problems
        if problems:
            assert code in {problem.code for problem in problems}
            assert error == errno.ENOSPC or "MDPLAN_STATE_DIR" in problems[0].hint
            assert tree(folder) == before
        else:
            # It came behind the commit point.
            assert facts.warnings
            commit(folder, change("a.md", b"21", b"20"))
    assert states_of(folder)[-1] == "committed"


def test_store_of_a_newer_version_is_refused_and_left_alone(folder: Path) -> None:
    store = Store(str(folder))
    with store.write() as database:
        database.execute("PRAGMA user_version = 99")
    store.close()

    with pytest.raises(StorageRefused) as refused:
        commit(folder, change("a.md", b"20", b"21"))
    assert "newer mdplan" in refused.value.problems[0].message


def test_connection_is_not_shared_with_a_forked_process(folder: Path) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0 if len(states_of(folder)) == COUNT else 1)
    assert os.waitpid(child, 0)[1] == 0
    commit(folder, change("a.md", b"20", b"21"))
    assert len(states_of(folder)) == COUNT + 1


def test_root_is_the_folder_that_was_edited_before(tmp_path: Path) -> None:
    inner = tmp_path / "docs" / "guide"
    inner.mkdir(parents=True)
    assert find_root(str(inner)) == str(inner)
    commit(tmp_path / "docs", creation("a.md", b"x"))

    assert find_root(str(inner)) == str(tmp_path / "docs")


# --- One writer per root.

HOLDER = CASE_TABLES.value("HOLDER")
FORKED = CASE_TABLES.value("FORKED")


def check_refused(root: Root, code: Code, timeout: float = 5) -> None:
    """The lock of `root` is refused with `code`."""
    with pytest.raises(StorageRefused) as refused, locked(root, timeout):
        pass
    assert [problem.code for problem in refused.value.problems] == [code]
    assert code is not Code.LOCK_TIMEOUT or f"process {os.getpid()}" in str(refused.value.problems)


@pytest.mark.requirement("commit-5")
def test_second_thread_waits_and_then_gives_up(tmp_path: Path) -> None:
    root, same = Root.open(tmp_path), Root.open(tmp_path)
    with locked(root):
        thread = threading.Thread(target=check_refused, args=(same, Code.LOCK_TIMEOUT, 0.05))
        thread.start()
        thread.join()

    with locked(same, timeout=0):
        pass


@pytest.mark.requirement("commit-5")
@pytest.mark.parametrize("program", [HOLDER, FORKED], ids=["waiting", "forked"])
def test_other_process_waits_until_the_holder_dies(tmp_path: Path, program: str) -> None:
    """Also where the holder has forked a process that lives on."""
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StorageRefused) as refused, locked(Root.open(tmp_path), 0.05):
            pass
        assert f"process {holder.pid}" in refused.value.problems[0].message
        holder.kill()
        holder.wait()
        with locked(Root.open(tmp_path), 5):
            pass


def test_lock_of_a_program_that_called_mdplan_is_not_waited_for(tmp_path: Path) -> None:
    """As `flock . mdplan …` does it in cron jobs."""
    command = ["flock", ".", sys.executable, "-c", CASE_TABLES.value("LOCKING"), "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)

    assert (done.stdout, done.stderr) == ("held\n", "")


def test_exception_propagates_and_releases_the_lock(tmp_path: Path) -> None:
    root = Root.open(tmp_path)
    before = descriptors()
    with pytest.raises(OSError, match="from the block"), locked(root):
        raise OSError("from the block")

    assert descriptors() == before
    with locked(root, timeout=0):
        pass


@pytest.mark.parametrize("error", [errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL])
def test_file_in_the_state_directory_is_locked_where_folders_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    real = fcntl.flock

    def no_folders(descriptor: int, operation: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").is_dir():
            raise OSError(error, os.strerror(error))
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", no_folders)
    facts = commit(tmp_path, creation("a.md", b"x"))

    assert [warning.code for warning in facts.warnings] == [Code.LOCK_UNSUPPORTED]
    with locked(Root.open(tmp_path)), pytest.raises(StorageRefused), locked(Root.open(tmp_path), 0):
        pass


def test_root_that_was_replaced_is_refused(tmp_path: Path) -> None:
    """Its files are reached by a descriptor, its lock by a path: they would not be the same folder."""
    (tmp_path / "root").mkdir()
    root = Root.open(tmp_path / "root")
    (tmp_path / "root").rename(tmp_path / "old")
    (tmp_path / "root").mkdir()

    check_refused(root, Code.IO_ERROR)


# --- Roots in roots.

OLD, NEW = b"old", b"new"
ID = "ab" * 8
IN_OUTER, IN_INNER = change("in/d/a.md", OLD, NEW), change("d/a.md", OLD, NEW)


@pytest.fixture
def outer(tmp_path: Path) -> Path:
    """A root that lies around another one, with a file that both have."""
    folder = tmp_path / "out"
    (folder / "in" / "d").mkdir(parents=True)
    (folder / "in" / "d" / "a.md").write_bytes(OLD)
    for root in (folder, folder / "in"):
        commit(root, creation("own.md", b"own"))
    return folder


@pytest.mark.parametrize("held", ["outer", "inner"])
def test_commits_in_nested_roots_wait_for_each_other(outer: Path, held: str) -> None:
    folders = [outer, outer / "in"]
    holder, other = folders if held == "outer" else folders[::-1]
    problems: list[Code] = []

    def act() -> None:
        root = Root.open(other)
        try:
            with locked(root, timeout=0.05):
                pass
        except StorageRefused as refused:
            problems.extend(problem.code for problem in refused.problems)
        root.close()

    thread = threading.Thread(target=act)
    with locked(Root.open(holder)):
        thread.start()
        thread.join()
    assert problems == [Code.LOCK_TIMEOUT]


@pytest.mark.parametrize("which", ["outer", "inner"])
def test_interrupted_commit_in_the_other_root_is_reported(outer: Path, which: str) -> None:
    inner = outer / "in"
    interrupted, folder = (inner, outer) if which == "outer" else (outer, inner)
    root = Root.open(interrupted)
    with locked(root) as lock:
        stage(
            lock,
            [IN_INNER if which == "outer" else IN_OUTER],
            transaction=ID,
            note=b"{}",
            now=0.0,
            max_bytes=100,
        )
    root.close()
    before = tree(outer)
    with pytest.raises(StorageRefused) as refused:
        commit(folder, IN_OUTER if which == "outer" else IN_INNER)

    assert {problem.code for problem in refused.value.problems} == {Code.RECOVERY_REQUIRED}
    assert f"--root {interrupted}" in str(refused.value.problems)
    assert tree(outer) == before


# --- Plans survive the process, in a directory of the user.

A = "sha256-" + "a" * 64
B = "sha256-" + "a" * 12 + "b" * 52
NOW = 1_000_000_000.0


def test_plan_is_found_by_another_store_of_the_same_root() -> None:
    assert PlanStore("/root").save_plan(A, [b"{}\n"], NOW)

    assert PlanStore("/root").load_plan(A) == b"{}\n"
    assert PlanStore("/other").load_plan(A) is None
    assert PlanStore("/root").load_plan(B) is None


def test_stored_files_are_private(state_dir: Path) -> None:
    PlanStore("/root").save_plan(A, [b"{}"], NOW)

    files = [path for path in state_dir.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    folders = [state_dir, *(path for path in state_dir.rglob("*") if path.is_dir())]
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}


def test_plan_is_named_by_twelve_digits_that_only_it_has() -> None:
    store = PlanStore("/root")
    store.save_plan(A, [b"A"], NOW)
    assert store.load_plan("a" * 12) == b"A"

    store.save_plan(B, [b"B"], NOW)
    assert store.load_plan("a" * 12) is None
    assert store.load_plan("a" * 13) == b"A"
    assert store.load_plan("sha256-" + "A" * 12 + "B") == b"B"


@pytest.mark.parametrize(
    "plan_id",
    ["", "a" * 11, "a" * 65, "sha256-", "../" + "a" * 20, "a" * 64 + "\n", "sha256-" + "g" * 64, "*" * 12],
)
def test_malformed_id_touches_no_file(state_dir: Path, plan_id: str) -> None:
    store = PlanStore("/root")

    assert store.load_plan(plan_id) is None
    assert not store.save_plan(plan_id, [b"{}"], NOW)
    assert not state_dir.exists()


def test_saving_removes_expired_plans() -> None:
    store = PlanStore("/root")
    store.save_plan(A, [b"A"], NOW)
    saved_at = store.list_plans()[0].saved_at
    PlanStore("/root").save_plan(B, [b"B"], saved_at + DEFAULT_KEPT_SECONDS - 1)
    assert store.load_plan(A) == b"A"

    PlanStore("/root").save_plan(B, [b"B"], saved_at + DEFAULT_KEPT_SECONDS + 1)
    assert store.load_plan(A) is None


def test_read_only_store_saves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("MDPLAN_STATE_DIR", str(tmp_path / "file" / "state"))
    store = PlanStore("/root")

    assert not store.save_plan(A, [b"{}"], NOW)
    assert store.load_plan(A) is None
    assert store.list_plans() == ()


@pytest.mark.parametrize("trap", ["writable-for-all", "another-user's"])
def test_state_folder_accessible_to_others_is_not_used(trap: str) -> None:
    store = PlanStore("/root")
    store.save_plan(A, [b"{}"], NOW)
    folder = Path(Store("/root").folder.path)
    if trap == "writable-for-all":
        folder.chmod(0o777)
    elif os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    else:
        pytest.skip("needs root, to give a folder away")

    assert store.load_plan(A) is None
    assert not store.save_plan(B, [b"{}"], NOW)


def test_default_directory_is_the_user_state_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("MDPLAN_STATE_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    assert PlanStore("/root").save_plan(A, [b"{}"], NOW)
    assert names_in(tmp_path) == ["mdplan"]
