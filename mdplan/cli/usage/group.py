"""`mdplan` as click has it: its commands, loaded when they run."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from mdplan.cli.exit_codes import exit_code
from mdplan.cli.terminal.console import write_error
from mdplan.cli.usage.command import help_all_option, wants_all
from mdplan.cli.usage.typed_command import remember
from mdplan.diagnostics import Exit
from mdplan.interrupts import interrupt_commands


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """A command that is imported by `load` when it runs; `summary` is its line in the list of commands."""

    summary: str
    load: Callable[[], click.Command]


class CommandGroup(click.Group):
    """A group of lazy commands that always ends with one of the codes of `Exit`.

    `topics` are the titles under which the first screen of help lists commands; `aliases` are old names.
    """

    def __init__(
        self,
        commands: Mapping[str, LazyCommand],
        topics: Mapping[str, Sequence[str]],
        aliases: Mapping[str, str],
        example: str,
        **attributes: Any,  # noqa: ANN401 (click's)
    ) -> None:
        super().__init__(**attributes)
        self.lazy_commands = commands
        self.topics = topics
        self.aliases = aliases
        self.examples = (example,)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands, in the order in which people meet them."""
        del ctx
        return list(self.lazy_commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, loaded."""
        del ctx
        lazy = self.lazy_commands.get(self.aliases.get(cmd_name, cmd_name))
        return lazy.load() if lazy else None

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters, with `--help-all`."""
        return [*super().get_params(ctx), help_all_option()]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words for hints that repeat them."""
        remember(ctx, args)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first argument names; a usage error with a suggestion for any other."""
        name = args[0] if args else ""
        if name and name not in {*self.lazy_commands, *self.aliases} and not name.startswith("-"):
            from mdplan.cli.usage.misuse import Misuse
            from mdplan.cli.usage.suggestions import command_hint

            raise Misuse(f"there is no command `{name}`", command_hint(name, self.lazy_commands), ctx)
        resolved = super().resolve_command(ctx, args)
        interrupt_commands()
        return resolved

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The whole help, or its first screen: the commands that people need most."""
        if wants_all(ctx):
            super().format_help(ctx, formatter)
            return
        formatter.write(f"Usage: {ctx.command_path} COMMAND [OPTIONS]\n\n")
        formatter.write(f"{(self.help or '').partition(chr(10))[0]}\n")
        formatter.write(f"Example: {self.examples[0]}\n\n")
        width = max(map(len, self.lazy_commands)) + 2
        for title, names in self.topics.items():
            formatter.write(f"{title}\n")
            for name in names:
                formatter.write(f"  {name:{width}}{self.lazy_commands[name].summary}\n")
        listed = {name for names in self.topics.values() for name in names}
        formatter.write(f"More, which {ctx.command_path} --help-all explains\n")
        with formatter.indentation():
            formatter.write_text(", ".join(name for name in self.lazy_commands if name not in listed))

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
        if "_MDPLAN_COMPLETE" in os.environ:
            from mdplan.cli.completion.shell_completion import use_own_shells

            use_own_shells()
        try:
            return super().main(*arguments, **options)
        except click.ClickException as problem:
            from mdplan.cli.terminal.console import Console
            from mdplan.cli.usage.misuse import misuse_text

            given = arguments[0] if arguments else options.get("args")
            words = sys.argv[1:] if given is None else list(given)
            style = Console.of("auto", os.environ).err
            write_error(misuse_text(problem, words, style), style)
            return Exit.INVALID
        except click.Abort:
            write_error("interrupted")
            return Exit.INTERRUPTED
