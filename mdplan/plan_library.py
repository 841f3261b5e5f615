"""Plans and receipts of a workspace, kept in the user's state directory between calls."""

import json
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.plan import PREFIX, Plan, canonical_json
from mdplan.planning.plan_document import read_document, write_document
from mdplan.planning.repetition import result_id
from mdplan.report import Receipt, to_wire
from mdplan.storage.plan_store import PlanStore
from mdplan.storage.root import Root
from mdplan.storage.workspace import Workspace


class PlanLibrary:
    """Plans by ID, each in the store of its root. What comes out is proven again: a store may be hostile."""

    def __init__(self, workspace: Workspace) -> None:
        """Keep one store for each root of `workspace`, which remembers when it was cleaned last."""
        self._stores = [(root, PlanStore(root.path)) for root in workspace.roots]

    def save(self, plan: Plan, root: Root, now: float) -> bool:
        """Keep `plan`; False where nothing can be stored."""
        return self._store(root).save_plan(plan.plan_id, write_document(plan), now)

    def load(self, plan_id: str) -> tuple[Plan, Root] | Diagnostic:
        """The plan `plan_id`, and its root. Errors: PLAN_NOT_FOUND, PLAN_TAMPERED."""
        for root, store in self._stores:
            document = store.load_plan(plan_id)
            if document is not None:
                plan = read_document(document)
                if isinstance(plan, Diagnostic):
                    return plan
                return (plan, root) if _is_named(plan, plan_id) else _FOREIGN
        return Diagnostic(
            code=Code.PLAN_NOT_FOUND,
            message="there is no stored plan of that ID for this root",
            hint="plan the batch again, or apply its plan document; plans are kept for 30 days",
        )

    def save_receipt(self, root: Root, plan: Plan, receipt: Receipt, now: float) -> bool:
        """Keep `receipt` as the last one of `plan` and of the state it leaves; False where it cannot."""
        document, store = canonical_json(to_wire(receipt)), self._store(root)
        store.save_receipt(result_id(plan), document, now)
        return store.save_receipt(receipt.plan_id, document, now)

    def last_plan(self, state: str) -> tuple[Plan, Root] | None:
        """The plan whose commit left files in `state`, the last one if there were several."""
        for _, store in self._stores:
            receipt = _object_in(store.receipt_of_plan(state))
            if receipt is not None:
                loaded = self.load(str(receipt.get("planId")))
                return None if isinstance(loaded, Diagnostic) else loaded
        return None

    def receipt_of(self, root: Root, plan: Plan) -> dict[str, Any] | None:
        """The last receipt of `plan`, as decoded JSON."""
        return _object_in(self._store(root).receipt_of_plan(plan.plan_id))

    def _store(self, root: Root) -> PlanStore:
        return next(store for known, store in self._stores if known is root)


def _object_in(document: bytes | None) -> dict[str, Any] | None:
    """The JSON object that `document` holds."""
    try:
        found = json.loads(document) if document is not None else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _is_named(plan: Plan, plan_id: str) -> bool:
    return plan.plan_id.removeprefix(PREFIX).startswith(plan_id.removeprefix(PREFIX).lower())


_FOREIGN: Final = Diagnostic(
    code=Code.PLAN_TAMPERED, message="the store holds another plan under this ID", hint="plan the batch again"
)
