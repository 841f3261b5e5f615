"""Executors of planning (this process, a pool, a Dask cluster), and the cache of verdicts."""

import hashlib
import json
import multiprocessing
import os
import signal
import sqlite3
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final, TypeVar, cast

from mdplan import __version__
from mdplan.bot.job import CandidateFile, FileOutcome, FileStatus, Job
from mdplan.diagnostics import Code
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.plans import PrivateFolder

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


# --- A cache of verdicts, so that the next run only reads files that have changed
#
# A verdict belongs to the bytes of a file, to the whole manifest, and to the version of mdplan. It lies in
# the user's state directory, where nothing that comes with a repository can put one.

_FILE: Final = "verdicts.sqlite3"

_WAIT_SECONDS: Final = 2.0

_KEPT_JOBS: Final = 8

_UNCHANGED: Final = frozenset({FileStatus.SKIPPED, FileStatus.SATISFIED})

_TABLES: Final = """
create table if not exists jobs (job text primary key, used real) without rowid;
create table if not exists verdicts (
    job text, path text, rules text, stamp text, digest blob, verdict text, primary key (job, path)
) without rowid;
"""

_FORGET_JOBS: Final = (
    "delete from jobs where job in (select job from jobs order by used desc limit -1 offset ?)"
)


@dataclass(frozen=True, slots=True)
class _Row:
    rules: str
    stamp: str
    digest: bytes
    verdict: FileStatus


@dataclass(kw_only=True)
class VerdictCache:
    """Verdicts about the files of one job; without a `key` nothing is read or stored.

    If the database cannot be used, the run continues without it.
    """

    folder: PrivateFolder
    key: str | None
    rows: dict[str, _Row] = field(default_factory=dict)
    stamps: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, job: Job) -> "VerdictCache":
        """The verdicts of earlier runs of `job`; none if it uses git history, which a hash does not cover."""
        identity = job.tree.identity
        cache = cls(folder=PrivateFolder("\0".join(identity), "verdicts"), key=None)
        if not job.history:
            facts = [__version__, identity, job.loaded.located.data, job.loaded.values.known]
            identity_json = json.dumps([*facts, repr(job.settings)], default=str)
            cache.key = hashlib.sha256(identity_json.encode("utf-8", "surrogatepass")).hexdigest()
            cache._load()
        return cache

    def known(
        self, candidates: Sequence[CandidateFile], stamps: Mapping[str, str]
    ) -> Iterator[FileOutcome | CandidateFile]:
        """The cached outcome of each candidate whose stamp is unchanged; else the candidate.

        A candidate with another stamp gets the digest for which the cached verdict still counts.
        """
        self.stamps = stamps
        for candidate in candidates:
            row = self.rows.get(candidate.path)
            if row is None or row.rules != _rules(candidate):
                yield candidate
            elif row.stamp and row.stamp == stamps.get(candidate.path):
                yield FileOutcome(path=candidate.path, verdict=row.verdict)
            else:
                yield replace(candidate, known=(row.digest, row.verdict))

    def remember(self, candidates: Iterable[CandidateFile], outcomes: Mapping[str, FileOutcome]) -> None:
        """Store the `outcomes` of unchanged `candidates`, and delete the rows of the others."""
        rows = [
            (self.key, each.path, _rules(each), self.stamps.get(each.path, ""), found.digest, found.verdict)
            for each in candidates
            if (found := outcomes.get(each.path)) is not None
        ]
        gone = [(self.key, each.path) for each in candidates if each.path not in outcomes]
        gone = [each for each in gone if each[1] in self.rows]
        if self.key is None or not (rows or gone):
            return
        with suppress(OSError, sqlite3.Error), self._database(makes=True) as database:
            database.executescript(_TABLES)
            with database:
                database.execute("insert or replace into jobs values (?, ?)", (self.key, time.time()))
                database.executemany("delete from verdicts where job = ? and path = ?", gone)
                database.executemany("insert or replace into verdicts values (?, ?, ?, ?, ?, ?)", rows)
                database.execute(_FORGET_JOBS, (_KEPT_JOBS,))
                database.execute("delete from verdicts where job not in (select job from jobs)")

    def _load(self) -> None:
        try:
            with self._database() as database:
                query = "select path, rules, stamp, digest, verdict from verdicts where job = ?"
                for path, rules, stamp, digest, verdict in database.execute(query, (self.key,)):
                    self.rows[path] = _Row(rules, stamp, digest, FileStatus(verdict))
        except (OSError, ValueError, sqlite3.OperationalError):
            return  # Another run has it, or it has no tables yet.
        except sqlite3.DatabaseError:
            self.rows.clear()
            with suppress(OSError), self.folder.open() as folder:
                self.folder.filesystem.unlink(folder, _FILE)

    @contextmanager
    def _database(self, *, makes: bool = False) -> Iterator[sqlite3.Connection]:
        """The database, in a folder that only this user can write into. Raises `OSError`, `sqlite3.Error`."""
        path = f"{self.folder.path}/{_FILE}"
        with self.folder.open(makes=makes), closing(sqlite3.connect(path, timeout=_WAIT_SECONDS)) as database:
            yield database


def is_kept(outcome: FileOutcome) -> bool:
    """Whether the verdict `outcome` depends on the bytes of the file alone, and has nothing to report."""
    return outcome.verdict in _UNCHANGED and bool(outcome.digest) and not outcome.misses


def _rules(candidate: CandidateFile) -> str:
    return ",".join(map(str, candidate.rules))
