"""Callers' paths: cases 1 to 22 of the list of hostile inputs, and what is accepted."""

from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.fs.errors import StorageRefused
from mdplan.storage.fs.file_name import FileName
from mdplan.storage.workspace import Workspace
from tests.disk import descriptors

OUTSIDE = Code.PATH_OUTSIDE_ROOT
INVALID = Code.PATH_INVALID

REFUSED = [
    pytest.param("../x", OUTSIDE, id="case-01-parent"),
    pytest.param("a/../../x", OUTSIDE, id="case-02-parent-in-the-middle"),
    pytest.param("a/../b.md", OUTSIDE, id="case-03-parent-that-stays-inside"),
    pytest.param("..", OUTSIDE, id="case-03-parent-alone"),
    pytest.param("/etc/passwd", OUTSIDE, id="case-04-absolute"),
    pytest.param("a\0b", INVALID, id="case-07-nul"),
    pytest.param("", INVALID, id="case-08-empty"),
    pytest.param(".", INVALID, id="case-08-dot"),
    pytest.param("/", INVALID, id="case-08-slash"),
    pytest.param("a/", INVALID, id="case-08-final-slash"),
    pytest.param("a//b", INVALID, id="case-08-double-slash"),
    pytest.param("a/.", INVALID, id="case-08-final-dot"),
    pytest.param("é" * 128, INVALID, id="case-09-component-of-256-bytes"),
    pytest.param("a" * 10_000_000, INVALID, id="case-09-component-of-ten-megabytes"),
    pytest.param("/".join(["abcdefg"] * 513), INVALID, id="case-09-path-of-4103-bytes"),
    pytest.param("C:x.md", INVALID, id="case-10-drive"),
    pytest.param("C:\\x", INVALID, id="case-10-drive-and-backslash"),
    pytest.param("C:/x", INVALID, id="case-10-drive-and-slash"),
    pytest.param("\\\\srv\\s\\x", INVALID, id="case-10-server"),
    pytest.param("//srv/s/x", INVALID, id="case-10-server-by-slashes"),
    pytest.param("\\\\?\\C:\\x", INVALID, id="case-10-device-path"),
    pytest.param("a\\..\\..\\b", INVALID, id="case-11-backslashes"),
    pytest.param("NUL", INVALID, id="case-12-nul"),
    pytest.param("con.md", INVALID, id="case-12-con"),
    pytest.param("a/aux", INVALID, id="case-12-aux"),
    pytest.param("Aux /b.md", INVALID, id="case-12-aux-and-blank"),
    pytest.param("COM1.tar.md", INVALID, id="case-12-com1"),
    pytest.param("LPT¹.md", INVALID, id="case-12-lpt-superscript"),
    pytest.param("x.md.", INVALID, id="case-13-final-dot"),
    pytest.param("d./x.md", INVALID, id="case-13-final-dot-of-folder"),
    pytest.param("x.md ", INVALID, id="case-13-final-blank"),
    pytest.param("...", INVALID, id="case-13-three-dots"),
    pytest.param("x.md:s", INVALID, id="case-14-stream"),
    pytest.param("x.md::$DATA", INVALID, id="case-14-data-stream"),
    pytest.param(".mdplan/lock", INVALID, id="case-16-state-folder"),
    pytest.param(".MDPLAN/x", INVALID, id="case-16-state-folder-in-capitals"),
    pytest.param("d/.mdplan/x", INVALID, id="case-16-state-folder-below"),
    pytest.param("．ｍｄｐｌａｎ/x", INVALID, id="case-16-state-folder-in-full-width"),
    pytest.param(".git/config", INVALID, id="case-17-git"),
    pytest.param("a/.Git/hooks/x", INVALID, id="case-17-git-below"),
    pytest.param("GIT~1/config", INVALID, id="case-17-git-by-short-name"),
    pytest.param(".g\u200cit/config", INVALID, id="case-17-git-and-zero-width"),
    pytest.param("a\udc80.md", INVALID, id="case-18-not-utf-8"),
    pytest.param("\ud800.md", INVALID, id="case-18-lone-surrogate"),
    pytest.param("a\u202edm.md", INVALID, id="case-21-bidi"),
    pytest.param("a\u200b.md", INVALID, id="case-21-zero-width"),
    pytest.param("a\x1b[31m.md", INVALID, id="case-21-escape"),
    pytest.param("a\u2028b.md", INVALID, id="case-21-line-separator"),
]


@pytest.mark.requirement("safety-1")
@pytest.mark.parametrize(("path", "code"), REFUSED)
def test_path_is_refused(tmp_path: Path, path: str, code: Code) -> None:
    with Workspace.open([tmp_path]) as workspace:
        found = workspace.locate(path)

    assert isinstance(found, Diagnostic)
    assert found.code is code
    for text in (found.message, found.hint, found.file or ""):
        assert len(text.encode("utf-8")) < 1000
        assert text.isprintable()


@pytest.mark.parametrize(
    ("path", "name"),
    [
        pytest.param("~/.ssh/config", "~/.ssh/config", id="case-05-tilde"),
        pytest.param("$HOME/x", "$HOME/x", id="case-06-variable"),
        pytest.param("%2e%2e/x", "%2e%2e/x", id="case-06-percent-dots"),
        pytest.param("%2Fetc", "%2Fetc", id="case-06-percent-slash"),
    ],
)
def test_path_is_taken_literally_and_not_found(tmp_path: Path, path: str, name: str) -> None:
    with Workspace.open([tmp_path]) as workspace:
        found = workspace.locate(path)
        read = workspace.read(FileName("", name), max_bytes=10)

    assert found == FileName("", name)
    assert isinstance(read, Diagnostic)
    assert read.code is Code.FILE_NOT_FOUND


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


def test_sibling_with_the_same_prefix_is_outside(tmp_path: Path) -> None:
    (tmp_path / "proj").mkdir()
    (tmp_path / "proj2").mkdir()
    with Workspace.open([tmp_path / "proj"]) as workspace:
        found = workspace.locate(f"{tmp_path}/proj2/x.md")

    assert isinstance(found, Diagnostic)
    assert found.code is OUTSIDE


def test_absolute_path_through_parent_of_root_is_outside(tmp_path: Path) -> None:
    with Workspace.open([tmp_path]) as workspace:
        found = workspace.locate(f"{tmp_path}/../{tmp_path.name}/x.md")

    assert isinstance(found, Diagnostic)
    assert found.code is OUTSIDE


def test_absolute_path_may_name_the_root_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with Workspace.open([tmp_path / "link"]) as workspace:
        assert workspace.locate(f"{tmp_path}/link/a.md") == FileName("", "a.md")
        assert workspace.locate(f"{tmp_path}/real/a.md") == FileName("", "a.md")


def test_two_normal_forms_are_two_names(tmp_path: Path) -> None:
    """Whether they are one file is for the commit to find out, by inode."""
    with Workspace.open([tmp_path]) as workspace:
        assert workspace.locate("e\u0301.md") != workspace.locate("\u00e9.md")


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


@pytest.mark.parametrize("path", ["docs:../x", "docs:/etc/passwd", "docs:.git/x", "docs:x:y", "docs:"])
def test_root_name_prefix_does_not_bypass_the_path_rules(tmp_path: Path, path: str) -> None:
    for name in ("docs", "site"):
        (tmp_path / name).mkdir()
    with Workspace.open([tmp_path / "docs", tmp_path / "site"]) as workspace:
        found = workspace.locate(path)

    assert isinstance(found, Diagnostic)
    assert found.file == path


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
        read = workspace.read(FileName("", path), max_bytes=10)

    assert isinstance(found, Diagnostic)
    assert found.code is OUTSIDE
    assert f"`{glob}`" in found.message
    assert read == found


def test_last_matching_glob_decides(tmp_path: Path) -> None:
    with Workspace.open([tmp_path], deny=["drafts/*", "!drafts/public.md"]) as workspace:
        assert workspace.locate("drafts/public.md") == FileName("", "drafts/public.md")


@pytest.mark.parametrize("glob", ["", "  ", "# x", "[", "a\\", "[z-a]", "!", "*.{key,pem}"])
def test_scope_rule_that_matches_nothing_is_refused(tmp_path: Path, glob: str) -> None:
    with pytest.raises(StorageRefused) as refused:
        Workspace.open([tmp_path], deny=[glob])

    assert [problem.code for problem in refused.value.problems] == [Code.INVALID_ARGUMENT]
