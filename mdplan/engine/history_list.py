"""Reports of `history`: list transactions, show one, and prune old ones."""

from collections.abc import Iterator

from mdplan.diagnostics import Diagnostic, Problems, Severity
from mdplan.documents.workspace import Workspace
from mdplan.engine.history import History, PastTransaction, changed_paths
from mdplan.engine.interrupted import with_interrupted
from mdplan.reports.base import refusal
from mdplan.reports.history import HistoryReport, HistorySize, PruneReport, TransactionEntry
from mdplan.reports.plan import FileReport
from mdplan.settings import Settings
from mdplan.storage.files import FileName
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.lock import locked
from mdplan.storage.store import Store
from mdplan.text.diff import DiffText
from mdplan.values import replace


def list_transactions(
    workspace: Workspace, limit: int, file: str | None, settings: Settings
) -> HistoryReport:
    """Return up to `limit` transactions, newest first, optionally only those that changed `file`.

    Unreadable records are warnings. Errors: as `Workspace.locate`.
    """
    name = workspace.locate(file) if file is not None else None
    if isinstance(name, Diagnostic):
        return with_interrupted(refusal(HistoryReport, (name,)), workspace)
    warnings: list[Diagnostic] = []
    entries: list[TransactionEntry] = []
    for entry in _entries(workspace, name):
        if isinstance(entry, Diagnostic):
            warnings.append(replace(entry, severity=Severity.WARNING))
        else:
            entries.append(entry)
        if len(entries) > limit:
            break
    report = HistoryReport(
        ok=True,
        transactions=tuple(entries[:limit]),
        more=len(entries) > limit,
        kept=None if warnings else _size(workspace, settings),
        warnings=tuple(warnings),
    )
    return with_interrupted(report, workspace)


def _size(workspace: Workspace, settings: Settings) -> HistorySize:
    sizes = [Store(root.path).size() for root in workspace.roots]
    return HistorySize(
        transactions=sum(size.transactions for size in sizes),
        content_bytes=sum(size.content_bytes for size in sizes),
        most_transactions=settings.history_transactions,
        most_bytes=settings.history_bytes,
        most_days=settings.history_days,
    )


def prune_history(
    workspace: Workspace, settings: Settings, now: float, older_than: float | None, *, dry_run: bool
) -> PruneReport:
    """Delete transactions beyond the limits of `settings` and release their space, or report what would go.

    `now` is in seconds since the epoch; `older_than` (days) overrides the limit in `settings`. Errors: as for
    locking and the store.
    """
    limits = settings if older_than is None else replace(settings, history_days=older_than)
    went: list[tuple[int, int]] = []
    try:
        for root in workspace.roots:
            with locked(root, settings.lock_timeout) as lock:
                went.append(lock.store.collect(*limits.history_limits(now), dry_run=dry_run))
                if not dry_run:
                    lock.store.shrink()
        kept = _size(workspace, settings)
    except StorageRefused as refused:
        return refusal(PruneReport, refused.problems)
    transactions, content_bytes = map(sum, zip(*went, strict=True))
    return PruneReport(ok=True, transactions=transactions, content_bytes=content_bytes, kept=kept)


def show_transaction(workspace: Workspace, transaction: str, diff: bytes | Problems) -> HistoryReport:
    """Return a transaction by its ID or prefix; `diff` may be the reason why it has no diff."""
    if not isinstance(diff, bytes):
        return with_interrupted(refusal(HistoryReport, diff), workspace)
    past = History(workspace).find(transaction)
    entries = (entry for entry in _entries(workspace, None) if isinstance(entry, TransactionEntry))
    entry = next(entry for entry in entries if past is not None and entry.transaction == past.id)
    shown = DiffText.of(diff)
    report = HistoryReport(ok=True, transactions=(entry,), diff=shown.text, diff_exact=shown.exact)
    return with_interrupted(report, workspace)


def _entries(workspace: Workspace, name: FileName | None) -> Iterator[TransactionEntry | Diagnostic]:
    """Yield all transactions that changed the file `name`, or any file, the newest first."""
    for past, undone_by in History(workspace).with_undos():
        if isinstance(past, Diagnostic):
            yield past
        elif name is None or _changed(past, name):
            yield _entry(past, undone_by)


def _changed(past: PastTransaction, name: FileName) -> bool:
    return past.root.name == name.root and any(file.path == name.path for file in past.stored.record.entries)


def _entry(past: PastTransaction, undone_by: str | None) -> TransactionEntry:
    plan, shown = past.plan_now(), past.shown_paths
    if plan is not None:
        files = tuple(
            FileReport.of(change)
            for change in plan.files
            if not change.is_no_op and shown.issuperset(map(past.relative, changed_paths(change)))
        )
    else:
        files = tuple(
            FileReport(
                file=past.root.show(file.path),
                base_sha256=file.base,
                result_sha256=file.result,
                changed=True,
                lines_added=0,
                lines_removed=0,
            )
            for file in past.stored.record.entries
            if file.path in shown
        )
    return TransactionEntry(
        transaction=past.id,
        state=past.stored.state,
        undoable=past.is_committed and past.stored.undoable and plan is not None and not past.hides_files,
        files=files,
        root=past.root.name or None,
        plan_id=past.note.plan_id,
        committed_at=past.note.committed_at,
        durability=past.note.durability,
        undone_by=undone_by,
        undoes=past.note.undoes,
        actor=past.note.actor,
        client=past.note.client,
        title=plan.intent.title or None if plan is not None else None,
        description=plan.intent.description or None if plan is not None else None,
        approved=past.note.approved,
    )
