"""Kinds of `.mdplan`, and of notes of a commit, that a cloned repository or an unpacked archive can bring."""

import hashlib
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

from mdplan.storage.names import NOTE
from tests.support.files import NOBODY

ID: Final = "ef" * 8
PLANTED: Final = "Planted by the attacker."
HERE: Final = b"# Here\n\ntext\n\n# There\n\nmore\n"
MIB: Final = 1 << 20
_PLANTED: Final = PLANTED.encode()


def sha256(data: bytes) -> str:
    """The hex digest of `data`."""
    return hashlib.sha256(data).hexdigest()


# What would put planted text into the file that everybody knows, and take away another known one.
_CHANGES: Final[list[list[object]]] = [
    ["here.md", sha256(_PLANTED), len(_PLANTED), sha256(HERE), len(HERE)],
    ["other.md", None, 0, sha256(HERE), len(HERE)],
]
_KEYS: Final = ("path", "base", "baseBytes", "result", "resultBytes")
_BODY: Final = json.dumps(
    {
        "transaction": ID,
        "entries": [dict(zip(_KEYS, change, strict=True)) for change in _CHANGES],
        "madeFolders": [],
        "removedFolders": [],
    }
).encode()


def lay_out(root: Path) -> None:
    """The documents of the repository, without a `.mdplan`."""
    (root / "folder").mkdir(parents=True)
    for name in ("here.md", "other.md", "folder/deep.md"):
        (root / name).write_bytes(HERE)


def _journal(root: Path) -> Path:
    """The folder where mdplan 0.2 kept its journal."""
    folder = root / ".mdplan" / "tx"
    for path in (folder.parent, folder, folder.parent / "history"):
        path.mkdir(mode=0o700, exist_ok=True)
    return folder


def _record(root: Path, state: str = "pending", content: bytes | None = None) -> Path:
    body = _BODY + b"\n{}\n"
    head = {"format": 2, "bytes": len(body), "sha256": sha256(body), "seal": "0" * 64, "folderSeal": "0" * 64}
    path = _journal(root) / f"{10**15 - 1}-{ID}.{state}"
    path.write_bytes(json.dumps(head).encode() + b"\n" + body if content is None else content)
    return path


def _many(root: Path) -> None:
    first = _record(root, "kept")
    for number in range(2_000):
        (first.parent / f"{10**14 + number}-{number:016x}.kept").hardlink_to(first)


def _images(root: Path) -> None:
    """Other text under the hashes of known files, and a file of 10 GiB that takes no room."""
    folder = _journal(root).parent / "history"
    (folder / sha256(HERE)).write_bytes(_PLANTED)
    with (folder / ("0" * 64)).open("wb") as file:
        file.truncate(10 * 1024 * MIB)


def _socket(path: Path) -> None:
    bound = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        bound.bind(path.name)
    finally:
        os.chdir(here)
        bound.close()


def _folder(path: Path, mode: int = 0o755, owner: int = -1) -> None:
    path.mkdir()
    path.chmod(mode)
    os.chown(path, owner, owner)


def _link(target: str) -> Callable[[Path], object]:
    return lambda path: path.symlink_to(target)


def _in(name: str, make: Callable[[Path], object]) -> Callable[[Path], object]:
    """Make something in the place of `.mdplan/NAME`; of `.mdplan` itself for an empty name."""

    def ship(root: Path) -> None:
        path = root / ".mdplan" / name if name else root / ".mdplan"
        path.parent.mkdir(mode=0o700, exist_ok=True)
        make(path)

    return ship


# Nothing of these may have an effect.
SHIPPED: Final[dict[str, Callable[[Path], object]]] = {
    "interrupted commit of known files": _record,
    "conflict about known files": lambda root: _record(root, "conflict"),
    "commit that is not cleaned up": lambda root: _record(root, "done"),
    "commit that was rolled back": lambda root: _record(root, "undone"),
    "deep record": lambda root: _record(root, content=b"[" * 200_000),
    "huge number": lambda root: _record(root, content=b"9" * 200_000),
    "record of 100 MiB": lambda root: _record(root, content=b"[]," * (33 * MIB)),
    "empty record": lambda root: _record(root, content=b""),
    "2,000 records": _many,
    "images of other content": _images,
    "record is a link": _in("tx", _link("/etc")),
    "record is a FIFO": _in("lock", os.mkfifo),
    "record is a socket": _in("lock", _socket),
    "lock is a link": _in("lock", _link("../here.md")),
    "lock is a folder": _in("lock", Path.mkdir),
    "images are a link": _in("history", _link("../folder")),
    "folder is a link": _in("", _link("folder")),
    "folder is a file": _in("", lambda path: path.write_bytes(b"x")),
    "folder is a FIFO": _in("", os.mkfifo),
    "folder that all can write": _in("", lambda path: _folder(path, mode=0o777)),
}
if os.geteuid() == 0:
    SHIPPED["folder of another owner"] = _in("", lambda path: _folder(path, owner=NOBODY))
    SHIPPED["record is a device"] = _in("lock", lambda path: os.mknod(path, 0o020600, os.makedev(1, 5)))


def _note(root: Path, **fields: object) -> None:
    facts = {"mdplan": 1, "transaction": ID, "files": _CHANGES, "madeFolders": [], "removedFolders": []}
    (root / NOTE).write_text(json.dumps(facts | fields))


def _note_with_text(root: Path) -> None:
    (root / f".mdplan-{ID}-0.tmp").write_bytes(_PLANTED)
    _note(root)


# A commit refuses the whole root; verbs that read files go on, and nothing is changed unasked.
TRAPS: Final[dict[str, Callable[[Path], object]]] = {
    "note of a commit with planted text": _note_with_text,
    "note of files outside": lambda root: _note(root, files=[["../x", *_CHANGES[0][1:]]]),
    "note of folders outside": lambda root: _note(root, removedFolders=["../x", "/tmp"]),
    "deep note": lambda root: (root / NOTE).write_bytes(b"[" * 200_000),
    "note of 100 MiB": lambda root: (root / NOTE).write_bytes(b"[]," * (33 * MIB)),
    "empty note": lambda root: (root / NOTE).write_bytes(b""),
    "note is a link": lambda root: (root / NOTE).symlink_to("/etc/passwd"),
    "note is a FIFO": lambda root: os.mkfifo(root / NOTE),
    "note is a folder": lambda root: (root / NOTE).mkdir(),
    "text beside a file": lambda root: (root / f".mdplan-{ID}-0.tmp").write_bytes(_PLANTED),
}
