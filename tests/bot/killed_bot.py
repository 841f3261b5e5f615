"""A bot that is killed at every step: `killed_bot.py TEMPLATE FOLDER MANIFEST STRIDE`.

For n = 1, 1 + STRIDE, … a copy of the repository TEMPLATE is made as FOLDER/n; a process that commits to it
is killed with its processes of git just before its n-th start of git, until one comes to its end. Prints the
n of that one.
"""

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from tests.bot.repository import Repository

MOST = 200


def kill_before(step: int, folder: str) -> None:
    """Let this process be killed before its step of that number."""
    left = step

    def count() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.killpg(0, signal.SIGKILL)

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen" and folder in str(arguments):
            count()

    os.setpgid(0, 0)
    sys.addaudithook(hear)


def main(template: str, folder: str, manifest: str, stride: str) -> None:
    """Kill until there is nothing left to kill."""
    for step in range(1, MOST, int(stride)):
        copy = Path(folder) / str(step)
        shutil.copytree(template, copy)
        child = os.fork()
        if child == 0:
            kill_before(step, str(copy))
            os._exit(0 if Repository(copy).applied(Path(manifest), "main").applied else 1)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            sys.stdout.write(f"{step}\n")
            return
    raise AssertionError("it never ends")


if __name__ == "__main__":
    main(*sys.argv[1:5])
