"""`mdplan serve --http`: the socket, what the terminal is reported, and the end."""

import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import anyio
import anyio.to_thread
import click
import uvicorn
from anyio.abc import TaskGroup, TaskStatus

from mdplan.diagnostics import Exit
from mdplan.web.http.http_app import HttpPart, http_app
from mdplan.web.http.http_connection import LimitedConnection, most_accepted
from mdplan.web.http.http_guard import GuardRules, any_of, bearer
from mdplan.web.http.http_options import HttpOptions

_POLL_SECONDS: Final = 0.1
_MOST_WAITING: Final = 1024


def serve_http(parts: Sequence[HttpPart], options: HttpOptions, path: str | None = None) -> int:
    """Serve `parts` until a signal ends it; clients go to `path`, if there are any. Gives the exit code."""
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

        def tell() -> None:
            if path is not None:
                _tell(options, port, path)
            for part in parts:
                part.listening(f"http://{name}")

        return anyio.run(_serve, server, listener, tell)


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


def _tell(options: HttpOptions, port: int, path: str) -> None:
    lines = [f"Serving MCP at http://{options.host}:{port}{path}. Ctrl-C ends it."]
    if options.token_is_new:
        lines.append(
            f"Clients must send this header, made for this run:\nAuthorization: Bearer {options.token}"
        )
    if not options.is_loopback:
        lines.append("Nothing here is encrypted: other machines should come through a proxy with TLS.")
    click.echo("\n".join(lines), err=True)


async def _serve(server: _Server, listener: socket.socket, tell: Callable[[], None]) -> int:
    async with anyio.create_task_group() as tasks:
        await tasks.start(_stop_on_signal, server, tasks)
        # Who reads this may send a signal at once.
        tell()
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
