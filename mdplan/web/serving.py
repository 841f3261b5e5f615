"""The page as a server of its own, for the person who started it."""

from collections.abc import Callable
from typing import Final

from mdplan.engine.reviews import ReviewService
from mdplan.storage.user_state import user_name
from mdplan.web.http.http_options import local_options
from mdplan.web.http.http_server import serve_http
from mdplan.web.page_part import review_part

# Forms hold comments, and nothing else of any length.
_MOST_FORM_BYTES: Final = 1 << 16


def serve_page(reviewing: ReviewService, host: str, port: int, tell: Callable[[str], None]) -> int:
    """Serve the page on `host` and `port` (0: a free one) until a signal ends it. Gives the exit code.

    `tell` gets the link that opens it. An address that other machines reach is a usage error of click.
    """
    options = local_options(host, port, _MOST_FORM_BYTES)
    return serve_http([review_part(reviewing, user_name, tell)], options)
