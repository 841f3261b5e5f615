"""Ctrl-C while the program is still loading ends it quietly, with the code of an interrupt."""

import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("import mdplan.__main__", 130),
        ("import signal; signal.signal(2, signal.SIG_IGN); import mdplan.__main__", 0),
    ],
)
def test_interrupt_during_the_start_leaves_no_traceback(program: str, code: int) -> None:
    run = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport os; os.kill(os.getpid(), 2)"],
        cwd=REPOSITORY, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip

    assert run.returncode == code
    assert "Traceback" not in run.stderr
    assert ("interrupted" in run.stderr) == (code == 130)
