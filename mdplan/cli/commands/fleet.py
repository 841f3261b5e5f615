"""`mdplan fleet`: one manifest on many repositories, each with its own branches and pull requests."""

from typing import TYPE_CHECKING, Any, Final

import click

from mdplan.cli.commands import bot
from mdplan.cli.options import all_options
from mdplan.cli.session import Session, engine_command
from mdplan.cli.terminal import shown
from mdplan.cli.usage import Group, group
from mdplan.diagnostics import Diagnostic, Exit

if TYPE_CHECKING:
    from mdplan.bot.fleet import FleetReport


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
    bot.pull_stale_option,
    click.option("--work", metavar="FOLDER", help="Folder of clones and states.  [default: user's cache]"),
    click.option("--jobs", type=click.IntRange(min=1), default=4, show_default=True, help="At a time."),
    click.option("--executor", metavar="dask://HOST:PORT", help="Visit from a Dask cluster."),
    bot.progress_option,
)


@group("fleet", "open|status|merge|close MANIFEST REPOS [OPTIONS]", Group)
def fleet() -> None:
    """REPOS is a YAML file: `repositories:`, and below it addresses or maps.

    A map has `address`, `name`, `base` and `github` (OWNER/NAME). A run that is killed goes on where it
    ended when you run it again. A repository in which neither the base, the manifest nor the branch of the
    bot changed since the last run is not visited again.
    """


def _add_command(name: str) -> None:
    @engine_command(f"fleet {name}", group=fleet)
    @_options
    def run(session: Session, **given: Any) -> Exit:  # noqa: ANN401 (click's)
        return _visited(session, given, name)


for _name in ("open", "status", "merge", "close"):
    _add_command(_name)


def _visited(session: Session, given: dict[str, Any], verb: str) -> Exit:
    from pathlib import Path

    from mdplan.bot import fleet

    loaded = bot.load_for(session, given)
    members = fleet.read_repositories(given["repositories"], given["base"])
    listed = [member for member in members if isinstance(member, fleet.FleetMember)]
    problems = [problem for problem in members if isinstance(problem, Diagnostic)]
    if isinstance(loaded, tuple):
        return session.refuse(*loaded, *problems)
    if problems:
        return session.refuse(*problems)
    asked = fleet.Fleet(
        loaded=loaded,
        settings=session.settings(),
        work=str(Path(given["work"] or _cache()).absolute()),
        wanted=bot.pull_options(given),
        github=given["forge"] == "github",
        split=given["split"],
        keep_going=given["keep_going"],
    )
    tasks = {"open": fleet.open_branches, "merge": fleet.merge_branches, "close": fleet.close_branches}
    if verb not in tasks:
        known = fleet.fleet_states(asked).all()
        states = [known.get(member.name, fleet.FleetRepository(name=member.name)) for member in listed]
        report = fleet.fleet_report(states)
    else:
        report = fleet.run_fleet(tasks[verb], asked, listed, bot.run_options(session, given))
    code = session.finish(report)
    _print(session, report)
    return code


def _print(session: Session, report: "FleetReport") -> None:
    for repository in report.repositories:
        links = [
            branch.pull_request or f"{branch.branch} {branch.commit[:_SHORT]}"
            for branch in repository.branches
        ]
        session.console.note("  ".join([shown(repository.name), repository.state.value, *map(shown, links)]))


def _cache() -> str:
    from platformdirs import user_cache_path

    return str(user_cache_path("mdplan") / "fleet")
