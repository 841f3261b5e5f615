"""The reports on reviews: comments on a plan, and the comparison with another plan."""

from dataclasses import dataclass

from mdplan.reports.base import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewComment:
    """A comment on an edit, or on lines of a file.

    `edit_index` is of the plan that was commented, and `edit` its number as people count; a comment on lines
    names the edit that made them. `side` is ``before`` or ``after`` the plan; lines are 1-based and
    inclusive, and `quote` is their text. With `outdated` the plan that is shown changes these lines.
    """

    text: str
    edit_index: int | None = None
    edit: str | None = None
    file: str | None = None
    side: str | None = None
    start_line: int | None = None
    end_line: int | None = None
    quote: str | None = None
    outdated: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedFile:
    """A file that two plans leave in another state. Line counts are those of the diff between the results.

    `state` is ``changed`` where both plans have it, else ``only in`` one of them.
    """

    file: str
    state: str
    lines_added: int
    lines_removed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanComparison:
    """What the plan `plan_id` does otherwise than the plan `against`, from one result to the other."""

    plan_id: str
    against: str
    files: tuple[ComparedFile, ...] = ()
    diff: str = ""
    diff_exact: bool | None = None
    diff_truncated: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewReport:
    """What a person decided about the plan `plan_id`; `verdict` is None where nobody did.

    `verdict` is ``approved``, ``rejected`` or ``changes requested``, `decided_at` in seconds since the epoch,
    and `channel` the way. `comments` are in the order of the edits. Where another plan was made in its place
    and is shown, `comparison` is what that does otherwise.
    """

    plan_id: str
    verdict: str | None = None
    decided_by: str | None = None
    decided_at: float | None = None
    channel: str | None = None
    comment: str | None = None
    comments: tuple[ReviewComment, ...] = ()
    comparison: PlanComparison | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonReport(Report):
    """Of `compare`: what one plan does otherwise than another.

    >>> first = engine.plan({"file": "new.md", "edits": [{"op": "create_file", "markdown": "# New"}]})
    >>> second = engine.plan({"file": "new.md", "edits": [{"op": "create_file", "markdown": "# Newer"}]})
    >>> engine.compare(second.plan_id, first.plan_id).comparison.files[0].state
    'changed'
    """

    comparison: PlanComparison | None = None
