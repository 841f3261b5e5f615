"""A lock ends with the process that holds it; the lock file stays."""

import subprocess
import sys
from pathlib import Path

import pytest

from mdplan.diagnostics import Code
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.lock import locked
from mdplan.storage.root import Root
from tests.concurrency.crowd import REPOSITORY

HOLDER = """
import sys
from mdplan.storage.lock import locked
from mdplan.storage.root import Root
with locked(Root.open(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_lock_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    root = Root.open(tmp_path)
    command = [sys.executable, "-c", HOLDER, tmp_path]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StorageRefused) as refused, locked(root, timeout=0):
            pass
        holder.kill()
        holder.wait()
        assert (tmp_path / ".mdplan" / "lock").exists()
        with locked(root, timeout=0):
            pass
    root.close()

    assert [problem.code for problem in refused.value.problems] == [Code.LOCK_TIMEOUT]
