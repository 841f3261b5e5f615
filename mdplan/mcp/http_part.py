"""The MCP server as a part of an HTTP application: streamable HTTP, as the SDK has it."""

from collections import Counter
from typing import Final

from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mdplan.mcp.adapter import McpServer
from mdplan.web.http import HttpPart

PATH: Final = "/mcp"
# A client that was idle for this long, or the longest among this many, starts a new session: one more
# request.
IDLE_SECONDS: Final = 1800.0
MOST_SESSIONS: Final = 500
_SESSION: Final = "mcp-session-id"


def mcp_part(server: McpServer, max_body_bytes: int) -> HttpPart:
    """Route of `server`, at `PATH`, for every protocol version that the SDK knows.

    The SDK's own check of hosts is off, because it is weaker than the guard that is before all routes.
    """
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=max_body_bytes,
        session_idle_timeout=IDLE_SECONDS,
        # The SDK refuses new sessions where `LimitedSessions` ends old ones.
        max_sessions=None,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    routes = (Route(each.path, LimitedSessions(each.app)) for each in app.routes if isinstance(each, Route))
    return HttpPart(routes=tuple(routes), running=lambda: app.router.lifespan_context(app))


class LimitedSessions:
    """The endpoint `app` of streamable HTTP, with at most `most` sessions.

    A new one ends the session that was idle longest, as its client would.
    """

    def __init__(self, app: ASGIApp, most: int = MOST_SESSIONS) -> None:
        self._app, self._most = app, most
        # In the order of their last use, and how many requests of each are open.
        self._used: dict[str, None] = {}
        self._open = Counter[str]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; if it starts a session beyond the limit, end another one first."""
        session = Headers(scope=scope).get(_SESSION, "")
        if not session and len(self._used) >= self._most:
            idle = next((each for each in self._used if not self._open[each]), None)
            if idle is not None:
                await self._end(idle, scope)
        if session in self._used:
            self._used[session] = self._used.pop(session)

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start" and not session:
                began = Headers(raw=message["headers"]).getlist(_SESSION)
                self._used.update(dict.fromkeys(began))
            await send(message)

        self._open[session] += 1
        try:
            await self._app(scope, receive, noted)
        finally:
            self._open[session] -= 1
            self._open += Counter()
            if scope["method"] == "DELETE":
                self._used.pop(session, None)

    async def _end(self, session: str, scope: Scope) -> None:
        del self._used[session]

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            del message

        headers = [(_SESSION.encode(), session.encode())]
        await self._app({**scope, "method": "DELETE", "headers": headers}, receive, send)
