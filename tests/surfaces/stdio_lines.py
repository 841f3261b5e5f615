"""Talk to `mdplan serve` as a process line by line, including lines no client would send."""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.surfaces.mcp_calls import REPOSITORY

SECONDS = 30
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Lines:
    """The server's standard streams, line by line, with a time limit."""

    def __init__(self, server: "subprocess.Popen[bytes]") -> None:
        assert server.stdin is not None
        assert server.stdout is not None
        self.server = server
        self._input, self._output = server.stdin, server.stdout
        self._replies: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._output:
            self._replies.put(line)
        self._replies.put(b"the server has ended")

    def send(self, line: bytes) -> None:
        self._input.write(line + b"\n")
        self._input.flush()

    def ask(self, method: str, params: dict[str, Any] | None = None, number: int = 1) -> dict[str, Any]:
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}
        self.send(json.dumps(request).encode())
        reply = self.hear()
        assert reply["id"] == number
        return reply

    def hear(self) -> dict[str, Any]:
        """The next message of the server."""
        return json.loads(self._replies.get(timeout=SECONDS))

    def call(self, tool: str, arguments: dict[str, Any], number: int = 1) -> dict[str, Any]:
        return self.ask("tools/call", {"name": tool, "arguments": arguments}, number)["result"]


@contextmanager
def lines_to(*options: str, hello: Mapping[str, Any] | None = HELLO) -> Iterator[Lines]:
    """Start `mdplan serve OPTIONS`, and begin with the parameters `hello`, if there are any."""
    server = subprocess.Popen(
        [sys.executable, "-m", "mdplan", "serve", *options],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        lines = Lines(server)
        if hello is not None:
            lines.ask("initialize", dict(hello), 0)
            lines.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        yield lines
    finally:
        server.kill()
        for stream in (server.stdin, server.stderr):
            assert stream is not None
            stream.close()
        server.wait(SECONDS)
        lines._reader.join(SECONDS)  # noqa: SLF001 (the stream may only be closed when nobody reads it)
        lines._output.close()  # noqa: SLF001
