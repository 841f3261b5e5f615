"""All verbs: decode, parse, resolve, check, build, verify, stage, publish.

Every surface is a thin adapter for this class; no surface edits text.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.documents.documents import Seen, expand_globs
from mdplan.documents.workspace import Workspace, reading_once
from mdplan.engine import plans
from mdplan.engine.approval import Approval, no_approval, reviews_report
from mdplan.engine.interrupted import reported, with_interrupted
from mdplan.engine.services import EngineServices
from mdplan.plan import Plan
from mdplan.planning.plan_document import write_document
from mdplan.planning.replay import PlannedBatch, PlanResult
from mdplan.reports.base import Report, refusal
from mdplan.reports.plan import ApplyReport, ComparisonReport, PlanReport, as_apply_report
from mdplan.requests.batch import Batch, read_batch
from mdplan.requests.verbs import OnStale, verb
from mdplan.settings import DEFAULT_SETTINGS, ProgressCallback, Settings, no_progress
from mdplan.storage.filesystem import StorageRefused, granted
from mdplan.text.source import Source
from mdplan.values import replace

# Each verb loads what it needs when it is called: making the classes of all reports takes longer than a plan.
if TYPE_CHECKING:
    from mdplan.engine.commit import Committer
    from mdplan.reports.history import DoctorReport, HistoryReport, LinksReport, PruneReport, RecoverReport
    from mdplan.reports.read import ReadReport, SearchReport
    from mdplan.reports.stat import StatReport
    from mdplan.requests.queries import StatRequest
    from mdplan.requests.read import ReadRequest
    from mdplan.requests.search import SearchRequest
    from mdplan.storage.recovery import Keep


class Engine(EngineServices):
    """All verbs, over the roots of one workspace. Threads may share it.

    >>> with Engine.open(["."]) as engine:
    ...     engine.stat({"file": "guide.md"}).sections[1].heading_path
    ('Kettle guide', 'Install')

    `draft`, `source`, `commit` and the attributes are for the surfaces of mdplan: they may change.
    """

    @classmethod
    def open(
        cls,
        roots: str | Path | Sequence[str | Path] | Mapping[str, str | Path],
        *,
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        settings: Settings = DEFAULT_SETTINGS,
        approval: Approval = no_approval,
        raise_on_refusal: bool = False,
    ) -> "Engine":
        """Engine over the folder or folders `roots`; `allow` and `deny` (globs) say what may be touched.

        With `raise_on_refusal` no verb returns a report that is not `ok`: it raises `Refused`. Raises
        `StorageRefused` for a folder that cannot be opened.
        """
        engine = cls(Workspace.open(roots, allow, deny), settings, approval=approval)
        if raise_on_refusal:
            raise_refusals(engine)
        return engine

    @cached_property
    def committer(self) -> "Committer":
        """Commits of batches, plans and undos."""
        from mdplan.engine.commit import Committer

        return Committer(self)

    def close(self) -> None:
        """Close the roots, as the end of a `with` block does."""
        self.workspace.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @verb("outline")
    def stat(self, request: "StatRequest | Mapping[str, Any]") -> "StatReport":
        """The report has no content; a folder or glob gives one row for each file."""
        from mdplan.engine.stat import stat_files

        return stat_files(self.documents, request)

    @verb("read")
    def read(self, request: "ReadRequest | Mapping[str, Any]") -> "ReadReport":
        """A request can name several places; each result includes the hashes that guard an edit there."""
        from mdplan.engine.read import read_files

        return read_files(self.documents, request)

    def source(self, file: str, encoding: str | None = None) -> Source | Diagnostic:
        """Return a file, decoded. Errors: as for locating and of reading it."""
        name = self.workspace.locate(file)
        return name if isinstance(name, Diagnostic) else self.documents.read(name, encoding)

    @verb("search")
    def search(
        self, request: "SearchRequest | Mapping[str, Any]", tick: ProgressCallback = no_progress
    ) -> "SearchReport":
        """The totals are exact, also where not all matches are listed. `tick` hears of each file."""
        from mdplan.engine.search import search_files

        return search_files(self.documents, request, tick)

    def links(
        self, paths: Sequence[str] = (), tick: ProgressCallback = no_progress, *, unused: bool = False
    ) -> "LinksReport":
        """Broken links of a root, or of the files and folders `paths`; `fix` is a batch of the known repairs.

        With `unused`, definitions that no link uses and pages without incoming links are listed too.
        """
        from mdplan.engine.links import batch_of, examine_links
        from mdplan.reports.history import LinksReport

        try:
            report, repairs = examine_links(self.documents, paths, tick, finds_unused=unused)
        except StorageRefused as refused:
            return refusal(LinksReport, refused.problems)
        return replace(report, fix=batch_of(repairs)) if repairs else report

    @verb("plan")
    def plan(self, data: object, tick: ProgressCallback = no_progress) -> PlanReport:
        """The batch is decoded JSON, and nothing is written to its files.

        `tick` is called for each file that is read, and then of each that is planned.
        """
        return self.draft(data, tick).report

    def draft(self, data: object, tick: ProgressCallback = no_progress, *, stores: bool = True) -> PlanResult:
        """Plan a batch, with diff and document."""
        batch = read_batch(data, self.settings.batch)
        if not isinstance(batch, Batch):
            return PlanResult(with_interrupted(refusal(PlanReport, batch), self.workspace))
        return self._draft(batch, tick, stores=stores)

    @verb("show")
    def show(self, plan_id: str) -> PlanReport:
        """Its diff is made again from its bases.

        Errors: PLAN_NOT_FOUND, PLAN_TAMPERED, STALE_BASE. Once it is applied, `diff_bytes` has its diff.
        """
        return with_interrupted(self.stored.show(plan_id), self.workspace)

    def replan(self, plan_id: str) -> PlanReport:
        """Plan the edits of a stored plan again on the current files, if they still do the same.

        If the files are still its bases, the result is the same plan. Errors: PLAN_NOT_FOUND, PLAN_TAMPERED,
        STALE_BASE; as for planning, or as `undo` for the plan of an undo.
        """
        loaded = self.library.load(plan_id)
        if isinstance(loaded, Diagnostic):
            return refusal(PlanReport, (loaded,))
        undone = loaded[0].undoes
        if undone is not None:
            report = self.undo(undone, loaded[0].undone_files, dry_run=True, on_stale="rebase")
            self.library.derive(report.plan_id, *loaded)
            return report
        planned = self.merging.on_new_base(loaded[0])
        if not isinstance(planned, PlannedBatch):
            return refusal(PlanReport, planned)
        stored = self.library.save(planned, origin=loaded[0])
        return PlanReport(ok=True, stored=stored, **planned.report_fields())

    def export(self, plan_id: str) -> bytes | Problems:
        """Return the document of a stored plan, for `apply`. Errors: PLAN_NOT_FOUND, PLAN_TAMPERED."""
        loaded = self.library.load(plan_id)
        return (loaded,) if isinstance(loaded, Diagnostic) else write_document(loaded[0])

    def diff_bytes(self, plan_id: str) -> bytes | Problems:
        """Return the exact diff of a plan, or of the commit of it. Errors: as `show`; NOT_UNDOABLE."""
        try:
            return self.stored.replayed(granted(self.library.load(plan_id))[0]).diff
        except StorageRefused as refused:
            past = self.past.of_plan(plan_id)
            return refused.problems if past is None else self.transaction_diff(past.id)

    @verb("apply")
    def apply(
        self, data: object, tick: ProgressCallback = no_progress, seen: Seen | None = None
    ) -> ApplyReport:
        """A plan is ``{planId}`` or its document; plans and batches are decoded JSON, or request objects.

        `tick` is called while a batch is planned; `seen` guards the files for which the batch has no hash.
        With a plan, only `baseSha256`, `dryRun`, `accept` and `onStale` apply. Errors: as for planning,
        loading a plan and storage, and as `ApprovalGate.check`.
        """
        is_read = isinstance(data, plans.ApplyRequest)
        request: Any = data if is_read else plans.read_apply_request(data, self.settings.batch)
        match request:
            case Batch() as batch:
                return reported(ApplyReport, lambda: self._apply_batch(batch, tick, seen))
            case plans.PlanRef() | plans.PlanDocument() as named:
                return reported(
                    ApplyReport,
                    lambda: self.committer.apply_plan(*granted(self.document_check.named(named)), named),
                )
            case problems:
                return refusal(ApplyReport, problems)

    def commit(self, plan: Plan) -> ApplyReport:
        """Commit `plan`; the report has no diff. Errors: STALE_BASE, PLAN_TAMPERED; as for storage."""
        return reported(ApplyReport, lambda: self.committer.commit(plan))

    def write(self, data: object) -> ApplyReport:
        """Plan and commit a guarded batch. Errors: as for planning and storage."""
        limits = self.settings.batch

        def commit() -> ApplyReport:
            batch = granted(expand_globs(granted(read_batch(data, limits)), self.documents, limits))
            return self.committer.commit_batch(lambda: granted(self.planner.plan(batch)))

        return reported(ApplyReport, commit)

    @verb("undo")
    def undo(
        self,
        transaction: str | None = None,
        files: Sequence[str] = (),
        *,
        dry_run: bool = False,
        on_stale: OnStale = "refuse",
    ) -> ApplyReport:
        """The beginning of an ID is enough; without one it is the caller's last. With `files` only these.

        Undo the undo to redo. With `dry_run` its plan is stored and nothing is written. Where
        files changed since, `on_stale` rebases it over changes of other lines, or merges it. Errors:
        NOT_UNDOABLE, STALE_BASE, MERGE_CONFLICT, FILE_EXISTS, FILE_NOT_FOUND; of reading and storage.
        """

        def undo() -> ApplyReport:
            past = granted(self.undoing.find(transaction, self.caller.actor()))
            return self.committer.undo(past, on_stale, files, dry_run=dry_run)

        return reported(ApplyReport, undo)

    @verb("history")
    def history(self, limit: int = 20, file: str | None = None) -> "HistoryReport":
        """With `file` only those are listed that changed it. Errors: as for locating it."""
        from mdplan.engine.history_list import list_transactions

        return list_transactions(self.workspace, limit, file, self.settings)

    def prune(self, older_than: float | None = None, *, dry_run: bool = False) -> "PruneReport":
        """Forget transactions beyond the limits or this many days; each root keeps its last one."""
        from mdplan.engine.history_list import prune_history

        return prune_history(self.workspace, self.settings, self.clock(), older_than, dry_run=dry_run)

    def transaction(self, transaction: str) -> "HistoryReport":
        """Return one transaction, with its diff. Errors: NOT_UNDOABLE."""
        from mdplan.engine.history_list import show_transaction

        return show_transaction(self.workspace, transaction, self.transaction_diff(transaction))

    def transaction_diff(self, transaction: str) -> bytes | Problems:
        """Return the exact diff of a transaction. Errors: NOT_UNDOABLE."""
        try:
            return self.undoing.diff(granted(self.undoing.find(transaction)))
        except StorageRefused as refused:
            return refused.problems

    def compare(self, plan_id: str, against: str) -> ComparisonReport:
        """Return how the result of the plan `plan_id` differs from the result of the plan `against`.

        Errors: PLAN_NOT_FOUND, PLAN_TAMPERED; STALE_BASE if the text of a file is no longer known.
        """
        from mdplan.engine.comparison import compare_plans

        return compare_plans(self.comparer, plan_id, against)

    def reviews(self, plan_id: str | None = None) -> "HistoryReport":
        """Return the review of a plan; without an ID, all reviews that this client has not answered yet.

        Errors: PLAN_NOT_FOUND, PLAN_TAMPERED.
        """
        return reviews_report(self.feedback, self.workspace, plan_id)

    @verb("recover")
    def recover(self, keep: "Keep | None" = None, *, adopt: bool = False) -> "RecoverReport":
        """With `adopt`, recover interrupted commits of other users too; `keep` decides conflicts."""
        return self.recovery.recover(keep, adopt=adopt)

    @verb("doctor")
    def doctor(self) -> "DoctorReport":
        """The report says what is wrong with the roots and their stores; nothing is changed."""
        from mdplan.engine.root_checks import examine

        return examine(self.workspace, self.settings)

    def _draft(self, batch: Batch, tick: ProgressCallback, *, stores: bool = True) -> PlanResult:
        with reading_once():
            expanded = expand_globs(batch, self.documents, self.settings.batch)
            planned = self.merging.plan(expanded, tick) if isinstance(expanded, Batch) else expanded
        problems = (
            planned
            if isinstance(planned, tuple)
            else self.feedback.record_revision(planned.plan, batch.revises)
        )
        if not isinstance(planned, PlannedBatch) or problems:
            return PlanResult(with_interrupted(refusal(PlanReport, problems), self.workspace))
        document = write_document(planned.plan)
        stored = stores and self.library.save(planned, document)
        review = self.feedback.of(planned.plan, self.library.root_of(planned.plan))
        report = PlanReport(ok=True, stored=stored, review=review, **planned.report_fields())
        return PlanResult(with_interrupted(report, self.workspace), planned.diff, document, planned)

    def _apply_batch(self, request: Batch, tick: ProgressCallback, seen: Seen | None) -> ApplyReport:
        if request.dry_run:
            return as_apply_report(self._draft(request, tick).report)
        batch = granted(expand_globs(request, self.documents, self.settings.batch))
        return self.committer.apply_batch(batch, tick, seen)


# --- Refusals as exceptions, for callers who ask for that.

_VERBS: Final = (
    *("stat", "read", "search", "plan", "show", "replan", "apply", "undo"),
    *("history", "transaction", "compare", "reviews", "prune", "recover", "doctor"),
)


def raise_refusals(engine: object) -> None:
    """Let every verb of `engine` return only reports that are `ok`, and raise `Refused` for others."""
    for name in _VERBS:
        verb = getattr(engine, name)
        # An engine has no slots: the wrapper hides the method of its class.
        setattr(engine, name, wraps(verb)(partial(_unwrapped, verb)))


def _unwrapped(verb: Callable[..., Report], *arguments: Any, **named: Any) -> Report:  # noqa: ANN401 (of any verb)
    return verb(*arguments, **named).unwrap()
