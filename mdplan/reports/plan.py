"""The reports of `validate`, `plan`, `apply` and `undo`, and of reviews and comparisons of plans."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from mdplan.client import Client
from mdplan.diagnostics import Diagnostic
from mdplan.plan import EditResult, FileChange, MatchResult
from mdplan.reports.base import Report
from mdplan.values import Struct, asdict

# The `repr` of a report shows 12 digits of the plan ID and at most this number of files.
_ID_SHOWN: Final = len("sha256-") + 12
_FILES_SHOWN: Final = 10


class FileReport(Struct, kw_only=True):
    """A file of a plan. Line counts come from the diff.

    A created file has no `base_sha256`, a deleted one no `result_sha256`; `new_file` is the new name of a
    renamed file. `references_updated` counts rewritten links in it; some files change only because of these
    links.
    """

    file: str
    base_sha256: str | None
    result_sha256: str | None
    changed: bool
    lines_added: int
    lines_removed: int
    new_file: str | None = None
    references_updated: int | None = None

    @classmethod
    def of(cls, change: FileChange) -> "FileReport":
        """Return the report on `change`."""
        return cls(
            file=change.path,
            base_sha256=change.base_sha256,
            result_sha256=change.result_sha256,
            changed=not change.is_no_op,
            lines_added=change.lines_added,
            lines_removed=change.lines_removed,
            new_file=change.new_path,
            references_updated=change.references_updated or None,
        )


# --- The reports on reviews: comments on a plan, and the comparison with another plan.


class ReviewComment(Struct, kw_only=True):
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


class ComparedFile(Struct, kw_only=True):
    """A file with different results in two plans. Line counts come from the diff between the results.

    `state` is ``changed``, ``only in the new plan`` or ``only in the old plan``.
    """

    file: str
    state: str
    lines_added: int
    lines_removed: int


class PlanComparison(Struct, kw_only=True):
    """The differences between the results of the plans `against` and `plan_id`."""

    plan_id: str
    against: str
    files: tuple[ComparedFile, ...] = ()
    diff: str = ""
    diff_exact: bool | None = None
    diff_truncated: bool | None = None


class ReviewReport(Struct, kw_only=True):
    """The review of the plan `plan_id`; `verdict` is None without a decision.

    `verdict` is ``approved``, ``rejected`` or ``changes requested``; `decided_at` is in seconds since the
    epoch, and `channel` names the interface. `comments` are in the order of the edits. `comparison` shows the
    differences of the plan that replaced this one, if that is shown.
    """

    plan_id: str
    verdict: str | None = None
    decided_by: str | None = None
    decided_at: float | None = None
    channel: str | None = None
    comment: str | None = None
    comments: tuple[ReviewComment, ...] = ()
    comparison: PlanComparison | None = None


class PlanReport(Report, kw_only=True):
    """Result of `validate` and `plan`, which write nothing.

    `accepted` and `rejected` are indexes of the original batch if only some edits were requested; the edits
    of the report are renumbered. For a batch of one file, `file` and `base_sha256` describe it, and `matches`
    lists those of all edits, at most 50; for several files, see the edit results. `diff` is a unified diff;
    `diff_exact` is false if it contains escaped bytes that are not Unicode. `stored` is true if the plan can
    be applied by its ID. `title` and `description` come from the batch; `client` is the program that made a
    plan shown later. `review` is the review of this plan, or of the plan that it replaces.

    >>> rename = {"op": "rename_heading", "heading": "Brew", "newTitle": "Brewing"}
    >>> report = engine.plan({"file": "guide.md", "edits": [rename]})
    >>> report.ok, report.edits_applied, report.files[0].lines_added
    (True, 1, 1)
    """

    plan_id: str | None = None
    title: str | None = None
    description: str | None = None
    client: Client | None = None
    stored: bool | None = None
    no_op: bool | None = None
    file: str | None = None
    base_sha256: str | None = None
    files: tuple[FileReport, ...] = ()
    diff: str | None = None
    diff_exact: bool | None = None
    diff_truncated: bool | None = None
    accepted: tuple[int, ...] | None = None
    rejected: tuple[int, ...] | None = None
    edits_applied: int | None = None
    matches_found: int | None = None
    matches_replaced: int | None = None
    matches: tuple[MatchResult, ...] | None = None
    excluded_matches: Mapping[str, int] | None = None
    edit_results: tuple[EditResult, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    review: ReviewReport | None = None
    applied: bool = False

    def __repr__(self) -> str:
        """Return a summary for the Python prompt: files with line counts, and problems."""
        if not self.ok:
            return f"<{type(self).__name__}: refused, {self.error}>"
        state = "applied" if self.applied else "no change" if self.no_op else "planned"
        files = [f"{each.file} +{each.lines_added} -{each.lines_removed}" for each in self.files]
        parts = [state, (self.plan_id or "")[:_ID_SHOWN], *files[:_FILES_SHOWN]]
        parts += [f"{len(files) - _FILES_SHOWN} more files"] if len(files) > _FILES_SHOWN else []
        parts += (
            [f"{len(self.warnings)} warning{'s' if len(self.warnings) > 1 else ''}"] if self.warnings else []
        )
        return f"<{type(self).__name__}: {', '.join(filter(None, parts))}>"

    def _repr_html_(self) -> str:
        """Return the coloured diff for notebooks."""
        return report_html(repr(self), self.diff or "", [str(each) for each in self.warnings])


class Receipt(Struct, kw_only=True):
    """A committed transaction. `committed_at` is in seconds since the epoch.

    `cas` is ``weak`` if a late write by another program could go unnoticed; receipts of earlier calls omit
    it.
    """

    transaction: str
    plan_id: str
    files: tuple[FileReport, ...]
    committed_at: float
    durability: str
    cas: str | None = None


class RecoveredTransactions(Struct, kw_only=True):
    """The recovery of interrupted commits.

    `rolled_back` were undone, `finished` were committed and are now cleaned up, and `files` were restored.
    """

    rolled_back: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class LineShift(Struct, kw_only=True):
    """Lines of a base that still exist: line n is now line n + `shift`.

    Lines are 1-based and inclusive.
    """

    start_line: int
    end_line: int
    shift: int


class ContextBlock(Struct, kw_only=True):
    """Text of whole lines of a result; their numbers are 1-based and inclusive.

    Where context is cut short, the last block may end inside its last line.
    """

    start_line: int
    end_line: int
    text: str


class WrittenFile(Struct, kw_only=True):
    """A file that was just written, with everything that the next edit of it needs.

    `line_map` maps lines of the base to new lines: ranges in order; all other lines were replaced or deleted.
    `context` has the new lines around each change: three before and after it, and the first and last three of
    the change. If a report would be too long, later entries are omitted, and `line_map_truncated` or
    `context_truncated` is true.
    """

    file: str
    line_map: tuple[LineShift, ...]
    context: tuple[ContextBlock, ...]
    line_map_truncated: bool | None = None
    context_truncated: bool | None = None


class Approved(Struct, kw_only=True):
    """Who approved a plan, when (in seconds since the epoch), and what they said.

    `channel` is the way: ``page``, ``terminal``, ``command line``, ``chat form``, ``chat app``, or ``app``
    for a program. With `overrides` they approved it in spite of a rejection or a request for changes.
    """

    decided_by: str
    decided_at: float
    channel: str | None = None
    comment: str = ""
    overrides: bool | None = None


class UndoneTransaction(Struct, kw_only=True):
    """The transaction that an undo takes back, who committed it, and when (in seconds since the epoch)."""

    transaction: str
    actor: str | None = None
    committed_at: float | None = None


class ApplyReport(PlanReport, kw_only=True):
    """Of `apply`. `applied` says whether the files now have their result; `receipt` is of the transaction.

    With `rebased` the files had changed, and the same edits were planned on them again. `written` is of the
    files that this call changed. `undoable` says whether the history has all that an undo needs, `durable`
    whether the commit would survive a loss of power now. `recovered` lists the interrupted
    commits that were repaired first.
    `approved` is the approval that the commit used, `undone` the transaction that an undo undoes.

    >>> report = engine.apply({"file": "new.md", "edits": [{"op": "create_file", "markdown": "# New"}]})
    >>> report.ok, report.applied, report.receipt.files[0].base_sha256
    (True, True, None)
    """

    already_applied: bool | None = None
    rebased: bool | None = None
    receipt: Receipt | None = None
    undoable: bool | None = None
    durable: bool | None = None
    recovered: RecoveredTransactions | None = None
    approved: Approved | None = None
    written: tuple[WrittenFile, ...] | None = None
    undone: UndoneTransaction | None = None


def as_apply_report(report: PlanReport) -> ApplyReport:
    """Return `report` in the form of `apply` and `undo`, for calls that committed nothing."""
    return ApplyReport(**asdict(report))


class ComparisonReport(Report, kw_only=True):
    """Of `compare`: what one plan does otherwise than another.

    >>> first = engine.plan({"file": "new.md", "edits": [{"op": "create_file", "markdown": "# New"}]})
    >>> second = engine.plan({"file": "new.md", "edits": [{"op": "create_file", "markdown": "# Newer"}]})
    >>> engine.compare(second.plan_id, first.plan_id).comparison.files[0].state
    'changed'
    """

    comparison: PlanComparison | None = None


# --- A report on a plan as a notebook shows it.

# Colors that can be read on a light and on a dark page.
_STYLES: Final = {"+": "color:#1a7f37", "-": "color:#cf222e", "@": "color:#8250df"}


def report_html(summary: str, diff: str, warnings: Sequence[str]) -> str:
    """HTML of `summary`, the `warnings` and the lines of `diff`; all of it is escaped."""
    notes = "".join(f"<li>{escape(each)}</li>" for each in warnings)
    lines = "\n".join(map(_line, diff.splitlines()))
    listed = f"<ul>{notes}</ul>" if notes else ""
    return f"<div><p><code>{escape(summary)}</code></p>{listed}<pre>{lines}</pre></div>"


def _line(line: str) -> str:
    style = "" if line.startswith(("+++", "---")) else _STYLES.get(line[:1], "")
    return f'<span style="{style}">{escape(line)}</span>' if style else escape(line)
