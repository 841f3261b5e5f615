"""Command options for the fields of an operation, derived from its JSON Schema."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import click

from mdplan.cli.completion.completed_values import Completion, front_matter_keys, headings, task_items
from mdplan.cli.edits.field_types import (
    AssignmentType,
    HeadingPathType,
    IndexOrNameType,
    KeyType,
    LineRangeType,
    NameListType,
    TextRangeType,
    TypedValueType,
    section_target,
)
from mdplan.cli.edits.option_words import option_help, option_name
from mdplan.cli.edits.text_input import read_content
from mdplan.field_names import snake_case
from mdplan.reports.next_steps import Caller, in_words_of
from mdplan.requests.schemas import Schema, inlined, operation_schema

# Fields with text that is often long: it can come from a file, standard input or an editor.
CONTENT_FIELDS: Final = ("markdown", "replacement", "diff")
# What people call a field, next to its own name.
_ALIASES: Final = {"markdown": ("text",), "pattern": ("find",), "replacement": ("replace",)}
_HEADING_PATHS: Final = ("headingPath", "parentPath", "toHeadingPath")
# Guards and rare fields: last in the help.
_RARE: Final = ("sectionSha256", "toBaseSha256", "expectedValue", "sectionId", "toSectionId", "anchor")
# `--section` takes these as well.
_SECTION_FIELDS: Final = ("heading", "headingPath", "anchor", "occurrence")
_SECTION: Final = "section"


@dataclass(frozen=True, slots=True)
class EditOptions:
    """The options of one operation. `schemas` has the JSON Schema of each field by its name."""

    op: str
    schemas: Mapping[str, Schema]
    required: frozenset[str]

    @classmethod
    def of(cls, op: str) -> "EditOptions":
        """The options of `op`, a name of `OPERATIONS`."""
        schema = operation_schema(op)
        definitions = schema.get("$defs", {})
        schemas = inlined(schema["properties"], definitions)
        del schemas["op"]
        return cls(op, schemas, frozenset(schema["required"]) - {"op"})

    @property
    def content_field(self) -> str | None:
        """The required field whose text an editor can supply; None where there is none."""
        return next((name for name in CONTENT_FIELDS if name in self.required), None)

    @property
    def is_about_sections(self) -> bool:
        """Whether ``--section`` names its target."""
        return "headingPath" in self.schemas and _SECTION not in self.schemas

    @property
    def may_begin_file(self) -> bool:
        """Whether people try it on a file that they want to begin."""
        from mdplan.operations import OPERATIONS

        return OPERATIONS[self.op].may_begin_file

    @property
    def rare(self) -> frozenset[str]:
        """Names of the parameters that the first screen of help leaves out."""
        return frozenset(snake_case(name) for name in (*_RARE, *_SECTION_FIELDS) if name not in self.required)

    @property
    def needs_section(self) -> bool:
        """Whether an edit without a section is refused."""
        from mdplan.operations import OPERATIONS

        return self.is_about_sections and getattr(OPERATIONS[self.op], "target_is_required", False)

    def placeholder(self, name: str) -> str:
        """What stands for the value of the field `name` in a command that lacks it."""
        schema = self.schemas[name]
        if schema.get("type") == "boolean":
            return ""
        if _is_map(schema):
            return "KEY=VALUE"
        if "enum" in schema:
            return str(schema["enum"][0])
        return "N" if schema.get("type") == "integer" else "TEXT"

    def help_of(self, name: str) -> str:
        """What the help says of the field `name`."""
        description = in_words_of(Caller.SHELL, self.schemas[name].get("description", ""))
        return option_help(name, description, self.schemas)

    def options(self) -> Iterator[click.Option]:
        """One option for each field, required ones first and guards last."""
        names = sorted(self.schemas, key=lambda name: (name not in self.required, name in _RARE))
        if self.is_about_sections:
            yield click.Option(
                ["--section", _SECTION],
                shell_complete=headings,
                metavar="SECTION",
                help="Target section: a heading, a path such as 'Guide / Install', or a section ID.",
            )
        for name in names:
            yield _option(name, self.schemas[name], self.help_of(name), is_required=name in self.required)

    def edit(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The edit that the values `given` for `options` describe. Texts such as ``@FILE`` are read."""
        fields: dict[str, Any] = {"op": self.op}
        for name, schema in self.schemas.items():
            value: Any = given.get(snake_case(name))
            if value is None or value == ():
                continue
            if name in CONTENT_FIELDS:
                fields[name] = self._content(value)
            else:
                fields[name] = dict(value) if _is_map(schema) else value
        section = given.get(_SECTION) if self.is_about_sections else None
        return fields if section is None else fields | section_target(section)

    def _content(self, value: str) -> str:
        """The text that `value` stands for. A new file of words on the command line ends with a line end."""
        from mdplan.operations import OPERATIONS

        content = read_content(value)
        is_file_of_words = content == value != "" and OPERATIONS[self.op].file_effect == "create"
        return f"{content}\n" if is_file_of_words and not content.endswith("\n") else content


def _option(name: str, schema: Schema, description: str, *, is_required: bool) -> click.Option:
    """The option of a field. Where the field is required, its help says so."""
    flags = [option_name(each) for each in (name, *_ALIASES.get(name, ()))]
    shown = f"{description} (required)" if is_required else description
    if schema.get("type") == "boolean":
        flag = snake_case(name).replace("_", "-")
        return click.Option([f"--{flag}/--no-{flag}", snake_case(name)], default=None, help=shown)
    return click.Option(
        [*flags, snake_case(name)],
        type=_type(name, schema),
        multiple=_is_map(schema),
        shell_complete=_offer(name),
        metavar=_metavar(name, schema),
        help=shown,
    )


def _type(name: str, schema: Schema) -> click.ParamType[Any]:
    if name in _HEADING_PATHS:
        return HeadingPathType()
    if "enum" in schema:
        return click.Choice(schema["enum"])
    if any(each.get("type") == "array" for each in schema.get("anyOf", ())):
        return KeyType()
    kind = schema.get("type", "string" if "anyOf" in schema else "any")
    return _KINDS[kind](schema)


def _object_type(schema: Schema) -> click.ParamType[Any]:
    if _is_map(schema):
        return AssignmentType(is_typed=schema["additionalProperties"] is True)
    fields = schema["properties"]
    if "start" in fields:
        return TextRangeType() if fields["start"].get("properties") else LineRangeType()
    return IndexOrNameType(next((name for name in fields if name != "index"), None))


_KINDS: Final[Mapping[str, Callable[[Schema], click.ParamType[Any]]]] = {
    "any": lambda _: TypedValueType(),
    "array": lambda schema: NameListType(tuple(schema["items"].get("enum", ()))),
    "integer": lambda schema: click.IntRange(min=schema.get("minimum")),
    "object": _object_type,
    "string": lambda _: click.STRING,
}


def _metavar(name: str, schema: Schema) -> str | None:
    if name in CONTENT_FIELDS:
        return "TEXT|@FILE|-"
    if _is_map(schema):
        return "KEY=VALUE"
    return "CHOICE" if len("|".join(schema.get("enum", ()))) > 40 else None


def _offer(name: str) -> Completion | None:
    if name in {"heading", *_HEADING_PATHS}:
        return headings
    return {"key": front_matter_keys, "item": task_items}.get(name)


def _is_map(schema: Schema) -> bool:
    return schema.get("type") == "object" and "properties" not in schema
