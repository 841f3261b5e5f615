"""The argument BATCH of commands, and the options that override fields of it."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click
from click.core import ParameterSource

from mdplan.cli.batches.batch_input import STANDARD_INPUT, has_no_input
from mdplan.cli.options import intent_options
from mdplan.cli.usage.misuse import Misuse

_HELP: Final = "`mdplan help batch` shows one; one edit needs none: `mdplan edit --help`"
Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_OVERRIDES: Final = {
    "allow_outline_change": "Allow edits that add or remove headings outside the written text.",
    "allow_duplicate_headings": "Accept heading paths that repeat more often than before.",
}


def batch_argument(function: Decorated) -> Decorated:
    """Give a command its BATCH: a file, or standard input when it is - or missing."""
    kind = click.Path(readable=False, allow_dash=True)
    return click.argument("batch", type=kind, default=STANDARD_INPUT, callback=_not_a_keyboard)(function)


def override_options(function: Decorated) -> Decorated:
    """Give a command the options that override fields of its batch, under their names in snake_case."""
    for name, summary in reversed(_OVERRIDES.items()):
        function = click.option(f"--{name.replace('_', '-')}", is_flag=True, help=f"{summary}")(function)
    function = click.option(
        "--revises", metavar="PLAN", help="The plan that this one replaces: reviewers see what differs."
    )(function)
    decorated: Decorated = intent_options()(function)
    return decorated


def _not_a_keyboard(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Nobody types a batch: without an argument, and with nothing piped in, the argument was forgotten."""
    is_default = context.get_parameter_source(str(parameter.name)) is ParameterSource.DEFAULT
    if is_default and has_no_input():
        raise Misuse(f"the {parameter.name} is missing", f"name its file, or pipe it in: {_HELP}", context)
    return value
