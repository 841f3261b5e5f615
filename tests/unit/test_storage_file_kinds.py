"""What is in place of a file, as `Root` sees it; hostile/test_file_kinds.py shows it for every verb."""

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Diagnostic
from mdplan.engine.engine import Engine
from mdplan.storage.files import FileBytes
from mdplan.storage.names import FileName
from mdplan.storage.root import Root
from tests.disk import NOBODY, as_nobody, descriptors

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


@pytest.mark.parametrize(
    ("target", "hint"),
    [
        pytest.param("real/b.md", "name `real/b.md` instead", id="inside"),
        pytest.param("./real/../real/b.md", "name `real/b.md` instead", id="inside-with-dots"),
        pytest.param("{root}/real/b.md", "name `real/b.md` instead", id="inside-absolute"),
        pytest.param("../outside.md", "points to nothing inside", id="outside"),
        pytest.param("/etc/passwd", "points to nothing inside", id="outside-absolute"),
        pytest.param("none.md", "name `none.md` instead", id="dangling"),
        pytest.param(".git/config", "points to nothing inside", id="into-git"),
    ],
)
def test_link_is_refused(tmp_path: Path, target: str, hint: str) -> None:
    root = tmp_path / "root"
    (root / "real").mkdir(parents=True)
    (root / "real" / "b.md").write_bytes(b"b")
    (tmp_path / "outside.md").write_bytes(b"secret")
    (root / "a.md").symlink_to(target.format(root=root))

    check(root, "a.md", Code.SYMLINK_REFUSED, hint)


@pytest.mark.parametrize(
    ("target", "hint"),
    [
        pytest.param("real", "name `real/sub/b.md` instead", id="inside"),
        pytest.param("../outside", "points to nothing inside", id="outside"),
    ],
)
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


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("readme.md", "`README.md`"),
        ("docs/guid.md", "`docs/guide.md`"),
        ("doc/guide.md", "`docs`"),
        ("zzz", 'md_stat {"file": "."} lists'),
        ("docs/zzz", 'md_stat {"file": "docs"} lists'),
    ],
)
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
