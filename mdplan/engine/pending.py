"""Commits that were cut off, as those see them who only look."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from mdplan.diagnostics import Diagnostic, Problems, Severity
from mdplan.storage.fs.errors import StorageRefused
from mdplan.storage.fs.root import Root
from mdplan.storage.journal.state_folder import has_journal
from mdplan.storage.workspace import Workspace


def pending_transactions(workspace: Workspace) -> list[Diagnostic]:
    """A warning for every commit in the roots of `workspace` that was cut off. Those of `pending`."""
    found = (problem for root in workspace.roots for problem in _pending(root))
    return [replace(problem, severity=Severity.WARNING) for problem in without_hidden(workspace, found)]


def without_hidden(workspace: Workspace, problems: Iterable[Diagnostic]) -> Problems:
    """`problems`, without what they tell of files that `--allow` or `--deny` excludes."""
    return tuple(
        replace(problem, file=None, message=_HIDDEN, hint="run `mdplan recover` without these options")
        if problem.file is not None and workspace.hides(problem.file)
        else problem
        for problem in problems
    )


def _pending(root: Root) -> Problems:
    try:
        if not has_journal(root):
            return ()
    except StorageRefused as refused:
        return refused.problems
    # Where nothing was ever committed, a look need not load what commits are made of.
    from mdplan.storage.transaction.recovery import pending

    return pending(root)


_HIDDEN: Final = "an interrupted commit changed a file that `--allow` or `--deny` excludes"
