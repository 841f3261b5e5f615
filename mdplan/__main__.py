"""`mdplan` and `python -m mdplan`: the command line."""

import gc
import os
import sys
from typing import Final, NoReturn

from mdplan.cli.exit_codes import NAME, exit_code

_NEW_OBJECTS: Final = 50_000


def _run() -> object:
    # pydantic would search all installed packages for plugins; mdplan uses none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from mdplan.cli.program import build_program

    return build_program().main(prog_name=NAME)


def main() -> NoReturn:
    """Run the command line of this process, and end it."""
    # What a command loads and makes lives as long as its process: to look for garbage in it after every few
    # hundred new objects, as is usual, and once more at the end takes a tenth of the time of a short one.
    gc.set_threshold(_NEW_OBJECTS, 20, 20)
    try:
        sys.exit(exit_code(_run))
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
