"""Commits of plans, batches and undos under the lock of their root."""

import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from mdplan.diagnostics import Code, Problems, Severity
from mdplan.documents.documents import BACKUP_SUFFIX, Documents, Seen, with_seen_bases
from mdplan.engine.approval import Clearance
from mdplan.engine.history import CommitNote, PastTransaction
from mdplan.engine.interrupted import reported
from mdplan.engine.plans import PlanDocument, PlanRef
from mdplan.engine.undo import with_recovered
from mdplan.plan import Plan
from mdplan.planning import replan
from mdplan.planning.replay import FoundFile, PlannedBatch, Replay, bases_of, is_applied
from mdplan.planning.results import report_fields, written_files
from mdplan.reports.base import refusal
from mdplan.reports.plan import ApplyReport, FileReport, Receipt, as_apply_report
from mdplan.requests.batch import Batch
from mdplan.requests.verbs import OnStale
from mdplan.settings import ProgressCallback
from mdplan.storage.commit import LaterContent, StagedFile, publish, stage
from mdplan.storage.files import FileName
from mdplan.storage.filesystem import StorageRefused, granted
from mdplan.storage.lock import RootLock, locked
from mdplan.storage.recovery import recover
from mdplan.storage.root import Root
from mdplan.text.source import Source
from mdplan.values import Struct, replace

if TYPE_CHECKING:
    from mdplan.engine.services import EngineServices

# Plans a change or raises `StorageRefused`. A bare plan means that it was committed before and is still in
# place.
MakePlan: TypeAlias = Callable[[], PlannedBatch | Plan]


class Committer(Struct):
    """Commits batches, plans and undos of `engine`, each under the lock of its root and through the gate.

    Plans stale batches and plans again if the caller asks for it. Public methods raise `StorageRefused` if
    they cannot take the lock.
    """

    engine: "EngineServices"

    def apply_batch(self, batch: Batch, tick: ProgressCallback, seen: Seen | None) -> ApplyReport:
        """Commit the plan of `batch`, which `seen` or its own evidence guards; not twice in a row."""
        plan, workspace = partial(self.engine.merging.plan, tick=tick), self.engine.documents.workspace

        def make_plan() -> PlannedBatch | Plan:
            is_pinned = replan.is_pinned(batch)
            repeated = None if is_pinned else self.engine.stored.repeated(batch)
            if repeated is not None:
                return repeated
            if seen is None:
                planned = replan.replan_with_preconditions(plan, batch, self.engine.merging.past_outline)
            else:
                planned = replan.replan_with_guards(
                    plan,
                    batch,
                    lambda batch, free: with_seen_bases(batch, workspace, seen, free),
                    self.engine.merging.past_outline,
                )
            if isinstance(planned, PlannedBatch):
                granted(self.engine.feedback.record_revision(planned.plan, batch.revises))
                return planned
            # The base may be gone because this batch was committed and the answer got lost.
            return (self.engine.stored.repeated(batch) if is_pinned else None) or granted(planned)

        return self.commit_batch(make_plan)

    def commit_batch(self, make_plan: MakePlan) -> ApplyReport:
        """Plan with `make_plan` before taking the lock, so that a refusal leaves no trace, then commit.

        If another writer was faster, plan again under the lock.
        """
        # Never plan on the remains of an interrupted commit.
        recovered = self.engine.recovery.recover_pending()

        def commit_planned() -> ApplyReport:
            planned = make_plan()

            def commit(lock: RootLock) -> ApplyReport:
                is_current = isinstance(planned, PlannedBatch) and self.engine.documents.are_bases(
                    planned.files
                )
                current = planned if is_current else make_plan()
                if isinstance(current, Plan):
                    return self._report_already_applied(current)
                return self._publish(
                    lock, current.plan, current.bases, replayed=current.replayed(), rebased=current.rebased
                )

            root = self.engine.library.root_of(planned if isinstance(planned, Plan) else planned.plan)
            return self._locked(root, commit)

        return with_recovered(reported(ApplyReport, commit_planned), recovered)

    def apply_plan(self, plan: Plan, root: Root, request: PlanRef | PlanDocument) -> ApplyReport:
        """Commit `plan` of `root`, or the part of it that `request` accepts; or preview that."""
        # A part, or the same edits on other files, is another plan.
        granted(() if request.dry_run else self.engine.gate.rejection(plan, root))
        selected = PlannedBatch(plan=plan) if request.accept is None else self.select(plan, request.accept)
        if request.dry_run:
            report = self.preview(selected.plan, request.on_stale)
        else:
            report = self._locked(
                root, partial(self._commit_plan, plan=selected.plan, on_stale=request.on_stale)
            )
        if not report.ok:
            return report
        return replace(report, accepted=selected.accepted, rejected=selected.rejected)

    def commit(self, plan: Plan) -> ApplyReport:
        """Commit `plan` if its files are its bases; the report has no diff."""
        return self._locked(
            self.engine.library.root_of(plan), partial(self._commit_plan, plan=plan, with_diff=False)
        )

    def undo(
        self, past: PastTransaction, on_stale: OnStale, files: Sequence[str] = (), *, dry_run: bool
    ) -> ApplyReport:
        """Commit the undo of `past`, or of `files` of it; with `dry_run`, store its plan."""
        if dry_run:
            planned = self.engine.undoing.plan(past, on_stale, files)
            self.engine.library.save(planned.plan)
            report = replace(
                as_apply_report(self.engine.stored.report(planned.plan)), rebased=planned.rebased
            )
        else:
            commit = partial(self._commit_undo, transaction=past.id, on_stale=on_stale, files=files)
            report = self._locked(past.root, commit)
        return replace(report, undone=past.named()) if report.ok else report

    def _locked(self, root: Root, commit: Callable[[RootLock], ApplyReport]) -> ApplyReport:
        """Return what `commit` reports under the lock of `root`, after recovery of interrupted commits."""
        with locked(root, self.engine.settings.lock_timeout) as lock:
            recovered = recover(lock)
            return with_recovered(reported(ApplyReport, partial(commit, lock)), [recovered])

    def select(
        self,
        plan: Plan,
        accept: Collection[int],
        split: Mapping[int, replan.SplitEdit] = MappingProxyType({}),
    ) -> PlannedBatch:
        """Store the plan of the edits in `accept`, the `split` ones in part. Errors: as `plan_part`."""
        if plan.undoes is not None:
            raise StorageRefused((replan.UNDO_IS_WHOLE,))
        planned = granted(
            replan.plan_part(self.engine.planner.plan, plan, accept, self.engine.settings.batch, split)
        )
        self.engine.library.save(planned, origin=plan)
        return planned

    def preview(self, plan: Plan, on_stale: OnStale, *, stores: bool = True) -> ApplyReport:
        """Return what a commit of `plan` would do, with its diff; a new plan for changed files is stored."""
        report = as_apply_report(self.engine.stored.report(plan))
        if report.ok or on_stale == "refuse" or plan.undoes is not None:
            return report
        carried = self._on_current_files(plan, granted(self.engine.documents.read_current(plan)), on_stale)
        stored = stores and self.engine.library.save(carried, origin=plan)
        return ApplyReport(ok=True, stored=stored, rebased=True, **carried.report_fields())

    def _on_current_files(
        self, plan: Plan, current_files: Sequence[FoundFile], on_stale: OnStale
    ) -> PlannedBatch:
        """Return the plan that does on `current_files` what the stale `plan` did, as `on_stale` says."""
        if on_stale == "merge":
            return self.engine.merging.of_plan(plan, current_files)
        planned = self.engine.merging.on_new_base(plan) if on_stale == "rebase" else ()
        if isinstance(planned, PlannedBatch):
            return planned
        raise StorageRefused((*self.engine.documents.stale(plan, current_files), *planned))

    def _commit_plan(
        self, lock: RootLock, plan: Plan, *, on_stale: OnStale = "refuse", with_diff: bool = True
    ) -> ApplyReport:
        """Commit `plan` if its files are its bases; if they are its results, it is applied already."""
        current_files = granted(self.engine.documents.read_current(plan))
        if is_applied(plan, current_files):
            return self._report_already_applied(plan)
        if not self.engine.documents.stale(plan, current_files):
            return self._publish(lock, plan, bases_of(plan, current_files), with_diff=with_diff)
        if on_stale != "refuse" and plan.undoes is not None:
            return self._commit_undo(lock, plan.undoes, on_stale, plan.undone_files)
        rebased = self._on_current_files(plan, current_files, on_stale)
        self.engine.library.save(rebased, origin=plan)
        return self._publish(lock, rebased.plan, rebased.bases, replayed=rebased.replayed(), rebased=True)

    def _commit_undo(
        self, lock: RootLock, transaction: str, on_stale: OnStale, files: Sequence[str]
    ) -> ApplyReport:
        """Commit the undo of `transaction`, planned on the files as they are now."""
        planned = self.engine.undoing.plan(granted(self.engine.undoing.find(transaction)), on_stale, files)
        if planned.is_applied:
            return self._report_already_applied(planned.plan)
        return self._publish(lock, planned.plan, planned.bases, rebased=planned.rebased)

    def _report_already_applied(self, plan: Plan) -> ApplyReport:
        """Report a committed `plan` with its receipt; the result is in place."""
        last = self.engine.library.last_commit_of(plan)
        receipt = last.receipt() if last is not None else None
        return ApplyReport(
            ok=True, applied=True, already_applied=True, receipt=receipt, **report_fields(plan, None)
        )

    def _publish(
        self,
        lock: RootLock,
        plan: Plan,
        bases: Sequence[Source],
        *,
        replayed: Replay | None = None,
        rebased: bool | None = None,
        with_diff: bool = True,
    ) -> ApplyReport:
        """Stage and publish what the text edits of `plan` make of its `bases`, if that is approved.

        `replayed` is what they make, if that is known already. Errors: PLAN_TAMPERED; as for the gate.
        Raises `StorageRefused`.
        """
        results = replayed or granted(self.engine.documents.replay(plan, bases, with_diff=with_diff))
        fields = report_fields(plan, results.diff if with_diff else None) | {"rebased": rebased}
        if plan.is_no_op:
            return ApplyReport(ok=True, **fields)
        clearance = self.engine.gate.check(plan, lock.root)
        if not isinstance(clearance, Clearance):
            # Whoever is to approve the plan must be able to examine it.
            stored = self.engine.library.save(plan, bases=bases)
            return replace(refusal(ApplyReport, clearance), stored=stored, **fields)
        fields |= {"approved": clearance.approved}
        # Do this before any file is replaced: afterwards, a base that is not in memory can no longer be read.
        fields |= {"written": written_files(plan, bases, results.texts)}
        transaction, now, durability = (
            secrets.token_hex(8),
            self.engine.clock(),
            self.engine.settings.durability,
        )
        staged = stage(
            lock,
            files_to_stage(plan, self.engine.documents, bases, results),
            transaction=transaction,
            note=CommitNote(
                plan_id=plan.plan_id,
                committed_at=now,
                durability=durability,
                actor=self.engine.caller.actor(),
                client=self.engine.library.client_of(plan.plan_id, lock.root) or self.engine.caller.client(),
                root_name=lock.root.name,
                undoes=plan.undoes,
                undoes_part=bool(plan.undone_files) or None,
                approved=clearance.approved,
            ).document(plan),
            now=now,
            max_bytes=self.engine.settings.max_file_bytes,
            durability=durability,
            removed_folders=self.engine.undoing.folders_to_remove(plan),
        )
        # From here on the approval is used, whatever happens: a crash must not leave it for a second commit.
        problems = self.engine.gate.use(clearance, plan.plan_id, lock.root, transaction, now)
        if problems:
            return refusal(ApplyReport, (*problems, *staged.discard()))
        facts = publish(staged)
        collected = self._forget_old(lock, now)
        receipt = Receipt(
            transaction=transaction,
            plan_id=plan.plan_id,
            files=tuple(FileReport.of(change) for change in plan.files),
            committed_at=now,
            durability=durability,
            cas=facts.cas,
        )
        fields |= {"warnings": (*fields["warnings"], *facts.warnings, *collected)}
        fields |= {"undoable": True, "durable": facts.durable}
        return ApplyReport(ok=True, applied=True, receipt=receipt, **fields)

    def _forget_old(self, lock: RootLock, now: float) -> Problems:
        """Forget the oldest transactions beyond what is kept; what goes wrong there is a warning."""
        try:
            lock.store.collect_if_due(*self.engine.settings.history_limits(now))
        except StorageRefused as refused:
            return tuple(replace(problem, severity=Severity.WARNING) for problem in refused.problems)
        return ()


# --- The files that a commit writes and removes.


def files_to_stage(
    plan: Plan, documents: Documents, bases: Sequence[Source], replayed: Replay
) -> list[StagedFile]:
    """Return the files of `plan` in `documents` that change, and the files that back up old content.

    Of a renaming the new file, like the old one, which goes. Raise `StorageRefused` as `backups_of`.
    """
    backups = documents.backups_of(plan)
    staged: list[StagedFile] = []
    for index, (change, (name, new_name)) in enumerate(
        zip(plan.files, documents.names_of(plan), strict=True)
    ):
        if change.is_no_op:
            continue
        staged += _backup(name, bases, index, backups)
        result, result_sha256 = None, change.result_sha256
        if result_sha256 is not None:
            made = partial(_made, replayed, index, change.path)
            result = LaterContent(replayed.sizes[index], made)
        if new_name is not None:
            staged.append(StagedFile(new_name, None, result, result_sha256, like=name))
            result = result_sha256 = None
        # An undo that creates a file restores a deleted one.
        restores = plan.undoes is not None and change.base_sha256 is None and new_name is None
        staged.append(StagedFile(name, change.base_sha256, result, result_sha256, restores=restores))
    return _with_one_file_per_name(staged)


def _with_one_file_per_name(staged: Sequence[StagedFile]) -> list[StagedFile]:
    """Return `staged`, in which a name that one file leaves and another one takes is replaced."""
    by_name: dict[FileName, StagedFile] = {}
    for file in staged:
        other = by_name.get(file.name, file)
        comes, goes = (other, file) if file.result is None else (file, other)
        by_name[file.name] = file if other is file else replace(comes, base_sha256=goes.base_sha256)
    return [file for file in by_name.values() if file.base_sha256 != file.result_sha256]


def _made(replayed: Replay, index: int, path: str) -> bytes:
    """Return the result of a file, made when it is written."""
    return _read_unchanged(replayed.results[index], path)


def _read_unchanged(content: bytes | None, path: str) -> bytes:
    """Return `content`. Raises `StorageRefused` (STALE_BASE) for None: its base has changed by now."""
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
    """Return the backup of a file if the batch wants one and none exists."""
    backup = FileName(name.root, name.path + BACKUP_SUFFIX)
    if backup not in backups:
        return
    size, sha256 = len(bases[index].data), bases[index].sha256
    if backups[backup] != sha256:

        def content_now() -> bytes:
            base = bases[index]
            return _read_unchanged(base.data if base.sha256 == sha256 else None, name.path)

        yield StagedFile(backup, backups[backup], LaterContent(size, content_now), sha256, like=name)
