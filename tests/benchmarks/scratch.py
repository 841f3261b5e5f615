"""Folders to measure in."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BUILD = Path(__file__).resolve().parents[2] / "build"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder that is gone afterwards, and a state folder beside it.

    It is in the repository, because a folder for temporary files may be in memory, where syncs cost nothing.
    """
    before = os.environ.get("MDPLAN_STATE_DIR")
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=BUILD) as name:
        os.environ["MDPLAN_STATE_DIR"] = str(Path(name) / "state")
        folder = Path(name) / "root"
        folder.mkdir()
        try:
            yield folder
        finally:
            if before is None:
                del os.environ["MDPLAN_STATE_DIR"]
            else:
                os.environ["MDPLAN_STATE_DIR"] = before


def file_system() -> str:
    """Return the kind of file system of the benchmark, if the system reports it."""
    try:
        mounts = Path("/proc/mounts").read_text(encoding="utf-8")
    except OSError:
        return "unknown"
    kinds = {Path(fields[1]): fields[2] for fields in map(str.split, mounts.split("\n")[:-1])}
    return next((kinds[folder] for folder in BUILD.resolve().parents if folder in kinds), "unknown")
