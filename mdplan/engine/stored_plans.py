"""Plans that exist already, as callers ask for them by ID."""

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.documents.snapshot import Documents
from mdplan.engine.plan_library import PlanLibrary
from mdplan.plan import Plan
from mdplan.planning.document import write_document
from mdplan.planning.replan.idempotency import is_same_request, may_repeat, result_id, state_id
from mdplan.planning.replan.replay import Replay, bases_of, is_applied
from mdplan.planning.results.summary import report_fields
from mdplan.reports.base import refusal
from mdplan.reports.plan import PlanReport
from mdplan.requests.batch import Batch


class StoredPlans:
    """The plans of `library`, shown against the files of `documents` as they are now."""

    def __init__(self, documents: Documents, library: PlanLibrary) -> None:
        """Show plans of `library` on files of `documents`."""
        self._documents = documents
        self._library = library

    def show(self, plan_id: str) -> PlanReport:
        """A plan with its diff. Errors: PLAN_NOT_FOUND, PLAN_TAMPERED; those of `replayed`."""
        loaded = self._library.load(plan_id)
        return refusal(PlanReport, (loaded,)) if isinstance(loaded, Diagnostic) else self.report(loaded[0])

    def export(self, plan_id: str) -> bytes | Problems:
        """The document of a plan. Errors: PLAN_NOT_FOUND, PLAN_TAMPERED."""
        loaded = self._library.load(plan_id)
        return (loaded,) if isinstance(loaded, Diagnostic) else write_document(loaded[0])

    def diff_bytes(self, plan_id: str) -> bytes | Problems:
        """The exact diff of a plan. Errors: PLAN_NOT_FOUND, PLAN_TAMPERED; those of `replayed`."""
        loaded = self._library.load(plan_id)
        if isinstance(loaded, Diagnostic):
            return (loaded,)
        replayed = self.replayed(loaded[0])
        return replayed.diff if isinstance(replayed, Replay) else replayed

    def report(self, plan: Plan) -> PlanReport:
        """Report on `plan`: with its diff, or saying that it is applied."""
        found = self._documents.read_current(plan)
        if not isinstance(found, list):
            return refusal(PlanReport, found)
        stored = not isinstance(self._library.load(plan.plan_id), Diagnostic)
        if is_applied(plan, found):
            return PlanReport(ok=True, stored=stored, applied=True, **report_fields(plan, None))
        replayed = self.replayed(plan)
        if not isinstance(replayed, Replay):
            return refusal(PlanReport, replayed)
        return PlanReport(ok=True, stored=stored, **report_fields(plan, replayed.diff))

    def replayed(self, plan: Plan) -> Replay | Problems:
        """What `plan` makes of its files, which must be its bases.

        Errors: STALE_BASE, PLAN_TAMPERED, PARSE_TIMEOUT.
        """
        found = self._documents.read_current(plan)
        if not isinstance(found, list):
            return found
        stale = self._documents.stale(plan, found)
        if stale:
            return stale
        paths = self._documents.relative_paths(plan)
        return self._documents.replay(plan, paths, bases_of(plan, found))

    def repeated(self, batch: Batch) -> Plan | None:
        """Plan of the last commit on the files of `batch`, if it was this batch and its result stands."""
        paths = [file.file for file in batch.files]
        last = self._library.last_commit_on(paths) if may_repeat(batch) else None
        plan = last.plan() if last is not None else None
        if last is None or plan is None or not is_same_request(plan, batch):
            return None
        now, state = last.plan_now(), self._documents.state_of(batch)
        if now is None or state is None or result_id(now) != state_id(state):
            return None
        # Files that no edit names are not in that state.
        found = self._documents.read_current(plan)
        return plan if isinstance(found, list) and is_applied(plan, found) else None
