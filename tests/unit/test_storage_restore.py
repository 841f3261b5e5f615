"""The way back of one file, by what is there: every row of the recovery table, on the disk."""

from pathlib import Path

import pytest

from mdplan.diagnostics import Code
from mdplan.storage.files import UNFINISHED, UNFINISHED_MODE
from mdplan.storage.journal import Journal, JournalEntry, JournalRecord
from mdplan.storage.lock import locked
from mdplan.storage.recovery import RestoreAction, plan_restore
from mdplan.storage.root import Root
from mdplan.storage.state_folder import State, open_folders
from mdplan.storage.transactions import FoundContents, before_image, temporary_names
from tests.commits import journal_of, recovered, sha256
from tests.disk import tree

BASE, NEW, X, Y, TORN = b"base", b"new", b"foreign", b"later", b"torn"
ID = "ab" * 8
TEMPORARY, ASIDE = temporary_names(ID, 0)
REPLACE = JournalEntry(path="a.md", base=sha256(BASE), base_bytes=4, result=sha256(NEW), result_bytes=3)
CREATE = JournalEntry(path="a.md", base=None, base_bytes=0, result=sha256(NEW), result_bytes=3)
DELETE = JournalEntry(path="a.md", base=sha256(BASE), base_bytes=4, result=None, result_bytes=0)

# What is at the target, at the temporary name and aside; what is at the target after recovery; and what
# recovery takes away into the history. A conflict leaves all as it is.
CONFLICT = "conflict"
ROWS = {
    # Replaced.
    "never-swapped": (REPLACE, BASE, NEW, None, BASE, {NEW}),
    "staging-torn": (REPLACE, BASE, TORN, None, BASE, {TORN}),
    "not-staged-or-undone-already": (REPLACE, BASE, None, None, BASE, set()),
    "swapped": (REPLACE, NEW, BASE, None, BASE, {NEW}),
    "late-write-displaced": (REPLACE, NEW, X, None, X, {NEW}),
    "foreign-edit-before-the-swap": (REPLACE, X, NEW, None, X, {NEW}),
    "foreign-edit-on-top": (REPLACE, X, BASE, None, CONFLICT, set()),
    "foreign-edit-on-top-of-a-late-write": (REPLACE, X, Y, None, CONFLICT, set()),
    "deleted-on-top": (REPLACE, None, BASE, None, CONFLICT, set()),
    "deleted-before-the-swap": (REPLACE, None, NEW, None, None, {NEW}),
    "foreign-edit-after-the-way-back": (REPLACE, X, None, None, X, set()),
    "deleted-after-the-way-back": (REPLACE, None, None, None, None, set()),
    "somebody-wrote-the-same": (REPLACE, NEW, NEW, None, NEW, {NEW}),
    "old-content-is-gone": (REPLACE, NEW, None, None, CONFLICT, set()),
    # Replaced where two files cannot change places.
    "linked": (REPLACE, BASE, NEW, BASE, BASE, {NEW, BASE}),
    "renamed-over": (REPLACE, NEW, None, BASE, BASE, {NEW}),
    "renamed-over-with-a-late-write": (REPLACE, NEW, None, X, X, {NEW}),
    "result-linked-on-the-way-back": (REPLACE, NEW, NEW, BASE, BASE, {NEW}),
    "foreign-edit-before-the-renaming": (REPLACE, X, NEW, BASE, X, {NEW, BASE}),
    "foreign-edit-on-top-of-a-renaming": (REPLACE, X, None, BASE, CONFLICT, set()),
    "deleted-on-top-of-a-renaming": (REPLACE, None, None, BASE, CONFLICT, set()),
    # Created.
    "not-created": (CREATE, None, NEW, None, None, {NEW}),
    "creation-torn": (CREATE, None, TORN, None, None, {TORN}),
    "creation-not-staged": (CREATE, None, None, None, None, set()),
    "created": (CREATE, NEW, None, None, None, {NEW}),
    "created-and-edited": (CREATE, X, None, None, CONFLICT, set()),
    "created-by-somebody-before": (CREATE, X, NEW, None, X, {NEW}),
    "created-by-somebody-with-the-same-content": (CREATE, NEW, NEW, None, NEW, {NEW}),
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
        name = journal.write_new(JournalRecord(transaction=ID, entries=(entry,)), syncs=False)
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
    assert found.rolled_back == (ID,)
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
    interrupted(tmp_path, (CREATE, NEW, None, None, None, set()))
    (tmp_path / TEMPORARY).hardlink_to(tmp_path / "a.md")

    assert recovered(tmp_path).problems == ()
    assert tree(tmp_path) == {}


def test_restored_content_is_not_archived_twice(tmp_path: Path) -> None:
    """Else the next commit would refuse it as a hard link."""
    interrupted(tmp_path, (REPLACE, BASE, NEW, None, BASE, {NEW}))
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
    interrupted(tmp_path, (REPLACE, b"x" * 100, NEW, None, b"x" * 100, set()))

    assert recovered(tmp_path).problems == ()
    assert (tmp_path / "a.md").read_bytes() == b"x" * 100
