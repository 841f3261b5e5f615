"""`mdplan` itself: its commands, loaded when they run, and what a process owes its caller at the end."""

import io
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from mdplan import __version__
from mdplan.diagnostics import Exit
from mdplan.surfaces.cli.console import mute, tell
from mdplan.text.value import value

NAME: Final = "mdplan"


@value(frozen=True, slots=True)
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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands in the help text, of which none is loaded for it."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.summary) for name, lazy in self.lazy_commands.items()])

    def main(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 (click's signature)
        """Run, and leave the process with an exit code."""
        options["standalone_mode"] = False
        sys.exit(_exit_code(lambda: super(CommandGroup, self).main(*arguments, **options)))


def _exit_code(run: Callable[[], object]) -> int:
    try:
        code = run()
        return int(code) if isinstance(code, int) else Exit.DONE
    except click.ClickException as problem:
        tell(_told(problem))
        return Exit.INVALID
    except (click.Abort, KeyboardInterrupt):
        tell("interrupted")
        return Exit.INTERRUPTED
    except OSError as error:
        # The engine returns what storage meets, so this is about the standard streams: a full disk, mostly.
        _raise_if_debugging()
        mute(sys.stdout)
        tell(f"error: IO_ERROR: {error.strerror or type(error).__name__}")
        return Exit.ENVIRONMENT
    except Exception as bug:  # noqa: BLE001 (the last line of defence)
        _raise_if_debugging()
        tell(
            f"mdplan met a bug in itself: {type(bug).__name__} in {_place(bug)} (mdplan {__version__}).\n"
            "Please report this line to its authors, with the command that you ran. "
            "MDPLAN_DEBUG=1 shows where it happened; that may contain text of your files."
        )
        return Exit.BUG


def _told(problem: click.ClickException) -> str:
    """What click says of `problem`, which repeats arguments: names of files that a shell has put there."""
    told = io.StringIO()
    problem.show(file=told)
    return told.getvalue().removesuffix("\n")


def _raise_if_debugging() -> None:
    if os.environ.get("MDPLAN_DEBUG") == "1":
        raise  # noqa: PLE0704 (called from `except` alone)


def _place(bug: Exception) -> str:
    """Module and line where `bug` was raised."""
    trace = bug.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "an unknown place"
    return f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}"
