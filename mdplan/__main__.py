"""`mdplan` and `python -m mdplan`: the command line."""

import gc
import io
import os
import sys

from mdplan.cli.interrupts import end_at_once

# Python has loaded these modules; all others load after Ctrl-C is made to exit quietly.
end_at_once()

_NEW_OBJECTS = 100_000


def _run() -> object:
    # pydantic would search all installed packages for plugins; mdplan uses none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from mdplan.cli.program import build_program
    from mdplan.cli.usage import NAME

    return build_program().main(prog_name=NAME)


def main() -> None:
    """Run the command line and exit."""
    import signal

    from mdplan.cli.usage import exit_code
    from mdplan.diagnostics import Exit

    # Most objects live as long as the process. Collecting garbage every 700 objects, the default, slows
    # commands by 12 to 18 %.
    if sys.platform == "win32":
        # Otherwise a pipe would have the encoding of the country.
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8", newline="\n" if stream is not sys.stdin else None)
    gc.set_threshold(_NEW_OBJECTS, 20, 20)
    try:
        code = exit_code(_run)
        if code == Exit.INTERRUPTED and sys.platform != "win32":
            # If an interrupt left an `exec`, such as a dataclass's, Python considers it unhandled even if
            # caught: `python -m` would kill itself by SIGINT and lose the exit code.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        sys.exit(code)
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
