"""Plans that were read and proven lately, so that looking at one again does not read it again.

A plan is what its ID says, for ever, so what is held is never out of date; that it was forgotten in the store
does no harm to a reader.
"""

from collections import OrderedDict
from threading import Lock
from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.engine.plan_library import PlanLibrary
from mdplan.plan import Plan
from mdplan.storage.fs.root import Root

# How much is held, in text edits, matches and files; a plan of one edit of one file is 2 or 3 of it.
_MOST: Final = 200_000


class PlanCache:
    """Plans of `library`. Threads may share it."""

    def __init__(self, library: PlanLibrary) -> None:
        """Hold nothing yet."""
        self._library = library
        self._held: OrderedDict[str, tuple[Plan, Root]] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def load(self, plan_id: str) -> tuple[Plan, Root] | Diagnostic:
        """As `PlanLibrary.load`. Errors: PLAN_NOT_FOUND, PLAN_TAMPERED."""
        with self._lock:
            held = self._held.get(plan_id)
            if held is not None:
                self._held.move_to_end(plan_id)
                return held
        loaded = self._library.load(plan_id)
        if not isinstance(loaded, Diagnostic) and _size(loaded[0]) <= _MOST:
            self._hold(loaded)
        return loaded

    def _hold(self, loaded: tuple[Plan, Root]) -> None:
        with self._lock:
            if loaded[0].plan_id not in self._held:
                self._held[loaded[0].plan_id] = loaded
                self._size += _size(loaded[0])
            while self._size > _MOST:
                _, (gone, _) = self._held.popitem(last=False)
                self._size -= _size(gone)


def _size(plan: Plan) -> int:
    matches = sum(len(result.matches) for result in plan.results)
    return len(plan.files) + len(plan.results) + matches + sum(len(change.edits) for change in plan.files)
