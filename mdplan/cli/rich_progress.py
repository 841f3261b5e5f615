"""Draws a progress bar with rich, an extra; it shows the time that is left."""

import sys
from collections.abc import Callable
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

_WIDTH: Final = 30


def rich_line(doing: str, *, coloured: bool) -> Callable[[int, int], str]:
    """What draws the bar: takes how many files are done, and of how many, and gives its line."""
    console = Console(
        file=sys.stderr, force_terminal=True, color_system="auto" if coloured else None, highlight=False
    )
    # It is never started: a thread of its own, or a cursor that an interrupt leaves hidden, is not wanted.
    progress = Progress(
        TextColumn(doing),
        BarColumn(_WIDTH),
        TextColumn("{task.completed:.0f}/{task.total:.0f} files"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
        console=console,
        auto_refresh=False,
    )
    task = progress.add_task("", total=None)

    def line(done: int, total: int) -> str:
        progress.update(task, completed=done, total=total)
        with console.capture() as captured:
            console.print(progress.get_renderable(), end="")
        # A terminal that is too narrow gets what fits in one line: a second one would not be wiped.
        return captured.get().split("\n")[0]

    return line
