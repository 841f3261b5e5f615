"""Reports of what went wrong below: of refusals, and of interrupted commits a warning for each."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, TypeVar

from mdplan.diagnostics import Diagnostic, Problems, Severity
from mdplan.documents.workspace import Workspace
from mdplan.reports.base import Report, refusal
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.root import Root
from mdplan.storage.user_state import has_conflict
from mdplan.values import replace
from mdplan.words import say

if TYPE_CHECKING:
    from mdplan.reports.history import HistoryReport
    from mdplan.reports.plan import PlanReport
    from mdplan.reports.stat import StatReport


AnyReport = TypeVar("AnyReport", bound="StatReport | PlanReport | HistoryReport")
Shape = TypeVar("Shape", bound=Report)
_HIDDEN: Final = "an interrupted commit changed a file that `--allow` or `--deny` excludes"


def with_interrupted(report: AnyReport, workspace: Workspace) -> AnyReport:
    """Return `report` of a verb that only looks, with a warning for each interrupted commit in `workspace`.

    The warnings have the codes of `pending`.
    """
    problems = (problem for root in workspace.roots for problem in _interrupted(root))
    warnings = (
        replace(problem, severity=Severity.WARNING) for problem in without_hidden(workspace, problems)
    )
    return replace(report, warnings=(*report.warnings, *warnings))


def reported(shape: type[Shape], make: Callable[[], Shape]) -> Shape:
    """Return what `make` reports, or as a `shape` why the storage refused it."""
    try:
        return make()
    except StorageRefused as refused:
        return refusal(shape, refused.problems)


def without_hidden(workspace: Workspace, problems: Iterable[Diagnostic]) -> Problems:
    """Return `problems`, without what they tell of files that `--allow` or `--deny` excludes."""
    return tuple(
        replace(problem, file=None, message=_HIDDEN, hint=say("{run recover} without these options"))
        if problem.file is not None and workspace.hides(problem.file)
        else problem
        for problem in problems
    )


def _interrupted(root: Root) -> Problems:
    if not (root.has_note() or has_conflict(root.path)):
        return ()
    # Interruptions are rare: a look need not load what commits are made of.
    from mdplan.storage.recovery import pending

    return pending(root)
