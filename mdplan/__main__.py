"""`mdplan` and `python -m mdplan`: the command line."""

import gc
import os
import sys
from typing import Final, NoReturn

from mdplan.cli.exit_codes import NAME, exit_code

_NEW_OBJECTS: Final = 100_000


def _run() -> object:
    # pydantic would search all installed packages for plugins; mdplan uses none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from mdplan.cli.program import build_program

    return build_program().main(prog_name=NAME)


def main() -> NoReturn:
    """Run the command line of this process, and end it."""
    # Nearly everything that a command makes lives as long as the process. Searching for garbage after every
    # 700 new objects, which is the default, makes whole commands 12 to 18 % slower.
    gc.set_threshold(_NEW_OBJECTS, 20, 20)
    try:
        sys.exit(exit_code(_run))
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
