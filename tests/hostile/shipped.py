"""Kinds of `.mdplan` that a cloned repository or an unpacked archive can bring."""

import json
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

from mdplan.engine.engine import Engine
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.storage.journal import JournalEntry
from tests.hostile.attacker import ID, LAST_SEQUENCE, PLANTED, journal, plant_history, plant_record, sha256
from tests.support.files import NOBODY

HERE: Final = b"# Here\n\ntext\n\n# There\n\nmore\n"
MIB: Final = 1 << 20
_PLANTED: Final = PLANTED.encode()
# What would put planted text into the file that everybody knows, and take away another known one.
KNOWN: Final = (
    JournalEntry(
        path="here.md",
        base=sha256(_PLANTED),
        base_bytes=len(_PLANTED),
        result=sha256(HERE),
        result_bytes=len(HERE),
    ),
    JournalEntry(path="other.md", base=None, base_bytes=0, result=sha256(HERE), result_bytes=len(HERE)),
)
_NEXT: Final = f"{LAST_SEQUENCE}-{ID}"


def lay_out(root: Path) -> None:
    """The documents of the repository, without a `.mdplan`."""
    (root / "folder").mkdir(parents=True)
    for name in ("here.md", "other.md", "folder/deep.md"):
        (root / name).write_bytes(HERE)


def _interrupted(root: Path, state: str) -> None:
    (root / f".mdplan-{ID}-0.tmp").write_bytes(_PLANTED)
    plant_record(root, *KNOWN, state=state)


def _unsealed(root: Path) -> None:
    record = plant_record(root, *KNOWN)
    head, _, body = record.read_bytes().partition(b"\n")
    record.write_bytes(json.dumps(json.loads(head) | {"seal": "", "folderSeal": ""}).encode() + b"\n" + body)


def _old_format(root: Path) -> None:
    record = plant_record(root, *KNOWN)
    head, _, body = record.read_bytes().partition(b"\n")
    old = {"format": 1, "sha256": json.loads(head)["sha256"], "seal": "0" * 64}
    record.write_bytes(json.dumps(old).encode() + b"\n" + body)


def plant_bomb(root: Path) -> None:
    """A record of 100 MiB, which compresses to 102 KB."""
    head = {"format": 2, "sha256": "0" * 64, "seal": "0" * 64, "folderSeal": "0" * 64}
    start = json.dumps(head | {"bytes": 100 * MIB}).encode() + b'\n{"transaction":"' + ID.encode()
    with (journal(root) / f"{_NEXT}.pending").open("wb") as file:
        file.write(start + b'","entries":[')
        for _ in range(100):
            file.write(b"[]," * (MIB // 3))


def _content(root: Path, content: bytes, state: str = "pending") -> None:
    (journal(root) / f"{_NEXT}.{state}").write_bytes(content)


def _wrong_numbers(root: Path) -> None:
    head = b'{"format":2,"bytes":1e999,"sha256":"%s","seal":"","folderSeal":""}\n' % (b"0" * 64)
    for number, content in enumerate(
        (head, head.replace(b"2", b"1e999", 1), b'{"format":-1e999}\n', b"NaN\n")
    ):
        (journal(root) / f"{number + 1:08}-{number:016x}.kept").write_bytes(content)
    note = b'{"committedAt":1e999,"planId":[],"undoes":{},"rootName":1e999,"plan":{"files":1e999}}'
    plant_record(root, *KNOWN, state="kept", note=note)


def _truncated(root: Path) -> None:
    record = plant_record(root, *KNOWN)
    record.write_bytes(record.read_bytes()[:-40])


def _many(root: Path) -> None:
    first = plant_record(root, *KNOWN, state="kept")
    for number in range(2_000):
        (first.parent / f"{LAST_SEQUENCE - number - 1}-{number:016x}.kept").hardlink_to(first)
    for number in range(500):
        (first.parent / f"{LAST_SEQUENCE - number - 1}-{number:016x}.new").write_bytes(b"")


def _odd_names(root: Path) -> None:
    folder = journal(root)
    for name in (
        "9" * 200 + ".kept",
        f"-1-{ID}.kept",
        f"{_NEXT}.nonsense",
        ".pending",
        "\u202e.kept",
        "a b.done",
    ):
        (folder / name).write_bytes(b"x")


def _replayed(root: Path) -> None:
    """What this user's own key sealed, for a copy of the same repository elsewhere."""
    elsewhere = root.with_name(f"{root.name}-elsewhere")
    lay_out(elsewhere)
    with Engine.open([elsewhere], settings=Settings(durability=Durability.PROCESS)) as engine:
        for edit in (
            {"op": "append_to_file", "markdown": PLANTED},
            {"op": "replace_match", "pattern": f"{PLANTED}\n", "replacement": ""},
        ):
            assert engine.write({"file": "here.md", "edits": [edit]}).ok
    shutil.copytree(elsewhere / ".mdplan", root / ".mdplan")


def _put(path: Path, make: Callable[[Path], object]) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    make(path)


def _link(target: str) -> Callable[[Path], object]:
    return lambda path: path.symlink_to(target)


def _socket(path: Path) -> None:
    bound = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        bound.bind(path.name)
    finally:
        os.chdir(here)
        bound.close()


def _device(path: Path) -> None:
    os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))


def _record_as(make: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda root: make(journal(root) / f"{_NEXT}.pending")


def _state_as(name: str, make: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda root: _put(root / ".mdplan" / name, make)


def _images(root: Path) -> None:
    """Other text under the hashes of known files, and a file of 10 GiB that takes no room."""
    folder = journal(root).parent / "history"
    (folder / sha256(HERE)).write_bytes(_PLANTED)
    with (folder / ("0" * 64)).open("wb") as file:
        file.truncate(10 * 1024 * MIB)


def _image_folder(root: Path) -> None:
    folder = journal(root).parent / "history" / sha256(HERE)
    folder.mkdir()
    (folder / "inside").write_bytes(b"x")


def _probe_folders(root: Path) -> None:
    for name in ("exchange-a", "exchange-b"):
        (journal(root).parent / name / "inside").mkdir(parents=True)


def _lasting(root: Path) -> None:
    (journal(root).parent / "format").write_bytes(b"1\n")
    os.mkfifo(journal(root).parent / ".gitignore")


def _owned_by_another(root: Path) -> None:
    record = plant_record(root, *KNOWN)
    os.chown(record, NOBODY, NOBODY)


def _unreadable(root: Path) -> None:
    plant_record(root, *KNOWN).chmod(0)


def _folder_of_another(root: Path) -> None:
    journal(root)
    os.chown(root / ".mdplan", NOBODY, NOBODY)


# Nothing of these may have an effect.
SHIPPED: Final[dict[str, Callable[[Path], object]]] = {
    "history of another user": lambda root: plant_history(root, "here.md"),
    "history of 220 commits": lambda root: plant_history(root, "here.md", 220),
    "interrupted commit of known files": lambda root: _interrupted(root, "pending"),
    "conflict about known files": lambda root: _interrupted(root, "conflict"),
    "commit that is not cleaned up": lambda root: _interrupted(root, "done"),
    "commit that was rolled back": lambda root: _interrupted(root, "undone"),
    "unsealed record": _unsealed,
    "record of the first format": _old_format,
    "record of 100 MiB": plant_bomb,
    "deep record": lambda root: _content(root, b"[" * 200_000),
    "huge number": lambda root: _content(root, b"9" * 200_000),
    "infinite numbers": _wrong_numbers,
    "truncated record": _truncated,
    "empty record": lambda root: _content(root, b""),
    "empty conflict": lambda root: _content(root, b"", "conflict"),
    "2,500 records": _many,
    "odd names": _odd_names,
    "own records of another place": _replayed,
    "record is a link": _record_as(_link("/etc/passwd")),
    "record is a link to a device": _record_as(_link("/dev/zero")),
    "record is a FIFO": _record_as(os.mkfifo),
    "record is a folder": _record_as(Path.mkdir),
    "record is a socket": _record_as(_socket),
    "record without permissions": _unreadable,
    "images of other content": _images,
    "image is a folder": _image_folder,
    "probe files are folders": _probe_folders,
    "marks of a used folder": _lasting,
    "lock with another holder": _state_as("lock", lambda path: path.write_bytes(b"1 elsewhere\n")),
}
# A commit refuses the whole folder; verbs that read files go on.
TRAPS: Final[dict[str, Callable[[Path], object]]] = {
    "state folder is a link": lambda root: (root / ".mdplan").symlink_to(root / "folder"),
    "state folder is a file": lambda root: (root / ".mdplan").write_bytes(b"x"),
    "state folder is a FIFO": lambda root: os.mkfifo(root / ".mdplan"),
    "journal is a link": _state_as("tx", _link("../folder")),
    "journal is a FIFO": _state_as("tx", os.mkfifo),
    "images are a link": _state_as("history", _link("../folder")),
    "lock is a link": _state_as("lock", _link("../here.md")),
    "lock is a FIFO": _state_as("lock", os.mkfifo),
    "lock is a folder": _state_as("lock", Path.mkdir),
}
if os.geteuid() == 0:
    SHIPPED["record of another owner"] = _owned_by_another
    SHIPPED["record is a device"] = _record_as(_device)
    TRAPS["state folder of another owner"] = _folder_of_another
    TRAPS["lock is a device"] = _state_as("lock", _device)
