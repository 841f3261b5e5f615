"""Roots in roots: both locks are taken, the outer first, and what was cut off in either is told."""

import os
import threading
from pathlib import Path

import pytest

from mdplan.diagnostics import Code
from mdplan.storage.commit import stage
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.lock import locked
from mdplan.storage.root import Root
from tests.commits import change, commit, creation, journal_of, recovered
from tests.disk import NOBODY, descriptors, tree

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
