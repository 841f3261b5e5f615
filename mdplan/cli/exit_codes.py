"""The end of a process: its exit code and its error message."""

import os
import sys
from collections.abc import Callable
from typing import Final

from mdplan import __version__
from mdplan.cli.terminal.console import mute, write_error
from mdplan.diagnostics import Exit

NAME: Final = "mdplan"


def exit_code(run: Callable[[], object]) -> int:
    """Do what `run` says, and give one of the codes of `Exit`: the one that it returns, if it does."""
    try:
        code = run()
        return int(code) if isinstance(code, int) else Exit.DONE
    except KeyboardInterrupt:
        # After the ^C that a terminal shows.
        write_error("\ninterrupted")
        return Exit.INTERRUPTED
    except OSError as error:
        # The engine returns what storage meets, so this is about the standard streams: a full disk, mostly.
        _raise_if_debugging()
        mute(sys.stdout)
        write_error(f"error: IO_ERROR: {error.strerror or type(error).__name__}")
        return Exit.ENVIRONMENT
    except Exception as bug:  # noqa: BLE001 (the last line of defence)
        _raise_if_debugging()
        write_error(
            f"mdplan met a bug in itself: {type(bug).__name__} in {_place(bug)} (mdplan {__version__}).\n"
            "Please report this line to its authors, with the command that you ran. "
            "MDPLAN_DEBUG=1 shows where it happened; that may contain text of your files."
        )
        return Exit.BUG


def _raise_if_debugging() -> None:
    if os.environ.get("MDPLAN_DEBUG") == "1":
        raise  # noqa: PLE0704 (called from `except` alone)


def _place(bug: Exception) -> str:
    """Module and line where `bug` was raised."""
    trace = bug.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "an unknown place"
    return f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}"
