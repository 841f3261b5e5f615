"""`mdplan` and `python -m mdplan`: the command line."""

import gc
import os
import sys

from mdplan.cli.interrupts import end_at_once

# Python has these modules loaded; all others load after Ctrl-C ends the process quietly.
end_at_once()

_NEW_OBJECTS = 100_000


def _run() -> object:
    # pydantic would search all installed packages for plugins; mdplan uses none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from mdplan.cli.program import build_program
    from mdplan.cli.usage import NAME

    return build_program().main(prog_name=NAME)


def main() -> None:
    """Run the command line of this process, and end it."""
    import signal

    from mdplan.cli.usage import exit_code
    from mdplan.diagnostics import Exit

    # Nearly everything that a command makes lives as long as the process. Searching for garbage after every
    # 700 new objects, which is the default, makes whole commands 12 to 18 % slower.
    gc.set_threshold(_NEW_OBJECTS, 20, 20)
    try:
        code = exit_code(_run)
        if code == Exit.INTERRUPTED:
            # Where the interrupt left an `exec`, as that of a dataclass, Python keeps it for unhandled even
            # though it was caught: `python -m` would kill itself by SIGINT and lose the code.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        sys.exit(code)
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
