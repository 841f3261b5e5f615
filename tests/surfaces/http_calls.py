"""`mdplan serve --http` as a process: requests of any shape to it, and the SDK's own client."""

import http.client
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from resource import RLIMIT_NOFILE, setrlimit
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from tests.surfaces.mcp_calls import REPOSITORY, Calls, calls_to

SECONDS = 60
TOKEN = "a-token-of-the-tests"
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@dataclass(frozen=True)
class Answer:
    """A response: status, headers by lower-case name, body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> dict[str, Any]:
        """The one message of the protocol in it, be it plain or in a stream of events."""
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            return json.loads(re.findall(rb"^data: ?(.+?)\r?$", self.body, re.MULTILINE)[-1])
        return json.loads(self.body)


@dataclass
class HttpServer:
    """A running server: its port, its token, and what it said on its standard error before it listened."""

    process: "subprocess.Popen[Any]"
    port: int
    token: str
    said: list[str]
    session: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def send(
        self,
        body: bytes | None = None,
        headers: Mapping[str, str | None] | None = None,
        *,
        method: str = "POST",
        path: str = "/mcp",
    ) -> Answer:
        """Send a request, complete except for `headers`, which replace others; None omits one."""
        given: dict[str, str | None] = {"Host": f"127.0.0.1:{self.port}", **JSON}
        given |= {"Authorization": f"Bearer {self.token}", **(headers or {})}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None and "Content-Length" not in given and "Transfer-Encoding" not in given:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            reply = connection.getresponse()
            return Answer(
                reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()
            )
        finally:
            connection.close()

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer to a request of the protocol, in a session that lasts as long as the server."""
        if not self.session:
            client = {"name": "test", "version": "1"}
            hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
            opened = self.send(_request("initialize", hello))
            self.session = {
                "Mcp-Session-Id": opened.headers["mcp-session-id"],
                "Mcp-Protocol-Version": "2025-11-25",
            }
            self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}', self.session)
        return self.send(_request(method, params), self.session).message

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]

    @contextmanager
    def calls(self, mode: str = "auto") -> Iterator[Calls]:
        """The SDK's client, in one protocol generation."""
        with calls_to(self._transport(), mode) as calls:
            yield calls

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        headers = {"Authorization": f"Bearer {self.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=SECONDS) as client,
            streamable_http_client(self.url, http_client=client) as streams,
        ):
            yield streams

    def end(self) -> None:
        """Kill it, and close its streams."""
        self.process.kill()
        self.process.communicate(timeout=SECONDS)


@contextmanager
def http_server(
    *options: str,
    token: str | None = TOKEN,
    address: str = "127.0.0.1:0",
    program: str = "mdplan",
    most_files: int | None = None,
) -> Iterator[HttpServer]:
    """`mdplan serve --http ADDRESS OPTIONS` until the block ends; without `token` it makes one.

    `program` is the module that is run; it may open `most_files`.
    """
    limit = partial(setrlimit, RLIMIT_NOFILE, (most_files, most_files)) if most_files else None
    process = subprocess.Popen(
        [sys.executable, "-m", program, "serve", "--http", address, *options],
        cwd=REPOSITORY,
        env=_without_token() | ({} if token is None else {"MDPLAN_TOKEN": token}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        # Only in the new process: this one may have more files open than that.
        preexec_fn=limit,  # noqa: PLW1509
    )
    assert process.stderr is not None
    said = [process.stderr.readline()]
    try:
        found = re.search(r" at http://\S+:(\d+)/mcp\.", said[0])
        assert found is not None, said[0] + process.stderr.read()
        if token is None:
            said += [process.stderr.readline(), process.stderr.readline()]
            token = said[-1].split()[-1]
        if "--read-only" not in options:
            # Where others can reach the server, a warning stands before.
            assert any(line.startswith("To review plans, run `mdplan review`") for line in process.stderr)
        yield HttpServer(process, int(found[1]), token, said)
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)


@contextmanager
def http_server_on_a_terminal(*options: str) -> Iterator[tuple[HttpServer, str]]:
    """The same with a terminal as standard error, and the link for people that it shows there."""
    terminal, inner = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "mdplan", "serve", "--http", "127.0.0.1:0", *options],
        cwd=REPOSITORY,
        env=_without_token() | {"MDPLAN_TOKEN": TOKEN},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=inner,
    )
    os.close(inner)
    shown = b""
    try:
        while (link := re.search(rb"(http://\S+:(\d+)/review/\S+/open\S+)\r?\n", shown)) is None:
            shown += os.read(terminal, 4096)
        yield HttpServer(process, int(link[2]), TOKEN, []), link[1].decode()
    finally:
        process.kill()
        process.wait(timeout=SECONDS)
        os.close(terminal)


def _without_token() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "MDPLAN_TOKEN"}


def _request(method: str, params: dict[str, Any] | None) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}).encode()
