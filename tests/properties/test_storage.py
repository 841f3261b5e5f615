"""Laws of the storage: no text names a file outside, and racing writers lose nothing."""

import concurrent.futures
import multiprocessing
import posixpath
import threading
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.diagnostics import Code, Diagnostic
from mdplan.documents.workspace import Workspace
from mdplan.storage.files import FileBytes, FileName
from mdplan.storage.filesystem import Durability, StorageRefused
from mdplan.storage.names import canonical_path
from mdplan.storage.root import Root
from mdplan.text.visible import visible
from tests.properties.strategies import characters
from tests.support.commits import change, commit

PIECES = ("..", ".", "/", "//", "a", "b.md", "\\", ":", "~", "\0", " ", ".git", ".mdplan", "con")
ODD_PIECES = ("\u202e", "\u200b", "\u2028", "\x1b[0m", "\udc80", "é", "e\u0301")
mixed = st.lists(st.sampled_from(PIECES + ODD_PIECES), max_size=8).map("".join)
any_text = characters("/\\.:~\0 \x1b\u202e\u200b\u2028\udc80\u00e9\u0301", codec=None)
paths = mixed | st.text(any_text, max_size=40)


def is_safe(text: str) -> bool:
    """Return True if `text` is valid Unicode without control and invisible characters."""
    return not {"Cc", "Cf", "Zl", "Zp", "Cs"} & set(map(unicodedata.category, text))


@given(path=paths)
def test_accepted_path_stays_below_the_root_and_refused_one_is_escaped(path: str) -> None:
    found = canonical_path(path)
    if isinstance(found, Diagnostic):
        assert is_safe(found.message + found.hint + (found.file or ""))
        return
    assert canonical_path(found) == found
    assert posixpath.normpath(posixpath.join("/docs", path)) == f"/docs/{found}"
    assert not {"", ".", ".."} & set(found.split("/"))


@given(path=paths)
def test_absolute_and_relative_paths_name_the_same_file(path: str) -> None:
    with Workspace.open(["/usr"]) as workspace:
        relative, absolute = workspace.locate(path), workspace.locate(f"/usr/{path}")
    if isinstance(relative, FileName):
        assert absolute == relative
    elif not path.startswith("/usr/"):
        assert isinstance(absolute, Diagnostic)


@given(text=st.text(any_text, max_size=300))
def test_visible_text_is_bounded_and_printable_in_any_terminal(text: str) -> None:
    shown = visible(text)
    assert len(shown) <= 200 * len("\\U0010ffff")
    assert is_safe(shown)


def commit_line(folder: Path, line: bytes) -> bytes:
    """Add `line` to the file, trying again while others are faster; the base that it was added to."""
    root = Root.open(folder)
    try:
        while True:
            found = root.read(FileName("", "a.md"), 1 << 20)
            assert isinstance(found, FileBytes)
            file = change("a.md", found.data, found.data + line)
            try:
                commit(folder, file, durability=Durability.PROCESS)
            except StorageRefused as refused:
                if [problem.code for problem in refused.problems] != [Code.STALE_BASE]:
                    raise
            else:
                return found.data
    finally:
        root.close()


def commit_lines(folder: Path, worker: int) -> list[bytes]:
    """Add ten lines, one commit each; the bases."""
    return [commit_line(folder, f"{worker} {number}\n".encode()) for number in range(10)]


def processes() -> concurrent.futures.Executor:
    """Start four processes that are not forks of this one."""
    return concurrent.futures.ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("spawn"))


def threads() -> concurrent.futures.Executor:
    """Four threads of this process."""
    return concurrent.futures.ThreadPoolExecutor(4)


@pytest.mark.requirement("commit-5")
@pytest.mark.parametrize("workers", [threads, processes])
def test_racing_writers_form_one_chain(
    tmp_path: Path, workers: Callable[[], concurrent.futures.Executor]
) -> None:
    """Each commit has another base, and no line is lost."""
    (tmp_path / "a.md").write_bytes(b"")
    with workers() as pool:
        bases = [base for bases in pool.map(commit_lines, [tmp_path] * 4, range(4)) for base in bases]

    final = (tmp_path / "a.md").read_bytes()
    assert len(set(bases)) == 40
    assert sorted(final.split(b"\n")[:-1]) == sorted(f"{w} {n}".encode() for w in range(4) for n in range(10))
    assert all(final.startswith(base) for base in bases)


@pytest.mark.requirement("safety-1")
def test_folder_that_flips_to_a_link_never_leads_outside(tmp_path: Path) -> None:
    for name, data in (("root/real", b"inside"), ("outside", b"secret")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "a.md").write_bytes(data)
    (tmp_path / "root" / "link").symlink_to(tmp_path / "outside")
    stop = threading.Event()

    def flip() -> None:
        while not stop.is_set():
            (tmp_path / "root" / "real").rename(tmp_path / "root" / "sub")
            (tmp_path / "root" / "sub").rename(tmp_path / "root" / "real")
            (tmp_path / "root" / "link").rename(tmp_path / "root" / "sub")
            (tmp_path / "root" / "sub").rename(tmp_path / "root" / "link")

    flipping = threading.Thread(target=flip)
    flipping.start()
    root = Root.open(tmp_path / "root")
    try:
        found = [root.read(FileName("", "sub/a.md"), 100) for _ in range(3000)]
    finally:
        stop.set()
        flipping.join()
        root.close()

    assert {each.data for each in found if isinstance(each, FileBytes)} <= {b"inside"}
    codes = {each.code for each in found if isinstance(each, Diagnostic)}
    assert codes <= {Code.FILE_NOT_FOUND, Code.SYMLINK_REFUSED}
