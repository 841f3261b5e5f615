"""A running command under `strace`: its system calls counted, and made to fail or to be its last."""

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

# Two files cannot change places, and nothing can be renamed without replacing.
NO_FLAGS = "inject=renameat2:error=EINVAL"
_CALL = re.compile(r"^(\w+)\(", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to the `nth` (from 1) call of `name`, and with `onward` to all after it.

    Without an `error` (its name) the process is killed before the call. `beside` is what happens always.
    """

    name: str
    nth: int
    error: str | None = None
    onward: bool = False
    beside: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.error or 'killed'} at {self.name} {self.nth}{' and onward' * self.onward}"

    def __call__(self, process: int) -> AbstractContextManager[None]:
        """A block in which it happens to a process that waits for `Commands.run`."""
        what = f"error={self.error}" if self.error else "signal=KILL"
        inject = f"inject={self.name}:{what}:when={self.nth}{'+' * self.onward}"
        return _traced(process, (_traced_calls((self.name,)), *self.beside, inject), Path(os.devnull))


@dataclass(frozen=True, slots=True)
class Count:
    """How often a process calls each of `names`, written to `log`."""

    names: tuple[str, ...]
    log: Path
    beside: tuple[str, ...] = ()

    def __call__(self, process: int) -> AbstractContextManager[None]:
        """A block in which it is counted."""
        return _traced(process, (_traced_calls(self.names), *self.beside), self.log)

    def read(self) -> dict[str, int]:
        """The calls that were made at all, and how often."""
        counts = Counter(_CALL.findall(self.log.read_text()))
        return {name: counts[name] for name in self.names if counts[name]}


def needs_strace() -> None:
    """Skip, with the reason, if strace is missing or must not trace another process."""
    if shutil.which("strace") is None:
        pytest.skip("needs strace (on Debian: apt-get install strace)")
    with subprocess.Popen(["sleep", "60"]) as sleeping:
        command = ["timeout", "5", "strace", "-o", os.devnull, "-p", str(sleeping.pid)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
            assert strace.stderr is not None
            said = strace.stderr.readline()
            sleeping.kill()
    if "attached" not in said:
        pytest.skip(f"strace may not look at another process: {said}")


def _traced_calls(names: tuple[str, ...]) -> str:
    """Return the calls to trace, which include those to tamper with."""
    return f"trace={','.join((*names, 'renameat2'))}"


@contextmanager
def _traced(process: int, options: tuple[str, ...], log: Path) -> Iterator[None]:
    command = ["strace", "-o", str(log), *(word for option in options for word in ("-e", option))]
    with subprocess.Popen([*command, "-p", str(process)], stderr=subprocess.PIPE, text=True) as strace:
        assert strace.stderr is not None
        said = strace.stderr.readline()
        assert "attached" in said, said
        yield
        strace.stderr.read()
