"""Opening a web browser, where there is a person who would see it."""

import sys
import threading
import webbrowser
from collections.abc import Mapping
from contextlib import suppress

from mdplan.cli.terminal.console import is_terminal


def open_in_browser(url: str, environment: Mapping[str, str]) -> None:
    """Open `url` if this process has a terminal and the terminal a desktop.

    Without a desktop the browser would run in the terminal itself, and take it away from the command.
    """
    is_seen = is_terminal(sys.stdin) and is_terminal(sys.stderr)
    has_desktop = sys.platform == "darwin" or any(
        environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
    if is_seen and has_desktop:
        # Some browsers return when they are closed.
        threading.Thread(target=_open, args=(url,), daemon=True).start()


def _open(url: str) -> None:
    with suppress(webbrowser.Error):
        webbrowser.open(url)
