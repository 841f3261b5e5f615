"""`mdplan schema`: the JSON Schemas of this version."""

import json
from typing import Final

import click

from mdplan.cli.completion import REPORTS, schema_names
from mdplan.cli.console import Console
from mdplan.diagnostics import Exit

_KINDS = ("batch", "plan", "report", "op", "manifest")
_HELP: Final = """Print a JSON Schema: of a batch, a plan file, a report, one operation, or a manifest.

\b
mdplan schema                   what `plan`, `validate` and `apply` take
mdplan schema plan              what `plan --output` writes
mdplan schema report apply      what --json prints, of stat, plan or apply
mdplan schema op replace_match  one edit
mdplan schema manifest          what `bot` takes
"""


@click.command(help=_HELP)
@click.argument("kind", type=click.Choice(_KINDS), default="batch")
@click.argument("name", required=False, shell_complete=schema_names)
def schema(*, kind: str, name: str | None) -> Exit:
    """Print a JSON Schema: of a batch, a plan file, a report, one operation, or a manifest."""
    from mdplan.operations import OPERATIONS
    from mdplan.reference.schema import SCHEMAS, operation_schema

    if kind == "op":
        made = operation_schema(_checked(name, list(OPERATIONS), "operation"))
    elif kind == "report":
        made = SCHEMAS[f"{_checked(name, list(REPORTS), 'report')}-report"]()
    elif name is not None:
        raise click.UsageError(f"`{kind}` is one schema: leave out `{name}`.")
    elif kind == "manifest":
        from mdplan.bot.manifest.schema import manifest_schema

        made = manifest_schema()
    else:
        made = SCHEMAS[kind]()
    Console.plain().data(json.dumps(made, ensure_ascii=False, indent=2).encode() + b"\n")
    return Exit.DONE


def _checked(name: str | None, known: list[str], noun: str) -> str:
    if name not in known:
        raise click.UsageError(f"Name the {noun}: {', '.join(known)}.")
    return name
