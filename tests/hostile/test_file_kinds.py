"""Cases 23 to 40: what stands where a file should, on a real file system, seen by every verb.

Where DESIGN section 9 has another name for a code of the list, it is that one; special mode bits, for which
the list has no code, are READ_ONLY.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from tests.hostile.trial import (
    APPEND,
    HERE,
    LOOKING,
    OF_FILE,
    OTHER_FILE,
    SECRET,
    Place,
    Verb,
    check_accepted,
    check_refused,
    read_verb,
)
from tests.support.case_tables import CaseTables
from tests.support.files import as_nobody

CASE_TABLES = CaseTables(__file__)


BOTH = {**LOOKING, **OF_FILE, **OTHER_FILE}
WRITING = {**OF_FILE, **OTHER_FILE}


def check_every(place: Place, case: str, path: str, code: Code, verbs: dict[str, Verb] = BOTH) -> None:
    """Each of `verbs` refuses `path` with `code`, and nothing changes, inside or outside."""
    for name, verb in verbs.items():
        check_refused(f"{case}: {name}", lambda verb=verb: verb(place.engine, path), {code}, place.folder)


@pytest.fixture
def open_place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A root and a state directory that every user can reach, which pytest's own cannot be."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    monkeypatch.setenv("MDPLAN_STATE_DIR", str(folder / "state"))
    root = folder / "root"
    root.mkdir()
    (root / "here.md").write_bytes(HERE)
    engine = Engine.open([root], settings=Settings(durability=Durability.PROCESS))
    yield Place(folder, root, engine)
    engine.workspace.close()
    shutil.rmtree(folder)


LINKS = CASE_TABLES.value("LINKS")


@pytest.mark.parametrize("case", LINKS, ids=[f"case_{case.replace(' ', '_')}" for case in LINKS])
def test_link_is_refused(place: Place, case: str) -> None:
    (place.root / "real").mkdir()
    (place.root / "real" / "b.md").write_bytes(HERE)
    (place.root / "a.md").symlink_to(LINKS[case])

    check_every(place, case, "a.md", Code.SYMLINK_REFUSED)
    create = {"file": "a.md", "edits": [{"op": "create_file", "markdown": "Owned."}]}
    codes = {Code.SYMLINK_REFUSED, Code.FILE_EXISTS}
    check_refused(f"{case}: create", lambda: place.engine.write(create), codes, place.folder)


@pytest.mark.hostile_case(24)
@pytest.mark.parametrize("target", ["real", "../outside"])
def test_link_instead_of_a_folder_is_refused(place: Place, target: str) -> None:
    for folder in (place.root / "real" / "sub", place.folder / "outside" / "sub"):
        folder.mkdir(parents=True)
        (folder / "b.md").write_bytes(SECRET)
    (place.root / "link").symlink_to(target)

    check_every(place, f"24 link to {target}", "link/sub/b.md", Code.SYMLINK_REFUSED)
    create = {"file": "link/sub/new.md", "edits": [{"op": "create_file", "markdown": "Owned."}]}
    act = lambda: place.engine.write(create)  # noqa: E731
    check_refused(f"24 link to {target}: create", act, {Code.SYMLINK_REFUSED}, place.folder)


@pytest.mark.hostile_case(25)
def test_loop_of_links_is_refused(place: Place) -> None:
    (place.root / "a").symlink_to("b")
    (place.root / "b").symlink_to("a")

    check_every(place, "25 loop", "a", Code.SYMLINK_REFUSED)
    check_every(place, "25 loop above", "a/c.md", Code.SYMLINK_REFUSED)


@pytest.mark.hostile_case(27)
def test_file_replaced_by_a_link_after_planning_is_refused(place: Place) -> None:
    (place.root / "a.md").write_bytes(SECRET)
    plan = place.engine.plan({"file": "a.md", "edits": [APPEND]})
    (place.root / "a.md").unlink()
    (place.root / "a.md").symlink_to("../secret.md")

    act = lambda: place.engine.apply({"planId": plan.plan_id})  # noqa: E731
    codes = {Code.STALE_BASE, Code.SYMLINK_REFUSED}
    check_refused("27 link after the plan", act, codes, place.folder, locks=True)


@pytest.mark.hostile_case(28)
def test_fifo_is_refused_at_once(place: Place) -> None:
    """An open that waits for a writer would wait for ever."""
    os.mkfifo(place.root / "a.md")

    check_every(place, "28 FIFO", "a.md", Code.NOT_A_TEXT_FILE)


@pytest.mark.hostile_case(29)
def test_socket_is_refused(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place.root)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("a.md")
        check_every(place, "29 socket", "a.md", Code.NOT_A_TEXT_FILE)


@pytest.mark.hostile_case(29)
@pytest.mark.parametrize("minor", [3, 5, 8], ids=["null", "zero", "random"])
def test_device_is_refused(place: Place, minor: int) -> None:
    try:
        os.mknod(place.root / "a.md", 0o20666, os.makedev(1, minor))
    except PermissionError:
        pytest.skip("this user may not make devices")

    check_every(place, "29 device", "a.md", Code.NOT_A_TEXT_FILE)


@pytest.mark.hostile_case(29)
def test_folder_is_refused(place: Place) -> None:
    (place.root / "a.md").mkdir()
    verbs = {"read": read_verb, **WRITING}

    check_every(place, "29 folder", "a.md", Code.NOT_A_TEXT_FILE, verbs)


@pytest.mark.hostile_case(30)
def test_file_with_wrong_reported_size_is_read_completely(place: Place) -> None:
    """Files of /proc say that they are empty; this one says what this process was started with."""
    (place.root / "a.md").write_bytes(b"")
    where = subprocess.run(
        ["mount", "--bind", f"/proc/{os.getpid()}/cmdline", place.root / "a.md"],
        check=False,
        capture_output=True,
    )
    if where.returncode:
        pytest.skip(f"mount does not work here: {where.stderr.decode().strip()}")
    try:
        limited = Engine.open([place.root], settings=Settings(max_file_bytes=3))
        act = lambda: read_verb(limited, "a.md")  # noqa: E731
        codes = {Code.FILE_TOO_LARGE, Code.NOT_A_TEXT_FILE}
        check_refused("30 hidden size", act, codes, place.folder)
        for name in ("write an append", "write a deletion"):
            refused = {Code.NOT_A_TEXT_FILE, Code.TARGET_BUSY, Code.READ_ONLY}
            act = lambda name=name: OF_FILE[name](place.engine, "a.md")  # noqa: E731
            check_refused(f"30 hidden size: {name}", act, refused, place.folder)
        limited.workspace.close()
    finally:
        subprocess.run(["umount", place.root / "a.md"], check=True)


@pytest.mark.hostile_case(31)
def test_sparse_file_is_too_large_before_it_is_read(place: Place) -> None:
    with (place.root / "a.md").open("wb") as file:
        file.truncate(1 << 40)

    check_every(place, "31 sparse terabyte", "a.md", Code.FILE_TOO_LARGE)


@pytest.mark.hostile_case(32)
def test_growing_file_is_stale_or_too_large(place: Place) -> None:
    path = place.root / "a.md"
    path.write_bytes(HERE)
    engine = Engine.open(
        [place.root], settings=Settings(max_file_bytes=100_000, durability=Durability.PROCESS)
    )
    stop = threading.Event()

    def grow() -> None:
        while not stop.is_set():
            with path.open("ab") as file:
                file.write(b"more\n" * 500)

    growing = threading.Thread(target=grow)
    growing.start()
    try:
        codes = set()
        for _ in range(200):
            report = engine.apply({"file": "a.md", "edits": [APPEND], "baseSha256": "0" * 64})
            assert report.error is not None
            codes.add(report.error.code)
    finally:
        stop.set()
        growing.join()
        engine.workspace.close()
    is_expected = codes <= {Code.STALE_BASE, Code.FILE_TOO_LARGE}
    assert is_expected, codes
    assert b"Owned" not in path.read_bytes()


@pytest.mark.hostile_case(33)
def test_hard_linked_file_is_not_written(place: Place) -> None:
    (place.root / "a.md").hardlink_to(place.folder / "secret.md")

    check_every(place, "33 hard link", "a.md", Code.HARDLINK_REFUSED, WRITING)


@pytest.mark.hostile_case(34)
def test_two_names_of_one_file_are_a_conflict(place: Place) -> None:
    (place.root / "a.md").write_bytes(HERE)
    (place.root / "b.md").hardlink_to(place.root / "a.md")
    batch = {"files": [{"file": name, "edits": [APPEND]} for name in ("a.md", "b.md")]}

    act = lambda: place.engine.write(batch)  # noqa: E731
    codes = {Code.ALIAS_CONFLICT, Code.HARDLINK_REFUSED}
    check_refused("34 two names of one file", act, codes, place.folder)


@pytest.mark.hostile_case(35)
def test_write_protected_file_is_not_written(place: Place) -> None:
    """Not even by root, whom the system would let."""
    (place.root / "a.md").write_bytes(SECRET)
    (place.root / "a.md").chmod(0o444)

    check_every(place, "35 mode 0444", "a.md", Code.READ_ONLY, WRITING)


def test_write_protected_file_that_would_not_change_refuses_nothing(place: Place) -> None:
    (place.root / "a.md").write_bytes(b"# A\n\nword\n")
    (place.root / "b.md").write_bytes(b"# B\n\nother\n")
    (place.root / "b.md").chmod(0o444)
    edit = {"op": "replace_match", "pattern": "word", "replacement": "term", "minMatches": 0}

    report = place.engine.write({"files": ["a.md", "b.md"], "edits": [edit]})

    assert report.ok, report.diagnostics
    assert (place.root / "a.md").read_bytes() == b"# A\n\nterm\n"


@pytest.mark.hostile_case(36)
def test_unreadable_file_is_refused(open_place: Place) -> None:
    (open_place.root / "a.md").write_bytes(SECRET)
    (open_place.root / "a.md").chmod(0)
    with as_nobody():
        check_every(open_place, "36 mode 0000", "a.md", Code.PERMISSION_DENIED)


@pytest.mark.hostile_case(37)
def test_file_of_another_owner_is_not_written(open_place: Place) -> None:
    """In a folder of his group he could replace the file, and would become its owner."""
    open_place.root.chmod(0o777)
    (open_place.root / "a.md").write_bytes(SECRET)
    (open_place.root / "a.md").chmod(0o666)
    with as_nobody():
        check_every(open_place, "37 foreign owner", "a.md", Code.OWNER_CHANGE, OF_FILE)


@pytest.mark.hostile_case(38)
@pytest.mark.parametrize("bit", [0o4000, 0o2000, 0o1000], ids=["setuid", "setgid", "sticky"])
def test_special_bits_are_not_written(place: Place, bit: int) -> None:
    (place.root / "a.md").write_bytes(SECRET)
    (place.root / "a.md").chmod(0o755 | bit)

    check_every(place, f"38 bit {bit:o}", "a.md", Code.READ_ONLY, WRITING)


@dataclass(frozen=True)
class _Kept:
    """What belongs to a file besides its text."""

    mode: int
    owner: tuple[int, int]
    attributes: dict[str, bytes]

    @classmethod
    def of(cls, path: Path) -> "_Kept":
        status = path.stat()
        attributes = {name: os.getxattr(path, name) for name in os.listxattr(path)}
        return cls(status.st_mode, (status.st_uid, status.st_gid), attributes)


@pytest.mark.hostile_case(39)
def test_mode_owner_attributes_and_acl_are_kept(place: Place) -> None:
    path = place.root / "a.md"
    path.write_bytes(HERE)
    path.chmod(0o640)
    try:
        os.setxattr(path, "user.mdplan.test", b"value")
    except OSError as error:
        pytest.skip(f"no extended attributes here: {error.strerror}")
    if shutil.which("setfacl"):
        subprocess.run(["setfacl", "-m", "u:12345:r", path], check=False, capture_output=True)
    if os.geteuid() == 0:
        os.chown(path, 1234, 1234)
    before = _Kept.of(path)

    check_accepted(
        "39 mode, owner, attributes, ACL",
        lambda: OF_FILE["write an append"](place.engine, "a.md"),
        lambda _: _Kept.of(path) == before and path.read_bytes().endswith(b"Owned.\n"),
    )


@pytest.mark.hostile_case(40)
def test_file_of_another_in_a_sticky_folder_is_not_written(open_place: Place) -> None:
    open_place.root.chmod(0o1777)
    (open_place.root / "a.md").write_bytes(SECRET)
    (open_place.root / "a.md").chmod(0o666)
    with as_nobody():
        check_every(open_place, "40 sticky folder", "a.md", Code.PERMISSION_DENIED, OF_FILE)
