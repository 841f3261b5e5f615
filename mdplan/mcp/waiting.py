"""Plans for which a call had to stop, because a person has to approve them first.

The server loads this before it says who it is, so what asks is loaded when something is asked.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mdplan.diagnostics import Problems
    from mdplan.plan import Plan
    from mdplan.reports.plan import Approved
    from mdplan.storage.fs.root import Root


@dataclass(frozen=True, slots=True)
class WaitingPlan:
    """A plan that waits for a decision. `address` is its page, with the token of it: for people alone.

    None where no page is served.
    """

    plan_id: str
    root_path: str
    address: str | None

    @property
    def is_decided(self) -> bool:
        """Whether somebody decided by now."""
        from mdplan.storage.user.decisions import DecisionStore

        return DecisionStore(self.root_path).of(self.plan_id) is not None


_WAITING: Final[ContextVar[list[WaitingPlan] | None]] = ContextVar("waiting", default=None)


def approved_only_and_noted(plan: "Plan", root: "Root") -> "Problems | Approved":
    """The approval of `plan`; the call that asks in vain is told which plan it waits for."""
    from mdplan.diagnostics import Code
    from mdplan.engine.approval import approved_only
    from mdplan.reports.plan import Approved
    from mdplan.storage.user.review_address import address_of

    answer = approved_only(plan, root)
    waiting = _WAITING.get()
    if waiting is not None and not isinstance(answer, Approved):
        address = address_of(root.path, plan.plan_id)
        if any(problem.code is Code.APPROVAL_REQUIRED for problem in answer):
            waiting.append(WaitingPlan(plan.plan_id, root.path, address))
    return answer


@contextmanager
def noted() -> Iterator[list[WaitingPlan]]:
    """Within the block, the plans that this thread waits for are added to the list."""
    waiting: list[WaitingPlan] = []
    token = _WAITING.set(waiting)
    try:
        yield waiting
    finally:
        _WAITING.reset(token)
