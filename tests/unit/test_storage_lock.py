"""One writer per root, and a state folder that may be a trap."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mdplan.diagnostics import Code
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.lock import locked
from mdplan.storage.root import Root
from tests.disk import NOBODY, descriptors, names_in

HOLDER = """
import sys
from mdplan.storage.lock import locked
from mdplan.storage.root import Root
with locked(Root.open(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""

FORKED = """
import os, sys
from mdplan.storage.lock import locked
from mdplan.storage.root import Root
with locked(Root.open(sys.argv[1])):
    if os.fork() == 0:
        print("held", flush=True)
    sys.stdin.read()
"""


def check_refused(root: Root, code: Code, timeout: float = 5) -> None:
    """The lock of `root` is refused with `code`."""
    with pytest.raises(StorageRefused) as refused, locked(root, timeout):
        pass
    assert [problem.code for problem in refused.value.problems] == [code]


def test_state_folder_is_private_and_ignores_itself(tmp_path: Path) -> None:
    root = Root.open(tmp_path)
    for _ in range(2):
        with locked(root):
            assert names_in(tmp_path / ".mdplan") == [".gitignore", "lock"]

    assert (tmp_path / ".mdplan").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / ".mdplan" / ".gitignore").read_bytes() == b"*\n"


@pytest.mark.requirement("commit-5")
def test_second_thread_waits_and_then_gives_up(tmp_path: Path) -> None:
    root, same = Root.open(tmp_path), Root.open(tmp_path)
    with locked(root):
        thread = threading.Thread(target=check_refused, args=(same, Code.LOCK_TIMEOUT, 0.05))
        thread.start()
        thread.join()

    with locked(same, timeout=0):
        pass


def check_freed_by_a_kill(program: str, folder: Path, timeout: float) -> None:
    """`program` holds the lock of `folder` until it is killed; `timeout` seconds behind that it is free."""
    with subprocess.Popen(
        [sys.executable, "-c", program, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        check_refused(Root.open(folder), Code.LOCK_TIMEOUT, timeout=0.05)
        holder.kill()
        holder.wait()
        with locked(Root.open(folder), timeout):
            pass


@pytest.mark.requirement("commit-5")
def test_other_process_waits_and_then_gives_up(tmp_path: Path) -> None:
    """Until the holder dies, however it dies."""
    check_freed_by_a_kill(HOLDER, tmp_path, timeout=5)


def test_forked_process_does_not_share_the_lock(tmp_path: Path) -> None:
    """It reads on when its parent is killed."""
    check_freed_by_a_kill(FORKED, tmp_path, timeout=5)


def test_lock_timeout_names_the_holder(tmp_path: Path) -> None:
    root = Root.open(tmp_path)
    with locked(root):
        hint = check_refused_in_thread(Root.open(tmp_path))

    assert f"process {os.getpid()} on `{os.uname().nodename}`" in hint


@pytest.mark.parametrize(
    "written",
    [b"", b"1 host", b"1 \x1b[2Jhost\n", b"-1 host\n", b"1 a b\n", b"9" * 11 + b" h\n", b"1 h\n" * 99],
)
def test_lock_holder_text_is_not_repeated(tmp_path: Path, written: bytes) -> None:
    """What stands in the state folder may be anybody's."""
    root = Root.open(tmp_path)
    with locked(root):
        (tmp_path / ".mdplan" / "lock").write_bytes(written)
        hint = check_refused_in_thread(Root.open(tmp_path))

    assert "process" not in hint


def test_hard_linked_lock_file_is_refused_and_not_written(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"untouched")
    (tmp_path / ".mdplan").mkdir(mode=0o700)
    (tmp_path / ".mdplan" / "lock").hardlink_to(tmp_path / "elsewhere")

    check_refused(Root.open(tmp_path), Code.STATE_DIR_UNSAFE)
    assert (tmp_path / "elsewhere").read_bytes() == b"untouched"


def test_folder_instead_of_the_lock_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".mdplan" / "lock").mkdir(parents=True)
    (tmp_path / ".mdplan").chmod(0o700)

    check_refused(Root.open(tmp_path), Code.STATE_DIR_UNSAFE)


def test_earlier_lock_holder_name_is_overwritten_completely(tmp_path: Path) -> None:
    (tmp_path / ".mdplan").mkdir(mode=0o700)
    (tmp_path / ".mdplan" / "lock").write_bytes(b"1 " + b"h" * 99 + b"\n")
    with locked(Root.open(tmp_path)):
        hint = check_refused_in_thread(Root.open(tmp_path))

    assert f"process {os.getpid()} on `{os.uname().nodename}`" in hint


def check_refused_in_thread(root: Root) -> str:
    """The hint that another thread gets."""
    hints: list[str] = []

    def wait() -> None:
        with pytest.raises(StorageRefused) as refused, locked(root, 0.05):
            pass
        assert [problem.code for problem in refused.value.problems] == [Code.LOCK_TIMEOUT]
        hints.append(refused.value.problems[0].hint)

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join()
    return hints[0]


def test_exception_propagates_and_releases_the_lock(tmp_path: Path) -> None:
    root = Root.open(tmp_path)
    before = descriptors()
    with pytest.raises(OSError, match="from the block"), locked(root):
        raise OSError("from the block")

    assert descriptors() == before
    with locked(root, timeout=0):
        pass


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_state_folder_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / ".mdplan").mkdir()
    (tmp_path / ".mdplan").chmod(mode)

    check_refused(Root.open(tmp_path), Code.STATE_DIR_UNSAFE)
    assert names_in(tmp_path / ".mdplan") == []


def test_state_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a folder away")
    (tmp_path / ".mdplan").mkdir(mode=0o700)
    os.chown(tmp_path / ".mdplan", NOBODY, NOBODY)

    check_refused(Root.open(tmp_path), Code.STATE_DIR_UNSAFE)


def test_file_system_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No lock that outlives its holder takes the place of a real one."""
    import fcntl

    def no_locks(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    check_refused(Root.open(tmp_path), Code.LOCK_UNSUPPORTED)


def test_root_that_was_replaced_is_refused(tmp_path: Path) -> None:
    """Its files are reached by a descriptor, its lock by a path: they would not be the same folder."""
    (tmp_path / "root").mkdir()
    root = Root.open(tmp_path / "root")
    (tmp_path / "root").rename(tmp_path / "old")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / ".mdplan").mkdir()

    check_refused(root, Code.IO_ERROR)
