"""Plans of a workspace: those that wait in the user's state directory, and those that were committed."""

from collections.abc import Sequence
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.engine.history import History, PastTransaction
from mdplan.plan import PREFIX, Plan
from mdplan.planning.document import (
    PLAN_OUTDATED,
    plan_id_of,
    read_document,
    write_document,
)
from mdplan.storage.fs.file_name import FileName
from mdplan.storage.fs.root import Root
from mdplan.storage.user.origins import Origins
from mdplan.storage.user.plan_store import PlanStore, StoredPlan
from mdplan.storage.workspace import Workspace

_SECONDS_OF_A_DAY: Final = 24 * 3600.0


class PlanLibrary:
    """Plans by ID, each in the store of its root. What comes out is proven again: a store may be hostile.

    A plan that was committed is in the record of its transaction, so it need not be in the store as well.
    """

    def __init__(self, workspace: Workspace, history: History, kept_days: float) -> None:
        """Keep one store for each root of `workspace`, which forgets plans after `kept_days`."""
        kept = kept_days * _SECONDS_OF_A_DAY
        self._stores = [(root, PlanStore(root.path, kept_seconds=kept)) for root in workspace.roots]
        self._history = history
        self._workspace = workspace

    def save(
        self, plan: Plan, root: Root, now: float, document: bytes | None = None, origin: Plan | None = None
    ) -> bool:
        """Store `plan`, or its `document` that was written before; False where nothing can be stored.

        `origin` is the plan that it was derived from.
        """
        if origin is not None:
            self.derive(plan.plan_id, origin, root)
        store = next(store for known, store in self._stores if known is root)
        return store.save_plan(plan.plan_id, document or write_document(plan), now)

    def derive(self, plan_id: str | None, origin: Plan, root: Root) -> None:
        """Record that the plan `plan_id` was derived from the plan `origin`: a rejection covers both."""
        Origins(root.path).add(plan_id or "", origin.plan_id)

    def load(self, plan_id: str) -> tuple[Plan, Root] | Diagnostic:
        """The plan `plan_id`, and its root. Errors: PLAN_NOT_FOUND, PLAN_TAMPERED, PLAN_OUTDATED.

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
        if past is None or committed is None:
            return _NOT_FOUND
        # The ID of a plan of mdplan 0.1 cannot be approved: it does not cover all that it does.
        return (committed, past.root) if plan_id_of(committed) == committed.plan_id else PLAN_OUTDATED

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
    message="there is no stored plan of that ID for this root",
    hint="plan the batch again, or apply its plan document; old plans are forgotten (`--keep-plans`)",
)
_FOREIGN: Final = Diagnostic(
    code=Code.PLAN_TAMPERED, message="the store holds another plan under this ID", hint="plan the batch again"
)
