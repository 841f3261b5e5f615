"""Batches, which are edits of one or many files: their models, and how decoded JSON is read into them."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import islice
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    TypeAlias,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import BeforeValidator, Field, InstanceOf, TypeAdapter, ValidationError, model_validator

from mdplan import field_names
from mdplan.diagnostics import (
    AND_MORE,
    MOST_PROBLEMS,
    Code,
    Diagnostic,
    Problems,
    Refused,
    or_problems,
    refuse_if,
)
from mdplan.limits import DEFAULT_LIMITS, Limits
from mdplan.operations import IMPLIED, OPERATIONS
from mdplan.operations.base import (
    Codes,
    Drop,
    FileEffect,
    Keep,
    Operation,
    WireModel,
    also_kept,
    fold_match_options,
)
from mdplan.plan import MOST_DESCRIPTION, MOST_TITLE, Intent, one_line, plain_text
from mdplan.requests.spellings import SPELLINGS, meant_operations, op_of, operation_named
from mdplan.requests.verbs import OnStale
from mdplan.values import Struct, replace
from mdplan.words import Argument, Meaning, Option, Text, either, say

# Few batches contain a diff.
if TYPE_CHECKING:
    from mdplan.text.unified_diff import FileDiff

ReferenceScope = Literal["none", "file", "workspace"]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-fA-F]{16,64}$")]


def _one_line(given: object) -> object:
    return one_line(given) if isinstance(given, str) else given or ""


def _plain(given: object) -> object:
    return plain_text(given) if isinstance(given, str) else given or ""


class FileEdits(WireModel):
    """Edits of one file."""

    file: str = Field(description="Path inside the root.")
    base_sha256: Sha256 | None = Field(
        default=None, description="SHA-256 of the file as you saw it; at least 16 hex digits."
    )
    encoding: str | None = Field(
        default=None, description="Encoding, where the file is not UTF-8 and has no BOM."
    )
    format: str | None = Field(
        default=None,
        pattern="^(markdown|ini|yaml|json|toml|text)$",
        description="markdown, ini, yaml, json, toml or text; found when absent.",
    )
    # The model named by `op` has validated each edit, so models of other operations stay unloaded.
    edits: tuple[InstanceOf[Operation], ...] = Field(
        min_length=1, description="Edits, all against the file as it is."
    )

    @classmethod
    def none_of(cls, file: str) -> "FileEdits":
        """Return a file without edits: the engine changes it as a consequence of the batch."""
        return cls.model_construct(file=file, base_sha256=None, encoding=None, format=None, edits=())

    @property
    def file_effect(self) -> FileEffect:
        """The effect of the edits on the whole file."""
        # A thousand edits usually have only a few types.
        effects = {kind.file_effect for kind in {type(edit) for edit in self.edits}} - {"edit"}
        return next(iter(effects), "edit")

    @property
    def new_file(self) -> str | None:
        """The path that the edits give the file."""
        return next((edit.new_path for edit in self.edits if edit.new_path is not None), None)

    @model_validator(mode="after")
    def _check_file_operations(self) -> "FileEdits":
        whole = [edit.op for edit in self.edits if edit.file_effect != "edit"]
        if len(whole) > 1:
            raise ValueError(f"one operation on the file as a whole is possible, not {' and '.join(whole)}")
        if self.file_effect in {"create", "delete"} and len(self.edits) > 1:
            raise ValueError(f"{whole[0]} must be alone: no other edit of the file goes with it")
        if self.file_effect == "create" and self.base_sha256 is not None:
            raise ValueError(
                say("{baseSha256} is of a file that exists, and {create_file} makes one that does not")
            )
        return self


class GlobEdits(FileEdits):
    """Edits for each file that the glob `file` matches."""

    def of_file(self, file: str) -> FileEdits:
        """Return these edits for one matching file."""
        return FileEdits.model_construct(
            file=file, base_sha256=None, encoding=self.encoding, format=self.format, edits=self.edits
        )


class MatchingEdits(GlobEdits):
    """Edits for each file that the glob `file` matches and that contains the text that the edits look for."""


class Batch(WireModel):
    """Edits of one or many files of one root, applied whole or not at all."""

    files: tuple[FileEdits, ...] = Field(min_length=1, description="Each file once.")
    expected_files: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        default=None,
        description="How many files the batch is for, where a glob names them; else it is refused.",
    )
    title: Annotated[str, Field(max_length=MOST_TITLE), BeforeValidator(_one_line)] = Field(
        default="", description="What the change is for, in one line, for who reviews it."
    )
    description: Annotated[str, Field(max_length=MOST_DESCRIPTION), BeforeValidator(_plain)] = Field(
        default="", description="Why, and what to look at."
    )
    revises: str | None = Field(
        default=None,
        min_length=1,
        description="Plan in whose place this one is made; reviewers see what differs.",
    )
    where: dict[str, Any] = Field(
        default={}, description="Of a glob: only files whose front matter, or keys, say so; as in md_search."
    )
    dry_run: bool = Field(default=False, description="Plan only.")
    sequential: bool = Field(
        default=False,
        description="Each edit sees the result of those before it, so that one can build on another.",
    )
    accept: tuple[Annotated[int, Field(strict=True, ge=0)], ...] | None = Field(
        default=None, description="Make the plan of these edits only (0-based, through the whole batch)."
    )
    on_stale: OnStale = Field(
        default="refuse",
        description="Where baseSha256 differs. rebase: go on if the edits' own evidence fits; merge: "
        "merge the change into the file as it is now, as a new plan.",
    )
    backup: bool = Field(default=False, description="Keep the old content of every changed file as NAME.bak.")
    update_references: ReferenceScope = Field(
        default="none",
        description="Keep links to what this batch renames, moves or deletes right: file, in its own files; "
        "workspace, in all.",
    )
    json_schema: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="JSON Schema file that no file of the batch may newly violate."
    )
    keep: Keep = Field(
        default=(),
        description="Refuse to lose any of these from replaced text: headings, sentences, items, rows, code, "
        "lines, links, images, footnotes, numbers; or all.",
    )
    drop: Drop = Field(
        default=(), description="What may be lost in spite of keep: texts, or names such as links."
    )
    refuse_on: Codes = Field(
        default=(), description="Refuse the batch where it warns of one of these codes, as BROKEN_LINK."
    )
    allow_outline_change: bool = Field(
        default=False, description="Allow edits that add or remove headings outside the written text."
    )
    allow_duplicate_headings: bool = Field(
        default=False, description="Accept heading paths that repeat more often than before."
    )

    @property
    def intent(self) -> Intent:
        """The purpose of the plan."""
        return Intent(self.title, self.description)

    @property
    def options(self) -> dict[str, bool | str]:
        """The options that affect the plan, by wire name; omits defaults."""
        given = {
            "sequential": self.sequential,
            "backup": self.backup,
            "allowOutlineChange": self.allow_outline_change,
            "allowDuplicateHeadings": self.allow_duplicate_headings,
        }
        options: dict[str, bool | str] = {name: value for name, value in given.items() if value}
        if self.update_references != "none":
            options["updateReferences"] = self.update_references
        if self.json_schema is not None:
            options["jsonSchema"] = self.json_schema
        if self.refuse_on:
            options["refuseOn"] = ",".join(sorted(set(self.refuse_on)))
        if self.keep:
            options["keep"] = ",".join(sorted(set(self.keep)))
        if self.drop:
            options["drop"] = json.dumps(sorted(set(self.drop)), ensure_ascii=False)
        return options

    def without_bases(self) -> "Batch":
        """Return the same batch without base hashes."""
        files = tuple(file.model_copy(update={"base_sha256": None}) for file in self.files)
        return self.model_copy(update={"files": files})

    @property
    def edit_count(self) -> int:
        """Number of edits in all files."""
        return sum(len(file.edits) for file in self.files)


def normalized_edits(file: FileEdits) -> tuple[dict[str, Any], ...]:
    """Return the edits of `file` with wire names and without defaults; equal requests compare equal."""
    return tuple(edit.wire_form for edit in file.edits)


# --- From decoded JSON to a `Batch`, or to everything that is wrong with it.
#
# Accepted spellings are folded here and nowhere else: snake_case, a few synonyms, the richer forms of match
# options, and arrays or objects that came as JSON text. Unknown fields are refused with the nearest name.

_REFERENCES: Final = "updateReferences"
_SCOPES: Final[Mapping[str | bool, ReferenceScope]] = {
    "none": "none",
    "file": "file",
    "workspace": "workspace",
    False: "none",
    True: "file",
}


def read_batch(data: object, limits: Limits = DEFAULT_LIMITS) -> Batch | Problems:
    """Batch of `data`, which is decoded JSON: ``{file, edits}`` or ``{files: [{file, edits}]}``.

    A single edit may replace the list, or ``edits`` itself: ``{file, op, …}``, and `op` is implied as `op_of`
    says. An entry with ``glob`` in place of ``file`` becomes `GlobEdits`. A ``diff`` next to them, or in
    place of ``files``, becomes edits of the files that it names; next to ``file`` it is one more edit.
    Errors: INVALID_ARGUMENT, UNKNOWN_FIELD, EMPTY_CONTENT, BATCH_TOO_LARGE; all of them, each tied to its
    edit by an index through the whole batch.
    """
    return or_problems(_read_batch, decoded_json(data), limits)


def _read_batch(decoded: Any, limits: Limits) -> Batch:  # noqa: ANN401 (any JSON)
    """Return the batch of `decoded` JSON. Raises `Refused`: as `read_batch`."""
    refuse_if(_obstacles(decoded, limits))
    fields = _with_edits(field_names.fold_names(decoded, field_names.BATCH_SYNONYMS))
    of_file = {*wire_names(FileEdits), _GLOB}
    if _GLOB in fields and "files" not in fields:
        fields["files"] = [{name: fields.pop(name) for name in list(fields) if name in of_file}]
    fields, files = _fold_diff(*_with_shared_edits(fields, decoded_json(fields.pop("files", None))))
    known = wire_names(Batch)
    is_one_file = files is None
    if is_one_file:
        known = (*wire_names(FileEdits), *known)
        files = [{name: fields.pop(name) for name in list(fields) if name in of_file}]
    elif "edits" in fields or "file" in fields:
        hint = "send one file, or a list of files"
        raise Refused(Diagnostic.invalid(say("{files} is given together with {file or edits}"), hint))
    scopes: _Scopes = {}
    problems = [*_take_scope(fields, scopes), *field_names.unknown_fields(fields, known, "the batch")]
    if not isinstance(files, list):
        raise Refused(*problems, _NO_LIST)
    entries = list(map(_decoded_entry, files))
    edit_lists = (entry.get("edits") if isinstance(entry, dict) else None for entry in entries)
    counts = [len(edits) if isinstance(edits, list) else 0 for edits in edit_lists]
    if (large := too_large(len(entries), sum(counts), limits)) is not None:
        raise Refused(*problems, large)
    read: list[FileEdits] = []
    first_index = 0
    for number, entry in enumerate(entries):
        file = _read_file(entry, "" if is_one_file else f"files[{number}]", first_index, scopes)
        if isinstance(file, FileEdits):
            read.append(file)
            found = (
                (index, edit.problem_with_path(file.file))
                for index, edit in enumerate(file.edits, first_index)
            )
            problems += (
                each.at(file=file.file, edit_index=index) for index, each in found if each is not None
            )
        else:
            problems += file
        first_index += counts[number]
    if len(scopes) > 1:
        # Links are updated once for the whole batch.
        said = " and ".join(f"`{scope}`" for scope in sorted(scopes))
        message = f"{_REFERENCES} is {said} in one batch, and all links are updated at once"
        index = list(scopes.values())[-1]
        problems.append(Diagnostic.invalid(message, "say it once, next to the edits", edit_index=index))
    refuse_if(problems)
    fields = {**with_decoded_fields(Batch, fields), _REFERENCES: next(iter(scopes), "none")}
    fields = fields if not limits.keep else {**fields, "keep": also_kept(fields.get("keep"), limits.keep)}
    batch: Batch | Problems = validated(Batch, {**fields, "files": tuple(read)}, "")
    if isinstance(batch, tuple):
        raise Refused(*batch)
    return batch


def _with_edits(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the `fields` of a batch with the list `edits` made from a single edit or its fields."""
    if "edits" in fields:
        edits = decoded_json(fields["edits"])
        return {**fields, "edits": [edits] if isinstance(edits, dict) else edits}
    is_diff = "op" not in fields and "diff" in fields
    op = op_of(fields)
    if op is None or is_diff or "files" in fields:
        return fields
    of_batch = {*wire_names(FileEdits), *wire_names(Batch), _GLOB} - {"files"}
    model = operation_named(op)
    of_edit = () if model is None else wire_names(model)
    edit = {name: value for name, value in fields.items() if name in of_edit or name not in of_batch}
    return {**{name: value for name, value in fields.items() if name not in edit}, "edits": [edit]}


def _obstacles(data: object, limits: Limits) -> Iterator[Diagnostic]:
    """Yield why a batch cannot be read: wrong type, invalid text or number, or too large."""
    if not isinstance(data, dict):
        yield _no_object(data)
        return
    items = items_of(data)
    texts = [item for item in items if isinstance(item, str)]
    if any(isinstance(item, bytes | bytearray) for item in items):
        yield _BYTES
    elif not all(map(str.isascii, texts)) and any(map(field_names.has_surrogate, texts)):
        yield Diagnostic.invalid(
            "the batch contains a lone surrogate, which is not Unicode text", "send valid Unicode"
        )
    elif any(map(is_huge, items)):
        yield Diagnostic.invalid(
            f"the batch contains a number of more than {MOST_BITS} bits", "send it as a string"
        )
    else:
        diffs = [
            item["diff"] for item in items if isinstance(item, dict) and isinstance(item.get("diff"), str)
        ]
        large = _over(
            ("characters of payload", sum(map(len, texts)), limits.payload_characters, "--max-payload"),
            ("hunks", sum(diff.count("\n@@") for diff in diffs), limits.edits, "--max-edits"),
        )
        yield from () if large is None else (large,)


def _decoded_entry(entry: object) -> object:
    """Return the `entry` of a file with folded names and decoded edits, including its diff."""
    decoded = decoded_json(entry)
    if not isinstance(decoded, dict):
        return decoded
    return with_diff_as_edit(_with_edits(field_names.fold_names(decoded, field_names.FILE_SYNONYMS)))


def _no_object(data: object) -> Diagnostic:
    """Return the problem of a batch that is not an object, such as a list of edits or files."""
    if not isinstance(data, list):
        return Diagnostic.invalid("the batch is not a JSON object", 'send {"file": …, "edits": […]}')
    has_files = bool(data) and all(isinstance(each, dict) and "file" in each for each in data)
    whole = '{"files": […]}' if has_files else '{"file": "guide.md", "edits": […]}'
    return Diagnostic.invalid("the batch is a list", f"put the list into an object: {whole}")


# The scopes that the batch and its edits ask for, each with the index of an edit that does.
_Scopes: TypeAlias = dict[ReferenceScope, int | None]


def _take_scope(
    fields: dict[str, Any], scopes: _Scopes, edit_index: int | None = None
) -> Iterator[Diagnostic]:
    """Take the scope out of `fields` of the batch or of one edit into `scopes`. Errors: INVALID_ARGUMENT."""
    if _REFERENCES not in fields:
        return
    given = fields.pop(_REFERENCES)
    scope = _SCOPES.get(given) if isinstance(given, str | bool) else None
    if scope is None:
        yield Diagnostic.invalid(
            say("{updateReferences} is not one of 'none', 'file' and 'workspace'"),
            "use one of them; true means file, false means none",
        )
    else:
        scopes.setdefault(scope, edit_index)


def _read_file(entry: object, where: str, first_index: int, scopes: _Scopes) -> FileEdits | Problems:
    """Edits of one file. `where` names the entry in the list of files; it is empty for a batch of one."""
    if not isinstance(entry, dict):
        return (Diagnostic.invalid(f"{where} is not an object", 'send {"file": …, "edits": […]}'),)
    problem = _glob_problem(entry) if _GLOB in entry else None
    if problem is not None:
        return (problem,)
    model = next((kind for name, kind in _FILE_KINDS.items() if name in entry), FileEdits)
    fields = {"file" if name in _FILE_KINDS else name: value for name, value in entry.items()}
    problems = list(field_names.unknown_fields(fields, wire_names(model), where))
    fields = {name: value for name, value in fields.items() if name in wire_names(model)}
    edits = fields.get("edits")
    operations: list[Operation] = []
    if isinstance(edits, list):
        for offset, edit in enumerate(edits):
            operation = _read_edit(edit, first_index + offset, scopes)
            if isinstance(operation, Operation):
                operations.append(operation)
            else:
                problems += operation
            if len(problems) > MOST_PROBLEMS:
                return (*problems[:MOST_PROBLEMS], AND_MORE)
        fields["edits"] = tuple(operations)
    if problems:
        # A model that was refused leaves its list short; that the list is then empty is no news.
        fields["edits"] = fields.get("edits") or None
        fields = {name: value for name, value in fields.items() if value is not None or name != "edits"}
    file = validated(model, fields, f"{where}." if where else "")
    if isinstance(file, FileEdits):
        return tuple(problems) if problems else file
    about_edits = not operations and bool(problems)
    return (*problems, *(found for found in file if not (about_edits and "edits" in found.message)))


def _with_shared_edits(fields: dict[str, Any], files: object) -> tuple[dict[str, Any], Any]:
    """Return the request and its `files`, each with the edits that all of them share.

    Shared edits apply to a glob, or to a list of names, globs and objects without their own edits.
    """
    edits = fields.get("edits")
    entries = [files] if isinstance(files, str) else files
    if not isinstance(entries, list) or not isinstance(edits, list) or fields.keys() & {"file", _GLOB}:
        return fields, files
    shared: dict[str, Any] = {name: fields[name] for name in (*_SHARED_BY_FILES, "edits") if name in fields}
    rest = {name: value for name, value in fields.items() if name not in shared}
    return rest, [_with_own_edits(decoded_json(entry), shared) for entry in entries]


def _with_own_edits(entry: object, shared: Mapping[str, Any]) -> object:
    if isinstance(entry, str):
        return {**shared, _MATCHING if any(sign in entry for sign in "*?[") else "file": entry}
    return {**shared, **entry} if isinstance(entry, dict) and "edits" not in entry else entry


def _glob_problem(fields: Mapping[str, Any]) -> Diagnostic | None:
    of_one_file = next((name for name in ("file", "baseSha256") if fields.get(name) is not None), None)
    if isinstance(fields[_GLOB], str) and of_one_file is None:
        return None
    return Diagnostic.invalid(
        f"glob goes with no {of_one_file}, which is of one file" if of_one_file else "glob is not a string",
        'send {"glob": "docs/**/*.md", "edits": […]}',
    )


def read_edit(edit: object) -> Operation | Problems:
    """Read one edit from decoded JSON. Errors: as `read_batch`, for this edit only."""
    if any(isinstance(item, bytes | bytearray) for item in items_of(edit)):
        return (_BYTES,)
    operation = _read_edit(edit, 0, {})
    if isinstance(operation, Operation):
        return operation
    return tuple(replace(problem, edit_index=None) for problem in operation)


def _read_edit(edit: object, index: int, scopes: _Scopes) -> Operation | Problems:
    edit = decoded_json(edit)
    if not isinstance(edit, dict):
        return (Diagnostic.invalid("the edit is not an object", 'send {"op": …}').at(edit_index=index),)
    op = op_of(edit)
    model = operation_named(op)
    if model is None:
        return (_unknown_operation(op, edit).at(edit_index=index),)
    spelling = SPELLINGS.get(str(op))
    fixed = spelling.fixed if spelling is not None else {}
    known = tuple(name for name in wire_names(model) if name not in fixed)
    fields = field_names.fold_names({"op": op, **edit}, _edit_synonyms(model))
    fields = with_decoded_fields(model, fields)
    folded = or_problems(fold_match_options, fields) if "matchType" in known else fields
    problems: Problems = folded if isinstance(folded, tuple) else ()
    if not isinstance(folded, tuple):
        fields = with_decoded_fields(model, folded)
        unknown = field_names.unknown_fields(fields, known, str(op), _OUTER)
        problems = (*_take_scope(fields, scopes, index), *unknown)
    if problems:
        return tuple(problem.at(edit_index=index) for problem in problems)
    meant = fields if spelling is None else {**spelling.translated(fields), **fixed, "op": spelling.op}
    operation = validated(model, meant, "")
    if not isinstance(operation, Operation):
        return tuple(problem.at(edit_index=index) for problem in operation)
    if spelling is None:
        return operation
    written = operation.wire_form if fixed else fields
    return operation.written_as({name: written[name] for name in written if name not in fixed} | {"op": op})


# A class; to mypy a class has no hash.
Model: TypeAlias = Any


class _Field(Struct):
    """A field of a model: the types that it may have, and what it is for."""

    types: tuple[Any, ...]
    description: str | None

    @property
    def model(self) -> Model:
        """The model of its values, or None if they are not objects."""
        return next((each for each in self.types if is_model(each)), None)

    @property
    def is_structured(self) -> bool:
        """True if the value is an array or object."""
        return self.model is not None or any(get_origin(each) in {tuple, dict} for each in self.types)

    @property
    def is_path(self) -> bool:
        """True if the value is a heading path and never a plain string."""
        is_one = self.types[0] == tuple[str, ...]
        return is_one or (tuple[str, ...] in self.types and str not in self.types)


def is_model(kind: object) -> bool:
    """Return True if `kind` is a pydantic model or a dataclass."""
    return hasattr(kind, "model_fields") or (isinstance(kind, type) and is_dataclass(kind))


@cache
def _model_fields(model: Model) -> Mapping[str, _Field]:
    """Return the fields of `model` by JSON name."""
    if hasattr(model, "model_fields"):
        return {
            each.alias or name: _Field(_types_of(each.annotation), each.description)
            for name, each in model.model_fields.items()
        }
    hints = get_type_hints(model)
    return {
        field_names.camel_case(each.name): _Field(
            _types_of(hints[each.name]), each.metadata.get("description")
        )
        for each in fields(model)
    }


def _types_of(annotation: Any) -> tuple[Any, ...]:  # noqa: ANN401 (any annotation)
    return (annotation, *get_args(annotation))


def wire_names(model: Model) -> tuple[str, ...]:
    """Return the JSON names of the fields of `model`."""
    return tuple(_model_fields(model))


# Fields that can accompany edits.
_OUTER: Final = frozenset({*wire_names(FileEdits), *wire_names(Batch), "dryRun", "planId", "accept"})
_GLOB: Final = "glob"

# Marks a glob limited to files that contain the text of the edits; callers cannot send it.
_MATCHING: Final = "\x00matching"
_FILE_KINDS: Final[Mapping[str, type[FileEdits]]] = {_GLOB: GlobEdits, _MATCHING: MatchingEdits}
_SHARED_BY_FILES: Final = ("encoding", "format")
_ALL_OPERATIONS: Final = say("see {see operations}")


def _unknown_operation(op: object, edit: Mapping[str, Any]) -> Diagnostic:
    wrapped = next(
        (name for name, value in edit.items() if name in OPERATIONS and isinstance(value, dict)), ""
    )
    if op is None and wrapped:
        return Diagnostic.invalid(
            say("the edit has no {op}"),
            say("send {} with the fields of `{}` next to it", Argument("op", wrapped), wrapped),
        )
    if corrected := corrected_edit(op, edit):
        said = (
            say("the edit has no {op}")
            if op is None
            else f"there is no operation `{field_names.short_name(op)}`"
        )
        return Diagnostic.invalid(said, f"send `{corrected}`")
    if not isinstance(op, str):
        return Diagnostic.invalid(
            say("the edit has no {op}"), say("name one, such as {replace_section}; {}", _ALL_OPERATIONS)
        )
    near = meant_operations(op, tuple(OPERATIONS))
    hint = f"did you mean {' or '.join(f'`{name}`' for name in near)}?" if near else _ALL_OPERATIONS
    return Diagnostic.invalid(f"there is no operation `{field_names.short_name(op)}`", hint)


@cache
def _edit_synonyms(model: type[Any]) -> Mapping[str, str]:
    """Synonyms of the fields of an operation."""
    return {old: new for old, new in field_names.EDIT_SYNONYMS.items() if new in wire_names(model)}


def too_large(files: int, edits: int, limits: Limits) -> Diagnostic | None:
    """BATCH_TOO_LARGE for more `files` or `edits` than `limits` allow."""
    return _over(("files", files, limits.files, "--max-files"), ("edits", edits, limits.edits, "--max-edits"))


def _over(*counts: tuple[str, int, int, str]) -> Diagnostic | None:
    """Return BATCH_TOO_LARGE for the first of `counts` over its limit.

    Each count is (noun, count, limit, command line option).
    """
    for what, count, most, option in counts:
        if count > most:
            return Code.BATCH_TOO_LARGE.problem(
                f"the batch has {count} {what}, and the limit is {most}",
                either("split it", say("raise {}", Option(option))),
            )
    return None


_BYTES: Final = Diagnostic.invalid("an edit contains bytes", "decode them: mdplan takes str")
_NO_LIST: Final = Diagnostic.invalid(
    say("{files} is not a list"), 'send "files": [{"file": …, "edits": […]}]'
)


# --- From decoded JSON to a value of a model, or to everything that is wrong with it.
#
# A model is a class of pydantic, or a plain dataclass such as the requests of stat, read and search.

# Python writes no number of more than 4,300 digits.
MOST_BITS: Final = 10_000
_MOST_SHOWN: Final = 100

# Forms of match options that are folded into flat ones; see `match_options`.
_RICH_FIELDS: Final = frozenset({"expectedMatchCount", "matchSelection", "flags", "nodeExclusions", "scope"})


def with_decoded_fields(model: Model, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return `given` with JSON text decoded to arrays and objects, and single headings as paths."""
    known = _model_fields(model)
    decoded = dict(given)
    for name, value in given.items():
        field = known.get(name)
        if name in _RICH_FIELDS or (field is not None and field.is_structured):
            decoded[name] = decoded_json(value)
        if field is not None and field.is_path and isinstance(decoded[name], str):
            decoded[name] = [decoded[name]]
    return decoded


SEE_SCHEMA: Final = say("see {see batch} for what is allowed")


def validated(model: Model, fields: Mapping[str, Any], where: str, hint: str = SEE_SCHEMA) -> Any:  # noqa: ANN401
    """Instance of `model`, or its errors as diagnostics; `hint` is for fields that do not go together."""
    try:
        return cached_adapter(model).validate_python(fields)
    except ValidationError as error:
        found = error.errors(include_url=False)
        # An entry that was refused leaves its list short; that the list is then empty is no news.
        inside = {each["loc"][:length] for each in found for length in range(len(each["loc"]))}
        found = [each for each in found if each["type"] != "too_short" or each["loc"] not in inside]
        return tuple(value_problem(each, model, where, hint) for each in found)


cached_adapter: Final = cache(TypeAdapter[Any])


def value_problem(error: Mapping[str, Any], model: Model, where: str, hint: str) -> Diagnostic:
    """Return a pydantic `error` about a field of `model` in mdplan's words; `where` prefixes its path."""
    path = where + _path(error["loc"])
    name = Argument(path)
    if error["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:
        *parents, unknown = error["loc"]
        inside = say("{}", Argument(where + _path(parents)))
        return next(
            field_names.unknown_fields({str(unknown): None}, wire_names(_model_at(model, parents)), inside)
        )
    if error["type"] == "value_error":
        reason = error["ctx"]["error"].args[0]
        return Diagnostic.invalid(say("{}: {}", name, reason) if error["loc"] else reason, hint)
    if error["type"] == "missing":
        meaning = Meaning(path, _meaning(model, error["loc"]))
        return Diagnostic.invalid(say("{} is missing", name), Text(meaning))
    is_what, advice = _in_words(str(error["type"]), error.get("ctx", {}), str(error["msg"]))
    return Diagnostic.invalid(
        say("{} {}", name, is_what), advice + _as_wanted(str(error["type"]), error.get("input"))
    )


def _meaning(model: Model, location: Sequence[str | int]) -> str:
    """Return the description of the field at `location` in `model`, after a colon; empty if undescribed."""
    *parents, name = location
    field = _model_fields(_model_at(model, parents)).get(str(name))
    text = field.description if field is not None else None
    if not text:
        return ""
    # A name in capitals keeps them.
    return f": {text if text[:2].isupper() else text[0].lower() + text[1:]}".rstrip(".")


def _as_wanted(kind: str, given: object) -> str:
    """Return the `given` value in the required form, after a colon; empty if the form is uncertain."""
    if kind == "string_type" and isinstance(given, int | float) and not is_huge(given):
        return f": {json.dumps(json.dumps(given))}"
    if kind in _OBJECTS and isinstance(given, list) and [type(each) for each in given] == [int, int]:
        return f': {{"start": {given[0]}, "end": {given[1]}}}'
    if kind in _OBJECTS and type(given) is int:
        return f': {{"index": {given}}}'
    if kind == "tuple_type" and isinstance(given, str) and len(given) <= _MOST_SHOWN:
        return f": {json.dumps([given], ensure_ascii=False)}"
    return ""


def _in_words(kind: str, context: Mapping[str, Any], message: str) -> tuple[str, str]:
    """Return the error as the end of a sentence about the value, and advice."""
    if kind in _TYPE_NAMES:
        return f"is not {_TYPE_NAMES[kind]}", f"send {_TYPE_NAMES[kind]}"
    if kind in _SENTENCES:
        what, advice = _SENTENCES[kind]
        return what.format(**context), advice.format(**context)
    return f"is refused: {message}", SEE_SCHEMA


_SENTENCES: Final[Mapping[str, tuple[str, str]]] = {
    "too_short": ("is empty", "give at least one entry"),
    "string_too_short": ("is empty", "give at least one character"),
    "string_too_long": ("is longer than {max_length} characters", "shorten it"),
    "greater_than_equal": ("is less than {ge}", "send {ge} or more"),
    "less_than_equal": ("is more than {le}", "send {le} or less"),
    **dict.fromkeys(("enum", "literal_error"), ("is not one of {expected}", "use one of them")),
    "string_pattern_mismatch": ("does not match `{pattern}`", "send it in that form"),
}
_OBJECTS: Final = frozenset({"model_type", "model_attributes_type", "dataclass_type"})

_TYPE_NAMES: Final = {
    "string_type": "a string",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "tuple_type": "a list",
    **dict.fromkeys(_OBJECTS, "an object"),
}


def _path(location: Sequence[str | int]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(parts).removeprefix(".")


def decoded_json(value: object) -> Any:  # noqa: ANN401 (any JSON)
    """Return `value`, decoded if it is the JSON text of an array or object that a batch may hold."""
    if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"}:
        try:
            decoded = json.loads(value, object_pairs_hook=field_names.unique_names)
        except (ValueError, RecursionError):
            return value
        return decoded if isinstance(decoded, list | dict) and not _is_unfit(decoded) else value
    return value


def _is_unfit(decoded: object) -> bool:
    """Return True if decoded JSON holds a value that batches refuse; an escape can hide one."""
    return any(
        field_names.has_surrogate(item) if isinstance(item, str) else is_huge(item)
        for item in items_of(decoded)
    )


def _model_at(model: Model, location: Sequence[str | int]) -> Model:
    """Return the model of the object at `location` in `model`."""
    for part in location:
        if isinstance(part, str):
            model = _model_fields(model)[part].model
    return model


def is_huge(item: object) -> bool:
    """Return True if `item` is a number that is too long for a request."""
    return isinstance(item, int) and item.bit_length() > MOST_BITS


def items_of(value: object) -> list[Any]:
    """Return all values and keys in decoded JSON, without recursion, because callers choose the depth."""
    items = [value]
    # It grows while it is gone through.
    for item in items:
        if isinstance(item, dict):
            items += item.keys()
            items += item.values()
        elif isinstance(item, list):
            items += item
    return items


# --- Translates edits with other tools' field names, for hints only

# Fields in which other tools name the operation.
_OP_NAMES: Final = ("op", "operation", "type", "action")
_LONGEST: Final = 400


def corrected_edit(op: object, edit: Mapping[str, Any]) -> str:
    """Return `edit` as JSON with a known operation and its fields; empty if uncertain.

    The operation comes from `op`, from a field such as ``operation``, or from the other fields.
    """
    named = next((name for name in _OP_NAMES if isinstance(edit.get(name), str)), None)
    word = op if isinstance(op, str) else edit[named] if named else None
    fields = {name: value for name, value in edit.items() if name not in ("op", named)}
    for operation in meant_operations(word, tuple(OPERATIONS)) if word else IMPLIED:
        renamed = _renamed(fields, wire_names(OPERATIONS[operation]))
        if renamed is None or (not word and not IMPLIED[operation] <= renamed.keys()):
            continue
        found = {"op": operation, **renamed}
        if isinstance(validated(OPERATIONS[operation], found, ""), Operation):
            written = json.dumps(found, ensure_ascii=False)
            return written if len(written) <= _LONGEST else ""
    return ""


def _renamed(fields: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any] | None:
    """Return `fields` under the `known` names that they mean; None if one is unknown or two mean the same."""
    renamed: dict[str, Any] = {}
    for name, value in fields.items():
        camel = field_names.camel_case(name)
        names = (camel, field_names.EDIT_SYNONYMS.get(camel, camel), *field_names.meant_fields(name))
        found = next((each for each in names if each in known), None)
        if found is None or found in renamed:
            return None
        renamed[found] = value
    return renamed


# --- Diffs in a batch: each file of a diff becomes an entry with its own edit

_NAMED: Final = "name the file in its header, as in `--- a/docs/guide.md` and `+++ b/docs/guide.md`"


def _fold_diff(fields: dict[str, Any], files: object) -> tuple[dict[str, Any], Any]:
    """Return the `fields` of a batch and its `files` with `diff` turned into edits.

    Raises `Refused`: INVALID_ARGUMENT for text that is not a diff, or that edits cannot express.
    """
    if "file" in fields or fields.get("diff") is None:
        return with_diff_as_edit(fields), files
    spread = _spread(fields["diff"])
    rest = {name: value for name, value in fields.items() if name != "diff"}
    return rest, [*(files or ()), *spread] if files is None or isinstance(files, list) else files


def with_diff_as_edit(entry: Any) -> Any:  # noqa: ANN401 (any JSON)
    """Return the `entry` of a file with its `diff`, if any, as its last edit."""
    if not isinstance(entry, dict) or "diff" not in entry:
        return entry
    fields = {name: value for name, value in entry.items() if name != "diff"}
    if entry["diff"] is None:
        return fields
    edits = fields.get("edits") or []
    if not isinstance(edits, list):
        return entry
    return {**fields, "edits": [*edits, {"op": "apply_diff", "diff": entry["diff"]}]}


def _spread(diff: object) -> list[dict[str, Any]]:
    """Entries of a batch, as decoded JSON, for all files of `diff`."""
    from mdplan.text.unified_diff import NotADiff, read_diff

    files = read_diff(diff) if isinstance(diff, str) else NotADiff("it is not a string", "send its text")
    if isinstance(files, NotADiff):
        raise Refused(Diagnostic.invalid(say("{diff} is not a unified diff: {}", files.reason), files.hint))
    refuse_if(islice(filter(None, map(_obstacle, files)), 1))
    return [{"file": file.old_name or file.new_name, **_entry(file)} for file in files]


def _obstacle(file: "FileDiff") -> Diagnostic | None:
    """Return why `file` of a diff cannot become an entry of a batch."""
    names = {file.old_name, file.new_name} - {None}
    if not names:
        return Diagnostic.invalid(say("{diff} has hunks of a file that it does not name"), _NAMED)
    if file.obstacle is not None:
        return Diagnostic.invalid(
            f"diff {file.obstacle}, and only text can be edited", "leave that file out of it"
        )
    if len(names) > 1 and not file.renames:
        return Diagnostic.invalid(say("{diff} has a header that names two files, and renames none"), _NAMED)
    return None


def _entry(file: "FileDiff") -> dict[str, Any]:
    """Pin and edits of `file` of a diff."""
    if file.creates:
        text = "".join(hunk.new for hunk in file.hunks)
        return {"edits": [{"op": "create_file", "markdown": text}]}
    if file.deletes and not file.hunks:
        return {"edits": [{"op": "delete_file"}]}
    if file.deletes:
        # The diff shows all that goes, which is as good as the hash of the file.
        digest = hashlib.sha256("".join(hunk.old for hunk in file.hunks).encode()).hexdigest()
        return {"baseSha256": digest, "edits": [{"op": "delete_file"}]}
    if not file.renames:
        return {"edits": [{"op": "apply_diff", "diff": file.source}]}
    changes = [{"op": "apply_diff", "diff": file.changes}] if file.hunks else []
    return {"edits": [{"op": "rename_file", "newFile": file.new_name}, *changes]}
