"""The power fails on a real file system: what lies on the disk then is all old or all new after recovery.

The disk is a file. While it is mounted, a copy of that file holds what was flushed and nothing else, like a
disk whose power was cut.
"""

import os
import subprocess
from pathlib import Path
from signal import SIGKILL

import pytest

from mdplan.diagnostics import Exit
from mdplan.storage.filesystem import Step
from tests.crash.aftermath import MIXED, NEW, batch, make_with_history, outcome, result_of, unclean
from tests.crash.commands import Commands
from tests.crash.mounts import disk_in, image
from tests.crash.trial import APPLY, LOOKING, RECOVER
from tests.support.files import tree

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
KINDS = ("ext4", "xfs")
PARTS = 4
# A cut before the next operation shows what the sync made durable.
SYNCS = frozenset({Step.SYNC, Step.SYNC_DIRECTORY})


def copy(disk: Path, to: Path) -> None:
    subprocess.run(["cp", "--sparse=always", disk, to], check=True)


def points_of(steps: tuple[Step, ...]) -> list[int]:
    """Before each operation that changes something, and after each sync."""
    return [
        number
        for number, (before, step) in enumerate(zip((None, *steps), steps, strict=False), 1)
        if step not in LOOKING or before in SYNCS
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_disk_copy_lacks_unsynced_writes(tmp_path: Path, kind: str) -> None:
    """Else the next test would not test anything."""
    running, cut, mount = (tmp_path / name for name in ("running", "cut", "mount"))
    image(kind, running)
    with disk_in(running, mount, kind):
        for name in ("synced.md", "written.md"):
            (mount / name).write_bytes(b"text" * 1000)
            if name == "synced.md":
                os.sync()
        copy(running, cut)
    with disk_in(cut, mount, kind):
        sizes = {path.name: path.stat().st_size for path in mount.glob("*.md")}

    assert sizes["synced.md"] == 4000
    assert not sizes.get("written.md")


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", KINDS)
def test_commit_is_all_old_or_all_new_after_a_power_cut(
    mdplan: Commands, tmp_path: Path, kind: str, part: int
) -> None:
    start, running, cut, mount = (tmp_path / name for name in ("start", "running", "cut", "mount"))
    image(kind, start)
    with disk_in(start, mount, kind):
        make_with_history(mount / "root")
        old = tree(mount / "root")
    new = result_of(old)

    def crashed(kill_at: int | None) -> tuple[str, list[str], tuple[Step, ...]]:
        """Commit, cut the power, recover: what all is then, what is wrong, the steps of the commit."""
        copy(start, running)
        with disk_in(running, mount, kind):
            kill = {kill_at: SIGKILL} if kill_at else {}
            ended = mdplan.run(mount / "root", *APPLY, stdin=batch(), signals=kill)
            copy(running, cut)
        assert ended.killed is (kill_at is not None)
        assert ended.killed or ended.json["durable"]
        with disk_in(cut, mount, kind):
            again = mdplan.run(mount / "root", *RECOVER)
            left = outcome(tree(mount / "root"), old, new)
            problems = [] if again.code == Exit.DONE else [f"recovered: {again}"]
            return left, [*problems, *unclean(mount / "root")], ended.steps

    left, violations, steps = crashed(None)
    if left != NEW:
        violations.append(f"after success all is {left}")
    points = points_of(steps)[part::PARTS]
    for point in points:
        left, problems, _ = crashed(point)
        if left == MIXED:
            problems.append("files are mixed")
        violations += (f"cut before {steps[point - 1]}, {point} of {len(steps)}: {each}" for each in problems)
    assert points
    assert violations == []
