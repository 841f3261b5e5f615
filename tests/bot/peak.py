"""How much memory a command takes, with all processes that it starts."""

import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

import psutil

_EVERY_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Peaks:
    """The largest resident sizes in bytes: of all processes, each at its own largest, and of the first."""

    together: int
    first: int


def peaks_of(arguments: list[str], environment: Mapping[str, str]) -> Peaks:
    """Run `mdplan` with `arguments`, and look at it all the time."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mdplan", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(environment),
    )
    first = psutil.Process(process.pid)
    largest: dict[int, int] = {}
    while process.poll() is None:
        for each in _family(first):
            largest[each.pid] = max(largest.get(each.pid, 0), _size(each))
        time.sleep(_EVERY_SECONDS)
    assert process.returncode == 0
    return Peaks(sum(largest.values()), largest[process.pid])


def _family(first: psutil.Process) -> list[psutil.Process]:
    try:
        return [first, *first.children(recursive=True)]
    except psutil.Error:
        return []


def _size(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
