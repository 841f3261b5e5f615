"""The report of `mdplan check`."""

from dataclasses import dataclass

from mdplan.diagnostics import Diagnostic
from mdplan.reports.base import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport(Report):
    """Of `check`: how many documents changed, and what the change broke. Lines are those of the new files.

    `skipped` are changed documents that cannot be read, each with the reason; they are not among `checked`.
    """

    checked: int = 0
    warnings: tuple[Diagnostic, ...] = ()
    skipped: tuple[Diagnostic, ...] = ()
