"""No sequence of planning, deciding, deriving, undoing and applying breaks a promise of approvals.

The model is in `decision_machine`. So that it is known to find faults, each of these was planted, and is
found within the number of examples of a full run: see `MUTANTS`.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from mdplan.engine import approval
from mdplan.engine import plans as plan_library
from mdplan.engine import reviews as review_service
from mdplan.engine.approval import ApprovalGate
from mdplan.engine.reviews import DecisionTerms, OpenPlan, ReviewService
from mdplan.mcp.review_app import Nonces, Verb
from mdplan.storage import decisions as decision_log
from mdplan.storage.decisions import Decision, DecisionHistory, DecisionStore
from mdplan.storage.plans import Origins, Revisions
from tests.conftest import FULL
from tests.hostile.decision_machine import DecisionMachine

EXAMPLES = 20
FULL_EXAMPLES = 300
STEPS = 20

TestDecisions = DecisionMachine.TestCase
TestDecisions.settings = settings(
    max_examples=FULL_EXAMPLES if FULL else EXAMPLES, stateful_step_count=STEPS, deadline=None
)

Patch = pytest.MonkeyPatch


def an_approval_is_never_used_up(patch: Patch) -> None:
    patch.setattr(ApprovalGate, "use", lambda *_: ())


def a_used_or_revoked_approval_counts(patch: Patch) -> None:
    approves = property(lambda self: self.decision is not None and self.decision.approves)
    patch.setattr(DecisionHistory, "is_approved", approves)


def a_rejection_refuses_nothing(patch: Patch) -> None:
    patch.setattr(ApprovalGate, "rejection", lambda *_: ())


def a_rejection_revokes_nothing_that_was_derived(patch: Patch) -> None:
    patch.setattr(ReviewService, "_revoke_derived", lambda *_: ())


def _remember_roots(patch: Patch) -> dict[int, str]:
    """The path of the root of each store that is made from now on, by the ID of the store."""
    own, roots = DecisionStore.__init__, {}

    def init(self: DecisionStore, root_path: str, *others: Any, **named: Any) -> None:
        own(self, root_path, *others, **named)
        roots[id(self)] = root_path

    patch.setattr(DecisionStore, "__init__", init)
    return roots


def an_approval_counts_for_what_was_derived(patch: Patch) -> None:
    own, roots = DecisionStore.history, _remember_roots(patch)

    def history(self: DecisionStore, plan_id: str) -> DecisionHistory:
        found = own(self, plan_id)
        origins = (own(self, origin) for origin in Origins(roots[id(self)]).of(plan_id))
        approved = next((each for each in origins if each.is_approved), None)
        if found.events or approved is None:
            return found
        lent = Decision(**{**_fields(approved.decision), "plan_id": plan_id, "approved_plan_id": plan_id})
        return DecisionHistory((lent,), found.version)

    patch.setattr(DecisionStore, "history", history)


def a_decision_names_no_version(patch: Patch) -> None:
    for name in ("approve", "reject"):
        patch.setattr(ReviewService, name, _with_terms(name, lambda terms, saw: replace(terms, saw=saw)))


def a_rejection_needs_no_override(patch: Patch) -> None:
    patch.setattr(
        ReviewService, "approve", _with_terms("approve", lambda terms, _: replace(terms, overrides=True))
    )


def _with_terms(name: str, change: Callable[[DecisionTerms, str], DecisionTerms]) -> Callable[..., Any]:
    """A way to decide with other terms, made of those that are given and the version of now."""
    own = getattr(ReviewService, name)

    def decide(self: ReviewService, plan_id: str, by: str, *, terms: DecisionTerms, **others: Any) -> Any:
        opened = self.open(plan_id)
        saw = opened.decisions.version if isinstance(opened, OpenPlan) else terms.saw
        return own(self, plan_id, by, terms=change(terms, saw), **others)

    return decide


def a_record_counts_for_any_plan_and_any_place(patch: Patch) -> None:
    """What a record names is not checked."""
    own = vars(decision_log)["_read_event"]

    def read_event(data: bytes, expected: object) -> Any:
        del expected
        fields = json.loads(data)
        return own(data, (fields["planId"], fields["number"], fields["after"]))

    patch.setattr(decision_log, "_read_event", read_event)


def an_undo_needs_no_approval(patch: Patch) -> None:
    own = ApprovalGate.check

    def check(self: ApprovalGate, plan: Any, root: Any) -> Any:
        gate = replace(self, is_required=False) if plan.undoes is not None else self
        return own(gate, plan, root)

    patch.setattr(ApprovalGate, "check", check)


def any_nonce_decides(patch: Patch) -> None:
    patch.setattr(Nonces, "use", lambda *_: True)


def every_chat_approves(patch: Patch) -> None:
    patch.setattr(Verb, "approves", property(lambda _: False))


def a_request_for_changes_refuses_nothing(patch: Patch) -> None:
    def decision(self: DecisionHistory) -> Decision | None:
        decisions = (event for event in reversed(self.events) if isinstance(event, Decision))
        return next((each for each in decisions if not each.requests_changes), None)

    patch.setattr(DecisionHistory, "decision", property(decision))


def another_title_makes_another_plan(patch: Patch) -> None:
    for module in (approval, plan_library, review_service):
        patch.setattr(module, "untitled_id", lambda plan: plan.plan_id)


def a_part_of_another_title_comes_from_nothing(patch: Patch) -> None:
    patch.setattr(plan_library, "untitled_id", lambda plan: plan.plan_id)


def a_revision_inherits_the_approval(patch: Patch) -> None:
    own, roots = DecisionStore.history, _remember_roots(patch)

    def history(self: DecisionStore, plan_id: str) -> DecisionHistory:
        found = own(self, plan_id)
        replaced = (own(self, old).decision for old in Revisions(roots[id(self)]).of(plan_id))
        decision = next((each for each in replaced if each is not None and each.approves), None)
        if found.events or decision is None:
            return found
        lent = Decision(**{**_fields(decision), "plan_id": plan_id, "approved_plan_id": plan_id})
        return DecisionHistory((lent,), found.version)

    patch.setattr(DecisionStore, "history", history)


def comments_are_on_any_line(patch: Patch) -> None:
    patch.setattr(review_service, "placed_comments", lambda _, comments: tuple(comments))


def _fields(decision: Decision | None) -> dict[str, Any]:
    assert decision is not None
    return {name: getattr(decision, name) for name in decision.__dataclass_fields__}


MUTANTS = (
    an_approval_is_never_used_up,
    a_used_or_revoked_approval_counts,
    a_rejection_refuses_nothing,
    a_rejection_revokes_nothing_that_was_derived,
    an_approval_counts_for_what_was_derived,
    a_decision_names_no_version,
    a_rejection_needs_no_override,
    a_record_counts_for_any_plan_and_any_place,
    an_undo_needs_no_approval,
    any_nonce_decides,
    every_chat_approves,
    a_request_for_changes_refuses_nothing,
    another_title_makes_another_plan,
    a_part_of_another_title_comes_from_nothing,
    a_revision_inherits_the_approval,
    comments_are_on_any_line,
)


@pytest.mark.slow
@pytest.mark.parametrize("plant", MUTANTS, ids=lambda plant: plant.__name__)
def test_planted_fault_is_detected(plant: Callable[[Patch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    once = settings(
        # Chance decides which sequences are drawn: the rarest fault needs about 70.
        max_examples=FULL_EXAMPLES,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    with pytest.raises(AssertionError):
        run_state_machine_as_test(DecisionMachine, settings=once)
