"""Clocks do not decide anything: hashes do."""

import os
from pathlib import Path

import pytest

from mdplan.diagnostics import Code
from mdplan.storage.filesystem import FileSystem, StorageRefused
from tests.support.commits import change, commit, states_of

CHANGE = change("a.md", b"old text", b"new text")


class StoppedClock(FileSystem):
    """A disk whose files look the same for ever: whoever trusts their times and sizes sees no change."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[str, os.stat_result] = {}

    def status_of(self, directory: int, name: str) -> os.stat_result:
        return self._seen.setdefault(name, super().status_of(directory, name))


@pytest.mark.parametrize("moment", [0, 10**18, 4 * 10**18])
def test_clock_jumps_do_not_change_the_outcome(tmp_path: Path, moment: int) -> None:
    """Also while a commit is going on."""
    file = tmp_path / "a.md"
    file.write_bytes(b"old text")
    os.utime(file, ns=(moment, moment))
    commit(tmp_path, CHANGE, between=lambda: os.utime(file, ns=(10**17, 10**17)))

    assert file.read_bytes() == b"new text"


def test_write_with_unchanged_mtime_is_detected_when_displaced(tmp_path: Path) -> None:
    """Two writes in one tick of the clock look like one."""
    file = tmp_path / "a.md"
    file.write_bytes(b"old text")
    disk = StoppedClock()

    def write() -> None:
        file.write_bytes(b"own text")

    with pytest.raises(StorageRefused) as refused:
        commit(tmp_path, CHANGE, disk=disk, between=write)

    assert [problem.code for problem in refused.value.problems] == [Code.CONFLICT_LATE_WRITE]
    assert file.read_bytes() == b"own text"
    assert "pending" not in states_of(tmp_path)
