"""File systems and flags for a test, gone afterwards. Where this user may not make them, it is skipped."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest


def mounted(what: str | Path, where: Path, *options: str) -> AbstractContextManager[Path]:
    """Mount it there, with the options of `mount`."""
    where.mkdir(exist_ok=True)
    return _while(["mount", *options, str(what)], ["umount"], where)


def memory(where: Path, options: str) -> AbstractContextManager[Path]:
    """A file system in memory with these limits."""
    return mounted("tmpfs", where, "-t", "tmpfs", "-o", options)


def image(kind: str, file: Path) -> None:
    """Make a disk with this kind of file system, in a file."""
    megabytes, *command = {"ext4": (32, "mkfs.ext4", "-q"), "xfs": (320, "mkfs.xfs", "-q")}[kind]
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    with file.open("wb") as made:
        made.truncate(megabytes << 20)
    subprocess.run([*command, file], check=True)


def disk_in(file: Path, where: Path, kind: str) -> AbstractContextManager[Path]:
    """Mount such a disk."""
    # Two copies of one disk have one name, at which xfs takes offence.
    return mounted(str(file), where, "-o", "loop" + ",nouuid" * (kind == "xfs"))


def bound(file: Path, where: Path | None = None) -> AbstractContextManager[Path]:
    """Mount the file or folder at `where`, or on itself, as containers do with single files."""
    return _while(["mount", "--bind", str(file)], ["umount"], where or file)


def immutable(path: Path) -> AbstractContextManager[Path]:
    """Forbid changes of the files and of the names in a folder."""
    return _while(["chattr", "+i"], ["chattr", "-i"], path)


@contextmanager
def _while(make: Sequence[str], unmake: Sequence[str], where: Path) -> Iterator[Path]:
    try:
        made = subprocess.run([*make, where], check=False, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip(f"needs {make[0]}")
    if made.returncode:
        pytest.skip(f"{make[0]} does not work here: {made.stderr.strip()}")
    try:
        yield where
    finally:
        subprocess.run([*unmake, where], check=True)
