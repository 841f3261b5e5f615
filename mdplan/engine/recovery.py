"""Interrupted commits: reported by every verb, recovered by those that commit and by `recover`."""

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeVar

from mdplan.diagnostics import Diagnostic, Severity
from mdplan.engine.interrupted import without_hidden
from mdplan.reports.plan import ApplyReport, RecoveredTransactions
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.lock import locked
from mdplan.storage.recovery import RecoveryResult, pending, recover
from mdplan.storage.root import Root, Workspace
from mdplan.storage.state_folder import has_journal

# Every commit asks whether one before was interrupted; few were.
if TYPE_CHECKING:
    from mdplan.reports.history import ForeignTransaction, RecoverReport
    from mdplan.storage.recovery import ForeignTransactionState


AnyApplied = TypeVar("AnyApplied", bound=ApplyReport)


class Recovery:
    """Recovery in the roots of `workspace`."""

    def __init__(self, workspace: Workspace, lock_timeout: float) -> None:
        """Wait up to `lock_timeout` seconds for the lock of a root."""
        self._workspace = workspace
        self._lock_timeout = lock_timeout

    def recover_pending(self) -> list[RecoveryResult]:
        """Recover the roots in which a commit was interrupted, as far as that needs no person.

        Raises `StorageRefused`, as `locked` does.
        """
        recovered = []
        for root in self._workspace.roots:
            if pending(root):
                with locked(root, self._lock_timeout) as lock:
                    recovered.append(self._shown(recover(lock, settles=False)))
        return recovered

    def recover(
        self, keep: Literal["current", "base"] | None, foreign: Collection[str] = ()
    ) -> "RecoverReport":
        """Recover all roots from this user's interrupted commits, and from those of the IDs in `foreign`.

        `keep` settles conflicts: the files as they are, or as they were before. Errors: those of recovery,
        RECOVERY_CONFLICT among them; those of locking.
        """
        from mdplan.reports.history import RecoverReport

        recovered: list[RecoveryResult] = []
        problems: list[Diagnostic] = []
        for root in self._workspace.roots:
            try:
                if not has_journal(root):
                    continue
                with locked(root, self._lock_timeout) as lock:
                    done = recover(lock, settles=True, foreign=foreign, keep=keep)
                    recovered.append(self._shown(done))
            except StorageRefused as refused:
                problems += without_hidden(self._workspace, refused.problems)
        problems += (problem for each in recovered for problem in each.problems)
        errors = tuple(problem for problem in problems if problem.severity is Severity.ERROR)
        return RecoverReport(
            ok=not errors,
            error=errors[0] if errors else None,
            diagnostics=errors,
            recovered=_merged(recovered) if any(map(_did, recovered)) else None,
            foreign=self.foreign() or None,
            warnings=tuple(problem for problem in problems if problem.severity is Severity.WARNING),
        )

    def foreign(self) -> "tuple[ForeignTransaction, ...]":
        """The interrupted transactions of others, with what a recovery of them would change.

        They are none in a root whose journal cannot be read, which `recover` reports.
        """
        from mdplan.storage.recovery import foreign_commits

        found: list[ForeignTransaction] = []
        for root in self._workspace.roots:
            with suppress(StorageRefused):
                found += (_foreign_of(root, commit) for commit in foreign_commits(root))
        return tuple(found)

    def _shown(self, recovered: RecoveryResult) -> RecoveryResult:
        """`recovered` without the names of files that `--allow` or `--deny` excludes."""
        return replace(
            recovered,
            files=tuple(file for file in recovered.files if not self._workspace.hides(file)),
            problems=without_hidden(self._workspace, recovered.problems),
        )


def _foreign_of(root: Root, commit: "ForeignTransactionState") -> "ForeignTransaction":
    from mdplan.reports.history import ForeignFile, ForeignTransaction

    files = (file for file in commit.files if root.scope.refusal(file.path) is None)
    return ForeignTransaction(
        transaction=commit.transaction,
        root=root.name or None,
        files=tuple(ForeignFile(file=root.show(file.path), action=file.action) for file in files),
    )


def with_recovered(report: AnyApplied, recovered: Iterable[RecoveryResult]) -> AnyApplied:
    """`report` of a commit, with what recovery did before it."""
    did = [each for each in recovered if _did(each)]
    if not did:
        return report
    warnings = tuple(
        problem for each in did for problem in each.problems if problem.severity is Severity.WARNING
    )
    before = report.recovered or RecoveredTransactions()
    after = _merged(did)
    return replace(
        report,
        recovered=RecoveredTransactions(
            rolled_back=after.rolled_back + before.rolled_back,
            finished=after.finished + before.finished,
            files=after.files + before.files,
        ),
        warnings=(*report.warnings, *warnings),
    )


def _did(recovered: RecoveryResult) -> bool:
    """Whether anything was done."""
    return bool(recovered.rolled_back or recovered.finished or recovered.files)


def _merged(recovered: Iterable[RecoveryResult]) -> RecoveredTransactions:
    each = list(recovered)
    return RecoveredTransactions(
        rolled_back=tuple(transaction for one in each for transaction in one.rolled_back),
        finished=tuple(transaction for one in each for transaction in one.finished),
        files=tuple(file for one in each for file in one.files),
    )
