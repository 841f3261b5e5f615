"""Suggestions for mistyped commands and options: first a table of synonyms, then similarity."""

import os
from collections.abc import Iterable, Sequence
from typing import Final

import click
from click.core import ParameterSource

from mdplan.cli.terminal import Style, shown
from mdplan.field_names import meanings
from mdplan.text import shell
from mdplan.words import Command, ShellWords, listed, say

# Never suggested for a typo: they take a protection away, or write without a question.
_DANGEROUS: Final = frozenset(
    {
        "--allow-duplicate-headings",
        "--allow-insecure-range",
        "--allow-outline-change",
        "--adopt",
        "--keep-current",
        "--on-stale",
        "--override-rejection",
        "--rebase",
        "--restore-base",
        "--yes",
    }
)


def command_hint(name: str, commands: Iterable[str]) -> str:
    """Return the next step after the unknown command `name` of the program with these `commands`."""
    from difflib import get_close_matches

    from mdplan.operations import OPERATIONS

    words = meanings()
    operation = name.replace("-", "_")
    lower = name.lower()
    if operation in OPERATIONS:
        return say("it is an operation: {}", Command("edit", operation, "FILE"))
    if lower in words["about-commands"]:
        return str(words["about-commands"][lower])
    known = tuple(commands)
    # An operation can be misspelled as well, but a command is likelier.
    meant = words["commands"].get(lower) or tuple(get_close_matches(lower, known, n=1))
    if not meant:
        meant = tuple(f"edit {op}" for op in get_close_matches(operation, OPERATIONS, n=1, cutoff=0.75))
    if meant:
        return f"did you mean {either(f'mdplan {each}' for each in meant)}?"
    return say("{mdplan help} lists the commands")


def option_hint(option: str, context: click.Context, typed: Iterable[str]) -> str:
    """Return the next step after the unknown `option` of the command of `context`; `typed` are all words."""
    from difflib import get_close_matches

    words = meanings()
    command = context.info_name or "" if context.parent is not None else ""
    known = [
        flag for each in context.command.get_params(context) for flag in (*each.opts, *each.secondary_opts)
    ]
    if not command and option in words["of-each-command"]:
        return f"put it after the command, as in `mdplan outline {option}{words['of-each-command'][option]}`"
    long_one = _with_two_hyphens(option, known, typed)
    if long_one:
        return f"did you mean `{long_one}`, with two hyphens?"
    name = option.lstrip("-")
    if command == "undo" and name.isdecimal():
        return say("write {}", Command("undo", name))
    if own := words["of-command"].get(command, {}).get(name):
        return str(own)
    name = words["short-flags"].get(name, name)
    meant = next((each for each in words["options"].get(name.lower(), ()) if each in known), None)
    if meant is None and name in words["about-options"]:
        return str(words["about-options"][name])
    if meant is None and len(name) > 1:
        safe = [each for each in known if each.startswith("--") and each not in _DANGEROUS]
        begun = [each for each in safe if each.startswith(f"--{name}-")]
        meant = next(iter(begun or get_close_matches(f"--{name}", safe, n=1)), None)
    return f"did you mean `{meant}`?" if meant else ""


def _with_two_hyphens(option: str, known: Iterable[str], words: Iterable[str]) -> str | None:
    """Return the long option typed with one hyphen: ``-json`` is parsed as ``-j -s -o -n``."""
    typed = [word for word in words if word.startswith(option) and len(word) > len("-x")]
    return next(
        (f"-{word}" for word in typed if not word.startswith("--") and f"-{word}" in set(known)), None
    )


def either(names: Iterable[str]) -> str:
    """Return `names` as a choice of code spans: ``a``, ``b`` or ``c``."""
    return listed((f"`{name}`" for name in names), "or")


# --- Messages for a wrong command line

_TAKE_A_BATCH: Final = ("apply", "plan", "validate")
_DOCUMENTS: Final = (".md", ".markdown", ".mdx")


class Misuse(click.UsageError):
    """A usage error of mdplan's own, with `hint`: the next step."""

    def __init__(self, message: str, hint: str = "", ctx: click.Context | None = None) -> None:
        super().__init__(message, ctx or click.get_current_context(silent=True))
        self.hint = hint


def misuse_text(problem: click.ClickException, words: Sequence[str], style: Style) -> str:
    """Return the text of `problem`, caused by the typed `words`."""
    if isinstance(problem, click.exceptions.NoArgsIsHelpError):
        return problem.format_message()
    context = getattr(problem, "ctx", None)
    message, hint = _in_words(problem, context, words)
    lines = [f"{style.bold('error', 'red')}: {shown(message)}"]
    if hint:
        roots = context.params.get("roots", ()) if context is not None else ()
        lines.append(f"  {style.paint('hint:', 'cyan')} {shown(ShellWords(roots).text(hint))}")
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
    """Return the problem of an extra word, often the value of an option of that name."""
    text = message.partition("(")[2].removesuffix(")")
    words = text.split()
    what = f"unexpected argument `{text}`" if len(words) == 1 else f"unexpected arguments: `{text}`"
    flags = {flag for each in context.command.get_params(context) for flag in each.opts}
    option = next((flag for flag in ("--section", "--under", "--text") if flag in flags), None)
    command = context.info_name
    if command in _TAKE_A_BATCH and words[-1].endswith(_DOCUMENTS):
        # Most often a glob that the shell expanded.
        return what, say(
            "to edit documents: {mdplan replace OLD NEW FILE...}; {mdplan help batch} shows a batch"
        )
    if option:
        return what, f"did you mean `{option} {shell.quote(text)}`?"
    if "--root" in flags and os.path.isdir(text):  # noqa: PTH112 (the same)
        return what, f"for another folder write `{context.command_path} --root {shell.quote(text)}`"
    arguments = [each for each in context.command.get_params(context) if isinstance(each, click.Argument)]
    if not arguments:
        return what, f"write `{context.command_path}`"
    return what, f"give one {_named(arguments[-1], context)} at a time"


def _of_value(problem: click.BadParameter, context: click.Context | None) -> tuple[str, str]:
    message, parameter = _sentence(problem.message), problem.param
    if parameter is None or context is None:
        return f"`{problem.param_hint}`: {message}" if isinstance(problem.param_hint, str) else message, ""
    if isinstance(parameter.type, click.Choice):
        given = problem.message.partition("'")[2].partition("' is not one of")[0]
        message, hint = f"unknown value `{given}`", f"give {either(map(str, parameter.type.choices))}"
    elif isinstance(parameter.type, click.IntRange | click.FloatRange):
        message, hint = _of_number(message, parameter.type)
    else:
        hint = ""
    is_given = context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
    names = [parameter.envvar] if isinstance(parameter.envvar, str) else list(parameter.envvar or ())
    variable = next((name for name in names if os.environ.get(name) and not is_given), None)
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
    """Return `message` in the form of diagnostics: without a capital letter and full stop."""
    text = message.removesuffix(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
