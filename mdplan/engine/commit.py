"""The second half of the line: from a plan and its bases to a receipt, under the lock of a root."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.documents.documents import BACKUP_SUFFIX, Documents, Seen, with_seen_bases
from mdplan.engine.approval import ApprovalGate, Clearance
from mdplan.engine.history import CallerIdentity, CommitFacts, PastTransaction, note_of
from mdplan.engine.plans import MergeService, PlanDocument, PlanLibrary, Planner, PlanRef, StoredPlans
from mdplan.engine.undo import PlannedUndo, Recovery, UndoService, with_recovered
from mdplan.limits import Limits
from mdplan.plan import FileChange, Plan
from mdplan.planning.replan import (
    UNDO_IS_WHOLE,
    plan_on_new_base,
    plan_part,
    replan_with_guards,
    replan_with_preconditions,
)
from mdplan.planning.replay import FoundFile, PlannedBatch, PlanSelection, Replay, bases_of, is_applied
from mdplan.planning.results import report_fields, written_files
from mdplan.reports.base import refusal
from mdplan.reports.plan import ApplyReport, FileReport, Receipt, as_apply_report
from mdplan.requests.batch import Batch, OnStale
from mdplan.settings import ProgressCallback, Settings
from mdplan.storage.commit import LaterContent, StagedFile, publish, stage
from mdplan.storage.files import FileName
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.lock import RootLock, locked
from mdplan.storage.recovery import confirm, recover
from mdplan.storage.root import Root
from mdplan.storage.transactions import collect
from mdplan.text.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Committer:
    """Commits of plans on `documents`, each through the `gate`. `clock` gives seconds since the epoch.

    It is `caller` who commits.
    """

    documents: Documents
    library: PlanLibrary
    undoing: UndoService
    settings: Settings
    clock: Callable[[], float]
    gate: ApprovalGate
    caller: CallerIdentity

    def locked(self, root: Root, commit: Callable[[RootLock], ApplyReport]) -> ApplyReport:
        """What `commit` reports, under the lock of `root`, after recovery of what was interrupted there.

        Raises `StorageRefused`, as `locked` of storage does.
        """
        with locked(root, self.settings.lock_timeout) as lock:
            recovered = recover(lock, settles=False)
            try:
                report = commit(lock)
            except StorageRefused as refused:
                report = refusal(ApplyReport, refused.problems)
            return with_recovered(report, [recovered])

    def report_already_applied(self, lock: RootLock, plan: Plan) -> ApplyReport:
        """The report on a committed `plan` with its receipt; the result is in place, and durable from now on.

        Raises `StorageRefused` when the disk does not confirm that.
        """
        confirm(lock)
        last = self.library.last_commit_of(plan)
        receipt = last.receipt() if last is not None else None
        return ApplyReport(
            ok=True, applied=True, already_applied=True, receipt=receipt, **report_fields(plan, None)
        )

    def commit_planned(self, lock: RootLock, planned: PlannedBatch, *, rebased: bool | None) -> ApplyReport:
        """Commit what was just planned, as `commit` does; its results are not made again."""
        made = planned.replayed()
        return self.commit(lock, planned.plan, planned.bases, made=made, rebased=rebased)

    def commit(
        self,
        lock: RootLock,
        plan: Plan,
        bases: Sequence[Source],
        *,
        made: Replay | None = None,
        rebased: bool | None = None,
        with_diff: bool = True,
    ) -> ApplyReport:
        """Stage and publish what the text edits of `plan` make of its `bases`, if that is approved.

        It may be `made` already. The report has the diff `with_diff`. Errors: PLAN_TAMPERED; those of the
        gate. Raises `StorageRefused`.
        """
        replayed = made or self.documents.replay(plan, bases, with_diff=with_diff)
        if not isinstance(replayed, Replay):
            return refusal(ApplyReport, replayed)
        fields = report_fields(plan, replayed.diff if with_diff else None) | {"rebased": rebased}
        if plan.is_no_op:
            return ApplyReport(ok=True, **fields)
        clearance = self.gate.check(plan, lock.root)
        if not isinstance(clearance, Clearance):
            # Whoever is to approve the plan must be able to examine it.
            stored = self.library.save(plan, lock.root, self.clock(), bases=bases)
            return replace(refusal(ApplyReport, clearance), stored=stored, **fields)
        fields |= {"approved": clearance.approved}
        # Before anything is put in place: a base that is not held can be read no more afterwards.
        fields |= {"written": written_files(plan, bases, replayed.texts)}
        transaction, now, durability = secrets.token_hex(8), self.clock(), self.settings.durability
        staged = stage(
            lock,
            files_to_stage(plan, self.documents, bases, replayed),
            transaction=transaction,
            note=note_of(
                plan,
                lock.root,
                CommitFacts(
                    committed_at=now,
                    durability=durability,
                    actor=self.caller.actor(),
                    client=self.library.client_of(plan.plan_id, lock.root) or self.caller.client(),
                    approved=clearance.approved,
                ),
            ),
            max_bytes=self.settings.max_file_bytes,
            durability=durability,
            removed_folders=self.undoing.folders_to_remove(plan),
        )
        # From here on the approval is used, whatever happens: a crash must not leave it for a second commit.
        problems = self.gate.use(clearance, plan.plan_id, lock.root, transaction, now)
        if problems:
            return refusal(ApplyReport, (*problems, *staged.discard()))
        facts = publish(staged)
        kept = collect(lock, self.settings.history_transactions, self.settings.history_bytes)
        receipt = Receipt(
            transaction=transaction,
            plan_id=plan.plan_id,
            files=tuple(FileReport.of(change) for change in plan.files),
            committed_at=now,
            durability=durability,
            cas=facts.cas,
        )
        fields |= {"warnings": (*fields["warnings"], *facts.warnings, *kept)}
        fields |= {"undoable": facts.undoable, "durable": facts.durable}
        return ApplyReport(ok=True, applied=True, receipt=receipt, **fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCommitter:
    """Commits plans and undos that may need to be planned again.

    `save` stores a plan that was made of another one, its second argument; `revise` records in whose place a
    plan of a batch was made.
    """

    documents: Documents
    planner: Planner
    undoing: UndoService
    merging: MergeService
    committing: Committer
    limits: Limits
    save: Callable[[PlannedBatch, Plan], bool]
    revise: Callable[[Plan, Batch], Problems]

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
        self, lock: RootLock, plan: Plan, *, on_stale: OnStale = "refuse", with_diff: bool = True
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
        undone = plan.undoes
        if on_stale != "refuse" and undone is not None:
            return self.commit_undo(lock, undone, on_stale)
        rebased = self._on_new_base(plan, found, on_stale)
        if not isinstance(rebased, PlannedBatch):
            return refusal(ApplyReport, rebased if on_stale == "merge" else (*stale, *rebased))
        self.save(rebased, plan)
        return self.committing.commit_planned(lock, rebased, rebased=True)

    def preview(self, plan: Plan, stored: StoredPlans, on_stale: OnStale) -> ApplyReport:
        """What `commit_plan` would commit, in the store and with its diff; a stale plan may be merged."""
        report = as_apply_report(stored.report(plan))
        if report.ok or on_stale != "merge" or plan.undoes is not None:
            return report
        found = self.documents.read_current(plan)
        merged = self.merging.of_plan(plan, found) if isinstance(found, list) else found
        if not isinstance(merged, PlannedBatch):
            return refusal(ApplyReport, merged)
        return ApplyReport(ok=True, stored=self.save(merged, plan), rebased=True, **merged.report_fields())

    def preview_undo(self, past: PastTransaction, stored: StoredPlans, on_stale: OnStale) -> ApplyReport:
        """The undo of `past` as a stored plan."""
        planned = self.undoing.plan(past, on_stale)
        if not isinstance(planned, PlannedUndo):
            return refusal(ApplyReport, planned)
        self.committing.library.save(planned.plan, past.root, self.committing.clock())
        return replace(as_apply_report(stored.report(planned.plan)), rebased=planned.rebased)

    def _on_new_base(
        self, plan: Plan, found: Sequence[FoundFile], on_stale: OnStale
    ) -> PlannedBatch | Problems:
        """What `plan` becomes on files that are not its bases; no problem where that is refused."""
        if on_stale == "refuse":
            return ()
        if on_stale == "merge":
            return self.merging.of_plan(plan, found)
        return plan_on_new_base(self.planner.plan, plan, self.limits)

    def commit_undo(self, lock: RootLock, transaction: str, on_stale: OnStale) -> ApplyReport:
        """Commit the undo of `transaction`, planned on the files as they are now."""
        past = self.undoing.find(transaction)
        planned = (past,) if isinstance(past, Diagnostic) else self.undoing.plan(past, on_stale)
        if not isinstance(planned, PlannedUndo):
            return refusal(ApplyReport, planned)
        if planned.is_applied:
            return self.committing.report_already_applied(lock, planned.plan)
        return self.committing.commit(lock, planned.plan, planned.bases, rebased=planned.rebased)

    def select(self, plan: Plan, accept: Sequence[int] | None) -> PlanSelection | Problems:
        """`plan`, or the stored plan of the edits of it in `accept`. Errors: those of `plan_part`."""
        if accept is None:
            return PlanSelection(plan)
        if plan.undoes is not None:
            return (UNDO_IS_WHOLE,)
        planned = plan_part(self.planner.plan, plan, accept, self.limits)
        if not isinstance(planned, PlannedBatch):
            return planned
        self.save(planned, plan)
        return planned.chosen

    def apply_batch(
        self, batch: Batch, recovery: Recovery, stored: StoredPlans, tick: ProgressCallback, seen: Seen | None
    ) -> ApplyReport:
        """Commit the plan of `batch`, which `seen` or its own evidence guards; not twice in a row."""
        plan, workspace = partial(self.merging.plan, tick=tick), self.documents.workspace

        def plan_it() -> PlannedBatch | Plan | Problems:
            repeated = stored.repeated(batch)
            if repeated is not None:
                return repeated
            if seen is None:
                planned = replan_with_preconditions(plan, batch)
            else:
                planned = replan_with_guards(
                    plan, batch, lambda batch, free: with_seen_bases(batch, workspace, seen, free)
                )
            problems = self.revise(planned.plan, batch) if isinstance(planned, PlannedBatch) else ()
            return problems or planned

        return self.commit_batch(recovery, plan_it)

    def commit_batch(
        self, recovery: Recovery, plan_it: Callable[[], PlannedBatch | Plan | Problems]
    ) -> ApplyReport:
        """Commit what `plan_it` plans, before the lock so that a refusal leaves no trace.

        A plan alone is one that was committed before, and whose result is still in place.
        """
        # What a commit left half done is no base to plan on.
        recovered = recovery.recover_pending()
        planned = plan_it()
        if not isinstance(planned, PlannedBatch | Plan):
            return with_recovered(refusal(ApplyReport, planned), recovered)
        root = self.documents.root_of(planned.plan if isinstance(planned, PlannedBatch) else planned)
        assert isinstance(root, Root), "its files were located"
        work = partial(self.commit_planned, seen=planned, plan_it=plan_it)
        return with_recovered(self.committing.locked(root, work), recovered)

    def apply_plan(
        self, plan: Plan, root: Root, request: PlanRef | PlanDocument, stored: StoredPlans
    ) -> ApplyReport:
        """Commit `plan` of `root`, or the part of it that `request` accepts; or preview that."""
        # A part, or the same edits on other files, is another plan.
        rejected = () if request.dry_run else self.committing.gate.rejection(plan, root)
        chosen = rejected or self.select(plan, request.accept)
        if not isinstance(chosen, PlanSelection):
            return refusal(ApplyReport, chosen)
        if request.dry_run:
            report = self.preview(chosen.plan, stored, request.on_stale)
        else:
            work = partial(self.commit_plan, plan=chosen.plan, on_stale=request.on_stale)
            report = self.committing.locked(root, work)
        return replace(report, accepted=chosen.accepted, rejected=chosen.rejected) if report.ok else report


# --- From a plan, and what it makes of its bases, to the files that a commit writes and removes.


def files_to_stage(
    plan: Plan, documents: Documents, bases: Sequence[Source], replayed: Replay
) -> list[StagedFile]:
    """Return the files of `plan` in `documents` that change, and those that keep old content.

    Raises `StorageRefused` as `Documents.backups_of` does.
    """
    backups = documents.backups_of(plan)
    restores = plan.undoes is not None
    return [
        file
        for index, (change, names) in enumerate(zip(plan.files, documents.names_of(plan), strict=True))
        if not change.is_no_op
        for file in (
            *_backup(names[0], bases, index, backups),
            *_changed(
                change,
                names,
                _result(change, replayed, index),
                _replayed_bytes(bases, replayed, index),
                restores=restores,
            ),
        )
    ]


def _result(change: FileChange, replayed: Replay, index: int) -> LaterContent | None:
    """What becomes of a file, made when it is written; None for one that goes."""
    if change.result_sha256 is None:
        return None
    return LaterContent(replayed.sizes[index], lambda: _read_unchanged(replayed.results[index], change.path))


def _replayed_bytes(bases: Sequence[Source], replayed: Replay, index: int) -> bytes | None:
    """The bytes of a base, which are held where all results are."""
    return None if replayed.texts is None else bases[index].data


def _read_unchanged(content: bytes | None, path: str) -> bytes:
    """`content`, for which there is none when its base is another by now: STALE_BASE (`StorageRefused`)."""
    if content is not None:
        return content
    raise StorageRefused.of(
        Code.STALE_BASE,
        f"`{path}` was changed by another program during the commit",
        "plan again on its new content",
        file=path,
    )


def _backup(
    name: FileName, bases: Sequence[Source], index: int, backups: Mapping[FileName, str | None]
) -> Iterator[StagedFile]:
    kept = FileName(name.root, name.path + BACKUP_SUFFIX)
    if kept not in backups:
        return
    size, sha256 = len(bases[index].data), bases[index].sha256
    if backups[kept] != sha256:

        def content_now() -> bytes:
            base = bases[index]
            return _read_unchanged(base.data if base.sha256 == sha256 else None, name.path)

        content = LaterContent(size, content_now)
        yield StagedFile(kept, backups[kept], content, sha256, like=name)


def _changed(
    change: FileChange,
    names: tuple[FileName, FileName | None],
    result: LaterContent | None,
    base: bytes | None,
    *,
    restores: bool,
) -> Iterator[StagedFile]:
    """One file; two for a renaming: a new file like the old one, which goes.

    An undo that creates a file `restores` a deleted one.
    """
    name, new_name = names
    if new_name is None:
        is_new = change.base_sha256 is None
        yield StagedFile(
            name, change.base_sha256, result, change.result_sha256, restores=restores and is_new, base=base
        )
    else:
        yield StagedFile(new_name, None, result, change.result_sha256, like=name)
        yield StagedFile(name, change.base_sha256, None, None, base=base)
