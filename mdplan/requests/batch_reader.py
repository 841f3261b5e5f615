"""From decoded JSON to a `Batch`, or to everything that is wrong with it.

Accepted spellings are folded here and nowhere else: snake_case, a few synonyms, the richer forms of match
options, and arrays or objects that came as JSON text. Unknown fields are refused with the nearest name.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

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
from mdplan.limits import DEFAULT_LIMITS, Limits
from mdplan.operations import OPERATIONS
from mdplan.operations.base import Operation, fold_match_options
from mdplan.requests.batch import Batch, FileEdits, GlobEdits, MatchingEdits, ReferenceScope
from mdplan.requests.corrected_edit import corrected_edit
from mdplan.requests.diffs import fold_diff, with_diff_as_edit
from mdplan.requests.model_reader import (
    MOST_BITS,
    decoded_json,
    is_huge,
    items_of,
    validated,
    wire_names,
    with_decoded_fields,
)
from mdplan.requests.operation_names import meant_operations, op_of
from mdplan.requests.spellings import SPELLINGS, operation_named

_FIELD: Final = "updateReferences"
_SCOPES: Final[dict[str, ReferenceScope]] = {"none": "none", "file": "file", "workspace": "workspace"}


def read_batch(data: object, limits: Limits = DEFAULT_LIMITS) -> Batch | Problems:
    """Batch of `data`, which is decoded JSON: ``{file, edits}`` or ``{files: [{file, edits}]}``.

    A single edit may replace the list, or ``edits`` itself: ``{file, op, …}``, and `op` is implied as `op_of`
    says. An entry with ``glob`` in place of ``file`` becomes `GlobEdits`. A ``diff`` next to them, or in
    place of ``files``, becomes edits of the files that it names; next to ``file`` it is one more edit.
    Errors: INVALID_ARGUMENT, UNKNOWN_FIELD, EMPTY_CONTENT, BATCH_TOO_LARGE; all of them, each tied to its
    edit by an index through the whole batch.
    """
    decoded = decoded_json(data)
    problem = _refused(decoded, limits)
    if problem:
        return (problem,)
    fields = _with_edits(fold_names(decoded, BATCH_SYNONYMS))
    of_file = {*wire_names(FileEdits), _GLOB}
    if _GLOB in fields and "files" not in fields:
        fields["files"] = [{name: fields.pop(name) for name in list(fields) if name in of_file}]
    fields, files, problem = fold_diff(*_with_shared_edits(fields, decoded_json(fields.pop("files", None))))
    if problem:
        return (problem,)
    known = wire_names(Batch)
    is_one_file = files is None
    if is_one_file:
        known = (*wire_names(FileEdits), *known)
        files = [{name: fields.pop(name) for name in list(fields) if name in of_file}]
    elif "edits" in fields or "file" in fields:
        return (
            Diagnostic.invalid(
                "files is given together with file or edits", "send one file, or a list of files"
            ),
        )
    wishes = ReferenceScopeReader()
    problems = [*wishes.take(fields), *unknown_fields(fields, known, "the batch")]
    entries = list(map(_decoded_entry, files)) if isinstance(files, list) else []
    counts = list(map(_edit_count, entries))
    problem = too_large(len(entries), sum(counts), limits) if isinstance(files, list) else _NO_LIST
    if problem:
        return (*problems, problem)
    read: list[FileEdits] = []
    first_index = 0
    for number, entry in enumerate(entries):
        file = _read_file(entry, "" if is_one_file else f"files[{number}]", first_index, wishes)
        if isinstance(file, FileEdits):
            read.append(file)
            problems += _path_problems(file, first_index)
        else:
            problems += file
        first_index += counts[number]
    problems += wishes.problems()
    if problems:
        return tuple(problems)
    fields = {**with_decoded_fields(Batch, fields), "updateReferences": wishes.scope}
    batch: Batch | Problems = validated(Batch, {**fields, "files": tuple(read)}, "")
    return batch


def _path_problems(file: FileEdits, first_index: int) -> Iterator[Diagnostic]:
    """What edits of `file`, the first of which has the index `first_index`, say against its path."""
    for index, edit in enumerate(file.edits, start=first_index):
        problem = edit.problem_with_path(file.file)
        if problem is not None:
            yield problem.at(file=file.file, edit_index=index)


def _with_edits(fields: dict[str, Any]) -> dict[str, Any]:
    """The `fields` of a batch, in which a single edit, or fields of one, become the list `edits`."""
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


def _refused(data: object, limits: Limits) -> Diagnostic | None:
    """What keeps a batch from being looked at: no object, no text, no number; or more than it may hold."""
    if not isinstance(data, dict):
        return _no_object(data)
    items = items_of(data)
    if any(isinstance(item, bytes | bytearray) for item in items):
        return _BYTES
    texts = [item for item in items if isinstance(item, str)]
    if not all(map(str.isascii, texts)) and any(map(has_surrogate, texts)):
        return Diagnostic.invalid(
            "the batch contains a lone surrogate, which is not Unicode text", "send valid Unicode"
        )
    if any(map(is_huge, [item for item in items if isinstance(item, int)])):
        return Diagnostic.invalid(
            f"the batch contains a number of more than {MOST_BITS} bits", "send it as a string"
        )
    diffs = [item["diff"] for item in items if isinstance(item, dict) and isinstance(item.get("diff"), str)]
    return _over(
        ("characters of payload", sum(map(len, texts)), limits.payload_characters, "--max-payload"),
        ("hunks", sum(diff.count("\n@@ ") for diff in diffs), limits.edits, "--max-edits"),
    )


def _decoded_entry(entry: object) -> object:
    """The `entry` of one file with its names folded, its edits decoded, and its diff as one of them."""
    decoded = decoded_json(entry)
    if not isinstance(decoded, dict):
        return decoded
    return with_diff_as_edit(_with_edits(fold_names(decoded, FILE_SYNONYMS)))


def _no_object(data: object) -> Diagnostic:
    """What to say of a batch that is a list, of edits or of files, or something else."""
    if not isinstance(data, list):
        return Diagnostic.invalid("the batch is not a JSON object", 'send {"file": …, "edits": […]}')
    has_files = bool(data) and all(isinstance(each, dict) and "file" in each for each in data)
    whole = '{"files": […]}' if has_files else '{"file": "guide.md", "edits": […]}'
    return Diagnostic.invalid("the batch is a list", f"put the list into an object: {whole}")


class ReferenceScopeReader:
    """Reads `updateReferences` from all places of one batch."""

    def __init__(self) -> None:
        """Start with nothing said."""
        self._wishes: dict[ReferenceScope, int | None] = {}

    def take(self, fields: dict[str, Any], edit_index: int | None = None) -> Iterator[Diagnostic]:
        """Take the wish out of `fields`, those of the batch or of one edit. Errors: INVALID_ARGUMENT."""
        if _FIELD not in fields:
            return
        scope = _scope(fields.pop(_FIELD))
        if scope is None:
            yield Diagnostic.invalid(
                f"`{_FIELD}` is not one of 'none', 'file' and 'workspace'",
                "use one of them; true means file, false means none",
            )
        else:
            self._wishes.setdefault(scope, edit_index)

    @property
    def scope(self) -> ReferenceScope:
        """The requested scope; none by default."""
        return next(iter(self._wishes), "none")

    def problems(self) -> Iterator[Diagnostic]:
        """INVALID_ARGUMENT where different things were said: links are updated once, for the whole batch."""
        if len(self._wishes) > 1:
            said = " and ".join(f"`{scope}`" for scope in sorted(self._wishes))
            yield Diagnostic.invalid(
                f"{_FIELD} is {said} in one batch, and all links are updated at once",
                "say it once, next to the edits",
                edit_index=list(self._wishes.values())[-1],
            )


def _read_file(
    entry: object, where: str, first_index: int, wishes: ReferenceScopeReader
) -> FileEdits | Problems:
    """Edits of one file. `where` names the entry in the list of files; it is empty for a batch of one."""
    if not isinstance(entry, dict):
        return (Diagnostic.invalid(f"{where} is not an object", 'send {"file": …, "edits": […]}'),)
    problem = _glob_problem(entry) if _GLOB in entry else None
    if problem is not None:
        return (problem,)
    model = next((kind for name, kind in _KINDS.items() if name in entry), FileEdits)
    fields = {"file" if name in _KINDS else name: value for name, value in entry.items()}
    problems = list(unknown_fields(fields, wire_names(model), where))
    fields = {name: value for name, value in fields.items() if name in wire_names(model)}
    edits = fields.get("edits")
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
    file = validated(model, fields, f"{where}." if where else "")
    if isinstance(file, FileEdits):
        return tuple(problems) if problems else file
    about_edits = not operations and bool(problems)
    return (*problems, *(found for found in file if not (about_edits and "edits" in found.message)))


def _with_shared_edits(fields: dict[str, Any], files: object) -> tuple[dict[str, Any], Any]:
    """The request and its `files`, each with the edits that are for all of them.

    Such `files` are a glob, or a list of names, globs, and objects without edits of their own.
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
    """One edit, which is decoded JSON; errors are those of `read_batch`, of this edit alone."""
    if any(isinstance(item, bytes | bytearray) for item in items_of(edit)):
        return (_BYTES,)
    operation = _read_edit(edit, 0, ReferenceScopeReader())
    if isinstance(operation, Operation):
        return operation
    return tuple(replace(problem, edit_index=None) for problem in operation)


def _read_edit(edit: object, index: int, wishes: ReferenceScopeReader) -> Operation | Problems:
    edit = decoded_json(edit)
    if not isinstance(edit, dict):
        return (Diagnostic.invalid("the edit is not an object", 'send {"op": …}').at(edit_index=index),)
    op = op_of(edit)
    model = operation_named(op)
    if model is None:
        return (_unknown_operation(op, edit).at(edit_index=index),)
    known = wire_names(model)
    fields = fold_names({"op": op, **edit}, _edit_synonyms(model))
    fields = with_decoded_fields(model, fields)
    if "matchType" in known:
        folded = fold_match_options(fields)
        if isinstance(folded, Diagnostic):
            return (folded.at(edit_index=index),)
        fields = with_decoded_fields(model, folded)
    problems = (*wishes.take(fields, index), *unknown_fields(fields, known, str(op), _OUTER))
    if problems:
        return tuple(problem.at(edit_index=index) for problem in problems)
    spelling = SPELLINGS.get(str(op))
    meant = fields if spelling is None else {**spelling.translated(fields), "op": spelling.op}
    operation = validated(model, meant, "")
    if isinstance(operation, Operation):
        return (
            operation
            if spelling is None
            else operation.written_as({name: value for name, value in fields.items() if value is not None})
        )
    return tuple(problem.at(edit_index=index) for problem in operation)


# What goes next to edits.
_OUTER: Final = frozenset({*wire_names(FileEdits), *wire_names(Batch), "dryRun", "planId", "accept"})
_GLOB: Final = "glob"
# Marks a glob whose files are those that have the text of the edits; no caller can send it.
_MATCHING: Final = "\x00matching"
_KINDS: Final[Mapping[str, type[FileEdits]]] = {_GLOB: GlobEdits, _MATCHING: MatchingEdits}
_SHARED_BY_FILES: Final = ("encoding", "format")
_ALL_OPERATIONS: Final = "see the list of operations"


def _unknown_operation(op: object, edit: Mapping[str, Any]) -> Diagnostic:
    wrapped = next(
        (name for name, value in edit.items() if name in OPERATIONS and isinstance(value, dict)), ""
    )
    if op is None and wrapped:
        return Diagnostic.invalid(
            "the edit has no op", f'send `{{"op": "{wrapped}", …}}` with the fields of `{wrapped}` next to op'
        )
    if corrected := corrected_edit(op, edit):
        said = "the edit has no op" if op is None else f"there is no operation `{short_name(op)}`"
        return Diagnostic.invalid(said, f"send `{corrected}`")
    if not isinstance(op, str):
        return Diagnostic.invalid(
            "the edit has no op", f'name one, such as "replace_section"; {_ALL_OPERATIONS}'
        )
    near = meant_operations(op, tuple(OPERATIONS))
    hint = f"did you mean {' or '.join(f'`{name}`' for name in near)}?" if near else _ALL_OPERATIONS
    return Diagnostic.invalid(f"there is no operation `{short_name(op)}`", hint)


@cache
def _edit_synonyms(model: type[Any]) -> Mapping[str, str]:
    """Synonyms of the fields of an operation."""
    return {old: new for old, new in EDIT_SYNONYMS.items() if new in wire_names(model)}


def _edit_count(entry: object) -> int:
    edits = entry.get("edits") if isinstance(entry, dict) else None
    return len(edits) if isinstance(edits, list) else 0


def too_large(files: int, edits: int, limits: Limits) -> Diagnostic | None:
    """BATCH_TOO_LARGE for more `files` or `edits` than `limits` allow."""
    return _over(("files", files, limits.files, "--max-files"), ("edits", edits, limits.edits, "--max-edits"))


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


_BYTES: Final = Diagnostic.invalid("an edit contains bytes", "decode them: mdplan takes str")
_NO_LIST: Final = Diagnostic.invalid("files is not a list", 'send "files": [{"file": …, "edits": […]}]')


def _scope(value: object) -> ReferenceScope | None:
    if isinstance(value, bool):
        return "file" if value else "none"
    return _SCOPES.get(value) if isinstance(value, str) else None
