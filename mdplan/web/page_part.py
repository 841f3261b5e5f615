"""The review page as a part of an HTTP application."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.requests import HTTPConnection

from mdplan.engine.reviews import ReviewService
from mdplan.storage.plans import announce, withdraw
from mdplan.web.actions import ReviewActions
from mdplan.web.http.http_app import HttpPart
from mdplan.web.routes import OPEN, VIEW, ReviewRoutes
from mdplan.web.sessions import ReviewSessions


def review_part(reviewing: ReviewService, user: Callable[[], str], tell: Callable[[str], None]) -> HttpPart:
    """The review page below a random path. `user` returns the name of the reviewer.

    Once the server listens, `tell` receives the one-time link to a session that may decide: only a terminal
    may show it. Until the server stops, MCP servers find the address for viewing a plan in the user's state
    directory (see `review_address`).
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
        tell(f"{url}{opens}?token={sessions.new_link()}")

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        try:
            yield
        finally:
            for root in roots:
                withdraw(root)

    return HttpPart(
        routes=ReviewRoutes(ReviewActions(reviewing, user), sessions).all(),
        admissions=(has_session,),
        # Scripts that are modules send the origin of their page, as forms do.
        pages=(deciding.base, viewing.base),
        running=running,
        listening=listening,
    )
