"""The files in `schemas/`, and the page that lists them."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from mdplan.bot.manifest.manifest_schema import manifest_schema
from mdplan.codegen.pages.page import page, table
from mdplan.codegen.published_tools import published_tools
from mdplan.reference.json_schemas import SCHEMAS

FOLDER: Final = "schemas"
_MADE: Final[Mapping[str, Callable[[], Mapping[str, Any]]]] = {**SCHEMAS, "manifest": manifest_schema}
# What each is for, and the command that prints it.
_USES: Final[Mapping[str, tuple[str, str]]] = {
    "apply-report": ("what `apply` and `undo` answer", "mdplan schema report apply"),
    "batch": ("what `plan`, `validate` and `apply` take: edits of one file or of several", "mdplan schema"),
    "manifest": ("what `mdplan bot` takes", "mdplan schema manifest"),
    "plan": (
        "a plan as a file, which `mdplan plan --output` writes and `mdplan apply` takes",
        "mdplan schema plan",
    ),
    "plan-report": ("what `plan` and `validate` answer", "mdplan schema report plan"),
    "stat-report": ("what `stat` answers", "mdplan schema report stat"),
}
_INTRODUCTION: Final = """\
JSON Schemas (draft 2020-12) of requests and reports are in the folder `schemas` of the repository.
They are made from the models that read it, and the installed version prints its own.
They describe the plain form: a snake_case name or an [other spelling](semantics-rules.md#other-spellings) is read too, but nobody should send it.
A report omits what is absent, and a later version may add fields: ignore those that you do not know."""
_TOOLS: Final = """\
`schemas/tools` has one file for each [MCP tool](tools.md), with the schemas of its arguments and of its answer as a client gets them.
Those are flat, because clients differ in what they understand; the exact schema of a batch is the resource `mdplan://schema/batch`."""


def schema_files() -> dict[str, str]:
    """The text of each file by its path."""
    files = {f"{FOLDER}/{name}.schema.json": _text(make()) for name, make in _MADE.items()}
    return files | {
        f"{FOLDER}/tools/{tool.name}.json": _text(
            {"name": tool.name, "inputSchema": tool.input_schema, "outputSchema": tool.output_schema}
        )
        for tools in published_tools().values()
        for tool in tools
    }


def schema_page() -> str:
    """The page that lists them."""
    rows = [(f"`{name}.schema.json`", _USES[name][0], f"`{_USES[name][1]}`") for name in sorted(_MADE)]
    one_edit = ("", "one edit", "`mdplan schema op OPERATION`")
    listed = table(["File", "Describes", "Printed by"], [*rows, one_edit])
    return page("Schemas", _INTRODUCTION, listed, "## Tools", _TOOLS)


def _text(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
