"""Full and failing disks of the real system: all files are old or all are new, and the reason is reported."""

import os
import resource
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Exit
from tests.crash.aftermath import (
    NEW,
    OLD,
    batch,
    digest,
    engine,
    history_problems,
    make,
    outcome,
    result_of,
    torn,
    unclean,
)
from tests.crash.commands import Commands, Ended
from tests.crash.mounts import bound, immutable, memory
from tests.crash.trial import APPLY, RECOVER
from tests.support.files import NOBODY, as_nobody, tree

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
BLOCK = 4096


def codes(ended: Ended) -> set[str]:
    """What was wrong."""
    return {problem["code"] for problem in ended.json["diagnostics"]}


def room(folder: Path) -> tuple[int, int]:
    """How many blocks and files there is room for."""
    status = os.statvfs(folder)
    return status.f_bavail, status.f_favail


def fill_blocks(disk: Path, left: int) -> None:
    """Leave this number of free blocks."""
    (disk / "filler").write_bytes(b"\0" * BLOCK * (room(disk)[0] - left))


def fill_names(disk: Path, left: int) -> None:
    """Leave room for this number of files."""
    (disk / "filler").mkdir()
    for number in range(room(disk)[1] - left):
        (disk / "filler" / str(number)).touch()


def empty(disk: Path) -> None:
    subprocess.run(["rm", "-rf", disk / "filler"], check=True)


@pytest.mark.parametrize("fill", [fill_blocks, fill_names])
def test_full_disk_fails_the_whole_commit(
    mdplan: Commands, tmp_path: Path, fill: Callable[[Path, int], None]
) -> None:
    """With room for nothing, then a little more each time, until all has room."""
    violations: list[str] = []
    left, applied = 0, False
    with memory(tmp_path / "disk", "size=2m,nr_inodes=200") as disk:
        while not applied:
            assert left < 60, violations
            folder = disk / str(left)
            folder.mkdir()
            make(folder)
            old = tree(folder)
            new = result_of(old)
            fill(disk, left)
            ended = mdplan.run(folder, *APPLY, stdin=batch())
            found = outcome(tree(folder), old, new)
            violations += (f"with {left} left: {problem}" for problem in torn(folder, old, new))
            applied = ended.code == Exit.DONE
            if found != (NEW if applied else OLD):
                violations.append(f"with {left} left all is {found}: {ended}")
            if not applied and codes(ended) != {Code.NO_SPACE}:
                violations.append(f"with {left} left the answer was {ended}")
            empty(disk)
            again = mdplan.run(folder, *RECOVER)
            if again.code != Exit.DONE or outcome(tree(folder), old, new) != found:
                violations.append(f"with {left} left, recovered: {again}")
            violations += (f"with {left} left: {problem}" for problem in unclean(folder))
            subprocess.run(["rm", "-rf", folder], check=True)
            left += 1
    assert left > 3
    assert violations == []


LINE = "All work and no play makes a long document.\n"
LONG = "# Long\n\n" + LINE * 3000
MORE = {"op": "append_to_section", "headingPath": ["Long"], "markdown": LINE * 100}


@contextmanager
def limited(process: int, most: int) -> Iterator[None]:
    """Limit each file that the process writes to this number of bytes."""
    resource.prlimit(process, resource.RLIMIT_FSIZE, (most, most))
    yield


@pytest.mark.parametrize("missing", [100_000, 4096, 1, 0])
def test_file_size_limit_fails_the_whole_commit(mdplan: Commands, tmp_path: Path, missing: int) -> None:
    make(tmp_path)
    (tmp_path / "long.md").write_text(LONG)
    old = tree(tmp_path)
    request = batch()
    request["files"].append({"file": "long.md", "baseSha256": digest(LONG.encode()), "edits": [MORE]})
    size = len(LONG + "\n" + LINE * 100)
    ended = mdplan.run(
        tmp_path, *APPLY, stdin=request, watch=lambda process: limited(process, size - missing)
    )

    if missing:
        assert (ended.code, codes(ended), tree(tmp_path)) == (Exit.ENVIRONMENT, {Code.NO_SPACE}, old)
    else:
        assert ended.code == Exit.DONE
        assert len(tree(tmp_path)["long.md"][1]) == size
    assert list(unclean(tmp_path)) == []


@contextmanager
def with_descriptors(process: int, most: int) -> Iterator[None]:
    """Limit the open files of the process."""
    resource.prlimit(process, resource.RLIMIT_NOFILE, (most, most))
    yield


def test_open_file_limit_fails_the_whole_commit(mdplan: Commands, tmp_path: Path) -> None:
    """With so few that nothing works, then one more each time, until all works."""
    violations: list[str] = []
    most, applied = 6, False
    while not applied:
        most += 1
        assert most < 100, violations
        folder = tmp_path / str(most)
        folder.mkdir()
        make(folder)
        old = tree(folder)

        def watch(process: int, most: int = most) -> AbstractContextManager[None]:
            return with_descriptors(process, most)

        ended = mdplan.run(folder, *APPLY, stdin=batch(), watch=watch)
        applied = ended.code == Exit.DONE
        again = mdplan.run(folder, *RECOVER)
        found = outcome(tree(folder), old, result_of(old))
        if again.code != Exit.DONE or found != (NEW if applied else OLD):
            violations.append(f"with {most} all is {found}: {ended}, {again}")
        violations += (f"with {most}: {problem}" for problem in unclean(folder))
    assert most > 10
    assert violations == []


def five(folder: Path) -> dict[str, object]:
    """Five files in five folders, and a batch that changes all of them."""
    files = []
    for number in range(5):
        text = f"# File {number}\n\nOld text.\n"
        path = folder / f"folder-{number}" / "file.md"
        path.parent.mkdir()
        path.write_text(text)
        edit = {"op": "replace_match", "pattern": "Old", "replacement": "New"}
        name = path.relative_to(folder).as_posix()
        files.append({"file": name, "baseSha256": digest(text.encode()), "edits": [edit]})
    return {"files": files}


def check_refused(mdplan: Commands, folder: Path, request: object, code: Code) -> None:
    """The batch is refused for that reason, and nothing has changed; no recovery is needed."""
    old = tree(folder)
    ended = mdplan.run(folder, *APPLY, stdin=request)

    assert codes(ended) == {code}, ended
    assert tree(folder) == old
    assert mdplan.run(folder, *RECOVER).code == Exit.DONE
    assert tree(folder) == old
    assert list(unclean(folder)) == []


@pytest.mark.parametrize("name", ["folder-2/file.md", "folder-2"])
def test_immutable_file_or_folder_fails_the_batch(mdplan: Commands, tmp_path: Path, name: str) -> None:
    """The third of five files is immutable; for a file, this is found after the first two are in place."""
    request = five(tmp_path)
    with immutable(tmp_path / name):
        check_refused(mdplan, tmp_path, request, Code.PERMISSION_DENIED)


def test_mount_point_as_target_fails_the_batch(mdplan: Commands, tmp_path: Path) -> None:
    """The third of five files."""
    request = five(tmp_path)
    with bound(tmp_path / "folder-2" / "file.md"):
        check_refused(mdplan, tmp_path, request, Code.TARGET_BUSY)


def test_read_only_disk_fails_the_batch(mdplan: Commands, tmp_path: Path) -> None:
    with memory(tmp_path / "disk", "size=2m") as disk:
        request = five(disk)
        assert mdplan.run(disk, *APPLY, stdin=request).code == Exit.DONE
        assert mdplan.run(disk, "undo", "--yes").code == Exit.DONE
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        old = tree(disk)
        ended = mdplan.run(disk, *APPLY, stdin=request)

        # To its user such a disk looks like another user's.
        assert codes(ended) <= {Code.READ_ONLY, Code.PERMISSION_DENIED}
        assert tree(disk) == old


def test_folder_of_another_user_fails_the_batch() -> None:
    """The third of five folders is another user's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        request = five(folder)
        for path in (folder, *folder.rglob("*")):
            if os.geteuid() == 0 and path.name != "folder-2":
                os.chown(path, NOBODY, NOBODY)
        old = tree(folder)
        with as_nobody(), engine(folder) as opened:
            report = opened.apply(request)

        assert {problem.code for problem in report.diagnostics} == {Code.PERMISSION_DENIED}
        assert tree(folder) == old
        assert list(unclean(folder)) == []


def test_batch_over_two_file_systems_is_one_transaction(mdplan: Commands, tmp_path: Path) -> None:
    """Before-images are copied from one to the other. If one of them is full, both stay unchanged."""
    make(tmp_path)
    (tmp_path / "docs").rename(tmp_path / "moved")
    with memory(tmp_path / "docs", "size=64k,mode=755") as disk:
        for path in (tmp_path / "moved").iterdir():
            subprocess.run(["cp", "-a", path, disk], check=True)
        subprocess.run(["rm", "-r", tmp_path / "moved"], check=True)
        old = tree(tmp_path)
        new = result_of(old)
        fill_blocks(disk, 0)
        full = mdplan.run(tmp_path, *APPLY, stdin=batch())
        assert codes(full) == {Code.NO_SPACE}
        empty(disk)
        assert tree(tmp_path) == old

        assert mdplan.run(tmp_path, *APPLY, stdin=batch()).code == Exit.DONE
        assert tree(tmp_path) == new
        assert mdplan.run(tmp_path, "undo", "--yes").code == Exit.DONE
        assert tree(tmp_path) == old
        assert list(unclean(tmp_path)) == []
        assert list(history_problems(tmp_path, {"docs/gone.md": 2})) == []
