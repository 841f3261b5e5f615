"""Plan documents that callers send: believed only where this engine comes to the same plan.

A plan ID proves that a document is whole, not that it is honest: its author can leave an edit out of the part
that a reviewer reads, and hash that. So every member that follows from the others is computed again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from mdplan.diagnostics import LINK_CODES, Code, Diagnostic, Problems
from mdplan.documents.documents import Documents
from mdplan.engine.apply_request import PlanDocument, PlanRef
from mdplan.engine.history.undo_service import PlannedUndo, UndoService
from mdplan.engine.plans.plan_library import PlanLibrary
from mdplan.limits import Limits
from mdplan.plan import Plan
from mdplan.planning.merging import ready_to_merge
from mdplan.planning.plan_document import read_document, with_plan_id
from mdplan.planning.replan import other_base
from mdplan.planning.replay import PlannedBatch, is_applied, request_of
from mdplan.requests.batch import Batch, read_batch
from mdplan.storage.fs.root import Root

Planner: TypeAlias = Callable[[Batch], PlannedBatch | Problems]


@dataclass(frozen=True, slots=True)
class DocumentCheck:
    """Checks plan documents against the files of `documents`, the plans of `library` and the history."""

    documents: Documents
    library: PlanLibrary
    planner: Planner
    undoing: UndoService
    limits: Limits

    def named(self, request: PlanRef | PlanDocument) -> tuple[Plan, Root] | Diagnostic:
        """The plan that `request` names or describes, and its root.

        Errors: those of `PlanLibrary.load` and `check`; STALE_BASE where `request` names another base.
        """
        if isinstance(request, PlanDocument):
            return self.check(request.body)
        loaded = self.library.load(request.plan_id)
        if isinstance(loaded, Diagnostic):
            return loaded
        return other_base(loaded[0], request.base_sha256) or loaded

    def check(self, data: Mapping[str, Any]) -> tuple[Plan, Root] | Diagnostic:
        """The plan that the document `data` describes, and its root.

        A plan that is stored under the same ID is taken as it is stored. Of a plan whose files are not its
        bases, results and warnings cannot be computed again, and are omitted. Errors: PLAN_TAMPERED; those of
        locating the files.
        """
        plan = read_document(data)
        if isinstance(plan, Diagnostic):
            return plan
        root = self.documents.root_of(plan)
        if isinstance(root, Diagnostic):
            return root
        stored = self.library.load(plan.plan_id)
        if not isinstance(stored, Diagnostic):
            return stored
        proven = self._proven(plan)
        return proven if isinstance(proven, Diagnostic) else (proven, root)

    def _proven(self, plan: Plan) -> Plan | Diagnostic:
        """`plan` with nothing in it that the files do not confirm."""
        undone = plan.undoes
        batch = read_batch(request_of(plan, with_bases=True), self.limits) if undone is None else None
        if isinstance(batch, tuple):
            return _DISHONEST
        found = self.documents.read_current(plan)
        if not isinstance(found, list):
            return found[0]
        bare = _without_derived(plan)
        if is_applied(plan, found) or self.documents.stale(bare, found):
            return bare
        again = self._planned_again(plan, batch) if batch else self._undone_again(plan, undone or "")
        return again or _DISHONEST

    def _planned_again(self, plan: Plan, batch: Batch) -> Plan | None:
        """The plan of the same edits, if it has the same ID."""
        planned = self.planner(batch)
        if not isinstance(planned, PlannedBatch):
            return None
        again = planned.plan
        # The plan of a manifest leaves out files that stay as they are. It plans each file alone, so it may
        # warn of a link to a file that the same plan creates.
        as_manifest = with_plan_id(
            ready_to_merge(replace(again, warnings=_with_link_warnings(again.warnings, plan.warnings)))
        )
        return next((each for each in (again, as_manifest) if each.plan_id == plan.plan_id), None)

    def _undone_again(self, plan: Plan, transaction: str) -> Plan | None:
        """The plan that undoes the same transaction, if it has the same ID."""
        past = self.undoing.find(transaction)
        if isinstance(past, Diagnostic):
            return None
        planned = self.undoing.plan(past, "rebase")
        is_same = isinstance(planned, PlannedUndo) and planned.plan.plan_id == plan.plan_id
        return planned.plan if isinstance(planned, PlannedUndo) and is_same else None


def _without_derived(plan: Plan) -> Plan:
    """`plan` without what a report would say of its edits."""
    files = tuple(replace(change, base_sections={}) for change in plan.files)
    return replace(plan, files=files, results=(), warnings=())


def _with_link_warnings(warnings: Problems, claimed: Problems) -> Problems:
    """`claimed` if it says the same as `warnings`, and of links perhaps more."""
    rest = tuple(each for each in claimed if each in warnings or each.code not in LINK_CODES)
    return claimed if rest == warnings else warnings


_DISHONEST = Diagnostic(
    code=Code.PLAN_TAMPERED,
    message="planning the edits of this document does not give the plan that it describes",
    hint="plan the batch again; a change of a file that links to these files has the same effect",
)
