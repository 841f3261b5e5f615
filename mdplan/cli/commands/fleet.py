"""`mdplan fleet`: one manifest on many repositories, each with its own branches and pull requests."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from mdplan.bot.fleet import (
    Fleet,
    FleetMember,
    FleetReport,
    FleetRepository,
    close_branches,
    fleet_report,
    fleet_states,
    merge_branches,
    open_branches,
    read_repositories,
    run_fleet,
)
from mdplan.cli.commands import bot
from mdplan.cli.options import all_options
from mdplan.cli.session import Session, engine_command
from mdplan.cli.terminal import shown
from mdplan.cli.usage import Command, Group, group
from mdplan.diagnostics import Diagnostic, Exit
from mdplan.limits import BATCHES, FILES, PATTERNS

if TYPE_CHECKING:
    from mdplan.bot.fleet import VisitTask


_RARE: Final = frozenset({"environment", "data", "executor", "progress", "work"})
_SHORT: Final = 12

_options: Final = all_options(
    bot.manifest_options,
    click.argument("repositories", type=click.Path(readable=False), metavar="REPOS"),
    bot.base_option,
    bot.branch_option,
    bot.split_option,
    bot.title_option,
    bot.label_option,
    bot.keep_going_option,
    bot.forge_option,
    bot.commits_option,
    bot.stale_option,
    click.option("--work", metavar="FOLDER", help="Folder of clones and states.  [default: user's cache]"),
    click.option("--jobs", type=click.IntRange(min=1), default=4, show_default=True, help="At a time."),
    click.option("--executor", metavar="dask://HOST:PORT", help="Visit from a Dask cluster."),
    bot.progress_option,
)


@group("fleet", "open|status|merge|close MANIFEST REPOS [OPTIONS]", Group)
def fleet() -> None:
    """REPOS is a YAML file: `repositories:`, and below it addresses or maps.

    A map has `address`, `name`, `base` and `github` (OWNER/NAME). A run that is killed goes on where it
    ended when you run it again.
    """


def _fleet_command(function: Callable[..., Exit]) -> click.Command:
    """Make `function` the command of `mdplan fleet` that has its name."""
    name = function.__name__.removesuffix("_")
    examples = (f"mdplan fleet {name} manifest.yaml repos.yaml",)
    runs = engine_command(FleetReport, FILES, PATTERNS, BATCHES, tells_people=True)(function)
    return fleet.command(cls=Command, name=name, examples=examples, rare=_RARE)(_options(runs))


@_fleet_command
def open_(session: Session, **given: Any) -> Exit:  # noqa: ANN401 (click's)
    """Open or update the pull requests of all repositories, and close those with nothing left to do.

    A repository in which neither the base, the manifest nor the branch of the bot changed since the last run
    is not visited again.
    """
    return _visited(session, given, open_branches)


@_fleet_command
def status(session: Session, **given: Any) -> Exit:  # noqa: ANN401 (click's)
    """Show what the last run left of each repository, without asking any of them."""
    return _visited(session, given, None)


@_fleet_command
def merge(session: Session, **given: Any) -> Exit:  # noqa: ANN401 (click's)
    """Merge the pull requests that are open, each only if its branch is as the last run left it."""
    return _visited(session, given, merge_branches)


@_fleet_command
def close(session: Session, **given: Any) -> Exit:  # noqa: ANN401 (click's)
    """Close all pull requests of the fleet and delete its branches."""
    return _visited(session, given, close_branches)


def _visited(session: Session, given: dict[str, Any], task: "VisitTask | None") -> Exit:
    from pathlib import Path

    loaded = bot.load_for(session, given)
    members = read_repositories(given["repositories"], given["base"])
    listed = [member for member in members if isinstance(member, FleetMember)]
    problems = [problem for problem in members if isinstance(problem, Diagnostic)]
    if isinstance(loaded, tuple):
        return session.refuse(*loaded, *problems)
    if problems:
        return session.refuse(*problems)
    asked = Fleet(
        loaded=loaded,
        settings=session.settings(),
        work=str(Path(given["work"] or _cache()).absolute()),
        wanted=bot.pull_options(given),
        github=given["forge"] == "github",
        split=given["split"],
        keep_going=given["keep_going"],
    )
    if task is None:
        known = fleet_states(asked).all()
        states = [known.get(member.name, FleetRepository(name=member.name)) for member in listed]
        report = fleet_report(states)
    else:
        report = run_fleet(task, asked, listed, bot.run_options(session, given))
    code = session.finish(report)
    _print(session, report)
    return code


def _print(session: Session, report: FleetReport) -> None:
    for repository in report.repositories:
        links = [
            branch.pull_request or f"{branch.branch} {branch.commit[:_SHORT]}"
            for branch in repository.branches
        ]
        session.console.note("  ".join([shown(repository.name), repository.state.value, *map(shown, links)]))


def _cache() -> str:
    from platformdirs import user_cache_path

    return str(user_cache_path("mdplan") / "fleet")
