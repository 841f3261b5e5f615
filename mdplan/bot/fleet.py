"""Run a manifest on many repositories in parallel, keeping the state of each in SQLite."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from enum import StrEnum
from functools import partial, wraps
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from mdplan.bot.bot import RunOptions
from mdplan.bot.executors import in_order, open_executor
from mdplan.bot.expansion import Path as Place
from mdplan.bot.expansion import SourceMap, read_source_map
from mdplan.bot.forge import GitHub
from mdplan.bot.manifest import LoadedManifest
from mdplan.bot.pulls import PullOptions, Split, run_pull_request, run_pull_requests
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.engine.engine import Engine
from mdplan.git.repository import BRANCHES, git_failed, is_tracked, run_git, without_password
from mdplan.reports.base import Report
from mdplan.settings import Settings
from mdplan.storage.filesystem import StorageRefused
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.values import Struct, replace
from mdplan.words import ShellWords, say


class FleetState(StrEnum):
    """The state of a repository after a run."""

    PENDING = "pending"
    OPEN = "open"
    NOTHING = "nothing to do"
    FAILED = "failed"
    MERGED = "merged"
    CLOSED = "closed"


class FleetBranch(Struct, kw_only=True):
    """A branch of the bot in a repository, its commit, and the URL of its pull request."""

    branch: str
    commit: str
    pull_request: str | None = None


class FleetRepository(Struct, kw_only=True):
    """A repository of a fleet and its state.

    `files` is the number of files that the branches change. `error` and `hint` describe a failure. `question`
    is a digest of the manifest and commits: if unchanged, the run skips it.
    """

    name: str
    state: FleetState = FleetState.PENDING
    files: int = 0
    branches: tuple[FleetBranch, ...] = ()
    error: str | None = None
    hint: str | None = None
    question: str = ""


class FleetReport(Report, kw_only=True):
    """The report of `mdplan fleet`: the repositories and their states, in list order."""

    repositories: tuple[FleetRepository, ...] = ()


class FleetMember(Struct, kw_only=True):
    """A repository: its `name` in reports, the `address` to clone, and the branch to merge into.

    `github` is ``OWNER/NAME`` if it differs from the address.
    """

    name: str
    address: str
    base: str
    github: str | None = None

    @property
    def folder(self) -> str:
        """The unique folder name of its clone."""
        digest = hashlib.sha256(self.address.encode()).hexdigest()[:12]
        return f"{_PLAIN.sub('-', self.name)[:60]}-{digest}"


class Fleet(Struct, kw_only=True):
    """The task for each repository: apply the manifest `loaded` on the branches of `wanted`.

    Clones are in the folder `work`. With `github` each branch has a pull request.
    """

    loaded: LoadedManifest
    settings: Settings
    work: str
    wanted: PullOptions
    github: bool
    split: Split | None = None
    keep_going: bool = False

    @property
    def key(self) -> str:
        """A digest of the manifest, its values, and all options that affect the branches."""
        more = (self.settings, self.wanted, self.github, self.split, self.keep_going)
        facts = [self.loaded.located.data, self.loaded.values.known, *map(repr, more)]
        identity_json = json.dumps(facts, default=str)
        return hashlib.sha256(identity_json.encode("utf-8", "surrogatepass")).hexdigest()

    def forge(self, member: FleetMember) -> Callable[[str], GitHub] | None:
        """Return the forge factory for `member`; None if branches are only pushed."""
        return partial(GitHub.of_repository, name=member.github) if self.github else None


_PLAIN: Final = lazy_pattern(r"[^A-Za-z0-9._-]+")

# A repository and its last known state.
Visit: TypeAlias = tuple[FleetMember, FleetRepository]
VisitTask: TypeAlias = Callable[[Fleet, Visit], FleetRepository]


def run_fleet(
    task: VisitTask, fleet: Fleet, members: Sequence[FleetMember], options: RunOptions
) -> FleetReport:
    """Run `task` for each of `members` in parallel; a failure does not hold up the others.

    A killed run is resumed by the next one. Errors: one per failed repository. Raise `StorageRefused` for an
    unusable executor or folder.
    """
    states = fleet_states(fleet)
    known = states.all()
    visits = [(member, known.get(member.name, FleetRepository(name=member.name))) for member in members]
    visited: list[FleetRepository] = []
    with open_executor(options.executor, options.jobs, len(visits)) as executor:
        for repository in in_order(executor, task, visits, fleet, jobs=options.jobs):
            states.put(repository)
            visited.append(repository)
            facts = {"name": repository.name, "state": repository.state.value}
            options.on_event("visited", {**facts, "done": len(visited), "files": len(visits)})
    return fleet_report(visited)


def fleet_report(repositories: Sequence[FleetRepository]) -> FleetReport:
    """Return the report on `repositories`, with a problem per failure."""
    problems = tuple(
        Code.IO_ERROR.problem(
            f"{repository.name}: {repository.error}", repository.hint or "run the command again to retry"
        )
        for repository in repositories
        if repository.state is FleetState.FAILED
    )
    error = next(iter(problems), None)
    return FleetReport(ok=error is None, error=error, diagnostics=problems, repositories=tuple(repositories))


class FleetStates:
    """The states of `fleet` in the file `path`; changes are synced."""

    def __init__(self, path: Path, fleet: str) -> None:
        self._path, self._fleet = path, fleet

    def all(self) -> Mapping[str, FleetRepository]:
        """Return the known states by repository name. Raise `StorageRefused` (IO_ERROR)."""
        with self._database() as database:
            asked = "select name, state from repositories where fleet = ?"
            rows = database.execute(asked, (self._fleet,)).fetchall()
        return {name: _read(state) for name, state in rows}

    def put(self, repository: FleetRepository) -> None:
        """Store the state of `repository`. Raise `StorageRefused` (IO_ERROR)."""
        row = (self._fleet, repository.name, json.dumps(msgspec.to_builtins(repository)))
        with self._database() as database, database:
            database.execute("insert or replace into repositories values (?, ?, ?)", row)

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        folder = self._path.parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = folder.stat()
            if status.st_uid != os.geteuid() or status.st_mode & stat.S_IWOTH or is_tracked(str(folder)):
                message = f"others can write into the folder `{folder}` of clones and states"
                hint = say("name a folder of your own with {--work}, which is in no repository")
                raise StorageRefused.of(Code.PERMISSION_DENIED, message, hint)
            with closing(sqlite3.connect(self._path, timeout=_WAIT_SECONDS)) as database:
                database.execute(_TABLE)
                yield database
        except (OSError, sqlite3.Error) as error:
            message = f"the states of the fleet in `{self._path}` cannot be used: {error}"
            raise StorageRefused.of(
                Code.IO_ERROR, message, say("name another folder with {--work}")
            ) from error


def fleet_states(fleet: Fleet) -> FleetStates:
    """Return the states of the repositories; another branch is another fleet."""
    return FleetStates(Path(fleet.work) / "fleet.sqlite3", fleet.wanted.branch)


# --- Visiting a repository, in any process with access to the clones

_BUSY: Final = "busy"
_CLOSED: Final = "The fleet that opened this pull request closed it."


def _reports_failure(task: VisitTask) -> VisitTask:
    """Return `task` with `StorageRefused` converted to a failed repository."""

    @wraps(task)
    def visit_repository(fleet: Fleet, visit: Visit) -> FleetRepository:
        try:
            return task(fleet, visit)
        except StorageRefused as refused:
            return _failed(visit[1], refused.problems[0])
        except OSError as error:
            message = f"its clone cannot be used: {error}"
            hint = say("name another folder with {--work}")
            return _failed(visit[1], Code.IO_ERROR.problem(message, hint))

    return visit_repository


@_reports_failure
def open_branches(fleet: Fleet, visit: Visit) -> FleetRepository:
    """Update the branches and pull requests of a repository, unless nothing changed since the last run."""
    member, known = visit
    with _clone(fleet, member) as clone:
        digest = _inputs_digest(fleet, member, clone)
        if digest == known.question and known.state in {FleetState.OPEN, FleetState.NOTHING}:
            return known
        wanted = replace(fleet.wanted, base=member.base, forge=fleet.forge(member))
        options = RunOptions(jobs=1, keep_going=fleet.keep_going)
        with Engine.open([clone], settings=fleet.settings) as engine:
            if fleet.split is None:
                report = run_pull_request(engine, fleet.loaded, options, wanted)
                pulls = [(wanted.branch, report.commit, report.pull_request)]
            else:
                report = run_pull_requests(engine, fleet.loaded, options, wanted, fleet.split)
                pulls = [(part.branch, part.commit, part.pull_request) for part in report.pull_requests]
        branches = tuple(
            FleetBranch(branch=branch, commit=commit, pull_request=pull)
            for branch, commit, pull in pulls
            if commit is not None
        )
        visited = FleetRepository(
            name=member.name,
            state=FleetState.OPEN if branches else FleetState.NOTHING,
            files=report.files_changed if branches else 0,
            branches=branches,
            question=_inputs_digest(fleet, member, clone),
        )
        return visited if report.error is None else _failed(visited, report.error)


@_reports_failure
def merge_branches(fleet: Fleet, visit: Visit) -> FleetRepository:
    """Merge the open pull requests of a repository; without forge, the base must not have moved."""
    member, known = visit
    if known.state is not FleetState.OPEN:
        return known
    with _clone(fleet, member) as clone:
        forge = fleet.forge(member)
        for branch in known.branches:
            if forge is None:
                # Without force, git refuses a moved base.
                _git(clone, "push", "--quiet", "origin", f"{branch.commit}:{BRANCHES}{member.base}")
            else:
                host = forge(member.address)
                pull = host.find(branch.branch)
                if pull is not None:
                    host.merge(pull, branch.commit)
        _delete(clone, known)
    return _ended(known, FleetState.MERGED)


@_reports_failure
def close_branches(fleet: Fleet, visit: Visit) -> FleetRepository:
    """Close the pull requests of a repository and delete its branches."""
    member, known = visit
    if not known.branches:
        return known
    with _clone(fleet, member) as clone:
        forge = fleet.forge(member)
        if forge is not None:
            host = forge(member.address)
            for branch in known.branches:
                pull = host.find(branch.branch)
                if pull is not None:
                    host.close(pull, _CLOSED)
        _delete(clone, known)
    return _ended(known, FleetState.CLOSED)


def _failed(known: FleetRepository, problem: Diagnostic) -> FleetRepository:
    """Return `known` as failed, with `problem` in shell terms; the next run retries."""
    state, problem = FleetState.FAILED, ShellWords().tell(problem)
    return replace(known, state=state, error=problem.message, hint=problem.hint, question="")


def _ended(known: FleetRepository, state: FleetState) -> FleetRepository:
    return replace(known, state=state, branches=(), error=None, hint=None, question="")


def _delete(clone: str, known: FleetRepository) -> None:
    """Delete the branches that are still where the last run left them."""
    lines = _git(clone, "ls-remote", "--heads", "origin").splitlines()
    heads = {line.partition("\t")[2] for line in lines}
    for branch in known.branches:
        name = BRANCHES + branch.branch
        if name in heads:
            lease = f"--force-with-lease={name}:{branch.commit}"
            _git(clone, "push", "--quiet", lease, "origin", f":{name}")


@contextmanager
def _clone(fleet: Fleet, member: FleetMember) -> Iterator[str]:
    """Yield the bare clone of `member`, locked for this process; re-create it after a killed run."""
    folder = Path(fleet.work) / member.folder
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        clone, busy = folder / "clone.git", folder / _BUSY
        if busy.exists():
            shutil.rmtree(clone, ignore_errors=True)
        if clone.is_symlink() or not clone.is_dir():
            clone.unlink(missing_ok=True)
        busy.touch()
        # Whoever placed a clone here could have configured programs.
        for name in ("config", "config.worktree", "commondir"):
            (clone / name).unlink(missing_ok=True)
        _git(str(folder), "init", "--quiet", "--bare", str(clone))
        _git(str(clone), "config", "remote.origin.url", member.address)
        try:
            yield str(clone)
        finally:
            busy.unlink()


def _inputs_digest(fleet: Fleet, member: FleetMember, clone: str) -> str:
    """Return the digest of a run's inputs: the manifest, the base, and the bot's branches."""
    base, own = BRANCHES + member.base, BRANCHES + fleet.wanted.branch
    tips = _git(clone, "ls-remote", "--heads", "origin", base, own, f"{own}/*")
    return hashlib.sha256(f"{fleet.key}\n{tips}".encode()).hexdigest()


def _git(folder: str, *arguments: str) -> str:
    done = run_git(folder, *arguments)
    if done.returncode:
        raise git_failed(done, "check the address of the repository")
    return done.stdout.decode("utf-8", "replace")


# --- Stored states

_WAIT_SECONDS: Final = 30.0

_TABLE: Final = """
create table if not exists repositories (fleet text, name text, state text, primary key (fleet, name))
without rowid;
"""


def _read(text: str) -> FleetRepository:
    fields = json.loads(text)
    branches = tuple(FleetBranch(**each) for each in fields.pop("branches"))
    return FleetRepository(**{**fields, "state": FleetState(fields["state"])}, branches=branches)


# --- Reading the list of repositories

_FIELDS: Final = frozenset({"address", "name", "base", "github"})
_HINT: Final = "write `repositories:` and below it `- address: ADDRESS`, with `name`, `base` or `github`"


def read_repositories(path: str, base: str) -> tuple[FleetMember, ...] | Problems:
    """Read the repositories listed in the YAML or JSON file `path`; `base` is the default branch.

    Errors: FILE_NOT_FOUND, NOT_A_TEXT_FILE, INVALID_ARGUMENT.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        return (Code.FILE_NOT_FOUND.problem(f"`{path}`: {reason}", _HINT),)
    except UnicodeDecodeError:
        return (Code.NOT_A_TEXT_FILE.problem(f"`{path}` is not UTF-8", _HINT),)
    located = read_source_map(text, path, "the list of repositories", _HINT)
    if isinstance(located, Diagnostic):
        return (located,)
    listed = located.data.get("repositories") if isinstance(located.data, dict) else None
    if not isinstance(listed, list) or not listed or set(located.data) != {"repositories"}:
        return (_problem("the list names no repositories", located, (), path),)
    members: list[FleetMember] = []
    problems: list[Diagnostic] = []
    for index, entry in enumerate(listed):
        member = _member(entry, base)
        if isinstance(member, FleetMember) and member.name in {known.name for known in members}:
            member = f"`{member.name}` is there twice"
        if isinstance(member, FleetMember):
            members.append(member)
        else:
            problems.append(_problem(member, located, ("repositories", index), path))
    return tuple(problems) or tuple(members)


def _member(given: Any, base: str) -> FleetMember | str:  # noqa: ANN401 (any JSON)
    """Return the repository of an entry, or what is wrong with it."""
    fields = {"address": given} if isinstance(given, str) else given
    if not isinstance(fields, dict) or not all(isinstance(value, str) and value for value in fields.values()):
        return "an entry is an address, or a map of texts"
    if unknown := sorted(set(fields) - _FIELDS):
        return f"an entry has no field `{unknown[0]}`"
    address = fields.get("address", "")
    if not address or address.startswith("-"):
        return "an entry has no address"
    parts = re.split(r"[/:]", without_password(address).removesuffix(".git").rstrip("/"))
    name = fields.get("name") or "/".join(parts[-2:])
    return FleetMember(name=name, address=address, base=fields.get("base", base), github=fields.get("github"))


def _problem(reason: str, located: SourceMap, place: Place, file: str) -> Diagnostic:
    return Diagnostic.invalid(reason, _HINT, file=file, place=located.place(place))
