"""`mdplan` as click has it: its commands, loaded when they run."""

import io
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from mdplan.cli.console import tell
from mdplan.cli.exit_codes import exit_code
from mdplan.diagnostics import Exit


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """A command that is imported by `load` when it runs; `summary` is its line in the list of commands."""

    summary: str
    load: Callable[[], click.Command]


class CommandGroup(click.Group):
    """A group of lazy commands that always ends with one of the codes of `Exit`."""

    def __init__(self, commands: Mapping[str, LazyCommand], **attributes: Any) -> None:  # noqa: ANN401 (click's)
        super().__init__(**attributes)
        self.lazy_commands = commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands, in the order in which people meet them."""
        del ctx
        return list(self.lazy_commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, loaded."""
        del ctx
        lazy = self.lazy_commands.get(cmd_name)
        return lazy.load() if lazy else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first argument names; a usage error that suggests one for a typo."""
        if args and args[0] not in self.lazy_commands and not args[0].startswith("-"):
            raise click.UsageError(_unknown_command(args[0], tuple(self.lazy_commands)), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands in the help text, of which none is loaded for it."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.summary) for name, lazy in self.lazy_commands.items()])

    def main(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 (click's signature)
        """Run, and leave the process with an exit code."""
        options["standalone_mode"] = False
        sys.exit(exit_code(lambda: self._answer(*arguments, **options)))

    def _answer(self, *arguments: Any, **options: Any) -> object:  # noqa: ANN401 (as above)
        try:
            return super().main(*arguments, **options)
        except click.ClickException as problem:
            tell(_told(problem))
            return Exit.INVALID
        except click.Abort:
            tell("interrupted")
            return Exit.INTERRUPTED


def _told(problem: click.ClickException) -> str:
    """What click says of `problem`, which repeats arguments: names of files that a shell has put there."""
    told = io.StringIO()
    problem.show(file=told)
    return told.getvalue().removesuffix("\n")


def _unknown_command(name: str, commands: tuple[str, ...]) -> str:
    """What to say about a command that does not exist: the nearest one, or the operation of that name."""
    from difflib import get_close_matches

    from mdplan.operations import OPERATIONS

    operation = name.replace("-", "_")
    if operation in OPERATIONS:
        return f"`{name}` is an operation, not a command: use `mdplan edit {operation} FILE`."
    nearest = get_close_matches(name, commands, n=1)
    suggestion = f" Did you mean `{nearest[0]}`?" if nearest else " `mdplan --help` lists the commands."
    return f"there is no command `{name}`.{suggestion}"
