"""The files that a glob of a batch or of a manifest stands for."""

from collections.abc import Iterator, Sequence

from mdplan.diagnostics import Diagnostic
from mdplan.storage.fs.file_name import FileName
from mdplan.storage.fs.scope import compiled, cost_problem, glob_problem
from mdplan.storage.workspace import Workspace


def files_of(
    workspace: Workspace, glob: str, *, exclude: Sequence[str] = (), git_ignored: bool = False
) -> Iterator[FileName] | Diagnostic:
    """The files that match `glob` and none of `exclude`, sorted; without `git_ignored` none that git ignores.

    Errors: those of `Workspace.iter_files`; INVALID_ARGUMENT for an `exclude` that is no glob.
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
    return iter(() if isinstance(workspace.look_at(name), Diagnostic) else (name,))
