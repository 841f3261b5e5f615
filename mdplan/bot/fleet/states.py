"""The outcome of the last run on each repository of a fleet, in an SQLite file."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from mdplan.diagnostics import Code
from mdplan.storage.filesystem import StorageRefused

_WAIT_SECONDS: Final = 30.0
_TABLE: Final = """
create table if not exists repositories (fleet text, name text, state text, primary key (fleet, name))
without rowid;
"""


class FleetState(StrEnum):
    """The state of a repository after a run."""

    PENDING = "pending"
    OPEN = "open"
    NOTHING = "nothing to do"
    FAILED = "failed"
    MERGED = "merged"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetBranch:
    """A branch of the bot in a repository, its commit, and the address of its pull request."""

    branch: str
    commit: str
    pull_request: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRepository:
    """A repository of a fleet and its state.

    `files` is how many files the branches change. `error` says why it failed, and `hint` what to do.
    `question` is which manifest was asked of which commits: while that is the same, there is nothing to do.
    """

    name: str
    state: FleetState = FleetState.PENDING
    files: int = 0
    branches: tuple[FleetBranch, ...] = ()
    error: str | None = None
    hint: str | None = None
    question: str = ""


class FleetStates:
    """The states of the fleet `fleet` in the file `path`; each change is on the disk when it returns."""

    def __init__(self, path: Path, fleet: str) -> None:
        self._path, self._fleet = path, fleet

    def all(self) -> Mapping[str, FleetRepository]:
        """The known states by the name of the repository. Raises `StorageRefused` (IO_ERROR)."""
        with self._database() as database:
            asked = "select name, state from repositories where fleet = ?"
            rows = database.execute(asked, (self._fleet,)).fetchall()
        return {name: _read(state) for name, state in rows}

    def put(self, repository: FleetRepository) -> None:
        """Keep the state of `repository`. Raises `StorageRefused` (IO_ERROR)."""
        row = (self._fleet, repository.name, json.dumps(asdict(repository)))
        with self._database() as database, database:
            database.execute("insert or replace into repositories values (?, ?, ?)", row)

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=_WAIT_SECONDS)) as database:
                database.execute(_TABLE)
                yield database
        except (OSError, sqlite3.Error) as error:
            message = f"the states of the fleet in `{self._path}` cannot be used: {error}"
            raise StorageRefused.of(Code.IO_ERROR, message, "name another folder with `--work`") from error


def _read(text: str) -> FleetRepository:
    fields = json.loads(text)
    branches = tuple(FleetBranch(**each) for each in fields.pop("branches"))
    return FleetRepository(**{**fields, "state": FleetState(fields["state"])}, branches=branches)
