"""`mdplan merge` as git calls it, in real repositories."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).parents[2].parent / "shared" / "merges"
BASE = "# Log\n\n- a\n"


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    names = {f"GIT_{role}_{part}": "a@b" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **names, "PATH": path, "GIT_EDITOR": "true"}
    return subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def _mdplan(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mdplan", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def _commit(folder: Path, text: str) -> None:
    (folder / "log.md").write_text(text)
    _git(folder, "add", ".")
    assert _git(folder, "commit", "-m", "x").returncode == 0


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    _git(tmp_path, "init", "-b", "main")
    _commit(tmp_path, BASE)
    _git(tmp_path, "branch", "other")
    assert _mdplan(tmp_path, "merge", "--install").returncode == 0
    _commit(tmp_path, BASE + "- left\n")
    _git(tmp_path, "checkout", "-q", "other")
    _commit(tmp_path, BASE + "- right one\n")
    return tmp_path


@pytest.mark.parametrize("command", [("merge", "main"), ("rebase", "main"), ("cherry-pick", "main")])
def test_git_merges_items_of_both_branches(repository: Path, command: tuple[str, str]) -> None:
    assert _git(repository, *command).returncode == 0
    lines = (repository / "log.md").read_text().splitlines()
    assert sorted(lines[2:]) == ["- a", "- left", "- right one"]


def test_stashed_items_come_back_beside_new_ones(repository: Path) -> None:
    (repository / "log.md").write_text(BASE + "- right one\n- stashed\n")
    _git(repository, "stash")
    _commit(repository, BASE + "- right one\n- committed later\n")
    assert _git(repository, "stash", "pop").returncode == 0
    assert sorted((repository / "log.md").read_text().splitlines()[3:]) == [
        "- committed later",
        "- right one",
        "- stashed",
    ]


def test_conflict_is_left_to_a_person(repository: Path) -> None:
    _commit(repository, BASE.replace("Log", "Changes"))
    _git(repository, "checkout", "-q", "main")
    _commit(repository, BASE.replace("Log", "News"))
    assert _git(repository, "merge", "other").returncode == 1
    assert "<<<<<<< ours" in (repository / "log.md").read_text()


def test_uninstalled_without_a_trace(repository: Path) -> None:
    assert _mdplan(repository, "merge", "--uninstall").returncode == 0
    assert "mdplan" not in (repository / ".git" / "config").read_text()
    assert not (repository / ".git" / "info" / "attributes").exists()
    assert _git(repository, "merge", "main").returncode == 1


def test_another_driver_is_not_replaced(repository: Path) -> None:
    (repository / ".git" / "info" / "attributes").write_text("*.md merge=union\n")
    assert _mdplan(repository, "merge", "--install").returncode == 2


def test_other_line_ends_and_markers_are_merged_by_git(tmp_path: Path) -> None:
    for name, text in (("base", "a\r\nb\r\n"), ("ours", "a\r\nc\r\n"), ("theirs", "a\r\nd\r\n")):
        (tmp_path / name).write_bytes(text.encode())
    run = _mdplan(tmp_path, "merge", "base", "ours", "theirs", "-o", "out")
    assert run.returncode == 1
    assert (tmp_path / "out").read_bytes().startswith(b"a\r\n<<<<<<< ours\r\n")


@pytest.mark.skipif(not CASES.exists(), reason="the real merges are not on this machine")
@pytest.mark.parametrize(
    ("case", "is_clean"),
    [
        ("7e23f08b30a3", True),
        ("a9157bd9c7fd", False),
        ("d659189cf875", False),
        ("d2124ef66098", False),
        ("32f3683990b5", False),
    ],
)
def test_result_of_git_is_used_where_ours_is_no_better(tmp_path: Path, case: str, *, is_clean: bool) -> None:
    files = [str(CASES / case / f"{name}.md") for name in ("base", "ours", "theirs")]
    base, ours, theirs = files
    names = ("-L", "ours", "-L", "base", "-L", "theirs")
    by_git = _git(tmp_path, "merge-file", "-p", *names, ours, base, theirs)
    run = _mdplan(tmp_path, "merge", *files, "-o", "out")
    assert run.returncode == (not is_clean)
    assert (tmp_path / "out").read_text() == by_git.stdout
    assert "git's result is used" in run.stderr if is_clean else "git's conflict markers" in run.stderr


def test_missing_file_fails_above_128(tmp_path: Path) -> None:
    assert _mdplan(tmp_path, "merge", "base", "ours", "theirs").returncode > 128
