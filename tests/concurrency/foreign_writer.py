"""A program that ignores the lock and replaces a file again and again: each time with its next version.

`python -m tests.concurrency.foreign_writer FILE SHARED`; it is paused and stopped through the file SHARED. It
writes at the worst of moments: it lies in wait until a commit has begun to write beside its file.
"""

import mmap
import random
import sys
import time
from pathlib import Path

RUN, PAUSE, STOP = 0, 1, 2


class Shared:
    """Three numbers in a file mapped by two processes; only one of the processes writes each number."""

    def __init__(self, file: Path) -> None:
        if not file.exists():
            file.write_bytes(bytes(24))
        with file.open("r+b") as opened:
            self._numbers = memoryview(mmap.mmap(opened.fileno(), 24)).cast("Q")

    @property
    def wish(self) -> int:
        """What the other process wants of the writer."""
        return self._numbers[0]

    @wish.setter
    def wish(self, wish: int) -> None:
        self._numbers[0] = wish

    @property
    def version(self) -> int:
        """The newest version that is in place, as far as the writer has to do with it."""
        return self._numbers[1]

    @version.setter
    def version(self, version: int) -> None:
        self._numbers[1] = version

    @property
    def heard(self) -> int:
        """The wish that the writer obeys now."""
        return self._numbers[2]

    @heard.setter
    def heard(self, heard: int) -> None:
        self._numbers[2] = heard


def content(version: int) -> str:
    return f"# Version {version}\n\nTheir text.\n"


def version_of(text: str) -> int:
    """The version from which `text` was made."""
    return int(text.partition("\n")[0].removeprefix("# Version "))


def main(file: Path, shared: Shared) -> None:
    draw = random.Random(1)
    left = 1
    while shared.wish != STOP:
        shared.heard = shared.wish
        if shared.heard == PAUSE:
            time.sleep(0.0001)
        elif left:
            write(file, shared)
            left -= 1
        elif any(path.name.startswith(".mdplan-") for path in file.parent.iterdir()):
            for _ in range(draw.randrange(20_000)):
                pass
            left = draw.randint(1, 4)


def write(file: Path, shared: Shared) -> None:
    """Put the next version in place."""
    version = shared.version + 1
    temporary = file.with_name("theirs.tmp")
    temporary.write_text(content(version))
    temporary.replace(file)
    shared.version = version


if __name__ == "__main__":
    main(Path(sys.argv[1]), Shared(Path(sys.argv[2])))
