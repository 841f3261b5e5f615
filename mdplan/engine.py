"""The line, written once: decode, parse, resolve, check, build, verify, stage, publish.

`stat` stops after parse; `plan`, which is also validate and the dry run, after verify; `apply` runs through.
Every surface is a thin adapter onto this class; none of them edits text by itself.
"""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from mdplan.batch import Batch, FileEdits
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.plan import Plan
from mdplan.plan_library import PlanLibrary
from mdplan.planning.build import BuiltFile, build_file
from mdplan.planning.conflicts import find_conflicts
from mdplan.planning.pinning import unpinned
from mdplan.planning.plan_document import is_document, read_document, write_document
from mdplan.planning.replay import Replay, is_applied, replay, stale_files
from mdplan.planning.resolve import resolve_edits
from mdplan.planning.snapshot import SnapshotFile
from mdplan.planning.stale import stale_base
from mdplan.planning.summary import file_report, plan_of, report_fields
from mdplan.planning.verify import verify
from mdplan.reading.folder import folder_report
from mdplan.reading.open_document import open_document
from mdplan.reading.stat import stat_report
from mdplan.reading.stat_request import StatRequest
from mdplan.report import ApplyReport, PlanReport, Receipt, StatReport, refusal
from mdplan.storage.commit import Durability, StagedFile, publish, stage
from mdplan.storage.file_name import FileName
from mdplan.storage.lock import RootLock, locked
from mdplan.storage.refusal import StorageRefused
from mdplan.storage.root import Root
from mdplan.storage.workspace import Workspace
from mdplan.text.diff import format_diff
from mdplan.wire import DEFAULT_LIMITS, Limits, read_batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits and choices of one engine. Times are in seconds, sizes in bytes."""

    max_file_bytes: int = 16 * 1024 * 1024
    max_lines: int = 400_000
    batch: Limits = DEFAULT_LIMITS
    lock_timeout: float = 10.0
    durability: Durability = Durability.FULL


DEFAULT_SETTINGS: Final = Settings()


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
        self.library = PlanLibrary(workspace)
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
        if self.workspace.is_several(request.file):
            return self._stat_folder(request)
        name = self.workspace.locate(request.file)
        if isinstance(name, Diagnostic):
            return refusal(StatReport, (name,))
        outline = self._open(name, request.encoding, request.format)
        if isinstance(outline, Diagnostic):
            return refusal(StatReport, (outline,))
        return stat_report(str(name), outline, request)

    def plan(self, data: object) -> PlanReport:
        """Plan of a batch (decoded JSON), stored under its ID. Nothing is written to its files."""
        batch = read_batch(data, self.settings.batch)
        if not isinstance(batch, Batch):
            return refusal(PlanReport, batch)
        planned = self._plan(batch)
        if not isinstance(planned, _Planned):
            return refusal(PlanReport, planned)
        stored = self.library.save(planned.plan, self._root_of(planned.plan.files[0].path), self._clock())
        return PlanReport(ok=True, stored=stored, **report_fields(planned.plan, planned.diff))

    def show(self, plan_id: str) -> PlanReport:
        """A stored plan with its diff, made anew from its bases.

        Errors: PLAN_NOT_FOUND, PLAN_TAMPERED, STALE_BASE. Of a plan that is applied there is no diff.
        """
        loaded = self.library.load(plan_id)
        if isinstance(loaded, Diagnostic):
            return refusal(PlanReport, (loaded,))
        return self._show(loaded[0], stored=True)

    def export(self, plan_id: str) -> bytes | Problems:
        """The document of a stored plan, which `apply` takes. Errors: PLAN_NOT_FOUND, PLAN_TAMPERED."""
        loaded = self.library.load(plan_id)
        return (loaded,) if isinstance(loaded, Diagnostic) else write_document(loaded[0])

    def diff_bytes(self, plan_id: str) -> bytes | Problems:
        """The exact diff of a stored plan. Errors: PLAN_NOT_FOUND, PLAN_TAMPERED, STALE_BASE."""
        loaded = self.library.load(plan_id)
        if isinstance(loaded, Diagnostic):
            return (loaded,)
        bases = self._open_bases(loaded[0])
        replayed = self._replay(loaded[0], bases.outlines) if isinstance(bases, _Bases) else bases
        return replayed.diff if isinstance(replayed, Replay) else replayed

    def apply(self, data: object) -> ApplyReport:
        """Commit a plan (``{planId}``, or its document) or a batch that is pinned (decoded JSON).

        Beside `planId` only `baseSha256`, which must be the plan's, and `dryRun` count. Errors: those of
        planning; PRECONDITION_REQUIRED, STALE_BASE, PLAN_NOT_FOUND, PLAN_TAMPERED; those of storage.
        """
        try:
            if isinstance(data, Mapping) and (is_document(data) or data.keys() & {"planId", "plan_id"}):
                return self._apply_plan(data)
            return self._apply_batch(data)
        except StorageRefused as refused:
            return refusal(ApplyReport, refused.problems)

    # From a batch to built files.

    def _plan(self, batch: Batch) -> "_Planned | Problems":
        snapshot, problems = self._snapshot(batch)
        built_files: list[BuiltFile] = []
        for file in snapshot:
            built = _build(file, batch)
            if isinstance(built, BuiltFile):
                built_files.append(built)
            else:
                problems += built
        if problems:
            return tuple(problems)
        return _Planned(plan_of(built_files), built_files)

    def _snapshot(self, batch: Batch) -> tuple[list[SnapshotFile], list[Diagnostic]]:
        """Every file of the batch, decoded and parsed, and what is wrong with the others."""
        files: list[SnapshotFile] = []
        problems: list[Diagnostic] = []
        names: set[FileName] = set()
        first_edit = 0
        for requested in batch.files:
            name = self.workspace.locate(requested.file)
            file = name if isinstance(name, Diagnostic) else self._snapshot_file(name, requested, first_edit)
            if isinstance(name, FileName) and name in names:
                file = _named_twice(name)
            if isinstance(file, Diagnostic):
                problems.append(file.at(file=requested.file))
            else:
                files.append(file)
            if isinstance(name, FileName):
                names.add(name)
            first_edit += len(requested.edits)
        if len({name.root for name in names}) > 1:
            problems.append(_SEVERAL_ROOTS)
        return files, problems

    def _snapshot_file(
        self, name: FileName, requested: FileEdits, first_edit: int
    ) -> SnapshotFile | Diagnostic:
        outline = self._open(name, requested.encoding, requested.format)
        if isinstance(outline, Diagnostic):
            return outline
        expected = requested.base_sha256
        if expected is not None and not outline.source.sha256.startswith(expected.lower()):
            return stale_base(str(name), expected, outline)
        refused = self.workspace.write_refusal(name)
        return refused or SnapshotFile(
            path=str(name), relative=name.path, requested=requested, outline=outline, first_edit=first_edit
        )

    def _open(self, name: FileName, encoding: str | None, given: str | None) -> Outline | Diagnostic:
        found = self.workspace.read(name, self.settings.max_file_bytes)
        if isinstance(found, Diagnostic):
            return found
        return open_document(str(name), found.data, encoding, given, self.settings.max_lines)

    # From a plan to a receipt.

    def _apply_batch(self, data: object) -> ApplyReport:
        batch = read_batch(data, self.settings.batch)
        if not isinstance(batch, Batch):
            return refusal(ApplyReport, batch)
        if batch.dry_run:
            return _as_apply_report(self.plan(data))
        name = self.workspace.locate(batch.files[0].file)
        if isinstance(name, Diagnostic):
            return refusal(ApplyReport, (name,))
        root = self.workspace.root_of(name)
        with locked(root, self.settings.lock_timeout) as lock:
            planned = self._plan(batch)
            if not isinstance(planned, _Planned):
                return refusal(ApplyReport, planned)
            loose = unpinned(planned.files)
            if loose:
                return refusal(ApplyReport, loose)
            self.library.save(planned.plan, root, self._clock())
            return self._commit(lock, planned.plan, [built.base for built in planned.files])

    def _apply_plan(self, data: Mapping[str, Any]) -> ApplyReport:
        loaded = self._given_plan(data)
        if isinstance(loaded, Diagnostic):
            return refusal(ApplyReport, (loaded,))
        plan, root = loaded
        if data.get("dryRun", data.get("dry_run", False)):
            return _as_apply_report(self._show(plan, stored=None))
        with locked(root, self.settings.lock_timeout) as lock:
            bases = self._open_bases(plan)
            if not isinstance(bases, _Bases):
                return refusal(ApplyReport, bases)
            if bases.are_results:
                receipt = self.library.receipt_of(root, plan)
                fields = report_fields(plan, None)
                return ApplyReport(ok=True, applied=True, already_applied=True, receipt=receipt, **fields)
            return self._commit(lock, plan, bases.outlines)

    def _commit(self, lock: RootLock, plan: Plan, bases: Sequence[Outline]) -> ApplyReport:
        """Stage and publish what the text edits of `plan` make of its `bases`."""
        replayed = self._replay(plan, bases)
        if not isinstance(replayed, Replay):
            return refusal(ApplyReport, replayed)
        fields = report_fields(plan, replayed.diff)
        if plan.is_no_op:
            return ApplyReport(ok=True, **fields)
        staged = stage(
            lock,
            [
                StagedFile(
                    path=path,
                    base_sha256=change.base_sha256,
                    result=result,
                    result_sha256=change.result_sha256,
                )
                for change, path, result in zip(
                    plan.files, self._relative(plan), replayed.results, strict=True
                )
                if not change.is_no_op
            ],
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
        self.library.save_receipt(lock.root, receipt, now)
        fields["warnings"] = (*fields["warnings"], *facts.warnings)
        return ApplyReport(ok=True, applied=True, receipt=receipt, **fields)

    def _given_plan(self, data: Mapping[str, Any]) -> tuple[Plan, Root] | Diagnostic:
        """The plan that a request names or carries, and its root."""
        if is_document(data):
            plan = read_document(data)
            if isinstance(plan, Diagnostic):
                return plan
            name = self.workspace.locate(plan.files[0].path)
            return name if isinstance(name, Diagnostic) else (plan, self.workspace.root_of(name))
        plan_id = data.get("planId", data.get("plan_id"))
        if not isinstance(plan_id, str):
            return Diagnostic(
                code=Code.INVALID_ARGUMENT, message="planId is not a string", hint="send the planId of a plan"
            )
        loaded = self.library.load(plan_id)
        return loaded if isinstance(loaded, Diagnostic) else (_wrong_base(loaded[0], data) or loaded)

    def _show(self, plan: Plan, *, stored: bool | None) -> PlanReport:
        bases = self._open_bases(plan)
        if not isinstance(bases, _Bases):
            return refusal(PlanReport, bases)
        if bases.are_results:
            return PlanReport(ok=True, stored=stored, applied=True, **report_fields(plan, None))
        replayed = self._replay(plan, bases.outlines)
        if not isinstance(replayed, Replay):
            return refusal(PlanReport, replayed)
        return PlanReport(ok=True, stored=stored, **report_fields(plan, replayed.diff))

    def _open_bases(self, plan: Plan) -> "_Bases | Problems":
        """The files of `plan` as they are now: all its bases, or all its results. Errors: STALE_BASE."""
        opened: list[Outline] = []
        problems: list[Diagnostic] = []
        for change in plan.files:
            name = self.workspace.locate(change.path)
            outline = name if isinstance(name, Diagnostic) else self._open(name, change.encoding, None)
            (problems if isinstance(outline, Diagnostic) else opened).append(outline)  # type: ignore[arg-type]
        if problems:
            return tuple(problems)
        if is_applied(plan, opened):
            return _Bases(opened, are_results=True)
        return stale_files(plan, opened) or _Bases(opened, are_results=False)

    def _replay(self, plan: Plan, bases: Sequence[Outline]) -> Replay | Problems:
        return replay(plan, self._relative(plan), [outline.source for outline in bases])

    def _relative(self, plan: Plan) -> list[str]:
        """Paths of the plan's files without the name of their root."""
        names = (self.workspace.locate(change.path) for change in plan.files)
        return [name.path for name in names if isinstance(name, FileName)]

    def _root_of(self, path: str) -> Root:
        """Root of a path that was located before."""
        name = self.workspace.locate(path)
        assert isinstance(name, FileName)
        return self.workspace.root_of(name)

    def _stat_folder(self, request: StatRequest) -> StatReport:
        names = self.workspace.iter_files(request.file)
        if isinstance(names, Diagnostic):
            return refusal(StatReport, (names,))
        by_path = {str(name): name for name in names}

        def read(path: str) -> Outline | Diagnostic:
            return self._open(by_path[path], request.encoding, request.format)

        return folder_report(request, by_path, read)


@dataclass(frozen=True, slots=True)
class _Planned:
    """A plan, and the files that it was made of."""

    plan: Plan
    files: Sequence[BuiltFile]

    @property
    def diff(self) -> bytes:
        return b"".join(format_diff(built.file.relative, built.hunks) for built in self.files)


@dataclass(frozen=True, slots=True)
class _Bases:
    """The files of a plan as they are now; with `are_results` they have their results already."""

    outlines: Sequence[Outline]
    are_results: bool


def _build(file: SnapshotFile, batch: Batch) -> BuiltFile | Problems:
    """Resolve, check, build and verify one file."""
    resolved, problems = resolve_edits(file)
    problems += find_conflicts(file, resolved)
    if problems:
        return problems
    built = build_file(file, resolved)
    if not isinstance(built, BuiltFile):
        return built
    return verify(built, batch) or built


def _wrong_base(plan: Plan, data: Mapping[str, Any]) -> Diagnostic | None:
    """STALE_BASE when the `baseSha256` beside a plan ID is not that of the plan's one file."""
    given = data.get("baseSha256", data.get("base_sha256"))
    bases = [change.base_sha256 for change in plan.files]
    if given is None or (isinstance(given, str) and len(bases) == 1 and bases[0].startswith(given.lower())):
        return None
    return Diagnostic(
        code=Code.STALE_BASE,
        message="baseSha256 is not the base of this plan",
        hint="leave it out, or plan again on the file as it is now",
    )


def _as_apply_report(report: PlanReport) -> ApplyReport:
    return ApplyReport(**{field.name: getattr(report, field.name) for field in fields(report)})


def _named_twice(name: FileName) -> Diagnostic:
    return Diagnostic(
        code=Code.INVALID_ARGUMENT,
        message=f"`{name}` stands in the batch twice",
        hint="put all edits of one file into one list",
        file=str(name),
    )


_SEVERAL_ROOTS: Final = Diagnostic(
    code=Code.INVALID_ARGUMENT,
    message="the batch has files of several roots, and a commit lives in one",
    hint="send one batch for each root",
)
