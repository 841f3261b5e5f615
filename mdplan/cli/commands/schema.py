"""`mdplan schema`: the JSON Schemas of this version."""

import json
from typing import Final

import click

from mdplan.cli.completion.completed_values import REPORTS, SCHEMA_KINDS, schema_kinds, schema_names
from mdplan.cli.terminal.console import Console
from mdplan.cli.usage.command import command
from mdplan.cli.usage.misuse import Misuse
from mdplan.cli.usage.suggestions import either
from mdplan.diagnostics import Exit

_EXAMPLES: Final = """\
mdplan schema                   what `plan`, `validate` and `apply` take
mdplan schema plan              what `plan --output` writes
mdplan schema report apply      what --json prints, of stat, plan or apply
mdplan schema op replace_match  one edit
mdplan schema manifest          what `bot` takes"""


@command(example=_EXAMPLES)
@click.argument("kind", metavar="[KIND]", default="batch", shell_complete=schema_kinds)
@click.argument("name", metavar="[NAME]", required=False, shell_complete=schema_names)
def schema(*, kind: str, name: str | None) -> Exit:
    """Print a JSON Schema: of a batch, a plan file, a report, one operation, or a manifest."""
    from mdplan.operations import OPERATIONS
    from mdplan.requests.json_schemas import SCHEMAS
    from mdplan.requests.schemas import operation_schema

    if kind in OPERATIONS and name is None:
        kind, name = "op", kind
    if kind not in SCHEMA_KINDS:
        raise Misuse(f"there is no schema `{kind}`", f"give {either(SCHEMA_KINDS)}, or an operation")
    if kind == "op":
        made = operation_schema(_checked(name, list(OPERATIONS), "operation"))
    elif kind == "report":
        made = SCHEMAS[f"{_checked(name, list(REPORTS), 'report')}-report"]()
    elif name is not None:
        raise Misuse(f"`{kind}` is one schema", f"leave `{name}` out")
    elif kind == "manifest":
        from mdplan.bot.manifest import manifest_schema

        made = manifest_schema()
    else:
        made = SCHEMAS[kind]()
    Console.plain().data(json.dumps(made, ensure_ascii=False, indent=2).encode() + b"\n")
    return Exit.DONE


def _checked(name: str | None, known: list[str], noun: str) -> str:
    if name not in known:
        raise Misuse(f"the name of the {noun} is missing or unknown", f"give {either(known)}")
    return name
