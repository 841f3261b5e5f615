"""Words of a command line that leave no doubt, read without click, which takes as long to load as all else.

What is read here is what click would read. Whatever is wrong, unknown, or written in a way of which a person
could think twice (``-C3``, an empty word) is left to click, which has the words for it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mdplan.cli.parameters import Argument, Option, Parameter


def read_words(
    parameters: Sequence[Parameter], words: Sequence[str], environment: Mapping[str, str]
) -> dict[str, Any] | None:
    """The values of `parameters` by their names; None where click is to decide what is meant."""
    options = [each for each in parameters if isinstance(each, Option)]
    if any(each.variable and environment.get(each.variable) for each in options):
        return None
    separated = _separated(options, words)
    if separated is None:
        return None
    given, operands = separated
    arguments = [each for each in parameters if isinstance(each, Argument)]
    if len(operands) > len(arguments):
        return None
    for number, argument in enumerate(arguments):
        value = argument.kind.read(operands[number]) if number < len(operands) else argument.default
        if value is None:
            return None
        given[argument.parameter] = value
    return {each.parameter: each.if_absent for each in options} | given


def _separated(options: Sequence[Option], words: Sequence[str]) -> tuple[dict[str, Any], list[str]] | None:
    """The values of the `options` that `words` give, and the words that belong to none."""
    by_flag = {flag: each for each in options for flag in (each.flag, each.short) if flag}
    given: dict[str, Any] = {}
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            operands += rest
        elif word == "-" or not word.startswith("-"):
            operands.append(word)
        else:
            flag, joint, text = word.partition("=")
            option = by_flag.get(flag)
            if option is None or (joint and (option.kind is None or flag == option.short)):
                return None
            value = True if option.kind is None else option.kind.read(text if joint else next(rest, ""))
            if value is None:
                return None
            name = option.parameter
            given[name] = (*given.get(name, ()), value) if option.repeated else value
    return given, operands
