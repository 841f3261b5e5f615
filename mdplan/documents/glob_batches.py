"""Batches in which a glob stands for files (DESIGN section 6): these are found, and then it is a batch."""

from itertools import islice

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.documents.globs import files_of
from mdplan.requests.batch import Batch, FileEdits, GlobEdits
from mdplan.requests.batch_reader import too_large
from mdplan.requests.limits import Limits
from mdplan.storage.workspace import Workspace


def expand_globs(batch: Batch, workspace: Workspace, limits: Limits) -> Batch | Problems:
    """`batch` with each glob replaced by the files of `workspace` that match, and that git does not ignore.

    Errors: those of `files_of`; FILE_NOT_FOUND for a glob that no file matches, BATCH_TOO_LARGE for one that
    more files match than `limits` allow.
    """
    if not any(isinstance(entry, GlobEdits) for entry in batch.files):
        return batch
    files: list[FileEdits] = []
    problems: list[Diagnostic] = []
    for entry in batch.files:
        found = _matching(entry, workspace, limits) if isinstance(entry, GlobEdits) else [entry]
        if isinstance(found, Diagnostic):
            problems.append(found)
        else:
            files += found
    problem = too_large(len(files), sum(len(file.edits) for file in files), limits)
    if problem is not None:
        problems.append(problem)
    return tuple(problems) or batch.model_copy(update={"files": tuple(files)})


def _matching(entry: GlobEdits, workspace: Workspace, limits: Limits) -> list[FileEdits] | Diagnostic:
    glob = entry.file
    names = files_of(workspace, glob)
    if isinstance(names, Diagnostic):
        return names
    paths = [str(name) for name in islice(names, limits.glob_files + 1)]
    if not paths:
        return Diagnostic(
            code=Code.FILE_NOT_FOUND,
            message=f"no file matches `{glob}`",
            hint="a glob is relative to the root, and leaves out what git ignores",
        )
    if len(paths) > limits.glob_files:
        return Diagnostic(
            code=Code.BATCH_TOO_LARGE,
            message=f"`{glob}` matches more than {limits.glob_files} files",
            hint="narrow it, or raise the limit (`--max-glob-files`); a manifest has no such limit",
        )
    return [entry.of_file(path) for path in paths]
