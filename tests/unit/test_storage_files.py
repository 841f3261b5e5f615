"""Callers' paths: cases 1 to 22 of the list of hostile inputs, and what is accepted."""

import errno
import gc
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Diagnostic
from mdplan.documents.workspace import Workspace, find_root
from mdplan.engine.engine import Engine
from mdplan.storage import filesystem as rename_flags
from mdplan.storage.files import FileBytes, FileName, content_of, is_digest, read_regular_file
from mdplan.storage.filesystem import FileSystem, StorageRefused
from mdplan.storage.names import LINUX, MACOS, WINDOWS, canonical_path, is_absolute, path_below, slashed
from mdplan.storage.root import Root
from tests.support.case_tables import CaseTables
from tests.support.files import NOBODY, as_nobody, descriptors, names_in

CASE_TABLES = CaseTables(__file__)


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


@CASE_TABLES.parametrize("path", "systems")
def test_name_is_refused_only_where_a_system_reads_it_otherwise(path: str, systems: str) -> None:
    refused = {
        system: isinstance(canonical_path(path, system), Diagnostic) for system in (LINUX, MACOS, WINDOWS)
    }

    assert refused == {system: system in systems.split() for system in refused}


@CASE_TABLES.parametrize("path", "folder", "on_linux", "on_windows")
def test_absolute_path_is_found_below_a_folder(
    path: str, folder: str, on_linux: str | None, on_windows: str | None
) -> None:
    found = {
        system: path_below(slashed(path, system), folder, system)
        if is_absolute(slashed(path, system), system)
        else None
        for system in (LINUX, WINDOWS)
    }

    assert found == {LINUX: on_linux, WINDOWS: on_windows}


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


@CASE_TABLES.parametrize("path", "allow", "deny", "glob")
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


# --- What is in place of a file, as `Root` sees it; hostile/test_file_kinds.py shows it for every verb.

LIMIT = 1 << 20


@pytest.fixture
def open_tree() -> Iterator[Path]:
    """Folder that every user of the machine can reach, which pytest's own cannot be."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def check(folder: Path, path: str, code: Code, hint: str = "") -> None:
    """Reading and writing `path` are refused with `code`; the hint has `hint` in it."""
    root = Root.open(folder)
    try:
        for found in (root.read(FileName("", path), LIMIT), root.write_refusal(FileName("", path))):
            assert isinstance(found, Diagnostic)
            assert (found.code, found.file) == (code, path)
            assert hint in found.hint
    finally:
        root.close()


def check_not_writable(folder: Path, path: str, code: Code) -> None:
    """`path` can be read, but not be replaced."""
    root = Root.open(folder)
    try:
        assert isinstance(root.read(FileName("", path), LIMIT), FileBytes)
        refused = root.write_refusal(FileName("", path))
        assert isinstance(refused, Diagnostic)
        assert (refused.code, refused.file) == (code, path)
    finally:
        root.close()


def test_file_is_read_with_its_status(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.md").write_bytes(b"\xff\0text\r\n")
    root = Root.open(tmp_path)
    found = root.read(FileName("", "d/a.md"), LIMIT)

    assert isinstance(found, FileBytes)
    assert found.data == b"\xff\0text\r\n"
    assert found.status.st_ino == (tmp_path / "d" / "a.md").stat().st_ino
    assert root.write_refusal(FileName("", "d/a.md")) is None
    root.close()


@CASE_TABLES.parametrize("target", "hint")
def test_link_is_refused(tmp_path: Path, target: str, hint: str) -> None:
    root = tmp_path / "root"
    (root / "real").mkdir(parents=True)
    (root / "real" / "b.md").write_bytes(b"b")
    (tmp_path / "outside.md").write_bytes(b"secret")
    (root / "a.md").symlink_to(target.format(root=root))

    check(root, "a.md", Code.SYMLINK_REFUSED, hint)


@CASE_TABLES.parametrize("target", "hint")
def test_link_instead_of_a_folder_is_refused(tmp_path: Path, target: str, hint: str) -> None:
    root = tmp_path / "root"
    for folder in (root / "real" / "sub", tmp_path / "outside" / "sub"):
        folder.mkdir(parents=True)
        (folder / "b.md").write_bytes(b"b")
    (root / "link").symlink_to(target)

    check(root, "link/sub/b.md", Code.SYMLINK_REFUSED, hint)


@pytest.mark.parametrize(("size", "is_read"), [(10, True), (11, False)])
def test_limit_is_the_largest_size_that_is_read(tmp_path: Path, size: int, is_read: bool) -> None:
    (tmp_path / "a.md").write_bytes(b"x" * size)
    root = Root.open(tmp_path)
    found = root.read(FileName("", "a.md"), 10)
    root.close()

    assert isinstance(found, FileBytes) is is_read


def test_leftover_name_of_a_killed_commit_is_not_a_hard_link(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"a")
    (tmp_path / ".mdplan-0123456789abcdef-2.tmp").hardlink_to(tmp_path / "a.md")
    (tmp_path / ".mdplan-0123456789abcdef-3.tmp").write_bytes(b"a")
    root = Root.open(tmp_path)

    assert root.write_refusal(FileName("", "a.md")) is None
    (tmp_path / "b.md").hardlink_to(tmp_path / "a.md")
    check_not_writable(tmp_path, "a.md", Code.HARDLINK_REFUSED)
    root.close()


def test_unreadable_folder_is_refused(open_tree: Path) -> None:
    (open_tree / "d").mkdir(mode=0o700)
    with as_nobody():
        check(open_tree, "d/a.md", Code.PERMISSION_DENIED)


def test_folder_without_write_permission_is_refused(open_tree: Path) -> None:
    (open_tree / "a.md").write_bytes(b"a")
    shutil.chown(open_tree / "a.md", NOBODY, NOBODY)
    with as_nobody():
        check_not_writable(open_tree, "a.md", Code.PERMISSION_DENIED)


@CASE_TABLES.parametrize("path", "hint")
def test_missing_file_suggests_the_nearest_names(tmp_path: Path, path: str, hint: str) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("README.md", "docs/guide.md"):
        (tmp_path / name).write_bytes(b"")

    check(tmp_path, path, Code.FILE_NOT_FOUND, hint)


def test_reading_leaves_no_descriptor_open(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.md").write_bytes(b"a")
    (tmp_path / "link").symlink_to("d")
    root = Root.open(tmp_path)
    before = descriptors()
    for path in ("d/a.md", "d/none.md", "link/a.md", "none/a.md", "d", "d/a.md/x"):
        root.read(FileName("", path), LIMIT)
        root.write_refusal(FileName("", path))

    assert descriptors() == before
    root.close()


def test_unreferenced_roots_are_closed(tmp_path: Path) -> None:
    for name in ("docs", "site"):
        (tmp_path / name).mkdir()
    before = descriptors()
    engine = Engine.open([tmp_path / "docs", tmp_path / "site"])
    assert descriptors() == before + 2

    del engine
    gc.collect()

    assert descriptors() == before


def test_released_root_is_not_closed_again(tmp_path: Path) -> None:
    root = Root.open(tmp_path)
    number = root.descriptor
    root.close()
    other = os.open(tmp_path, os.O_RDONLY)
    assert other == number

    del root
    gc.collect()

    assert os.fstat(other)
    os.close(other)


# --- Folders and globs as lists of files, and the default root of a command

FILES = (
    *("README.md", "[id].md", "a 10:30.md", "a-b.md", "a/b.md", "a/c/d.md", "a/c/d.txt", "a.md"),
    *("aux.md", "node/x.md"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create a tree of documents and other files."""
    for name in (*FILES, ".git/config.md", "a/.mdplan/x.md", "a/.mdplan-0123456789abcdef-1.tmp", "b\\c.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "link.md").symlink_to("a.md")
    (tmp_path / "linked").symlink_to("a")
    os.mkfifo(tmp_path / "fifo.md")
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.md"))).write_bytes(b"")
    return tmp_path


def check_listing(folder: Path, pattern: str, expected: list[str], **rules: list[str]) -> None:
    """`pattern` is for several files and lists `expected`, in that order."""
    with Workspace.open([folder], **rules) as workspace:
        assert workspace.is_several(pattern)
        found = workspace.iter_files(pattern)
        assert not isinstance(found, Diagnostic)
        assert [name.path for name in found] == expected


def test_deep_tree_is_listed_with_few_openings_of_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    depth = 200
    (tmp_path / "/".join("d" * depth)).mkdir(parents=True)
    (tmp_path / "/".join("d" * depth) / "a.md").touch()
    before, opened, original = descriptors(), [], FileSystem.open_directory
    monkeypatch.setattr(
        FileSystem, "open_directory", lambda disk, *place: opened.append(place) or original(disk, *place)
    )

    check_listing(tmp_path, ".", ["/".join("d" * depth) + "/a.md"])
    assert len(opened) < 4 * depth
    assert descriptors() == before


@pytest.mark.parametrize("pattern", [".", "./", "**", "*"])
def test_root_listing_is_sorted_and_contains_only_documents(folder: Path, pattern: str) -> None:
    check_listing(folder, pattern, sorted(FILES))


@CASE_TABLES.parametrize("pattern", "expected")
def test_glob_follows_the_rules_of_git(folder: Path, pattern: str, expected: list[str] | None) -> None:
    if expected is not None:
        check_listing(folder, pattern, sorted(expected))
        return
    with Workspace.open([folder]) as workspace:
        found = workspace.iter_files(pattern)
        assert isinstance(found, Diagnostic)
        assert found.code in {Code.FILE_NOT_FOUND, Code.SYMLINK_REFUSED}


def test_absolute_pattern_is_relative_to_its_root(folder: Path) -> None:
    check_listing(folder, f"{folder}", sorted(FILES))
    check_listing(folder, f"{folder}/a/*.md", ["a/b.md"])


def test_scope_limits_what_is_listed(folder: Path) -> None:
    check_listing(
        folder, ".", ["README.md", "a/b.md"], allow=["*.md"], deny=["a/c/", "node", "/a*.md", "?id?.md"]
    )


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


@CASE_TABLES.parametrize("made", "start", "root")
def test_root_is_the_nearest_work_tree_of_git(tmp_path: Path, made: list[str], start: str, root: str) -> None:
    (tmp_path / start).mkdir(parents=True)
    for name in made:
        if name.endswith("/"):
            (tmp_path / name).mkdir()
        else:
            (tmp_path / name).write_bytes(b"gitdir: elsewhere\n")

    assert find_root(str(tmp_path / start)) == str((tmp_path / root).resolve())


# --- Files that are read while another program writes them.

NAME = "a.md"

# More than is read at once.
LARGE = os.urandom((1 << 20) + 7)

# Repeated reads are equal.
REPEATED = b"a" * (2 << 20)


class LateDisk(FileSystem):
    """Tells the size that a file had a moment ago."""

    size = 0

    def status(self, descriptor: int) -> os.stat_result:
        found = super().status(descriptor)
        return os.stat_result((*found[:6], self.size, *found[7:]))


@pytest.mark.parametrize("data", [b"", b"1", b"12345", LARGE, LARGE * 2])
@pytest.mark.parametrize("size", [0, 1, 4, 5, 1 << 20, 5 << 20])
def test_file_of_changed_size_is_read_completely(tmp_path: Path, data: bytes, size: int) -> None:
    (tmp_path / NAME).write_bytes(data)
    disk = LateDisk()
    disk.size = size
    folder = disk.open_root(str(tmp_path))
    read = read_regular_file(disk, folder, NAME, NAME, max(size, len(data)))
    content = content_of(disk, folder, NAME, len(data))
    disk.release(folder)

    assert not isinstance(read, Diagnostic)
    assert read.data == data
    assert content == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("size", [0, 4])
def test_file_that_grew_beyond_the_limit_is_refused(tmp_path: Path, size: int) -> None:
    (tmp_path / NAME).write_bytes(b"12345")
    disk = LateDisk()
    disk.size = size
    folder = disk.open_root(str(tmp_path))
    read = read_regular_file(disk, folder, NAME, NAME, 4)
    content = content_of(disk, folder, NAME, 4)
    disk.release(folder)

    assert isinstance(read, Diagnostic)
    assert read.code is Code.FILE_TOO_LARGE
    assert not is_digest(content)


# --- The renames that Python does not have, on the real disk.


@pytest.fixture
def open_folder(tmp_path: Path) -> Iterator[int]:
    """An open folder with two files and an empty folder `d`."""
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    (tmp_path / "d").mkdir()
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def without_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that has no `renameat2`."""
    monkeypatch.setattr(rename_flags, "system_call", lambda: None)


def check_fails(code: int, function: object, *arguments: object) -> None:
    with pytest.raises(OSError, match=r".") as failed:
        function(*arguments)
    assert failed.value.errno == code


def test_exchange_swaps_two_files(tmp_path: Path, open_folder: int) -> None:
    try:
        FileSystem().exchange(open_folder, "a", "b")
    except OSError as error:
        pytest.skip(f"this system cannot exchange two files: {error}")

    assert (tmp_path / "a").read_bytes() + (tmp_path / "b").read_bytes() == b"ba"


def test_exchange_by_system_call_number_swaps_two_files(
    tmp_path: Path, open_folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For C libraries that do not know the function."""
    import ctypes

    number = rename_flags.CALL_NUMBERS.get(os.uname().machine)
    if number is None or rename_flags.system_call() is None:
        pytest.skip("no call number is known for this machine")
    real = ctypes.CDLL(None, use_errno=True)

    class Library:
        syscall = real.syscall

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Library)
    monkeypatch.setattr(rename_flags, "system_call", rename_flags.system_call.__wrapped__)
    FileSystem().exchange(open_folder, "a", "b")

    assert (tmp_path / "a").read_bytes() + (tmp_path / "b").read_bytes() == b"ba"
    check_fails(errno.ENOENT, FileSystem().exchange, open_folder, "a", "missing")


def test_exchange_where_the_system_has_none_is_refused(
    open_folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_flags(monkeypatch)

    check_fails(errno.ENOSYS, FileSystem().exchange, open_folder, "a", "b")


@pytest.mark.parametrize("has_flags", [True, False])
def test_rename_new_never_replaces(
    tmp_path: Path, open_folder: int, monkeypatch: pytest.MonkeyPatch, has_flags: bool
) -> None:
    if not has_flags:
        without_flags(monkeypatch)
    inner = os.open(tmp_path / "d", os.O_RDONLY)
    disk = FileSystem()
    disk.rename_new(open_folder, "a", inner, "c")
    check_fails(errno.EEXIST, disk.rename_new, open_folder, "b", inner, "c")
    os.close(inner)

    assert names_in(tmp_path) == ["b", "d"]
    assert (tmp_path / "d" / "c").read_bytes() == b"a"


def test_remove_directory_removes_only_an_empty_one(tmp_path: Path, open_folder: int) -> None:
    (tmp_path / "d" / "x").write_bytes(b"")
    check_fails(errno.ENOTEMPTY, FileSystem().remove_directory, open_folder, "d")
    (tmp_path / "d" / "x").unlink()
    FileSystem().remove_directory(open_folder, "d")

    assert names_in(tmp_path) == ["a", "b"]
