"""`mdplan help`: about an operation, or about a command."""

import json
from textwrap import fill
from typing import TYPE_CHECKING

import click

from mdplan.diagnostics import Exit
from mdplan.surfaces.cli.completing import topics
from mdplan.surfaces.cli.console import Console

if TYPE_CHECKING:
    from mdplan.operation_reference import FieldReference

_WIDTH = 100


@click.command(name="help")
@click.argument("topic", required=False, shell_complete=topics)
@click.pass_context
def help_command(context: click.Context, *, topic: str | None) -> Exit:
    """Explain TOPIC, an operation or a command, with an example; or list them all."""
    from mdplan.operations import OPERATIONS

    group = context.find_root().command
    assert isinstance(group, click.Group)
    command = group.get_command(context, topic) if topic else None
    if topic in OPERATIONS:
        text = _operation_text(topic)
    elif topic is not None and command is not None:
        text = command.get_help(click.Context(command, info_name=topic, parent=context.find_root()))
    elif topic is not None:
        known = [*OPERATIONS, *group.list_commands(context)]
        raise click.UsageError(f"There is no operation or command `{topic}`. There are: {', '.join(known)}.")
    else:
        text = f"{group.get_help(context.find_root())}\n\n{_operation_list()}"
    Console.plain().text(text + "\n")
    return Exit.DONE


def _operation_list() -> str:
    from mdplan.operation_reference import operation_reference
    from mdplan.operations import OPERATIONS

    width = max(map(len, OPERATIONS))
    lines = [f"  {op:{width}}  {operation_reference(op).summary}" for op in OPERATIONS]
    return "\n".join(["Operations (more with `mdplan help OPERATION`):", *lines])


def _operation_text(op: str) -> str:
    from mdplan.operation_reference import operation_reference

    reference = operation_reference(op)
    paragraphs = [reference.summary, *reference.details.split("\n\n")]
    example = json.dumps(dict(reference.example), ensure_ascii=False)
    fields = "\n".join(_field_text(field) for field in reference.fields)
    return "\n\n".join(
        [
            op,
            *(fill(paragraph, _WIDTH) for paragraph in paragraphs if paragraph),
            f"Fields (* required):\n{fields}" if fields else "It has no fields.",
            f'Example of a batch:\n  {{"file": "{reference.file}", "edits": [\n    {example}\n  ]}}',
        ]
    )


def _field_text(field: "FieldReference") -> str:
    default = f" Default: {json.dumps(field.default)}." if field.default is not None else ""
    mark = "*" if field.is_required else " "
    description = fill(field.description + default, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return f"  {mark} {field.name} ({field.kind})\n{description}"
