"""The page as a part of an HTTP application."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from starlette.requests import HTTPConnection

from mdplan.engine.reviews import ReviewService
from mdplan.storage.user.review_address import announce, withdraw
from mdplan.web.actions import ReviewActions
from mdplan.web.http_app import HttpPart
from mdplan.web.routes import BASE, OPEN, VIEW, ReviewRoutes
from mdplan.web.sessions import ReviewSessions

# What the guard lets send forms to this server: the page, and nothing whose name only begins like it.
_PAGES: Final = (BASE,)


def review_part(reviewing: ReviewService, user: Callable[[], str], tell: Callable[[str], None]) -> HttpPart:
    """The page below `/review/`. `user` gives the name of who decides.

    Once it is known where the server listens, `tell` gets the one-time link that opens a session that may
    decide: only a terminal may show it. Until the server ends, servers of agents find in the user's state
    directory where a plan can be viewed (see `review_address`).
    """
    visits = ReviewSessions()
    roots = [root.path for root in reviewing.engine.workspace.roots]

    def is_visitor(connection: HTTPConnection) -> bool:
        path = connection.url.path
        if path == OPEN:
            token = connection.query_params.get("token", "")
            return visits.is_link(token) or visits.of(connection.cookies) is not None
        if path == VIEW:
            query = connection.query_params
            return visits.is_view_link(query.get("plan", ""), query.get("token", ""))
        is_page = path.startswith(BASE) or path == BASE.rstrip("/")
        return is_page and visits.of(connection.cookies) is not None

    def listening(url: str) -> None:
        for root in roots:
            announce(root, f"{url}{VIEW}", visits.view_key)
        tell(f"{url}{OPEN}?token={visits.new_link()}")

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        try:
            yield
        finally:
            for root in roots:
                withdraw(root)

    return HttpPart(
        routes=ReviewRoutes(ReviewActions(reviewing, user), visits).all(),
        admissions=(is_visitor,),
        pages=_PAGES,
        running=running,
        listening=listening,
    )
