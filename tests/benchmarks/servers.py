"""What an agent waits for: a server that starts, and one edit from the call to the receipt."""

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from documents import MEGABYTE, document
from measure import ENVIRONMENT, Measure, Part, Timed, against, wall
from rivals import Missing, Rival, filesystem_server, text_editor
from scratch import scratch_folder

from mdplan.markdown.outline import Outline
from mdplan.storage.filesystem import Durability
from mdplan.text.source import Source

ROUNDS = 15
START_ROUNDS = 9
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
# The command line has no option for durability.
_SERVE = """
import sys
from mdplan.storage.filesystem import Durability
from mdplan.documents.workspace import Workspace
from mdplan.settings import Settings
from mdplan.mcp.adapter import run_on_stdio
from mdplan.mcp.server import new_server, build_catalog

def load():
    from mdplan.engine.engine import Engine
    return build_catalog(Engine(Workspace.open([sys.argv[1]]), Settings(durability=Durability(sys.argv[2]))))

run_on_stdio(new_server(), load)
"""
_BARE = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("bare")

@server.tool()
def one(text: str) -> str:
    return text

@server.tool()
def two(number: int) -> int:
    return number

@server.tool()
def three(flag: bool) -> bool:
    return flag

server.run()
"""


def server_parts() -> Iterator[Part]:
    yield Part(
        "From starting a server to its answer to `initialize`",
        f"the clock, {START_ROUNDS} rounds",
        tuple(start_measures()),
    )
    how = f"the clock, {ROUNDS} rounds; each server has a file of its own, and the edit is one line of it"
    yield Part("One edit, from the call of the tool to the receipt, over stdio", how, tuple(edit_measures()))


def start_measures() -> Iterator[Measure]:
    with scratch_folder() as root:
        filesystem, editor = filesystem_server(root), text_editor()
        commands: dict[str, Sequence[str]] = {
            "bare": (sys.executable, "-c", _BARE),
            "mdplan": (str(Path(sys.executable).with_name("mdplan")), "serve", "--root", str(root)),
        }
        rivals = {"filesystem": filesystem, "editor": editor}
        commands |= {name: rival.command for name, rival in rivals.items() if isinstance(rival, Rival)}
        costs = against("bare", {name: started(command) for name, command in commands.items()}, START_ROUNDS)
        yield Measure(
            what="`mdplan serve` against three tools on the bare SDK", ratio=costs["mdplan"], bar=1.15
        )
        for name, shown in (("filesystem", "server-filesystem"), ("editor", "mcp-text-editor")):
            rival = rivals[name]
            missing = rival.reason if isinstance(rival, Missing) else ""
            yield Measure(what=f"{shown} against the same", ratio=costs.get(name), missing=missing)


def started(command: Sequence[str]) -> Timed:
    def timed() -> float:
        start = time.perf_counter()
        client = Client(command)
        taken = time.perf_counter() - start
        client.close()
        return taken

    return timed


def edit_measures() -> Iterator[Measure]:
    for size, name, bar in ((MEGABYTE, "1 MB", 0.6), (MEGABYTE // 100, "10 kB", None)):
        with scratch_folder() as root:
            rivals = {"filesystem": filesystem_server(root), "editor": text_editor()}
            costs = edit_costs(root, size, rivals)
        missing = rivals["filesystem"].reason if isinstance(rivals["filesystem"], Missing) else ""
        for durability in (Durability.FULL, Durability.PROCESS):
            what = f"in a file of {name}, `durability: {durability}`, against server-filesystem's `edit_file`"
            yield Measure(what=what, ratio=costs.get(durability), bar=bar, missing=missing)
        editor = rivals["editor"]
        yield Measure(
            what=f"in a file of {name}, mcp-text-editor against the same",
            ratio=costs.get("editor"),
            missing=missing or (editor.reason if isinstance(editor, Missing) else ""),
        )


def edit_costs(root: Path, size: int, rivals: dict[str, Rival | Missing]) -> dict[str, float]:
    """Return the cost of an edit in units of server-filesystem; nothing if that is missing."""
    filesystem, editor = rivals["filesystem"], rivals["editor"]
    if isinstance(filesystem, Missing):
        return {}
    text, line = marked(document(size))
    actions: dict[str, Timed] = {}
    clients = {"filesystem": Client(filesystem.command)}
    clients |= {each: Client((sys.executable, "-c", _SERVE, str(root), each)) for each in Durability}
    clients |= {"editor": Client(editor.command)} if isinstance(editor, Rival) else {}
    try:
        for name, client in clients.items():
            path = root / f"{name}.md"
            path.write_text(text, encoding="utf-8")
            client.request("tools/list", {})
            actions[name] = editing(client, name, path, line)
        return against("filesystem", actions, ROUNDS)
    finally:
        for client in clients.values():
            client.close()


def editing(client: "Client", name: str, path: Path, line: int) -> Timed:
    """The next edit of the marked line, as the tools of the server `name` want it."""
    count = 0

    def timed() -> float:
        nonlocal count
        call = call_of(name, path, line, MARKER.format(count), MARKER.format(count + 1))
        count += 1
        taken = wall(lambda: client.call(*call))()
        assert MARKER.format(count) in path.read_text(encoding="utf-8"), name
        return taken

    return timed


def call_of(name: str, path: Path, line: int, old: str, new: str) -> tuple[str, dict[str, Any]]:
    """Return tool and arguments that replace the text `old` of `line`; hashes come from the read before."""
    match name:
        case "filesystem":
            return "edit_file", {"path": str(path), "edits": [{"oldText": old, "newText": new}]}
        case "editor":
            place = {"start": line, "end": line, "range_hash": sha256(f"{old}\n".encode())}
            patch = {**place, "contents": f"{new}\n"}
            arguments = {"file_path": str(path), "file_hash": sha256(path.read_bytes()), "patches": [patch]}
            return "patch_text_file_contents", arguments
        case _:
            edit = {"op": "replace_match", "pattern": old, "replacement": new, "expectedMatchCount": 1}
            return "md_apply", {"file": path.name, "edits": [edit]}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


MARKER = "The marker says number {}."


def marked(text: str) -> tuple[str, int]:
    """`text` with a line of prose in its middle, and the number of that line."""
    source = Source.decode(text.encode())
    assert isinstance(source, Source)
    sections = Outline(source).sections
    at = sections[len(sections) // 2].span.start
    return f"{text[:at]}{MARKER.format(0)}\n\n{text[at:]}", text.count("\n", 0, at) + 1


class Client:
    """One client of one server over stdio, as thin as can be."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start the server and wait for its answer to `initialize`."""
        self._process = subprocess.Popen(
            command, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._id = 0
        self.request("initialize", INITIALIZE)
        self._send({"method": "notifications/initialized"})

    def call(self, tool: str, arguments: dict[str, Any]) -> None:
        answer = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert not answer["result"].get("isError"), answer

    def request(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._id += 1
        self._send({"id": self._id, "method": method, "params": parameters})
        assert self._process.stdout is not None
        while True:
            message: dict[str, Any] = json.loads(self._process.stdout.readline())
            if "method" in message and "id" in message:
                # The one thing that servers ask: which roots the client has.
                self._send({"id": message["id"], "result": {"roots": []}})
            elif message.get("id") == self._id:
                assert "result" in message, message
                return message

    def close(self) -> None:
        self._process.communicate()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()
