"""`mdplan` and `python -m mdplan`: the command line, joined with the server, of which it knows nothing."""

import gc
from typing import Final, NoReturn

import click

from mdplan.surfaces.cli.group import NAME, LazyCommand
from mdplan.surfaces.cli.program import build_program

_NEW_OBJECTS: Final = 50_000


def _serve() -> click.Command:
    from mdplan.surfaces.mcp_server.command import serve

    return serve


program = build_program({"serve": LazyCommand("Serve agents over MCP.", _serve)})


def main() -> NoReturn:
    """Run the command line of this process, and end it."""
    # What a command loads and makes lives as long as its process: to look for garbage in it after every few
    # hundred new objects, as is usual, and once more at the end takes a tenth of the time of a short one.
    gc.set_threshold(_NEW_OBJECTS, 20, 20)
    try:
        program.main(prog_name=NAME)
    finally:
        gc.freeze()
    raise AssertionError("the program ends the process")


if __name__ == "__main__":
    main()
