"""The door: what callers send becomes a `Batch`, or all that is wrong with it.

Accepted spellings are folded here and nowhere else: snake_case, a few synonyms, the richer forms of match
options, and arrays or objects that came as JSON text. Unknown fields are refused with the nearest name.
"""

import difflib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel, ValidationError

from mdplan.diagnostics import AND_MORE, MOST_PROBLEMS, Code, Diagnostic, Problems
from mdplan.field_names import (
    BATCH_SYNONYMS,
    EDIT_SYNONYMS,
    FILE_SYNONYMS,
    fold_names,
    has_surrogate,
    short_name,
    unknown_fields,
)
from mdplan.operations import OPERATIONS
from mdplan.operations.base.match_options import fold_match_options
from mdplan.operations.base.operation import Operation
from mdplan.requests.batch import Batch, FileEdits
from mdplan.requests.diffs import diffs_of_others, fold_diff, with_diff_as_edit
from mdplan.requests.limits import DEFAULT_LIMITS, Limits
from mdplan.requests.reference_scope import ReferenceWishes


def read_batch(data: object, limits: Limits = DEFAULT_LIMITS) -> Batch | Problems:
    """Batch of `data`, which is decoded JSON: ``{file, edits}`` or ``{files: [{file, edits}]}``.

    A ``diff`` beside them, or in place of ``files``, becomes edits of the files that it names; beside
    ``file`` it is one more edit of that.
    Errors: INVALID_ARGUMENT, UNKNOWN_FIELD, EMPTY_CONTENT, BATCH_TOO_LARGE; all of them, each tied to its
    edit by an index through the whole batch.
    """
    decoded = decoded_json(data)
    problem = _refused(decoded, limits)
    if problem:
        return (problem,)
    fields = fold_names(decoded, BATCH_SYNONYMS)
    fields, files, problem = fold_diff(fields, decoded_json(fields.pop("files", None)))
    if problem:
        return (problem,)
    known = wire_names(Batch)
    is_one_file = files is None
    if is_one_file:
        known = (*wire_names(FileEdits), *known)
        files = [{name: fields.pop(name) for name in list(fields) if name in wire_names(FileEdits)}]
    elif "edits" in fields or "file" in fields:
        return (Diagnostic.invalid("files stands beside file or edits", "send one file, or a list of files"),)
    wishes = ReferenceWishes()
    problems = [*wishes.take(fields), *unknown_fields(fields, known, "the batch")]
    problem = _too_large(files, limits) if isinstance(files, list) else _NO_LIST
    if problem:
        return (*problems, problem)
    read: list[FileEdits] = []
    first_index = 0
    for number, entry in enumerate(map(with_diff_as_edit, map(decoded_json, files))):
        file = _read_file(entry, "" if is_one_file else f"files[{number}]", first_index, wishes)
        if isinstance(file, FileEdits):
            read.append(file)
            problems += diffs_of_others(file, first_index)
        else:
            problems += file
        first_index += _edit_count(entry)
    problems += wishes.problems()
    if problems:
        return tuple(problems)
    fields = {**with_decoded_fields(Batch, fields), "updateReferences": wishes.scope}
    batch: Batch | Problems = validated(Batch, {**fields, "files": tuple(read)}, "")
    return batch


# Python writes no number of more than 4,300 digits.
_MOST_BITS: Final = 10_000
_MOST_SHOWN: Final = 100


def _refused(data: object, limits: Limits) -> Diagnostic | None:
    """What keeps a batch from being looked at: no object, no text, no number; or more than it may hold."""
    if not isinstance(data, dict):
        return Diagnostic.invalid("the batch is not a JSON object", 'send {"file": …, "edits": […]}')
    items = _items(data)
    texts = [item for item in items if isinstance(item, str)]
    if not all(map(str.isascii, texts)) and any(map(has_surrogate, texts)):
        return Diagnostic.invalid(
            "the batch holds a lone surrogate, which is no Unicode text", "send valid Unicode"
        )
    if any(map(_is_huge, [item for item in items if isinstance(item, int)])):
        return Diagnostic.invalid(
            f"the batch holds a number of more than {_MOST_BITS} bits", "send it as a string"
        )
    diffs = [item["diff"] for item in items if isinstance(item, dict) and isinstance(item.get("diff"), str)]
    return _over(
        ("characters of payload", sum(map(len, texts)), limits.payload_characters, "--max-payload"),
        ("hunks", sum(diff.count("\n@@ ") for diff in diffs), limits.edits, "--max-edits"),
    )


def _read_file(entry: object, where: str, first_index: int, wishes: ReferenceWishes) -> FileEdits | Problems:
    """Edits of one file. `where` names the entry in the list of files; it is empty for a batch of one."""
    entry = decoded_json(entry)
    if not isinstance(entry, dict):
        return (Diagnostic.invalid(f"{where} is not an object", 'send {"file": …, "edits": […]}'),)
    fields = fold_names(entry, FILE_SYNONYMS)
    problems = list(unknown_fields(fields, wire_names(FileEdits), where))
    fields = {name: value for name, value in fields.items() if name in wire_names(FileEdits)}
    edits = decoded_json(fields.get("edits"))
    operations: list[Operation] = []
    if isinstance(edits, list):
        for offset, edit in enumerate(edits):
            operation = _read_edit(edit, first_index + offset, wishes)
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
    file = validated(FileEdits, fields, f"{where}." if where else "")
    if isinstance(file, FileEdits):
        return tuple(problems) if problems else file
    about_edits = not operations and bool(problems)
    return (*problems, *(found for found in file if not (about_edits and "edits" in found.message)))


def _read_edit(edit: object, index: int, wishes: ReferenceWishes) -> Operation | Problems:
    edit = decoded_json(edit)
    if not isinstance(edit, dict):
        return (Diagnostic.invalid("the edit is not an object", 'send {"op": …}').at(edit_index=index),)
    op = edit.get("op")
    model = OPERATIONS.get(op) if isinstance(op, str) else None
    if model is None:
        return (_unknown_operation(op).at(edit_index=index),)
    known = wire_names(model)
    fields = fold_names(edit, _edit_synonyms(model))
    fields = with_decoded_fields(model, fields)
    if "matchType" in known:
        folded = fold_match_options(fields)
        if isinstance(folded, Diagnostic):
            return (folded.at(edit_index=index),)
        fields = with_decoded_fields(model, folded)
    problems = (*wishes.take(fields, index), *unknown_fields(fields, known, str(op)))
    if problems:
        return tuple(problem.at(edit_index=index) for problem in problems)
    operation = validated(model, fields, "")
    if isinstance(operation, Operation):
        return operation
    return tuple(problem.at(edit_index=index) for problem in operation)


# Forms of match options that become flat ones; see `wire_match`.
_RICH_FIELDS: Final = frozenset(
    {"expectedMatchCount", "matchSelection", "flags", "nodeExclusions", "scope"},
)


def with_decoded_fields(model: type[BaseModel], fields: Mapping[str, Any]) -> dict[str, Any]:
    """`fields` with arrays and objects where they belong and came as JSON text; a path may be one heading."""
    structured, paths = _structured_fields(model)
    decoded = dict(fields)
    for name, value in fields.items():
        if name in structured or name in _RICH_FIELDS:
            decoded[name] = decoded_json(value)
        if name in paths and isinstance(decoded[name], str):
            decoded[name] = [decoded[name]]
    return decoded


@cache
def _structured_fields(model: type[BaseModel]) -> tuple[frozenset[str], frozenset[str]]:
    """Wire names of the fields that hold arrays or objects, and of those that hold heading paths."""
    structured: set[str] = set()
    paths: set[str] = set()
    for name, field in model.model_fields.items():
        for each in (field.annotation, *get_args(field.annotation)):
            if get_origin(each) in {tuple, dict} or hasattr(each, "model_fields"):
                structured.add(field.alias or name)
            if each == tuple[str, ...]:
                paths.add(field.alias or name)
    return frozenset(structured), frozenset(paths)


_ALL_OPERATIONS: Final = "md_apply and `mdplan help` list them all"


def _unknown_operation(op: object) -> Diagnostic:
    if not isinstance(op, str):
        return Diagnostic.invalid(
            "the edit has no op", f'name one, such as "replace_section"; {_ALL_OPERATIONS}'
        )
    near = difflib.get_close_matches(op, OPERATIONS, n=3)
    hint = f"did you mean {' or '.join(f'`{name}`' for name in near)}?" if near else _ALL_OPERATIONS
    return Diagnostic.invalid(f"there is no operation `{short_name(op)}`", hint)


_SEE_SCHEMA: Final = "see `mdplan schema batch` for what is allowed"


def validated(model: type[Any], fields: Mapping[str, Any], where: str, hint: str = _SEE_SCHEMA) -> Any:  # noqa: ANN401
    """Instance of `model`, or its errors as diagnostics; `hint` is for fields that do not go together."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        found = error.errors(include_url=False)
        # An entry that was refused leaves its list short; that the list is then empty is no news.
        inside = {each["loc"][:length] for each in found for length in range(len(each["loc"]))}
        found = [each for each in found if each["type"] != "too_short" or each["loc"] not in inside]
        return tuple(value_problem(each, model, where, hint) for each in found)


def value_problem(error: Mapping[str, Any], model: type[Any], where: str, hint: str) -> Diagnostic:
    """What pydantic says of a value in a `model`, in our words; `where` is put before its path."""
    name = f"`{where}{_path(error['loc'])}`"
    if error["type"] == "extra_forbidden":
        *parents, unknown = error["loc"]
        inside = f"`{where}{_path(parents)}`"
        return next(unknown_fields({str(unknown): None}, wire_names(_model_at(model, parents)), inside))
    if error["type"] == "value_error":
        about = f"{name}: " if error["loc"] else ""
        return Diagnostic.invalid(about + str(error["msg"]).removeprefix("Value error, "), hint)
    if error["type"] == "missing":
        return Diagnostic.invalid(f"{name} is missing", f"give {name}{_meaning(model, error['loc'])}")
    is_what, advice = _in_words(str(error["type"]), error.get("ctx", {}), str(error["msg"]))
    return Diagnostic.invalid(
        f"{name} {is_what}", advice + _as_wanted(str(error["type"]), error.get("input"))
    )


def _meaning(model: type[Any], location: Sequence[str | int]) -> str:
    """What the field at `location` in a `model` is for, behind a colon; nothing where nobody says."""
    *parents, name = location
    of_fields = _model_at(model, parents).model_fields
    told = next((each.description for key, each in of_fields.items() if name in {each.alias, key}), None)
    if not told:
        return ""
    # A name in capitals keeps them.
    return f": {told if told[:2].isupper() else told[0].lower() + told[1:]}".rstrip(".")


def _as_wanted(kind: str, given: object) -> str:
    """The `given` value in the form that was wanted, behind a colon, where that is plain to see."""
    if kind == "string_type" and isinstance(given, int | float) and not _is_huge(given):
        return f": {json.dumps(json.dumps(given))}"
    if kind == "tuple_type" and isinstance(given, str) and len(given) <= _MOST_SHOWN:
        return f": {json.dumps([given], ensure_ascii=False)}"
    return ""


def _in_words(kind: str, context: Mapping[str, Any], message: str) -> tuple[str, str]:
    """What is wrong with a value, as the end of a sentence about it, and what to do."""
    match kind:
        case "too_short":
            words = "is empty", "give at least one entry"
        case "string_too_short":
            words = "is empty", "give at least one character"
        case "greater_than_equal":
            words = f"is less than {context['ge']}", f"send {context['ge']} or more"
        case "less_than_equal":
            words = f"is more than {context['le']}", f"send {context['le']} or less"
        case "enum" | "literal_error":
            words = f"is not one of {context['expected']}", "use one of them"
        case "string_pattern_mismatch":
            words = f"does not match `{context['pattern']}`", "send it in that form"
        case _ if kind in _KINDS:
            words = f"is not {_KINDS[kind]}", f"send {_KINDS[kind]}"
        case _:
            words = f"is refused: {message}", _SEE_SCHEMA
    return words


_KINDS: Final = {
    "string_type": "a string",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "model_type": "an object",
    "model_attributes_type": "an object",
}


def _path(location: Sequence[str | int]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(parts).removeprefix(".")


def decoded_json(value: object) -> Any:  # noqa: ANN401 (any JSON)
    """`value`, or what it holds as JSON text where that is an array or object that a batch may hold."""
    if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"}:
        try:
            decoded = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return decoded if isinstance(decoded, list | dict) and not _is_unfit(decoded) else value
    return value


def _is_unfit(decoded: object) -> bool:
    """Whether what was JSON text brings what a batch is refused for: an escape can hide it."""
    return any(has_surrogate(item) if isinstance(item, str) else _is_huge(item) for item in _items(decoded))


def wire_names(model: type[Any]) -> tuple[str, ...]:
    """Names of the fields of `model` on the wire."""
    shape: Any = model  # To mypy a class has no hash.
    return _wire_names(shape)


@cache
def _wire_names(model: type[Any]) -> tuple[str, ...]:
    return tuple(field.alias or name for name, field in model.model_fields.items())


@cache
def _edit_synonyms(model: type[Any]) -> Mapping[str, str]:
    """Synonyms of the fields of an operation."""
    return {old: new for old, new in EDIT_SYNONYMS.items() if new in wire_names(model)}


def _model_at(model: type[Any], location: Sequence[str | int]) -> type[Any]:
    """Model of the object that stands at `location` in one of `model`."""
    for part in location:
        if isinstance(part, str):
            field = next(field for name, field in model.model_fields.items() if part in {field.alias, name})
            types = (field.annotation, *get_args(field.annotation))
            model = next(each for each in types if hasattr(each, "model_fields"))
    return model


def _edit_count(entry: object) -> int:
    entry = decoded_json(entry)
    edits = decoded_json(entry.get("edits")) if isinstance(entry, dict) else None
    return len(edits) if isinstance(edits, list) else 0


def _too_large(files: Sequence[object], limits: Limits) -> Diagnostic | None:
    return _over(
        ("files", len(files), limits.files, "--max-files"),
        ("edits", sum(_edit_count(file) for file in files), limits.edits, "--max-edits"),
    )


def _over(*counts: tuple[str, int, int, str]) -> Diagnostic | None:
    """BATCH_TOO_LARGE for the first of `counts` (of what, how many, the limit, its option) over its limit."""
    for what, count, most, option in counts:
        if count > most:
            return Diagnostic(
                code=Code.BATCH_TOO_LARGE,
                message=f"the batch has {count} {what}, and the limit is {most}",
                hint=f"split it, or raise `{option}`",
            )
    return None


def _is_huge(item: object) -> bool:
    return isinstance(item, int) and item.bit_length() > _MOST_BITS


def _items(value: object) -> list[Any]:
    """All values in decoded JSON, and keys, without recursion: depth is the caller's choice."""
    items = [value]
    # It grows while it is gone through.
    for item in items:
        if isinstance(item, dict):
            items += item.keys()
            items += item.values()
        elif isinstance(item, list):
            items += item
    return items


_NO_LIST: Final = Diagnostic.invalid("files is not a list", 'send "files": [{"file": …, "edits": […]}]')
