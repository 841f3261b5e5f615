"""A manifest over five thousand files: planned, checked, applied, true, undone; and killed in the middle."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bot.big_tree import digests, make_tree

COUNT = 5000
REPOSITORY = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    make_tree(root, COUNT)
    return root


def mdplan(root: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run `mdplan` in a separate process."""
    return subprocess.run(
        [sys.executable, "-m", "mdplan", *arguments, "--root", str(root), "--json"],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY), **environment},
        timeout=600,
    )


def test_many_files_are_changed_and_undone(root: Path) -> None:
    manifest = str(root / "bot.yml")
    before = digests(root)

    planned = mdplan(root, "bot", "plan", manifest)
    would = mdplan(root, "bot", "check", manifest)
    applied = mdplan(root, "bot", "apply", manifest)
    holds = mdplan(root, "bot", "check", manifest)

    assert [run.returncode for run in (planned, would, applied, holds)] == [0, 1, 0, 0]
    report = json.loads(applied.stdout)
    assert (report["planId"], report["filesChanged"]) == (json.loads(planned.stdout)["planId"], COUNT)
    after = digests(root)
    assert all(after[path] != digest for path, digest in before.items())
    assert mdplan(root, "undo", "-y", report["receipt"]["transaction"]).returncode == 0
    assert digests(root) == before


@pytest.mark.parametrize(
    "failpoint", ["write:2500", "exchange:1", "exchange:2500", "exchange:5000", "unlink:1", "unlink:2500"]
)
def test_killed_bot_leaves_all_files_old_or_all_new(root: Path, failpoint: str) -> None:
    manifest = str(root / "bot.yml")
    before = digests(root)

    killed = mdplan(root, "bot", "apply", manifest, MDPLAN_FAILPOINT=failpoint)
    assert killed.returncode == -signal.SIGKILL
    assert mdplan(root, "recover").returncode == 0

    after = digests(root)
    changed = sum(after[path] != digest for path, digest in before.items())
    assert after.keys() == before.keys()
    assert changed in (0, COUNT)
    assert not list(root.rglob(".mdplan-*"))
    assert mdplan(root, "bot", "check", manifest).returncode == (0 if changed else 1)


@pytest.mark.parametrize("verb", ["plan", "apply"])
def test_memory_is_bounded_by_the_files_in_flight(root: Path, tmp_path: Path, verb: str) -> None:
    peak = pytest.importorskip("tests.bot.peak", reason="psutil, which comes with distributed, is missing")
    few = tmp_path / "few"
    make_tree(few, COUNT // 10)
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}

    taken = [
        peak.peaks_of(["bot", verb, str(tree / "bot.yml"), "--root", str(tree), "--jobs", "2"], environment)
        for tree in (few, root)
    ]

    assert taken[1].together <= 1.5 * taken[0].together
