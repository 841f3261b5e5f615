"""`mdplan fleet`: one manifest on many repositories, each with its own branches and pull requests."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import click

from mdplan.cli.commands import bot
from mdplan.cli.options import all_options, option
from mdplan.cli.session import Session, engine_command
from mdplan.cli.terminal import shown
from mdplan.cli.usage import Group, group
from mdplan.diagnostics import Diagnostic, Exit

if TYPE_CHECKING:
    from mdplan.bot.fleet import FleetReport, Shard


_SHORT: Final = 12


def _shard_of(context: click.Context, parameter: click.Parameter, given: str) -> "Shard":
    """Return the value of `--shard`. Raises `BadParameter`."""
    from mdplan.bot.fleet import Shard

    shard = Shard.read(given)
    if isinstance(shard, Diagnostic):
        raise click.BadParameter(f"{shard.message}; {shard.hint}.", context, parameter)
    return shard


_repositories: Final = click.argument("repositories", type=click.Path(readable=False), metavar="REPOS")
_work_option: Final = option("--work", "Folder of clones and states.  [default: user's cache]", "FOLDER")

_options: Final = all_options(
    bot.manifest_options,
    _repositories,
    bot.pull_request_options,
    bot.whole_option,
    option("--shard", "Only part I of N of the list.", "I/N", default="1/1", callback=_shard_of),
    option("--only", "Only this repository.", "NAME"),
    option("--state", "File of states.  [default: in the work folder]", "FILE"),
    _work_option,
    option(
        "--per-hour",
        "Writes to the forge.  [default: 500 divided by N]",
        "NUMBER",
        type=click.FloatRange(min=0, min_open=True),
    ),
    option("--jobs", "At a time.", type=click.IntRange(min=1), default=4),
    option("--executor", "Visit from a Dask cluster.", "dask://HOST:PORT"),
    bot.progress_option,
)


@group("fleet", "open|merge|close MANIFEST REPOS | status [FILE]... | matrix REPOS", Group)
def fleet() -> None:
    """REPOS is a YAML file: `repositories:`, and below it addresses or maps.

    A map has `address`, `name`, `base` and `github` (OWNER/NAME). After a kill, run the same command again:
    it continues. It skips a repository if the base, the manifest and the branch of the bot have not changed
    since the last run.
    """


for _name in ("open", "merge", "close"):

    @engine_command(f"fleet {_name}", group=fleet)
    @_options
    def _run(session: Session, *, _verb: str = _name, **given: Any) -> Exit:  # noqa: ANN401 (click's)
        return _visited(session, given, _verb)


@engine_command("fleet status", group=fleet)
@click.argument("files", nargs=-1, type=click.Path(readable=False, path_type=Path), metavar="[FILE]...")
@_work_option
def status(session: Session, *, files: tuple[Path, ...], work: str | None) -> Exit:
    """FILE is the `--state` of a run; by default all state files in the work folder."""
    from mdplan.bot.fleet import joined_states

    return _finished(session, joined_states(files or sorted(_folder(work).glob("*.jsonl"))))


@engine_command("fleet matrix", group=fleet)
@_repositories
@option("--size", "Repositories each.", type=click.IntRange(min=1), default=40)
@option("--max most", "Shards.", type=click.IntRange(min=1), default=256)
@option("--for system", "CI.", type=click.Choice(["github", "gitlab"]), default="github")
def matrix(session: Session, *, repositories: str, size: int, most: int, system: str) -> Exit:
    """Prints JSON: the matrix of a job for GitHub, and a hidden job `.fleet` to extend for GitLab."""
    from mdplan.bot.fleet import Shard, read_repositories

    del session
    count = min(most, -(-len(read_repositories(repositories, "")) // size))
    shards = [str(Shard(number, count)) for number in range(1, count + 1)]
    jobs = {".fleet": {"parallel": {"matrix": [{"SHARD": shards}]}}}
    click.echo(json.dumps({"shard": shards} if system == "github" else jobs))
    return Exit.DONE


def _visited(session: Session, given: dict[str, Any], verb: str) -> Exit:
    from mdplan.bot import fleet
    from mdplan.bot.forge import WRITES_AN_HOUR

    loaded = bot.loaded_manifest(session, given)
    shard, work, wanted = given["shard"], _folder(given["work"]), bot.pull_options(given)
    members = [
        member
        for member in fleet.read_repositories(given["repositories"], given["base"])
        if fleet.Shard.of(member.name, shard.count) == shard
    ]
    asked = fleet.Fleet(
        loaded=loaded,
        settings=session.settings(),
        work=str(work),
        wanted=wanted,
        github=given["forge"] == "github",
        split=given["split"],
        all_or_nothing=given["all_or_nothing"],
        per_hour=given["per_hour"] or WRITES_AN_HOUR / shard.count,
    )
    suffix = f".{shard.number}-{shard.count}" if shard.count > 1 else ""
    file = Path(given["state"] or work / f"{quote(wanted.branch, safe='')}{suffix}.jsonl")
    states = fleet.FleetStates.of(file.absolute(), wanted.branch, shard)
    states.begin(members)
    only = [member for member in members if given["only"] in {None, member.name}]
    if given["only"] is not None and not only:
        raise click.BadParameter(f"the list, or the shard, has no `{given['only']}`.", param_hint="--only")
    task = fleet.TASKS[verb]
    return _finished(session, fleet.run_fleet(task, asked, only, states, bot.run_options(session, given)))


def _finished(session: Session, report: "FleetReport") -> Exit:
    """End with `report`: a line for each repository that has a branch or ended, and the counts."""
    from mdplan.bot.fleet import FleetState

    code = session.finish(report)
    counts = Counter(repository.state for repository in report.repositories)
    for repository in report.repositories:
        if repository.state not in {FleetState.NOTHING, FleetState.PENDING}:
            links = [
                branch.pull_request or f"{branch.branch} {branch.commit[:_SHORT]}"
                for branch in repository.branches
            ]
            words = [shown(repository.name), repository.state.value, *map(shown, links)]
            session.console.note("  ".join(words))
    said = [f"{counts[state]:,} {state.value}" for state in FleetState if counts[state]]
    session.console.note(", ".join(said))
    return code


def _folder(work: str | None) -> Path:
    from platformdirs import user_cache_path

    return Path(work or user_cache_path("mdplan") / "fleet").absolute()
