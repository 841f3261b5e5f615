"""The reports of `history` and `recover`."""

from typing import Any, Literal, final

from mdplan.client import Client
from mdplan.diagnostics import Diagnostic
from mdplan.reports.base import Report
from mdplan.reports.plan import Approved, FileReport, RecoveredTransactions, ReviewReport
from mdplan.values import Struct


class TransactionEntry(Struct, kw_only=True):
    """A transaction. `committed_at` is in seconds since the epoch.

    `state` is ``committed``, or ``rolled back`` if it was interrupted and recovery undid it. `undone_by` is
    the transaction that undid it, unless that was itself undone; `undoes` is the transaction that it undid.
    `undoable` is true if the history has everything an undo needs; only the undo checks if the files have
    changed since. `root` is the name of its root if there are several. `title` and `description` come from
    its plan, and `client` is the program that made the plan.
    """

    transaction: str
    state: str
    undoable: bool
    files: tuple[FileReport, ...]
    root: str | None = None
    plan_id: str | None = None
    committed_at: float | None = None
    durability: str | None = None
    undone_by: str | None = None
    undoes: str | None = None
    actor: str | None = None
    client: Client | None = None
    title: str | None = None
    description: str | None = None
    approved: Approved | None = None


class ForeignFile(Struct, kw_only=True):
    """A file that the recovery of a foreign transaction would change, and how."""

    file: str
    action: str


class ForeignTransaction(Struct, kw_only=True):
    """An interrupted commit of another user or state directory.

    `root` is the name of its root if there are several; `files` are the files that `recover` would change on
    request.
    """

    transaction: str
    root: str | None = None
    files: tuple[ForeignFile, ...] = ()


class HistorySize(Struct, kw_only=True):
    """The number of transactions in the history, and the stored bytes of old content.

    Each root keeps at most `most_transactions`, `most_bytes`, and the last `most_days` days.
    """

    transactions: int
    content_bytes: int
    most_transactions: int
    most_bytes: int
    most_days: float


class PruneReport(Report, kw_only=True):
    """Of `prune`: how many transactions went, with how many bytes of old content, and what is `kept`.

    >>> engine.prune(older_than=30.0).transactions
    0
    """

    transactions: int = 0
    content_bytes: int = 0
    kept: HistorySize | None = None


@final
class HistoryReport(Report, kw_only=True):
    """Result of `history`: transactions, newest first. `more` is true if there are older ones.

    `kept` is the size of the whole history. `reviews` are reviews of plans that have not been replaced since,
    or the review of the requested plan. `diff` belongs to a single requested transaction; `diff_exact` is
    false if the diff contains escaped bytes that are not Unicode, `diff_truncated` is true if it was cut.

    >>> engine.history().transactions
    ()
    """

    transactions: tuple[TransactionEntry, ...] = ()
    more: bool | None = None
    kept: HistorySize | None = None
    reviews: tuple[ReviewReport, ...] = ()
    diff: str | None = None
    diff_exact: bool | None = None
    diff_truncated: bool | None = None
    warnings: tuple[Diagnostic, ...] = ()


class RecoverReport(Report, kw_only=True):
    """Of `recover`: what was done now, None for nothing. Errors are what still needs a person.

    `foreign` are interrupted transactions of others, about which nothing was done.

    >>> report = engine.recover()
    >>> report.ok, report.recovered
    (True, None)
    """

    recovered: RecoveredTransactions | None = None
    foreign: tuple[ForeignTransaction, ...] | None = None
    warnings: tuple[Diagnostic, ...] = ()


# --- The report of `doctor`.


class Check(Struct, kw_only=True):
    """One check of `doctor`: its name, the finding, and advice.

    `status` is ``ok``, ``note`` for reduced function, or ``problem`` for anything that stops commits or needs
    a person.
    """

    check: str
    status: Literal["ok", "note", "problem"]
    found: str
    hint: str = ""
    root: str | None = None


class DoctorReport(Report, kw_only=True):
    """Of `doctor`: every check of every root. Problems are errors of the report as well.

    >>> all(check.status in ("ok", "note") for check in engine.doctor().checks)
    True
    """

    checks: tuple[Check, ...] = ()


# --- The report of `mdplan check`.


class CheckReport(Report, kw_only=True):
    """Result of `check`: the number of changed documents, and what the changes broke.

    Lines refer to the new files. `skipped` are changed but unreadable documents, with reasons; `checked`
    excludes them.
    """

    checked: int = 0
    warnings: tuple[Diagnostic, ...] = ()
    skipped: tuple[Diagnostic, ...] = ()


class UnusedDefinition(Struct, kw_only=True):
    """A definition of a link or footnote that its document does not use."""

    file: str
    line: int
    label: str


class LinksReport(CheckReport, kw_only=True):
    """Result of `links`: the number of documents, and their broken links.

    `repairable` counts broken links whose target is known; `fix` is a batch of these repairs, for `plan`.
    `unused_definitions`, and `orphans` (pages without
    incoming links), are listed on request.
    """

    repairable: int = 0
    fix: dict[str, Any] | None = None
    unused_definitions: tuple[UnusedDefinition, ...] | None = None
    orphans: tuple[str, ...] | None = None
