"""S14: connections that are never finished do not keep others from the server."""

import re
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import anyio
import pytest
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from mdplan.engine.approval import approved_only
from mdplan.engine.engine import Engine
from mdplan.mcp.http_part import LimitedSessions
from mdplan.mcp.review_app import Nonces
from mdplan.web.http import BODY_SECONDS, HEAD_SECONDS, most_connections
from mdplan.web.sessions import ReviewSessions, address_of
from tests.surfaces.http_calls import HttpServer, http_server
from tests.surfaces.review_calls import HOST, ReviewCalls

# S14
UNFINISHED = {
    "nothing": b"",
    "half a head": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n",
    "half a body": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer TOKEN\r\n"
    b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    "no body": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 100\r\n\r\n{",
}

# Seconds to answer an honest request. It costs milliseconds, but the machine may be busy; a request that
# waits for unfinished ones takes HEAD_SECONDS.
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
            stack.enter_context(connected(server, data.replace(b"TOKEN", server.token.encode())))
        started = time.monotonic()
        report = server.call("md_read", {"file": "here.md"})

        assert "# Here" in str(report)
        assert time.monotonic() - started < PATIENCE


def test_new_session_ends_the_one_that_was_idle_longest() -> None:
    seen: list[tuple[str, str]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        session = Headers(scope=scope).get("mcp-session-id", f"s{len(seen)}")
        seen.append((scope["method"], session))
        await send({"type": "http.response.start", "headers": [(b"mcp-session-id", session.encode())]})

    async def ask_all() -> None:
        async def ignore(message: object = None) -> Message:
            return {"message": message}

        limited = LimitedSessions(app, most=2)
        for session in (b"", b"", b"s0", b"", b""):
            headers = [(b"mcp-session-id", session)] if session else []
            await limited({"type": "http", "method": "POST", "headers": headers}, ignore, ignore)  # type: ignore[arg-type]

    anyio.run(ask_all)

    assert [session for method, session in seen if method == "DELETE"] == ["s1", "s0"]


def test_running_request_is_never_dropped_for_unfinished_ones(server: HttpServer) -> None:
    """The body of the honest request arrives after 150 other connections."""
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


# --- S15 and S17: links and sessions of the review page.


@pytest.fixture
def calls(tmp_path: Path) -> ReviewCalls:
    (tmp_path / "guide.md").write_text("# Guide\n", encoding="utf-8")
    return ReviewCalls(Engine.open([tmp_path], approval=approved_only))


# S15
def test_servers_never_share_a_cookie_name() -> None:
    """Browsers send a cookie to all ports of a host: servers must not overwrite each other's."""
    kinds = [kind for each in [ReviewSessions() for _ in range(50)] for kind in (each.deciding, each.viewing)]

    assert len({kind.cookie for kind in kinds}) == 100


def test_cookie_path_is_unknown_to_clients_and_other_servers(calls: ReviewCalls) -> None:
    """Browsers send a cookie to all ports of a host, but only below its path."""
    opened = calls.get(calls.link).headers["set-cookie"]
    path = next(part.strip()[5:] for part in opened.split(";") if part.strip().startswith("Path="))
    viewing = address_of(calls.root, "ID") or ""

    assert path + "/" == calls.base
    assert re.fullmatch(r"/review/[\w-]{22}", path)
    assert path not in viewing
    kinds = [kind for each in (ReviewSessions(), ReviewSessions()) for kind in (each.deciding, each.viewing)]
    assert len({kind.base for kind in kinds}) == 4


def test_session_is_rejected_at_the_path_of_the_other_kind(calls: ReviewCalls) -> None:
    calls.visit()
    viewing = (address_of(calls.root, "ID") or "").removeprefix(f"http://{HOST}").partition("view?")[0]

    assert calls.get(calls.base).status == 200
    assert calls.get(viewing).status == 401
    assert calls.get("/review/").status == 401


# S17
@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "OPTIONS"])
def test_link_is_only_consumed_by_get(calls: ReviewCalls, method: str) -> None:
    assert calls.ask(method, calls.link, b"", {}).status == 405

    assert calls.get(calls.link).status == 200


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_idle_session_expires() -> None:
    clock = Clock()
    visits = ReviewSessions(clock)
    cookies = {visits.deciding.cookie: visits.start(visits.new_link()) or ""}
    for _ in range(10):
        clock.now += 7 * 3600
        assert visits.deciding.of(cookies) is not None
    clock.now += 9 * 3600

    assert visits.deciding.of(cookies) is None


def test_at_most_a_hundred_sessions_of_each_kind_exist() -> None:
    visits = ReviewSessions(Clock())
    cookies = [{visits.deciding.cookie: visits.start(visits.new_link()) or ""} for _ in range(1000)]

    assert sum(visits.deciding.of(each) is not None for each in cookies) == 100


def test_session_in_use_is_never_evicted() -> None:
    visits = ReviewSessions(Clock())
    used = {visits.deciding.cookie: visits.start(visits.new_link()) or ""}
    for _ in range(1000):
        visits.start(visits.new_link())
        assert visits.deciding.of(used) is not None


# --- Nonces of the App are valid once, and cannot be guessed.


def test_nonce_is_valid_for_one_call_on_one_plan_version() -> None:
    nonces = Nonces()
    nonce = nonces.nonce("sha256-a", "1")

    assert not nonces.use(nonce, "sha256-b", "1")
    assert not nonces.use(nonce, "sha256-a", "2")
    assert nonces.use(nonce, "sha256-a", "1")
    assert not nonces.use(nonce, "sha256-a", "1")
    assert nonces.use(nonces.nonce("sha256-a", "1"), "sha256-a", "1")


def test_nonce_is_valid_in_one_process_only() -> None:
    assert not Nonces().use(Nonces().nonce("sha256-a", "1"), "sha256-a", "1")


def test_nonce_binds_plan_and_version_unambiguously() -> None:
    nonces = Nonces()

    assert nonces.nonce("a", "b1") != nonces.nonce("ab", "1")


@pytest.mark.parametrize("guess", ["", "\ud800", "é" * 64, "0" * 64])
def test_guessed_nonce_is_rejected(guess: str) -> None:
    assert not Nonces().use(guess, "sha256-a", "1")
