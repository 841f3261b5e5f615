"""How far long work is: a bar on a terminal, or one JSON object a line for programs."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from mdplan.cli.terminal.console import write_error
from mdplan.text.visible import escaped_json

CHOICES: Final = ("auto", "bar", "jsonl", "none")
EventListener: TypeAlias = Callable[[str, Mapping[str, Any]], None]
Line: TypeAlias = Callable[[int, int], str]
_WIDTH: Final = 30
_CLEAR: Final = "\r\033[K"


def progress_listener(choice: str, *, quiet: bool, coloured: bool) -> EventListener:
    """What hears of the steps of long work; `choice` is one of `CHOICES`, auto is a bar on a terminal.

    There rich draws the bar if it is installed; it is `coloured` or not.
    """
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    if choice == "jsonl":
        return _json_line
    if choice == "bar" or (choice == "auto" and is_terminal and not quiet):
        is_able = is_terminal and os.environ.get("TERM") != "dumb"
        return _Bar(_best_line(coloured=coloured) if is_able else _plain_line)
    return _nothing


def _nothing(_event: str, _facts: Mapping[str, Any]) -> None:
    pass


def _json_line(event: str, facts: Mapping[str, Any]) -> None:
    write_error(escaped_json(json.dumps({"event": event, **facts}, ensure_ascii=False)))


def _best_line(*, coloured: bool) -> Line:
    try:
        from mdplan.cli.terminal.rich_progress import rich_line
    except ImportError:
        return _plain_line
    return rich_line(coloured=coloured)


def _plain_line(done: int, total: int) -> str:
    filled = _WIDTH * done // max(total, 1)
    return f"planning [{'#' * filled}{'-' * (_WIDTH - filled)}] {done}/{total} files"


class _Bar:
    """A bar that is drawn over itself, and is gone when the work is done. `line` gives its text."""

    def __init__(self, line: Line) -> None:
        self._drawn = ""
        self._line = line

    def __call__(self, event: str, facts: Mapping[str, Any]) -> None:
        done, total = facts.get("done"), facts.get("files")
        if event == "planned" and isinstance(done, int) and isinstance(total, int):
            self._draw(self._line(done, total))
            if done == total:
                self._draw("")
        elif event == "committing":
            self._draw(f"committing {total} files")
        elif event in {"committed", "ended"}:
            self._draw("")

    def _draw(self, text: str) -> None:
        if text == self._drawn or sys.stderr is None:
            return
        self._drawn = text
        sys.stderr.write(f"{_CLEAR}{text}")
        sys.stderr.flush()
