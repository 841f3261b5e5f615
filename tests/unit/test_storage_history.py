"""What there was: transactions from the newest on, contents by their digest, and no more than is wanted."""

from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Diagnostic, Severity
from mdplan.storage.filesystem import Step
from mdplan.storage.lock import locked
from mdplan.storage.root import Root
from mdplan.storage.transactions import Transaction, TransactionFile, before_image, collect, transactions
from tests.commits import change, commit, creation, deletion, journal_of, sha256
from tests.disk import FailingDisk, names_in

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
