"""Folders and globs as lists of files, and the root of a command that was told none."""

import os
from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.root import Workspace, find_root

FILES = ("README.md", "[id].md", "a-b.md", "a/b.md", "a/c/d.md", "a/c/d.txt", "a.md", "node/x.md")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Tree of documents and of things that are none."""
    for name in (
        *FILES,
        ".git/config.md",
        "a/.mdplan/x.md",
        "a/.mdplan-0123456789abcdef-1.tmp",
        "con.md",
        "b\\c.md",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "link.md").symlink_to("a.md")
    (tmp_path / "linked").symlink_to("a")
    os.mkfifo(tmp_path / "fifo.md")
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.md"))).write_bytes(b"")
    return tmp_path


def check(folder: Path, pattern: str, expected: list[str], **rules: list[str]) -> None:
    """`pattern` is for several files and lists `expected`, in that order."""
    with Workspace.open([folder], **rules) as workspace:
        assert workspace.is_several(pattern)
        found = workspace.iter_files(pattern)
        assert not isinstance(found, Diagnostic)
        assert [name.path for name in found] == expected


@pytest.mark.parametrize("pattern", [".", "./", "**", "*"])
def test_root_listing_is_sorted_and_contains_only_documents(folder: Path, pattern: str) -> None:
    check(folder, pattern, sorted(FILES))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a", ["a/b.md", "a/c/d.md", "a/c/d.txt"]),
        ("a/", ["a/b.md", "a/c/d.md", "a/c/d.txt"]),
        ("a/c", ["a/c/d.md", "a/c/d.txt"]),
        ("*.txt", ["a/c/d.txt"]),
        ("a/*.md", ["a/b.md"]),
        ("a/**/*.md", ["a/b.md", "a/c/d.md"]),
        ("**/d.*", ["a/c/d.md", "a/c/d.txt"]),
        ("[ab].md", ["a/b.md", "a.md"]),
        ("none*", []),
        ("linked/*", None),
        ("none/*", None),
    ],
)
def test_glob_follows_the_rules_of_git(folder: Path, pattern: str, expected: list[str] | None) -> None:
    if expected is not None:
        check(folder, pattern, sorted(expected))
        return
    with Workspace.open([folder]) as workspace:
        found = workspace.iter_files(pattern)
        assert isinstance(found, Diagnostic)
        assert found.code in {Code.FILE_NOT_FOUND, Code.SYMLINK_REFUSED}


def test_absolute_pattern_is_relative_to_its_root(folder: Path) -> None:
    check(folder, f"{folder}", sorted(FILES))
    check(folder, f"{folder}/a/*.md", ["a/b.md"])


def test_scope_limits_what_is_listed(folder: Path) -> None:
    check(folder, ".", ["README.md", "a/b.md"], allow=["*.md"], deny=["a/c/", "node", "/a*.md", "?id?.md"])


@pytest.mark.parametrize("path", ["a.md", "[id].md", "none.md", "../a", "link.md", "fifo.md"])
def test_literal_file_name_matches_only_itself(folder: Path, path: str) -> None:
    with Workspace.open([folder]) as workspace:
        assert not workspace.is_several(path)


def test_several_roots_are_listed_by_name(folder: Path) -> None:
    with Workspace.open({"node": folder / "node", "aa": folder / "a"}) as workspace:
        found = workspace.iter_files("aa:c/*.md")
        assert not isinstance(found, Diagnostic)
        assert [str(name) for name in found] == ["aa:c/d.md"]
        assert workspace.is_several("aa:.")
        assert not workspace.is_several(".")


@pytest.mark.parametrize("pattern", ["*a*a*a*b", "**/a/**/b/**/c", "[z-a]", "../*"])
def test_invalid_or_slow_glob_is_refused(folder: Path, pattern: str) -> None:
    with Workspace.open([folder]) as workspace:
        found = workspace.iter_files(pattern)

    assert isinstance(found, Diagnostic)
    assert found.code in {Code.INVALID_ARGUMENT, Code.PATH_OUTSIDE_ROOT}


@pytest.mark.parametrize(
    ("made", "start", "root"),
    [
        ([], "x/y", "x/y"),
        ([".git/"], "x/y", "."),
        ([".git"], "x/y", "."),
        ([".git/", "x/.git"], "x/y", "x"),
        ([".git/", "x/.mdplan/"], "x/y", "x"),
        ([".mdplan/", "x/.git/"], "x/y", "x"),
        ([".mdplan/", "x/.mdplan/"], "x/y", "x"),
        (["x/y/.mdplan/"], "x/y", "x/y"),
    ],
)
def test_root_is_the_nearest_folder_with_a_marker(
    tmp_path: Path, made: list[str], start: str, root: str
) -> None:
    (tmp_path / start).mkdir(parents=True)
    for name in made:
        if name.endswith("/"):
            (tmp_path / name).mkdir()
        else:
            (tmp_path / name).write_bytes(b"gitdir: elsewhere\n")

    assert find_root(str(tmp_path / start)) == str((tmp_path / root).resolve())
