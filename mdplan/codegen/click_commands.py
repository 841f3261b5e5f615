"""The commands of the program, loaded, as click has them."""

from collections.abc import Iterator
from functools import cache

import click

from mdplan.cli.commands.edit import OperationGroup
from mdplan.cli.exit_codes import NAME
from mdplan.cli.program import build_program


@cache
def all_commands() -> dict[str, click.Context]:
    """Contexts of the program and all its commands by their whole names, those of groups after the group."""
    program = build_program()
    return {context.command_path: context for context in _below(click.Context(program, info_name=NAME))}


def _below(context: click.Context) -> Iterator[click.Context]:
    yield context
    # The commands of `mdplan edit` have the options of the operations, which have pages of their own.
    if isinstance(context.command, click.Group) and not isinstance(context.command, OperationGroup):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            assert command is not None, name
            yield from _below(click.Context(command, info_name=name, parent=context))


def options_of(context: click.Context) -> list[click.Option]:
    """The options of a command, without those for help."""
    return [each for each in context.command.params if isinstance(each, click.Option) and not each.hidden]
