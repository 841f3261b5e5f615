"""Inputs that failed, kept as files."""

import sys
import traceback
from pathlib import Path
from types import TracebackType


class Crashes:
    """Inputs that failed, one for each place of failure."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: dict[tuple[str, str, int], Path] = {}

    def add(self, data: bytes, error: Exception) -> None:
        """Keep `data`, and tell of it, if no shorter input fails at the same place."""
        place = (type(error).__name__, *_place(error.__traceback__))
        path = self._kept.get(place)
        if path is None:
            path = self._kept[place] = self._folder / f"{len(self._kept)}-{place[0]}-{place[2]}"
            sys.stderr.write("".join(traceback.format_exception(error)[-6:]))
            sys.stderr.write(f"crash: {path}\n")
        elif path.stat().st_size <= len(data):
            return
        path.write_bytes(data)


def _place(trace: TracebackType | None) -> tuple[str, int]:
    """Where in our own code it failed."""
    frames = [frame for frame in traceback.extract_tb(trace) if "site-packages" not in frame.filename]
    return (frames[-1].filename, frames[-1].lineno or 0)
