"""`mdplan` and `python -m mdplan`: the command line, joined with the server, of which it knows nothing."""

import gc
import os
import sys
from typing import TYPE_CHECKING, Final, NoReturn

from mdplan.cli.exit_codes import NAME, exit_code
from mdplan.cli.looking import plain_call

if TYPE_CHECKING:
    import click

_NEW_OBJECTS: Final = 50_000


def load_program() -> "click.Group":
    """All commands, as click has them."""
    from mdplan.cli.group import LazyCommand
    from mdplan.cli.program import build_program

    return build_program({"serve": LazyCommand("Serve agents over MCP.", _serve)})


def _serve() -> "click.Command":
    from mdplan.cli.commands.serve import serve

    return serve


def _answer() -> object:
    call = plain_call(sys.argv[1:], os.environ)
    return call() if call else load_program().main(prog_name=NAME)


def main() -> NoReturn:
    """Run the command line of this process, and end it."""
    # What a command loads and makes lives as long as its process: to look for garbage in it after every few
    # hundred new objects, as is usual, and once more at the end takes a tenth of the time of a short one.
    gc.set_threshold(_NEW_OBJECTS, 20, 20)
    try:
        sys.exit(exit_code(_answer))
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
