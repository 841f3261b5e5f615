"""Files that are read while another program writes them."""

import hashlib
import os
from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.files import KnownContent, content_of, is_digest, read_regular_file
from mdplan.storage.filesystem import FileSystem

NAME = "a.md"
# More than is read at once.
LARGE = os.urandom((1 << 20) + 7)
# What is read at once is the same each time.
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


@pytest.mark.parametrize("data", [b"", b"1", b"12345", LARGE, LARGE * 2, REPEATED])
@pytest.mark.parametrize("size", [None, 0, 1, 4, 5, 6, len(LARGE), 2 * len(LARGE)])
def test_content_hash_is_right_whatever_content_is_expected(
    tmp_path: Path, data: bytes, size: int | None
) -> None:
    (tmp_path / NAME).write_bytes(data)
    disk = LateDisk()
    disk.size = len(data) if size is None else size
    folder = disk.open_root(str(tmp_path))
    for held in {data, data[:-1] + b"x", b"x" + data[1:], data + b"x", data[:-1], data[: disk.size]}:
        known = KnownContent(held, hashlib.sha256(held).hexdigest())

        assert content_of(disk, folder, NAME, len(data), known) == hashlib.sha256(data).hexdigest()
    disk.release(folder)


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
