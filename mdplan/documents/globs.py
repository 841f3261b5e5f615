"""The files that a glob of a batch or of a manifest matches."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.documents.outlined_files import OutlinedFiles
from mdplan.limits import Limits
from mdplan.markdown.outline import Outline
from mdplan.operations.base import Operation
from mdplan.requests.batch import Batch, FileEdits, GlobEdits, MatchingEdits
from mdplan.requests.batch_reader import too_large
from mdplan.storage.fs.file_name import FileName
from mdplan.storage.fs.scope import compiled, cost_problem, glob_problem
from mdplan.storage.workspace import Workspace

_MOST_LISTED: Final = 20
_MOST_BYTES: Final = 1 << 30


def files_of(
    workspace: Workspace, glob: str, *, exclude: Sequence[str] = (), git_ignored: bool = False
) -> Iterator[FileName] | Diagnostic:
    """The files that match `glob` and none of `exclude`, sorted; without `git_ignored` none that git ignores.

    Errors: those of `Workspace.iter_files`; INVALID_ARGUMENT for an `exclude` that is not a glob.
    """
    for each in exclude:
        problem = cost_problem(each) or glob_problem(each)
        if problem is not None:
            return problem
    if not workspace.is_several(glob):
        return _the_file(workspace, glob)
    names = workspace.iter_files(glob, respect_gitignore=not git_ignored)
    if isinstance(names, Diagnostic) or not exclude:
        return names
    excluded = compiled(exclude)
    return (name for name in names if not excluded.match_file(name.path))


def _the_file(workspace: Workspace, path: str) -> Iterator[FileName] | Diagnostic:
    """The file that a glob without wildcards names, if it is there."""
    name = workspace.locate(path)
    if isinstance(name, Diagnostic):
        return name
    return iter(() if isinstance(workspace.status_of(name), Diagnostic) else (name,))


def expand_globs(batch: Batch, documents: OutlinedFiles, limits: Limits) -> Batch | Problems:
    """`batch` with each glob replaced by the files that match, and that git does not ignore.

    Where all edits of a glob in `files` are replace_match, its files are those in which one of them has a
    match.

    Errors: those of `files_of`; FILE_NOT_FOUND for a glob that no file matches, BATCH_TOO_LARGE for one that
    more files match than `limits` allow.
    """
    if not any(isinstance(entry, GlobEdits) for entry in batch.files):
        return _other_count(batch) or batch
    files: list[FileEdits] = []
    problems: list[Diagnostic] = []
    for entry in batch.files:
        found = _matching(entry, documents, limits) if isinstance(entry, GlobEdits) else [entry]
        if isinstance(found, Diagnostic):
            problems.append(found)
        else:
            files += found
    problem = too_large(len(files), sum(len(file.edits) for file in files), limits)
    if problem is not None:
        problems.append(problem)
    expanded = batch.model_copy(update={"files": tuple(files)})
    return tuple(problems) or _other_count(expanded) or expanded


def _other_count(batch: Batch) -> Problems:
    """MATCH_COUNT_MISMATCH where `batch` is for more or less files than it says itself."""
    if batch.expected_files in {None, len(batch.files)}:
        return ()
    named = ", ".join(file.file for file in batch.files[:_MOST_LISTED])
    more = ", …" if len(batch.files) > _MOST_LISTED else ""
    return (
        Diagnostic(
            code=Code.MATCH_COUNT_MISMATCH,
            message=f"the edits are for {len(batch.files)} file{'s' if len(batch.files) > 1 else ''}, "
            f"and expectedFiles is {batch.expected_files}: {named}{more}",
            hint=f'`"expectedFiles": {len(batch.files)}` is for all of them, also those that the edits leave '
            'as they are; or list the names in "files"',
        ),
    )


def _matching(entry: GlobEdits, documents: OutlinedFiles, limits: Limits) -> list[FileEdits] | Diagnostic:
    glob, workspace = entry.file, documents.workspace
    names = files_of(workspace, glob)
    if isinstance(names, Diagnostic):
        return names
    texts = _needed_texts(entry.edits) if isinstance(entry, MatchingEdits) else ()
    wanted = (name for name in names if _has_one(workspace, name, texts))
    paths = [str(name) for name in islice(wanted, limits.glob_files + 1)]
    if not paths:
        return Diagnostic(
            code=Code.FILE_NOT_FOUND,
            message=f"no file matches `{glob}`"
            + (" and has the text that the edits look for" if texts else ""),
            hint="a glob is relative to the root, and skips what git ignores",
        )
    if len(paths) > limits.glob_files:
        return Diagnostic(
            code=Code.BATCH_TOO_LARGE,
            message=f"`{glob}` matches more than {limits.glob_files} files",
            hint="narrow it, or raise `--max-glob-files`",
        )
    files = [entry.of_file(path) for path in paths]
    if isinstance(entry, MatchingEdits):
        # Where no file has a match, the plan says why.
        return [file for file in files if _has_match(file, documents)] or files
    return files


def _has_match(file: FileEdits, documents: OutlinedFiles) -> bool:
    """Whether an edit of `file` finds what it looks for, or is not a replace_match."""
    name = documents.workspace.locate(file.file)
    outline = name if isinstance(name, Diagnostic) else documents.open(name, file.encoding, file.format)
    return isinstance(outline, Diagnostic) or any(not _finds_nothing(edit, outline) for edit in file.edits)


def _finds_nothing(edit: Operation, outline: Outline) -> bool:
    from mdplan.operations.matches import ReplaceMatch

    found = edit.resolve(outline) if isinstance(edit, ReplaceMatch) else None
    return isinstance(found, tuple) and all(
        edit.already_satisfied(problem, outline)
        or (problem.code is Code.SECTION_NOT_FOUND and not problem.candidates)
        for problem in found
    )


def _needed_texts(edits: Sequence[Operation]) -> tuple[bytes, ...]:
    """Texts of which a file must have one so that an edit finds its own; none where that is not known.

    A line end in a text stands for any, so only its longest line counts.
    """
    from mdplan.operations.matches import ReplaceMatch
    from mdplan.text.pattern import MatchType

    texts: list[bytes] = []
    for edit in edits:
        is_plain = (
            isinstance(edit, ReplaceMatch) and edit.match_type is MatchType.LITERAL and edit.case_sensitive
        )
        if not is_plain or not isinstance(edit, ReplaceMatch):
            return ()
        texts.append(max(edit.pattern.replace("\r", "\n").split("\n"), key=len).encode("utf-8", "replace"))
    return tuple(texts)


def _has_one(workspace: Workspace, name: FileName, texts: Sequence[bytes]) -> bool:
    if not texts:
        return True
    found = workspace.read(name, _MOST_BYTES)
    # A file that cannot be read is left to the plan, which says so.
    return isinstance(found, Diagnostic) or any(text in found.data for text in texts)
