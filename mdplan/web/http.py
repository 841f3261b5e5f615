"""The HTTP server of `mdplan serve --http` and `mdplan review`: socket, shutdown, guard, limits.

One guard covers all routes, including later ones. It checks the token or session, the host, the origin, and
the body size.
"""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from enum import Enum
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Final

import anyio
import anyio.to_thread
import click
import uvicorn
from anyio.abc import TaskGroup, TaskStatus
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from mdplan.diagnostics import Exit
from mdplan.values import Struct
from mdplan.web.http_options import HttpOptions
from mdplan.web.signals import stop_signals

_POLL_SECONDS: Final = 0.1
_MOST_WAITING: Final = 1024


# Decides if a request is authorized.
Admission = Callable[[HTTPConnection], bool]


class HttpPart(Struct, kw_only=True):
    """The part of a user interface: its routes, and resources while serving.

    Besides the token, any of `admissions` authorizes requests to all routes. Paths below `pages` accept forms
    of their own pages. `listening` is called once with the server's URL (`http://127.0.0.1:8080`) before
    serving.
    """

    routes: tuple[BaseRoute, ...]
    admissions: tuple[Admission, ...] = ()
    pages: tuple[str, ...] = ()
    running: Callable[[], AbstractAsyncContextManager[object]] = nullcontext
    listening: Callable[[str], None] = lambda _url: None


def serve_http(parts: Sequence[HttpPart], options: HttpOptions, path: str | None = None) -> int:
    """Serve `parts` until a signal, and return the exit code. `path` is the endpoint for MCP clients."""
    try:
        listener = _listener(options)
    except OSError as error:
        where = f"{options.host}:{options.address[1]}"
        click.echo(f"error: IO_ERROR: cannot listen on {where}: {error.strerror}", err=True)
        return Exit.ENVIRONMENT
    with listener:
        port = listener.getsockname()[1]
        rules = GuardRules(
            hosts=options.allowed_hosts(port),
            origins=frozenset(options.origins),
            admission=any_of(bearer(options.token), *(each for part in parts for each in part.admissions)),
            max_body_bytes=options.max_body,
            pages=tuple(page for part in parts for page in part.pages),
        )
        server = _Server(
            uvicorn.Config(
                http_app(parts, rules),
                # Log messages of the SDK and uvicorn go to our log; requests are not logged.
                log_config=None,
                access_log=False,
                lifespan="on",
                loop="asyncio",
                http=LimitedConnection,
                backlog=most_accepted(),
                ws="none",
                proxy_headers=False,
                server_header=False,
            )
        )
        name = f"{options.host}:{port}" if options.is_loopback else options.hosts[0]

        def announce() -> None:
            if path is not None:
                _announce_address(options, port, path)
            for part in parts:
                part.listening(f"http://{name}")

        return anyio.run(_serve, server, listener, announce)


class _Server(uvicorn.Server):
    """uvicorn without its signal handling, which would kill a running commit."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening. uvicorn's backlog limits what one round accepts, not how many can wait."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_MOST_WAITING)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the receiver below."""
        yield


def _listener(options: HttpOptions) -> socket.socket:
    # Without the protocol, asyncio does not set TCP_NODELAY, which costs 40 ms per response.
    listener = socket.socket(options.family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(options.address)
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener


def _announce_address(options: HttpOptions, port: int, path: str) -> None:
    lines = [f"Serving MCP at http://{options.host}:{port}{path}. Ctrl-C ends it."]
    if options.token_is_new:
        lines.append(
            f"Clients must send this header, made for this run:\nAuthorization: Bearer {options.token}"
        )
    if not options.is_loopback:
        lines.append("Nothing here is encrypted: other machines should come through a proxy with TLS.")
    click.echo("\n".join(lines), err=True)


async def _serve(server: _Server, listener: socket.socket, announce: Callable[[], None]) -> int:
    async with anyio.create_task_group() as tasks:
        await tasks.start(_stop_on_signal, server, tasks)
        # The reader of this may send a signal immediately.
        announce()
        await server.serve(sockets=[listener])
        tasks.cancel_scope.cancel()
    return Exit.INTERRUPTED if server.should_exit else Exit.ENVIRONMENT


async def _stop_on_signal(
    server: _Server, tasks: TaskGroup, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """Stop on the first signal once no call is running, on the second immediately."""
    with stop_signals() as signals:
        task_status.started()
        async for _ in signals:
            if server.should_exit:
                os._exit(Exit.INTERRUPTED)
            server.should_exit = True
            tasks.start_soon(_end_streams_when_idle, server)


async def _end_streams_when_idle(server: _Server) -> None:
    """Cut endless streams once no call is running and responses had time to leave."""
    limiter = anyio.to_thread.current_default_thread_limiter()
    n_idle = 0
    while n_idle < 3:
        await anyio.sleep(_POLL_SECONDS)
        n_idle = 0 if limiter.borrowed_tokens else n_idle + 1
    # uvicorn would log each of them as an application failure.
    logging.getLogger("uvicorn.error").disabled = True
    for task in tuple(server.server_state.tasks):
        task.cancel()


class GuardRules(Struct, kw_only=True):
    """The guard's rules; names and origins in lower case, as browsers send them.

    `hosts` are exact Host headers (`127.0.0.1:8080`), `origins` exact Origin headers
    (`https://docs.example.org`). `max_body_bytes` limits a request body. Paths below `pages` accept forms of
    this server's own pages.
    """

    hosts: frozenset[str]
    origins: frozenset[str]
    admission: Admission
    max_body_bytes: int
    pages: tuple[str, ...] = ()


def http_app(parts: Sequence[HttpPart], rules: GuardRules) -> Starlette:
    """Return an application with the routes of `parts`, guarded by `rules`."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for part in parts:
                await stack.enter_async_context(part.running())
            yield

    return Starlette(
        routes=[route for part in parts for route in part.routes],
        middleware=[Middleware(HttpGuard, rules=rules)],
        lifespan=lifespan,
    )


# --- Time limits per request, and a limit on open connections
#
# A client that opens connections without sending requests, or never finishes one, blocks others; uvicorn only
# limits the time between requests.

HEAD_SECONDS: Final = 10.0

# Between two parts of a body, and for all of it.
BODY_SECONDS: Final = 20.0
MOST_BODY_SECONDS: Final = 300.0
_MOST_CONNECTIONS: Final = 256


def most_accepted() -> int:
    """Return how many connections may be accepted at once.

    A connection is counted, and another one cut, three loop iterations after it was accepted. Out of files,
    asyncio would report an error for every waiting connection.
    """
    return max(1, most_connections() // 4)


def most_connections() -> int:
    """Return the maximum number of connections; the other open files are for documents."""
    if sys.platform == "win32":
        return _MOST_CONNECTIONS
    import resource

    most_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most_files == resource.RLIM_INFINITY:
        return _MOST_CONNECTIONS
    return max(1, min(_MOST_CONNECTIONS, most_files // 4))


class _Phase(Enum):
    """What a connection waits for: a request head, a body, or our response."""

    HEAD = HEAD_SECONDS
    BODY = BODY_SECONDS
    ANSWER = None


class LimitedConnection(H11Protocol):
    """A connection that is closed if a request head or body part is late.

    At 256 connections, or a quarter of the process's file limit, a new one replaces the longest waiting for a
    request head, else for its body, else the oldest event stream, which clients reopen. If all are running
    calls, the new one is closed.
    """

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 (those of uvicorn)
        super().__init__(*args, **options)
        self._phase = _Phase.ANSWER
        self.since = 0.0
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request head."""
        super().connection_made(transport)
        self._follow()
        if len(self.connections) > most_connections():
            others = [each for each in self.connections if isinstance(each, LimitedConnection)]
            waiting = [each for each in others if each is not self and each.rank is not None]
            (min(waiting, key=lambda each: (each.rank, each.since)) if waiting else self).cut()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Continue a request."""
        super().data_received(data)
        self._follow()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._follow()

    @property
    def rank(self) -> int | None:
        """Priority for being cut, lowest first, then by `since`; None for a running call."""
        if self._phase is not _Phase.ANSWER:
            return int(self._phase is _Phase.BODY)
        cycle: RequestResponseCycle | None = self.cycle
        return 2 if cycle is not None and cycle.scope["method"] == "GET" else None

    def _follow(self) -> None:
        """Start the timer of the current phase."""
        phase = self._phase_now()
        if phase is _Phase.HEAD and self._phase is _Phase.HEAD:
            # A head that arrives byte by byte gets no extra time.
            return
        self._stop_clock()
        now = self.loop.time()
        if phase is not self._phase:
            self._phase, self.since = phase, now
        if phase.value is not None and not self.transport.is_closing():
            left = self.since + MOST_BODY_SECONDS - now
            self._deadline = self.loop.call_later(min(phase.value, left), self.cut)

    def _phase_now(self) -> _Phase:
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete:
            return _Phase.HEAD
        return _Phase.BODY if cycle.more_body else _Phase.ANSWER

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def cut(self) -> None:
        """Close the connection immediately; `close` would wait for the client to read pending output."""
        self._stop_clock()
        self.connections.discard(self)
        self.transport.abort()


_BEARER: Final = "bearer"
_CLOSED_BY_POLICY: Final = 1008

_NOT_ADMITTED: Final = (
    "A valid token is needed: Authorization: Bearer TOKEN. "
    "To review plans, open the link that the server printed when it started; it works once."
)


def bearer(token: str) -> Admission:
    """Return a check for the header `Authorization: Bearer TOKEN`."""
    expected = _digest(token)

    def admits(connection: HTTPConnection) -> bool:
        scheme, _, given = connection.headers.get("authorization", "").partition(" ")
        # Compare digests, so that the time is independent of the token's length.
        return compare_digest(_digest(given.strip()), expected) and scheme.lower() == _BEARER

    return admits


def any_of(*admissions: Admission) -> Admission:
    """Return a check that passes if any of `admissions` does."""
    return lambda connection: any(admits(connection) for admits in admissions)


class HttpGuard:
    """Middleware that enforces `rules` before reading a body.

    421 for another host, which is how DNS rebinding reaches a local server from a browser; 403 for an origin;
    401 without a valid token; 413 for a too long body.
    """

    def __init__(self, app: ASGIApp, rules: GuardRules) -> None:
        self._app = app
        self._rules = rules
        self._for_pages = CORSMiddleware(
            self._admit,
            allow_origins=sorted(rules.origins),
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=("*",),
            expose_headers=("Mcp-Session-Id",),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": _CLOSED_BY_POLICY})
        elif (refusal := self._refusal(scope["path"], Headers(scope=scope))) is not None:
            await refusal(scope, receive, send)
        elif self._rules.origins:
            await self._for_pages(scope, receive, send)
        else:
            await self._admit(scope, receive, send)

    def _refusal(self, path: str, headers: Headers) -> Response | None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._rules.hosts:
            return _refused(421, "This host name is not served here. The option --allow-host adds names.")
        served = self._rules.origins
        if path.startswith(self._rules.pages):
            served |= {f"{scheme}://{hosts[0].lower()}" for scheme in ("http", "https")}
        if any(origin.lower() not in served for origin in origins):
            return _refused(403, "Pages of this origin may not ask. The option --allow-origin adds origins.")
        return None

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._rules.admission(HTTPConnection(scope)):
            answer = _refused(401, _NOT_ADMITTED)
            answer.headers["WWW-Authenticate"] = "Bearer"
            await answer(scope, receive, send)
            return
        body = _BoundedBody(receive, self._rules.max_body_bytes)
        if body.is_declared_too_long(Headers(scope=scope)) or not await body.fits():
            most = self._rules.max_body_bytes
            answer = _refused(413, f"The body is longer than {most} bytes. The option --max-body sets this.")
            await answer(scope, receive, send)
            return
        await self._app(scope, body.receive, send)


class _BoundedBody:
    """The body of a request, read up front, up to `most` bytes."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._most = most
        self._read: list[Message] = []

    def is_declared_too_long(self, headers: Headers) -> bool:
        """Return True if the Content-Length header already exceeds the limit."""
        declared = headers.get("content-length", "0")
        return declared.isdecimal() and (len(declared) > 18 or int(declared) > self._most)

    async def fits(self) -> bool:
        """Read the body; stop and return False beyond the limit."""
        n_bytes = 0
        while True:
            message = await self._receive()
            self._read.append(message)
            n_bytes += len(message.get("body", b""))
            if n_bytes > self._most:
                return False
            if not message.get("more_body", False):
                self._read.reverse()
                return True

    async def receive(self) -> Message:
        """Return the messages already read, then new ones."""
        return self._read.pop() if self._read else await self._receive()


def _refused(status: int, message: str) -> Response:
    return PlainTextResponse(message + "\n", status_code=status, headers={"Cache-Control": "no-store"})


def _digest(token: str) -> bytes:
    # Headers are Latin-1 and may contain any byte.
    return sha256(token.encode("utf-8", "surrogateescape")).digest()
