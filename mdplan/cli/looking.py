"""The commands that only look: they answer without click, unless click has something to say."""

import functools
import importlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from mdplan import __version__
from mdplan.cli.console import Console
from mdplan.cli.exit_codes import NAME
from mdplan.cli.parameters import Parameter
from mdplan.cli.plain_words import read_words
from mdplan.cli.session import Work
from mdplan.diagnostics import Exit
from mdplan.limit_options import LimitOption
from mdplan.reports.base import Report
from mdplan.text.value import value

if TYPE_CHECKING:
    import click

# Each is the object of its name in the module of its name.
LOOKING: Final = frozenset({"read", "search", "stat"})
# click's, by which a shell asks what the tab key offers.
_COMPLETING: Final = f"_{NAME.upper()}_COMPLETE"


@value(frozen=True, slots=True, kw_only=True)
class LookingCommand:
    """A command that only looks, with its `own` parameters and those of its `work`."""

    work: Work
    own: tuple[Parameter, ...]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What the command takes, in the order of its help text."""
        return (*self.own, *self.work.parameters)

    def call(self, words: Sequence[str], environment: Mapping[str, str]) -> Callable[[], Exit] | None:
        """What `words` ask for; None where click is to answer."""
        given = read_words(self.parameters, words, environment)
        return None if given is None else functools.partial(self.work.run, **given)

    def with_click(self) -> "click.Command":
        """The same as click has it, for help, errors and the tab key."""
        import click

        from mdplan.cli.click_parameters import with_parameters

        return click.command()(with_parameters(self.parameters)(self.work.callback))


def looking_command(
    shape: type[Report], *own: Parameter, limits: Sequence[Sequence[LimitOption]]
) -> Callable[[Callable[..., Exit]], LookingCommand]:
    """Make a function that gets a `Session` a command with its `own` parameters; for the rest see `Work`."""

    def decorate(function: Callable[..., Exit]) -> LookingCommand:
        work = Work(function=function, shape=shape, limits=tuple(itertools.chain(*limits)))
        return LookingCommand(work=work, own=own)

    return decorate


def load_looking(name: str) -> LookingCommand:
    """The command of that name out of `LOOKING`."""
    command = getattr(importlib.import_module(f"mdplan.cli.commands.{name}"), name)
    assert isinstance(command, LookingCommand), name
    return command


def plain_call(words: Sequence[str], environment: Mapping[str, str]) -> Callable[[], Exit] | None:
    """What the `words` behind ``mdplan`` ask for, where that takes no click; else None."""
    if environment.get(_COMPLETING):
        return None
    if list(words) == ["--version"]:
        return _tell_version
    if words and words[0] in LOOKING:
        return load_looking(words[0]).call(words[1:], environment)
    return None


def _tell_version() -> Exit:
    Console.plain().text(f"{NAME} {__version__}\n")
    return Exit.DONE
