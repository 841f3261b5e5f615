"""Shows long output in the user's pager."""

import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from mdplan.text import shell

_DEFAULT: Final = "less"

# Leave when it all fits on the screen, show colours, and leave the screen as it is.
_LESS: Final = "FRX"


def pager_command(environment: Mapping[str, str]) -> list[str] | None:
    """Return the words of the pager command from MDPLAN_PAGER or PAGER; None if paging is off.

    NO_PAGER and dumb terminals turn it off.
    """
    if environment.get("NO_PAGER") or environment.get("TERM") == "dumb":
        return None
    chosen = next(
        (environment[name] for name in ("MDPLAN_PAGER", "PAGER") if environment.get(name) is not None),
        _DEFAULT,
    )
    try:
        words = shell.split(chosen)
    except ValueError:
        return None
    return None if words in ([], ["cat"]) else words


def page(data: bytes, environment: Mapping[str, str]) -> bool:
    """Show `data` in the pager; return False if there is no pager or it does not start."""
    command = pager_command(environment)
    if command is None:
        return False
    try:
        process = subprocess.Popen(  # noqa: S603 (the user's own choice)
            command, stdin=subprocess.PIPE, env={"LESS": _LESS, "LV": "-c", **environment}
        )
    except OSError:
        return False
    # Ctrl-C is for the pager, which continues.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with suppress(BrokenPipeError):
            process.communicate(data)
        process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    return True
