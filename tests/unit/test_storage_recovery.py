"""After a crash: who recovers, what a stranger's journal cannot do, and that nothing is done twice."""

import os
import shutil
import signal
import warnings
from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Severity
from mdplan.storage.commit import stage
from mdplan.storage.files import UNFINISHED, UNFINISHED_MODE
from mdplan.storage.filesystem import FAILPOINT_VARIABLE, Durability, FileSystem, StorageRefused
from mdplan.storage.lock import locked
from mdplan.storage.names import NOTE
from mdplan.storage.neighbours import FoundContents, temporary_names, write_note
from mdplan.storage.recovery import RecoveryResult, RestoreAction, pending, plan_restore
from mdplan.storage.root import Root
from mdplan.storage.store import FileEntry, Record, Store, add_record, stored_content
from tests.support.case_tables import CaseTables
from tests.support.commits import change, commit, creation, deletion, recovered, sha256, states_of
from tests.support.files import names_in, tree

CASE_TABLES = CaseTables(__file__)


OLD, NEW = b"old", b"new"
ID = "cd" * 8

FILES = (
    change("a.md", OLD, NEW),
    change("d/b.md", OLD, NEW),
    creation("n/c.md", NEW),
    deletion("gone.md", OLD),
)

NOTHING = RecoveryResult()

# Killed here, all files but the deleted one are new and nothing is committed.
BEFORE_COMMIT_POINT = "rename:1"
AFTER_COMMIT_POINT = "store-done:2"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "d").mkdir(parents=True)
    for name in ("a.md", "d/b.md", "gone.md"):
        (root / name).write_bytes(OLD)
    return root


def kill_commit(folder: Path, failpoint: str = BEFORE_COMMIT_POINT) -> None:
    """Commit in a process that is killed at that point."""
    with warnings.catch_warnings():
        # The child runs no threads of its parent and returns nowhere.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os.environ[FAILPOINT_VARIABLE] = failpoint
            commit(folder, *FILES, disk=FileSystem(), transaction=ID)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL


def contents(folder: Path) -> dict[str, bytes]:
    return {name: content for name, (_, content) in tree(folder).items() if content}


ALL_OLD = {"a.md": OLD, "d/b.md": OLD, "gone.md": OLD}
ALL_NEW = {"a.md": NEW, "d/b.md": NEW, "n/c.md": NEW}


def codes(problems: tuple[object, ...]) -> list[Code]:
    return [problem.code for problem in problems]


def test_commit_recovers_interrupted_transactions_of_this_user(folder: Path) -> None:
    """Case 46: kill -9, then again."""
    kill_commit(folder)
    assert contents(folder) != ALL_OLD
    found = recovered(folder, settles=False)

    assert found.rolled_back == (ID,)
    assert found.problems == ()
    assert sorted(found.files) == ["a.md", "d/b.md", "n/c.md"]
    assert contents(folder) == ALL_OLD
    assert not (folder / "n").exists()
    assert recovered(folder, settles=False) == NOTHING
    commit(folder, *FILES)
    assert contents(folder) == ALL_NEW


def test_recovery_records_a_rolled_back_transaction(folder: Path) -> None:
    kill_commit(folder)
    recovered(folder)
    (found,) = Store(str(folder)).transactions()

    assert (found.id, found.state, found.undoable) == (ID, "rolled back", False)
    assert [file.path for file in found.record.entries] == ["a.md", "d/b.md", "n/c.md", "gone.md"]
    assert found.note == {"of": "a test"}
    assert stored_content(str(folder), sha256(NEW)) == NEW


def test_committed_transaction_is_finished(folder: Path) -> None:
    """Case 46: killed after the commit point, it is new, and never done twice."""
    kill_commit(folder, AFTER_COMMIT_POINT)
    assert states_of(folder) == ["committed"]
    found = recovered(folder, settles=False)

    assert (found.rolled_back, found.finished, found.problems) == ((), (ID,), ())
    assert contents(folder) == ALL_NEW
    assert stored_content(str(folder), sha256(OLD)) == OLD
    assert recovered(folder, settles=False) == NOTHING
    assert recovered(folder) == NOTHING
    assert states_of(folder) == ["committed"]


def test_commit_without_recovery_before_it_is_refused(folder: Path) -> None:
    kill_commit(folder)
    before = tree(folder)
    root = Root.open(folder)
    with locked(root) as lock, pytest.raises(StorageRefused) as refused:
        stage(lock, [creation("other.md", b"x")], transaction="ef" * 8, note=b"{}", now=0.0, max_bytes=100)
    assert codes(refused.value.problems) == [Code.RECOVERY_REQUIRED]
    assert tree(folder) == before


def test_pending_transaction_is_reported_without_the_lock(folder: Path) -> None:
    root = Root.open(folder)
    assert pending(root) == ()
    assert names_in(folder) == ["a.md", "d", "gone.md"]
    kill_commit(folder)

    assert codes(pending(root)) == [Code.RECOVERY_REQUIRED]
    assert "mdplan recover" in pending(root)[0].hint
    recovered(folder)
    assert pending(root) == ()


def test_running_commit_is_not_pending(folder: Path) -> None:
    seen: list[object] = []
    commit(folder, *FILES, between=lambda: seen.append(pending(Root.open(folder))))

    assert seen == [()]


# A commit that another identity began.
@pytest.fixture
def elsewhere(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that was killed under another state directory."""
    kill_commit(folder)
    monkeypatch.setenv("MDPLAN_STATE_DIR", str(tmp_path / "another"))


@pytest.mark.usefixtures("elsewhere")
def test_commit_of_another_identity_is_undone_only_on_request(folder: Path) -> None:
    before = tree(folder)

    assert (recovered(folder), tree(folder)) == (NOTHING, before)
    assert codes(pending(Root.open(folder))) == [Code.RECOVERY_REQUIRED]
    with pytest.raises(StorageRefused) as refused:
        commit(folder, creation("other.md", b"x"))
    assert set(codes(refused.value.problems)) == {Code.RECOVERY_REQUIRED}
    assert "mdplan recover --adopt" in refused.value.problems[0].hint
    assert tree(folder) == before
    assert recovered(folder, adopts=True).rolled_back == (ID,)
    assert contents(folder) == ALL_OLD
    assert pending(Root.open(folder)) == ()


@pytest.mark.usefixtures("elsewhere")
def test_files_beside_a_target_block_a_commit_without_the_note(folder: Path) -> None:
    (folder / NOTE).unlink()

    with pytest.raises(StorageRefused) as refused:
        commit(folder, change("a.md", NEW, b"newer"))
    assert codes(refused.value.problems) == [Code.RECOVERY_REQUIRED]
    assert f".mdplan-{ID}" in refused.value.problems[0].message


def test_complete_commit_of_another_identity_is_finished(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_commit(folder, "store-begin:2")
    monkeypatch.setenv("MDPLAN_STATE_DIR", str(tmp_path / "another"))

    assert recovered(folder, adopts=True).finished == (ID,)
    assert contents(folder) == ALL_NEW
    assert stored_content(str(folder), sha256(OLD)) == OLD


def test_copied_root_is_another_identity(folder: Path) -> None:
    kill_commit(folder)
    copy = folder.with_name("copied")
    shutil.copytree(folder, copy)
    before = tree(copy)

    assert (recovered(copy), tree(copy)) == (NOTHING, before)
    assert codes(pending(Root.open(copy))) == [Code.RECOVERY_REQUIRED]


def test_moved_root_keeps_its_history_and_is_recovered(folder: Path) -> None:
    commit(folder, creation("other.md", NEW))
    kill_commit(folder)
    moved = folder.rename(folder.with_name("moved"))

    assert recovered(moved, settles=False).rolled_back == (ID,)
    assert contents(moved) == ALL_OLD | {"other.md": NEW}
    assert states_of(moved) == ["committed", "rolled back"]


def plant(folder: Path, *entries: FileEntry, made: tuple[str, ...] = ()) -> None:
    """Put a foreign note into the root."""
    root = Root.open(folder)
    write_note(root, Record(transaction=ID, entries=entries, made_folders=made))
    root.close()


@CASE_TABLES.parametrize("path")
def test_hostile_path_is_refused(folder: Path, path: str) -> None:
    """A note in a repository names files outside, or its own."""
    outside = folder.parent / "outside"
    outside.write_bytes(NEW)
    plant(folder, FileEntry(path=path, base=None, base_bytes=0, result=sha256(NEW), result_bytes=3))
    before = tree(folder)

    assert recovered(folder) == NOTHING
    assert codes(recovered(folder, adopts=True).problems) == [Code.RECOVERY_REQUIRED]
    assert (outside.read_bytes(), tree(folder)) == (NEW, before)


def test_hostile_folder_is_refused(folder: Path) -> None:
    (folder.parent / "empty").mkdir()
    plant(folder, made=("../empty",))

    assert codes(recovered(folder, adopts=True).problems) == [Code.RECOVERY_REQUIRED]
    assert (folder.parent / "empty").is_dir()


def test_file_with_other_content_is_never_changed(folder: Path) -> None:
    """A stranger cannot know the content of a file; one whose hash is not in the note stays unchanged."""
    plant(
        folder, FileEntry(path="a.md", base=sha256(b"?"), base_bytes=1, result=sha256(b"!"), result_bytes=1)
    )

    assert recovered(folder, adopts=True).files == ()
    assert contents(folder) == ALL_OLD


def test_link_instead_of_a_temporary_file_is_not_followed(folder: Path) -> None:
    outside = folder.parent / "outside"
    outside.write_bytes(OLD)
    plant(folder, FileEntry(path="a.md", base=sha256(b"?"), base_bytes=1, result=sha256(OLD), result_bytes=3))
    (folder / f".mdplan-{ID}-0.tmp").symlink_to(outside)
    recovered(folder, adopts=True)

    assert (outside.read_bytes(), (folder / "a.md").read_bytes()) == (OLD, OLD)
    assert not (folder / "a.md").is_symlink()


def test_linked_folder_is_not_entered(folder: Path) -> None:
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "x.md").write_bytes(NEW)
    (folder / "link").symlink_to(outside)
    plant(folder, FileEntry(path="link/x.md", base=None, base_bytes=0, result=sha256(NEW), result_bytes=3))

    assert codes(recovered(folder, adopts=True).problems) == [Code.RECOVERY_REQUIRED]
    assert (outside / "x.md").read_bytes() == NEW


@CASE_TABLES.parametrize("content")
def test_note_that_is_none_blocks_and_changes_nothing(folder: Path, content: str) -> None:
    (folder / NOTE).write_text(content)
    before = tree(folder)

    assert (recovered(folder), tree(folder)) == (NOTHING, before)
    assert codes(pending(Root.open(folder))) == [Code.RECOVERY_REQUIRED]
    assert codes(recovered(folder, adopts=True).problems) == [Code.RECOVERY_REQUIRED]
    with pytest.raises(StorageRefused) as refused:
        commit(folder, FILES[0])
    assert codes(refused.value.problems) == [Code.RECOVERY_REQUIRED]
    assert tree(folder) == before


def test_folder_of_an_earlier_version_is_left_alone(folder: Path) -> None:
    for name in ("tx/00000001-abababab.pending", "history/" + "0" * 64, "lock"):
        path = folder / ".mdplan" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    before = sorted(path.stat().st_mtime_ns for path in (folder / ".mdplan").rglob("*"))
    commit(folder, FILES[0])

    assert recovered(folder) == NOTHING
    assert sorted(path.stat().st_mtime_ns for path in (folder / ".mdplan").rglob("*")) == before


def test_missing_folder_does_not_block_recovery(folder: Path) -> None:
    """Missing files need no recovery."""
    kill_commit(folder)
    for path in (folder / "d").iterdir():
        path.unlink()
    (folder / "d").rmdir()
    found = recovered(folder)

    assert found.problems == ()
    assert contents(folder) == {"a.md": OLD, "gone.md": OLD}


# Kills in recovery itself.
@pytest.mark.parametrize(
    "step", ["exchange", "rename", "rename-new", "unlink", "sync-directory", "store-commit", "store-done"]
)
def test_killed_recovery_runs_again(folder: Path, step: str) -> None:
    """Fault table: kill -9 inside recovery."""
    kill_commit(folder)
    for nth in range(1, 20):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            try:
                os.environ[FAILPOINT_VARIABLE] = f"{step}:{nth}"
                recovered(folder, FileSystem())
                os._exit(0)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            assert os.WEXITSTATUS(status) == 0
            break
    recovered(folder)

    assert contents(folder) == ALL_OLD
    assert not (folder / "n").exists()
    assert states_of(folder) == ["rolled back"]


def test_unsynced_commit_is_retired_at_once(folder: Path) -> None:
    commit(folder, *FILES, durability=Durability.PROCESS)

    assert Store(str(folder)).uncleaned() == []
    assert recovered(folder) == NOTHING


def test_recovery_reports_a_late_write_into_a_displaced_file(folder: Path) -> None:
    with (folder / "a.md").open("r+b") as editor:
        kill_commit(folder, AFTER_COMMIT_POINT)
        editor.write(b"EDIT")
    found = recovered(folder)

    assert [(problem.code, problem.severity) for problem in found.problems] == [
        (Code.CONFLICT_LATE_WRITE, Severity.WARNING)
    ]
    assert stored_content(str(folder), sha256(b"EDIT")) == b"EDIT"
    assert contents(folder) == ALL_NEW


# --- Recovery of a file, by its state: every row of the recovery table, on the disk

BASE, STORAGE_RESTORE_NEW, X, Y, TORN = b"base", b"new", b"foreign", b"later", b"torn"
RESTORED_ID = "ab" * 8
TEMPORARY, ASIDE = temporary_names(RESTORED_ID, 0)

REPLACE = FileEntry(
    path="a.md", base=sha256(BASE), base_bytes=4, result=sha256(STORAGE_RESTORE_NEW), result_bytes=3
)

CREATE = FileEntry(path="a.md", base=None, base_bytes=0, result=sha256(STORAGE_RESTORE_NEW), result_bytes=3)

DELETE = FileEntry(path="a.md", base=sha256(BASE), base_bytes=4, result=None, result_bytes=0)

# The content at the target, at the temporary name and aside; then at the target after recovery; and what
# recovery moves into the history. A conflict changes nothing.
CONFLICT = "conflict"

ROWS = {
    # Replaced.
    "never-swapped": (REPLACE, BASE, STORAGE_RESTORE_NEW, None, BASE, {STORAGE_RESTORE_NEW}),
    "staging-torn": (REPLACE, BASE, TORN, None, BASE, {TORN}),
    "not-staged-or-undone-already": (REPLACE, BASE, None, None, BASE, set()),
    "swapped": (REPLACE, STORAGE_RESTORE_NEW, BASE, None, BASE, {STORAGE_RESTORE_NEW}),
    "late-write-displaced": (REPLACE, STORAGE_RESTORE_NEW, X, None, X, {STORAGE_RESTORE_NEW}),
    "foreign-edit-before-the-swap": (REPLACE, X, STORAGE_RESTORE_NEW, None, X, {STORAGE_RESTORE_NEW}),
    "foreign-edit-on-top": (REPLACE, X, BASE, None, CONFLICT, set()),
    "foreign-edit-on-top-of-a-late-write": (REPLACE, X, Y, None, CONFLICT, set()),
    "deleted-on-top": (REPLACE, None, BASE, None, CONFLICT, set()),
    "deleted-before-the-swap": (REPLACE, None, STORAGE_RESTORE_NEW, None, None, {STORAGE_RESTORE_NEW}),
    "foreign-edit-after-the-way-back": (REPLACE, X, None, None, X, set()),
    "deleted-after-the-way-back": (REPLACE, None, None, None, None, set()),
    "somebody-wrote-the-same": (
        REPLACE,
        STORAGE_RESTORE_NEW,
        STORAGE_RESTORE_NEW,
        None,
        STORAGE_RESTORE_NEW,
        {STORAGE_RESTORE_NEW},
    ),
    "old-content-is-gone": (REPLACE, STORAGE_RESTORE_NEW, None, None, CONFLICT, set()),
    # Replaced where two files cannot change places.
    "linked": (REPLACE, BASE, STORAGE_RESTORE_NEW, BASE, BASE, {STORAGE_RESTORE_NEW, BASE}),
    "renamed-over": (REPLACE, STORAGE_RESTORE_NEW, None, BASE, BASE, {STORAGE_RESTORE_NEW}),
    "renamed-over-with-a-late-write": (REPLACE, STORAGE_RESTORE_NEW, None, X, X, {STORAGE_RESTORE_NEW}),
    "result-linked-on-the-way-back": (
        REPLACE,
        STORAGE_RESTORE_NEW,
        STORAGE_RESTORE_NEW,
        BASE,
        BASE,
        {STORAGE_RESTORE_NEW},
    ),
    "foreign-edit-before-the-renaming": (
        REPLACE,
        X,
        STORAGE_RESTORE_NEW,
        BASE,
        X,
        {STORAGE_RESTORE_NEW, BASE},
    ),
    "foreign-edit-on-top-of-a-renaming": (REPLACE, X, None, BASE, CONFLICT, set()),
    "deleted-on-top-of-a-renaming": (REPLACE, None, None, BASE, CONFLICT, set()),
    # Created.
    "not-created": (CREATE, None, STORAGE_RESTORE_NEW, None, None, {STORAGE_RESTORE_NEW}),
    "creation-torn": (CREATE, None, TORN, None, None, {TORN}),
    "creation-not-staged": (CREATE, None, None, None, None, set()),
    "created": (CREATE, STORAGE_RESTORE_NEW, None, None, None, {STORAGE_RESTORE_NEW}),
    "created-and-edited": (CREATE, X, None, None, CONFLICT, set()),
    "created-by-somebody-before": (CREATE, X, STORAGE_RESTORE_NEW, None, X, {STORAGE_RESTORE_NEW}),
    "created-by-somebody-with-the-same-content": (
        CREATE,
        STORAGE_RESTORE_NEW,
        STORAGE_RESTORE_NEW,
        None,
        STORAGE_RESTORE_NEW,
        {STORAGE_RESTORE_NEW},
    ),
    # Deleted.
    "not-deleted": (DELETE, BASE, None, None, BASE, set()),
    "deleted": (DELETE, None, None, BASE, BASE, set()),
    "late-write-deleted": (DELETE, None, None, X, X, set()),
    "made-anew-after-the-deletion": (DELETE, X, None, BASE, CONFLICT, set()),
    "made-anew-with-the-same-content": (DELETE, BASE, None, BASE, BASE, {BASE}),
    "deleted-by-somebody": (DELETE, None, None, None, None, set()),
    "foreign-edit-before-the-deletion": (DELETE, X, None, None, X, set()),
}

Row = tuple[FileEntry, bytes | None, bytes | None, bytes | None, object, set[bytes]]


def interrupted(folder: Path, row: Row) -> None:
    """A root with one transaction that was cut off, with that content under its three names."""
    entry, *contents = row[:4]
    for name, content in zip(("a.md", TEMPORARY, ASIDE), contents, strict=True):
        if content is not None:
            (folder / name).write_bytes(content)
    record = Record(transaction=RESTORED_ID, entries=(entry,))
    write_note(Root.open(folder), record)
    with Store(str(folder)).write(syncs=False) as database:
        add_record(database, record, b"{}", 0.0)


def read(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_recovery_follows_the_row_of_the_table(tmp_path: Path, row: Row) -> None:
    interrupted(tmp_path, row)
    before = tree(tmp_path)
    found = recovered(tmp_path, settles=False)

    if row[4] == CONFLICT:
        assert [problem.code for problem in found.problems] == [Code.RECOVERY_CONFLICT]
        assert tree(tmp_path) == before
        assert states_of(tmp_path) == ["conflict"]
        return
    assert found.problems == ()
    assert found.rolled_back == (RESTORED_ID,)
    assert read(tmp_path / "a.md") == row[4]
    assert set(tree(tmp_path)) <= {"a.md"}
    assert states_of(tmp_path) == ["rolled back"]
    kept = {
        content
        for content in (BASE, STORAGE_RESTORE_NEW, X, Y, TORN)
        if stored_content(str(tmp_path), sha256(content))
    }
    assert kept == row[5]
    assert recovered(tmp_path) == recovered(tmp_path, settles=False)
    assert (tmp_path / "a.md").stat().st_nlink == 1 if row[4] else True


CONFLICTS = {name: row for name, row in ROWS.items() if row[4] == CONFLICT}


@pytest.mark.parametrize("row", CONFLICTS.values(), ids=CONFLICTS)
def test_conflict_is_resolved_for_the_current_content(tmp_path: Path, row: Row) -> None:
    """`mdplan recover --keep-current`."""
    interrupted(tmp_path, row)
    found = recovered(tmp_path, keep="current")

    assert found.problems == ()
    assert read(tmp_path / "a.md") == row[1]
    assert set(tree(tmp_path)) <= {"a.md"}
    assert states_of(tmp_path) == ["rolled back"]
    for lost in {row[2], row[3]} - {None}:
        assert stored_content(str(tmp_path), sha256(lost)) == lost


@pytest.mark.parametrize("row", CONFLICTS.values(), ids=CONFLICTS)
def test_conflict_is_resolved_for_the_old_content(tmp_path: Path, row: Row) -> None:
    """`mdplan recover --restore-base`; if the old content is lost, there is nothing to restore."""
    interrupted(tmp_path, row)
    recovered(tmp_path)
    found = recovered(tmp_path, keep="base")

    entry, target, temporary, aside = row[:4]
    displaced = temporary or aside
    if entry is not CREATE and displaced is None:
        assert [problem.code for problem in found.problems] == [Code.RECOVERY_CONFLICT]
        return
    assert found.problems == ()
    assert read(tmp_path / "a.md") == (None if entry is CREATE else displaced)
    assert set(tree(tmp_path)) <= {"a.md"}
    assert states_of(tmp_path) == ["rolled back"]
    if target is not None:
        assert stored_content(str(tmp_path), sha256(target)) == target


def test_partial_result_is_not_taken_for_a_displaced_file(tmp_path: Path) -> None:
    """Its mode says so: a kill while it was written and a foreign edit after that are no conflict."""
    interrupted(tmp_path, (REPLACE, X, TORN, None, X, set()))
    (tmp_path / TEMPORARY).chmod(UNFINISHED_MODE)

    assert recovered(tmp_path).problems == ()
    assert tree(tmp_path).keys() == {"a.md"}
    assert plan_restore(REPLACE, FoundContents("foreign", UNFINISHED, None)) is RestoreAction.NOTHING


@pytest.mark.parametrize("moves_aside", [True, False])
def test_file_that_moved_aside_is_put_back(tmp_path: Path, *, moves_aside: bool) -> None:
    """A replacement in two steps was killed between them; without such steps somebody deleted the file."""
    interrupted(tmp_path, (REPLACE, None, STORAGE_RESTORE_NEW, BASE, None, set()))
    disk = FileSystem()
    disk.moves_aside = moves_aside

    assert recovered(tmp_path, disk).problems == ()
    assert {name: content for name, (_, content) in tree(tmp_path).items()} == (
        {"a.md": BASE} if moves_aside else {}
    )


def test_interrupted_creation_with_two_names_is_rolled_back(tmp_path: Path) -> None:
    """Where renaming is linking and unlinking, the file has both names for a moment."""
    interrupted(tmp_path, (CREATE, STORAGE_RESTORE_NEW, None, None, None, set()))
    (tmp_path / TEMPORARY).hardlink_to(tmp_path / "a.md")

    assert recovered(tmp_path).problems == ()
    assert tree(tmp_path) == {}


def test_restored_content_is_not_archived_twice(tmp_path: Path) -> None:
    """Else the next commit would refuse it as a hard link."""
    interrupted(tmp_path, (REPLACE, BASE, STORAGE_RESTORE_NEW, None, BASE, {STORAGE_RESTORE_NEW}))
    (tmp_path / ASIDE).hardlink_to(tmp_path / "a.md")
    recovered(tmp_path)

    assert (tmp_path / "a.md").stat().st_nlink == 1


def test_folder_instead_of_the_target_is_a_conflict(tmp_path: Path) -> None:
    interrupted(tmp_path, (REPLACE, None, BASE, None, CONFLICT, set()))
    (tmp_path / "a.md").mkdir()

    assert [problem.code for problem in recovered(tmp_path).problems] == [Code.RECOVERY_CONFLICT]
    assert (tmp_path / TEMPORARY).read_bytes() == BASE


def test_file_that_is_larger_than_both_is_foreign(tmp_path: Path) -> None:
    """It is recognised without reading it."""
    interrupted(tmp_path, (REPLACE, b"x" * 100, STORAGE_RESTORE_NEW, None, b"x" * 100, set()))

    assert recovered(tmp_path).problems == ()
    assert (tmp_path / "a.md").read_bytes() == b"x" * 100
