"""The guard before every HTTP route: it checks credentials, host, origin and size.

One guard for all of them, so that a route that is added later needs none of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from typing import Final

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Says whether a request comes from someone who may ask.
Admission = Callable[[HTTPConnection], bool]

_BEARER: Final = "bearer"
_CLOSED_BY_POLICY: Final = 1008
_NOT_ADMITTED: Final = (
    "A valid token is needed: Authorization: Bearer TOKEN. "
    "To review plans, open the link that the server printed when it started; it works once."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRules:
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


def bearer(token: str) -> Admission:
    """Admits requests with the header `Authorization: Bearer TOKEN`."""
    expected = _digest(token)

    def admits(connection: HTTPConnection) -> bool:
        scheme, _, given = connection.headers.get("authorization", "").partition(" ")
        # Digests are compared, so that the time does not depend on the length of the token either.
        return compare_digest(_digest(given.strip()), expected) and scheme.lower() == _BEARER

    return admits


def any_of(*admissions: Admission) -> Admission:
    """Admits what one of `admissions` admits."""
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
