"""Whole commits of several files, each as one transaction: all, or nothing where one file has changed."""

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mdplan.engine.engine import Engine
from tests.benchmarks.replay.changes import Change, Repository
from tests.benchmarks.replay.derive import derive_batch, joined, short_batch
from tests.benchmarks.replay.diffs import diff_write
from tests.benchmarks.replay.formats import blocks, compact, split
from tests.benchmarks.replay.tools import Tool, opened

Files = Mapping[str, str]


def commit_row(changes: list[Change], repository: Repository, tools: Sequence[Tool]) -> dict[str, Any]:
    """Apply one call to all files of a commit: on the original files, and after one of them has changed."""
    names = {tool.name for tool in tools}
    row: dict[str, Any] = {"change": changes[0].commit, "files": len(changes)}
    try:
        old = {change.path: repository.blob(change.old).decode() for change in changes}
        new = {change.path: repository.blob(change.new).decode() for change in changes}
    except UnicodeDecodeError:
        return row
    if any(old[path] == new[path] for path in old):
        return row
    diff = "".join(diff_write(path, old[path], new[path]) for path in old)
    batch = _batch(old, new)
    other = {**old, (last := changes[-1].path): _elsewhere(old[last], new[last])}
    for name, call in (
        ("mdplan", lambda folder: _mdplan(folder, batch)),
        ("git apply", lambda folder: _run(folder, diff, "git", "apply", "-")),
        (
            "patch",
            lambda folder: _run(folder, diff, "patch", "-p1", "-s", "--no-backup-if-mismatch", "-r", "-"),
        ),
    ):
        if name not in names:
            continue
        made, after = _with(old, call), _with(other, call)
        row[name] = {
            "exact": made == new,
            "afterwards": "nothing"
            if after == other
            else "all"
            if all(after[path] != other[path] for path in other)
            else "a part",
        }
    return row


def _elsewhere(old: str, new: str) -> str:
    """`old` with other text wherever `new` differs, so that nothing of the change fits."""
    lines = split(old)
    for start, gone, _ in reversed(blocks(old, new)):
        low, high = max(start - 3, 0), start + len(gone) + 3
        lines[low:high] = ["Somebody wrote other text here.\n"]
    return "".join(lines)


def _batch(old: Files, new: Files) -> str:
    """The batches of all files in one."""
    batches = []
    for path in old:
        derived = derive_batch(opened(path, old[path]), opened(path, new[path]), {"file": path})
        assert derived is not None, path
        batches.append(derived.batch)
    return compact(short_batch(joined(batches)))


def _with(files: Files, call: Callable[[Path], None]) -> dict[str, str]:
    """`files` after `call` in a folder that has them."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(text.encode())
        call(folder)
        return {path: (folder / path).read_bytes().decode() for path in files}


def _mdplan(folder: Path, batch: str) -> None:
    Engine.open(folder).apply(json.loads(batch))


def _run(folder: Path, diff: str, *command: str) -> None:
    subprocess.run(command, cwd=folder, input=diff.encode(), check=False, capture_output=True)
