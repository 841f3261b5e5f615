"""After a crash: who recovers, what a stranger's journal cannot do, and that nothing is done twice."""

import json
import os
import re
import shutil
import signal
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Severity
from mdplan.storage.commit import stage
from mdplan.storage.files import UNFINISHED, UNFINISHED_MODE
from mdplan.storage.filesystem import FAILPOINT_VARIABLE, Durability, FileSystem, StorageRefused
from mdplan.storage.journal import Journal, JournalEntry, JournalRecord, RecordBinding, encode_record
from mdplan.storage.lock import locked
from mdplan.storage.recovery import RecoveryResult, RestoreAction, pending, plan_restore
from mdplan.storage.root import Root
from mdplan.storage.state_folder import State, open_folders
from mdplan.storage.transactions import (
    FoundContents,
    Transaction,
    before_image,
    temporary_names,
    transactions,
)
from mdplan.storage.user_state import user_state_directory
from tests.support.case_tables import CaseTables
from tests.support.commits import change, commit, creation, deletion, journal_of, recovered, sha256
from tests.support.files import NOBODY, names_in, tree

CASE_TABLES = CaseTables(__file__)


OLD, NEW = b"old", b"new"
ID = "cd" * 8

FILES = (
    change("a.md", OLD, NEW),
    change("d/b.md", OLD, NEW),
    creation("n/c.md", NEW),
    deletion("gone.md", OLD),
)

NOTHING = RecoveryResult((), (), (), ())

# Killed here, all files but the deleted one are new and nothing is committed.
BEFORE_COMMIT_POINT = "rename:3"
AFTER_COMMIT_POINT = "move:1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "d").mkdir(parents=True)
    for name in ("a.md", "d/b.md", "gone.md"):
        (root / name).write_bytes(OLD)
    return root


def interrupted_problem(folder: Path, failpoint: str = BEFORE_COMMIT_POINT) -> None:
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
    interrupted_problem(folder)
    assert contents(folder) != ALL_OLD
    found = recovered(folder, settles=False)

    assert found.rolled_back == (ID,)
    assert found.problems == ()
    assert sorted(found.files) == ["a.md", "d/b.md", "gone.md", "n/c.md"][: len(found.files)]
    assert contents(folder) == ALL_OLD
    assert not (folder / "n").exists()
    assert recovered(folder, settles=False) == NOTHING
    commit(folder, *FILES)
    assert contents(folder) == ALL_NEW


def test_recovery_records_a_rolled_back_transaction(folder: Path) -> None:
    interrupted_problem(folder)
    recovered(folder)
    root = Root.open(folder)
    (found,) = transactions(root)

    assert isinstance(found, Transaction)
    assert (found.id, found.state, found.undoable) == (ID, "rolled back", False)
    assert [file.path for file in found.files] == ["a.md", "d/b.md", "n/c.md", "gone.md"]
    assert found.note == {"of": "a test"}
    assert before_image(root, sha256(NEW)) == NEW


def test_committed_transaction_is_finished(folder: Path) -> None:
    """Case 46: killed after the commit point, it is new, and never done twice."""
    interrupted_problem(folder, AFTER_COMMIT_POINT)
    assert journal_of(folder) == ["done"]
    found = recovered(folder, settles=False)

    assert (found.rolled_back, found.finished, found.problems) == ((), (ID,), ())
    assert contents(folder) == ALL_NEW
    assert before_image(Root.open(folder), sha256(OLD)) == OLD
    assert recovered(folder, settles=False) == NOTHING
    assert recovered(folder) == NOTHING
    assert journal_of(folder) == ["kept"]


def test_commit_without_recovery_before_it_is_refused(folder: Path) -> None:
    interrupted_problem(folder)
    before = tree(folder)
    root = Root.open(folder)
    with locked(root) as lock, pytest.raises(StorageRefused) as refused:
        stage(lock, [creation("other.md", b"x")], transaction="ef" * 8, note={}, max_bytes=100)
    assert codes(refused.value.problems) == [Code.RECOVERY_REQUIRED]
    assert tree(folder) == before


def test_pending_transaction_is_reported_without_the_lock(folder: Path) -> None:
    root = Root.open(folder)
    assert pending(root) == ()
    assert names_in(folder) == ["a.md", "d", "gone.md"]
    interrupted_problem(folder)

    assert codes(pending(root)) == [Code.RECOVERY_REQUIRED]
    assert "mdplan recover" in pending(root)[0].hint
    recovered(folder)
    assert pending(root) == ()


def test_running_commit_is_not_pending(folder: Path) -> None:
    seen: list[object] = []
    commit(folder, *FILES, between=lambda: seen.append(pending(Root.open(folder))))

    assert seen == [()]


# Foreign records.
def test_foreign_transaction_is_recovered_only_by_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    interrupted_problem(folder)
    before = tree(folder)
    monkeypatch.setenv("MDPLAN_STATE_DIR", str(tmp_path / "another user"))

    assert (recovered(folder), tree(folder)) == (NOTHING, before)
    assert pending(Root.open(folder)) == ()
    assert recovered(folder, foreign=[ID]).rolled_back == (ID,)
    assert contents(folder) == ALL_OLD


def test_foreign_transaction_does_not_block_a_commit(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    interrupted_problem(folder)
    before = contents(folder)
    monkeypatch.setenv("MDPLAN_STATE_DIR", str(tmp_path / "another user"))
    commit(folder, creation("other.md", b"x"))

    assert contents(folder) == before | {"other.md": b"x"}


def test_record_in_a_copied_root_is_foreign(folder: Path) -> None:
    interrupted_problem(folder)
    copy = folder.with_name("copied")
    shutil.copytree(folder, copy)
    before = tree(copy)

    assert (recovered(copy), tree(copy)) == (NOTHING, before)


def test_record_in_a_moved_root_is_recovered(folder: Path) -> None:
    interrupted_problem(folder)
    moved = folder.rename(folder.with_name("moved"))

    assert recovered(moved, settles=False).rolled_back == (ID,)
    assert contents(moved) == ALL_OLD


@pytest.mark.parametrize("spoil", ["mode", "size", "link", "unwritable"])
def test_without_a_private_key_an_interrupted_commit_blocks(folder: Path, spoil: str) -> None:
    """No record can be told from a foreign one then, so none is ignored and none is recovered unasked."""
    state = Path(user_state_directory())
    state.mkdir(parents=True)
    key = state / "journal.key"
    if spoil == "unwritable":
        key.mkdir()
    elif spoil == "link":
        (state / "elsewhere").write_bytes(b"k" * 32)
        (state / "elsewhere").chmod(0o600)
        key.symlink_to(state / "elsewhere")
    else:
        key.write_bytes(b"k" * (32 if spoil == "mode" else 31))
        key.chmod(0o604 if spoil == "mode" else 0o600)
    interrupted_problem(folder)

    assert codes(recovered(folder, settles=False).problems) == [Code.RECOVERY_REQUIRED]
    with pytest.raises(StorageRefused) as refused:
        commit(folder, creation("other.md", b"x"))
    assert codes(refused.value.problems) == [Code.RECOVERY_REQUIRED]
    assert recovered(folder, foreign=[ID]).rolled_back == (ID,)


def test_key_is_private_and_created_once(folder: Path) -> None:
    commit(folder, FILES[0])
    key = Path(user_state_directory()) / "journal.key"
    first = key.read_bytes()
    commit(folder, FILES[1])

    assert (len(first), key.read_bytes()) == (32, first)
    assert key.stat().st_mode & 0o777 == 0o600
    assert [name for name in names_in(key.parent) if name.endswith(".tmp")] == []


def plant(
    folder: Path, *entries: JournalEntry, name: str = f"00000001-{ID}.pending", made: tuple[str, ...] = ()
) -> Path:
    """Put a record into the root that another user has sealed."""
    record = JournalRecord(transaction=ID, entries=entries, made_folders=made)
    data = encode_record(record, RecordBinding(str(folder), 0, 1))
    head, _, body = data.partition(b"\n")
    head = json.dumps(json.loads(head) | {"seal": "00" * 32, "folderSeal": "00" * 32}).encode()
    tx = folder / ".mdplan" / "tx"
    for each in (tx.parent, tx):
        each.mkdir(mode=0o700, exist_ok=True)
    (tx / name).write_bytes(head + b"\n" + body)
    return tx / name


@CASE_TABLES.parametrize("path")
def test_hostile_path_is_refused(folder: Path, path: str) -> None:
    """A journal that comes with a repository names files outside, or its own."""
    outside = folder.parent / "outside"
    outside.write_bytes(NEW)
    plant(folder, JournalEntry(path=path, base=None, base_bytes=0, result=sha256(NEW), result_bytes=3))
    before = tree(folder)

    assert recovered(folder) == NOTHING
    assert codes(recovered(folder, foreign=[ID]).problems) == [Code.JOURNAL_CORRUPT]
    assert (outside.read_bytes(), tree(folder)) == (NEW, before)


@pytest.mark.parametrize("field", ["made_folders", "removed_folders"])
def test_hostile_folder_is_refused(folder: Path, field: str) -> None:
    (folder.parent / "empty").mkdir()
    plant(folder, made=("../empty",))

    assert codes(recovered(folder, foreign=[ID]).problems) == [Code.JOURNAL_CORRUPT]
    assert (folder.parent / "empty").is_dir()


def test_file_with_other_content_is_never_changed(folder: Path) -> None:
    """A stranger cannot know what is in a file; what does not hash to what the record says stays."""
    plant(
        folder,
        JournalEntry(path="a.md", base=sha256(b"?"), base_bytes=1, result=sha256(b"!"), result_bytes=1),
    )

    assert recovered(folder, foreign=[ID]).files == ()
    assert contents(folder) == ALL_OLD


def test_link_instead_of_a_temporary_file_is_not_followed(folder: Path) -> None:
    outside = folder.parent / "outside"
    outside.write_bytes(OLD)
    plant(
        folder, JournalEntry(path="a.md", base=sha256(b"?"), base_bytes=1, result=sha256(OLD), result_bytes=3)
    )
    (folder / f".mdplan-{ID}-0.tmp").symlink_to(outside)
    for keep in (None, "base"):
        assert codes(recovered(folder, foreign=[ID], keep=keep).problems) == [Code.RECOVERY_CONFLICT]
        assert (outside.read_bytes(), (folder / "a.md").read_bytes()) == (OLD, OLD)
        assert not (folder / "a.md").is_symlink()


def test_linked_folder_is_not_entered(folder: Path) -> None:
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "x.md").write_bytes(NEW)
    (folder / "link").symlink_to(outside)
    plant(folder, JournalEntry(path="link/x.md", base=None, base_bytes=0, result=sha256(NEW), result_bytes=3))

    assert codes(recovered(folder, foreign=[ID]).problems) == [Code.RECOVERY_REQUIRED]
    assert (outside / "x.md").read_bytes() == NEW


def test_record_under_the_name_of_another_is_foreign(folder: Path) -> None:
    interrupted_problem(folder)
    (record,) = (folder / ".mdplan" / "tx").glob("*.pending")
    record.rename(record.with_name(f"00000001-{'12' * 8}.pending"))
    before = tree(folder)

    assert (recovered(folder), tree(folder)) == (NOTHING, before)


DAMAGE = {
    "truncated": lambda data: data[:-20],
    "flipped": lambda data: data.replace(b"a.md", b"b.md"),
    "longer": lambda data: data + b"x",
    "empty": lambda _: b"",
    "not-json": lambda _: b"\xff{",
    "unsealed": lambda data: re.sub(rb"eal\":\"\w+", b'eal":"00', data),
}

NO_RECORDS = {
    "empty": b"",
    "not-json": b"\xff{",
    "deep": b"[" * 100_000,
    "huge-number": b"9" * 10_000,
    "infinite-number": b'{"format":2,"bytes":1e999,"sha256":"' + b"0" * 64 + b'"}\n',
    "huge-format": b'{"format":1e999,"sha256":"' + b"0" * 64 + b'"}\n',
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("settles", [True, False])
def test_damaged_record_blocks_commits_and_changes_nothing(
    folder: Path, damage: Callable[[bytes], bytes], settles: bool
) -> None:
    interrupted_problem(folder)
    (record,) = (folder / ".mdplan" / "tx").glob("*.pending")
    record.write_bytes(damage(record.read_bytes()))
    before = tree(folder)
    found = recovered(folder, settles=settles)

    assert codes(found.problems) == [Code.JOURNAL_CORRUPT]
    assert tree(folder) == before
    with pytest.raises(StorageRefused) as refused:
        commit(folder, creation("other.md", b"x"))
    assert codes(refused.value.problems) == [Code.JOURNAL_CORRUPT]
    assert codes(pending(Root.open(folder))) == [Code.JOURNAL_CORRUPT]


@pytest.mark.parametrize("content", NO_RECORDS.values(), ids=NO_RECORDS)
def test_record_without_a_seal_is_foreign_whatever_it_contains(folder: Path, content: bytes) -> None:
    interrupted_problem(folder)
    (record,) = (folder / ".mdplan" / "tx").glob("*.pending")
    record.unlink()
    (record.parent / f"00000001-{ID}.pending").write_bytes(content)
    before = tree(folder)

    assert (recovered(folder), tree(folder)) == (NOTHING, before)
    assert codes(recovered(folder, foreign=[ID]).problems) in ([Code.JOURNAL_CORRUPT], [Code.FILE_TOO_LARGE])
    assert tree(folder) == before


def test_damaged_record_can_be_ignored(folder: Path) -> None:
    """By a person who has looked: `mdplan recover --keep-current`."""
    interrupted_problem(folder)
    (record,) = (folder / ".mdplan" / "tx").glob("*.pending")
    record.write_bytes(record.read_bytes()[:-20])
    before = tree(folder)

    assert recovered(folder, keep="base").problems != ()
    assert recovered(folder, keep="current").problems == ()
    assert tree(folder) == before
    commit(folder, creation("other.md", b"x"))
    assert journal_of(folder)[0] == "broken"


def test_unfinished_record_is_removed(folder: Path) -> None:
    """Nothing was done but the writing of it."""
    commit(folder, FILES[0])
    (folder / ".mdplan" / "tx" / f"00000002-{ID}.new").write_bytes(b"half")

    assert recovered(folder, settles=False) == NOTHING
    assert journal_of(folder) == ["done"]


def test_other_files_in_the_journal_folder_are_ignored(folder: Path) -> None:
    commit(folder, FILES[0])
    odd = [
        "0000000000001-abababab.pending",
        "00000002-abababab.other",
        "00000002-ABABABAB.pending",
        "x.pending",
    ]
    for name in odd:
        (folder / ".mdplan" / "tx" / name).write_bytes(b"")

    assert recovered(folder) == NOTHING
    assert set(odd) <= set(names_in(folder / ".mdplan" / "tx"))


@pytest.mark.parametrize("place", ["tx", "history"])
@pytest.mark.parametrize("kind", ["link", "file", "writable", "foreign"])
def test_unsafe_folder_in_the_state_folder_is_refused(folder: Path, place: str, kind: str) -> None:
    commit(folder, FILES[0])
    trap = folder / ".mdplan" / place
    trap.rename(folder.parent / "elsewhere")
    before = tree(folder.parent / "elsewhere")
    if kind == "link":
        trap.symlink_to(folder.parent / "elsewhere")
    elif kind == "file":
        trap.write_bytes(b"")
    else:
        trap.mkdir()
        trap.chmod(0o777 if kind == "writable" else 0o700)
        if kind == "foreign":
            if os.geteuid() != 0:
                pytest.skip("needs root, to give a folder away")
            os.chown(trap, NOBODY, NOBODY)

    with pytest.raises(StorageRefused) as refused:
        commit(folder, FILES[1])
    assert codes(refused.value.problems) == [Code.STATE_DIR_UNSAFE]
    assert tree(folder.parent / "elsewhere") == before
    assert (folder / "d" / "b.md").read_bytes() == OLD
    listed = list(transactions(Root.open(folder)))
    assert [item.code for item in listed] == [Code.STATE_DIR_UNSAFE] if place == "tx" or listed else True


def test_missing_folder_does_not_block_recovery(folder: Path) -> None:
    """What is not there any more needs no recovery."""
    interrupted_problem(folder)
    for path in (folder / "d").iterdir():
        path.unlink()
    (folder / "d").rmdir()
    found = recovered(folder)

    assert found.problems == ()
    assert contents(folder) == {"a.md": OLD, "gone.md": OLD}


# Kills in recovery itself.
@pytest.mark.parametrize("step", ["exchange", "rename", "rename-new", "unlink", "move", "sync-directory"])
def test_killed_recovery_runs_again(folder: Path, step: str) -> None:
    """Fault table: kill -9 inside recovery."""
    interrupted_problem(folder)
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
    assert journal_of(folder) == ["undone"]


def test_unsynced_commit_is_retired_at_once(folder: Path) -> None:
    commit(folder, *FILES, durability=Durability.PROCESS)

    assert journal_of(folder) == ["kept"]
    assert recovered(folder) == NOTHING


def test_recovery_reports_a_late_write_into_a_displaced_file(folder: Path) -> None:
    with (folder / "a.md").open("r+b") as editor:
        interrupted_problem(folder, AFTER_COMMIT_POINT)
        editor.write(b"EDIT")
    found = recovered(folder)

    assert [(problem.code, problem.severity) for problem in found.problems] == [
        (Code.CONFLICT_LATE_WRITE, Severity.WARNING)
    ]
    assert before_image(Root.open(folder), sha256(b"EDIT")) == b"EDIT"
    assert contents(folder) == ALL_NEW


# --- The way back of one file, by what is there: every row of the recovery table, on the disk.

BASE, STORAGE_RESTORE_NEW, X, Y, TORN = b"base", b"new", b"foreign", b"later", b"torn"
RESTORED_ID = "ab" * 8
TEMPORARY, ASIDE = temporary_names(RESTORED_ID, 0)

REPLACE = JournalEntry(
    path="a.md", base=sha256(BASE), base_bytes=4, result=sha256(STORAGE_RESTORE_NEW), result_bytes=3
)

CREATE = JournalEntry(
    path="a.md", base=None, base_bytes=0, result=sha256(STORAGE_RESTORE_NEW), result_bytes=3
)

DELETE = JournalEntry(path="a.md", base=sha256(BASE), base_bytes=4, result=None, result_bytes=0)

# What is at the target, at the temporary name and aside; what is at the target after recovery; and what
# recovery takes away into the history. A conflict leaves all as it is.
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

Row = tuple[JournalEntry, bytes | None, bytes | None, bytes | None, object, set[bytes]]


def interrupted(folder: Path, row: Row) -> None:
    """A root with one transaction that was cut off, with that content under its three names."""
    entry, *contents = row[:4]
    for name, content in zip(("a.md", TEMPORARY, ASIDE), contents, strict=True):
        if content is not None:
            (folder / name).write_bytes(content)
    root = Root.open(folder)
    with locked(root) as lock:
        journal = Journal(root, open_folders(root, lock.state_folder).journal)
        name = journal.write_new(JournalRecord(transaction=RESTORED_ID, entries=(entry,)), syncs=False)
        journal.advance(name, State.PENDING)
    root.close()


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
        assert journal_of(tmp_path) == ["conflict"]
        return
    assert found.problems == ()
    assert found.rolled_back == (RESTORED_ID,)
    assert read(tmp_path / "a.md") == row[4]
    assert set(tree(tmp_path)) <= {"a.md"}
    assert journal_of(tmp_path) == ["undone"]
    history = {path.read_bytes() for path in (tmp_path / ".mdplan" / "history").iterdir()}
    assert history == row[5]
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
    assert journal_of(tmp_path) == ["undone"]
    root = Root.open(tmp_path)
    for lost in {row[2], row[3]} - {None}:
        assert before_image(root, sha256(lost)) == lost


@pytest.mark.parametrize("row", CONFLICTS.values(), ids=CONFLICTS)
def test_conflict_is_resolved_for_the_old_content(tmp_path: Path, row: Row) -> None:
    """`mdplan recover --restore-base`; where the old content is gone there is nothing to restore."""
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
    assert journal_of(tmp_path) == ["undone"]
    if target is not None:
        assert before_image(Root.open(tmp_path), sha256(target)) == target


def test_partial_result_is_not_taken_for_a_displaced_file(tmp_path: Path) -> None:
    """Its mode says so: a kill while it was written and a foreign edit after that are no conflict."""
    interrupted(tmp_path, (REPLACE, X, TORN, None, X, set()))
    (tmp_path / TEMPORARY).chmod(UNFINISHED_MODE)

    assert recovered(tmp_path).problems == ()
    assert tree(tmp_path).keys() == {"a.md"}
    assert plan_restore(REPLACE, FoundContents("foreign", UNFINISHED, None)) is RestoreAction.NOTHING


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
    """It is told apart without reading it."""
    interrupted(tmp_path, (REPLACE, b"x" * 100, STORAGE_RESTORE_NEW, None, b"x" * 100, set()))

    assert recovered(tmp_path).problems == ()
    assert (tmp_path / "a.md").read_bytes() == b"x" * 100
