"""Executors for planning: this process, a process pool, or a Dask cluster."""

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final, TypeVar, cast

from mdplan.diagnostics import Code
from mdplan.storage.filesystem import StorageRefused

Task = TypeVar("Task")
Result = TypeVar("Result")
DASK: Final = "dask://"
_PRELOADED: Final = "mdplan.bot.file_planner"

# Enough to keep processes busy while one handles a large file, but few enough to save memory.
_IN_FLIGHT_EACH: Final = 4


class InlineExecutor(Executor):
    """Run tasks immediately in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401
        """Run `fn` now."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 (it belongs to who asks for the result)
            future.set_exception(error)
        return future


def default_jobs() -> int:
    """Return the number of processors available to this process."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # Elsewhere than on Linux.
        return os.cpu_count() or 1


@contextmanager
def open_executor(address: str | None, jobs: int, parts: int) -> Iterator[Executor]:
    """Yield the executor for `parts` tasks: the cluster at `address`, or up to `jobs` processes.

    A single task runs in this process. Raise `StorageRefused`: INVALID_ARGUMENT for an invalid address,
    IO_ERROR for an unreachable cluster.
    """
    if address is not None:
        with _dask(address) as executor:
            yield executor
    elif min(jobs, parts) <= 1:
        yield InlineExecutor()
    else:
        executor = ProcessPoolExecutor(
            min(jobs, parts),
            mp_context=_context(),
            # A terminal sends interrupts to all processes, but the parent ends them.
            initializer=signal.signal,
            initargs=(signal.SIGINT, signal.SIG_IGN),
        )
        try:
            yield executor
        finally:
            executor.shutdown(cancel_futures=True)


def in_order(
    executor: Executor, task: Callable[..., Result], given: Iterable[Task], *first: object, jobs: int
) -> Iterator[Result]:
    """Yield `task(*first, each)` for each of `given`, in order, with few tasks pending."""
    waiting: deque[Future[Result]] = deque()
    rest = iter(given)
    for item in islice(rest, jobs * _IN_FLIGHT_EACH):
        waiting.append(executor.submit(task, *first, item))
    while waiting:
        result = waiting.popleft().result()
        for item in islice(rest, 1):
            waiting.append(executor.submit(task, *first, item))
        yield result


def _context() -> multiprocessing.context.BaseContext:
    """Return how to start processes: by fork, or by forkserver if this process has threads.

    A forked process could wait forever for a lock of another thread, and forking is only safe on Linux. A
    forkserver must import everything first.
    """
    methods = multiprocessing.get_all_start_methods()
    if sys.platform == "linux" and threading.active_count() == 1:
        return multiprocessing.get_context("fork")
    if "forkserver" not in methods:
        return multiprocessing.get_context()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([_PRELOADED])
    return context


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    if not address.startswith(DASK) or not address.removeprefix(DASK):
        raise StorageRefused.of(
            Code.INVALID_ARGUMENT, f"`{address[:60]}` is not an executor", "write dask://HOST:PORT"
        )
    try:
        from distributed import Client
    except ImportError:
        hint = 'install it: pip install "mdplan[dask]"'
        raise StorageRefused.of(Code.INVALID_ARGUMENT, "the extra `dask` is not installed", hint) from None
    try:
        client: Any = cast("Any", Client)(f"tcp://{address.removeprefix(DASK)}", set_as_default=False)
    except (OSError, ValueError) as error:
        advice = "start its scheduler, or leave --executor out"
        raise StorageRefused.of(
            Code.IO_ERROR, f"the cluster at `{address[:60]}` does not answer", advice
        ) from error
    with client:
        yield client.get_executor(pure=False)
