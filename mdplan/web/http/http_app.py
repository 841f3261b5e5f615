"""One HTTP application of the routes of several surfaces, after one guard."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from mdplan.web.http.http_guard import Admission, GuardRules, HttpGuard


def _ignore_url(_url: str) -> None:
    """For parts that need not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpPart:
    """The part of one surface: its routes, and the resources that they need while served.

    Besides those with the token, requests that one of `admissions` admits may ask, for any route. Paths below
    `pages` are for people: their forms are sent to them. `listening` is called once, with the URL of the
    server (`http://127.0.0.1:8080`), before anything is served.
    """

    routes: tuple[BaseRoute, ...]
    admissions: tuple[Admission, ...] = ()
    pages: tuple[str, ...] = ()
    running: Callable[[], AbstractAsyncContextManager[object]] = nullcontext
    listening: Callable[[str], None] = _ignore_url


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
