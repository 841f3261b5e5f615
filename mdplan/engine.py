"""The line, written once: decode, parse, resolve, check, build, verify, stage, publish.

`stat` stops after parse; `plan`, which is also validate and the dry run, after verify; `apply` runs through.
Every surface is a thin adapter onto this class; none of them edits text by itself.
"""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from mdplan.batch import Batch
from mdplan.diagnostics import Diagnostic, Problems
from mdplan.documents import Documents
from mdplan.files_to_stage import files_to_stage
from mdplan.plan import Plan
from mdplan.plan_library import PlanLibrary
from mdplan.plan_request import PlanRequest, read_plan_request
from mdplan.planning.after_write import written_files
from mdplan.planning.build import BuiltFile, build_file
from mdplan.planning.conflicts import find_conflicts
from mdplan.planning.plan_document import is_document, write_document
from mdplan.planning.planned import Chosen, Draft, Planned
from mdplan.planning.repetition import is_same_request, may_repeat, state_id
from mdplan.planning.replanning import plan_on_new_base, plan_part, plan_pinned
from mdplan.planning.replay import Replay, bases_of, is_applied, replay, stale_files
from mdplan.planning.resolve import resolve_edits
from mdplan.planning.sequential import build_in_sequence
from mdplan.planning.snapshot import SnapshotFile
from mdplan.planning.subset import accepted_batch, needs_rejected
from mdplan.planning.summary import file_report, plan_of, report_fields
from mdplan.planning.verify import verify, verify_paths
from mdplan.read_report import ReadReport, SearchReport
from mdplan.reader import Reader
from mdplan.reading.read_request import ReadRequest
from mdplan.reading.search_request import SearchRequest
from mdplan.reading.stat_request import StatRequest
from mdplan.report import ApplyReport, PlanReport, Receipt, StatReport, refusal
from mdplan.settings import DEFAULT_SETTINGS, Settings
from mdplan.storage.commit import publish, stage
from mdplan.storage.lock import RootLock, locked
from mdplan.storage.refusal import StorageRefused
from mdplan.storage.root import Root
from mdplan.storage.workspace import Workspace
from mdplan.stored_plans import StoredPlans
from mdplan.text.source import Source
from mdplan.wire import read_batch


class Engine:
    """All verbs, over the roots of one workspace. It keeps no state of a call, so threads may share it."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings = DEFAULT_SETTINGS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Work on `workspace`; `clock` gives seconds since the epoch."""
        self.workspace = workspace
        self.settings = settings
        self.documents = Documents(workspace, settings.max_file_bytes, settings.max_lines)
        self.library = PlanLibrary(workspace)
        self.reader = Reader(self.documents)
        self.stored = StoredPlans(self.documents, self.library)
        self._clock = clock

    @classmethod
    def open(
        cls,
        roots: Sequence[str | Path] | Mapping[str, str | Path],
        *,
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        settings: Settings = DEFAULT_SETTINGS,
    ) -> "Engine":
        """Engine over the folders `roots`, of which `allow` and `deny` (globs) say what may be touched.

        Raises `StorageRefused` for a folder that cannot be opened.
        """
        return cls(Workspace.open(roots, allow, deny), settings)

    def stat(self, request: StatRequest) -> StatReport:
        """Structure of one file, or one row for each file of a folder or glob; never content."""
        return self.reader.stat(request)

    def read(self, request: ReadRequest) -> ReadReport:
        """Content of one or several places, each with what pins an edit of it."""
        return self.reader.read(request)

    def search(self, request: SearchRequest) -> SearchReport:
        """Matches of a pattern in files, by section; the totals are exact."""
        return self.reader.search(request)

    def plan(self, data: object) -> PlanReport:
        """Plan of a batch (decoded JSON), stored under its ID. Nothing is written to its files."""
        return self.draft(data).report

    def draft(self, data: object) -> Draft:
        """The same, with the exact bytes of the diff and the plan document."""
        batch = read_batch(data, self.settings.batch)
        planned = self._plan(batch) if isinstance(batch, Batch) else batch
        if not isinstance(planned, Planned):
            return Draft(refusal(PlanReport, planned))
        report = PlanReport(ok=True, stored=self._save(planned.plan), **planned.report_fields())
        return Draft(report, planned.diff, write_document(planned.plan))

    def show(self, plan_id: str) -> PlanReport:
        """A stored plan with its diff, made anew from its bases.

        Errors: PLAN_NOT_FOUND, PLAN_TAMPERED, STALE_BASE. Of a plan that is applied there is no diff.
        """
        return self.stored.show(plan_id)

    def export(self, plan_id: str) -> bytes | Problems:
        """The document of a stored plan, which `apply` takes. Errors: PLAN_NOT_FOUND, PLAN_TAMPERED."""
        return self.stored.export(plan_id)

    def diff_bytes(self, plan_id: str) -> bytes | Problems:
        """The exact diff of a stored plan. Errors: PLAN_NOT_FOUND, PLAN_TAMPERED, STALE_BASE."""
        return self.stored.diff_bytes(plan_id)

    def apply(self, data: object) -> ApplyReport:
        """Commit a plan (``{planId}``, or its document) or a batch that is pinned (decoded JSON).

        Beside a plan `baseSha256` (which must be the plan's), `dryRun`, `accept` and `onStale` count. Errors:
        those of planning; PRECONDITION_REQUIRED, STALE_BASE, PLAN_NOT_FOUND, PLAN_TAMPERED; those of storage.
        """
        try:
            if isinstance(data, Mapping) and (is_document(data) or data.keys() & {"planId", "plan_id"}):
                return self._apply_plan(data)
            return self._apply_batch(data)
        except StorageRefused as refused:
            return refusal(ApplyReport, refused.problems)

    def write(self, data: object) -> ApplyReport:
        """Plan a batch and commit it in one call: what pins it are the bases that this call reads (DESIGN 7).

        For callers whose requests carry guards of their own. Errors: those of planning and of storage.
        """
        batch = read_batch(data, self.settings.batch)
        if not isinstance(batch, Batch):
            return refusal(ApplyReport, batch)
        try:
            return self._commit_batch(lambda: self._plan(batch))
        except StorageRefused as refused:
            return refusal(ApplyReport, refused.problems)

    # From a batch to a plan.

    def _plan(self, batch: Batch) -> Planned | Problems:
        built = self._build(batch)
        if not isinstance(built, list):
            return built
        if batch.accept is None:
            return Planned(Chosen(plan_of(built, batch)), built)
        chosen_batch = accepted_batch(batch)
        if isinstance(chosen_batch, Diagnostic):
            return (chosen_batch,)
        chosen = self._build(chosen_batch)
        problems = needs_rejected(batch, built, chosen)
        if problems or not isinstance(chosen, list):
            return problems
        accepted = tuple(sorted(set(batch.accept)))
        rejected = tuple(sorted(set(range(batch.edit_count)) - set(accepted)))
        return Planned(Chosen(plan_of(chosen, chosen_batch), accepted, rejected), chosen)

    def _build(self, batch: Batch) -> list[BuiltFile] | Problems:
        """Every file of `batch`, decoded, parsed, resolved, checked, built and verified; or all problems."""
        snapshot, problems = self.documents.snapshot(batch)
        built_files: list[BuiltFile] = []
        for file in snapshot:
            built = _build_in_sequence(file, batch) if batch.sequential else _build(file, batch)
            if isinstance(built, BuiltFile):
                built = self.documents.within_limits(built)
            if isinstance(built, BuiltFile):
                built_files.append(built)
            else:
                problems += built
        return tuple(problems) or built_files

    # From a plan to a receipt.

    def _apply_batch(self, data: object) -> ApplyReport:
        batch = read_batch(data, self.settings.batch)
        if not isinstance(batch, Batch):
            return refusal(ApplyReport, batch)
        if batch.dry_run:
            return _as_apply_report(self.plan(data))
        return self._commit_batch(lambda: self._repeated(batch) or plan_pinned(self._plan, batch))

    def _commit_batch(self, plan_it: Callable[[], Planned | ApplyReport | Problems]) -> ApplyReport:
        """Commit what `plan_it` plans, before the lock so that a refusal leaves no trace."""
        planned = plan_it()
        if not isinstance(planned, Planned):
            return planned if isinstance(planned, ApplyReport) else refusal(ApplyReport, planned)
        with locked(self._root_of(planned.plan), self.settings.lock_timeout) as lock:
            found = self.documents.found_of(planned.plan)
            if not isinstance(found, list) or stale_files(planned.plan, found):
                # Another writer was faster: what pins the batch is looked at again.
                planned = plan_it()
            if not isinstance(planned, Planned):
                return planned if isinstance(planned, ApplyReport) else refusal(ApplyReport, planned)
            self._save(planned.plan)
            return self._commit(lock, planned.plan, planned.bases, rebased=planned.rebased)

    def _repeated(self, batch: Batch) -> ApplyReport | None:
        """Report of the last commit on the files of `batch`, if it was this batch and its result stands."""
        state = self.documents.state_of(batch) if may_repeat(batch) else None
        last = self.library.last_plan(state_id(state)) if state else None
        if last is None or not is_same_request(last[0], batch):
            return None
        return self._applied_already(*last)

    def _applied_already(self, plan: Plan, root: Root) -> ApplyReport:
        receipt = self.library.receipt_of(root, plan)
        fields = report_fields(plan, None)
        return ApplyReport(ok=True, applied=True, already_applied=True, receipt=receipt, **fields)

    def _apply_plan(self, data: Mapping[str, Any]) -> ApplyReport:
        request = read_plan_request(data, is_document=is_document(data))
        if not isinstance(request, PlanRequest):
            return refusal(ApplyReport, request)
        loaded = self.stored.given(request, data)
        if isinstance(loaded, Diagnostic):
            return refusal(ApplyReport, (loaded,))
        chosen = self._chosen(loaded[0], request)
        if not isinstance(chosen, Chosen):
            return refusal(ApplyReport, chosen)
        if request.dry_run:
            report = _as_apply_report(self.stored.report(chosen.plan))
        else:
            with locked(loaded[1], self.settings.lock_timeout) as lock:
                report = self._apply_locked(lock, chosen.plan, rebases=request.rebases)
        return replace(report, accepted=chosen.accepted, rejected=chosen.rejected) if report.ok else report

    def _apply_locked(self, lock: RootLock, plan: Plan, *, rebases: bool) -> ApplyReport:
        """Commit `plan` if its files are its bases; if they are its results, it is applied already."""
        found = self.documents.found_of(plan)
        if not isinstance(found, list):
            return refusal(ApplyReport, found)
        if is_applied(plan, found):
            return self._applied_already(plan, lock.root)
        stale = stale_files(plan, found)
        if not stale:
            return self._commit(lock, plan, bases_of(plan, found))
        rebased = plan_on_new_base(self._plan, plan, self.settings.batch) if rebases else ()
        if not isinstance(rebased, Planned):
            return refusal(ApplyReport, (*stale, *rebased))
        self._save(rebased.plan)
        return self._commit(lock, rebased.plan, rebased.bases, rebased=True)

    def _commit(
        self, lock: RootLock, plan: Plan, bases: Sequence[Source], *, rebased: bool | None = None
    ) -> ApplyReport:
        """Stage and publish what the text edits of `plan` make of its `bases`."""
        paths = self.documents.relative_paths(plan)
        replayed = replay(plan, paths, bases)
        if not isinstance(replayed, Replay):
            return refusal(ApplyReport, replayed)
        fields = report_fields(plan, replayed.diff)
        if plan.is_no_op:
            return ApplyReport(ok=True, rebased=rebased, **fields)
        staged = stage(
            lock,
            files_to_stage(plan, paths, bases, replayed, self.documents.backups_of(plan)),
            max_bytes=self.settings.max_file_bytes,
            durability=self.settings.durability,
        )
        facts = publish(staged)
        now = self._clock()
        receipt = Receipt(
            transaction=secrets.token_hex(8),
            plan_id=plan.plan_id,
            files=tuple(file_report(change) for change in plan.files),
            committed_at=now,
            durability=self.settings.durability,
            cas=facts.cas,
        )
        self.library.save_receipt(lock.root, plan, receipt, now)
        fields["warnings"] = (*fields["warnings"], *facts.warnings)
        written = written_files(plan, bases)
        return ApplyReport(ok=True, applied=True, rebased=rebased, receipt=receipt, written=written, **fields)

    def _chosen(self, plan: Plan, request: PlanRequest) -> Chosen | Problems:
        """`plan`, or the plan of the edits of it that were accepted."""
        if request.accept is None:
            return Chosen(plan)
        planned = plan_part(self._plan, plan, request.accept, self.settings.batch)
        if not isinstance(planned, Planned):
            return planned
        self._save(planned.plan)
        return planned.chosen

    def _save(self, plan: Plan) -> bool:
        return self.library.save(plan, self._root_of(plan), self._clock())

    def _root_of(self, plan: Plan) -> Root:
        """Root of a plan whose files were located before."""
        root = self.documents.root_of(plan)
        assert isinstance(root, Root)
        return root


def _build(file: SnapshotFile, batch: Batch) -> BuiltFile | Problems:
    """Resolve, check, build and verify one file, all edits against its base."""
    resolved, problems = resolve_edits(file)
    problems += find_conflicts(file, resolved)
    if problems:
        return problems
    built = build_file(file, resolved)
    if not isinstance(built, BuiltFile):
        return built
    return verify(built, batch) or built


def _build_in_sequence(file: SnapshotFile, batch: Batch) -> BuiltFile | Problems:
    """The same, each edit against the result of those before it."""
    built = build_in_sequence(file, batch)
    if not isinstance(built, BuiltFile):
        return built
    return verify_paths(built, batch) or built


def _as_apply_report(report: PlanReport) -> ApplyReport:
    return ApplyReport(**{field.name: getattr(report, field.name) for field in fields(report)})
