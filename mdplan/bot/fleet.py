"""Run a manifest on many repositories in parallel, keeping the state of each in a file."""

import hashlib
import json
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from mdplan.bot.bot import RunOptions
from mdplan.bot.commits import must_be_of_the_bot
from mdplan.bot.executors import in_order, open_executor
from mdplan.bot.expansion import Path as Place
from mdplan.bot.expansion import SourceMap, read_source_map
from mdplan.bot.forge import WRITES_AN_HOUR, GitHub, Governor, Remote, tracking
from mdplan.bot.manifest import LoadedManifest
from mdplan.bot.pulls import PullOptions, Split, run_pull_request, run_pull_requests
from mdplan.diagnostics import Code, Diagnostic, Exit, Refused
from mdplan.engine.engine import Engine
from mdplan.git.repository import (
    BRANCHES,
    RepositoryLocation,
    git_failed,
    is_tracked,
    run_git,
    without_password,
)
from mdplan.reports.base import Report
from mdplan.settings import Settings
from mdplan.storage.filesystem import StorageRefused, storage_errors
from mdplan.storage.local import is_own, wait_for_lock
from mdplan.storage.names import real_path
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.visible import visible
from mdplan.values import Struct, replace
from mdplan.words import ShellWords, say


class FleetState(StrEnum):
    """The state of a repository after a run."""

    PENDING = "pending"
    OPEN = "open"
    NOTHING = "nothing to do"
    FAILED = "failed"
    EMPTY = "empty"
    ARCHIVED = "archived"
    MERGED = "merged"
    CLOSED = "closed"


class FleetBranch(Struct, kw_only=True):
    """A branch of the bot in a repository, its commit, and the URL of its pull request."""

    branch: str
    commit: str
    pull_request: str | None = None


class FleetRepository(Struct, kw_only=True):
    """A repository of a fleet and its state.

    `files` is the number of files that the branches change; `error` describes a failure. `question` is a
    digest of the manifest and commits: if unchanged, the run skips it.
    """

    name: str
    state: FleetState = FleetState.PENDING
    files: int = 0
    branches: tuple[FleetBranch, ...] = ()
    error: Diagnostic | None = None
    question: str = ""


class FleetReport(Report, kw_only=True):
    """The report of `mdplan fleet`: the repositories and their states.

    `error` is a failure that another run may not have, if there is any.
    """

    repositories: tuple[FleetRepository, ...] = ()


class Shard(Struct):
    """A part of a fleet: the repositories whose names hash to `number`, from 1 to `count`.

    Changes to the list never move a repository to another shard.
    """

    number: int = 1
    count: int = 1

    @classmethod
    def read(cls, text: str) -> "Shard | Diagnostic":
        """Parse ``NUMBER/COUNT``. Errors: INVALID_ARGUMENT."""
        number, _, count = text.partition("/")
        shard = cls(int(number), int(count)) if number.isdecimal() and count.isdecimal() else cls(0)
        if 1 <= shard.number <= shard.count:
            return shard
        return Diagnostic.invalid(f"`{text[:60]}` is not a shard", "write NUMBER/COUNT, as in 3/16")

    @classmethod
    def of(cls, name: str, count: int) -> "Shard":
        """Return the shard of the repository `name`, out of `count` shards."""
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
        return cls(int.from_bytes(digest[:8]) % count + 1, count)

    def __str__(self) -> str:
        """Return ``NUMBER/COUNT``."""
        return f"{self.number}/{self.count}"


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

    Clones are in the folder `work`. With `github` each branch has a pull request; `per_hour` limits the
    writes to the forge.
    """

    loaded: LoadedManifest
    settings: Settings
    work: str
    wanted: PullOptions
    github: bool
    split: Split | None = None
    all_or_nothing: bool = False
    per_hour: float = WRITES_AN_HOUR

    @property
    def key(self) -> str:
        """A digest of the manifest, its values, and all options that affect the branches."""
        more = (self.settings, self.wanted, self.github, self.split, self.all_or_nothing)
        facts = [self.loaded.located.data, self.loaded.values.known, *map(repr, more)]
        identity_json = json.dumps(facts, default=str)
        return hashlib.sha256(identity_json.encode("utf-8", "surrogatepass")).hexdigest()

    def forge(self, member: FleetMember) -> Callable[[str], GitHub] | None:
        """Return the forge factory for `member`; None if branches are only pushed."""
        governor = Governor(path=f"{self.work}/requests.json", share=self.per_hour / WRITES_AN_HOUR)
        return partial(GitHub.of_repository, name=member.github, governor=governor) if self.github else None


_SETTLED: Final = frozenset({FleetState.OPEN, FleetState.NOTHING})
_PLAIN: Final = lazy_pattern(r"[^A-Za-z0-9._-]+")

# A repository and its last known state.
Visit: TypeAlias = tuple[FleetMember, FleetRepository]
VisitTask: TypeAlias = Callable[[Fleet, Visit], FleetRepository]


def run_fleet(
    task: VisitTask, fleet: Fleet, members: Sequence[FleetMember], states: "FleetStates", options: RunOptions
) -> FleetReport:
    """Run `task` for each of `members` in parallel; a failure does not hold up the others.

    A killed run is resumed by the next one. Errors: one per failed repository. Raise `StorageRefused` for an
    unusable executor or folder.
    """
    _must_be_own(fleet.work)
    visits = [(member, states.known[member.name]) for member in members]
    visited: list[FleetRepository] = []
    for repository in _visited(task, fleet, visits, options):
        states.put(repository)
        visited.append(repository)
        facts = {"name": repository.name, "state": repository.state.value}
        options.on_event("visited", {**facts, "done": len(visited), "files": len(visits)})
    return fleet_report(visited)


def _visited(
    task: VisitTask, fleet: Fleet, visits: Sequence[Visit], options: RunOptions
) -> Iterator[FleetRepository]:
    """Yield the result of each of `visits`, in order, even if a process is killed."""
    done = 0
    while done < len(visits):
        rest = visits[done:]
        try:
            with open_executor(options.executor, options.jobs, len(rest)) as executor:
                for repository in in_order(executor, partial(_visit, task), rest, fleet, jobs=options.jobs):
                    done += 1
                    yield repository
        except BrokenExecutor:
            # One of the repositories in progress ended its process: visit them one by one.
            yield _visited_alone(task, fleet, visits[done])
            done += 1


def _visited_alone(task: VisitTask, fleet: Fleet, visit: Visit) -> FleetRepository:
    try:
        with ProcessPoolExecutor(1) as executor:
            return executor.submit(_visit, task, fleet, visit).result()
    except BrokenExecutor:
        message = "the process that worked on it was killed"
        return _failed(visit[1], Code.IO_ERROR.problem(message, "it may need more memory"))


def fleet_report(repositories: Sequence[FleetRepository], *more: Diagnostic) -> FleetReport:
    """Return the report on `repositories`, with a problem per failure, and `more` problems."""
    failed = [
        replace(repository.error, message=f"{repository.name}: {repository.error.message}")
        for repository in repositories
        if repository.error is not None
    ]
    problems = tuple(sorted((*failed, *more), key=lambda problem: problem.code.exit is not Exit.ENVIRONMENT))
    error = next(iter(problems), None)
    return FleetReport(ok=error is None, error=error, diagnostics=problems, repositories=tuple(repositories))


# --- States in a file

# A fleet is a branch of the bot; each shard has a file.
_Header: TypeAlias = tuple[str, int, int]


@dataclass
class FleetStates:
    """The states of the repositories of `shard` in the file `path`.

    The first line names the branch and the shard, each other line is a repository. `known` are the states by
    name.
    """

    path: Path
    branch: str
    shard: Shard
    known: dict[str, FleetRepository] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path, branch: str, shard: Shard) -> "FleetStates":
        """Return the states in the file `path`, which may not exist yet.

        Raise `StorageRefused`: IO_ERROR, INVALID_ARGUMENT for the states of others.
        """
        states = cls.read(path) if path.exists() else cls(path, branch, shard)
        if (states.branch, states.shard) == (branch, shard):
            return states
        message = f"`{path}` has the states of `{visible(states.branch)}`, shard {states.shard}"
        raise StorageRefused.of(Code.INVALID_ARGUMENT, message, say("name another file with {--state}"))

    @classmethod
    def read(cls, path: Path) -> "FleetStates":
        """Return the states in the file `path`. Raise `StorageRefused` (IO_ERROR, INVALID_ARGUMENT)."""
        with storage_errors(str(path), "reading"):
            first, *lines = path.read_bytes().split(b"\n")
        try:
            branch, *numbers = msgspec.json.decode(first, type=_Header)
            known = [msgspec.json.decode(line, type=FleetRepository) for line in lines]
        except ValueError as error:
            message = f"`{path}` is no file of the states of a fleet"
            hint = say("name the file of {--state}")
            raise StorageRefused.of(Code.INVALID_ARGUMENT, message, hint) from error
        return cls(path, branch, Shard(*numbers), {each.name: each for each in known})

    def begin(self, members: Iterable[FleetMember]) -> None:
        """Save the states of `members`, the new ones as pending, and no others.

        Raise `StorageRefused` (IO_ERROR).
        """
        old = self.known
        self.known = {each.name: old.get(each.name, FleetRepository(name=each.name)) for each in members}
        self._save()

    def put(self, repository: FleetRepository) -> None:
        """Save the state of `repository`. Raise `StorageRefused` (IO_ERROR)."""
        if self.known[repository.name] != repository:
            self.known[repository.name] = repository
            self._save()

    def _save(self) -> None:
        header = (self.branch, self.shard.number, self.shard.count)
        with storage_errors(str(self.path), "writing"):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            new = self.path.with_name(f"{self.path.name}.new")
            new.write_bytes(b"\n".join(map(msgspec.json.encode, (header, *self.known.values()))))
            new.replace(self.path)


def joined_states(paths: Sequence[Path]) -> FleetReport:
    """Return the report on the states in the files `paths`; of a repository the last one counts.

    Errors: one per failed repository; IO_ERROR for pending repositories and missing shards. Raise
    `StorageRefused` (IO_ERROR, INVALID_ARGUMENT).
    """
    files = [FleetStates.read(path) for path in paths]
    joined = {(file.branch, name): state for file in files for name, state in file.known.items()}
    count = max((file.shard.count for file in files), default=0)
    there = {file.shard.number for file in files if file.shard.count == count}
    missing = [str(Shard(number, count)) for number in range(1, count + 1) if number not in there]
    pending = [state.name for state in joined.values() if state.state is FleetState.PENDING]
    again = say("run {mdplan fleet open} for them again")
    problems = [
        Code.IO_ERROR.problem(f"{what}: {', '.join(names[:_MOST_NAMED])}", again)
        for what, names in (("shards without state", missing), ("pending repositories", pending))
        if names
    ]
    return fleet_report(list(joined.values()), *problems)


_MOST_NAMED: Final = 20


# --- Visiting a repository, in any process with access to the clones

_BUSY: Final = "busy"
_CLOSED: Final = "The fleet that opened this pull request closed it."

# The messages of git and GitHub about a read-only repository.
_ARCHIVED: Final = lazy_pattern(r"archived,? so (it )?is read-only")
# Their messages about a branch that rejects the bot.
_PROTECTED: Final = lazy_pattern(r"protected branch|GH006|GH013|hook declined")


def _visit(task: VisitTask, fleet: Fleet, visit: Visit) -> FleetRepository:
    """Return the result of `task`, or the repository as failed."""
    try:
        return task(fleet, visit)
    except StorageRefused as refused:
        return _failed(visit[1], refused.problems[0])
    except OSError as error:
        message = f"its clone cannot be used: {error}"
        return _failed(visit[1], Code.IO_ERROR.problem(message, say("name another folder with {--work}")))
    except Exception as error:  # noqa: BLE001 (a bug in one repository must not stop the others)
        bug = f"mdplan has a bug: {type(error).__name__}: {visible(str(error))}"
        return _failed(visit[1], Code.IO_ERROR.problem(bug, "please report it"))


def open_branches(fleet: Fleet, visit: Visit) -> FleetRepository:
    """Update the branches and pull requests of a repository, unless nothing changed since the last run."""
    member, known = visit
    with _clone(fleet, member) as clone:
        tips = _tips(clone, fleet, member)
        if _digest(fleet, tips) == known.question and known.state in _SETTLED:
            return known
        if BRANCHES + member.base not in tips:
            if not _heads(clone):
                return _ended(known, FleetState.EMPTY)
            message = f"it has no branch `{visible(member.base)}`"
            raise StorageRefused.of(Code.INVALID_ARGUMENT, message, "correct `base` in the list")
        forge = fleet.forge(member)
        if forge is not None:
            found = forge(member.address).found()
            forge = lambda _address: found  # noqa: E731
        wanted = replace(fleet.wanted, base=member.base, forge=forge)
        options = RunOptions(jobs=1, all_or_nothing=fleet.all_or_nothing)
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
            question=_digest(fleet, _tips(clone, fleet, member)),
        )
        return visited if report.error is None else _failed(visited, report.error)


def end_branches(fleet: Fleet, visit: Visit, *, state: FleetState) -> FleetRepository:
    """Merge or close the pull requests of a repository, as `state` says, and delete its branches.

    Without forge, the base must not have moved.
    """
    member, known = visit
    closes = state is FleetState.CLOSED
    if known.state not in {FleetState.OPEN, FleetState.PENDING} and not (closes and known.branches):
        return known
    with _clone(fleet, member) as clone:
        known = _recalled(fleet, member, known, clone)
        forge = fleet.forge(member)
        host = forge(member.address) if forge is not None and known.branches else None
        for branch in known.branches:
            pull = host.find(branch.branch) if host is not None else None
            if host is None and not closes:
                # Without force, git refuses a moved base.
                _git(clone, "push", "--quiet", "origin", f"{branch.commit}:{BRANCHES}{member.base}")
            elif host is not None and pull is not None and closes:
                host.close(pull, _CLOSED)
            elif host is not None and pull is not None:
                host.merge(pull, branch.commit)
        _delete(clone, known)
        return _ended(known, state if known.branches else FleetState.NOTHING)


TASKS: Final[Mapping[str, VisitTask]] = {
    "open": open_branches,
    "merge": partial(end_branches, state=FleetState.MERGED),
    "close": partial(end_branches, state=FleetState.CLOSED),
}


def _failed(known: FleetRepository, problem: Diagnostic) -> FleetRepository:
    """Return `known` as failed, with `problem` in shell terms; the next run retries."""
    problem = ShellWords().tell(problem)
    if _ARCHIVED.search(problem.message):
        return replace(_ended(known, FleetState.ARCHIVED), branches=known.branches)
    if _PROTECTED.search(problem.message):
        problem = replace(problem, hint="let the bot create and push its branch, or name another one")
    return replace(known, state=FleetState.FAILED, error=problem, question="")


def _ended(known: FleetRepository, state: FleetState) -> FleetRepository:
    return replace(known, state=state, branches=(), error=None, question="")


def _recalled(fleet: Fleet, member: FleetMember, known: FleetRepository, clone: str) -> FleetRepository:
    """Return `known` with the branches of the repository if its state is lost.

    Raise `StorageRefused` (STALE_BASE) if others committed to them.
    """
    if known.state is not FleetState.PENDING:
        return known
    place, base = RepositoryLocation(clone, ""), tracking("origin", member.base)
    tips = {name.removeprefix(BRANCHES): tip for name, tip in _tips(clone, fleet, member).items()}
    own = {branch: tip for branch, tip in tips.items() if branch != member.base}
    if own:
        Remote(place, "origin").fetch(*tips)
    for branch, tip in own.items():
        must_be_of_the_bot(place, BRANCHES + branch, tip, base)
    return replace(known, branches=tuple(FleetBranch(branch=name, commit=tip) for name, tip in own.items()))


def _delete(clone: str, known: FleetRepository) -> None:
    """Delete the branches that are still where the last run left them."""
    heads = _heads(clone) if known.branches else {}
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
        wait_for_lock(lock.fileno())
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


def _heads(clone: str, *names: str) -> dict[str, str]:
    """Return the commits of the remote branches `names`, by default of all, by their full names."""
    lines = _git(clone, "ls-remote", "--heads", "origin", *names).splitlines()
    return {name: commit for commit, _, name in (line.partition("\t") for line in lines)}


def _tips(clone: str, fleet: Fleet, member: FleetMember) -> dict[str, str]:
    """Return the commits of the base and of the bot's branches."""
    own = BRANCHES + fleet.wanted.branch
    return _heads(clone, BRANCHES + member.base, own, f"{own}/*")


def _digest(fleet: Fleet, tips: Mapping[str, str]) -> str:
    """Return the digest of a run's inputs: the manifest, the base, and the bot's branches."""
    return hashlib.sha256(f"{fleet.key}\n{sorted(tips.items())}".encode()).hexdigest()


def _git(folder: str, *arguments: str) -> str:
    done = run_git(folder, *arguments)
    if done.returncode:
        raise git_failed(done, "check the address of the repository")
    return done.stdout.decode("utf-8", "replace")


def _must_be_own(work: str) -> None:
    """Raise `StorageRefused` if others can write into the folder `work`."""
    with storage_errors(work, "using"):
        Path(work).mkdir(mode=0o700, parents=True, exist_ok=True)
        is_private = is_own(real_path(work), closed=stat.S_IWOTH)
    if not is_private or is_tracked(work):
        message = f"others can write into the folder `{work}` of clones and states"
        hint = say("name a folder of your own with {--work}, which is in no repository")
        raise StorageRefused.of(Code.PERMISSION_DENIED, message, hint)


# --- Reading the list of repositories

_FIELDS: Final = frozenset({"address", "name", "base", "github"})
_HINT: Final = "write `repositories:` and below it `- address: ADDRESS`, with `name`, `base` or `github`"


def read_repositories(path: str, base: str) -> list[FleetMember]:
    """Read the repositories listed in the YAML or JSON file `path`; `base` is the default branch.

    Raise `Refused` with all problems: FILE_NOT_FOUND, NOT_A_TEXT_FILE, INVALID_ARGUMENT.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise Code.FILE_NOT_FOUND.refused(f"`{path}`: {reason}", _HINT) from error
    except UnicodeDecodeError as error:
        raise Code.NOT_A_TEXT_FILE.refused(f"`{path}` is not UTF-8", _HINT) from error
    located = read_source_map(text, path, "the list of repositories", _HINT)
    if isinstance(located, Diagnostic):
        raise Refused(located)
    listed = located.data.get("repositories") if isinstance(located.data, dict) else None
    if not isinstance(listed, list) or not listed or set(located.data) != {"repositories"}:
        raise Refused(_problem("the list names no repositories", located, (), path))
    members: dict[str, FleetMember] = {}
    problems: list[Diagnostic] = []
    for index, entry in enumerate(listed):
        member = _member(entry, base)
        if isinstance(member, FleetMember) and member.name in members:
            member = f"`{member.name}` is there twice"
        if isinstance(member, FleetMember):
            members[member.name] = member
        else:
            problems.append(_problem(member, located, ("repositories", index), path))
    if problems:
        raise Refused(*problems)
    return list(members.values())


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
