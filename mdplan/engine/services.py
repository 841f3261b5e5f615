"""The services of an engine: what its verbs and its commits share."""

import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from mdplan.documents.documents import Documents
from mdplan.documents.workspace import Workspace
from mdplan.engine import plans
from mdplan.engine.approval import Approval, ApprovalGate, Feedback, no_approval
from mdplan.engine.history import CallerIdentity, History
from mdplan.settings import DEFAULT_SETTINGS, Settings

if TYPE_CHECKING:
    from mdplan.engine.comparison import DocumentCheck, PlanComparer
    from mdplan.engine.undo import Recovery, UndoService


class EngineServices:
    """The services of an engine; most are made when a verb first needs them."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings = DEFAULT_SETTINGS,
        clock: Callable[[], float] = time.time,
        caller: CallerIdentity = CallerIdentity(),  # noqa: B008 (it is frozen)
        approval: Approval = no_approval,
    ) -> None:
        """Work on `workspace` for `caller`; `clock` returns seconds since the epoch.

        Every commit calls `approval`, even the commit of an undo. Problems that it returns refuse the commit.
        """
        self.workspace = workspace
        self.settings = settings
        self.documents = Documents.of(workspace, settings)
        self.past = History(workspace)
        self.library = plans.PlanLibrary(workspace, self.past, settings.plans_kept_days, caller.client, clock)
        self.planner = plans.Planner(self.documents, settings.batch)
        self.stored = plans.StoredPlans(self.documents, self.library)
        self.gate = ApprovalGate.of(
            required=settings.require_approval, own_check=approval, on_pending=caller.on_pending
        )
        self.merging = plans.MergeService(self.documents, self.library, self.planner, settings.batch)
        self.feedback = Feedback(
            self.library, plans.PlanCache(self.library), lambda: self.comparer, self.past, caller.client
        )
        self.clock = clock
        self.caller = caller

    @cached_property
    def undoing(self) -> "UndoService":
        """Undo of past transactions."""
        from mdplan.engine.undo import UndoService

        return UndoService(self.documents, self.past)

    @cached_property
    def comparer(self) -> "PlanComparer":
        """Comparison of plans."""
        from mdplan.engine.comparison import PlanComparer

        return PlanComparer(self.merging)

    @cached_property
    def document_check(self) -> "DocumentCheck":
        """The check of plan documents that callers send."""
        from mdplan.engine.comparison import DocumentCheck

        return DocumentCheck(self.documents, self.library, self.planner, self.undoing, self.settings.batch)

    @cached_property
    def recovery(self) -> "Recovery":
        """Recovery from interrupted commits."""
        from mdplan.engine.undo import Recovery

        return Recovery(self.workspace, self.settings.lock_timeout)
