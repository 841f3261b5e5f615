"""Routes of the review page, behind the server's guard; all except the links need a session.

A form must contain the session's token, and is answered by a redirect, so that going back or reloading
repeats nothing.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Final
from urllib.parse import parse_qsl

import anyio.to_thread
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from mdplan.engine.history import user_name
from mdplan.engine.reviews import ReviewService
from mdplan.web import responses
from mdplan.web.http import HttpPart, serve_http
from mdplan.web.http_options import local_options
from mdplan.web.pages import listed_plans
from mdplan.web.sessions import ReviewSessions, SessionStore, announce, withdraw

# The last component of a link.
OPEN: Final = "open"
VIEW: Final = "view"
_PLAN: Final = "plan/{plan_id}"

# A merge form has a choice per conflict.
_MOST_FIELDS: Final = 500
ResponseOf = Callable[[responses.RequestContext], Response]


class ReviewRoutes:
    """Routes of the review page, of `plans` and their `sessions`."""

    def __init__(self, plans: responses.PlanResponses, sessions: ReviewSessions) -> None:
        self._plans = plans
        self._sessions = sessions

    def all(self) -> tuple[BaseRoute, ...]:
        """Return all routes, more specific ones first."""
        deciding, viewing = self._sessions.deciding, self._sessions.viewing
        links = (_only_get(deciding.base + OPEN, self._open), _only_get(viewing.base + VIEW, self._view))
        return (*links, *self._pages(deciding), *self._pages(viewing))

    def _pages(self, sessions: SessionStore) -> tuple[BaseRoute, ...]:
        pages: dict[str, ResponseOf] = {
            "": self._list,
            "news": self._news,
            "static/{name}": lambda context: responses.static(context.path["name"]) or responses.nothing(),
            **{
                _PLAN + path: self._on_plan(response_of)
                for path, response_of in self._plans.page_routes.items()
            },
        }
        forms = {
            _PLAN + path: self._on_plan(response_of) for path, response_of in self._plans.form_routes.items()
        }
        return (
            _route(sessions, sessions.base.rstrip("/"), lambda context: responses.redirect(context.base)),
            *(_route(sessions, sessions.base + path, response_of) for path, response_of in pages.items()),
            *(
                _route(sessions, sessions.base + path, response_of, "POST")
                for path, response_of in forms.items()
            ),
        )

    async def _open(self, request: Request) -> Response:
        """Start a session and return a page that redirects itself.

        After an HTTP redirect from another site's link, browsers would not send the new cookie.
        """
        sessions = self._sessions.deciding
        plan_id = request.query_params.get("plan", "")
        target = responses.plan_path(sessions.base, plan_id) if plan_id else sessions.base
        if sessions.of(request.cookies) is not None:
            return responses.redirect(target)
        value = self._sessions.start(request.query_params.get("token", ""))
        return _first_page(sessions, value, target) if value is not None else _no_session()

    async def _view(self, request: Request) -> Response:
        """Start a session that shows one plan, from a link received by an agent's client."""
        sessions = self._sessions.viewing
        plan_id = request.query_params.get("plan", "")
        value = self._sessions.start_view(plan_id, request.query_params.get("token", ""))
        if value is None:
            return _no_session()
        return _first_page(sessions, value, responses.plan_path(sessions.base, plan_id))

    def _list(self, context: responses.RequestContext) -> Response:
        # Events while the page is rendered are news to it.
        news = self._plans.news(context.session)
        page = listed_plans(self._plans.reviewing, context.number("page"))
        return responses.html("list.html", {"base": context.base, "page": page, "news": news})

    def _news(self, context: responses.RequestContext) -> Response:
        return responses.with_headers(JSONResponse({"news": self._plans.news(context.session)}))

    def _on_plan(self, response_of: responses.PlanResponse) -> ResponseOf:
        return partial(self._plans.respond, response_of=response_of)


def _route(sessions: SessionStore, path: str, response_of: ResponseOf, method: str = "GET") -> Route:
    """Return the route of a page, or of a form, which must contain the token of the session."""

    async def endpoint(request: Request) -> Response:
        session, form = sessions.of(request.cookies), None
        if session is None:
            return _no_session()
        # A view link shows one plan and static files.
        shows = "name" in request.path_params or session.may_see(request.path_params.get("plan_id", ""))
        if not session.may_decide and (method == "POST" or not shows):
            return responses.refused(403, _VIEW_ONLY)
        if method == "POST":
            form = _form_fields(await request.body())
            if form is None or not session.owns(form.get("form_token", "")):
                message = "This form belongs to a page that is no longer open. Reload the page."
                return responses.refused(403, message)
        context = responses.RequestContext(
            base=sessions.base,
            session=session,
            path={name: str(value) for name, value in request.path_params.items()},
            query=request.query_params,
            form=form or {},
            wants_json=request.headers.get("accept", "") == "application/json",
        )
        return await anyio.to_thread.run_sync(response_of, context)

    return Route(path, endpoint, methods=[method])


def _first_page(sessions: SessionStore, value: str, target: str) -> Response:
    """Set the cookie of a new session, and continue to its first page."""
    answer = responses.html("opened.html", {"base": sessions.base, "target": target})
    path = sessions.base.rstrip("/")
    answer.set_cookie(sessions.cookie, value, path=path, httponly=True, samesite="strict", secure=False)
    return answer


def _only_get(path: str, endpoint: Callable[[Request], Awaitable[Response]]) -> Route:
    """Return a route without HEAD, so that link previews do not use up the link."""
    route = Route(path, endpoint, methods=["GET"])
    route.methods = {"GET"}
    return route


def _form_fields(body: bytes) -> Mapping[str, str] | None:
    """Return the fields of a browser form; None for anything else."""
    try:
        pairs = parse_qsl(
            body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except ValueError:
        return None
    return dict(pairs)


_VIEW_ONLY: Final = (
    "This link shows one plan and cannot decide. To decide, run `mdplan review` in your own terminal."
)


def _no_session() -> Response:
    return responses.refused(401, "Open the link that the server printed when it started; it works once.")


def review_part(
    reviewing: ReviewService, user: Callable[[], str], show_link: Callable[[str], None]
) -> HttpPart:
    """Return the review page, below a random path. `user` returns the reviewer's name.

    Once the server listens, `show_link` receives the one-time link to a deciding session, which only a
    terminal may show. While it runs, MCP servers find the view address in the user's state directory (see
    `announce`).
    """
    sessions = ReviewSessions()
    roots = [root.path for root in reviewing.engine.workspace.roots]

    deciding, viewing = sessions.deciding, sessions.viewing
    opens, views = deciding.base + OPEN, viewing.base + VIEW

    def has_session(connection: HTTPConnection) -> bool:
        path, query = connection.url.path, connection.query_params
        if path == opens and sessions.is_link(query.get("token", "")):
            return True
        if path == views:
            return sessions.is_view_link(query.get("plan", ""), query.get("token", ""))
        return any(each.covers(path) and each.of(connection.cookies) for each in (deciding, viewing))

    def listening(url: str) -> None:
        for root in roots:
            announce(root, url + views, sessions.view_key)
        show_link(f"{url}{opens}?token={sessions.new_link()}")

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        try:
            yield
        finally:
            for root in roots:
                withdraw(root)

    return HttpPart(
        routes=ReviewRoutes(responses.PlanResponses(reviewing, user), sessions).all(),
        admissions=(has_session,),
        # Module scripts send the origin of their page, like forms.
        pages=(deciding.base, viewing.base),
        running=running,
        listening=listening,
    )


# Comments are the only long fields of forms.
_MOST_FORM_BYTES: Final = 1 << 16


def serve_page(reviewing: ReviewService, host: str, port: int, show_link: Callable[[str], None]) -> int:
    """Serve the page on `host` and `port` (0: any free one) until a signal; return the exit code.

    `show_link` receives the link that opens it. An address that other machines can reach is a usage error.
    """
    options = local_options(host, port, _MOST_FORM_BYTES)
    return serve_http([review_part(reviewing, user_name, show_link)], options)
