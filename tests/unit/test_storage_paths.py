"""Callers' paths: cases 1 to 22 of the list of hostile inputs, and what is accepted."""

from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.names import FileName
from mdplan.storage.root import Workspace
from tests.disk import descriptors

OUTSIDE = Code.PATH_OUTSIDE_ROOT
INVALID = Code.PATH_INVALID


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a.md", "a.md"),
        pytest.param("./a.md", "a.md", id="case-22-dot-slash"),
        ("a/./b.md", "a/b.md"),
        ("a..b.md", "a..b.md"),
        ("..a.md", "..a.md"),
        (".github/a.md", ".github/a.md"),
        (".gitignore", ".gitignore"),
        ("[id].md", "[id].md"),
        ("a" * 255, "a" * 255),
        ("日本語 und Ümläute 😀.md", "日本語 und Ümläute 😀.md"),
        ("console.md", "console.md"),
    ],
)
def test_path_is_accepted_in_its_shortest_form(tmp_path: Path, path: str, name: str) -> None:
    with Workspace.open([tmp_path]) as workspace:
        assert workspace.locate(path) == FileName("", name)
        assert workspace.locate(f"{tmp_path}/{path}") == FileName("", name)


def test_absolute_path_may_name_the_root_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with Workspace.open([tmp_path / "link"]) as workspace:
        assert workspace.locate(f"{tmp_path}/link/a.md") == FileName("", "a.md")
        assert workspace.locate(f"{tmp_path}/real/a.md") == FileName("", "a.md")


def test_several_roots_are_selected_by_name(tmp_path: Path) -> None:
    for name in ("docs", "site"):
        (tmp_path / name).mkdir()
    (tmp_path / "site" / "a.md").write_bytes(b"site")
    with Workspace.open([tmp_path / "docs", tmp_path / "site"]) as workspace:
        name = workspace.locate("site:a.md")
        assert isinstance(name, FileName)
        assert (name, str(name)) == (FileName("site", "a.md"), "site:a.md")
        assert workspace.locate(f"{tmp_path}/site/a.md") == name
        found = workspace.read(name, max_bytes=10)
        missing = workspace.read(FileName("docs", "a.md"), max_bytes=10)

    assert not isinstance(found, Diagnostic)
    assert found.data == b"site"
    assert isinstance(missing, Diagnostic)
    assert missing.file == "docs:a.md"


@pytest.mark.parametrize("path", ["a.md", "other:a.md", "C:x.md", ":a.md"])
def test_path_without_root_is_refused_where_there_are_several(tmp_path: Path, path: str) -> None:
    for name in ("docs", "site"):
        (tmp_path / name).mkdir()
    with Workspace.open([tmp_path / "docs", tmp_path / "site"]) as workspace:
        found = workspace.locate(path)

    assert isinstance(found, Diagnostic)
    assert found.code is INVALID
    assert "`docs:…`" in found.hint
    assert "`site:…`" in found.hint


def test_inner_root_of_nested_roots_is_used(tmp_path: Path) -> None:
    (tmp_path / "outer" / "inner").mkdir(parents=True)
    roots = {"outer": tmp_path / "outer", "inner": tmp_path / "outer" / "inner"}
    with Workspace.open(roots) as workspace:
        assert workspace.locate(f"{tmp_path}/outer/inner/a.md") == FileName("inner", "a.md")


@pytest.mark.parametrize("names", [("c", "docs"), ("a b", "docs"), ("a:b", "docs"), ("x/docs", "y/docs")])
def test_folder_that_cannot_name_a_root_is_refused(tmp_path: Path, names: tuple[str, str]) -> None:
    for name in names:
        (tmp_path / name).mkdir(parents=True)
    with pytest.raises(StorageRefused) as refused:
        Workspace.open([tmp_path / name for name in names])

    assert [problem.code for problem in refused.value.problems] == [Code.INVALID_ARGUMENT]
    assert "NAME=FOLDER" in refused.value.problems[0].hint


def test_missing_root_is_refused(tmp_path: Path) -> None:
    before = descriptors()
    with pytest.raises(StorageRefused) as refused:
        Workspace.open({"here": tmp_path, "there": tmp_path / "none"})

    assert [problem.code for problem in refused.value.problems] == [Code.FILE_NOT_FOUND]
    assert descriptors() == before


@pytest.mark.parametrize(
    ("path", "allow", "deny", "glob"),
    [
        ("secret/a.md", [], ["secret/"], "secret/"),
        ("a/b.key", [], ["*.md", "*.key"], "*.key"),
        ("src/a.py", ["docs/**", "*.md"], [], "docs/**"),
        ("docs/secret.md", ["docs/**"], ["docs/secret*"], "docs/secret*"),
    ],
)
def test_denial_names_the_glob(
    tmp_path: Path, path: str, allow: list[str], deny: list[str], glob: str
) -> None:
    with Workspace.open([tmp_path], allow, deny) as workspace:
        found = workspace.locate(path)

    assert isinstance(found, Diagnostic)
    assert found.code is OUTSIDE
    assert f"`{glob}`" in found.message


def test_last_matching_glob_decides(tmp_path: Path) -> None:
    with Workspace.open([tmp_path], deny=["drafts/*", "!drafts/public.md"]) as workspace:
        assert workspace.locate("drafts/public.md") == FileName("", "drafts/public.md")


@pytest.mark.parametrize("glob", ["", "  ", "# x", "[", "a\\", "[z-a]", "!", "*.{key,pem}"])
def test_scope_rule_that_matches_nothing_is_refused(tmp_path: Path, glob: str) -> None:
    with pytest.raises(StorageRefused) as refused:
        Workspace.open([tmp_path], deny=[glob])

    assert [problem.code for problem in refused.value.problems] == [Code.INVALID_ARGUMENT]
