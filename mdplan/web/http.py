"""The HTTP server of `mdplan serve --http` and `mdplan review`: socket, shutdown, guard, limits.

One guard is before all routes, so a route that is added later needs none of its own. It checks the token or
session, the host, the origin, and the size of the body.
"""

import asyncio
import logging
import os
import resource
import signal
import socket
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

_POLL_SECONDS: Final = 0.1
_MOST_WAITING: Final = 1024


# Returns True if a request comes from someone who may ask.
Admission = Callable[[HTTPConnection], bool]


class HttpPart(Struct, kw_only=True):
    """The part of one surface: its routes, and the resources that they need while served.

    Besides those with the token, requests that one of `admissions` admits may ask, for any route. Paths below
    `pages` are for people: their forms are sent to them. `listening` is called once, with the URL of the
    server (`http://127.0.0.1:8080`), before anything is served.
    """

    routes: tuple[BaseRoute, ...]
    admissions: tuple[Admission, ...] = ()
    pages: tuple[str, ...] = ()
    running: Callable[[], AbstractAsyncContextManager[object]] = nullcontext
    listening: Callable[[str], None] = lambda _url: None


def serve_http(parts: Sequence[HttpPart], options: HttpOptions, path: str | None = None) -> int:
    """Serve `parts` until a signal ends it, and return the exit code. MCP clients, if any, go to `path`."""
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
                # What the SDK and uvicorn log goes where our own log goes. Requests are not logged.
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
    """uvicorn, which would end the process by the signal, in the middle of a commit that still runs."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen. The backlog of uvicorn limits what one round accepts, not who can wait."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_MOST_WAITING)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: they are received below."""
        yield


def _listener(options: HttpOptions) -> socket.socket:
    # Where the protocol is not named, asyncio leaves small packets to wait for the client: 40 ms an answer.
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
        # Whoever reads this may send a signal at once.
        announce()
        await server.serve(sockets=[listener])
        tasks.cancel_scope.cancel()
    return Exit.INTERRUPTED if server.should_exit else Exit.ENVIRONMENT


async def _stop_on_signal(
    server: _Server, tasks: TaskGroup, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """End on the first signal as soon as no call is running, on the second at once."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            if server.should_exit:
                os._exit(Exit.INTERRUPTED)
            server.should_exit = True
            tasks.start_soon(_end_streams_when_idle, server)


async def _end_streams_when_idle(server: _Server) -> None:
    """Once no call runs and its answer had time to leave, cut off what would never end by itself."""
    limiter = anyio.to_thread.current_default_thread_limiter()
    n_idle = 0
    while n_idle < 3:
        await anyio.sleep(_POLL_SECONDS)
        n_idle = 0 if limiter.borrowed_tokens else n_idle + 1
    # uvicorn would log each of them as a failure of the application.
    logging.getLogger("uvicorn.error").disabled = True
    for task in tuple(server.server_state.tasks):
        task.cancel()


class GuardRules(Struct, kw_only=True):
    """The rules of the guard. Names and origins are in lower case, as browsers send them.

    `hosts` are whole values of the header Host (`127.0.0.1:8080`), `origins` of the header Origin
    (`https://docs.example.org`); neither knows wildcards. `max_body_bytes` is for the body of one request.
    Paths below `pages` are pages of this server itself, whose forms may be sent to them.
    """

    hosts: frozenset[str]
    origins: frozenset[str]
    admission: Admission
    max_body_bytes: int
    pages: tuple[str, ...] = ()


def http_app(parts: Sequence[HttpPart], rules: GuardRules) -> Starlette:
    """Application with the routes of all `parts`; each request passes the guard with `rules` first."""

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


# --- Time limits for each request, and a limit on open connections
#
# A client that opens connections and sends nothing, or a request without its end, uses room that others need;
# uvicorn limits only the time between two requests.

HEAD_SECONDS: Final = 10.0

# Between two parts of a body, and for all of it.
BODY_SECONDS: Final = 20.0
MOST_BODY_SECONDS: Final = 300.0
_MOST_CONNECTIONS: Final = 256


def most_accepted() -> int:
    """How many connections may be accepted at once.

    A connection is counted, and another one cut, three rounds of the loop after it was accepted. Where no
    file is left then, asyncio reports an error for every connection that waits.
    """
    return max(1, most_connections() // 4)


def most_connections() -> int:
    """How many connections may be open: the rest of the open files is for documents."""
    most_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most_files == resource.RLIM_INFINITY:
        return _MOST_CONNECTIONS
    return max(1, min(_MOST_CONNECTIONS, most_files // 4))


class _Phase(Enum):
    """Whom a connection waits for: the client, in the first two."""

    HEAD = HEAD_SECONDS
    BODY = BODY_SECONDS
    ANSWER = None


class LimitedConnection(H11Protocol):
    """One connection. It is closed when the head of a request, or the next part of a body, comes too late.

    Where 256 are open, or a quarter of the files that the process may open, a new one replaces the one that
    has waited longest for the head of a request; else for its body; else the oldest stream of events, which
    clients open again. Where all of them are calls that run, the new one is closed.
    """

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 (those of uvicorn)
        super().__init__(*args, **options)
        self._phase = _Phase.ANSWER
        self.since = 0.0
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for the head of a request."""
        super().connection_made(transport)
        self._follow()
        if len(self.connections) > most_connections():
            others = [each for each in self.connections if isinstance(each, LimitedConnection)]
            waiting = [each for each in others if each is not self and each.rank is not None]
            (min(waiting, key=lambda each: (each.rank, each.since)) if waiting else self).cut()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Go on with a request."""
        super().data_received(data)
        self._follow()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._follow()

    @property
    def rank(self) -> int | None:
        """How soon this is cut for others, the lowest first, then by `since`; None for a call that runs."""
        if self._phase is not _Phase.ANSWER:
            return int(self._phase is _Phase.BODY)
        cycle: RequestResponseCycle | None = self.cycle
        return 2 if cycle is not None and cycle.scope["method"] == "GET" else None

    def _follow(self) -> None:
        """Start the clock of the phase that the connection is in now."""
        phase = self._phase_now()
        if phase is _Phase.HEAD and self._phase is _Phase.HEAD:
            # A head that comes byte by byte gets no more time.
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
        """Close the connection now; `close` would wait until the client has read what was written."""
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
    """Admit requests with the header `Authorization: Bearer TOKEN`."""
    expected = _digest(token)

    def admits(connection: HTTPConnection) -> bool:
        scheme, _, given = connection.headers.get("authorization", "").partition(" ")
        # Digests are compared, so that the time does not depend on the length of the token either.
        return compare_digest(_digest(given.strip()), expected) and scheme.lower() == _BEARER

    return admits


def any_of(*admissions: Admission) -> Admission:
    """Admit what one of `admissions` admits."""
    return lambda connection: any(admits(connection) for admits in admissions)


class HttpGuard:
    """Middleware that refuses what `rules` do not let through, before anything of its body is read.

    421 for another host, which is how a page in a browser reaches a local server under a name of its own
    (DNS rebinding); 403 for an origin; 401 without a valid token; 413 for a body that is too long.
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
        """Let a request through, or answer it with a refusal."""
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
    """The body of a request, read before the request goes on, up to `most` bytes."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._most = most
        self._read: list[Message] = []

    def is_declared_too_long(self, headers: Headers) -> bool:
        """Whether the header Content-Length says so already."""
        declared = headers.get("content-length", "0")
        return declared.isdecimal() and (len(declared) > 18 or int(declared) > self._most)

    async def fits(self) -> bool:
        """Read the body; False, and no more is read, once it is longer."""
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
        """What was read, and then what comes."""
        return self._read.pop() if self._read else await self._receive()


def _refused(status: int, message: str) -> Response:
    return PlainTextResponse(message + "\n", status_code=status, headers={"Cache-Control": "no-store"})


def _digest(token: str) -> bytes:
    # Headers are Latin-1 and may hold any byte.
    return sha256(token.encode("utf-8", "surrogateescape")).digest()
