"""HTTP connections with a time limit for each request, and a limit on how many are open.

A client that opens connections and sends nothing, or a request without its end, costs a server room that
others need; uvicorn limits only the time between two requests.
"""

import asyncio
import resource
from enum import Enum
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_SECONDS: Final = 10.0
# Between two parts of a body.
BODY_SECONDS: Final = 20.0
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
    has waited longest for the head of a request; where all of them are being answered, the new one is closed.
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
            waiting = [
                each
                for each in self.connections
                if isinstance(each, LimitedConnection) and each is not self and each.waits_for_head
            ]
            (min(waiting, key=lambda each: each.since) if waiting else self).cut()

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
    def waits_for_head(self) -> bool:
        """Whether no request has begun; `since` is when that came so, on the clock of the loop."""
        return self._phase is _Phase.HEAD

    def _follow(self) -> None:
        """Start the clock of the phase that the connection is in now."""
        phase = self._phase_now()
        if phase is _Phase.HEAD and self._phase is _Phase.HEAD:
            # A head that comes byte by byte gets no more time.
            return
        self._stop_clock()
        self._phase, self.since = phase, self.loop.time()
        if phase.value is not None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(phase.value, self.cut)

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
