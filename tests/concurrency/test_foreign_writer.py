"""A program that ignores the lock and writes during commits (case 56): it is never overwritten unnoticed."""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from tests.concurrency.attempts import digest
from tests.concurrency.crowd import REPOSITORY
from tests.concurrency.foreign_writer import PAUSE, RUN, STOP, Shared, content, version_of
from tests.concurrency.worker import open_engine
from tests.crash.aftermath import in_memory, unclean
from tests.crash.tally import Tally

# The file of the other program is the last of them, so that its turn comes late in a commit.
NAMES = (*(f"ours-{number}.md" for number in range(6)), "theirs.md")
ANSWERS = frozenset({None, Code.STALE_BASE, Code.CONFLICT_LATE_WRITE})


@contextmanager
def writing(file: Path, shared: Shared, name: Path) -> Iterator[None]:
    """The other program, writing."""
    command = [sys.executable, "-m", "tests.concurrency.foreign_writer", file, name]
    with subprocess.Popen(command, cwd=REPOSITORY) as writer:
        while shared.version == 0:
            assert writer.poll() is None
        try:
            yield
        finally:
            shared.wish = STOP


@contextmanager
def paused(shared: Shared) -> Iterator[None]:
    """While the other program waits."""
    shared.wish = PAUSE
    while shared.heard != PAUSE:
        time.sleep(0)
    yield
    shared.wish = RUN


def attempt(engine: Engine, folder: Path, number: int) -> Code | None:
    """Put a line into all files, as they are now; what refused it."""
    files = []
    for name in NAMES:
        text = (folder / name).read_text()
        place = {"op": "insert_lines", "line": 1, "position": "after", "markdown": f"ours {number}"}
        files.append({"file": name, "baseSha256": digest(text), "edits": [place]})
    report = engine.apply({"files": files})
    return None if report.ok else report.diagnostics[0].code


def problems(folder: Path, shared: Shared, applied: list[int]) -> Iterator[str]:
    """What is wrong while the other program waits."""
    found = version_of((folder / NAMES[-1]).read_text())
    if found != shared.version:
        yield f"version {shared.version} was overwritten: {found} is there"
    lines = [f"ours {number}" for number in reversed(applied)]
    for name in NAMES[:-1]:
        if (folder / name).read_text().split("\n")[1 : len(lines) + 1] != lines:
            yield f"{name} is not as {len(applied)} commits have left it"
    yield from unclean(folder)


# At most so many attempts, and no more when so many late writes were met and so many commits went well.
@pytest.mark.parametrize(
    ("most", "late", "done"),
    [(150, 3, 3), pytest.param(2000, 50, 50, marks=[pytest.mark.slow, pytest.mark.timeout(900)])],
)
def test_newest_foreign_version_is_in_place_after_every_commit(
    most: int, late: int, done: int, tally: Tally
) -> None:
    met: Counter[Code | None] = Counter()
    violations: list[str] = []
    applied: list[int] = []
    with in_memory() as parent:
        folder = parent / "root"
        folder.mkdir()
        for name in NAMES:
            (folder / name).write_text(content(0))
        shared = Shared(parent / "shared")
        engine = open_engine(str(folder))
        with engine.workspace, writing(folder / NAMES[-1], shared, parent / "shared"):
            for number in range(most):
                code = attempt(engine, folder, number)
                met[code] += 1
                applied += [number] if code is None else []
                with paused(shared):
                    violations += problems(folder, shared, applied)
                if met[Code.CONFLICT_LATE_WRITE] >= late and met[None] >= done:
                    break
    tally("foreign writes against commits", states=met.total(), violations=len(violations))
    assert violations == []
    assert set(met) <= ANSWERS
    assert met[None] + met[Code.CONFLICT_LATE_WRITE]
