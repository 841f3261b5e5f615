"""Any batch, then its undo, gives the same bytes; then the undo of that, the result."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.engine.engine import Engine
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from tests.golden_case import Tree, read_tree

SETTINGS = Settings(durability=Durability.PROCESS)
NAMES = ("a.md", "b.txt", "docs/c.md", "new/d.md")
LINES = st.sampled_from(["# A", "## B", "one", "", "  two", "caf\u00e9", "\u2028", "- x"])
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    text = "".join(draw(st.lists(st.tuples(LINES, LINE_ENDS).map("".join), max_size=6))) + draw(LINES)
    # What has a mark must decode; what has none may hold bytes that are no text.
    return draw(
        st.sampled_from([text.encode(), b"\xef\xbb\xbf" + text.encode(), text.encode() + b"\xff\xfe\n"])
    )


@st.composite
def file_edits(draw: st.DrawFn, name: str, data: bytes | None, free: list[str]) -> dict[str, Any] | None:
    """Edits of one file, or the operation on it as a whole; `free` are names that no file has."""
    if data is None:
        return {"file": name, "edits": [{"op": "create_file", "markdown": draw(LINES)}]}
    kind = draw(st.sampled_from(["lines", "lines", "delete", "rename", "append"]))
    if kind == "delete":
        return {"file": name, "edits": [{"op": "delete_file"}]}
    count = len(data.decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    first = draw(st.integers(1, count))
    edits: list[dict[str, Any]] = [
        {
            "op": "replace_lines",
            "lines": {"start": first, "end": draw(st.integers(first, count))},
            "markdown": "\n".join(draw(st.lists(st.sampled_from(["x", "y", "# Y"]), min_size=1, max_size=3))),
        }
    ]
    if kind == "append":
        edits = [{"op": "append_to_file", "markdown": draw(st.sampled_from(["tail", "# T\n\nx\n"]))}]
    if kind == "rename" and free:
        edits = [{"op": "rename_file", "newFile": free.pop()}, *edits[: draw(st.integers(0, 1))]]
    return {"file": name, "edits": edits}


@pytest.mark.requirement("undo-1")
@given(st.data())
def test_batch_and_undo_give_the_same_bytes_and_redo_the_result(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "docs").mkdir()
        there = {name: data.draw(contents()) for name in NAMES[:3]}
        for name, content in there.items():
            (root / name).write_bytes(content)
        free = ["moved.md", "new/deep/moved.md"]
        chosen = data.draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
        files = [data.draw(file_edits(name, there.get(name), free)) for name in chosen]
        check(root, {"files": files, "allowOutlineChange": True, "allowDuplicateHeadings": True})


def check(root: Path, batch: dict[str, Any]) -> None:
    with Engine.open([root], settings=SETTINGS).workspace as workspace:
        engine = Engine(workspace, SETTINGS)
        before = read_tree(root)
        report = engine.apply({"planId": engine.plan(batch).plan_id or "none"})
        if not report.ok or report.no_op:
            return
        after = read_tree(root)
        undone = engine.undo(report.receipt.transaction)
        assert undone.ok, undone.diagnostics
        expect(root, before)
        redone = engine.undo(undone.receipt.transaction)
        assert redone.ok, redone.diagnostics
        expect(root, after)


def expect(root: Path, tree: Tree) -> None:
    assert read_tree(root) == tree
    folders = {path for path in root.rglob("*") if path.is_dir() and ".mdplan" not in path.parts}
    assert folders <= {root / "docs"} | {(root / name).parent for name in tree} | {
        (root / name).parent.parent for name in tree
    }
