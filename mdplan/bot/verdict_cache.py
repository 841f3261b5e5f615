"""Cached verdicts on unchanged files, so that the next run reads only changed files.

A verdict is valid for a file's stamp, the whole manifest, and the version of mdplan. The cache is in the
user's state directory, out of reach of repositories.
"""

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mdplan import __version__
from mdplan.bot.job import PAGES, CandidateFile, FileOutcome, FileStatus, Job
from mdplan.storage.user_state import RootFolder
from mdplan.values import Struct

_FILE: Final = "bot.sqlite3"
_WAIT_SECONDS: Final = 2.0
_KEPT_JOBS: Final = 8
_UNCHANGED: Final = frozenset({FileStatus.SKIPPED, FileStatus.SATISFIED})

_TABLES: Final = """
create table if not exists jobs (job text primary key, used real) without rowid;
create table if not exists verdicts (
    job text, path text, rules text, stamp text, verdict text, primary key (job, path)
) without rowid;
"""

_FORGET_JOBS: Final = (
    "delete from jobs where job in (select job from jobs order by used desc limit -1 offset ?)"
)


class _Row(Struct):
    rules: str
    stamp: str
    verdict: FileStatus


@dataclass(kw_only=True)
class VerdictCache:
    """Cached verdicts for the files of a job; without `key` nothing is cached.

    If the database is unusable, the run continues without it.
    """

    folder: RootFolder
    key: str | None
    rows: dict[str, _Row] = field(default_factory=dict)
    stamps: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, job: Job) -> "VerdictCache":
        """Return the verdicts of earlier runs of `job`.

        There are none if it uses git history, other pages or links, which are not in the hash of a file.
        """
        identity = job.tree.identity
        cache = cls(folder=RootFolder("\0".join(identity)), key=None)
        rules = job.loaded.manifest.files
        if not any(rule.links for rule in rules) and not job.history and not job.loaded.uses_anywhere(PAGES):
            values = dict(job.loaded.values.known)
            if not job.loaded.uses_anywhere("today"):
                del values["today"]
            facts = [__version__, identity, job.loaded.located.data, values]
            identity_json = json.dumps([*facts, repr(job.settings)], default=str)
            cache.key = hashlib.sha256(identity_json.encode("utf-8", "surrogatepass")).hexdigest()
            cache._load()
        return cache

    def known(
        self, candidates: Sequence[CandidateFile], stamps: Mapping[str, str]
    ) -> Iterator[FileOutcome | CandidateFile]:
        """Yield the cached outcome of each candidate with an unchanged stamp, or else the candidate."""
        self.stamps = stamps
        for candidate in candidates:
            row = self.rows.get(candidate.path)
            if row is not None and (row.rules, row.stamp) == (_rules(candidate), stamps.get(candidate.path)):
                yield FileOutcome(path=candidate.path, verdict=row.verdict)
            else:
                yield candidate

    def remember(self, candidates: Iterable[CandidateFile], outcomes: Mapping[str, FileOutcome]) -> None:
        """Store the `outcomes` of unchanged `candidates`, and delete the others."""
        rows = [
            (self.key, each.path, _rules(each), stamp, found.verdict)
            for each in candidates
            if (found := outcomes.get(each.path)) is not None and (stamp := self.stamps.get(each.path))
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
                database.executemany("insert or replace into verdicts values (?, ?, ?, ?, ?)", rows)
                database.execute(_FORGET_JOBS, (_KEPT_JOBS,))
                database.execute("delete from verdicts where job not in (select job from jobs)")

    def _load(self) -> None:
        try:
            with self._database() as database:
                query = "select path, rules, stamp, verdict from verdicts where job = ?"
                for path, rules, stamp, verdict in database.execute(query, (self.key,)):
                    self.rows[path] = _Row(rules, stamp, FileStatus(verdict))
        except (OSError, ValueError, sqlite3.OperationalError):
            return  # Another run has it, or it has no tables yet.
        except sqlite3.DatabaseError:
            self.rows.clear()
            with suppress(OSError):
                Path(self.folder.path, _FILE).unlink()

    @contextmanager
    def _database(self, *, makes: bool = False) -> Iterator[sqlite3.Connection]:
        """Yield the database, in a private folder. Raise `OSError` or `sqlite3.Error`."""
        path = f"{self.folder.path}/{_FILE}"
        self.folder.check(makes=makes)
        with closing(sqlite3.connect(path, timeout=_WAIT_SECONDS)) as database:
            yield database


def is_kept(outcome: FileOutcome) -> bool:
    """Return True if `outcome` depends only on the file's bytes and has no problems."""
    return outcome.verdict in _UNCHANGED and not outcome.misses


def _rules(candidate: CandidateFile) -> str:
    return ",".join(map(str, candidate.rules))
