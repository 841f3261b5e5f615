"""S14: connections that are never finished do not keep others from the server."""

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from mdplan.web.http import BODY_SECONDS, HEAD_SECONDS, most_connections
from tests.surfaces.http_calls import HttpServer, http_server

# S14

UNFINISHED = {
    "nothing": b"",
    "half a head": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n",
    "no body": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 100\r\n\r\n{",
}
# Seconds in which an honest request is answered. It costs milliseconds, but the machine may be busy; one that
# is answered only once unfinished ones are given up takes HEAD_SECONDS.
PATIENCE = HEAD_SECONDS - 1


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HttpServer]:
    """A server that may open as few files as some systems allow."""
    (tmp_path / "here.md").write_text("# Here\n", encoding="utf-8")
    with http_server("--root", str(tmp_path), most_files=128) as started:
        yield started


def connected(server: HttpServer, data: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    connection.sendall(data % server.port if b"%d" in data else data)
    return connection


@pytest.mark.parametrize("data", UNFINISHED.values(), ids=UNFINISHED)
def test_unfinished_requests_without_a_token_never_block_honest_ones(server: HttpServer, data: bytes) -> None:
    with ExitStack() as stack:
        for _ in range(150):
            stack.enter_context(connected(server, data))
        started = time.monotonic()
        report = server.call("md_read", {"file": "here.md"})

        assert "# Here" in str(report)
        assert time.monotonic() - started < PATIENCE


def test_running_request_is_never_dropped_for_unfinished_ones(server: HttpServer) -> None:
    """The body of the honest request comes after 150 others have connected."""
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
        f"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    with ExitStack() as stack:
        honest = stack.enter_context(connected(server, head.encode()))
        for _ in range(150):
            stack.enter_context(connected(server, b""))
        honest.sendall(body)

        assert honest.recv(1 << 16).startswith(b"HTTP/1.1 ")


@pytest.mark.slow
def test_slow_request_head_gets_no_extra_time(server: HttpServer) -> None:
    started = time.monotonic()
    with connected(server, b"GET /mcp HTTP/1.1\r\nX: ") as connection:
        connection.settimeout(1)
        while time.monotonic() - started < 3 * HEAD_SECONDS:
            try:
                connection.sendall(b"x")
                if connection.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break

    assert HEAD_SECONDS - 1 < time.monotonic() - started < HEAD_SECONDS + PATIENCE


@pytest.mark.slow
def test_stalled_request_body_ends_the_connection(server: HttpServer) -> None:
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
        "Content-Length: 100\r\n\r\n{"
    )
    started = time.monotonic()
    with connected(server, head.encode()) as connection:
        connection.settimeout(2 * BODY_SECONDS)
        with suppress(ConnectionResetError):
            assert connection.recv(1) == b""

    assert BODY_SECONDS - 1 < time.monotonic() - started < BODY_SECONDS + PATIENCE


@pytest.mark.parametrize(("files", "most"), [(128, 32), (20_000, 256), (3, 1)])
def test_connection_limit_leaves_file_descriptors_for_documents(
    monkeypatch: pytest.MonkeyPatch, files: int, most: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))

    assert most_connections() == most
