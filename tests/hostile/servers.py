"""Send anything to a server over either transport, and check that it survives."""

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from tests.surfaces.http_calls import HttpServer, http_server
from tests.surfaces.stdio_lines import Lines, lines_to

TRANSPORTS: Final = ("stdio", "http")
_NUMBERS: Final = itertools.count(1_000)


@dataclass(frozen=True)
class Spoken:
    """The result of a request: the messages received, and the HTTP status if there is one."""

    messages: list[dict[str, Any]]
    status: int = 200

    @property
    def codes(self) -> list[str]:
        """The code of the refusal of a tool; `error` where the protocol itself refused."""
        found = []
        for message in self.messages:
            result = message.get("result", {})
            if "error" in message:
                found.append("error")
            elif result.get("isError"):
                found.append((result.get("structuredContent") or {}).get("error", {}).get("code", "isError"))
        return found if self.status < 400 else [f"HTTP {self.status}"]


@dataclass
class OverStdio:
    """A child process, line by line."""

    lines: Lines
    name: str = "stdio"

    def say(self, request: bytes, *, may_be_silent: bool) -> Spoken:
        """Send one line with the ID 7, and a ping; wait for both answers, or only for that of the ping.

        Calls run concurrently, so an answer may follow that of the ping. Answers to earlier requests are
        skipped.
        """
        number = next(_NUMBERS)
        ping = json.dumps({"jsonrpc": "2.0", "id": -number, "method": "ping"})
        self.lines.send(request.replace(b'"id":7', b'"id":%d' % number))
        self.lines.send(ping.encode())
        answers: dict[int, dict[str, Any]] = {}
        while -number not in answers or (number not in answers and not may_be_silent):
            message = self.lines.hear()
            answers[message["id"]] = message
        return Spoken([answers[number]] if number in answers else [])

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        spoken = self.say(call_of(tool, json.dumps(arguments)), may_be_silent=False)
        return spoken.messages[0]["result"]

    def is_alive(self) -> bool:
        spoken = self.say(b'{"jsonrpc":"2.0","id":7,"method":"ping"}', may_be_silent=False)
        return spoken.messages[0]["result"] == {}


@dataclass
class OverHttp:
    """A child process, request by request."""

    server: HttpServer
    name: str = "http"

    def say(self, request: bytes, *, may_be_silent: bool) -> Spoken:
        """Send one body, in a session. There is always an answer, if only a status."""
        del may_be_silent
        self.server.ask("ping")
        answer = self.server.send(request, self.server.session)
        is_message = answer.headers.get("content-type", "").startswith(("application/json", "text/event"))
        return Spoken([answer.message] if is_message and answer.body else [], answer.status)

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self.server.call(tool, arguments)

    def is_alive(self) -> bool:
        return self.server.ask("ping")["result"] == {}


Server = OverStdio | OverHttp


@contextmanager
def server_over(transport: str, *options: str) -> Iterator[Server]:
    """Start `mdplan serve OPTIONS` over one of the transports."""
    if transport == "stdio":
        with lines_to(*options) as lines:
            yield OverStdio(lines)
    else:
        with http_server(*options) as server:
            yield OverHttp(server)


def call_of(tool: str, arguments: str) -> bytes:
    """A call whose arguments are JSON text that need not be valid."""
    head = f'{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":{json.dumps(tool)},"arguments":'
    return (head + arguments + "}}").encode("utf-8", "surrogatepass")


def check_said(case: str, server: Server, request: bytes, allowed: set[str]) -> Spoken:
    """Check that `server` answers `request` with an `allowed` refusal, and survives.

    `silence` is a line that is not a message of the protocol: over stdio it gets no answer.
    """
    spoken = server.say(request, may_be_silent="silence" in allowed)
    lives = server.is_alive()
    codes = spoken.codes or ["accepted" if spoken.messages else "silence"]
    assert lives, case
    assert set(codes) <= allowed, (case, spoken)
    return spoken
