"""Plans of a workspace by ID: pending ones from the user's state directory, and committed ones."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock
from typing import Final

from mdplan.client import Client
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.documents.documents import Documents
from mdplan.engine.caller import library_client
from mdplan.engine.history.past_transactions import History, PastTransaction
from mdplan.plan import PREFIX, Plan
from mdplan.planning.plan_document import (
    document_parts,
    read_document,
    untitled_id,
    write_document,
)
from mdplan.planning.replan import is_same_request, may_repeat, result_id, state_id
from mdplan.planning.replay import Replay, bases_of, is_applied
from mdplan.planning.results import report_fields
from mdplan.reports.base import refusal
from mdplan.reports.plan import PlanReport
from mdplan.requests.batch import Batch
from mdplan.storage.fs.file_name import FileName
from mdplan.storage.fs.root import Root
from mdplan.storage.user.origins import Origins
from mdplan.storage.user.plan_store import PlanStore, StoredPlan
from mdplan.storage.workspace import Workspace
from mdplan.text.source import Source, sha256_hex

_MOST_CLIENTS: Final = 10_000
_SECONDS_OF_A_DAY: Final = 24 * 3600.0


# How much is held, in text edits, matches and files; a plan of one edit of one file is 2 or 3 of it.
_MOST: Final = 200_000


class PlanLibrary:
    """Plans by ID, each in the store of its root. What comes out is proven again: a store may be hostile.

    A plan that was committed is in the record of its transaction, so it need not be in the store as well.
    """

    def __init__(
        self,
        workspace: Workspace,
        history: History,
        kept_days: float,
        client: Callable[[], Client] = library_client,
    ) -> None:
        """Keep one store for each root of `workspace`, which forgets plans after `kept_days`.

        `client` gives the program that makes plans now.
        """
        kept = kept_days * _SECONDS_OF_A_DAY
        self._stores = [(root, PlanStore(root.path, kept_seconds=kept)) for root in workspace.roots]
        self._history = history
        self._workspace = workspace
        self._client = client
        self._clients: dict[str, Client] = {}

    def save(
        self,
        plan: Plan,
        root: Root,
        now: float,
        document: bytes | None = None,
        origin: Plan | None = None,
        bases: Sequence[Source] = (),
    ) -> bool:
        """Store `plan`, or its `document` that was written before; False where nothing can be stored.

        `origin` is the plan that it was derived from, which keeps its client; `bases` are what its files
        contain, for a merge.
        """
        if origin is not None:
            self.derive(plan.plan_id, origin, root)
        # What is decided about the same edits under another title counts for this plan, and for its parts.
        Origins(root.path).add(plan.plan_id, untitled_id(plan))
        client = (self.client_of(origin.plan_id, root) if origin is not None else None) or self._client()
        contents = (base.data for base in bases)
        parts = (document,) if document else document_parts(plan, with_sections=True)
        return self._store_of(root).save_plan(plan.plan_id, parts, now, contents, client)

    def client_of(self, plan_id: str, root: Root) -> Client | None:
        """The program that made a stored plan of `root`, as far as it is known."""
        # The first program that made a plan stays the one.
        known = self._clients.get(plan_id) or self._store_of(root).load_client(plan_id)
        if known is not None and len(self._clients) < _MOST_CLIENTS:
            self._clients[plan_id] = known
        return known

    def _store_of(self, root: Root) -> PlanStore:
        return next(store for known, store in self._stores if known is root)

    def bases_of(self, plan_id: str) -> dict[str, bytes]:
        """What the files of a stored plan contained, by hash, as far as that is kept."""
        return {sha256_hex(each): each for _, store in self._stores for each in store.load_bases(plan_id)}

    def derive(self, plan_id: str | None, origin: Plan, root: Root) -> None:
        """Record that the plan `plan_id` was derived from the plan `origin`: a rejection covers both."""
        Origins(root.path).add(plan_id or "", origin.plan_id)

    def load(self, plan_id: str) -> tuple[Plan, Root] | Diagnostic:
        """The plan `plan_id`, and its root. Errors: PLAN_NOT_FOUND, PLAN_TAMPERED.

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
                return (plan, root) if _is_named(plan, plan_id) else _FOREIGN
        past = self._history.of_plan(plan_id)
        committed = past.plan() if past is not None else None
        return _NOT_FOUND if past is None or committed is None else (committed, past.root)

    def pending(self) -> list[tuple[StoredPlan, Root]]:
        """The plans in the stores, with their roots, the last saved first."""
        found = [(plan, root) for root, store in self._stores for plan in store.list_plans()]
        return sorted(found, key=lambda each: (-each[0].saved_at, each[0].plan_id))

    def last_commit_on(self, files: Sequence[str]) -> PastTransaction | None:
        """The last transaction that changed one of `files`, paths of one root as callers write them."""
        names = [name for path in files if isinstance(name := self._workspace.locate(path), FileName)]
        if len(names) < len(files) or len({name.root for name in names}) != 1:
            return None
        return self._history.last_on(self._workspace.root_of(names[0]), {name.path for name in names})

    def last_commit_of(self, plan: Plan) -> PastTransaction | None:
        """The last transaction that committed `plan`."""
        return self._history.of_plan(plan.plan_id)


def _is_named(plan: Plan, plan_id: str) -> bool:
    return plan.plan_id.removeprefix(PREFIX).startswith(plan_id.removeprefix(PREFIX).lower())


_NOT_FOUND: Final = Diagnostic(
    code=Code.PLAN_NOT_FOUND,
    message="this root has no stored plan with that ID",
    hint="plan the batch again: old plans are deleted (`--keep-plans`)",
)
_FOREIGN: Final = Diagnostic(
    code=Code.PLAN_TAMPERED,
    message="the store contains another plan under this ID",
    hint="plan the batch again",
)


class StoredPlans:
    """The plans of `library`, shown against the files of `documents` as they are now."""

    def __init__(self, documents: Documents, library: PlanLibrary) -> None:
        """Show plans of `library` on files of `documents`."""
        self._documents = documents
        self._library = library

    def show(self, plan_id: str) -> PlanReport:
        """A plan with its diff. Errors: PLAN_NOT_FOUND, PLAN_TAMPERED; those of `replayed`."""
        loaded = self._library.load(plan_id)
        if isinstance(loaded, Diagnostic):
            return refusal(PlanReport, (loaded,))
        return replace(self.report(loaded[0]), client=self._library.client_of(loaded[0].plan_id, loaded[1]))

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
        return self._documents.replay(plan, bases_of(plan, found))

    def repeated(self, batch: Batch) -> Plan | None:
        """Plan of the last commit on the files of `batch`, if it was this batch and its result is."""
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
        if not isinstance(loaded, Diagnostic) and _size(loaded[0]) <= _MOST:
            self._cache(loaded)
        return loaded

    def _cache(self, loaded: tuple[Plan, Root]) -> None:
        with self._lock:
            if loaded[0].plan_id not in self._cached:
                self._cached[loaded[0].plan_id] = loaded
                self._size += _size(loaded[0])
            while self._size > _MOST:
                _, (gone, _) = self._cached.popitem(last=False)
                self._size -= _size(gone)


def _size(plan: Plan) -> int:
    matches = sum(len(result.matches) for result in plan.results)
    return len(plan.files) + len(plan.results) + matches + sum(len(change.edits) for change in plan.files)
