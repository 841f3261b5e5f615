"""Workers that are killed at any moment while others go on: what was answered stands, nothing is mixed."""

import random
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from mdplan.storage.filesystem import Step
from tests.concurrency.attempts import Log
from tests.concurrency.crowd import Crowd, started
from tests.crash.aftermath import engine, in_memory
from tests.crash.tally import Tally

EDITS = 6
# Steps of every commit of a file, with how often at most a worker lives to see them.
STEPS = {
    Step.EXCHANGE: 15,
    Step.RENAME: 15,
    Step.MOVE: 10,
    Step.CREATE: 20,
    Step.WRITE: 25,
    Step.SYNC: 30,
    Step.SYNC_DIRECTORY: 20,
    Step.UNLINK: 4,
    Step.READ: 80,
}
SLOW = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def crowd() -> Iterator[Crowd]:
    with in_memory() as folder:
        yield Crowd.of(folder, 3)


def first_line(crowd: Crowd, number: int) -> int:
    """The first line of a worker that no worker of that number has tried."""
    return EDITS * sum(1 for _ in crowd.logs.glob(f"{number}.round-*"))


def begin(crowd: Crowd, number: int, failpoint: str = "") -> subprocess.Popen[bytes]:
    first = first_line(crowd, number)
    (crowd.logs / f"{number}.round-{first}").touch()
    return started(crowd.job(number, first + EDITS, at_once=2, first=first), failpoint)


def check(crowd: Crowd, ends: list[int], tally: Tally) -> None:
    assert set(ends) <= {0, -signal.SIGKILL}
    kills = ends.count(-signal.SIGKILL)
    with engine(crowd.folder) as opened:
        assert opened.recover().ok
    tally("workers killed among others", points=kills, states=kills)
    crowd.check()
    assert kills


@pytest.mark.parametrize(("rounds", "workers"), [(1, 3), pytest.param(15, 6, marks=SLOW)])
def test_workers_that_are_killed_at_failpoints_lose_nothing(
    crowd: Crowd, rounds: int, workers: int, tally: Tally
) -> None:
    """In every round one worker is left in peace."""
    draw = random.Random(rounds)
    ends: list[int] = []
    for _ in range(rounds):
        steps = [draw.choice(list(STEPS)) for _ in range(workers - 1)]
        failpoints = ["", *(f"{step}:{draw.randint(1, STEPS[step])}" for step in steps)]
        processes = [begin(crowd, number, failpoint) for number, failpoint in enumerate(failpoints)]
        ends += [process.wait() for process in processes]

    check(crowd, ends, tally)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_workers_that_are_killed_from_outside_lose_nothing(crowd: Crowd, tally: Tally) -> None:
    """Each at a moment after so many of its attempts as chance will have it."""
    draw = random.Random(1)
    ends: list[int] = []
    for _ in range(12):
        processes = {number: begin(crowd, number) for number in range(4)}
        wanted = {number: len(log(crowd, number)) + draw.randint(1, EDITS) for number in (1, 2, 3)}
        while any(processes[number].poll() is None for number in wanted):
            for number, attempts in wanted.items():
                if len(log(crowd, number)) >= attempts:
                    processes[number].kill()
            time.sleep(0.001)
        ends += [process.wait() for process in processes.values()]

    check(crowd, ends, tally)


def log(crowd: Crowd, number: int) -> list[object]:
    return list(Log(crowd.logs / f"{number}.log").read())
