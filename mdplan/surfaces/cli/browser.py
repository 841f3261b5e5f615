"""Opening a web browser, where there is a person who would see it."""

import sys
import webbrowser
from collections.abc import Mapping


def open_in_browser(url: str, environment: Mapping[str, str]) -> bool:
    """Open `url` if this process has a terminal and the terminal a desktop; whether that was done.

    A browser that runs in the terminal itself would take it away from the command.
    """
    is_seen = bool(sys.stderr and sys.stderr.isatty() and sys.stdin and sys.stdin.isatty())
    has_desktop = sys.platform == "darwin" or any(
        environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
    if not (is_seen and has_desktop):
        return False
    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False
