"""Executors of planning: this process, a pool of processes, or a Dask cluster."""

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

# Enough that no process waits for the next part while another is at a large file, and few enough that little
# is held.
_IN_FLIGHT_EACH: Final = 4


class InlineExecutor(Executor):
    """Runs what is submitted at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401
        """Run `fn`."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 (it belongs to who asks for the result)
            future.set_exception(error)
        return future


def default_jobs() -> int:
    """How many processes this one may keep busy."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # Elsewhere than on Linux.
        return os.cpu_count() or 1


@contextmanager
def open_executor(address: str | None, jobs: int, parts: int) -> Iterator[Executor]:
    """The executor for `parts` pieces of work: the cluster at `address`, or up to `jobs` processes.

    A single part is planned in this process. Raises `StorageRefused`: INVALID_ARGUMENT for an invalid
    address, IO_ERROR for a cluster that does not answer.
    """
    if address is not None:
        with _dask(address) as executor:
            yield executor
    elif min(jobs, parts) <= 1:
        yield InlineExecutor()
    else:
        executor = ProcessPoolExecutor(
            min(jobs, parts), mp_context=_context(), initializer=_ignore_interrupts
        )
        try:
            yield executor
        finally:
            executor.shutdown(cancel_futures=True)


def in_order(
    executor: Executor, task: Callable[..., Result], given: Iterable[Task], *first: object, jobs: int
) -> Iterator[Result]:
    """`task(*first, each)` for each of `given`, in their order; few are under way at a time."""
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
    """How processes start: as copies of this one, or of a small one where this one has threads.

    A copy of a process with threads could wait for a lock for ever; elsewhere than on Linux copies are not
    safe at all. The small one has to load everything first.
    """
    methods = multiprocessing.get_all_start_methods()
    if sys.platform == "linux" and threading.active_count() == 1:
        return multiprocessing.get_context("fork")
    if "forkserver" not in methods:
        return multiprocessing.get_context()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([_PRELOADED])
    return context


def _ignore_interrupts() -> None:
    """A terminal interrupts all processes at once; the one that started the others ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


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
