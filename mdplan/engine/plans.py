"""Plans: stored ones by ID, planning of batches, merges into changed files, and requests to apply."""

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from time import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from mdplan.client import Client
from mdplan.diagnostics import Code, Diagnostic, Problems, Severity
from mdplan.documents.documents import Documents, LinkIndex
from mdplan.documents.schema import schema_problems
from mdplan.documents.workspace import Workspace
from mdplan.engine.history import History, PastTransaction, library_client
from mdplan.engine.interrupted import reported
from mdplan.field_names import camel_case, fold_names, unknown_fields
from mdplan.limits import Limits
from mdplan.markdown.outline import Outline
from mdplan.operations.base import Count
from mdplan.plan import PREFIX, FileChange, Plan
from mdplan.planning.batch import build_files, check_losses, plan_batch
from mdplan.planning.build import BuildResult, BuiltFile, SnapshotFile
from mdplan.planning.links import derive_link_edits
from mdplan.planning.plan_document import document_parts, is_document, read_document, untitled_id
from mdplan.planning.replan import is_same_request, plan_on_new_base, result_id, state_id
from mdplan.planning.replay import FoundFile, PlannedBatch, Replay, bases_of, is_applied, no_text, stale_file
from mdplan.planning.results import report_fields
from mdplan.reports.base import refusal
from mdplan.reports.plan import ApplyReport, PlanReport
from mdplan.requests.batch import Batch, read_batch, validated, wire_names, with_decoded_fields
from mdplan.requests.queries import Query
from mdplan.requests.verbs import OnStale
from mdplan.settings import ProgressCallback, no_progress
from mdplan.storage.files import FileBytes, FileName
from mdplan.storage.filesystem import StorageRefused, granted
from mdplan.storage.plans import PlanLinks, PlanStore, StoredPlan
from mdplan.storage.root import Root
from mdplan.text.source import Source, sha256_hex
from mdplan.values import Struct, replace
from mdplan.words import either, say

# Few plans are stale: what merges them, and git, is loaded for these.
if TYPE_CHECKING:
    from mdplan.planning.merging import Choices, Sides


_SECONDS_OF_A_DAY: Final = 24 * 3600.0

# The size of a plan cache in text edits, matches and files; a plan of one edit of one file has 2 or 3.
_MOST_CACHED: Final = 200_000


class PlanLibrary:
    """Plans by ID, each in the store of its root, verified when loaded, because a store may be hostile.

    A committed plan is also in the record of its transaction, so the store may drop it.
    """

    def __init__(
        self,
        workspace: Workspace,
        history: History,
        kept_days: float,
        client: Callable[[], Client] = library_client,
        clock: Callable[[], float] = time,
    ) -> None:
        """Keep one store for each root of `workspace`, which forgets plans after `kept_days`.

        `client` gives the program that makes plans now; `clock` gives seconds since the epoch.
        """
        kept = kept_days * _SECONDS_OF_A_DAY
        self._stores = [(root, PlanStore(root.path, kept_seconds=kept)) for root in workspace.roots]
        self._history = history
        self._workspace = workspace
        self._client = client
        self._clock = clock

    def save(
        self,
        planned: PlannedBatch | Plan,
        document: bytes = b"",
        origin: Plan | None = None,
        bases: Sequence[Source] = (),
    ) -> bool:
        """Store what was planned, or its `document` if that is written; False if nothing can be stored.

        `origin` is the plan that it was derived from, which keeps its client; `bases` are what the files of a
        plan contain, for a merge.
        """
        plan, bases = (planned, bases) if isinstance(planned, Plan) else (planned.plan, planned.bases)
        root = self.root_of(plan)
        if origin is not None:
            self.derive(plan.plan_id, origin, root)
        # What is decided about the same edits under another title counts for this plan, and for its parts.
        PlanLinks(root.path, "derived").add(plan.plan_id, untitled_id(plan))
        client = (self.client_of(origin.plan_id, root) if origin is not None else None) or self._client()
        contents = (base.data for base in bases)
        parts = (document,) if document else document_parts(plan, with_sections=True)
        return self._store_of(root).save_plan(plan.plan_id, parts, self._clock(), contents, client)

    def root_of(self, plan: Plan) -> Root:
        """Return the root of a plan whose files were located before."""
        name = self._workspace.locate(plan.files[0].path)
        assert isinstance(name, FileName)
        return self._workspace.root_of(name)

    def client_of(self, plan_id: str, root: Root) -> Client | None:
        """Return the program that first made a stored plan of `root`, as far as it is known."""
        return self._store_of(root).load_client(plan_id)

    def _store_of(self, root: Root) -> PlanStore:
        return next(store for known, store in self._stores if known is root)

    def bases_of(self, plan_id: str) -> dict[str, bytes]:
        """Return what the files of a stored plan contained, by hash, as far as that is kept."""
        return {sha256_hex(base): base for _, store in self._stores for base in store.load_bases(plan_id)}

    def derive(self, plan_id: str | None, origin: Plan, root: Root) -> None:
        """Record that the plan `plan_id` was derived from the plan `origin`: a rejection covers both."""
        PlanLinks(root.path, "derived").add(plan_id or "", origin.plan_id)

    def load(self, plan_id: str) -> tuple[Plan, Root] | Diagnostic:
        """Return the plan `plan_id`, and its root. Errors: PLAN_NOT_FOUND, PLAN_TAMPERED.

        A plan with a file that `--allow` or `--deny` excludes is not found.
        """
        loaded = self._load(plan_id)
        if isinstance(loaded, Diagnostic):
            return loaded
        paths = (path for change in loaded[0].files for path in (change.path, change.new_path) if path)
        return _NOT_FOUND if self._workspace.hides(*paths) else loaded

    def _load(self, plan_id: str) -> tuple[Plan, Root] | Diagnostic:
        for root, store in self._stores:
            document = store.load_plan(plan_id)
            if document is not None:
                plan = read_document(document)
                if isinstance(plan, Diagnostic):
                    return plan
                digits = plan_id.removeprefix(PREFIX).lower()
                is_named = plan.plan_id.removeprefix(PREFIX).startswith(digits)
                return (plan, root) if is_named else _FOREIGN
        past = self._history.of_plan(plan_id)
        committed = past.plan() if past is not None else None
        return _NOT_FOUND if past is None or committed is None else (committed, past.root)

    def pending(self) -> list[tuple[StoredPlan, Root]]:
        """Return the plans in the stores, with their roots, the last saved first."""
        pending = ((plan, root) for root, store in self._stores for plan in store.list_plans())
        return sorted(pending, key=lambda entry: (-entry[0].saved_at, entry[0].plan_id))

    def stored(self, plan_id: str) -> StoredPlan:
        """Return the stored plan with that full ID; a missing plan counts as saved long ago."""
        return next((plan for plan, _ in self.pending() if plan.plan_id == plan_id), StoredPlan(plan_id, 0.0))

    def discard(self, plan_id: str) -> Diagnostic | None:
        """Record that a person discarded the plan of that full ID. Errors: IO_ERROR."""
        store = next(root for root, store in self._stores if store.load_plan(plan_id) is not None)
        return None if PlanLinks(store.path, "discarded").add(plan_id, plan_id) else _NOT_STORED

    def last_commit_on(self, files: Sequence[str]) -> PastTransaction | None:
        """Return the last transaction that changed one of `files`, which are paths in one root."""
        names = [name for path in files if isinstance(name := self._workspace.locate(path), FileName)]
        if len(names) < len(files) or len({name.root for name in names}) != 1:
            return None
        return self._history.last_on(self._workspace.root_of(names[0]), {name.path for name in names})

    def last_commit_of(self, plan: Plan) -> PastTransaction | None:
        """Return the last transaction that committed `plan`."""
        return self._history.of_plan(plan.plan_id)


_NOT_FOUND: Final = Code.PLAN_NOT_FOUND.problem(
    "this root has no stored plan with that ID",
    either("plan the batch again: old plans are deleted", say("{--keep-plans} keeps more"), joint="; "),
)

_NOT_STORED: Final = Code.IO_ERROR.problem("mdplan's store cannot be written", say("{run doctor} to see why"))

_FOREIGN: Final = Code.PLAN_TAMPERED.problem(
    "the store contains another plan under this ID", "plan the batch again"
)


class StoredPlans:
    """The plans of `library`, shown against the files of `documents` as they are now."""

    def __init__(self, documents: Documents, library: PlanLibrary) -> None:
        """Show plans of `library` on files of `documents`."""
        self._documents = documents
        self._library = library

    def show(self, plan_id: str) -> PlanReport:
        """Return a plan with its diff. Errors: PLAN_NOT_FOUND, PLAN_TAMPERED; as `replayed`."""
        loaded = self._library.load(plan_id)
        if isinstance(loaded, Diagnostic):
            return refusal(PlanReport, (loaded,))
        return replace(self.report(loaded[0]), client=self._library.client_of(loaded[0].plan_id, loaded[1]))

    def report(self, plan: Plan) -> PlanReport:
        """Report on `plan`: with its diff, or saying that it is applied."""

        def report() -> PlanReport:
            stored = not isinstance(self._library.load(plan.plan_id), Diagnostic)
            if is_applied(plan, granted(self._documents.read_current(plan))):
                return PlanReport(ok=True, stored=stored, applied=True, **report_fields(plan, None))
            return PlanReport(ok=True, stored=stored, **report_fields(plan, self.replayed(plan).diff))

        return reported(PlanReport, report)

    def replayed(self, plan: Plan) -> Replay:
        """Return what `plan` makes of its files, which must be its bases.

        Raises `StorageRefused`: STALE_BASE, PLAN_TAMPERED, PARSE_TIMEOUT; as for reading.
        """
        current_files = granted(self._documents.read_current(plan))
        granted(self._documents.stale(plan, current_files))
        return granted(self._documents.replay(plan, bases_of(plan, current_files)))

    def repeated(self, batch: Batch) -> Plan | None:
        """Return the plan of the last commit on the files of `batch`, if it repeats that commit."""
        paths = [file.file for file in batch.files]
        last = self._library.last_commit_on(paths) if batch.accept is None else None
        plan = last.plan() if last is not None else None
        if last is None or plan is None or not is_same_request(plan, batch):
            return None
        committed, state = last.plan_now(), self._documents.state_of(batch)
        if committed is None or state is None or result_id(committed) != state_id(state):
            return None
        # Files that no edit names are not in that state.
        current_files = self._documents.read_current(plan)
        return plan if isinstance(current_files, list) and is_applied(plan, current_files) else None


class PlanCache:
    """Plans that `library` loaded and proved lately. Threads may share it.

    A plan is what its ID says, so a cached one is never out of date.
    """

    def __init__(self, library: PlanLibrary) -> None:
        """Hold nothing yet."""
        self._library = library
        self._cached: OrderedDict[str, tuple[Plan, Root]] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def load(self, plan_id: str) -> tuple[Plan, Root] | Diagnostic:
        """As `PlanLibrary.load`. Errors: PLAN_NOT_FOUND, PLAN_TAMPERED."""
        with self._lock:
            cached = self._cached.get(plan_id)
            if cached is not None:
                self._cached.move_to_end(plan_id)
                return cached
        loaded = self._library.load(plan_id)
        if not isinstance(loaded, Diagnostic) and _size(loaded[0]) <= _MOST_CACHED:
            self._cache(loaded)
        return loaded

    def _cache(self, loaded: tuple[Plan, Root]) -> None:
        with self._lock:
            if loaded[0].plan_id not in self._cached:
                self._cached[loaded[0].plan_id] = loaded
                self._size += _size(loaded[0])
            while self._size > _MOST_CACHED:
                _, (gone, _) = self._cached.popitem(last=False)
                self._size -= _size(gone)


def _size(plan: Plan) -> int:
    matches = sum(len(result.matches) for result in plan.results)
    return len(plan.files) + len(plan.results) + matches + sum(len(change.edits) for change in plan.files)


# --- Planning of batches.


class Planner:
    """Plans of batches on the files of `documents`."""

    def __init__(
        self,
        documents: Documents,
        limits: Limits,
        link_index: Callable[[SnapshotFile], LinkIndex] | None = None,
        *,
        makes_parts: bool = False,
    ) -> None:
        """Read files through `documents`; `limits` cap the number of files of a plan.

        `link_index` returns the index of the files around a file of the batch, for callers who plan many
        batches while no one changes the files; by default each batch builds its own. `makes_parts` makes
        plans that are parts of a larger plan, without IDs.
        """
        self._documents = documents
        self._limits = limits
        self._makes_parts = makes_parts
        self._link_index = link_index or (lambda file: LinkIndex.for_file(file, documents))

    def plan(self, batch: Batch, tick: ProgressCallback = no_progress) -> PlannedBatch | Problems:
        """Return the plan of `batch`, or of the edits of it that are accepted; or all problems.

        `tick` is called for each file that was read, and then of each that was planned.
        """
        file, count = batch.files[0].file, len(batch.files)
        planned = self._documents.with_timeout(
            file,
            lambda: plan_batch(
                batch,
                lambda part: self._build(part, tick if part is batch else no_progress),
                is_part=self._makes_parts,
            ),
            count,
        )
        if isinstance(planned, Diagnostic):
            return (planned,)
        return planned if isinstance(planned, tuple) else _refused_warnings(planned.plan, batch) or planned

    def _build(self, batch: Batch, tick: ProgressCallback = no_progress) -> BuildResult | Problems:
        """Read and build all files of `batch`, verify the results, and derive link edits."""
        total = 2 * len(batch.files)
        snapshot, problems = self._documents.snapshot(batch, lambda done, _: tick(done, total))
        if not snapshot:
            return tuple(problems)
        linked = self._link_index(snapshot[0])
        built_files: list[BuiltFile] = []
        for built in build_files(snapshot, batch, linked):
            tick(len(batch.files) + len(built_files), total)
            if isinstance(built, BuiltFile):
                refused = self._documents.write_refusal(built)
                problems += () if refused is None else (refused,)
                built_files.append(built)
            else:
                problems += built
        if problems:
            return tuple(problems)
        checked = check_losses(built_files, batch)
        if isinstance(checked, tuple):
            return checked
        # Of the parts of a plan the whole knows which links follow.
        made = derive_link_edits(
            checked, batch.update_references, linked, counts_others=not self._makes_parts
        )
        made = self._documents.within_limits(made, self._limits) if isinstance(made, BuildResult) else made
        if not isinstance(made, BuildResult):
            return made
        violations = tuple(schema_problems(self._documents, made.files, batch.json_schema))
        errors = tuple(violation for violation in violations if violation.severity is Severity.ERROR)
        if errors:
            return errors
        self._prime_cache(made.files)
        return BuildResult(made.files, (*made.warnings, *violations)) if violations else made

    def _prime_cache(self, files: Sequence[BuiltFile]) -> None:
        """Keep the outlines of results, which the next call will ask for if these are committed."""
        for built in files:
            requested = built.file.requested
            if built.edits and not built.file.is_deleted and built.file.new_path is None:
                self._documents.prime_cache(
                    built.file.path, built.result, requested.encoding, requested.format
                )


def _refused_warnings(plan: Plan, batch: Batch) -> Problems:
    """Return the warnings of `plan` on which `batch` refuses, as errors."""
    if not batch.refuse_on:
        return ()
    warnings = dict.fromkeys((*plan.warnings, *(each for result in plan.results for each in result.warnings)))
    return tuple(
        replace(warning, severity=Severity.ERROR) for warning in warnings if warning.code in batch.refuse_on
    )


# --- Merges of plans into files that others changed: `onStale: "merge"`.


class _PastWorkspace(Workspace):
    """The roots of another workspace, in which the files `past` have the bytes of before."""

    past: Mapping[FileName, bytes]

    def read(self, name: FileName, max_bytes: int) -> FileBytes | Diagnostic:
        """Read a file. Errors: as `Workspace.read`."""
        content = super().read(name, max_bytes)
        data = self.past.get(name)
        return content if data is None or isinstance(content, Diagnostic) else replace(content, data=data)


class MergeService(Struct):
    """Merges of plans in `library`, and of batches, into `documents`. `planner` plans the result."""

    documents: Documents
    library: PlanLibrary
    planner: Planner
    limits: Limits

    def plan(self, batch: Batch, tick: ProgressCallback = no_progress) -> PlannedBatch | Problems:
        """Return the plan of `batch`, merged into files that changed since if the batch asks for that.

        Errors: as for planning; MERGE_CONFLICT.
        """
        planned = self.planner.plan(batch, tick)
        if batch.on_stale != "merge" or isinstance(planned, PlannedBatch):
            return planned
        if any(problem.code is not Code.STALE_BASE for problem in planned):
            return planned
        try:
            return self._of_batch(batch)
        except StorageRefused as refused:
            return refused.problems

    def _of_batch(self, batch: Batch) -> PlannedBatch:
        from mdplan.planning.merging import not_kept

        past: dict[FileName, bytes] = {}
        for file in batch.files:
            name = self.documents.workspace.locate(file.file)
            if isinstance(name, Diagnostic) or file.base_sha256 is None:
                continue
            current = self.documents.read(name, file.encoding)
            if isinstance(current, Source) and not current.sha256.startswith(file.base_sha256.lower()):
                data = self.past(name, file.base_sha256.lower(), {})
                past[name] = granted(not_kept(file.file) if data is None else data)
        workspace = _PastWorkspace(self.documents.workspace.roots, past)
        planner = Planner(replace(self.documents, workspace=workspace), self.limits)
        planned = granted(planner.plan(batch))
        kept = {sha256_hex(base.data): base.data for base in planned.bases}
        current_files = granted(self.documents.read_current(planned.plan))
        return self.of_plan(planned.plan, current_files, kept=kept)

    def of_plan(
        self,
        stale: Plan,
        current_files: Sequence[FoundFile],
        choices: "Choices" = MappingProxyType({}),
        kept: Mapping[str, bytes] | None = None,
    ) -> PlannedBatch:
        """Return a plan that makes the changes of `stale` in `current_files`; `choices` settle conflicts.

        `kept` are the bases by hash; None reads them from the store. Raise `StorageRefused`: MERGE_CONFLICT,
        STALE_BASE; as for planning.
        """
        from mdplan.planning.merging import merged_request

        files = self.sides_of(stale, current_files, kept)
        request = self.documents.with_timeout_of(stale, lambda: merged_request(files, stale, choices))
        batch = granted(read_batch(granted(request), self.limits))
        return replace(granted(self.planner.plan(batch)), rebased=True)

    def sides_of(
        self, stale: Plan, current_files: Sequence[FoundFile], kept: Mapping[str, bytes] | None = None
    ) -> "list[Sides]":
        """Return the files of `stale` that are merged, as they were `current_files`.

        Raises `StorageRefused` (STALE_BASE).
        """
        kept = self.library.bases_of(stale.plan_id) if kept is None else kept
        files: list[Sides] = []
        for change, current in zip(stale.files, current_files, strict=True):
            problem = stale_file(change, current)
            is_text = change.base_sha256 and change.result_sha256 and change.new_path is None
            if is_text:
                files.append(self._sides(change, current, kept))
            else:
                granted(problem)
        return files

    def _sides(self, change: FileChange, current: FoundFile, kept: Mapping[str, bytes]) -> "Sides":
        from mdplan.planning.merging import Sides, not_kept, theirs_of

        ours, base = current.read(), self.base_of(change, current, kept)
        if ours is None:
            raise StorageRefused((stale_file(change, current) or not_kept(change.path),))
        theirs = theirs_of(change, base) if base is not None else None
        if base is None or theirs is None:
            raise StorageRefused((not_kept(change.path),))
        return Sides.of(change, base, ours, theirs)

    def base_of(self, change: FileChange, current: FoundFile, kept: Mapping[str, bytes]) -> Source | None:
        """Return the base of `change`, whose file is `current` now; None if it is not known any more.

        Looks where `past` does.
        """
        if change.base_sha256 is None:
            return no_text(change.encoding)
        if current.sha256 == change.base_sha256:
            return current.read()
        name = self.documents.workspace.locate(change.path)
        data = None if isinstance(name, Diagnostic) else self.past(name, change.base_sha256, kept)
        source = Source.decode(data, change.encoding) if data is not None else None
        return source if isinstance(source, Source) else None

    def on_new_base(self, stale: Plan) -> PlannedBatch | Problems:
        """Return the edits of `stale` on its files as they are now, if they still do the same.

        Errors: as `plan_on_new_base`.
        """
        kept = self.library.bases_of(stale.plan_id)
        return plan_on_new_base(self.planner.plan, stale, self.limits, partial(self.past_outline, kept=kept))

    def past_outline(
        self, file: SnapshotFile, sha256: str, kept: Mapping[str, bytes] = MappingProxyType({})
    ) -> Outline | None:
        """Return `file` as it was when its hash started with `sha256`, or None if that is not known."""
        name, requested = self.documents.workspace.locate(file.path), file.requested
        if isinstance(name, Diagnostic):
            return None
        known = self.documents.version(name, requested.encoding, requested.format, sha256)
        data = self.past(name, sha256, kept) if known is None else None
        source = None if data is None else self.documents.decode(name, data, requested.encoding)
        return self.documents.outline(name, source, requested.format) if isinstance(source, Source) else known

    def past(self, name: FileName, sha256: str, kept: Mapping[str, bytes]) -> bytes | None:
        """Return the content of the file `name` when its hash started with `sha256`, or None if unknown.

        Looks in `kept`, in the history, and in the last git commit.
        """
        if sha256 in kept:
            return kept[sha256]
        from mdplan.storage.store import stored_content

        data = stored_content(self.documents.workspace.root_of(name).path, sha256) or self._last_commit(name)
        return data if data is not None and sha256_hex(data).startswith(sha256) else None

    def _last_commit(self, name: FileName) -> bytes | None:
        from mdplan.git.repository import RepositoryLocation, find_base
        from mdplan.git.tree import CommitTree

        try:
            repository = RepositoryLocation.of(self.documents.workspace)
            commit = find_base(repository, "HEAD").commit
            scope = self.documents.workspace.root_of(name).scope
            with CommitTree(repository, commit, scope.allow, scope.deny).open() as workspace:
                content = workspace.read(name, self.documents.max_file_bytes)
        except StorageRefused:
            return None
        return None if isinstance(content, Diagnostic) else content.data


# --- Requests to apply: a stored plan, a plan document, or a batch.


@dataclass(frozen=True, slots=True, kw_only=True)
class _NamedPlan(Query):
    """How a plan is applied. `accept` are indexes of its edits, None for all."""

    dry_run: bool = dataclasses.field(default=False, metadata={"strict": True})
    accept: tuple[Count, ...] | None = None
    on_stale: OnStale = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRef(_NamedPlan):
    """A stored plan, or `plan_ids` to join. With `base_sha256` its one file must be what the caller saw."""

    plan_id: str = ""
    plan_ids: tuple[str, ...] = ()
    base_sha256: str | None = None

    def __post_init__(self) -> None:
        """Raise ValueError unless plans are named in one of the two ways."""
        if bool(self.plan_id) == bool(self.plan_ids):
            raise ValueError(say("give {planId}, or {planIds} of plans to join"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDocument(_NamedPlan):
    """A plan as decoded JSON, of which nothing is checked yet."""

    body: Mapping[str, Any]


ApplyRequest: TypeAlias = PlanRef | PlanDocument | Batch


def read_apply_request(data: object, limits: Limits) -> ApplyRequest | Problems:
    """Return the request in decoded JSON: ``{planId}`` or a plan document, each with its options, or a batch.

    A report may be handed back as it is: next to `planId` the fields of one are ignored. Errors:
    INVALID_ARGUMENT, also for edits next to a plan, which has its own; UNKNOWN_FIELD; as `read_batch`.
    """
    if not isinstance(data, Mapping):
        return read_batch(data, limits)
    if is_document(data):
        options = {
            name: value for name, value in _given_fields(data).items() if name in wire_names(_NamedPlan)
        }
        return _read(PlanDocument, {**options, "body": data})
    if not names_plan(data):
        return read_batch(data, limits)
    named = _given_fields(data)
    known = wire_names(PlanRef)
    problems = tuple(_unknown_fields(named, known))
    return problems or _read(PlanRef, {name: value for name, value in named.items() if name in known})


def names_plan(data: Mapping[str, Any]) -> bool:
    """Return True if `data` names stored plans instead of edits."""
    return any(camel_case(str(name)) in {"planId", "planIds"} for name in data)


AnyApplyRequest = TypeVar("AnyApplyRequest", bound=PlanRef | PlanDocument | Batch)


def with_options(request: AnyApplyRequest, options: Mapping[str, Any]) -> AnyApplyRequest:
    """Return `request` with the truthy `options`, which are field values by name."""
    changes = {name: value for name, value in options.items() if value}
    changed: Any = (
        request.model_copy(update=changes) if isinstance(request, Batch) else replace(request, **changes)
    )
    return changed  # type: ignore[no-any-return]


def _given_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fold_names(data, {}).items() if value is not None}


def _read(model: type[PlanRef | PlanDocument], given: Mapping[str, Any]) -> PlanRef | PlanDocument | Problems:
    request: PlanRef | PlanDocument | Problems = validated(
        model, with_decoded_fields(model, given), "", _HINT
    )
    return request


def _unknown_fields(given: Mapping[str, Any], known: tuple[str, ...]) -> Iterator[Diagnostic]:
    """Yield problems for fields next to a plan ID: edits, which would be ignored, and unknown names."""
    files = given.get("files")
    entries = files if isinstance(files, list) else []
    if "edits" in given or any(isinstance(entry, Mapping) and "edits" in entry for entry in entries):
        yield Diagnostic.invalid(
            say("edits are given with {planId}, and the plan has its own edits"),
            say("send {planId} to apply the preview, or edits to plan again"),
        )
        return
    of_reports = set(map(camel_case, ApplyReport.__struct_fields__))
    unknown = {name: None for name in given if name not in of_reports}
    yield from unknown_fields(unknown, known, say("a request with {planId}"))


_HINT: Final = say("with a plan go {planId or planIds}, {baseSha256}, dryRun, accept, {onStale}")
