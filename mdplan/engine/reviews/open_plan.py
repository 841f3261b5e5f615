"""A plan under review, as every user interface shows it, and the states of plans."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import TypeVar

from mdplan.client import Client
from mdplan.diagnostics import Diagnostic, Problems
from mdplan.documents.documents import Documents
from mdplan.plan import Plan
from mdplan.planning.replay import FoundFile, stale_file
from mdplan.review.lines import FileSides
from mdplan.review.plan_review import (
    FileReview,
    FoundLine,
    PlanReview,
    ReviewedLine,
    TouchedSection,
    found_lines,
    review_file,
    touched_section,
    unchanged_lines,
)
from mdplan.storage.fs.root import Root
from mdplan.storage.user.decision_log import Decision, DecisionHistory
from mdplan.text.source import Source

_Seen = TypeVar("_Seen")


class ReviewState(StrEnum):
    """Where a plan is. A plan that was approved in part is approved; its part is a plan of its own."""

    PENDING = "waiting"
    APPROVED = "approved"
    REJECTED = "rejected"
    CHANGES_REQUESTED = "changes requested"
    APPLIED = "applied"
    STALE = "stale"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewEntry:
    """One plan in the list. `saved_at` is in seconds since the epoch; `root` is empty where there is one.

    `client` is the program that made it, as far as it is known.
    """

    state: ReviewState
    saved_at: float
    root: str
    review: PlanReview
    decision: Decision | None
    client: Client | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPlan:
    """A plan that is examined. `review` is it in short; `file` and `section` give the rest, piece by piece.

    `decision` is the one in force, which can be on a plan that this one was derived from. `stale` lists what
    changed since the plan was made, section by section. `bases` are its files before the plan; None where the
    content is no longer known, and `without_text` says why. `client` is the program that made the plan,
    as far as it is known, and `revises` the plan in whose place its author made it.
    """

    plan: Plan
    root: Root
    review: PlanReview
    state: ReviewState
    decision: Decision | None
    decisions: DecisionHistory
    stale: Problems
    bases: Sequence[Source] | None
    without_text: Problems
    documents: Documents
    client: Client | None
    revises: str | None = None

    def file(self, index: int) -> FileReview | Problems:
        """The file at `index` of the plan, with its hunks.

        Errors: PLAN_TAMPERED, STALE_BASE, PARSE_TIMEOUT; those of `without_text`.
        """
        return self._with_timeout(index, lambda sides: review_file(self.plan, self.review, sides))

    def texts(self, index: int) -> tuple[list[str], list[str]] | None:
        """The lines of the file at `index` before and after the plan; None where its text is not known."""
        sides = self._sides(index)
        if not isinstance(sides, FileSides):
            return None
        return _lines(sides.base.text), _lines(sides.result_text)

    def section(self, edit_index: int, file_index: int) -> TouchedSection | Problems | None:
        """What an edit touches in a file, before and after; None where there is no section.

        Errors: those of `file`.
        """
        edit = next(edit for edit in self.review.edits if edit.index == edit_index)
        return self._with_timeout(file_index, lambda sides: touched_section(sides, edit.result))

    def context(self, index: int, first: int, last: int) -> list[ReviewedLine] | Problems:
        """The lines `first` to `last` of the result of a file, without those that are in its hunks.

        Errors: those of `file`.
        """
        return self._with_timeout(index, lambda sides: unchanged_lines(sides, first, last))

    def found(self, index: int, wanted: str, limit: int) -> list[FoundLine] | Problems:
        """The first `limit` lines of the diff of a file that contain `wanted`. Errors: those of `file`."""
        return self._with_timeout(index, lambda sides: list(islice(found_lines(sides, wanted), limit)))

    def _with_timeout(self, index: int, read: Callable[[FileSides], _Seen]) -> _Seen | Problems:
        """What `read` returns for the file at `index`. Errors: as above."""

        def seen() -> _Seen | Problems:
            sides = self._sides(index)
            return read(sides) if isinstance(sides, FileSides) else sides

        found = self.documents.with_timeout(self.plan.files[index].path, seen)
        return (found,) if isinstance(found, Diagnostic) else found

    def _sides(self, index: int) -> FileSides | Problems:
        if self.bases is None:
            return self.without_text
        change, base = self.plan.files[index], self.bases[index]
        # Files are read when they are examined.
        problem = stale_file(change, FoundFile.of(base)) if change.base_sha256 is not None else None
        if problem is not None:
            return (problem,)
        sides = FileSides.of(change, base)
        return sides if isinstance(sides, FileSides) else (sides,)


def _lines(text: str) -> list[str]:
    """The lines of `text` as the diff counts them: a CR alone ends none."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines if lines[-1] else lines[:-1]
