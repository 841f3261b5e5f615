"""Records prove themselves: what is not what it was when it was written is no record."""

import hashlib
import json
import os
import string
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.diagnostics import Code, Diagnostic, Severity
from mdplan.storage.commit import stage
from mdplan.storage.filesystem import Step, StorageRefused
from mdplan.storage.journal import (
    JournalEntry,
    JournalRecord,
    RecordBinding,
    decode_record,
    encode_note,
    encode_record,
)
from mdplan.storage.lock import locked
from mdplan.storage.plans import DEFAULT_KEPT_SECONDS, PlanStore
from mdplan.storage.root import Root
from mdplan.storage.transactions import Transaction, TransactionFile, before_image, collect, transactions
from tests.support.case_tables import CaseTables
from tests.support.commits import change, commit, creation, deletion, journal_of, recovered, sha256
from tests.support.files import NOBODY, FailingDisk, descriptors, names_in, tree

CASE_TABLES = CaseTables(__file__)


ROOT = RecordBinding("/some/root", 12, 3)
digests = st.none() | st.text("0123456789abcdef", min_size=64, max_size=64)
sizes = st.integers(0, 1 << 50)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)

entries = st.builds(
    JournalEntry, path=texts, base=digests, base_bytes=sizes, result=digests, result_bytes=sizes
).filter(lambda entry: entry.base != entry.result)

notes = st.dictionaries(
    texts, st.none() | st.integers(-(1 << 60), 1 << 60) | texts | st.lists(texts), max_size=3
)

records = st.builds(
    JournalRecord,
    transaction=st.text("0123456789abcdef", min_size=8, max_size=32),
    entries=st.lists(entries, max_size=4).map(tuple),
    made_folders=st.lists(texts, max_size=2).map(tuple),
    removed_folders=st.lists(texts, max_size=2).map(tuple),
    note=notes.map(encode_note),
)


@given(record=records)
def test_written_record_is_read_back(record: JournalRecord) -> None:
    assert decode_record(encode_record(record, ROOT), ROOT) == record


@given(record=records, data=st.data())
def test_record_with_a_changed_byte_is_invalid_or_foreign(record: JournalRecord, data: st.DataObject) -> None:
    written = encode_record(record, ROOT)
    at = data.draw(st.integers(0, len(written) - 1))
    changed = written[:at] + bytes([written[at] ^ data.draw(st.integers(1, 255))]) + written[at + 1 :]
    found = decode_record(changed, ROOT)

    assert found is None or (not found.known and found.entries == record.entries) or found == record


@pytest.mark.parametrize(
    ("binding", "known"),
    [
        (replace(ROOT, root_path="/moved"), True),
        (replace(ROOT, folder=13), True),
        (replace(ROOT, root_path="/copied", folder=13), False),
        (replace(ROOT, sequence=999_999_999_999_999), False),
    ],
    ids=["moved", "restored", "copied", "renamed"],
)
def test_record_in_another_root_is_foreign(binding: RecordBinding, known: bool) -> None:
    record = JournalRecord(transaction="ab" * 8, entries=())
    found = decode_record(encode_record(record, ROOT), binding)

    assert found is not None
    assert found.known is known


@given(record=records, data=st.data())
def test_truncated_record_is_invalid(record: JournalRecord, data: st.DataObject) -> None:
    written = encode_record(record, ROOT)

    assert decode_record(written[: data.draw(st.integers(0, len(written) - 1))], ROOT) is None


@given(junk=st.binary(max_size=200))
def test_random_bytes_are_not_a_record(junk: bytes) -> None:
    assert decode_record(junk, ROOT) is None


GOOD: dict[str, Any] = {
    "transaction": "ab" * 8,
    "entries": [{"path": "a", "base": None, "baseBytes": 0, "result": "0" * 64, "resultBytes": 1}],
    "madeFolders": [],
    "removedFolders": [],
}

ENTRY = GOOD["entries"][0]

BAD = {
    "list": [],
    "no-transaction": GOOD | {"transaction": None},
    "transaction-with-a-slash": GOOD | {"transaction": "../" * 4},
    "no-entries": GOOD | {"entries": None},
    "entry-is-a-list": GOOD | {"entries": [[]]},
    "path-is-a-number": GOOD | {"entries": [ENTRY | {"path": 1}]},
    "base-is-short": GOOD | {"entries": [ENTRY | {"base": "0" * 63}]},
    "base-is-upper-case": GOOD | {"entries": [ENTRY | {"base": "A" * 64}]},
    "nothing-changes": GOOD | {"entries": [ENTRY | {"base": "0" * 64}]},
    "size-is-negative": GOOD | {"entries": [ENTRY | {"baseBytes": -1}]},
    "size-is-a-bool": GOOD | {"entries": [ENTRY | {"baseBytes": True}]},
    "size-is-huge": GOOD | {"entries": [ENTRY | {"baseBytes": 1 << 60}]},
    "folders-are-a-text": GOOD | {"madeFolders": "a"},
    "folder-is-a-number": GOOD | {"removedFolders": [1]},
}


def encoded(changes: object, **others: object) -> bytes:
    """A record of those changes that nobody sealed, with `others` in its head."""
    body = json.dumps(changes).encode() + b"\n{}\n"
    head = {
        "format": 2,
        "bytes": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
        "seal": "",
        "folderSeal": "",
    }
    return json.dumps(head | others).encode() + b"\n" + body


@pytest.mark.parametrize("changes", BAD.values(), ids=BAD)
def test_record_with_wrong_fields_is_invalid(changes: object) -> None:
    assert decode_record(encoded(changes), ROOT) is None


@pytest.mark.parametrize(
    "others",
    [{"format": 1}, {"format": "2"}, {"bytes": 1}, {"bytes": None}, {"sha256": "0"}, {"seal": None}],
    ids=str,
)
def test_record_with_a_wrong_head_is_invalid(others: dict[str, object]) -> None:
    assert decode_record(encoded(GOOD, **others), ROOT) is None


def test_record_with_the_right_fields_is_valid() -> None:
    found = decode_record(encoded(GOOD), ROOT)

    assert found is not None
    assert not found.known


def test_note_that_is_not_an_object_is_empty() -> None:
    assert JournalRecord(transaction="ab" * 8, entries=(), note=b"[1]").decoded_note() == {}
    assert JournalRecord(transaction="ab" * 8, entries=(), note=b"nonsense").decoded_note() == {}


def test_note_is_plain_text(tmp_path: Path) -> None:
    """One line, so that it can be told from the line before it; no character that looks like another."""
    note = encode_note({"text": "line\nline\u2028\udc80é"})

    assert set(note.decode()) <= set(string.printable) - set("\n\r")
    with pytest.raises(ValueError, match="JSON"):
        encode_note({"number": float("nan")})


# --- What there was: transactions from the newest on, contents by their digest, and no more than is
# wanted.

COUNT = 20


def images(folder: Path) -> set[str]:
    return set(names_in(folder / ".mdplan" / "history"))


def collected(folder: Path, max_transactions: int, max_bytes: int = 1 << 20) -> None:
    with locked(Root.open(folder)) as lock:
        assert collect(lock, max_transactions, max_bytes) == ()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A file that was changed many times; the ID of a change is its number."""
    (tmp_path / "a.md").write_bytes(b"0")
    for number in range(COUNT):
        step = change("a.md", b"%d" % number, b"%d" % (number + 1))
        commit(tmp_path, step, transaction=f"{number:016x}")
    return tmp_path


def test_root_without_commits_has_no_history(tmp_path: Path) -> None:
    root = Root.open(tmp_path)

    assert list(transactions(root)) == []
    assert before_image(root, sha256(b"")) is None
    assert names_in(tmp_path) == []


def test_transactions_are_listed_newest_first(folder: Path) -> None:
    root = Root.open(folder)
    listed = list(transactions(root))

    assert [int(item.id, 16) for item in listed] == list(range(COUNT))[::-1]
    assert listed[0] == Transaction(
        id=f"{COUNT - 1:016x}",
        state="committed",
        note={"of": "a test"},
        files=(TransactionFile("a.md", sha256(b"%d" % (COUNT - 1)), sha256(b"%d" % COUNT)),),
        made_folders=(),
        removed_folders=(),
        undoable=True,
    )
    for number in range(COUNT):
        assert before_image(root, sha256(b"%d" % number)) == b"%d" % number
    assert before_image(root, sha256(b"%d" % COUNT)) is None


def test_record_lists_created_and_deleted_files_and_folders(tmp_path: Path) -> None:
    commit(tmp_path, creation("n/m/a.md", b"x"))
    commit(tmp_path, deletion("n/m/a.md", b"x"), removed_folders=("n", "n/m"))
    removed, made = transactions(Root.open(tmp_path))

    assert (made.made_folders, removed.removed_folders) == (("n", "n/m"), ("n", "n/m"))
    assert (made.files[0].base_sha256, removed.files[0].result_sha256) == (None, None)
    assert (made.undoable, removed.undoable) == (True, True)
    assert names_in(tmp_path) == [".mdplan"]


@pytest.mark.parametrize("digest", ["", "../lock", "a" * 63, "A" * 64, "a" * 64 + "\n", "0" * 64])
def test_invalid_image_digest_finds_nothing(folder: Path, digest: str) -> None:
    assert before_image(Root.open(folder), digest) is None


def test_image_with_wrong_content_is_ignored(folder: Path) -> None:
    """The history lies in the root, where anybody may write."""
    (folder / ".mdplan" / "history" / sha256(b"3")).write_bytes(b"not 3")

    assert before_image(Root.open(folder), sha256(b"3")) is None


def test_image_that_is_a_link_is_ignored(folder: Path) -> None:
    image = folder / ".mdplan" / "history" / sha256(b"3")
    image.rename(folder / "elsewhere")
    image.symlink_to(folder / "elsewhere")

    assert before_image(Root.open(folder), sha256(b"3")) is None


def test_transaction_whose_old_content_is_gone_cannot_be_undone(folder: Path) -> None:
    (folder / ".mdplan" / "history" / sha256(b"18")).unlink()
    listed = list(transactions(Root.open(folder)))

    assert [item.undoable for item in listed[:3]] == [True, False, True]


def test_damaged_record_is_listed_in_its_position(folder: Path) -> None:
    records = sorted((folder / ".mdplan" / "tx").iterdir())
    records[-2].write_bytes(records[-2].read_bytes()[:-1])
    listed = list(transactions(Root.open(folder)))

    assert isinstance(listed[1], Diagnostic)
    assert listed[1].code is Code.JOURNAL_CORRUPT
    assert [type(item) for item in listed].count(Transaction) == COUNT - 1


def test_record_retired_during_listing_is_read(folder: Path) -> None:
    listing = transactions(Root.open(folder))
    next(listing)
    for record in (folder / ".mdplan" / "tx").glob("*.done"):
        record.rename(record.with_suffix(".kept"))

    assert all(isinstance(item, Transaction) for item in listing)


def test_restored_content_is_archived_once(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"x")
    for _ in range(3):
        commit(tmp_path, change("a.md", b"x", b"y"))
        commit(tmp_path, change("a.md", b"y", b"x"))

    assert images(tmp_path) == {sha256(b"x"), sha256(b"y")}


def test_transactions_beyond_the_count_limit_are_removed_with_their_images(folder: Path) -> None:
    collected(folder, 2)

    kept = [int(item.id, 16) for item in transactions(Root.open(folder))]
    # The last one is not settled yet, and never goes.
    assert kept == [19, 18, 17]
    assert images(folder) == {sha256(b"%d" % number) for number in kept}


def test_transactions_beyond_the_size_limit_are_removed(folder: Path) -> None:
    size = max(record.stat().st_size for record in (folder / ".mdplan" / "tx").iterdir()) + 2
    assert COUNT % 16 != 0
    for number in range(COUNT, 31):
        commit(folder, change("a.md", b"%d" % number, b"%d" % (number + 1)))
    collected(folder, 100, 5 * size)
    assert len(journal_of(folder)) == 31, "it is looked at with every 16th transaction only"
    commit(folder, change("a.md", b"31", b"32"))
    collected(folder, 100, 5 * size)

    assert 4 <= len(journal_of(folder)) <= 6
    assert len(images(folder)) == len(journal_of(folder))


def test_image_shared_with_a_later_transaction_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"x")
    for _ in range(10):
        commit(tmp_path, change("a.md", b"x", b"y"))
        commit(tmp_path, change("a.md", b"y", b"x"))
    collected(tmp_path, 1)

    assert len(journal_of(tmp_path)) == 2
    assert images(tmp_path) == {sha256(b"x"), sha256(b"y")}


@pytest.mark.parametrize("state", ["pending", "conflict"])
def test_content_needed_by_recovery_is_never_removed(folder: Path, state: str) -> None:
    oldest = min((folder / ".mdplan" / "tx").iterdir())
    oldest.rename(oldest.with_suffix(f".{state}"))
    collected(folder, 1)

    assert journal_of(folder)[0] == state
    assert sha256(b"0") in images(folder)


def test_garbage_collection_without_work_costs_one_listing(folder: Path) -> None:
    disk = FailingDisk()
    root = Root.open(folder, filesystem=disk)
    with locked(root) as lock:
        disk.reached.clear()
        collect(lock, COUNT, 0)

    assert disk.reached[Step.LIST] == 1
    # The number of the newest record says whether it is due, and its first line whose it is.
    assert disk.reached[Step.READ] <= 2
    assert len(journal_of(folder)) == COUNT


def test_failed_garbage_collection_is_a_warning(folder: Path) -> None:
    disk = FailingDisk(Step.UNLINK, 2, 5)
    root = Root.open(folder, filesystem=disk)
    with locked(root) as lock:
        (problem,) = collect(lock, 1)

    assert (problem.code, problem.severity) == (Code.IO_ERROR, Severity.WARNING)


# --- One writer per root, and a state folder that may be a trap.

HOLDER = CASE_TABLES.value("HOLDER")
FORKED = CASE_TABLES.value("FORKED")


def check_refused(root: Root, code: Code, timeout: float = 5) -> None:
    """The lock of `root` is refused with `code`."""
    with pytest.raises(StorageRefused) as refused, locked(root, timeout):
        pass
    assert [problem.code for problem in refused.value.problems] == [code]


def test_state_folder_is_private_and_ignores_itself(tmp_path: Path) -> None:
    root = Root.open(tmp_path)
    for _ in range(2):
        with locked(root):
            assert names_in(tmp_path / ".mdplan") == [".gitignore", "lock"]

    assert (tmp_path / ".mdplan").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / ".mdplan" / ".gitignore").read_bytes() == b"*\n"


@pytest.mark.requirement("commit-5")
def test_second_thread_waits_and_then_gives_up(tmp_path: Path) -> None:
    root, same = Root.open(tmp_path), Root.open(tmp_path)
    with locked(root):
        thread = threading.Thread(target=check_refused, args=(same, Code.LOCK_TIMEOUT, 0.05))
        thread.start()
        thread.join()

    with locked(same, timeout=0):
        pass


def check_freed_by_a_kill(program: str, folder: Path, timeout: float) -> None:
    """`program` holds the lock of `folder` until it is killed; `timeout` seconds behind that it is free."""
    with subprocess.Popen(
        [sys.executable, "-c", program, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        check_refused(Root.open(folder), Code.LOCK_TIMEOUT, timeout=0.05)
        holder.kill()
        holder.wait()
        with locked(Root.open(folder), timeout):
            pass


@pytest.mark.requirement("commit-5")
def test_other_process_waits_and_then_gives_up(tmp_path: Path) -> None:
    """Until the holder dies, however it dies."""
    check_freed_by_a_kill(HOLDER, tmp_path, timeout=5)


def test_forked_process_does_not_share_the_lock(tmp_path: Path) -> None:
    """It reads on when its parent is killed."""
    check_freed_by_a_kill(FORKED, tmp_path, timeout=5)


def test_lock_timeout_names_the_holder(tmp_path: Path) -> None:
    root = Root.open(tmp_path)
    with locked(root):
        hint = check_refused_in_thread(Root.open(tmp_path))

    assert f"process {os.getpid()} on `{os.uname().nodename}`" in hint


@pytest.mark.parametrize(
    "written",
    [b"", b"1 host", b"1 \x1b[2Jhost\n", b"-1 host\n", b"1 a b\n", b"9" * 11 + b" h\n", b"1 h\n" * 99],
)
def test_lock_holder_text_is_not_repeated(tmp_path: Path, written: bytes) -> None:
    """What stands in the state folder may be anybody's."""
    root = Root.open(tmp_path)
    with locked(root):
        (tmp_path / ".mdplan" / "lock").write_bytes(written)
        hint = check_refused_in_thread(Root.open(tmp_path))

    assert "process" not in hint


def test_hard_linked_lock_file_is_refused_and_not_written(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"untouched")
    (tmp_path / ".mdplan").mkdir(mode=0o700)
    (tmp_path / ".mdplan" / "lock").hardlink_to(tmp_path / "elsewhere")

    check_refused(Root.open(tmp_path), Code.STATE_DIR_UNSAFE)
    assert (tmp_path / "elsewhere").read_bytes() == b"untouched"


def test_folder_instead_of_the_lock_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".mdplan" / "lock").mkdir(parents=True)
    (tmp_path / ".mdplan").chmod(0o700)

    check_refused(Root.open(tmp_path), Code.STATE_DIR_UNSAFE)


def test_earlier_lock_holder_name_is_overwritten_completely(tmp_path: Path) -> None:
    (tmp_path / ".mdplan").mkdir(mode=0o700)
    (tmp_path / ".mdplan" / "lock").write_bytes(b"1 " + b"h" * 99 + b"\n")
    with locked(Root.open(tmp_path)):
        hint = check_refused_in_thread(Root.open(tmp_path))

    assert f"process {os.getpid()} on `{os.uname().nodename}`" in hint


def check_refused_in_thread(root: Root) -> str:
    """The hint that another thread gets."""
    hints: list[str] = []

    def wait() -> None:
        with pytest.raises(StorageRefused) as refused, locked(root, 0.05):
            pass
        assert [problem.code for problem in refused.value.problems] == [Code.LOCK_TIMEOUT]
        hints.append(refused.value.problems[0].hint)

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join()
    return hints[0]


def test_exception_propagates_and_releases_the_lock(tmp_path: Path) -> None:
    root = Root.open(tmp_path)
    before = descriptors()
    with pytest.raises(OSError, match="from the block"), locked(root):
        raise OSError("from the block")

    assert descriptors() == before
    with locked(root, timeout=0):
        pass


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_state_folder_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / ".mdplan").mkdir()
    (tmp_path / ".mdplan").chmod(mode)

    check_refused(Root.open(tmp_path), Code.STATE_DIR_UNSAFE)
    assert names_in(tmp_path / ".mdplan") == []


def test_state_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a folder away")
    (tmp_path / ".mdplan").mkdir(mode=0o700)
    os.chown(tmp_path / ".mdplan", NOBODY, NOBODY)

    check_refused(Root.open(tmp_path), Code.STATE_DIR_UNSAFE)


def test_file_system_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No lock that outlives its holder takes the place of a real one."""
    import fcntl

    def no_locks(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    check_refused(Root.open(tmp_path), Code.LOCK_UNSUPPORTED)


def test_root_that_was_replaced_is_refused(tmp_path: Path) -> None:
    """Its files are reached by a descriptor, its lock by a path: they would not be the same folder."""
    (tmp_path / "root").mkdir()
    root = Root.open(tmp_path / "root")
    (tmp_path / "root").rename(tmp_path / "old")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / ".mdplan").mkdir()

    check_refused(root, Code.IO_ERROR)


# --- Roots in roots: both locks are taken, the outer first, and what was cut off in either is told.

OLD, NEW = b"old", b"new"
ID = "ab" * 8
IN_OUTER, IN_INNER = change("in/d/a.md", OLD, NEW), change("d/a.md", OLD, NEW)


@pytest.fixture
def outer(tmp_path: Path) -> Path:
    """A root that lies around another one, with a file that both have."""
    folder = tmp_path / "out"
    (folder / "in" / "d").mkdir(parents=True)
    (folder / "in" / "d" / "a.md").write_bytes(OLD)
    for each in (folder, folder / "in"):
        commit(each, creation("own.md", b"own"))
    return folder


def check_waits(held: Path, folder: Path, *paths: str) -> None:
    """While the lock of `held` is held, nothing below `folder` is committed."""
    problems: list[Code] = []

    def act() -> None:
        root = Root.open(folder)
        try:
            with locked(root, timeout=0.05) as lock:
                files = [change(path, OLD, NEW) for path in paths]
                stage(lock, files, transaction=ID, note={}, max_bytes=100).discard()
        except StorageRefused as refused:
            problems.extend(problem.code for problem in refused.problems)
        root.close()

    thread = threading.Thread(target=act)
    with locked(Root.open(held)):
        thread.start()
        thread.join()
    assert problems == [Code.LOCK_TIMEOUT]


def test_commit_in_the_inner_root_waits_for_the_outer_one(outer: Path) -> None:
    check_waits(outer, outer / "in", "d/a.md")


def test_commit_in_the_outer_root_waits_for_the_inner_one(outer: Path) -> None:
    check_waits(outer / "in", outer, "in/d/a.md")
    # Its other files are not the inner one's.
    with locked(Root.open(outer / "in")):
        pass
    commit(outer, change("own.md", b"own", b"x"))


def test_every_root_between_is_locked(outer: Path) -> None:
    commit(outer / "in" / "d", creation("own.md", b"own"))

    check_waits(outer / "in" / "d", outer, "in/d/a.md")
    check_waits(outer, outer / "in" / "d", "a.md")


@pytest.mark.parametrize("which", ["outer", "inner"])
def test_both_locks_are_released_and_no_descriptor_stays_open(outer: Path, which: str) -> None:
    opened = descriptors()
    if which == "outer":
        commit(outer, IN_OUTER)
    else:
        commit(outer / "in", IN_INNER)

    assert descriptors() == opened
    for folder in (outer, outer / "in"):
        with locked(Root.open(folder), timeout=0):
            pass


def plant_pending(folder: Path) -> None:
    """As a killed commit leaves it."""
    (record,) = (folder / ".mdplan" / "tx").iterdir()
    record.rename(record.with_suffix(".pending"))


@pytest.mark.parametrize("which", ["outer", "inner"])
def test_interrupted_commit_in_the_other_root_is_reported(outer: Path, which: str) -> None:
    inner = outer / "in"
    plant_pending(inner if which == "outer" else outer)
    before = tree(outer)
    with pytest.raises(StorageRefused) as refused:
        commit(*((outer, IN_OUTER) if which == "outer" else (inner, IN_INNER)))

    (problem,) = refused.value.problems
    assert problem.code is Code.RECOVERY_REQUIRED
    assert f"--root {inner if which == 'outer' else outer}" in problem.hint
    assert tree(outer) == before
    assert journal_of(outer)[-1] == ("done" if which == "outer" else "pending")


def test_root_of_another_user_does_not_count(outer: Path) -> None:
    """It could not be locked, and its owner could stop everybody below."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a folder away")
    plant_pending(outer)
    os.chown(outer / ".mdplan", NOBODY, NOBODY)
    commit(outer / "in", IN_INNER)

    assert (outer / "in" / "d" / "a.md").read_bytes() == NEW


def test_inner_state_folder_that_is_a_link_is_ignored(outer: Path) -> None:
    (outer / "in" / "d" / ".mdplan").symlink_to("/nowhere")
    commit(outer, IN_OUTER)

    assert (outer / "in" / "d" / "a.md").read_bytes() == NEW
    assert recovered(outer).problems == ()


# --- Plans outlive the process, in a directory that is the user's alone.

A = "sha256-" + "a" * 64
B = "sha256-" + "a" * 12 + "b" * 52
NOW = 1_000_000_000.0


def files_in(folder: Path) -> list[Path]:
    """All regular files below `folder`."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_plan_is_found_by_another_store_of_the_same_root(state_dir: Path) -> None:
    assert PlanStore("/root").save_plan(A, [b"{}\n"], NOW)

    assert PlanStore("/root").load_plan(A) == b"{}\n"
    assert PlanStore("/other").load_plan(A) is None
    assert PlanStore("/root").load_plan(B) is None


def test_stored_files_are_private(state_dir: Path) -> None:
    PlanStore("/root").save_plan(A, [b"{}"], NOW)

    assert {path.stat().st_mode & 0o777 for path in files_in(state_dir)} == {0o600}
    folders = [state_dir, *(path for path in state_dir.rglob("*") if path.is_dir())]
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}


def test_plan_is_named_by_twelve_digits_that_only_it_has(state_dir: Path) -> None:
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
    disk = FailingDisk()
    store = PlanStore("/root", filesystem=disk)

    assert store.load_plan(plan_id) is None
    assert not store.save_plan(plan_id, [b"{}"], NOW)
    assert not disk.reached
    assert not state_dir.exists()


def test_plan_is_not_saved_under_an_id_prefix(state_dir: Path) -> None:
    assert not PlanStore("/root").save_plan("a" * 12, [b"{}"], NOW)


def test_plans_are_listed_newest_first(state_dir: Path) -> None:
    store = PlanStore("/root")
    assert store.list_plans() == ()
    for number, plan_id in enumerate((A, B)):
        store.save_plan(plan_id, [b""], NOW)
        path = next(path for path in files_in(state_dir) if path.stem == plan_id.removeprefix("sha256-"))
        os.utime(path, (NOW + number, NOW + number))

    assert [(plan.plan_id, plan.saved_at) for plan in store.list_plans()] == [(B, NOW + 1), (A, NOW)]


def test_saving_removes_expired_plans(state_dir: Path) -> None:
    store = PlanStore("/root")
    store.save_plan(A, [b"A"], NOW)
    os.utime(files_in(state_dir)[0], (NOW, NOW))
    PlanStore("/root").save_plan(B, [b"B"], NOW + DEFAULT_KEPT_SECONDS)
    assert store.load_plan(A) == b"A"

    PlanStore("/root").save_plan(B, [b"B"], NOW + DEFAULT_KEPT_SECONDS + 1)
    assert store.load_plan(A) is None


def test_read_only_store_saves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    store = PlanStore("/root", directory=str(tmp_path / "file" / "state"))

    assert not store.save_plan(A, [b"{}"], NOW)
    assert store.load_plan(A) is None
    assert store.list_plans() == ()


@pytest.mark.parametrize("step", [Step.CREATE, Step.WRITE, Step.SYNC, Step.CLOSE, Step.RENAME])
def test_failed_save_keeps_the_earlier_plan(state_dir: Path, step: Step) -> None:
    PlanStore("/root").save_plan(A, [b"whole"], NOW)
    store = PlanStore("/root", filesystem=FailingDisk(step, 1, 5))

    assert not store.save_plan(A, [b"other"], NOW)
    assert [path.read_bytes() for path in files_in(state_dir)] == [b"whole"]


@pytest.mark.parametrize("trap", ["link", "writable-for-all", "another-user's"])
def test_plan_folder_accessible_to_others_is_not_used(state_dir: Path, tmp_path: Path, trap: str) -> None:
    store = PlanStore("/root")
    store.save_plan(A, [b"{}"], NOW)
    folder = files_in(state_dir)[0].parent
    if trap == "link":
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
    elif trap == "writable-for-all":
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
    if not PlanStore("/root").save_plan(A, [b"{}"], NOW):
        pytest.fail("nothing was stored")

    assert [path.relative_to(tmp_path).parts[0] for path in files_in(tmp_path)] == ["mdplan"]
