"""One visit of a repository of a fleet: in any process that sees the folder of the clones."""

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from filelock import FileLock

from mdplan.bot.bot import RunOptions
from mdplan.bot.fleet.repositories import FleetMember
from mdplan.bot.fleet.states import FleetBranch, FleetRepository, FleetState
from mdplan.bot.manifest.loading import LoadedManifest
from mdplan.bot.pulls.forge import Forge
from mdplan.bot.pulls.github import GitHub
from mdplan.bot.pulls.lifecycle import PullOptions, run_pull_request, run_pull_requests
from mdplan.bot.pulls.split import Split
from mdplan.diagnostics import Diagnostic
from mdplan.engine.engine import Engine
from mdplan.git.repository import BRANCHES, git_failed, run_git
from mdplan.settings import Settings
from mdplan.storage.filesystem import StorageRefused

_BUSY: Final = "busy"
_CLOSED: Final = "The fleet that opened this pull request closed it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What to do in each repository: apply the manifest `loaded`, on branches that begin with `branch`.

    Clones lie in the folder `work`; `key` is that of the manifest with its values. With `github` each branch
    has a pull request. `signed_by_forge` and `merges` are as in `PullOptions`.
    """

    loaded: LoadedManifest
    settings: Settings
    work: str
    key: str
    branch: str
    github: bool
    split: Split | None = None
    title: str | None = None
    labels: tuple[str, ...] = ()
    keep_going: bool = False
    signed_by_forge: bool = False
    merges: bool = False

    def forge(self, member: FleetMember) -> Callable[[str], Forge] | None:
        """Makes the forge of `member`; None where branches are pushed alone."""
        return partial(GitHub.of_repository, name=member.github) if self.github else None


# A repository, and what is known of it.
Visit: TypeAlias = tuple[FleetMember, FleetRepository]
VisitTask: TypeAlias = Callable[[Fleet, Visit], FleetRepository]


def open_branches(fleet: Fleet, visit: Visit) -> FleetRepository:
    """Renew the branches and pull requests of a repository, unless all of it is as the last run left it."""
    return _guarded(_open, fleet, visit)


def merge_branches(fleet: Fleet, visit: Visit) -> FleetRepository:
    """Merge the open pull requests of a repository; without a forge the base must still be where it was."""
    return _guarded(_merge, fleet, visit)


def close_branches(fleet: Fleet, visit: Visit) -> FleetRepository:
    """Close the pull requests of a repository and delete its branches."""
    return _guarded(_close, fleet, visit)


def _guarded(task: VisitTask, fleet: Fleet, visit: Visit) -> FleetRepository:
    try:
        return task(fleet, visit)
    except StorageRefused as refused:
        return _failed(visit[1], refused.problems[0])


def _failed(known: FleetRepository, problem: Diagnostic) -> FleetRepository:
    """`known` with what went wrong; the next run tries it again."""
    state = FleetState.FAILED
    return replace(known, state=state, error=problem.message, hint=problem.hint, question="")


def _open(fleet: Fleet, visit: Visit) -> FleetRepository:
    member, known = visit
    with _clone(fleet, member) as clone:
        question = _question(fleet, member, clone)
        if question == known.question and known.state in {FleetState.OPEN, FleetState.NOTHING}:
            return known
        wanted = PullOptions(
            base=member.base,
            branch=fleet.branch,
            title=fleet.title,
            labels=fleet.labels,
            forge=fleet.forge(member),
            signed_by_forge=fleet.signed_by_forge,
            merges=fleet.merges,
        )
        options = RunOptions(jobs=1, keep_going=fleet.keep_going)
        with Engine.open([clone], settings=fleet.settings) as engine:
            if fleet.split is None:
                report = run_pull_request(engine, fleet.loaded, options, wanted)
                made = [(fleet.branch, report.commit, report.pull_request)]
            else:
                report = run_pull_requests(engine, fleet.loaded, options, wanted, fleet.split)
                made = [(part.branch, part.commit, part.pull_request) for part in report.pull_requests]
        branches = tuple(
            FleetBranch(branch=branch, commit=commit, pull_request=pull)
            for branch, commit, pull in made
            if commit is not None
        )
        found = FleetRepository(
            name=member.name,
            state=FleetState.OPEN if branches else FleetState.NOTHING,
            files=report.files_changed if branches else 0,
            branches=branches,
            question=_question(fleet, member, clone),
        )
        return found if report.error is None else _failed(found, report.error)


def _merge(fleet: Fleet, visit: Visit) -> FleetRepository:
    member, known = visit
    if known.state is not FleetState.OPEN:
        return known
    with _clone(fleet, member) as clone:
        forge = fleet.forge(member)
        for each in known.branches:
            if forge is None:
                # Without force: a base that moved is refused.
                _git(clone, "push", "--quiet", "origin", f"{each.commit}:{BRANCHES}{member.base}")
            else:
                host = forge(member.address)
                pull = host.find(each.branch)
                if pull is not None:
                    host.merge(pull, each.commit)
        _delete(clone, known)
    return replace(known, state=FleetState.MERGED, branches=(), error=None, hint=None, question="")


def _close(fleet: Fleet, visit: Visit) -> FleetRepository:
    member, known = visit
    if not known.branches:
        return known
    with _clone(fleet, member) as clone:
        forge = fleet.forge(member)
        for each in known.branches:
            pull = forge(member.address).find(each.branch) if forge is not None else None
            if forge is not None and pull is not None:
                forge(member.address).close(pull, _CLOSED)
        _delete(clone, known)
    return replace(known, state=FleetState.CLOSED, branches=(), error=None, hint=None, question="")


def _delete(clone: str, known: FleetRepository) -> None:
    """Delete the branches that are where the last run left them; those that are gone need nothing."""
    listed = dict(
        line.split("\t")[::-1] for line in _git(clone, "ls-remote", "--heads", "origin").splitlines()
    )
    for each in known.branches:
        name = BRANCHES + each.branch
        if name in listed:
            lease = f"--force-with-lease={name}:{each.commit}"
            _git(clone, "push", "--quiet", lease, "origin", f":{name}")


@contextmanager
def _clone(fleet: Fleet, member: FleetMember) -> Iterator[str]:
    """The bare clone of `member`, for this process alone; one that a killed run left is made again."""
    folder = Path(fleet.work) / member.folder
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "lock"):
        clone, busy = folder / "clone.git", folder / _BUSY
        if busy.exists():
            shutil.rmtree(clone, ignore_errors=True)
        busy.touch()
        if not clone.exists():
            _git(str(folder), "init", "--quiet", "--bare", str(clone))
            _git(str(clone), "config", "remote.origin.url", member.address)
        try:
            yield str(clone)
        finally:
            busy.unlink()


def _question(fleet: Fleet, member: FleetMember, clone: str) -> str:
    """What a run depends on: the manifest, the base, and the branches of the bot."""
    base, own = BRANCHES + member.base, BRANCHES + fleet.branch
    tips = _git(clone, "ls-remote", "--heads", "origin", base, own, f"{own}/*")
    return hashlib.sha256(f"{fleet.key}\n{tips}".encode()).hexdigest()


def _git(folder: str, *arguments: str) -> str:
    done = run_git(folder, *arguments)
    if done.returncode:
        raise git_failed(done, "check the address of the repository")
    return done.stdout.decode("utf-8", "replace")
