"""What an engine is made of: its services, each made when a verb first needs it."""

import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from mdplan.diagnostics import Problems
from mdplan.documents.documents import Documents
from mdplan.engine.caller import CallerIdentity
from mdplan.engine.decisions.approval import Approval, ApprovalGate, no_approval
from mdplan.engine.decisions.feedback import Feedback
from mdplan.engine.history.past_transactions import History
from mdplan.engine.planner import Planner
from mdplan.engine.plans.merge_service import MergeService
from mdplan.engine.plans.plan_library import PlanCache, PlanLibrary, StoredPlans
from mdplan.plan import Plan
from mdplan.planning.replay import PlannedBatch
from mdplan.requests.batch import Batch
from mdplan.settings import DEFAULT_SETTINGS, Settings
from mdplan.storage.fs.root import Root
from mdplan.storage.workspace import Workspace

# Making the classes of a commit takes longer than a plan.
if TYPE_CHECKING:
    from mdplan.engine.committer import Committer, PlanCommitter
    from mdplan.engine.history.recovery_service import Recovery
    from mdplan.engine.history.undo_service import UndoService
    from mdplan.engine.plans.comparison import PlanComparer
    from mdplan.engine.plans.document_check import DocumentCheck


class EngineServices:
    """The services over one workspace, and what several of them share."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings = DEFAULT_SETTINGS,
        clock: Callable[[], float] = time.time,
        caller: CallerIdentity = CallerIdentity(),  # noqa: B008 (it is frozen)
        approval: Approval = no_approval,
    ) -> None:
        """Work on `workspace` for `caller`; `clock` returns seconds since the epoch.

        Every commit calls `approval`, also that of an undo: problems that it returns refuse the commit.
        """
        self.workspace = workspace
        self.settings = settings
        self.documents = Documents.of(workspace, settings)
        self.past = History(workspace)
        self.library = PlanLibrary(workspace, self.past, settings.plans_kept_days, caller.client)
        self.planner = Planner(self.documents, settings.batch)
        self.stored = StoredPlans(self.documents, self.library)
        self.gate = ApprovalGate.of(
            required=settings.require_approval, own_check=approval, on_pending=caller.on_pending
        )
        self.merging = MergeService(self.documents, self.library, self.planner, settings.batch)
        self.feedback = Feedback(
            self.library, PlanCache(self.library), lambda: self.comparer, self.past, caller.client
        )
        self._clock = clock
        self._caller = caller

    @cached_property
    def undoing(self) -> "UndoService":
        """Undo of past transactions."""
        from mdplan.engine.history.undo_service import UndoService

        return UndoService(self.documents, self.past)

    @cached_property
    def comparer(self) -> "PlanComparer":
        """Comparison of plans."""
        from mdplan.engine.plans.comparison import PlanComparer

        return PlanComparer(self.documents, self.library, self.merging.past)

    @cached_property
    def document_check(self) -> "DocumentCheck":
        """The check of plan documents that callers send."""
        from mdplan.engine.plans.document_check import DocumentCheck

        return DocumentCheck(
            self.documents, self.library, self.planner.plan, self.undoing, self.settings.batch
        )

    @cached_property
    def recovery(self) -> "Recovery":
        """Recovery from interrupted commits."""
        from mdplan.engine.history.recovery_service import Recovery

        return Recovery(self.workspace, self.settings.lock_timeout)

    @cached_property
    def committing(self) -> "Committer":
        """Commits of plans."""
        from mdplan.engine.committer import Committer

        return Committer(
            documents=self.documents,
            library=self.library,
            undoing=self.undoing,
            settings=self.settings,
            clock=self._clock,
            gate=self.gate,
            caller=self._caller,
        )

    @cached_property
    def commits(self) -> "PlanCommitter":
        """Commits of plans and undos that may need to be planned again."""
        from mdplan.engine.committer import PlanCommitter

        return PlanCommitter(
            documents=self.documents,
            planner=self.planner,
            undoing=self.undoing,
            merging=self.merging,
            committing=self.committing,
            limits=self.settings.batch,
            save=lambda planned, origin: self.keep(planned, origin=origin),
            revise=self.revise,
        )

    def keep(self, planned: PlannedBatch | Plan, document: bytes = b"", origin: Plan | None = None) -> bool:
        """Store what was just planned, perhaps derived from `origin`; False where that is impossible."""
        plan, bases = (planned, ()) if isinstance(planned, Plan) else (planned.plan, planned.bases)
        return self.library.save(plan, self.root_of(plan), self._clock(), document or None, origin, bases)

    def revise(self, plan: Plan, batch: Batch) -> Problems:
        """Record in whose place `plan` of `batch` was made. Errors: those of loading that plan."""
        return self.feedback.revise(plan, self.root_of(plan), batch.revises)

    def root_of(self, plan: Plan) -> Root:
        """Root of a plan whose files were located before."""
        root = self.documents.root_of(plan)
        assert isinstance(root, Root)
        return root
