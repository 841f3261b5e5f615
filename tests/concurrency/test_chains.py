"""Edits that are pinned to what their authors saw, by many writers at once: none of them is lost."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.concurrency.crowd import Crowd, in_processes
from tests.concurrency.worker import in_threads, open_engine, through
from tests.crash.aftermath import in_memory


@pytest.fixture
def crowd(request: pytest.FixtureRequest) -> Iterator[Crowd]:
    with in_memory() as folder:
        yield Crowd.of(folder, request.param)


SLOW = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.parametrize("crowd", [1], indirect=True)
@pytest.mark.parametrize(("workers", "edits"), [(3, 6), pytest.param(8, 50, marks=SLOW)])
def test_edits_of_many_processes_form_one_chain(crowd: Crowd, workers: int, edits: int) -> None:
    in_processes([crowd.job(number, edits) for number in range(workers)])

    crowd.check(applied=workers * edits)


@pytest.mark.parametrize("crowd", [12], indirect=True)
@pytest.mark.parametrize(("workers", "edits"), [(3, 4), pytest.param(8, 40, marks=SLOW)])
def test_batches_over_random_files_have_one_order(crowd: Crowd, workers: int, edits: int) -> None:
    in_processes([crowd.job(number, edits, at_once=5) for number in range(workers)])

    crowd.check(applied=workers * edits)


@pytest.mark.parametrize("crowd", [3], indirect=True)
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("threads", "edits"), [(4, 8), pytest.param(8, 25, marks=SLOW)])
def test_edits_of_many_threads_form_one_chain(crowd: Crowd, threads: int, edits: int, shared: bool) -> None:
    """With one engine, and with one for each thread."""
    jobs = [crowd.job(number, edits, at_once=2) for number in range(threads)]
    with ExitStack() as stack:
        engines = [open_engine(str(crowd.folder)) for _ in range(1 if shared else threads)]
        for engine in engines:
            stack.enter_context(engine.workspace)
        in_threads(jobs, [through(engine) for engine in engines * (threads // len(engines))])

    crowd.check(applied=threads * edits)
