"""`mdplan serve`: the MCP server as a command."""

import logging
import sys
from pathlib import Path

import click

from mdplan.diagnostics import Exit


@click.command("serve", short_help="Serve agents over MCP, on standard input and output.")
@click.option(
    "--root",
    "roots",
    multiple=True,
    required=True,
    metavar="DIR",
    help="Folder that may be touched: DIR or NAME=DIR. Repeat for several.",
)
@click.option(
    "--toolsets",
    default="md",
    show_default=True,
    metavar="NAMES",
    help="Families of tools, separated by commas: md, files.",
)
@click.option("--tools", default="", metavar="NAMES", help="Of these only some tools, separated by commas.")
@click.option("--read-only", is_flag=True, help="Leave out every tool that writes.")
@click.option("--allow", multiple=True, metavar="GLOB", help="Touch only files that match. Repeatable.")
@click.option("--deny", multiple=True, metavar="GLOB", help="Touch no file that matches. Repeatable.")
@click.option(
    "--log-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Append the log to FILE; by default it goes to standard error.",
)
def serve(
    roots: tuple[str, ...],
    allow: tuple[str, ...],
    deny: tuple[str, ...],
    log_file: Path | None,
    toolsets: str,
    tools: str,
    *,
    read_only: bool,
) -> int:
    """Serve agents over MCP, on standard input and output, until the client goes away.

    Clients start it themselves; their settings name the command: `mdplan serve --root DIR`.
    """
    from mdplan.engine import Engine
    from mdplan.storage.refusal import StorageRefused
    from mdplan.surfaces.mcp_server.adapter import run_on_stdio
    from mdplan.surfaces.mcp_server.server import build_server
    from mdplan.surfaces.mcp_server.toolsets import TOOLSETS

    chosen = _names(toolsets)
    unknown = [name for name in chosen if name not in TOOLSETS]
    if unknown or not chosen:
        message = f"unknown toolset {', '.join(unknown)}" if unknown else "no toolset is named"
        raise click.BadParameter(f"{message}; there are {', '.join(TOOLSETS)}", param_hint="--toolsets")
    _log_to(log_file)
    try:
        engine = Engine.open(roots, allow=allow, deny=deny)
    except StorageRefused as refused:
        for problem in refused.problems:
            click.echo(f"error: {problem.code}: {problem.message}\n  hint: {problem.hint}", err=True)
        return refused.problems[0].code.exit
    if sys.stdin.isatty():
        click.echo(
            "Serving MCP on standard input and output, which a client should hold. Ctrl-C ends it.", err=True
        )
    server = build_server(engine, toolsets=chosen, tools=_names(tools), read_only=read_only)
    run_on_stdio(server)
    return Exit.DONE


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]


def _log_to(file: Path | None) -> None:
    """Send warnings and errors to `file`, or to standard error. What is set here, the SDK leaves alone."""
    target: logging.Handler = (
        logging.StreamHandler(sys.stderr)
        if file is None
        else logging.FileHandler(file, encoding="utf-8", errors="backslashreplace")
    )
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s", handlers=[target]
    )
