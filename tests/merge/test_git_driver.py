"""`mdplan merge` as git calls it, in real repositories."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mdplan.cli.commands.merge as merge_command

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
    assert _mdplan(tmp_path, "merge", "--install").returncode == 0
    _commit(tmp_path, BASE)
    _git(tmp_path, "branch", "other")
    _commit(tmp_path, BASE + "- left\n")
    _git(tmp_path, "checkout", "-q", "other")
    _commit(tmp_path, BASE + "- right one\n")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ("merge", "main"),
        pytest.param(("rebase", "main"), marks=pytest.mark.slow),
        pytest.param(("cherry-pick", "main"), marks=pytest.mark.slow),
    ],
)
def test_git_merges_items_of_both_branches(repository: Path, command: tuple[str, str]) -> None:
    assert _git(repository, *command).returncode == 0
    lines = (repository / "log.md").read_text().splitlines()
    assert sorted(lines[2:]) == ["- a", "- left", "- right one"]


def test_histories_that_cross_are_merged(repository: Path) -> None:
    _git(repository, "branch", "crossed")
    assert _git(repository, "merge", "main").returncode == 0
    _commit(repository, (repository / "log.md").read_text() + "- of the first merge\n")
    _git(repository, "checkout", "-q", "main")
    assert _git(repository, "merge", "crossed").returncode == 0
    _commit(repository, (repository / "log.md").read_text() + "- the second merge has this\n")
    assert len(_git(repository, "merge-base", "--all", "main", "other").stdout.split()) == 2
    assert _git(repository, "merge", "other").returncode == 0
    assert sorted((repository / "log.md").read_text().splitlines()[2:]) == [
        "- a",
        "- left",
        "- of the first merge",
        "- right one",
        "- the second merge has this",
    ]


def test_renamed_file_gets_the_items_of_the_other_side(repository: Path) -> None:
    _git(repository, "mv", "log.md", "news.md")
    assert _git(repository, "commit", "-m", "x").returncode == 0
    assert _git(repository, "merge", "-X", "find-renames=30%", "main").returncode == 0
    assert sorted((repository / "news.md").read_text().splitlines()[2:]) == ["- a", "- left", "- right one"]
    assert not (repository / "log.md").exists()


@pytest.mark.slow
def test_data_files_are_merged_by_key(repository: Path) -> None:
    assert _mdplan(repository, "merge", "--install", "*.json").returncode == 0
    _git(repository, "checkout", "-q", "main")
    (repository / "data.json").write_text('{"a": 1}\n')
    _git(repository, "add", ".")
    _git(repository, "commit", "-m", "x")
    for branch, text in (("one", '{"a": 1, "one": 1}\n'), ("two", '{"a": 1, "two": 2}\n')):
        _git(repository, "checkout", "-q", "-b", branch, "main")
        (repository / "data.json").write_text(text)
        _git(repository, "add", ".")
        assert _git(repository, "commit", "-m", "x").returncode == 0
    assert _git(repository, "merge", "one").returncode == 0
    assert (repository / "data.json").read_text() == '{"a": 1, "one": 1, "two": 2}\n'


def test_strict_merge_leaves_decisions_to_a_person(tmp_path: Path) -> None:
    texts = {"base": "- [ ] a task\n", "ours": "- [x] a task\n", "theirs": "- [ ] the task\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    files = str(tmp_path / "base"), str(tmp_path / "ours"), str(tmp_path / "theirs")
    data = [text.encode() for text in texts.values()]
    assert merge_command.merge_files(data, files, 7).is_clean
    assert not merge_command.merge_files(data, files, 7, is_strict=True).is_clean


@pytest.mark.slow
def test_stashed_items_are_merged_with_new_ones(repository: Path) -> None:
    (repository / "log.md").write_text(BASE + "- right one\n- stashed\n")
    _git(repository, "stash")
    _commit(repository, BASE + "- right one\n- committed later\n")
    assert _git(repository, "stash", "pop").returncode == 0
    assert sorted((repository / "log.md").read_text().splitlines()[3:]) == [
        "- committed later",
        "- right one",
        "- stashed",
    ]


def test_conflict_leaves_markers_and_a_failing_exit_code(repository: Path) -> None:
    _commit(repository, BASE.replace("Log", "Changes"))
    _git(repository, "checkout", "-q", "main")
    _commit(repository, BASE.replace("Log", "News"))
    (repository / ".git" / "info" / "attributes").write_text("*.md conflict-marker-size=3\n")
    assert _git(repository, "merge", "other").returncode == 1
    assert (repository / "log.md").read_text().count("<<< ours") == 1


@pytest.mark.parametrize("program", [None, "#!/bin/sh\nexit 1\n"])
def test_git_merges_where_mdplan_is_missing_or_does_not_start(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, program: str | None
) -> None:
    folder = tmp_path_factory.mktemp("bin")
    if program is not None:
        (folder / "mdplan").write_text(program)
        (folder / "mdplan").chmod(0o755)
    path = f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"
    names = {f"GIT_{role}_{part}": "a@b" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    merged = subprocess.run(
        ["git", "merge", "main"], cwd=repository, env={**os.environ, **names, "PATH": path}, check=False
    )
    assert merged.returncode == 1
    assert (repository / "log.md").read_text() == (
        BASE + "<<<<<<< ours\n- right one\n=======\n- left\n>>>>>>> theirs\n"
    )


def test_uninstall_restores_the_original_configuration(repository: Path) -> None:
    assert _mdplan(repository, "merge", "--uninstall").returncode == 0
    assert "mdplan" not in (repository / ".git" / "config").read_text()
    assert not (repository / ".gitattributes").exists()
    assert _git(repository, "merge", "main").returncode == 1


def test_another_driver_is_not_replaced(repository: Path) -> None:
    (repository / ".git" / "info" / "attributes").write_text("*.md merge=union\n")
    assert _mdplan(repository, "merge", "--install").returncode == 2


@pytest.mark.slow
def test_driver_of_the_repository_is_not_replaced(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-b", "main")
    (tmp_path / ".gitattributes").write_text("*.md merge=union\n")
    assert _mdplan(tmp_path, "merge", "--install").returncode == 2
    assert _mdplan(tmp_path, "merge", "--install", "*.mdx").returncode == 0
    assert (tmp_path / ".gitattributes").read_text() == "*.md merge=union\n*.mdx merge=mdplan\n"


@pytest.mark.parametrize("option", ["--install", "--uninstall"])
@pytest.mark.parametrize("is_link", [True, False])
def test_attributes_that_are_no_file_stay_as_they_are(tmp_path: Path, option: str, *, is_link: bool) -> None:
    _git(tmp_path, "init", "-b", "main")
    (tmp_path / "outside").write_text("*.txt text\n")
    if is_link:
        (tmp_path / ".gitattributes").symlink_to(tmp_path / "outside")
    else:
        os.mkfifo(tmp_path / ".gitattributes")
    assert _mdplan(tmp_path, "merge", option).returncode == 2
    assert (tmp_path / "outside").read_text() == "*.txt text\n"


def test_attributes_of_a_team_are_kept_byte_for_byte(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-b", "main")
    attributes, own = tmp_path / ".gitattributes", b"*.png binary\r\n# caf\xe9\r\n*.txt text"
    attributes.write_bytes(own)
    assert _mdplan(tmp_path, "merge", "--install").returncode == 0
    assert attributes.read_bytes() == own + b"\n*.md merge=mdplan\n"
    assert _mdplan(tmp_path, "merge", "--uninstall").returncode == 0
    assert attributes.read_bytes() == own + b"\n"


def test_user_wide_driver_is_installed_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    assert _mdplan(tmp_path, "merge", "--install", "--global").returncode == 0
    assert (tmp_path / ".config" / "git" / "attributes").read_text() == "*.md merge=mdplan\n"
    assert "mdplan merge %O" in (tmp_path / ".gitconfig").read_text()
    assert _mdplan(tmp_path, "merge", "--uninstall", "--global").returncode == 0
    assert not (tmp_path / ".config" / "git" / "attributes").exists()
    assert "mdplan" not in (tmp_path / ".gitconfig").read_text()


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result"),
    [
        (b"- a\r\n", b"- a\r\n- left\r\n", b"- a\r\n- right one\r\n", b"- a\r\n- right one\r\n- left\r\n"),
        pytest.param(
            b"\xef\xbb\xbf- a\n", b"\xef\xbb\xbf- a\n- b\n", b"- a\n", b"- a\n- b\n", marks=pytest.mark.slow
        ),
        pytest.param(b"- a\n", b"- a\r\n", b"- a\n- b\n", b"- a\r\n- b\r\n", marks=pytest.mark.slow),
    ],
)
def test_line_ends_and_byte_order_mark_come_from_the_side_that_changed_them(
    tmp_path: Path, base: bytes, ours: bytes, theirs: bytes, result: bytes
) -> None:
    for name, data in (("base", base), ("ours", ours), ("theirs", theirs)):
        (tmp_path / name).write_bytes(data)
    assert _mdplan(tmp_path, "merge", "base", "ours", "theirs", "-o", "out").returncode == 0
    assert (tmp_path / "out").read_bytes() == result


def test_mixed_line_ends_are_merged_by_git(tmp_path: Path) -> None:
    for name, data in (("base", b"a\r\nb\n"), ("ours", b"a\r\nc\n"), ("theirs", b"a\r\nd\n")):
        (tmp_path / name).write_bytes(data)
    run = _mdplan(tmp_path, "merge", "base", "ours", "theirs", "-o", "out")
    assert run.returncode == 1
    assert (tmp_path / "out").read_bytes() == b"a\r\n<<<<<<< ours\r\nc\n=======\r\nd\n>>>>>>> theirs\r\n"


@pytest.mark.slow
@pytest.mark.skipif(not CASES.exists(), reason="the real merges are not on this machine")
def test_git_merge_is_used_where_it_marks_fewer_lines(tmp_path: Path) -> None:
    files = [str(CASES / "d659189cf875" / f"{name}.md") for name in ("base", "ours", "theirs")]
    base, ours, theirs = files
    names = ("-L", "ours", "-L", "base", "-L", "theirs")
    by_git = _git(tmp_path, "merge-file", "-p", *names, ours, base, theirs)
    run = _mdplan(tmp_path, "merge", *files, "-o", "out")
    assert run.returncode == 1
    assert (tmp_path / "out").read_text() == by_git.stdout
    assert "git's conflict markers" in run.stderr


def test_text_that_takes_too_long_is_merged_by_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge_command, "_PARSE_SECONDS", 0)
    texts = [b"# A\n\na\n" * 200, b"# A\n\nb\n" * 200, b"# A\n\nc\n" * 200]
    for name, data in zip(("base", "ours", "theirs"), texts, strict=True):
        (tmp_path / name).write_bytes(data)
    files = str(tmp_path / "base"), str(tmp_path / "ours"), str(tmp_path / "theirs")
    found = merge_command.merge_files(texts, files, 7)
    assert found.note == "git merged it: mdplan takes too long to parse it"
    assert "<<<<<<< ours" in found.text


def test_missing_file_exits_above_128(tmp_path: Path) -> None:
    assert _mdplan(tmp_path, "merge", "base", "ours", "theirs").returncode > 128


def test_merge_can_be_saved_as_a_plan(tmp_path: Path) -> None:
    for name, text in (("base", BASE), ("ours", BASE + "- left\n"), ("theirs", BASE + "- right one\n")):
        (tmp_path / f"{name}.md").write_text(text)
    run = _mdplan(tmp_path, "merge", "base.md", "ours.md", "theirs.md", "--plan")
    assert run.returncode == 0
    assert "\n+- right one\n" in run.stdout
    assert "right" not in (tmp_path / "ours.md").read_text()
    plan = run.stderr.rpartition(" ")[2].strip()
    assert _mdplan(tmp_path, "apply", plan).returncode == 0
    assert "- right one\n- left\n" in (tmp_path / "ours.md").read_text()
