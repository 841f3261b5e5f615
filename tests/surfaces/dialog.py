"""`mdplan` in a terminal, which a test reads and types into."""

import errno
import os
import pty
import select
import subprocess
import sys
import time

from tests.conftest import REPOSITORY


class Dialog:
    """`mdplan` in a separate terminal."""

    def __init__(self, *arguments: str, **variables: str) -> None:
        self.parent, child = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mdplan", *arguments],
            stdin=child, stdout=child, stderr=child,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), "NO_COLOR": "1", **variables},
        )  # fmt: skip
        os.close(child)
        self.seen = ""

    def expect(self, text: str) -> None:
        """Read until `text` was shown."""
        deadline = time.monotonic() + 30
        at = len(self.seen)
        while text not in self.seen[at:]:
            assert select.select([self.parent], [], [], max(0, deadline - time.monotonic()))[0], self.seen
            assert self._read() or text in self.seen[at:], self.seen

    def type(self, line: str) -> None:
        os.write(self.parent, line.encode() + b"\n")

    def end(self) -> int:
        """Read to the end; the exit code."""
        while self._read():
            pass
        os.close(self.parent)
        return self.process.wait(30)

    def _read(self) -> bool:
        try:
            data = os.read(self.parent, 4096)
        except OSError as error:
            # Linux says so when the other side is closed.
            if error.errno != errno.EIO:
                raise
            return False
        self.seen += data.decode().replace("\r\n", "\n")
        return bool(data)
