"""JSON that a command is given: a batch, a plan document, or a report that comes back."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from click.core import ParameterSource

from mdplan.cli.completion import Completion
from mdplan.diagnostics import Diagnostic

STANDARD_INPUT: Final = "-"
Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_OVERRIDES: Final = {
    "allow_outline_change": "Accept headings that appear or vanish outside of the written text.",
    "allow_duplicate_headings": "Accept heading paths that repeat more often than before.",
}


def batch_argument(name: str = "batch", offer: Completion | None = None) -> Callable[[Decorated], Decorated]:
    """Give a command its BATCH, or what `name` says: a file, or standard input when it is - or left out.

    The tab key finds files, or what `offer` gives.
    """
    return click.argument(
        name,
        type=click.Path(readable=False, allow_dash=True),
        default=STANDARD_INPUT,
        shell_complete=offer,
        callback=_not_a_keyboard,
    )


def override_options(function: Decorated) -> Decorated:
    """Give a command the options that override fields of its batch, under their names in snake_case."""
    for name, summary in reversed(_OVERRIDES.items()):
        function = click.option(f"--{name.replace('_', '-')}", is_flag=True, help=f"{summary}")(function)
    return function


def read_json(name: str) -> object | Diagnostic:
    """Decoded JSON of the file `name`, relative to the current folder, or of standard input for ``-``.

    Errors: INVALID_ARGUMENT.
    """
    where = "standard input" if name == STANDARD_INPUT else f"`{name}`"
    try:
        data = sys.stdin.buffer.read() if name == STANDARD_INPUT else Path(name).read_bytes()
    except (OSError, AttributeError) as error:  # A standard input that was closed has no attributes.
        reason = getattr(error, "strerror", None) or "there is none"
        return Diagnostic.invalid(
            f"{where} cannot be read: {reason}", "name a JSON file, or - for standard input"
        )
    if not data.strip():
        return Diagnostic.invalid(
            f"{where} is empty", 'send {"file": "…", "edits": […]}; see `mdplan schema batch`'
        )
    try:
        decoded: object = json.loads(data)
    except (RecursionError, ValueError) as error:
        hint = "mend the JSON; `mdplan schema batch` says what belongs there"
        return Diagnostic.invalid(f"{where} is not JSON: {_reason(error)}", hint)
    return decoded


def _reason(error: Exception) -> str:
    match error:
        case json.JSONDecodeError():
            return f"{error.msg} at line {error.lineno}, column {error.colno}"
        case UnicodeDecodeError():
            return "it is not UTF-8"
        case _:
            return "it is too deep, or a number in it too long"


def _not_a_keyboard(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Nobody types a batch: without an argument, and with nothing piped in, the argument was forgotten."""
    is_default = context.get_parameter_source(str(parameter.name)) is ParameterSource.DEFAULT
    if is_default and sys.stdin is not None and sys.stdin.isatty():
        raise click.UsageError(f"Name the file of the {parameter.name}, or pipe it in.", context)
    return value
