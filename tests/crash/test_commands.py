"""The watcher of a command is attached before the command starts its work."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.crash.commands import Commands


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to look at another process")
def test_watched_command_opens_its_files_before_it_waits(mdplan: Commands, tmp_path: Path) -> None:
    """Else its opening would count as one of the command's, and could be made to fail."""
    seen: list[set[str]] = []

    @contextmanager
    def watch(process: int) -> Iterator[None]:
        opened = Path("/proc", str(process), "fd")
        seen.append({each.readlink().name for each in opened.iterdir()})
        yield

    for _ in range(5):
        assert mdplan.run(tmp_path, "doctor", watch=watch).code == 0

    assert all({"go"} <= names and "pid" not in names for names in seen), seen
