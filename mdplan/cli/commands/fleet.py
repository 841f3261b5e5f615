"""`mdplan fleet`: one manifest on many repositories, each with its own branches and pull requests."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from mdplan.bot.fleet import FleetReport
from mdplan.cli.commands import bot
from mdplan.cli.session import Session, engine_command
from mdplan.cli.terminal import progress_listener, shown
from mdplan.cli.usage import Command, Group
from mdplan.diagnostics import Exit
from mdplan.limits import BATCHES, FILES, PATTERNS

if TYPE_CHECKING:
    from mdplan.bot.fleet import VisitTask


_RARE: Final = frozenset({"environment", "data", "executor", "progress", "work"})

_LIMITS: Final = (FILES, PATTERNS, BATCHES)

_SHORT: Final = 12

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_OPTIONS: Final = (
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


def _options(function: Decorated) -> Decorated:
    for option in reversed(_OPTIONS):
        function = option(function)
    return bot.manifest_options(function)


@click.group(
    cls=Group,
    subcommand_metavar="open|status|merge|close MANIFEST REPOS [OPTIONS]",
    options_metavar="",
    example="mdplan fleet open manifest.yaml repos.yaml\nmdplan fleet status manifest.yaml repos.yaml",
)
def fleet() -> None:
    """Apply a manifest to many repositories, each with its own pull request.

    REPOS is a YAML file: `repositories:` and below it addresses, or maps of `address`, `name`, `base` and
    `github` (OWNER/NAME). A run that is killed goes on where it ended when you run it again.
    """


@fleet.command(cls=Command, name="open", example="mdplan fleet open manifest.yaml repos.yaml", rare=_RARE)
@_options
@engine_command(FleetReport, *_LIMITS, tells_people=True)
def open_(session: Session, **given: Any) -> Exit:  # noqa: ANN401 (click's)
    """Open or update the pull requests of all repositories, and close those with nothing left to do.

    A repository in which neither the base, the manifest nor the branch of the bot changed since the last run
    is not visited again.
    """
    from mdplan.bot.fleet import open_branches

    return _visited(session, given, open_branches)


@fleet.command(cls=Command, example="mdplan fleet status manifest.yaml repos.yaml", rare=_RARE)
@_options
@engine_command(FleetReport, *_LIMITS, tells_people=True)
def status(session: Session, **given: Any) -> Exit:  # noqa: ANN401 (click's)
    """Show what the last run left of each repository, without asking any of them."""
    return _visited(session, given, None)


@fleet.command(cls=Command, example="mdplan fleet merge manifest.yaml repos.yaml", rare=_RARE)
@_options
@engine_command(FleetReport, *_LIMITS, tells_people=True)
def merge(session: Session, **given: Any) -> Exit:  # noqa: ANN401 (click's)
    """Merge the pull requests that are open, each only if its branch is as the last run left it."""
    from mdplan.bot.fleet import merge_branches

    return _visited(session, given, merge_branches)


@fleet.command(cls=Command, example="mdplan fleet close manifest.yaml repos.yaml", rare=_RARE)
@_options
@engine_command(FleetReport, *_LIMITS, tells_people=True)
def close(session: Session, **given: Any) -> Exit:  # noqa: ANN401 (click's)
    """Close all pull requests of the fleet and delete its branches."""
    from mdplan.bot.fleet import close_branches

    return _visited(session, given, close_branches)


def _visited(session: Session, given: dict[str, Any], task: "VisitTask | None") -> Exit:
    from pathlib import Path

    from mdplan.bot.fleet import (
        Fleet,
        FleetMember,
        FleetOptions,
        FleetRepository,
        fleet_key,
        fleet_report,
        fleet_states,
        read_repositories,
        run_fleet,
    )

    bot.check_commits(given)
    loaded = bot.load_for(session, given)
    members = read_repositories(given["repositories"], given["base"])
    problems = (*(loaded if isinstance(loaded, tuple) else ()), *_problems(members))
    if problems or isinstance(loaded, tuple):
        return session.refuse(*problems)
    settings = session.settings()
    names = ("split", "title", "labels", "keep_going", "forge", "commits", "on_stale")
    decides = (*(given[name] for name in names), settings)
    asked = Fleet(
        loaded=loaded,
        settings=settings,
        work=str(Path(given["work"] or _cache()).absolute()),
        key=fleet_key(loaded, decides),
        branch=given["branch"] or f"mdplan/{Path(given['manifest']).stem}",
        github=given["forge"] == "github",
        split=given["split"],
        title=given["title"],
        labels=tuple(given["labels"]),
        keep_going=given["keep_going"],
        signed_by_forge=given["commits"] == "forge",
        on_stale=given["on_stale"],
    )
    listed = [each for each in members if isinstance(each, FleetMember)]
    if task is None:
        known = fleet_states(asked).all()
        report = fleet_report([known.get(each.name, FleetRepository(name=each.name)) for each in listed])
    else:
        quiet = session.console.quiet or session.console.as_json
        listener = progress_listener(given["progress"], quiet=quiet, coloured=session.console.err.on)
        options = FleetOptions(jobs=given["jobs"], executor=given["executor"], on_event=listener)
        report = run_fleet(task, asked, listed, options)
    code = session.finish(report)
    _print(session, report)
    return code


def _problems(members: object) -> tuple[Any, ...]:
    from mdplan.diagnostics import Diagnostic

    assert isinstance(members, tuple)
    return tuple(each for each in members if isinstance(each, Diagnostic))


def _print(session: Session, report: FleetReport) -> None:
    for each in report.repositories:
        links = [
            branch.pull_request or f"{branch.branch} {branch.commit[:_SHORT]}" for branch in each.branches
        ]
        session.console.note("  ".join([shown(each.name), each.state.value, *map(shown, links)]))


def _cache() -> str:
    from platformdirs import user_cache_path

    return str(user_cache_path("mdplan") / "fleet")
