"""`mdplan serve`: the MCP server as a command."""

import logging
import stat
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mdplan.cli.options import approval_option, flag, limit_options, option
from mdplan.cli.report_text import problem_text
from mdplan.cli.terminal import NO_STYLE, is_terminal, write_error
from mdplan.cli.usage import command
from mdplan.diagnostics import Exit
from mdplan.limits import BATCHES, COMMITS, FILES, GLOBS, HISTORY, PATTERNS, REPORTS, Kept
from mdplan.mcp.tool import EDITOR_PATCH, INTRODUCTIONS, Catalog, mcp_caller, tool_names
from mdplan.text.visible import escaped
from mdplan.values import replace
from mdplan.web.http_options import read_http_options, with_http_options

if TYPE_CHECKING:
    from mdplan.documents.workspace import Workspace
    from mdplan.settings import Settings
    from mdplan.web.http import HttpPart

_LIMITS: Final = (*FILES, *PATTERNS, *BATCHES, *GLOBS, *COMMITS, *HISTORY, *REPORTS)
# In place of the names of all toolsets.
_ALL: Final = "all"


@command("serve")
@option(
    "--root roots",
    "Folder with the files to serve: DIR or NAME=DIR. Repeatable.",
    "DIR",
    multiple=True,
    required=True,
)
@option(
    "--toolsets",
    "Families of tools, separated by commas: md, text, files, editor; or all.",
    "NAMES",
    default="md",
)
@option("--tools", "Only these tools of the toolsets, separated by commas.", "NAMES", default="")
@option("--mode", "Offer only the tools that the client lacks.", type=click.Choice(["claude-code"]))
@flag("--read-only", "Offer no tool that writes.")
@approval_option
@flag(
    "--approve-in-chat",
    "Let people approve plans in the chat with the agent. This trusts the program that shows the chat.",
)
@option("--allow", "Read and edit only files that match. Repeatable.", "GLOB", multiple=True)
@option("--deny", "Ignore files that match. Repeatable.", "GLOB", multiple=True)
@option(
    "--keep",
    "Refuse edits that lose these from the text that they replace, separated by commas: headings, "
    "sentences, items, rows, code, lines, links, images, footnotes, numbers; or all.",
    "KINDS",
    default="",
)
@limit_options(_LIMITS)
@with_http_options
@option(
    "--log-file",
    "Append the log to FILE; by default it goes to standard error.",
    "FILE",
    type=click.Path(dir_okay=False, path_type=Path),
)
def serve(
    roots: tuple[str, ...],
    allow: tuple[str, ...],
    deny: tuple[str, ...],
    log_file: Path | None,
    **offered: Any,  # noqa: ANN401 (what click makes of the options)
) -> int:
    """It serves on standard input and output, until the client disconnects.

    Clients start it themselves; their settings name the command: `mdplan serve --root DIR`.
    With --http it is started by a person or a service, and serves many clients until it is stopped; it then
    serves people the page of `mdplan review` too, unless it is --read-only.
    """
    from mdplan.documents.workspace import Workspace
    from mdplan.mcp.adapter import run_on_stdio
    from mdplan.mcp.server import build_catalog, new_server
    from mdplan.settings import Settings
    from mdplan.storage.filesystem import StorageRefused

    toolsets, tools = _names(offered["toolsets"]), _names(offered["tools"])
    if toolsets == [_ALL]:
        toolsets = list(INTRODUCTIONS)
    if offered["mode"] is not None:
        toolsets, tools = ["editor"], [EDITOR_PATCH]
    _check_names("--toolsets", toolsets or [""], (*INTRODUCTIONS, _ALL))
    _check_names("--tools", tools, tool_names(toolsets))
    keep = _names(offered["keep"])
    _check_names("--keep", keep, list(Kept))
    http = read_http_options(offered)
    if http is not None and offered["approve_in_chat"]:
        message = "with --http whoever has the token could approve; leave it out, and approve on the page"
        raise click.BadParameter(message, param_hint="--approve-in-chat")
    _warn_of_open_token(offered["token_file"])
    _log_to(log_file)
    try:
        limited = Settings().limited({limit: offered[limit.parameter] for limit in _LIMITS})
        batch = replace(limited.batch, keep=tuple(keep))
        settings = replace(limited, batch=batch, require_approval=offered["require_approval"])
        workspace = Workspace.open(roots, allow, deny)
    except StorageRefused as refused:
        for problem in refused.problems:
            write_error(problem_text(problem, NO_STYLE))
        return refused.problems[0].code.exit
    read_only, needs_approval = offered["read_only"], offered["require_approval"]

    def load() -> Catalog:
        from mdplan.engine.engine import Engine

        engine = Engine(workspace, settings, caller=mcp_caller())
        return build_catalog(
            engine,
            toolsets=toolsets,
            tools=tools,
            read_only=read_only,
            approve_in_chat=offered["approve_in_chat"],
        )

    server = new_server(toolsets, read_only=read_only, needs_approval=needs_approval)
    if http is not None:
        from mdplan.mcp.http_part import PATH, mcp_part
        from mdplan.web.http import serve_http

        server.catalog = load()
        parts = [mcp_part(server, http.max_body)]
        if not read_only:
            parts.append(_review_part(workspace, settings))
        return serve_http(parts, http, PATH)
    if is_terminal(sys.stdin):
        click.echo(
            "Serving MCP over stdio. An MCP client normally starts this. Press Ctrl-C to stop.", err=True
        )
    run_on_stdio(server, load)
    return Exit.DONE


def _review_part(workspace: "Workspace", settings: "Settings") -> "HttpPart":
    """Return the review page for the plans of these roots; it commits only approved plans."""
    from mdplan.engine.engine import Engine
    from mdplan.engine.history import CallerIdentity, shell_client, user_name
    from mdplan.engine.reviews import ReviewService
    from mdplan.web.routes import review_part

    def announce_link(link: str) -> None:
        # Whoever reads the link can approve. A client that started this server reads what is no terminal.
        if is_terminal(sys.stderr):
            click.echo(f"To review plans, open this link, which works once:\n{link}", err=True)
        else:
            click.echo("To review plans, run `mdplan review` in a terminal.", err=True)

    return review_part(
        ReviewService(
            Engine(
                workspace,
                replace(settings, require_approval=True),
                caller=CallerIdentity(client=shell_client),
            )
        ),
        user_name,
        announce_link,
    )


def _warn_of_open_token(file: Path | None) -> None:
    """Warn where other users of the machine can read the token that clients send."""
    if file is not None and file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        click.echo(
            f"warning: others can read the token in `{escaped(str(file))}`; run chmod 600 on it", err=True
        )


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]


def _check_names(option: str, names: Iterable[str], known: Collection[str]) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        message = f"there is no `{', '.join(unknown)}`; choose from {', '.join(known)}"
        raise click.BadParameter(message, param_hint=option)


def _log_to(file: Path | None) -> None:
    """Send warnings and errors to `file`, or to standard error. The SDK keeps an existing configuration."""
    target: logging.Handler = (
        logging.StreamHandler(sys.stderr)
        if file is None
        else logging.FileHandler(file, encoding="utf-8", errors="backslashreplace")
    )
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s", handlers=[target]
    )
