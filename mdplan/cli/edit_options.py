"""Command options for the fields of an operation, derived from its JSON Schema."""

import json
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import click

from mdplan.cli import field_types
from mdplan.cli.completion import Completion, front_matter_keys, headings, task_items
from mdplan.cli.usage import retyped
from mdplan.diagnostics import Candidate, Code, Diagnostic
from mdplan.field_names import snake_case
from mdplan.reports.base import AnyReport
from mdplan.reports.next_steps import Caller, in_words_of
from mdplan.requests.schemas import Schema, inlined, operation_reference, operation_schema
from mdplan.text.lazy_pattern import lazy_pattern

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
        schemas = inlined(schema["properties"], schema.get("$defs", {}))
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
            elif value is field_types.NULL:
                fields[name] = None
            else:
                fields[name] = dict(value) if _is_map(schema) else value
        section = given.get(_SECTION) if self.is_about_sections else None
        return fields if section is None else fields | field_types.section_target(section)

    def _content(self, value: str) -> str:
        """The text that `value` stands for. A new file of words on the command line ends with a line end."""
        from mdplan.operations import OPERATIONS

        content = field_types.read_content(value)
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
        return field_types.HeadingPathType()
    if "enum" in schema:
        return click.Choice(schema["enum"])
    if any(each.get("type") == "array" for each in schema.get("anyOf", ())):
        return field_types.KeyType()
    kind = schema.get("type", "string" if "anyOf" in schema else "any")
    return _KINDS[kind](schema)


def _object_type(schema: Schema) -> click.ParamType[Any]:
    if _is_map(schema):
        return field_types.AssignmentType(is_typed=schema["additionalProperties"] is True)
    fields = schema["properties"]
    if "start" in fields:
        return (
            field_types.TextRangeType() if fields["start"].get("properties") else field_types.LineRangeType()
        )
    return field_types.IndexOrNameType(next((name for name in fields if name != "index"), None))


def _is_map(schema: Schema) -> bool:
    return schema.get("type") == "object" and "properties" not in schema


_KINDS: Final[Mapping[str, Callable[[Schema], click.ParamType[Any]]]] = {
    "any": lambda _: field_types.TypedValueType(),
    "array": lambda schema: field_types.NameListType(tuple(schema["items"].get("enum", ()))),
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


# --- The command that makes an edit

_WIDTH: Final = 76
PATH_JOINT: Final = " / "


def example_command(options: EditOptions) -> str:
    """``mdplan edit OP FILE --option value``, on as many lines as it needs on a narrow terminal."""
    reference = operation_reference(options.op)
    parts = _parts(options, reference.file, reference.example)
    return _wrapped(parts)


def edit_command(options: EditOptions, file: str, edit: Mapping[str, Any]) -> str:
    """The command that makes `edit`, which can have fields of its batch, in `file`."""
    return " ".join(_parts(options, shlex.quote(file), edit))


def option_words(options: EditOptions, name: str, value: Any) -> str:  # noqa: ANN401 (any JSON)
    """The option of `mdplan edit` that gives the field `name` a `value`, as it is typed."""
    flags = {option.name: option for option in options.options()}
    option = flags.get(snake_case(name))
    if option is None:
        flag = option_name(name)
        return flag if isinstance(value, bool) else f"{flag} {shlex.quote(_text(value))}"
    return " ".join(_words(name, value, option))


def _parts(options: EditOptions, file: str, edit: Mapping[str, Any]) -> list[str]:
    parts = [f"mdplan edit {options.op} {file}"]
    for name, value in edit.items():
        if name in ("heading", "headingPath", "sectionId") and options.is_about_sections:
            parts.append(f"--section {shlex.quote(_text(value, PATH_JOINT))}")
        elif name != "op":
            parts.append(option_words(options, name, value))
    return parts


def _words(name: str, value: Any, option: click.Option) -> Iterator[str]:  # noqa: ANN401 (any JSON)
    flag = next((each for each in option.opts if each == "--text"), option.opts[0])
    if isinstance(option.type, field_types.TypedValueType):
        from mdplan.cli.typed_values import typed_value

        is_plain = isinstance(value, str) and typed_value(value) == value
        yield f"{flag} {shlex.quote(value if is_plain else json.dumps(value, ensure_ascii=False))}"
    elif isinstance(value, bool):
        yield flag if value else option.secondary_opts[0]
    elif name in CONTENT_FIELDS and "\n" in value:
        yield f"{flag} @new.{'diff' if name == 'diff' else 'md'}"
    elif isinstance(option.type, field_types.NameListType):
        yield f"{flag} {shlex.quote(','.join(value))}"
    elif option.multiple:
        yield from (f"{flag} {shlex.quote(f'{key}={_text(each)}')}" for key, each in value.items())
    else:
        joint = PATH_JOINT if name.endswith("Path") else None
        yield f"{flag} {shlex.quote(_text(value, joint))}"


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
    """`parts` as one command; a line that is full continues on the next."""
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
    """The option of the `field` of an edit: ``--new-title`` for ``newTitle``."""
    return f"--{snake_case(field).replace('_', '-')}"


def option_help(field: str, description: str, fields: Collection[str]) -> str:
    """The help of the option of `field`: its `description` with options in place of `fields`.

    A description of JSON is replaced by one of what is typed.
    """

    def named(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return f"`{option_name(name)}`" if name in fields else match[0]

    text = _TYPED[field] if _JSON.search(description) else description
    return _FIELD.sub(named, text)


# --- Problems of an edit in the words of the command that made it

# Fields of a batch that `mdplan edit` takes as options, in addition to the fields of the operation.
BATCH_FIELDS: Final = ("allowOutlineChange", "allowDuplicateHeadings", "updateReferences")

# What names a section in a batch, and the one option or argument for it in a command.
_SECTION_NAMES: Final = ("heading", "headingPath", "sectionId")
_MOST_MEANT: Final = 3
_MOST_TYPED: Final = 100
_CLAUSE: Final = lazy_pattern(r"(?:; |, or )")

_FIELD_IN_HINT: Final = lazy_pattern(
    r'(?P<tick>`?)(?:"(?P<quoted>[a-zA-Z]\w*)": |(?P<bare>[a-z]\w*): (?=(?:true|false)`))'
)

_INDEX: Final = lazy_pattern(r"\{[^{}]*…[^{}]*\}")
_BRACES: Final = lazy_pattern(r"\{[^{}]*\}")
_PATH: Final = lazy_pattern(r'(heading path )?(\["(?:[^"\\]|\\.)*"(?:, "(?:[^"\\]|\\.)*")*\])')
_CAMEL: Final = lazy_pattern(r"`?\b(?P<name>[a-z]+(?:[A-Z][a-z]*|[A-Z]\w*\d+)+)\b`?(?P<empty> \[\])?")
_CODE: Final = lazy_pattern(r"`(?P<name>[a-z]\w*)(?:\[\d+\])?`")

_FIRST: Final = lazy_pattern(
    r"(?P<name>[a-z]\w*)"
    r"(?=:| (?:is|has|holds|goes|requires|gives|names|starts|refers|does|picks|cannot|excludes)\b)"
)

_SEVERAL: Final = lazy_pattern(r"\b[a-zA-Z]\w*(?:, [a-zA-Z]\w*)* (?:or|and) [a-zA-Z]\w*\b")
_DESCRIBED: Final = lazy_pattern(r"give `(?P<name>\w+)`: ")
_SEND_OPTION: Final = lazy_pattern(r"\bsend (?=`--)")
_SEND_LIST: Final = lazy_pattern(r"\bsend an array(?:: |, such as )")

# Names and numbers, as a key of data files has them.
_KEY: Final = lazy_pattern(r'`(\["[^"\]]*"(?:, (?:"[^"\]]*"|\d+))*, \d+\])`')
_VERB: Final = lazy_pattern(r"\b(?:add|send|use) $")
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandWords:
    """How a command calls what an operation takes.

    `names` has its option or argument for each field that it has one for. `flags` are fields that one value
    of turns into an option. What only `mdplan edit` can say becomes the whole command of that. `section` is
    the section as it was typed.
    """

    options: EditOptions
    names: Mapping[str, str]
    flags: Mapping[str, Callable[[Any], str | None]] = field(default_factory=dict)
    is_edit: bool = False
    section: str | None = None

    @classmethod
    def of_edit(cls, options: EditOptions, section: str | None = None) -> "CommandWords":
        """Those of `mdplan edit`: each field is an option."""
        own = {name: option_name(name) for name in (*options.schemas, *BATCH_FIELDS)}
        target = dict.fromkeys(_SECTION_NAMES, "--section") if options.is_about_sections else {}
        return cls(options=options, names=own | target, is_edit=True, section=section)

    def knows(self, name: str) -> bool:
        """Whether `name` is a field of the operation, or of its batch, with an option."""
        return name in self.options.schemas or name in BATCH_FIELDS

    def given(self, name: str, value: Any) -> str | None:  # noqa: ANN401 (any JSON)
        """The words that give the field `name` a `value` in this command; None where it has none."""
        called = self.names.get(name)
        if called is not None and name in _SECTION_NAMES:
            path = value if isinstance(value, list) else [str(value)]
            words = shlex.quote(PATH_JOINT.join(path))
            return f"{called} {words}" if called.startswith("--") else words
        if self.is_edit:
            return option_words(self.options, name, value)
        return self.flags[name](value) if name in self.flags else None


def in_words(text: str, words: CommandWords, command: Callable[[str, Any], str] | None = None) -> str:
    """`text` of a problem with what a person types in place of the fields and values of a batch.

    `command` gives the whole of a command with a further field, for a field that `words` cannot say.
    """
    described = _DESCRIBED.match(text)
    if described is not None and described["name"] in words.options.schemas:
        name = described["name"]
        return f"give `{words.names.get(name, name)}`: {words.options.help_of(name)}"
    clauses = _clauses(text)
    kept = [clause for clause in clauses if _is_possible(clause[1], words)]
    text = "".join(joint + clause for joint, clause in kept).removeprefix("; ").removeprefix(", or ")
    text = _assignments(text, words, command)
    text = _KEY.sub(lambda match: f"`[{', '.join(map(str, json.loads(match[1])))}]`", text)
    text = _PATH.sub(lambda match: f"'{PATH_JOINT.join(json.loads(match[2]))}'", text)
    text = _SEND_OPTION.sub("add ", _SEND_LIST.sub("write ", text))
    text = _SEVERAL.sub(lambda match: _all_named(match[0], words), text)
    text = _CAMEL.sub(lambda match: _named(match, words), text)
    text = _CODE.sub(lambda match: _named(match, words), text)
    first = _FIRST.match(text)
    return text if first is None else _named(first, words) + text[first.end() :]


def for_command(
    problem: Diagnostic, words: CommandWords, command: Callable[[str, Any], str] | None = None
) -> Diagnostic:
    """`problem` in the `words` of the command that it is of; `command` as in `in_words`."""
    # The steps first: what a tool takes looks like fields of a batch.
    steps = in_words_of(Caller.SHELL, problem.hint)
    message, hint = (in_words(text, words, command) for text in (problem.message, steps))
    if problem.code is Code.AMBIGUOUS_HEADING and problem.candidates:
        hint = f"name one of them: `{_retyped(problem.candidates[0], problem, words)}`"
    elif problem.code is Code.INVALID_REGEX:
        plain = "`--match-type literal`" if words.is_edit else "no `--regex`"
        hint = f"put a backslash before a sign that means itself, as in `\\(`; {plain} finds plain text"
    elif problem.code is Code.SECTION_NOT_FOUND and problem.candidates:
        meant = [_retyped(each, problem, words) for each in problem.candidates[:_MOST_MEANT]]
        hint = f"did you mean {' or '.join(f'`{each}`' for each in meant)}?"
    elif problem.code is Code.MATCH_COUNT_MISMATCH and "differs in case" in hint:
        flag = words.given("caseSensitive", False)  # noqa: FBT003 (the value of a field)
        hint = f"{hint}; `{flag}` matches any case" if flag else hint
    elif problem.code is Code.FILE_NOT_FOUND and problem.file and words.options.may_begin_file:
        joint = " To" if hint.endswith("?") else "; to"
        hint = f"{hint}{joint} create it: `mdplan edit create_file {shlex.quote(problem.file)}`"
    return replace(problem, message=message, hint=hint)


def for_section_option(report: AnyReport, flag: str, section: str) -> AnyReport:
    """Return `report` of a command that only looks, in which `flag` named the `section`, in its words."""
    options = EditOptions("read", {}, frozenset())
    names = dict.fromkeys(_SECTION_NAMES, flag)
    words = CommandWords(options=options, names=names, is_edit=True, section=section)
    return replace(report, diagnostics=tuple(for_command(problem, words) for problem in report.diagnostics))


def _retyped(meant: Candidate, problem: Diagnostic, words: CommandWords) -> str:
    """The command as it was typed with the section that is `meant`; what names that where it is long."""
    paths = [candidate.heading_path for candidate in problem.candidates]
    is_unique = paths.count(meant.heading_path) == 1 and all(
        len(field_types.heading_path(title)) == 1 for title in meant.heading_path
    )
    section = PATH_JOINT.join(meant.heading_path) if is_unique else str(meant.section_id)
    if (words.section is not None and len(problem.candidates) == 1) or problem.code is Code.AMBIGUOUS_HEADING:
        command = retyped(str(words.section), section)
        if command is not None and len(command) <= _MOST_TYPED:
            return command
    called = words.names.get("heading", "")
    return f"{called} {shlex.quote(section)}" if called.startswith("--") else shlex.quote(section)


def _clauses(text: str) -> list[tuple[str, str]]:
    """The parts of `text`, each with the words that join it to the one before."""
    joints = ["", *_CLAUSE.findall(text)]
    return list(zip(joints, _CLAUSE.split(text), strict=True))


def _is_possible(clause: str, words: CommandWords) -> bool:
    """Whether no field that only a batch has is given a value in `clause`."""
    fields = _FIELD_IN_HINT.finditer(_BRACES.sub("", clause))
    names = (field["quoted"] or field["bare"] for field in fields)
    return all(map(words.knows, names))


def _assignments(text: str, words: CommandWords, command: Callable[[str, Any], str] | None) -> str:
    """`text` with options in place of each `"name": value`."""
    parts, at = [], 0
    while assignment := _FIELD_IN_HINT.search(text, at):
        name = assignment["quoted"] or assignment["bare"]
        parts.append(text[at : assignment.start()])
        index = _INDEX.match(text, assignment.end())
        if index is not None:
            said, at = words.names.get(name) or option_name(name), index.end()
        else:
            value, at = _DECODER.raw_decode(text, assignment.end())
            given = words.given(name, value)
            said = given or (command(name, value) if command else option_name(name))
            parts[-1] = parts[-1] if given else _VERB.sub("run ", parts[-1])
        if assignment["tick"] and text.startswith("`", at):
            at += 1
        parts.append(f"`{said}`")
    return "".join([*parts, text[at:]])


def _named(match: re.Match[str], words: CommandWords) -> str:
    name = match["name"]
    called = words.names.get(name)
    if called is None:
        is_field = match.re.pattern != _FIRST.pattern and name in words.options.schemas
        return f"`{option_name(name)}` of `mdplan edit`" if is_field else match[0]
    is_empty = match.re.pattern == _CAMEL.pattern and match["empty"]
    return f"`{called} ''`" if is_empty else f"`{called}`"


def _all_named(text: str, words: CommandWords) -> str:
    """A list of fields with their names in the command; `text` itself where it lists anything else."""
    names = [name for name in re.findall(r"\w+", text) if name not in ("or", "and")]
    if not all(name in words.names for name in names):
        return text
    called = list(dict.fromkeys(f"`{words.names[name]}`" for name in names))
    joint = " and " if " and " in text else " or "
    return joint.join([", ".join(called[:-1]), called[-1]]) if len(called) > 1 else called[0]
