"""Shared options of the commands that take a manifest, and how they read it."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from mdplan.cli.session import Session
from mdplan.cli.terminal.progress_bar import CHOICES

if TYPE_CHECKING:
    from mdplan.bot.manifest import LoadedManifest
    from mdplan.bot.pulls import Split
    from mdplan.diagnostics import Problems

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def _pairs(context: click.Context, parameter: click.Parameter, given: Sequence[str]) -> dict[str, str]:
    """``NAME=VALUE`` options as a mapping."""
    for each in given:
        if each.find("=") < 1:
            raise click.BadParameter(f"`{each}` is not NAME=VALUE.", context, parameter)
    return {name: value for name, _, value in (each.partition("=") for each in given)}


def _split_of(context: click.Context, parameter: click.Parameter, given: str | None) -> "Split | None":
    """The value of `--split`. Raises `BadParameter`."""
    if given is None:
        return None
    from mdplan.bot.pulls import Split

    split = Split.read(given)
    if isinstance(split, Split):
        return split
    raise click.BadParameter(f"{split.message}; {split.hint}.", context, parameter)


# Options of more than one command.
base_option: Final = click.option(
    "--base", metavar="BRANCH", default="main", show_default=True, help="Base branch of the pull request."
)
remote_option: Final = click.option(
    "--remote", metavar="NAME", default="origin", show_default=True, help="Remote of the branches."
)
author_option: Final = click.option(
    "--author", metavar="'NAME <ADDRESS>'", help="Author of the commit; else who git says."
)
branch_option: Final = click.option(
    "--branch", metavar="NAME", help="Branch of the bot.  [default: mdplan/MANIFEST]"
)
split_option: Final = click.option(
    "--split",
    metavar="BY",
    callback=_split_of,
    help="A pull request for each part: codeowners, folder[:DEPTH], front-matter:KEY or files:NUMBER.",
)
title_option: Final = click.option(
    "--title", metavar="TEXT", help="Title; else the description in the manifest."
)
label_option: Final = click.option(
    "--label", "labels", metavar="NAME", multiple=True, help="Label of it; repeatable."
)
keep_going_option: Final = click.option(
    "--keep-going", is_flag=True, help="Skip files that cannot be planned; it still fails."
)
forge_option: Final = click.option(
    "--forge",
    type=click.Choice(["github", "none"]),
    default="github",
    show_default=True,
    help="none: push branches alone.",
)
commits_option: Final = click.option(
    "--commits",
    type=click.Choice(["git", "forge"]),
    default="git",
    show_default=True,
    help="forge: GitHub makes the commit and signs it.",
)
stale_option: Final = click.option(
    "--on-stale",
    type=click.Choice(["refuse", "merge"]),
    default="refuse",
    show_default=True,
    help="merge: keep commits that others made on the branch, and merge with them.",
)
progress_option: Final = click.option(
    "--progress",
    type=click.Choice(CHOICES),
    default="auto",
    show_default=True,
    help="Progress on standard error; auto is a bar at a terminal.",
)


def check_commits(given: Mapping[str, Any]) -> None:
    """Raise `UsageError` where `--commits` names a forge that is not used."""
    if given["commits"] == "forge" and given["forge"] == "none":
        raise click.UsageError("`--commits forge` needs a forge; remove `--forge none`.")


_VALUES: Final = (
    click.argument("manifest", type=click.Path(readable=False)),
    click.option(
        "--var",
        "variables",
        multiple=True,
        callback=_pairs,
        metavar="NAME=VALUE",
        help="Value of {{vars.NAME}}; repeatable.",
    ),
    click.option(
        "--env", "environment", multiple=True, metavar="NAME", help="Allow {{env.NAME}}; repeatable."
    ),
    click.option(
        "--data",
        multiple=True,
        callback=_pairs,
        metavar="NAME=FILE",
        help="JSON, YAML, TOML, CSV or text file for {{data.NAME}}; repeatable.",
    ),
)


def manifest_options(function: Decorated) -> Decorated:
    """Give a command the manifest as argument, and the options of its values."""
    for option in reversed(_VALUES):
        function = option(function)
    return function


def load_for(session: Session, given: dict[str, Any]) -> "LoadedManifest | Problems":
    """The manifest that a command was given, with its values; or what is wrong with it."""
    from mdplan.bot.manifest import InputFiles, ManifestInputs, load_manifest

    values = ManifestInputs(
        variables=given["variables"], environment=tuple(given["environment"]), data=given["data"]
    )
    documents = session.open_files()
    with documents.workspace as workspace:
        return load_manifest(given["manifest"], values, InputFiles(workspace, documents.max_file_bytes))
