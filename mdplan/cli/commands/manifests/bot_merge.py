"""`mdplan bot merge`: the base of a pull request merged into its branch."""

import click

from mdplan.bot.bot import BotReport
from mdplan.cli.commands.manifests.manifest_options import (
    author_option,
    base_option,
    forge_option,
    remote_option,
)
from mdplan.cli.session import Session, engine_command
from mdplan.cli.terminal.console import shown
from mdplan.cli.usage.command import Command
from mdplan.diagnostics import Exit
from mdplan.limits import FILES

_SHORT = 12


@click.command(cls=Command, example="mdplan bot merge docs-update --base main")
@click.argument("branch")
@base_option
@remote_option
@author_option
@forge_option
@engine_command(BotReport, FILES, tells_people=True)
def merge(session: Session, *, branch: str, base: str, remote: str, author: str | None, forge: str) -> Exit:
    """Merge the base into BRANCH of a pull request, and push it.

    git merges with `mdplan merge` for Markdown and data files. Where a person must decide, nothing is pushed.
    A comment on the pull request says what was merged, or what needs a person. GH_TOKEN is the token of
    GitHub, which runs no merge drivers by itself.
    """
    from mdplan.bot.forge import GitHub
    from mdplan.bot.pulls import BranchMerge, merge_base_into

    wanted = BranchMerge(
        branch=branch,
        base=base,
        remote=remote,
        author=author,
        forge=GitHub.of_environment if forge == "github" else None,
    )
    made = merge_base_into(session.open_engine(), wanted)
    report = made.report
    session.finish(report)
    if not report.ok:
        return report.error.code.exit if report.error is not None else Exit.REFUSED
    if report.commit is None:
        session.console.note(f"Nothing to merge: {shown(branch)} has all of {shown(base)} already.")
        return Exit.DONE
    for file in made.files:
        session.console.note(f"merged {shown(file)}")
    session.console.note(f"Pushed {report.commit[:_SHORT]} to {shown(branch)}.")
    if report.pull_request is not None:
        session.console.note(f"Pull request: {shown(report.pull_request)}")
    return Exit.DONE
