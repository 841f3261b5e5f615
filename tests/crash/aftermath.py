"""A batch on a real disk, and the checks of the folder after an interrupted commit was recovered."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdplan.engine.engine import Engine
from mdplan.storage.names import is_temporary_name
from mdplan.storage.store import Store
from tests.support.files import tree

OLD, NEW = "old", "new"
MIXED = "mixed"
Tree = dict[str, tuple[int, bytes]]

BEFORE = {
    "a.md": "# A\n\nOld text.\n\n## Part\n\nMore.\n",
    "docs/gone.md": "# Gone\n\nNobody needs this.\n",
    "docs/name.md": "# Name\n\nThis moves.\n",
    "other.md": "# Other\n",
}
MODES = {"a.md": 0o640, "docs/gone.md": 0o600, "docs/name.md": 0o755}
EARLIER = {"file": "a.md", "edits": [{"op": "replace_match", "pattern": "Older", "replacement": "Old"}]}
ELSEWHERE = {
    "file": "other.md",
    "edits": [{"op": "replace_match", "pattern": "Other", "replacement": "Same"}],
}


@contextmanager
def in_memory() -> Iterator[Path]:
    """Return a folder in memory if possible: kills work the same there, and syncs do not wait."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


@contextmanager
def engine(folder: Path) -> Iterator[Engine]:
    """An engine on `folder`, closed afterwards."""
    opened = Engine.open([folder])
    with opened.workspace:
        yield opened


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def make(folder: Path) -> None:
    """Write the files of `BEFORE`, with their modes."""
    for name, content in BEFORE.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(MODES.get(name, 0o644))


def make_with_history(folder: Path) -> None:
    """The same after one commit, which is not settled yet."""
    make(folder)
    (folder / "a.md").write_text(BEFORE["a.md"].replace("Old", "Older"))
    with engine(folder) as opened:
        report = opened.apply(EARLIER)
    assert report.applied, report


def batch() -> dict[str, Any]:
    """Replace, create in folders to be made, delete, and rename with an edit: all pinned."""
    edits = {
        "a.md": {"op": "replace_match", "pattern": "Old", "replacement": "New"},
        "docs/gone.md": {"op": "delete_file"},
        "docs/name.md": {"op": "rename_file", "newFile": "docs/renamed.md"},
    }
    files: list[dict[str, Any]] = [
        {"file": name, "baseSha256": digest(BEFORE[name].encode()), "edits": [edit]}
        for name, edit in edits.items()
    ]
    files[2]["edits"].append({"op": "append_to_section", "headingPath": ["Name"], "markdown": "It moved."})
    created = {"file": "new/deep/made.md", "edits": [{"op": "create_file", "markdown": "# Made\n"}]}
    return {"files": [created, *files]}


def result_of(before: Tree) -> Tree:
    """What that batch makes of the folder."""
    after = dict(before)
    del after["docs/gone.md"]
    mode, moved = after.pop("docs/name.md")
    after["docs/renamed.md"] = (mode, moved + b"\nIt moved.\n")
    after["a.md"] = (before["a.md"][0], before["a.md"][1].replace(b"Old", b"New"))
    after["new"] = after["new/deep"] = before["docs"]
    after["new/deep/made.md"] = (before["other.md"][0], b"# Made\n")
    return after


@dataclass(frozen=True, slots=True)
class Saved:
    """The state of a folder and of its store, to be brought back under the same path."""

    folder: Path
    copy: Path

    @classmethod
    def of(cls, folder: Path, copy: Path) -> "Saved":
        _copy(folder, copy)
        _copy(_states(), copy.with_name(f"{copy.name}-states"))
        return cls(folder, copy)

    def bring_back(self) -> None:
        _copy(self.copy, self.folder)
        _copy(self.copy.with_name(f"{self.copy.name}-states"), _states())


def _states() -> Path:
    """The state directory of this test, made if it is missing."""
    folder = Path(os.environ["MDPLAN_STATE_DIR"])
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _copy(folder: Path, to: Path) -> None:
    """Make `to` the same as `folder`, with owners and times."""
    shutil.rmtree(to, ignore_errors=True)
    subprocess.run(["cp", "-a", folder, to], check=True)


def outcome(found: Tree, old: Tree, new: Tree) -> str:
    """Return whether all files are old, all are new, or neither; ignores files beside them."""
    seen = {path: file for path, file in found.items() if not is_temporary(path)}
    return OLD if seen == old else NEW if seen == new else MIXED


def is_temporary(path: str) -> bool:
    """Return True for a file of a commit."""
    return is_temporary_name(path.rpartition("/")[2])


def torn(folder: Path, old: Tree, new: Tree) -> Iterator[str]:
    """Return what no reader may see, even before recovery: files neither old nor new, or missing."""
    found = tree(folder)
    for path in old.keys() | new.keys() | found.keys():
        if not is_temporary(path) and found.get(path) not in (old.get(path), new.get(path)):
            yield f"{path} is neither old nor new"
    if not found.keys() & {"docs/name.md", "docs/renamed.md"}:
        yield "the renamed file has no name"


def unclean(folder: Path) -> Iterator[str]:
    """What should not be there after a recovery: files of the commit, unsettled transactions."""
    for path in folder.rglob("*"):
        if is_temporary(path.name):
            yield f"{path.name} stayed"
    if Store(os.path.realpath(folder)).interrupted():
        yield "the store holds an interrupted transaction"


def committed(folder: Path) -> int:
    """How many transactions of `folder` were committed."""
    return sum(found.state == "committed" for found in Store(os.path.realpath(folder)).transactions())


def history_problems(folder: Path, committed: Mapping[str, int]) -> Iterator[str]:
    """Return faults of a history in which each path was committed as often as `committed` says."""
    counts = dict.fromkeys(committed, 0)
    store = Store(os.path.realpath(folder))
    for found in store.transactions():
        if found.state == "committed":
            if not found.undoable:
                yield f"{found.id} cannot be undone"
            for entry in found.record.entries:
                if entry.path in counts:
                    counts[entry.path] += 1
                if entry.base and store.content(entry.base) is None:
                    yield f"the old content of {entry.path} in {found.id} is gone"
    if counts != dict(committed):
        yield f"committed so often: {counts}"


def transactions_on(folder: Path, path: str) -> list[str]:
    """IDs of the committed transactions that changed `path`."""
    return [
        found.id
        for found in Store(os.path.realpath(folder)).transactions()
        if found.state == "committed" and path in {entry.path for entry in found.record.entries}
    ]


def doctor_problems(folder: Path) -> Iterator[str]:
    """What `mdplan doctor` would say."""
    with engine(folder) as opened:
        checks = opened.doctor().checks
    for check in checks:
        if check.status == "problem" or (check.check, check.status) == ("stray files", "note"):
            yield f"the doctor finds {check.found}"
