"""Ctrl-C while the program starts: nothing has begun, so the process just ends."""

import _signal as signal  # type: ignore[import-not-found]
import os

_INTERRUPTED = 130


def end_at_once() -> None:
    """End the process at SIGINT, without a traceback of half an import; until `interrupt_commands`.

    Where SIGINT is ignored, as in the background of a shell, it stays so.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def interrupt_commands() -> None:
    """Raise KeyboardInterrupt at SIGINT again: a command runs, and has files to put back."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, frame: object) -> None:
    del number, frame
    os.write(2, b"\ninterrupted\n")
    os._exit(_INTERRUPTED)
