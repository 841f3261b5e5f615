"""What happens to a plan under the lock: its files are looked at again, and may have moved on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.documents.snapshot import Documents
from mdplan.engine.commit import Committer
from mdplan.engine.planner import Planner
from mdplan.engine.undo import PlannedUndo, UndoService
from mdplan.plan import Plan
from mdplan.planning.replan.plan_result import PlannedBatch, PlanSelection
from mdplan.planning.replan.replanning import plan_on_new_base, plan_part
from mdplan.planning.replan.replay import bases_of, is_applied
from mdplan.planning.replan.undo import UNDO_IS_WHOLE, undone_transaction
from mdplan.reports.base import refusal
from mdplan.reports.plan import ApplyReport
from mdplan.requests.limits import Limits
from mdplan.storage.journal.lock import RootLock


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCommitter:
    """Commits plans and undos that may need to be planned again.

    `save` stores a plan that was made of another one, its second argument.
    """

    documents: Documents
    planner: Planner
    undoing: UndoService
    committing: Committer
    limits: Limits
    save: Callable[[Plan, Plan], bool]

    def commit_planned(
        self, lock: RootLock, seen: PlannedBatch | Plan, plan_it: Callable[[], PlannedBatch | Plan | Problems]
    ) -> ApplyReport:
        """Commit what was planned as `seen`; where another writer was faster, what `plan_it` plans now."""
        planned = (
            seen if isinstance(seen, PlannedBatch) and self.documents.are_bases(seen.files) else plan_it()
        )
        if isinstance(planned, Plan):
            return self.committing.report_already_applied(lock, planned)
        if not isinstance(planned, PlannedBatch):
            return refusal(ApplyReport, planned)
        return self.committing.commit_planned(lock, planned, rebased=planned.rebased)

    def commit_plan(
        self, lock: RootLock, plan: Plan, *, rebases: bool = False, with_diff: bool = True
    ) -> ApplyReport:
        """Commit `plan` if its files are its bases; if they are its results, it is applied already."""
        found = self.documents.read_current(plan)
        if not isinstance(found, list):
            return refusal(ApplyReport, found)
        if is_applied(plan, found):
            return self.committing.report_already_applied(lock, plan)
        stale = self.documents.stale(plan, found)
        if not stale:
            return self.committing.commit(lock, plan, bases_of(plan, found), with_diff=with_diff)
        undone = undone_transaction(plan)
        if rebases and undone is not None:
            return self.commit_undo(lock, undone, rebases=True)
        rebased = plan_on_new_base(self.planner.plan, plan, self.limits) if rebases else ()
        if not isinstance(rebased, PlannedBatch):
            return refusal(ApplyReport, (*stale, *rebased))
        self.save(rebased.plan, plan)
        return self.committing.commit_planned(lock, rebased, rebased=True)

    def commit_undo(self, lock: RootLock, transaction: str, *, rebases: bool) -> ApplyReport:
        """Commit the undo of `transaction`, planned on the files as they are now."""
        past = self.undoing.find(transaction)
        planned = (past,) if isinstance(past, Diagnostic) else self.undoing.plan(past, rebases=rebases)
        if not isinstance(planned, PlannedUndo):
            return refusal(ApplyReport, planned)
        if planned.is_applied:
            return self.committing.report_already_applied(lock, planned.plan)
        return self.committing.commit(lock, planned.plan, planned.bases, rebased=planned.rebased)

    def select(self, plan: Plan, accept: Sequence[int] | None) -> PlanSelection | Problems:
        """`plan`, or the stored plan of the edits of it in `accept`. Errors: those of `plan_part`."""
        if accept is None:
            return PlanSelection(plan)
        if undone_transaction(plan) is not None:
            return (UNDO_IS_WHOLE,)
        planned = plan_part(self.planner.plan, plan, accept, self.limits)
        if not isinstance(planned, PlannedBatch):
            return planned
        self.save(planned.plan, plan)
        return planned.chosen
