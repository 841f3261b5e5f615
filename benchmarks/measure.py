"""Measuring beside each other: what runs in turns in one process is slowed down by the same things."""

import gc
import statistics
import time
from collections.abc import Callable, Mapping

ROUNDS = 7


def in_turns(actions: Mapping[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Median processor time of each action, in seconds; in every round each of them runs once."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for round_number in range(rounds + 1):
        for name, action in actions.items():
            gc.collect()
            start = time.process_time()
            action()
            taken = time.process_time() - start
            if round_number:  # The first round imports and fills caches.
                times[name].append(taken)
    return {name: statistics.median(taken) for name, taken in times.items()}


def times(ratio: float) -> str:
    """A ratio for people, as "3.2 times"; two digits that count."""
    digits = 0 if ratio >= 10 else 1 if ratio >= 1 else 2
    return f"{ratio:.{digits}f} times"
