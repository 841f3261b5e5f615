"""Parse, validate and describe manifests: the desired state of files.

Validation is strict, as for batches: unknown fields are refused with the nearest name. Edits stay as written,
since placeholders may be anywhere in them; `EditChecks` checks what does not depend on a file.
"""

import csv
import datetime as dt
import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import PurePosixPath
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from mdplan.bot import expansion
from mdplan.data.content import as_json, load_toml
from mdplan.data.tree import plain_float
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.documents.site_links import SiteLinks
from mdplan.documents.workspace import Workspace
from mdplan.field_names import RepeatedNameError, unique_names
from mdplan.operations import OPERATIONS
from mdplan.operations.base import Drop, Keep, Ordinal, WireModel
from mdplan.plan import MOST_DESCRIPTION, MOST_TITLE, Intent
from mdplan.requests.batch import ReferenceScope, read_batch, value_problem
from mdplan.requests.json_schemas import batch_schema
from mdplan.requests.schemas import Schema, model_schema
from mdplan.requests.spellings import op_of
from mdplan.settings import DEFAULT_SETTINGS
from mdplan.storage.files import FileBytes
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.names import absolute, path_below, relative
from mdplan.storage.root import Root
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.visible import visible
from mdplan.values import Struct, field, replace
from mdplan.words import say


def _as_list(given: object) -> object:
    return (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list) else given


# One text or several; the schema allows both.
Texts = Annotated[tuple[str, ...], BeforeValidator(_as_list, json_schema_input_type=str | list[str])]
Comment = Annotated[Any, Field(default=None, description="For people.")]


class ManifestPart(WireModel):
    """A part of a manifest."""

    model_config = ConfigDict(
        alias_generator=lambda name: to_camel(name.rstrip("_")),
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
    )


class Condition(ManifestPart):
    """Conditions that a file must meet before its edits. Texts may have placeholders."""

    has_section: Texts = Field(
        default=(), description='Heading path of a section that is there: "Install", or ["Guide", "Install"].'
    )
    has_text: Texts = Field(default=(), description="Texts that are all in the file, by the letter.")
    matches: str | None = Field(default=None, description="Regular expression that matches somewhere.")
    has_front_matter: Texts = Field(
        default=(), description="Keys that are all in the front matter; dotted where they lie in maps."
    )
    front_matter: dict[str, Any] | None = Field(
        default=None, description="Values of keys in the front matter: {draft: true}."
    )
    not_: "Condition | None" = Field(default=None, description="A condition that must be false.")
    any_: tuple["Condition", ...] = Field(default=(), description="At least one of these is true.")
    all_: tuple["Condition", ...] = Field(default=(), description="All of these are true.")
    comment: Comment

    @property
    def shown(self) -> str:
        """The condition in one line, as in a manifest."""
        return json.dumps(self.model_dump(by_alias=True, exclude_unset=True), ensure_ascii=False)


class Rule(ManifestPart):
    """Files and their desired state."""

    file: Texts = Field(default=(), description="Paths inside the root; may have placeholders of vars.")
    glob: Texts = Field(
        default=(),
        description='Globs with git\'s rules, such as "docs/**/*.md"; files that git ignores are skipped.',
    )
    exclude: Texts = Field(default=(), description="Globs of files to skip.")
    git_ignored: bool = Field(default=False, strict=True, description="Take files that git ignores as well.")
    changed_since: str | None = Field(
        default=None,
        description="Only files that differ from this commit, branch or tag; may have placeholders of vars.",
    )
    when: Condition | None = Field(default=None, description="Only files for which this is true.")
    encoding: str | None = Field(default=None, description="Encoding, where files are not UTF-8.")
    format: Literal["markdown", "ini", "yaml", "json", "toml", "text"] | None = Field(
        default=None, description="Found when absent."
    )
    edits: Annotated[tuple[dict[str, Any], ...], BeforeValidator(_as_list)] = Field(
        default=(), description="Edits as in a batch, or loops of them."
    )
    links: Literal["fix"] | None = Field(
        default=None, description="fix: repair broken links whose target is known, as `mdplan links --fix`."
    )
    comment: Comment

    @model_validator(mode="after")
    def _check_files(self) -> "Rule":
        if bool(self.file) is bool(self.glob):
            raise ValueError("give either file or glob")
        if not self.edits and self.links is None:
            raise ValueError("give edits, or links: fix")
        return self


_List = Annotated[str, Field(description="Name of a list, as in a placeholder: data.rows.")]
_Entry = Annotated[str, Field(description="What an entry is called inside; `item` when absent.")]


class EditLoop(ManifestPart):
    """Its edits, once for each entry of a list."""

    for_each: _List
    as_: _Entry = expansion.DEFAULT_NAME
    edits: list[Any] = Field(min_length=1)
    comment: Comment


class TextLoop(ManifestPart):
    """A text that is made of one text for each entry of a list, such as rows or items."""

    for_each: _List
    as_: _Entry = expansion.DEFAULT_NAME
    text: Any = Field(description="Text of one entry.")
    between: Any = Field(default="", description="Text between two entries.")
    before: Any = Field(default="", description="Text before the first entry, if there is one.")
    after: Any = Field(default="", description="Text after the last entry, if there is one.")
    comment: Comment


class Manifest(ManifestPart):
    """The desired state of files, which the bot reaches by one plan for all of them."""

    schema_: str | None = Field(default=None, alias="$schema", description="For editors.")
    title: str | None = Field(
        default=None, description="What the change is for, in one line; may have placeholders of vars."
    )
    description: str | None = Field(
        default=None, description="Why, and what to look at; may have placeholders of vars."
    )
    vars: dict[str, Any] = Field(
        default={}, description="Values of {{vars.NAME}}; `--var NAME=VALUE` goes before them."
    )
    data: dict[str, str] = Field(
        default={},
        description="JSON, YAML, TOML, CSV or text files next to the manifest: the values of {{data.NAME}}."
        " FILE#TAG is a part of a source file, FILE#* all of them.",
    )
    pages: dict[str, str] = Field(
        default={},
        description="Paths or globs of pages: the values of {{pages.NAME}}; a glob gives a list. A page has"
        " title, path, folder, name, stem and frontMatter.",
    )
    files: tuple[Rule, ...] = Field(min_length=1, description="Files, and what should be true of them.")
    max_files: Ordinal | None = Field(default=None, description="Most files that may change.")
    sequential: bool = Field(
        default=False, strict=True, description="Each edit sees the result of those before it."
    )
    update_references: ReferenceScope = Field(
        default="none", description="Keep links right: file, in these files; workspace, in all of the root."
    )
    links: SiteLinks | None = Field(
        default=None, description="How links of the site name files; goes before [links] of mdplan.toml."
    )
    keep: Keep = Field(default=(), description="Refuse to lose these from replaced text: links, …; all.")
    drop: Drop = Field(default=(), description="What may be lost in spite of keep: texts, or names of kinds.")
    allow_outline_change: bool = Field(
        default=False, strict=True, description="Accept headings that appear or vanish outside."
    )
    allow_duplicate_headings: bool = Field(
        default=False, strict=True, description="Accept heading paths that repeat more often than before."
    )
    backup: bool = Field(
        default=False, strict=True, description="Keep the old content of each file as NAME.bak."
    )
    comment: Comment

    @property
    def options(self) -> dict[str, Any]:
        """Its options under their batch names."""
        return {
            "sequential": self.sequential,
            "updateReferences": self.update_references,
            "allowOutlineChange": self.allow_outline_change,
            "allowDuplicateHeadings": self.allow_duplicate_headings,
            "backup": self.backup,
            "keep": ",".join(sorted(set(self.keep))),
            "drop": json.dumps(sorted(set(self.drop)), ensure_ascii=False) if self.drop else "",
        }


# --- Parsing and validating a manifest, with all problems by line and column

_HINT: Final = say("see {mdplan schema manifest} for what is allowed")


class LoadedManifest(Struct, kw_only=True):
    """A valid manifest: its `name` in messages, and the `values` that all files share.

    `intent` is its title and description with these values.
    """

    name: str
    manifest: Manifest
    located: expansion.SourceMap
    values: expansion.Values
    intent: Intent

    def uses_anywhere(self, name: str) -> bool:
        """Return True if any rule may use the value `name`."""
        return any(self.uses(rule, name) for rule in self.manifest.files)

    def uses(self, rule: Rule, name: str) -> bool:
        """Return True if `rule`, or a variable filled in per file, may use the value `name`."""
        used = re.compile(rf"(?:\{{\{{[ \t]*|'{expansion.LOOP}': ['\"]){name}\b")
        return any(map(used.search, (str(rule), *expansion.templates_in(self.values.known))))

    def problem(self, misplaced: expansion.ManifestProblem) -> Diagnostic:
        """Return INVALID_ARGUMENT at its position in the manifest."""
        return _placed(self.name, self.located, misplaced)


def read_manifest(name: str, located: expansion.SourceMap) -> Manifest | Problems:
    """Validate the manifest `located`, called `name` in messages. Errors: INVALID_ARGUMENT, UNKNOWN_FIELD."""
    if not isinstance(located.data, dict):
        message, hint = "the manifest is not a map", "write `files:` and below it what should be true of them"
        return (_placed(name, located, expansion.ManifestProblem.of(message, hint)),)
    found = tuple(_placed(name, located, each) for each in _value_problems(Manifest, located.data, ()))
    return found or Manifest.model_validate(located.data)


def _value_problems(
    model: type[ManifestPart], data: Mapping[str, Any], path: expansion.Path
) -> Iterator[expansion.ManifestProblem]:
    """Yield what is wrong with `data`, at `path` of a manifest, as a `model`."""
    try:
        model.model_validate(data)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        # Do not report that a list is empty because its entries were refused.
        inside = {each["loc"][:length] for each in errors for length in range(len(each["loc"]))}
        what = "the manifest " if model is Manifest else "the loop "
        for each in errors:
            if each["type"] != "too_short" or each["loc"] not in inside:
                problem = value_problem(each, model, "", _HINT)
                problem = replace(problem, message=problem.message.replace("`` ", what))
                yield expansion.ManifestProblem(problem, (*path, *each["loc"]))


def checked(
    name: str, manifest: Manifest, located: expansion.SourceMap, values: expansion.Values
) -> LoadedManifest | Problems:
    """Return `manifest` with its `values`, or problems with its edits, conditions and placeholders."""
    problems = [_placed(name, located, found) for found in _all_checks(manifest, located, EditChecks(values))]
    if problems:
        return tuple(problems)
    try:
        intent = _intent(manifest, values)
    except expansion.ManifestProblem as misplaced:
        return (_placed(name, located, misplaced),)
    return LoadedManifest(name=name, manifest=manifest, located=located, values=values, intent=intent)


def _intent(manifest: Manifest, values: expansion.Values) -> Intent:
    texts: dict[str, str] = {}
    for name in ("title", "description"):
        with expansion.placed((name,)):
            texts[name] = expansion.filled_text(getattr(manifest, name) or "", values)
    intent = Intent.of(**texts)
    for name, most in (("title", MOST_TITLE), ("description", MOST_DESCRIPTION)):
        if len(getattr(intent, name)) > most:
            message = f"it has more than {most:,} characters"
            raise expansion.ManifestProblem.of(message, "say it shorter", (name,))
    return intent


class EditChecks(Struct):
    """Checks of texts with `values`, without files.

    Names starting with any of `of_files` are unknown until then.
    """

    values: expansion.Values
    of_files: frozenset[str] = expansion.OF_FILES

    def edits(
        self, edits: Sequence[Any], path: expansion.Path, inside: frozenset[str]
    ) -> Iterator[expansion.ManifestProblem]:
        """Yield problems with `edits` at `path`; `inside` are the names of enclosing loops."""
        for index, edit in enumerate(edits):
            here = (*path, index)
            if not isinstance(edit, Mapping):
                yield expansion.ManifestProblem.of("the edit is not a map", 'write {"op": …}', here)
            elif expansion.is_edit_loop(edit):
                yield from self._loop(edit, EditLoop, here, inside)
                inner = inside | {str(edit.get("as", expansion.DEFAULT_NAME))}
                yield from self.edits(_list(edit["edits"]), (*here, "edits"), inner)
            else:
                yield from self._edit(edit, here, inside)

    def texts(
        self,
        value: Any,  # noqa: ANN401 (decoded JSON)
        path: expansion.Path,
        inside: frozenset[str],
    ) -> Iterator[expansion.ManifestProblem]:
        """Yield problems with placeholders in `value`, decoded JSON."""
        match value:
            case str():
                yield from self._placeholders(value, path, inside)
            case Mapping():
                if expansion.is_text_loop(value):
                    yield from self._loop(value, TextLoop, path, inside)
                    inside = inside | {str(value.get("as", expansion.DEFAULT_NAME))}
                for name, part in value.items():
                    if name != expansion.LOOP:
                        yield from self.texts(part, (*path, name), inside)
            case list() | tuple():
                for index, item in enumerate(value):
                    yield from self.texts(item, (*path, index), inside)
            case _:
                pass

    def _edit(
        self, edit: Mapping[str, Any], path: expansion.Path, inside: frozenset[str]
    ) -> Iterator[expansion.ManifestProblem]:
        if not isinstance(edit.get(expansion.ONLY_IF_CHANGED, False), bool):
            yield expansion.ManifestProblem.of(
                "onlyIfChanged is not true or false", "write `onlyIfChanged: true`", path
            )
        if expansion.AT in edit and edit[expansion.AT] not in set(expansion.PagePlace):
            yield expansion.ManifestProblem.of(
                f"`at` is not one of: {', '.join(expansion.PagePlace)}", "write `at: first H1`", path
            )
        given = {name: value for name, value in edit.items() if name not in expansion.ABOUT_EDITS}
        if expansion.AT in edit:
            # Use any address: each file determines its own.
            given = {**given, "headingPath": []}
        misplaced = list(self.texts(given, path, inside))
        yield from misplaced
        # Errors about unfilled values are meaningless; those about field names and other values are right.
        checked = given if not expansion.is_to_fill(given) else _plain_fields(given)
        batch = read_batch({"file": _ANY_FILE, "edits": [checked]})
        for problem in batch if isinstance(batch, tuple) else ():
            field = _FIELD.match(problem.message)
            is_written = field is not None and not expansion.is_to_fill(given.get(field[1], _TO_FILL))
            if checked is given or problem.code is Code.UNKNOWN_FIELD or op_of(edit) is None or is_written:
                yield expansion.ManifestProblem(replace(problem, edit_index=None), path)

    def _loop(
        self, loop: Mapping[str, Any], model: type[ManifestPart], path: expansion.Path, inside: frozenset[str]
    ) -> Iterator[expansion.ManifestProblem]:
        yield from _value_problems(model, loop, path)
        name = loop[expansion.LOOP]
        if isinstance(name, str) and (problem := self._misuse(name, inside)):
            yield expansion.ManifestProblem(problem, (*path, expansion.LOOP))

    def _placeholders(
        self, text: str, path: expansion.Path, inside: frozenset[str]
    ) -> Iterator[expansion.ManifestProblem]:
        try:
            placeholders = expansion.placeholders_in(text)
        except expansion.ManifestProblem as half:
            yield expansion.ManifestProblem(half.problem, path)
            return
        for placeholder in placeholders:
            if not placeholder.has_default and (problem := self._misuse(placeholder.name, inside)):
                yield expansion.ManifestProblem(problem, path)

    def _misuse(self, name: str, inside: frozenset[str]) -> Diagnostic | None:
        """Return why `name` has no value; loops and files are not known yet."""
        if name.partition(".")[0] in inside | self.of_files:
            return None
        try:
            value = self.values.having(**dict.fromkeys(inside | self.of_files)).written(name)
            return self._misuse_in(value) if isinstance(value, expansion.Template) else None
        except expansion.ManifestProblem as problem:
            return problem.problem

    def _misuse_in(self, template: expansion.Template) -> Diagnostic | None:
        """Return what is wrong with the placeholders of a variable, which cannot use other variables."""
        for placeholder in expansion.placeholders_in(template):
            if placeholder.name.partition(".")[0] == "vars":
                reason = f"a variable uses `{placeholder.name}`, and variables cannot use each other"
                return Diagnostic.invalid(
                    reason, "write both where they are used, or the text of one into the other"
                )
            if not placeholder.has_default and (problem := self._misuse(placeholder.name, frozenset())):
                return problem
        return None


def _all_checks(
    manifest: Manifest, located: expansion.SourceMap, checks: EditChecks
) -> Iterator[expansion.ManifestProblem]:
    before = replace(checks, of_files=frozenset())
    for text_field in ("title", "description"):
        yield from before.texts(getattr(manifest, text_field), (text_field,), frozenset())
    for number, rule in enumerate(manifest.files):
        path: expansion.Path = ("files", number)
        for name in ("file", "glob", "exclude", "changed_since"):
            # Files are selected before anything is known about them.
            yield from before.texts(getattr(rule, name), (*path, to_camel(name)), frozenset())
        if rule.when is None:
            yield from repeating_edits(rule.edits, (*path, "edits"))
        else:
            yield from _condition_checks(
                located.data["files"][number]["when"], rule.when, (*path, "when"), checks
            )
        yield from checks.edits(rule.edits, (*path, "edits"), frozenset())
    if not any(rule.links or has_unconditional(rule.edits) for rule in manifest.files):
        reason = "every edit has `onlyIfChanged`, so that none can be the first to change a file"
        hint = "leave it off the edit that the others follow"
        yield expansion.ManifestProblem.of(reason, hint, ("files",))


def _condition_checks(
    data: Mapping[str, Any], condition: Condition, path: expansion.Path, checks: EditChecks
) -> Iterator[expansion.ManifestProblem]:
    yield from checks.texts(
        {name: value for name, value in data.items() if name != "comment"}, path, frozenset()
    )
    if not condition.model_fields_set - {"comment"}:
        hint = "name what must be true, or remove `when`"
        yield expansion.ManifestProblem.of("the condition is empty", hint, path)


def _placed(name: str, located: expansion.SourceMap, misplaced: expansion.ManifestProblem) -> Diagnostic:
    return replace(misplaced.problem, file=name, place=located.place(misplaced.path))


# --- Checks of edits that need no file

_ANY_FILE: Final = "a.md"
# The field at the beginning of a message, and a value that is to be filled in.
_FIELD: Final = lazy_pattern(r"`?(\w+)(?:\[\d+\])?`? is ")
_TO_FILL: Final = "{{}}"


def repeating_edits(edits: Sequence[Any], path: expansion.Path) -> Iterator[expansion.ManifestProblem]:
    """Yield unconditional edits that would change their files in every run."""
    for index, edit in enumerate(edits):
        if expansion.is_edit_loop(edit):
            yield from repeating_edits(_list(edit["edits"]), (*path, index, "edits"))
            continue
        op = op_of(edit) if isinstance(edit, Mapping) else None
        condition = OPERATIONS[op].once_condition if isinstance(op, str) and op in OPERATIONS else ""
        hint = f"add a condition to the rule: `when: {{not: {{{condition}}}}}`" if condition else ""
        if op == "add_list_item" and edit.get("unique") is not True:
            hint = "add `unique: true`"
        elif op == "replace_match" and _grows(edit):
            hint = "the replacement contains what the pattern matches: make the pattern narrower"
        if hint and not _is_conditional(edit):
            message = f"`{op}` would change the file again in every run"
            yield expansion.ManifestProblem.of(message, hint, (*path, index))


def _grows(edit: Mapping[str, Any]) -> bool:
    """Return True if a `replace_match` without placeholders changes its own replacement."""
    pattern, replacement = edit.get("pattern"), edit.get("replacement")
    if not isinstance(pattern, str) or not isinstance(replacement, str) or expansion.is_to_fill(edit):
        return False
    if edit.get("matchType") == "regex":
        # A group may have any text, and what is no pattern is refused elsewhere.
        return False
    return bool(pattern) and replacement.replace(pattern, replacement) != replacement


def has_unconditional(edits: Sequence[Any]) -> bool:
    """Return True if any of `edits` applies regardless of others."""
    return any(
        has_unconditional(_list(edit["edits"])) if expansion.is_edit_loop(edit) else not _is_conditional(edit)
        for edit in edits
    )


def _is_conditional(edit: object) -> bool:
    return isinstance(edit, Mapping) and edit.get(expansion.ONLY_IF_CHANGED) is True


def _plain_fields(edit: Mapping[str, Any]) -> dict[str, Any]:
    """Return `edit` with unchecked values replaced by an empty text."""
    return {name: "" if expansion.is_to_fill(value) else value for name, value in edit.items()}


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


# --- JSON Schema of a manifest, for editors

_PLACEHOLDER: Final[Schema] = {
    "description": "A value that is filled in: {{vars.version}}, {{path}}, {{frontMatter.title}}, ….",
    "type": "string",
    "pattern": r"\{\{",
}

_EDIT: Final[Schema] = {"$ref": "#/$defs/Edit"}


def manifest_schema() -> Schema:
    """Return the schema of a manifest: its fields, and batch edits with placeholders and loops."""
    schema = model_schema(Manifest)
    batch = batch_schema()["$defs"]
    edits = batch.pop("FileEdits")["properties"]["edits"]["items"]
    definitions = {name: _open(definition) for name, definition in batch.items()}
    definitions |= schema["$defs"]
    definitions["Rule"]["properties"]["edits"]["items"] = _EDIT
    definitions["Rule"]["oneOf"] = [{"required": ["file"]}, {"required": ["glob"]}]
    definitions["Edit"] = {"anyOf": [*edits["oneOf"], {"$ref": "#/$defs/EditLoop"}]}
    definitions["EditLoop"] = model_schema(EditLoop)
    definitions["EditLoop"]["properties"]["edits"]["items"] = _EDIT
    definitions["TextLoop"] = model_schema(TextLoop)
    definitions["Placeholder"] = _PLACEHOLDER
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Manifest",
        **{name: value for name, value in schema.items() if name != "$defs"},
        "$defs": dict(sorted(definitions.items())),
    }


def _open(definition: Schema) -> Schema:
    """Return a definition in which anything except `op` may be filled in."""
    properties = definition.get("properties")
    if properties is None:
        return definition
    opened: dict[str, Any] = {
        name: value if name == "op" else _fillable(value) for name, value in properties.items()
    }
    if "op" in properties:
        opened["comment"] = {"description": "For people."}
        if "headingPath" in properties:
            opened[expansion.AT] = {
                "type": "string",
                "enum": list(expansion.PagePlace),
                "description": "The section, by what it is on each page: below title is the first H1, or"
                " the top of the body of a page without one; last section is the last one below the title.",
            }
        opened[expansion.ONLY_IF_CHANGED] = {
            "type": "boolean",
            "description": "Apply this edit only where another edit of the manifest changes the file.",
        }
    return {**definition, "properties": opened}


def _fillable(value: Schema) -> Schema:
    choices = [{"$ref": "#/$defs/TextLoop"}]
    if value.get("type") != "string" or "pattern" in value or "enum" in value or "const" in value:
        choices.append({"$ref": "#/$defs/Placeholder"})
    about: Schema = {name: value[name] for name in ("description", "default") if name in value}
    kept: Schema = {name: each for name, each in value.items() if name not in about}
    return {**about, "anyOf": [kept, *choices]}


# --- Inputs of a manifest: its file, data files, options, and environment variables


class ManifestInputs(Struct, kw_only=True):
    """Options and data that a caller passes with a manifest.

    `variables` take precedence over the manifest's; `environment` lists the usable environment
    variables; `data` maps value names to data files; `today` is the value of that name.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    environment: tuple[str, ...] = ()
    data: Mapping[str, str] = field(default_factory=dict)
    today: str = field(default_factory=lambda: dt.datetime.now().astimezone().date().isoformat())


class InputFiles(Struct):
    """Read input files of the bot, up to `max_bytes` each, under the rules for documents.

    A pull request can contain manifests and data, so neither may lead to other files of the machine. A file
    inside a root of `workspace` must be allowed there. Any other must be in the current folder or, if it is
    elsewhere, in its own.
    """

    workspace: Workspace | None = None
    max_bytes: int = DEFAULT_SETTINGS.max_file_bytes

    def read(self, path: str) -> str:
        """Return the text of the user's file `path`. Raise `ManifestProblem`."""
        try:
            read = self._bytes(absolute(path))
        except StorageRefused as refused:
            read = refused.problems[0]
        if isinstance(read, Diagnostic):
            is_missing = read.code is Code.FILE_NOT_FOUND
            message = read.message if is_missing else f"`{visible(path)}` cannot be read: {read.message}"
            raise expansion.ManifestProblem.of(message, read.hint)
        try:
            return read.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            message = f"`{visible(path)}` is not UTF-8"
            raise expansion.ManifestProblem.of(message, "write it in UTF-8") from None

    def read_relative(self, manifest: str, file: str) -> str:
        """Return the text of `file`, a path in `manifest`, relative to its folder.

        Raise `ManifestProblem`, also for a path out of the root of `manifest`.
        """
        manifest = absolute(manifest)
        path = absolute(os.path.join(os.path.dirname(manifest), file))
        if os.path.isabs(file) or not path_below(path, self._base(manifest)):
            raise expansion.ManifestProblem.of(
                f"`{visible(file)}` is not below the root of the manifest",
                say("name a file below that root, relative to the manifest; {--data} reads any file"),
            )
        return self.read(path)

    def _bytes(self, path: str) -> FileBytes | Diagnostic:
        if self.workspace is not None and self.workspace.contains(path):
            name = self.workspace.locate(path)
            return name if isinstance(name, Diagnostic) else self.workspace.read(name, self.max_bytes)
        base = self._base(path)
        with closing(Root.open(base)) as root:
            name = root.locate(relative(path, base))
            return name if isinstance(name, Diagnostic) else root.read(name, self.max_bytes)

    def _base(self, path: str) -> str:
        """Return the folder in which the file with the absolute `path` may be read."""
        roots = () if self.workspace is None else self.workspace.roots
        folders = [folder for root in roots for folder in (root.path, root.given)]
        fitting = [folder for folder in folders if path_below(path, folder)]
        if fitting:
            return max(fitting, key=len)
        here = absolute()
        return here if path_below(path, here) else os.path.dirname(path)


def load_manifest(
    path: str, given: ManifestInputs, files: InputFiles | None = None
) -> LoadedManifest | Problems:
    """Load the manifest `path` with its values; return all problems by line and column.

    `files` reads it and its data, by default in the folder of the manifest. Errors: INVALID_ARGUMENT,
    UNKNOWN_FIELD, and as `read_batch` for edits without placeholders.
    """
    files = files or InputFiles()
    try:
        located = expansion.read_source_map(files.read(path), path)
    except expansion.ManifestProblem as unread:
        return (unread.problem,)
    if isinstance(located, Diagnostic):
        return (located,)
    manifest = read_manifest(path, located)
    if not isinstance(manifest, Manifest):
        return manifest
    values = _values(path, manifest, located, given, files)
    return checked(path, manifest, located, values) if isinstance(values, expansion.Values) else values


def _values(
    path: str, manifest: Manifest, located: expansion.SourceMap, given: ManifestInputs, files: InputFiles
) -> expansion.Values | Problems:
    problems: list[Diagnostic] = []
    environment: dict[str, str] = {}
    for name in given.environment:
        if name in os.environ:
            environment[name] = os.environ[name]
        else:
            problems.append(
                Diagnostic.invalid(f"the environment has no variable `{name}`", "set it, or leave --env out")
            )
    data: dict[str, Any] = {}
    for name, file in {**manifest.data, **given.data}.items():
        is_given = name in given.data
        source, snippet = expansion.split_name(file)
        try:
            text = files.read(source) if is_given else files.read_relative(path, source)
            data[name] = read_data(text, source, snippet)
        except expansion.ManifestProblem as unread:
            placed = _placed(path, located, expansion.ManifestProblem(unread.problem, ("data", name)))
            problems.append(unread.problem if is_given else placed)
    variables = {**expansion.with_templates(manifest.vars), **given.variables}
    known = {"vars": variables, "env": environment, "data": data, "today": given.today}
    return tuple(problems) or expansion.Values(known)


# --- Data files: JSON, YAML, TOML, CSV and text, as decoded JSON

_SEPARATORS: Final = {".csv": ",", ".tsv": "\t"}
_YAML: Final = frozenset({".yaml", ".yml"})
_JSON: Final = frozenset({".json", ""})


def read_data(text: str, file: str, snippet: str | None = None) -> Any:  # noqa: ANN401 (any JSON)
    """Parse `text` of `file` by its suffix; with `snippet`, return only that part, as text.

    Rows of `.csv` and `.tsv` are maps from the names in the first row to texts. A file with an unknown suffix
    is text, one without a suffix JSON. Raise `ManifestProblem`.
    """
    if snippet is not None:
        return expansion.read_snippet(text, snippet, file)
    suffix = PurePosixPath(file).suffix.lower()
    if suffix in _JSON:
        return _json(text, file)
    if suffix in _YAML:
        located = expansion.read_source_map(
            text, file, f"`{visible(file)}`", "data files have no aliases and tags"
        )
        if isinstance(located, Diagnostic):
            raise expansion.ManifestProblem(located)
        return located.data
    if suffix == ".toml":
        return _toml(text, file)
    return _rows(text, file, _SEPARATORS[suffix]) if suffix in _SEPARATORS else text


def _json(text: str, file: str) -> Any:  # noqa: ANN401 (any JSON)
    try:
        return json.loads(text, parse_float=plain_float, object_pairs_hook=unique_names)
    except json.JSONDecodeError as error:
        reason = f"{error.msg} at line {error.lineno}, column {error.colno}"
    except RepeatedNameError as error:
        reason = str(error)
    except (RecursionError, ValueError):
        reason = "it is nested too deeply, or contains a number that is too long"
    raise expansion.ManifestProblem.of(
        f"`{visible(file)}` is not JSON: {reason}",
        "correct it, or use a suffix that fits: .json, .yaml, .toml, .csv, .tsv, .txt",
    )


def _toml(text: str, file: str) -> Any:  # noqa: ANN401 (any JSON)
    try:
        return as_json(load_toml(text, plain_float))
    except (RecursionError, ValueError) as error:
        raise expansion.ManifestProblem.of(f"`{visible(file)}` is not TOML: {error}", "correct it") from None


def _rows(text: str, file: str, separator: str) -> list[dict[str, str]]:
    """Return the rows of `text`, each with as many values as the first."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        names = next(reader, [])
        rows: list[dict[str, str]] = []
        for values in reader:
            if values and len(values) != len(names):
                raise expansion.ManifestProblem.of(
                    f"`{visible(file)}` has {len(values)} values in line {reader.line_num}, "
                    f"and {len(names)} names in its first row",
                    "give each row as many values as the first; quote a value that contains the separator",
                )
            if values:
                rows.append(dict(zip(names, values, strict=True)))
    except csv.Error as error:
        raise expansion.ManifestProblem.of(
            f"`{visible(file)}` is not CSV: {error} in line {reader.line_num}", "correct it"
        ) from None
    return rows
