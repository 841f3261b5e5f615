"""Batches in which a glob stands for files (DESIGN section 6): these are found, and then it is a batch."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.documents.globs import files_of
from mdplan.field_names import FILE_SYNONYMS, fold_names
from mdplan.requests.batch import Batch, FileEdits
from mdplan.requests.batch_reader import read_batch
from mdplan.requests.limits import Limits
from mdplan.requests.model_reader import decoded_json, wire_names
from mdplan.storage.workspace import Workspace

_GLOB: Final = "glob"
_OF_ONE_FILE: Final = ("file", "baseSha256")


def expand_globs(data: object, workspace: Workspace, limits: Limits) -> Batch | Problems:
    """The batch in `data`, as `read_batch` reads it; a file may be named by `glob` in place of `file`.

    Each file of `workspace` that matches, and that git does not ignore, gets the same edits. Errors: those of
    `read_batch` and `files_of`; INVALID_ARGUMENT for what is of one file beside a glob, FILE_NOT_FOUND for
    a glob that no file matches, BATCH_TOO_LARGE for one that more files match than `limits` allow.
    """
    fields = decoded_json(data)
    if not isinstance(fields, dict):
        return read_batch(data, limits)
    files = decoded_json(fields.get("files"))
    if _GLOB in fields and "files" not in fields:
        of_file = {*wire_names(FileEdits), _GLOB}
        folded = fold_names(fields, FILE_SYNONYMS)
        files = [{name: value for name, value in folded.items() if name in of_file}]
        fields = {name: value for name, value in folded.items() if name not in of_file}
    entries = [decoded_json(entry) for entry in files] if isinstance(files, list) else []
    if not any(isinstance(entry, dict) and _GLOB in entry for entry in entries):
        return read_batch(data, limits)
    found: list[object] = []
    problems: list[Diagnostic] = []
    for entry in entries:
        for each in _expanded(entry, workspace, limits):
            if isinstance(each, Diagnostic):
                problems.append(each)
            else:
                found.append(each)
    return tuple(problems) or read_batch({**fields, "files": found}, limits)


def _expanded(entry: Any, workspace: Workspace, limits: Limits) -> Iterator[object]:  # noqa: ANN401
    """`entry` of a batch once for each file that it stands for, or what is wrong with it."""
    if not isinstance(entry, dict) or _GLOB not in entry:
        yield entry
        return
    folded = fold_names(entry, FILE_SYNONYMS)
    glob = folded.pop(_GLOB)
    problem = _problem(glob, folded)
    names = problem or files_of(workspace, glob)
    if isinstance(names, Diagnostic):
        yield names
        return
    paths = [str(name) for name in islice(names, limits.glob_files + 1)]
    if not paths:
        yield Diagnostic(
            code=Code.FILE_NOT_FOUND,
            message=f"no file matches `{glob}`",
            hint="a glob is relative to the root, and leaves out what git ignores",
        )
    elif len(paths) > limits.glob_files:
        yield Diagnostic(
            code=Code.BATCH_TOO_LARGE,
            message=f"`{glob}` matches more than {limits.glob_files} files",
            hint="narrow it, or raise the limit (`--max-glob-files`); a manifest has no such limit",
        )
    else:
        yield from ({**folded, "file": path} for path in paths)


def _problem(glob: object, fields: Mapping[str, Any]) -> Diagnostic | None:
    beside = next((name for name in _OF_ONE_FILE if fields.get(name) is not None), None)
    if isinstance(glob, str) and beside is None:
        return None
    return Diagnostic.invalid(
        "glob is not a string" if beside is None else f"glob stands beside {beside}, which is of one file",
        'send {"glob": "docs/**/*.md", "edits": […]}',
    )
