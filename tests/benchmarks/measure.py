"""Measuring beside each other: what runs in turns is slowed down by the same things."""

import gc
import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

ROUNDS = 7
# Of processes that are measured: what is installed has its bytecode beside it, and so has this package then.
ENVIRONMENT = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
# Returns the seconds of one run. If another process does the work, it measures them.
Timed = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A row of the table: a ratio and its maximum; a row without a bar is for comparison.

    `missing` says why it could not be measured.
    """

    what: str
    ratio: float | None = None
    bar: float | None = None
    missing: str = ""

    @property
    def is_met(self) -> bool:
        return self.ratio is not None and (self.bar is None or self.ratio <= self.bar)


@dataclass(frozen=True, slots=True)
class Part:
    """Rows that belong together, and how they were measured."""

    title: str
    how: str
    measures: tuple[Measure, ...]


def cpu(action: Callable[[], object]) -> Timed:
    """Processor time of `action` in this process."""

    def timed() -> float:
        gc.collect()
        start = time.process_time()
        action()
        return time.process_time() - start

    return timed


def wall(action: Callable[[], object]) -> Timed:
    """Measure `action` in wall time, for work that waits."""

    def timed() -> float:
        start = time.perf_counter()
        action()
        return time.perf_counter() - start

    return timed


def against(base: str, actions: Mapping[str, Timed], rounds: int = ROUNDS) -> dict[str, float]:
    """What each action costs in units of `base`: the median ratio of rounds in which each runs once."""
    ratios: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(rounds + 1):
        taken = {name: timed() for name, timed in actions.items()}
        if number:  # The first round imports and fills caches.
            for name in actions:
                ratios[name].append(taken[name] / taken[base])
    return {name: statistics.median(found) for name, found in ratios.items()}


def times(ratio: float) -> str:
    """A ratio for people, as "3.2 times"; two digits that count."""
    return f"{short(ratio)} times"


def short(ratio: float) -> str:
    """A ratio with two digits that count."""
    digits = 0 if ratio >= 10 else 1 if ratio >= 1 else 2 if ratio >= 0.1 else 3
    return f"{ratio:.{digits}f}"
