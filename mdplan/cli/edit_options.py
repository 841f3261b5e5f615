"""Command options for the fields of an operation, derived from its JSON Schema."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from mdplan.cli import field_types
from mdplan.cli.completion import Completion, front_matter_keys, headings, task_items
from mdplan.cli.usage import retyped
from mdplan.diagnostics import Candidate, Code, Diagnostic
from mdplan.requests.schemas import Schema, inlined, operation_reference, operation_schema
from mdplan.text import shell
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.values import Struct, replace
from mdplan.words import ShellWords, commands_for_tools, listed, snake_case

if TYPE_CHECKING:
    from mdplan.operations.base import Operation

# Fields with often long text: it can come from a file, standard input or an editor.
CONTENT_FIELDS: Final = ("markdown", "replacement", "diff")

# What people call a field, next to its own name.
_ALIASES: Final = {"markdown": ("text",), "pattern": ("find",), "replacement": ("replace",)}
_HEADING_PATHS: Final = ("headingPath", "parentPath", "toHeadingPath")

# Guards and rare fields: last in the help.
_RARE: Final = ("sectionSha256", "toBaseSha256", "expectedValue", "sectionId", "toSectionId", "anchor")

# `--section` takes these as well.
_SECTION_FIELDS: Final = ("heading", "headingPath", "anchor", "occurrence")
_SECTION: Final = "section"


class EditOptions(Struct):
    """The options of one operation. `schemas` has the JSON Schema of each field by its name."""

    op: str
    schemas: Mapping[str, Schema]
    required: frozenset[str]

    @classmethod
    def of(cls, op: str) -> "EditOptions":
        """Return the options of `op`, a name in `OPERATIONS`."""
        schema = operation_schema(op)
        schemas = inlined(schema["properties"], schema.get("$defs", {}))
        del schemas["op"]
        return cls(op, schemas, frozenset(schema["required"]) - {"op"})

    @property
    def content_field(self) -> str | None:
        """The required field whose text an editor can supply, or None."""
        return next((name for name in CONTENT_FIELDS if name in self.required), None)

    @property
    def is_about_sections(self) -> bool:
        """True if ``--section`` names its target."""
        return "headingPath" in self.schemas and _SECTION not in self.schemas

    @property
    def model(self) -> "type[Operation]":
        """The operation."""
        from mdplan.operations import OPERATIONS

        return OPERATIONS[self.op]

    @property
    def rare(self) -> frozenset[str]:
        """Names of the parameters that the first screen of help leaves out."""
        return frozenset(snake_case(name) for name in (*_RARE, *_SECTION_FIELDS) if name not in self.required)

    def placeholder(self, name: str) -> str:
        """Return a placeholder for the value of the field `name` in an example command."""
        schema = self.schemas[name]
        if schema.get("type") == "boolean":
            return ""
        if _is_map(schema):
            return "KEY=VALUE"
        if "enum" in schema:
            return str(schema["enum"][0])
        return "N" if schema.get("type") == "integer" else "TEXT"

    def help_of(self, name: str) -> str:
        """Return the help text of the field `name`."""
        description = commands_for_tools(self.schemas[name].get("description", ""))
        return option_help(name, description, self.schemas)

    def options(self) -> Iterator[click.Option]:
        """Return one option per field, required ones first and guards last."""
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
        """Return the edit described by the values `given` for `options`; reads texts such as ``@FILE``."""
        fields: dict[str, Any] = {"op": self.op}
        for name, schema in self.schemas.items():
            value: Any = given.get(snake_case(name))
            if value is None or value == ():
                continue
            if name in CONTENT_FIELDS:
                fields[name] = self._content(value)
            elif value is field_types.NULL:
                fields[name] = None
            else:
                fields[name] = dict(value) if _is_map(schema) else value
        section = given.get(_SECTION) if self.is_about_sections else None
        return fields if section is None else fields | field_types.section_target(section)

    def _content(self, value: str) -> str:
        """Return the text of `value`. The text of a new file gets a final newline if it was typed."""
        content = field_types.read_content(value)
        is_file_of_words = content == value != "" and self.model.file_effect == "create"
        return f"{content}\n" if is_file_of_words and not content.endswith("\n") else content


def _option(name: str, schema: Schema, description: str, *, is_required: bool) -> click.Option:
    """Return the option of a field; the help marks required fields."""
    flags = [option_name(each) for each in (name, *_ALIASES.get(name, ()))]
    shown = f"{description} (required)" if is_required else description
    if schema.get("type") == "boolean":
        flag = snake_case(name).replace("_", "-")
        return click.Option([f"--{flag}/--no-{flag}", snake_case(name)], default=None, help=shown)
    return click.Option(
        [*flags, snake_case(name)],
        type=_type(name, schema),
        multiple=_is_map(schema) or name in _TEXTS,
        shell_complete=_COMPLETIONS.get(name),
        metavar=_metavar(name, schema),
        help=shown,
    )


def _type(name: str, schema: Schema) -> click.ParamType[Any]:
    if name in _HEADING_PATHS:
        return field_types.HEADING_PATH
    if name in _TEXTS:
        return click.STRING
    if "enum" in schema:
        return click.Choice(schema["enum"])
    if any(each.get("type") == "array" for each in schema.get("anyOf", ())):
        return field_types.KEY
    kind = schema.get("type", "string" if "anyOf" in schema else "any")
    return _KINDS[kind](schema)


def _object_type(schema: Schema) -> click.ParamType[Any]:
    if _is_map(schema):
        return field_types.assignment(is_typed=schema["additionalProperties"] is True)
    fields = schema["properties"]
    if "start" in fields:
        return field_types.TEXT_RANGE if fields["start"].get("properties") else field_types.LINE_RANGE
    return field_types.index_or_name(next((name for name in fields if name != "index"), None))


# Lists of texts, which may contain commas: an option for each.
_TEXTS: Final = frozenset({"drop"})


def _is_map(schema: Schema) -> bool:
    return schema.get("type") == "object" and "properties" not in schema


_KINDS: Final[Mapping[str, Callable[[Schema], click.ParamType[Any]]]] = {
    "any": lambda _: field_types.VALUE,
    "array": lambda schema: field_types.name_list(schema["items"].get("enum", ())),
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


_COMPLETIONS: Final[Mapping[str, Completion]] = {
    **dict.fromkeys(("heading", *_HEADING_PATHS), headings),
    "key": front_matter_keys,
    "item": task_items,
}


# --- The command that makes an edit

_WIDTH: Final = 76
PATH_JOINT: Final = " / "


def example_command(options: EditOptions) -> str:
    """Return ``mdplan edit OP FILE --option value``, wrapped for a narrow terminal."""
    reference = operation_reference(options.op)
    parts = _parts(options, reference.file, reference.example)
    return _wrapped(parts)


def edit_command(options: EditOptions, file: str, edit: Mapping[str, Any]) -> str:
    """Return the command that makes `edit`, which may include fields of its batch, in `file`."""
    return " ".join(_parts(options, shell.quote(file), edit))


def option_words(options: EditOptions, name: str, value: Any) -> str:  # noqa: ANN401 (any JSON)
    """Return the typed option of `mdplan edit` that sets the field `name` to `value`."""
    flags = {option.name: option for option in options.options()}
    option = flags.get(snake_case(name))
    if option is None:
        flag = option_name(name)
        return flag if isinstance(value, bool) else f"{flag} {shell.quote(_text(value))}"
    return " ".join(_words(name, value, option))


def _parts(options: EditOptions, file: str, edit: Mapping[str, Any]) -> list[str]:
    parts = [f"mdplan edit {options.op} {file}"]
    for name, value in edit.items():
        if name in ("heading", "headingPath", "sectionId") and options.is_about_sections:
            parts.append(f"--section {shell.quote(_text(value, PATH_JOINT))}")
        elif name != "op":
            parts.append(option_words(options, name, value))
    return parts


def _words(name: str, value: Any, option: click.Option) -> Iterator[str]:  # noqa: ANN401 (any JSON)
    flag = next((each for each in option.opts if each == "--text"), option.opts[0])
    if option.type is field_types.VALUE:
        from mdplan.cli.typed_values import typed_value

        is_plain = isinstance(value, str) and typed_value(value) == value
        yield f"{flag} {shell.quote(value if is_plain else json.dumps(value, ensure_ascii=False))}"
    elif isinstance(value, bool):
        yield flag if value else option.secondary_opts[0]
    elif name in CONTENT_FIELDS and "\n" in value:
        yield f"{flag} @new.{'diff' if name == 'diff' else 'md'}"
    elif option.type.name == "names":
        yield f"{flag} {shell.quote(','.join(value))}"
    elif name in _TEXTS:
        yield from (f"{flag} {shell.quote(each)}" for each in value)
    elif option.multiple:
        yield from (f"{flag} {shell.quote(f'{key}={_text(each)}')}" for key, each in value.items())
    else:
        joint = PATH_JOINT if name.endswith("Path") else None
        yield f"{flag} {shell.quote(_text(value, joint))}"


def _text(value: Any, joint: str | None = None) -> str:  # noqa: ANN401 (any JSON)
    match value:
        case {"start": Mapping() as start, "end": Mapping() as end}:
            return f"{start['line']}:{start['col']}-{end['line']}:{end['col']}"
        case {"start": start, "end": end}:
            return f"{start}-{end}" if start != end else str(start)
        case Mapping():
            return str(next(iter(value.values())))
        case list() | tuple() if joint is not None:
            return joint.join(value)
        case list() | tuple():
            # Most commands give no list, and need not load this.
            import yaml

            return yaml.safe_dump(list(value), default_flow_style=True).strip()
        case _:
            return str(value)


def _wrapped(parts: list[str]) -> str:
    """Return `parts` as one command, with full lines continued on the next."""
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + 1 + len(part) > _WIDTH:
            lines[-1] += " \\"
            lines.append(f"  {part}")
        else:
            lines[-1] += f" {part}"
    return "\n".join(lines)


# --- Names and help texts of the options for the fields of an edit

_FIELD: Final = lazy_pattern(r"`?\b([a-z]+(?:[A-Z][a-z]*)+)\b`?|`([a-z]+)`")
_JSON: Final = lazy_pattern(r"[\[{]|or \"\d|\b(?:JSON|array|[Nn]ode)\b")

# What is typed for a field whose value a batch writes as an object or an array.
_TYPED: Final = {
    "codeBlock": "Number of a fenced block, from 0 in the section or file, or its language.",
    "exclude": "Further kinds of text to leave alone, such as tables,headings.",
    "expectedValue": "Value that the key has now, in YAML; a date as it is written.",
    "headingPath": "Headings from outer to inner, or the last of them, such as 'Guide / Install'.",
    "include": "Kinds of text to match in after all, such as html,inlineCode.",
    "key": "Key, dotted inside maps: author.name, nav[0].Home. [ms.topic] is a name with a dot.",
    "line": "Line (from 1) next to which the new lines go.",
    "lines": "A line or a range, such as 12-25.",
    "list": "Number of the list, from 0 in the section or file; nested lists do not count.",
    "matchSelection": "Which matches: all, 3, or 2-4 (from 1, inclusive).",
    "parentPath": "Section to make it in, such as 'Guide / Install'; '' is the top.",
    "range": "From place to place, such as 12:1-12:9; the end is exclusive.",
    "table": "Number of the table, from 0 in the section or file, or the header of one of its columns.",
    "toHeadingPath": "Section to move to, such as 'Guide / Install'; '' is before the first heading.",
    "value": "Value in YAML, such as 3, true or [a, b].",
}


def option_name(field: str) -> str:
    """Return the option of the `field` of an edit: ``--new-title`` for ``newTitle``."""
    return f"--{snake_case(field).replace('_', '-')}"


def option_help(field: str, description: str, fields: Collection[str]) -> str:
    """Return the help of the option of `field`: its `description` with options in place of `fields`.

    A description of JSON is replaced by a description of the typed form.
    """

    def named(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return f"`{option_name(name)}`" if name in fields else match[0]

    text = _TYPED[field] if _JSON.search(description) else description
    return _FIELD.sub(named, text)


# --- Problems of an edit in the words of the command that made it

# Fields of a batch that `mdplan edit` takes as options, in addition to the fields of the operation.
BATCH_FIELDS: Final = ("allowOutlineChange", "allowDuplicateHeadings")

# What names a section in a batch, and the one option or argument for it in a command.
_SECTION_NAMES: Final = ("heading", "headingPath", "sectionId")
_MOST_MEANT: Final = 3
_MOST_TYPED: Final = 100


class CommandWords(ShellWords):
    """The words of the command that made an edit: its options and arguments in place of fields.

    `names` maps fields to options or arguments of the command. `flags` are fields for which one value has its
    own option. If only `mdplan edit` can express a field, `whole` returns that whole command. `section` is
    the section as typed.
    """

    whole: Callable[[str, Any], str] | None = None

    def __init__(
        self,
        edit_options: EditOptions,
        names: Mapping[str, str],
        flags: Mapping[str, Callable[[Any], str | None]] | None = None,
        *,
        is_edit: bool = False,
        section: str | None = None,
    ) -> None:
        super().__init__()
        self.edit_options, self.names, self.flags = edit_options, names, flags or {}
        self.is_edit, self.section = is_edit, section

    @classmethod
    def of_edit(cls, options: EditOptions, section: str | None = None) -> "CommandWords":
        """Return the words of `mdplan edit`, in which each field is an option."""
        own = {name: option_name(name) for name in (*options.schemas, *BATCH_FIELDS)}
        target = dict.fromkeys(_SECTION_NAMES, "--section") if options.is_about_sections else {}
        return cls(options, own | target, is_edit=True, section=section)

    def given(self, name: str, value: Any) -> str | None:  # noqa: ANN401 (any JSON)
        """Return the words that set the field `name` to `value` in this command, or None."""
        called = self.names.get(name)
        if called is not None and name in _SECTION_NAMES:
            path = value if isinstance(value, list) else [str(value)]
            words = shell.quote(PATH_JOINT.join(path))
            return f"{called} {words}" if called.startswith("--") else words
        if self.is_edit:
            return option_words(self.edit_options, name, value)
        return self.flags[name](value) if name in self.flags else None

    def name(self, field: str) -> str:
        """Return the option or argument of this command, or that of `mdplan edit`."""
        if field in self.names:
            return f"`{self.names[field]}`"
        of_edit = field in self.edit_options.schemas
        return f"`{option_name(field)}` of `mdplan edit`" if of_edit else super().name(field)

    def arguments(self, *names: str, joint: str = "or") -> str:
        """Return a list of options."""
        return listed(map(self.name, names), joint)

    def field(self, name: str, value: object) -> str | None:
        """Return the option with its value, or the whole command."""
        if name not in self.edit_options.schemas and name not in BATCH_FIELDS:
            return None
        given = self.given(name, value)
        return f"`{given or (self.whole(name, value) if self.whole else option_name(name))}`"

    def send(self, name: str, value: object) -> str | None:
        """Return the advice to add the option, or to run the whole command."""
        field = self.field(name, value)
        is_whole = self.whole is not None and not self.given(name, value)
        return f"{'run' if is_whole else 'add'} {field}" if field else None

    def meaning(self, name: str, text: str) -> str:
        """Return the advice to give the option, with its help."""
        is_own = name in self.edit_options.schemas
        return (
            f"give {self.name(name)}: {self.edit_options.help_of(name)}"
            if is_own
            else super().meaning(name, text)
        )

    def op(self, name: str) -> str:
        """Return the command."""
        return f"`mdplan edit {name}`"

    def heading(self, path: Sequence[str], noun: str = "") -> str:
        """Return a heading path as it is typed."""
        del noun
        return f"'{PATH_JOINT.join(path)}'"

    def tell(self, problem: Any) -> Any:  # noqa: ANN401 (as all words have it)
        """Return the diagnostic `problem`; if a section was meant, with the command that names it."""
        told = super().tell(problem)
        hint = told.hint
        if problem.code is Code.AMBIGUOUS_HEADING and problem.candidates:
            hint = f"name one of them: `{self._retyped(problem.candidates[0], problem)}`"
        elif problem.code is Code.INVALID_REGEX:
            plain = "`--match-type literal`" if self.is_edit else "no `--regex`"
            hint = f"put a backslash before a sign that means itself, as in `\\(`; {plain} finds plain text"
        elif problem.code is Code.SECTION_NOT_FOUND and problem.candidates:
            meant = [self._retyped(each, problem) for each in problem.candidates[:_MOST_MEANT]]
            hint = f"did you mean {' or '.join(f'`{each}`' for each in meant)}?"
        elif problem.code is Code.MATCH_COUNT_MISMATCH and "differs in case" in hint:
            flag = self.given("caseSensitive", False)  # noqa: FBT003 (the value of a field)
            hint = f"{hint}; `{flag}` matches any case" if flag else hint
        elif problem.code is Code.FILE_NOT_FOUND and problem.file and self._may_create:
            joint = " To" if hint.endswith("?") else "; to"
            hint = (
                f"{hint}{joint} create it: `{self.command_line('edit', 'create_file', files=[problem.file])}`"
            )
        is_gone = problem.code is Code.SECTION_NOT_FOUND and self.edit_options.op == "delete_section"
        if is_gone and problem.file and self.section:
            block = self.command_line("edit", "delete_block", files=[problem.file])
            joint = " For" if hint.endswith("?") else "; for"
            hint = f"{hint}{joint} a paragraph: `{block} --block {shell.quote(self.section)}`"
        return replace(told, hint=hint)

    @property
    def _may_create(self) -> bool:
        """True if people also try the command on a file that does not exist yet; a reader has no fields."""
        return bool(self.edit_options.schemas) and self.edit_options.model.may_begin_file

    def _retyped(self, meant: Candidate, problem: Diagnostic) -> str:
        """Return the typed command with the section `meant`, or only its address if the command is long."""
        paths = [candidate.heading_path for candidate in problem.candidates]
        is_unique = paths.count(meant.heading_path) == 1 and all(
            len(field_types.heading_path(title)) == 1 for title in meant.heading_path
        )
        section = PATH_JOINT.join(meant.heading_path) if is_unique else str(meant.section_id)
        is_only = self.section is not None and len(problem.candidates) == 1
        if is_only or problem.code is Code.AMBIGUOUS_HEADING:
            command = retyped(str(self.section), section)
            if command is not None and len(command) <= _MOST_TYPED:
                return command
        called = self.names.get("heading", "")
        return f"{called} {shell.quote(section)}" if called.startswith("--") else shell.quote(section)


def words_of_section(flag: str, section: str) -> CommandWords:
    """Return the words of a read-only command in which `flag` named the `section`."""
    options = EditOptions("read", {}, frozenset())
    return CommandWords(options, dict.fromkeys(_SECTION_NAMES, flag), is_edit=True, section=section)
