"""Golden answers of tools: one JSON file per case, with files, a request, the answer, and the resulting
files.

A case can name the requirements of `tests/requirements.md` that it checks.

A file is its text, or an object with encoding and text. Run with MDPLAN_UPDATE_SNAPSHOTS=1 to accept the
current answers; review every change.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mdplan.engine.engine import Engine
from tests.support.servers import build_server
from tests.surfaces.mcp_calls import Calls, calls_to

RESPONSES = Path(__file__).parents[1] / "snapshots" / "responses"
INPUTS = ("requirements", "tool", "files", "request")
Tree = dict[str, bytes]


def cases_of(toolset: str) -> list[str]:
    """Names of the cases of a toolset."""
    return sorted(path.stem for path in (RESPONSES / toolset).glob("*.json"))


@contextmanager
def served(root: Path, *toolsets: str, read_only: bool = False, deny: Sequence[str] = ()) -> Iterator[Calls]:
    """Client of a server of `toolsets` over `root`."""
    server = build_server(Engine.open([root], deny=deny), toolsets=toolsets, read_only=read_only)
    with calls_to(server, "auto") as calls:
        yield calls


def lay_out(root: Path, files: Mapping[str, bytes]) -> None:
    """Write `files` below `root`."""
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def tree_of(root: Path) -> dict[str, bytes | None]:
    """Return everything below `root` except the history; folders have no bytes."""
    paths = (path for path in root.rglob("*") if path.relative_to(root).parts[0] != ".mdplan")
    return {
        path.relative_to(root).as_posix(): path.read_bytes() if path.is_file() else None for path in paths
    }


def check_case(toolset: str, name: str, root: Path) -> None:
    """Check the answer; everything written is in the history, and an undo restores it."""
    path = RESPONSES / toolset / f"{name}.json"
    case = json.loads(path.read_bytes())
    before = {file: _bytes_of(text) for file, text in case["files"].items()}
    lay_out(root, before)
    engine = Engine.open([root])
    tree_before = tree_of(root)
    with calls_to(build_server(engine, toolsets=[toolset]), "auto") as calls:
        given = _given(calls, case, root, before)
    _check_history(engine, root, tree_before)
    if os.environ.get("MDPLAN_UPDATE_SNAPSHOTS") == "1":
        inputs = {part: case[part] for part in INPUTS if part in case}
        path.write_text(
            json.dumps({**inputs, **given}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        return
    assert given == {part: case[part] for part in case if part not in INPUTS}


def _given(calls: Calls, case: Mapping[str, Any], root: Path, before: Tree) -> dict[str, Any]:
    """What the server makes of the request, as a case writes it down."""
    result = calls.call(case["tool"], case["request"])
    after = {name: data for name, data in tree_of(root).items() if data is not None}
    assert not (result.is_error and after != before), "a refusal wrote something"
    is_json = result.text == json.dumps(result.data, ensure_ascii=False)
    changed = {name: data for name, data in after.items() if data != before.get(name)}
    return {
        "isError": result.is_error,
        # A text that is not the same as the data is the answer that a document lays out.
        **({"answer": result.data} if is_json else {"text": result.text.split("\n")}),
        "after": {name: _text_of(data) for name, data in changed.items()},
    }


def _check_history(engine: Engine, root: Path, before: Mapping[str, bytes | None]) -> None:
    transactions = engine.history().transactions
    is_written = tree_of(root) != before
    assert len(transactions) == is_written
    if is_written:
        after = tree_of(root)
        assert engine.undo().ok
        assert tree_of(root) == before
        assert engine.undo().ok
        assert tree_of(root) == after


def _bytes_of(text: str | Mapping[str, str]) -> bytes:
    if isinstance(text, str):
        return text.encode()
    ((encoding, content),) = text.items()
    return content.encode(encoding)


def _text_of(data: bytes) -> str | dict[str, str]:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"latin-1": data.decode("latin-1")}
