"""A command line that is wrong, in words: what, and the next step."""

import os
import shlex
from collections.abc import Sequence
from typing import Final

import click
from click.core import ParameterSource

from mdplan.cli.terminal.console import Style, shown
from mdplan.cli.usage.suggestions import either, option_hint

_TAKE_A_BATCH: Final = ("apply", "plan", "validate")
_DOCUMENTS: Final = (".md", ".markdown", ".mdx")


class Misuse(click.UsageError):
    """A usage error of mdplan's own, with `hint`: the next step."""

    def __init__(self, message: str, hint: str = "", ctx: click.Context | None = None) -> None:
        super().__init__(message, ctx or click.get_current_context(silent=True))
        self.hint = hint


def misuse_text(problem: click.ClickException, words: Sequence[str], style: Style) -> str:
    """What to print of `problem`, which the typed `words` led to."""
    if isinstance(problem, click.exceptions.NoArgsIsHelpError):
        return problem.format_message()
    context = getattr(problem, "ctx", None)
    message, hint = _in_words(problem, context, words)
    lines = [f"{style.bold('error', 'red')}: {shown(message)}"]
    if hint:
        lines.append(f"  {style.paint('hint:', 'cyan')} {shown(hint)}")
    if context is not None:
        lines += _usage_lines(problem, context, style)
    return "\n".join(lines)


def _usage_lines(problem: click.ClickException, context: click.Context, style: Style) -> list[str]:
    is_about_arguments = isinstance(problem, click.MissingParameter) or "extra argument" in problem.message
    lines = []
    if is_about_arguments:
        pieces = " ".join(context.command.collect_usage_pieces(context))
        lines.append(f"  {style.paint('usage:', 'cyan')} {context.command_path} {pieces}")
        lines += [
            f"  {style.paint('example:', 'cyan')} {' '.join(example.split())}".replace(" \\ ", " ")
            for example in getattr(context.command, "examples", ())[:1]
        ]
    return [*lines, f"  {style.paint('more:', 'cyan')} {context.command_path} --help"]


def _in_words(  # noqa: PLR0911 (one for each kind of error)
    problem: click.ClickException, context: click.Context | None, words: Sequence[str]
) -> tuple[str, str]:
    """Message and hint of `problem`."""
    match problem:
        case Misuse():
            return problem.message, problem.hint
        case click.NoSuchOption() if context is not None:
            of = f"`{context.command_path}` has"
            return f"{of} no option `{problem.option_name}`", option_hint(problem.option_name, context, words)
        case click.MissingParameter() if context is not None:
            return f"{_named(problem.param, context)} is missing", ""
        case click.BadOptionUsage() if "argument" in problem.message:
            return f"`{problem.option_name}` needs a value", _needed(problem, context)
        case click.UsageError() if "extra argument" in problem.message and context is not None:
            return _extra(problem.message, context)
        case click.BadParameter():
            return _of_value(problem, context)
        case _:
            return _sentence(problem.format_message()), ""


def _extra(message: str, context: click.Context) -> tuple[str, str]:
    """A word too many: often the value of an option that is named like that."""
    text = message.partition("(")[2].removesuffix(")")
    words = text.split()
    what = f"unexpected argument `{text}`" if len(words) == 1 else f"unexpected arguments: `{text}`"
    flags = {flag for each in context.command.get_params(context) for flag in each.opts}
    option = next((flag for flag in ("--section", "--under", "--text") if flag in flags), None)
    command = context.info_name
    if command in _TAKE_A_BATCH and words[-1].endswith(_DOCUMENTS):
        # Most often a glob that the shell expanded.
        return what, "to edit documents: `mdplan replace OLD NEW FILE...`; `mdplan help batch` shows a batch"
    if option:
        return what, f"did you mean `{option} {shlex.quote(text)}`?"
    if "--root" in flags and os.path.isdir(text):  # noqa: PTH112 (the same)
        return what, f"for another folder write `{context.command_path} --root {shlex.quote(text)}`"
    arguments = [each for each in context.command.get_params(context) if isinstance(each, click.Argument)]
    if not arguments:
        return what, f"write `{context.command_path}`"
    return what, f"give one {_named(arguments[-1], context)} at a time"


def _of_value(problem: click.BadParameter, context: click.Context | None) -> tuple[str, str]:
    message, parameter = _sentence(problem.message), problem.param
    if parameter is None or context is None:
        return f"`{problem.param_hint}`: {message}" if isinstance(problem.param_hint, str) else message, ""
    if isinstance(parameter.type, click.Choice):
        names = [str(each) for each in parameter.type.choices]
        given = problem.message.partition("'")[2].partition("' is not one of")[0]
        message, hint = f"unknown value `{given}`", f"give {either(names)}"
    elif isinstance(parameter.type, click.IntRange | click.FloatRange):
        message, hint = _of_number(message, parameter.type)
    else:
        hint = ""
    variable = _variable(parameter, context)
    if variable:
        hint = f"{hint or f'give a value that `{parameter.opts[0]}` takes'}, or unset the variable"
        return f"{variable}={os.environ[variable]}: {message}", hint
    return f"{_named(parameter, context)}: {message}", hint


def _of_number(message: str, kind: click.IntRange | click.FloatRange) -> tuple[str, str]:
    number = "a whole number" if isinstance(kind, click.IntRange) else "a number"
    least = f" from {kind.min:g}" if kind.min is not None else ""
    most = f" to {kind.max:g}" if kind.max is not None else ""
    if "not in the range" in message:
        return f"{message.partition(' is not')[0]} is out of range", f"give a number{least}{most}"
    return message.replace(" is not a valid integer range", " is not a number").replace(
        " is not a valid float range", " is not a number"
    ), f"give {number}{least}{most}"


def _variable(parameter: click.Parameter, context: click.Context) -> str | None:
    """The variable of the environment that gave `parameter` its value."""
    is_given = context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
    names = [parameter.envvar] if isinstance(parameter.envvar, str) else list(parameter.envvar or ())
    return None if is_given else next((name for name in names if os.environ.get(name)), None)


def _needed(problem: click.BadOptionUsage, context: click.Context | None) -> str:
    if context is None:
        return ""
    params = context.command.get_params(context)
    option = next((each for each in params if problem.option_name in each.opts), None)
    if not isinstance(option, click.Option):
        return ""
    return f"write `{problem.option_name} {option.make_metavar(context)}`"


def _named(parameter: click.Parameter | None, context: click.Context) -> str:
    if parameter is None:
        return "an argument"
    if isinstance(parameter, click.Option):
        return f"`{parameter.opts[0]}`"
    return parameter.make_metavar(context).strip("[]").rstrip(".")


def _sentence(message: str) -> str:
    """`message` as diagnostics are written: without a capital and a full stop."""
    text = message.removesuffix(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
