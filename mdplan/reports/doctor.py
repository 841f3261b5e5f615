"""The report of `doctor`."""

from dataclasses import dataclass
from typing import Literal

from mdplan.reports.base import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that `doctor` examined: its name, what was found, and what to do about it.

    `status` is ``ok``; ``note`` for what works less well than it could; ``problem`` for what stops a commit
    or needs a person.
    """

    check: str
    status: Literal["ok", "note", "problem"]
    found: str
    hint: str = ""
    root: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorReport(Report):
    """Of `doctor`: every check of every root. Problems are errors of the report as well.

    >>> all(check.status in ("ok", "note") for check in engine.doctor().checks)
    True
    """

    checks: tuple[Check, ...] = ()
