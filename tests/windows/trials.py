# ruff: noqa: T201 - People read what it prints.
"""Trials of commits on Windows or Wine, in processes of their own. Run with Python for Windows: `trials.py`.

Each trial prints what it counted; the exit code tells if anything was mixed, lost or left the root.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from mdplan.diagnostics import Code, Diagnostic
from mdplan.documents.workspace import Workspace
from mdplan.storage.filesystem import FAILPOINT_VARIABLE, Step, StorageRefused
from mdplan.storage.local import local_disk
from mdplan.storage.store import close_idle
from tests.support.commits import change, commit, creation, deletion, recovered

assert sys.platform == "win32"

NAMES = ("a.md", "b.md", "d/c.md")
FILES = (
    *(change(name, b"old " + name.encode(), b"new " + name.encode()) for name in NAMES),
    creation("n/m/new.md", b"created"),
    deletion("d/gone.md", b"gone"),
)
OLD = {**{name: b"old " + name.encode() for name in NAMES}, "d/gone.md": b"gone"}
NEW = {**{name: b"new " + name.encode() for name in NAMES}, "n/m/new.md": b"created"}
CHANGES = (
    *(Step.MAKE_DIRECTORY, Step.CREATE, Step.WRITE, Step.SYNC, Step.RENAME, Step.RENAME_NEW, Step.UNLINK),
    *(Step.SYNC_DIRECTORY, Step.STORE_BEGIN, Step.STORE_COMMIT, Step.STORE_DONE),
)
# Paths that must not lead out of a root, and other spellings of `Docs/page.md`, which is in it.
OUTSIDE = (
    *(
        "..\\secret.md",
        "../secret.md",
        "docs/../../secret.md",
        "C:secret.md",
        "C:\\secret.md",
        "C:/secret.md",
    ),
    *("\\\\?\\C:\\secret.md", "//?/C:/secret.md", "\\\\server\\share\\a.md", "//server/share/a.md"),
    *("//./pipe/a", "\\secret.md", "/secret.md", "CON", "aux.md", "nul", "com1.md", "LPT\u00b9", "CONIN$"),
)
SPELLINGS = (
    *("docs/page.md", "DOCS/PAGE.MD", "Docs/Page.md", "Docs/page.md.", "Docs/page.md ", "Docs./page.md"),
    *("Docs/page.md::$DATA", "Docs/page.md:stream", "Docs\\page.md", "Docs/PAGE~1.MD", "DOCS~1/page.md"),
)
SECONDS_HELD = 3.0
ROUNDS = 15


def main() -> int:
    """Run all trials, or the part of a child process."""
    if sys.argv[1:2] == ["commit"]:
        commit(Path(sys.argv[2]), *FILES)
        return 0
    if sys.argv[1:2] == ["count"]:
        _count_up(Path(sys.argv[2]))
        return 0
    failed = 0
    trials = (held_file, strange_paths, two_processes, kills)
    for trial in [trial for trial in trials if sys.argv[1:] in ([], [trial.__name__])]:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            os.environ["MDPLAN_STATE_DIR"] = str(Path(folder, "state"))
            problems = trial(Path(folder))
            close_idle()
        print(f"{trial.__name__}: {len(problems)} problems, {time.monotonic() - began:.0f} s", flush=True)
        for problem in problems:
            print(f"  {problem}")
        failed += len(problems)
    return 1 if failed else 0


def kills(parent: Path) -> list[str]:
    """Kill a commit of five files before each of its changes, and recover: all old or all new."""
    problems: list[str] = []
    outcomes = Counter[str]()
    for step, nth in _points(parent):
        folder = parent / f"{step}-{nth}"
        _make(folder)
        done = _child("commit", folder, f"{step}:{nth}")
        if done == 0:
            problems.append(f"{step}:{nth}: the commit was not killed")
        recovered(folder)
        left = _contents(folder)
        outcome = "old" if left == OLD else "new" if left == NEW else "mixed"
        outcomes[outcome] += 1
        print(f"  {step}:{nth}: {outcome}", flush=True)
        if outcome == "mixed":
            problems.append(f"{step}:{nth}: {sorted(left)}")
        commit(folder, change("other.md", b"other", b"changed"))
    print(f"  killed at {sum(outcomes.values())} points: {dict(outcomes)}")
    return problems


def two_processes(parent: Path) -> list[str]:
    """Two processes count up in the same file: no step is lost."""
    folder = parent / "root"
    folder.mkdir()
    (folder / "count.md").write_bytes(b"0")
    running = [_start("count", folder) for _ in range(2)]
    codes = [process.wait() for process in running]
    counted = int((folder / "count.md").read_bytes())
    print(f"  counted to {counted} in two processes")
    return [] if codes == [0, 0] and counted == 2 * ROUNDS else [f"exit codes {codes}, counted to {counted}"]


def held_file(parent: Path) -> list[str]:
    """A program holds one of five files open without sharing it: a clear refusal, and nothing is done."""
    from mdplan.storage import windows

    folder = parent / "root"
    _make(folder)
    handle = windows._create_file(  # noqa: SLF001 - No function of Python opens a file like that.
        windows.native(str(folder / "b.md")), 0x80000000, 1, None, 3, 0, None
    )
    try:
        commit(folder, *FILES)
    except StorageRefused as refused:
        seen = refused.problems[0]
    else:
        return ["the commit was not refused"]
    finally:
        windows._close_handle(handle)  # noqa: SLF001 - As above.
    print(f"  {seen.code}: {seen.message}; {seen.hint}")
    problems = [] if seen.code is Code.TARGET_BUSY else [f"{seen.code}: {seen.message}"]
    return [*problems, *([] if _contents(folder) == OLD else ["files changed"])]


def strange_paths(parent: Path) -> list[str]:
    """No strange path leads out of a root, nor to a file under a second spelling."""
    root = parent / "root"
    (root / "Docs").mkdir(parents=True)
    (root / "Docs" / "page.md").write_bytes(b"inside")
    (parent / "secret.md").write_bytes(b"outside")
    problems: list[str] = []
    refusals = Counter[str]()
    with closing(Workspace.open([root], deny=["Docs/"])) as workspace:
        for path in (*OUTSIDE, *SPELLINGS):
            name = workspace.locate(path)
            found = name if isinstance(name, Diagnostic) else workspace.read(name, 100)
            if not isinstance(found, Diagnostic):
                problems.append(f"`{path}` was read: {found.data!r}")
            else:
                refusals[found.code.value] += 1
    print(f"  {sum(refusals.values())} paths refused: {dict(refusals)}")
    return problems


def _points(parent: Path) -> Iterator[tuple[Step, int]]:
    """Yield the changes of a commit, as a disk counts them that notes its steps."""
    folder = parent / "counted"
    _make(folder)
    disk = local_disk()
    reached = Counter[Step]()
    disk.before = lambda step: reached.update([step])  # type: ignore[method-assign]
    commit(folder, *FILES, disk=disk)
    for step in CHANGES:
        # The last are many, and leave nothing to recover.
        yield from ((step, nth) for nth in range(1, reached[step] + 1))


def _count_up(folder: Path) -> None:
    done = 0
    while done < ROUNDS:
        before = (folder / "count.md").read_bytes()
        try:
            commit(folder, change("count.md", before, b"%d" % (int(before) + 1)))
            done += 1
        except StorageRefused as refused:
            if refused.problems[0].code not in (Code.STALE_BASE, Code.TARGET_BUSY):
                raise


def _make(folder: Path) -> None:
    for name, content in {**OLD, "other.md": b"other"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _contents(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != "other.md")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _start(part: str, folder: Path, failpoint: str = "") -> subprocess.Popen[bytes]:
    environment = {**os.environ, FAILPOINT_VARIABLE: failpoint}
    # The bench starts programs by a script of its own.
    launcher = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv)]
    start = [sys.executable, *launcher, str(Path(__file__)), part, str(folder)]
    return subprocess.Popen(start, env=environment, stderr=subprocess.DEVNULL)


def _child(part: str, folder: Path, failpoint: str) -> int:
    return _start(part, folder, failpoint).wait()


if __name__ == "__main__":
    sys.exit(main())
