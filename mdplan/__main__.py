"""`mdplan` and `python -m mdplan`: the command line, joined with the server, of which it knows nothing."""

from typing import NoReturn

import click

from mdplan.surfaces.cli.group import NAME, LazyCommand
from mdplan.surfaces.cli.program import build_program


def _serve() -> click.Command:
    from mdplan.surfaces.mcp_server.command import serve

    return serve


program = build_program({"serve": LazyCommand("Serve agents over MCP.", _serve)})


def main() -> NoReturn:
    """Run the command line of this process, and end it."""
    program.main(prog_name=NAME)
    raise AssertionError("the program ends the process")


if __name__ == "__main__":
    main()
