"""Declared parameters as click has them."""

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from mdplan.cli.parameters import (
    Argument,
    Duration,
    Kind,
    OneOf,
    Option,
    Parameter,
    Text,
    Whole,
    limit_parameter,
)
from mdplan.limit_options import LimitOption

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def with_parameters(parameters: Iterable[Parameter]) -> Callable[[Decorated], Decorated]:
    """Give a command these `parameters`, in their order."""

    def decorate(function: Decorated) -> Decorated:
        for each in reversed(tuple(parameters)):
            add = _argument(each) if isinstance(each, Argument) else _option(each)
            function = add(function)
        return function

    return decorate


def limit_options(limits: Iterable[LimitOption]) -> Callable[[Decorated], Decorated]:
    """Give a command the options of `limits`; what is not given, there or in the environment, is None."""
    return with_parameters(map(limit_parameter, limits))


class _FiniteRange(click.FloatRange):
    """Numbers above 0, without the one above all."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 (click's)
        """The number; a usage error for what is none of them."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            raise click.BadParameter("it is not a finite number.", ctx, param)
        return number


_FILE: Final = click.Path(readable=False)
_DURATION: Final = _FiniteRange(min=0, min_open=True)


def _argument(declared: Argument) -> Callable[[Decorated], Decorated]:
    default: dict[str, Any] = {} if declared.default is None else {"default": declared.default}
    return click.argument(declared.parameter, type=_type_of(declared.kind), **default)


def _option(declared: Option) -> Callable[[Decorated], Decorated]:
    names = [each for each in (declared.flag, declared.short, declared.parameter) if each]
    if declared.kind is None:
        return click.option(*names, is_flag=True, help=declared.help)
    default: dict[str, Any] = (
        {} if declared.default is None else {"default": declared.default, "show_default": True}
    )
    return click.option(
        *names,
        type=_type_of(declared.kind),
        multiple=declared.repeated,
        metavar=declared.metavar,
        envvar=declared.variable,
        shell_complete=_folders if declared.kind == Text("folders") else None,
        help=declared.help,
        **default,
    )


def _type_of(kind: Kind) -> click.ParamType[Any]:
    match kind:
        case Text():
            return _FILE if kind.offers == "files" else click.STRING
        case OneOf():
            return click.Choice(kind.choices)
        case Whole():
            return click.IntRange(kind.least, kind.most)
        case Duration():
            return _DURATION


def _folders(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Folders, as the shell finds them."""
    from click.shell_completion import CompletionItem

    del context, parameter
    return [CompletionItem(incomplete, type="dir")]
