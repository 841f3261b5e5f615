"""The reports of `history` and `recover`."""

from typing import Literal, final

from mdplan.client import Client
from mdplan.diagnostics import Diagnostic
from mdplan.reports.base import Report
from mdplan.reports.plan import Approved, FileReport, RecoveredTransactions, ReviewReport
from mdplan.values import Struct


class TransactionEntry(Struct, kw_only=True):
    """One transaction. `committed_at` is in seconds since the epoch.

    `state` is ``committed``, or ``rolled back`` for one that was interrupted and undone by recovery.
    `undone_by` is the transaction that took it back, unless that was taken back itself; `undoes` the one that
    it took back. `undoable` says whether the history has all that an undo needs; whether the files are still
    as it left them, only the undo shows. `root` names its root, where there are several.
    `title` and `description` say what its plan was for, and `client` is the program that made the plan.
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
    """A commit that another user or state directory began, and that was interrupted.

    `root` names its root, where there are several; `files` are those that `recover` would change if a person
    asked for that.
    """

    transaction: str
    root: str | None = None
    files: tuple[ForeignFile, ...] = ()


class HistorySize(Struct, kw_only=True):
    """How many transactions a history has, and how many bytes of old content, as they are stored.

    It keeps no more than `most_transactions`, `most_bytes`, and those of the last `most_days`: in each root.
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
    """Of `history`: transactions, the newest first. `more` says that there are older ones.

    `kept` is how large the whole history is.
    `reviews` are what people said of plans that were not made again since, or of one that was asked for.
    `diff` is that of a single transaction that was asked for; `diff_exact` is false where its bytes are not
    Unicode and it shows them escaped, `diff_truncated` true where it is cut short.

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
    """One thing that `doctor` examined: its name, what was found, and what to do about it.

    `status` is ``ok``; ``note`` for what works less well than it could; ``problem`` for what stops a commit
    or needs a person.
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
    """Of `check`: how many documents changed, and what the change broke. Lines are those of the new files.

    `skipped` are changed documents that cannot be read, each with the reason; they are not among `checked`.
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
    """Of `links`: how many documents were examined, and which of their links lead to nothing.

    `repairable` counts those whose target is known. `unused_definitions`, and `orphans`, the pages to which
    nothing leads, are there if asked for.
    """

    repairable: int = 0
    unused_definitions: tuple[UnusedDefinition, ...] | None = None
    orphans: tuple[str, ...] | None = None
