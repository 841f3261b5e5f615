"""`mdplan review` in a browser: the options of the page, its link, and the browser that opens it."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import click
from click.core import ParameterSource

from mdplan.cli.session import Session
from mdplan.diagnostics import Exit

_OPTIONS: Final = (
    click.option(
        "--host", default="127.0.0.1", show_default=True, help="Page: address of this machine to serve it at."
    ),
    click.option(
        "--port", type=click.IntRange(0, 65_535), default=0, help="Page: its port.  [default: a free one]"
    ),
    click.option("--no-browser", is_flag=True, help="Page: print the link to it, and open nothing."),
)

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """Where the page is served, and whether a browser is opened."""

    host: str
    port: int
    no_browser: bool


def with_page_options(command: Command) -> Command:
    """`command` with the options of the page."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def refuse_page_options(instead: str) -> None:
    """A usage error for an option of the page next to the option `instead`, which needs no page."""
    source_of = click.get_current_context().get_parameter_source
    for name in ("host", "port", "no_browser"):
        if source_of(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} does not go with {instead}.")


def review_on_page(session: Session, plan: str | None, options: PageOptions) -> Exit:
    """Serve the page, opened at `plan`, until a signal ends it. Gives the exit code."""
    from mdplan.cli.terminal.browser import open_in_browser
    from mdplan.engine.reviews import ReviewService
    from mdplan.plan import Plan
    from mdplan.web.routes import serve_page

    engine = session.open_engine(require_approval=True)
    at = ""
    if plan is not None:
        loaded = engine.library.load(plan)
        if not isinstance(loaded, tuple):
            return session.refuse(loaded)
        found: Plan = loaded[0]
        at = f"&plan={found.plan_id}"

    def tell(link: str) -> None:
        session.console.note("Plans can be reviewed at this link, which works once. Ctrl-C ends it.")
        session.console.text(f"{link}{at}\n")
        if not options.no_browser:
            open_in_browser(link + at, os.environ)

    return Exit(serve_page(ReviewService(engine), options.host, options.port, tell))
