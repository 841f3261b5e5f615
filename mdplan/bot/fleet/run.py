"""A fleet: its repositories are visited in parallel, and each outcome is kept at once."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mdplan.bot.bot import EventListener, ignore_events
from mdplan.bot.executors import in_order, open_executor
from mdplan.bot.fleet.repositories import FleetMember
from mdplan.bot.fleet.states import FleetRepository, FleetState, FleetStates
from mdplan.bot.fleet.visit import Fleet, VisitTask
from mdplan.bot.manifest.loading import LoadedManifest
from mdplan.diagnostics import Code, Diagnostic
from mdplan.reports.base import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetReport(Report):
    """The report of `mdplan fleet`: its repositories with their states, in the order of the list."""

    repositories: tuple[FleetRepository, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOptions:
    """Visit up to `jobs` repositories at a time, in processes or on the cluster at `executor`."""

    jobs: int
    executor: str | None = None
    on_event: EventListener = ignore_events


def fleet_key(loaded: LoadedManifest, more: Sequence[object]) -> str:
    """The key of a manifest with its values, and of all that decides what a branch looks like."""
    identity_json = json.dumps([loaded.located.data, loaded.values.known, *map(repr, more)], default=str)
    return hashlib.sha256(identity_json.encode("utf-8", "surrogatepass")).hexdigest()


def run_fleet(
    task: VisitTask,
    fleet: Fleet,
    members: Sequence[FleetMember],
    options: FleetOptions,
    is_wanted: Callable[[FleetRepository], bool] = lambda _: True,
) -> FleetReport:
    """Do `task` for those of `members` that are wanted; one that fails keeps no other back.

    A run that is killed is resumed by the next one. Errors: those of the repositories, each once. Raises
    `StorageRefused` for an executor or a folder that cannot be used.
    """
    states = fleet_states(fleet)
    known = states.all()
    visits = [(member, known.get(member.name, FleetRepository(name=member.name))) for member in members]
    wanted = [visit for visit in visits if is_wanted(visit[1])]
    found: dict[str, FleetRepository] = {}
    with open_executor(options.executor, options.jobs, len(wanted)) as executor:
        for repository in in_order(executor, task, wanted, fleet, jobs=options.jobs):
            states.put(repository)
            found[repository.name] = repository
            facts = {"name": repository.name, "state": repository.state.value}
            options.on_event("visited", {**facts, "done": len(found), "files": len(wanted)})
    return fleet_report([found.get(member.name, state) for member, state in visits])


def fleet_report(repositories: Sequence[FleetRepository]) -> FleetReport:
    """The report on `repositories`, with a problem for each that failed."""
    problems = tuple(
        Diagnostic(
            code=Code.IO_ERROR,
            message=f"{each.name}: {each.error}",
            hint=each.hint or "run the command again to retry",
        )
        for each in repositories
        if each.state is FleetState.FAILED
    )
    error = next(iter(problems), None)
    return FleetReport(ok=error is None, error=error, diagnostics=problems, repositories=tuple(repositories))


def fleet_states(fleet: Fleet) -> FleetStates:
    """The states of the repositories; those of another branch are another fleet."""
    return FleetStates(Path(fleet.work) / "fleet.sqlite3", fleet.branch)
