"""The renames that Python does not have, on the real disk."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdplan.storage import filesystem as rename_flags
from mdplan.storage.filesystem import FileSystem
from tests.disk import names_in


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
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


def test_exchange_swaps_two_files(tmp_path: Path, folder: int) -> None:
    try:
        FileSystem().exchange(folder, "a", "b")
    except OSError as error:
        pytest.skip(f"this system cannot exchange two files: {error}")

    assert (tmp_path / "a").read_bytes() + (tmp_path / "b").read_bytes() == b"ba"


def test_exchange_by_system_call_number_swaps_two_files(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch
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
    FileSystem().exchange(folder, "a", "b")

    assert (tmp_path / "a").read_bytes() + (tmp_path / "b").read_bytes() == b"ba"
    check_fails(errno.ENOENT, FileSystem().exchange, folder, "a", "missing")


def test_exchange_where_the_system_has_none_is_refused(folder: int, monkeypatch: pytest.MonkeyPatch) -> None:
    without_flags(monkeypatch)

    check_fails(errno.ENOSYS, FileSystem().exchange, folder, "a", "b")


@pytest.mark.parametrize("has_flags", [True, False])
def test_rename_new_never_replaces(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch, has_flags: bool
) -> None:
    if not has_flags:
        without_flags(monkeypatch)
    inner = os.open(tmp_path / "d", os.O_RDONLY)
    disk = FileSystem()
    disk.rename_new(folder, "a", inner, "c")
    check_fails(errno.EEXIST, disk.rename_new, folder, "b", inner, "c")
    os.close(inner)

    assert names_in(tmp_path) == ["b", "d"]
    assert (tmp_path / "d" / "c").read_bytes() == b"a"


def test_move_replaces_in_another_folder(tmp_path: Path, folder: int) -> None:
    (tmp_path / "d" / "b").write_bytes(b"old")
    inner = os.open(tmp_path / "d", os.O_RDONLY)
    FileSystem().move(folder, "b", inner, "b")
    os.close(inner)

    assert names_in(tmp_path) == ["a", "d"]
    assert (tmp_path / "d" / "b").read_bytes() == b"b"


def test_remove_directory_removes_only_an_empty_one(tmp_path: Path, folder: int) -> None:
    (tmp_path / "d" / "x").write_bytes(b"")
    check_fails(errno.ENOTEMPTY, FileSystem().remove_directory, folder, "d")
    (tmp_path / "d" / "x").unlink()
    FileSystem().remove_directory(folder, "d")

    assert names_in(tmp_path) == ["a", "b"]
