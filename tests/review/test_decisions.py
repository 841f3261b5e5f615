"""Decisions survive the process, belong to the user, and count only as appended."""

import time
from pathlib import Path

import pytest

from mdplan.decisions import AddOutcome, Decision, PlanUsed, Remarks, Verdict
from mdplan.storage.plans import DecisionStore
from mdplan.storage.store import Store
from mdplan.values import replace
from tests.support.commits import change_store

A, B = "sha256-" + "a" * 64, "sha256-" + "b" * 64
DECISION = Decision(
    plan_id=A,
    verdict=Verdict.APPROVED,
    decided_by="ann",
    decided_at=1000.5,
    approved_plan_id=B,
    remarks=Remarks(comment="good\nbut \udcff", edit_comments={1: "not this"}),
    rejected=(1, 3),
    part_of=None,
)


def record(decision: Decision, store: DecisionStore | None = None) -> bool:
    """Add `decision` to the log of its plan, as somebody who saw the latest version."""
    store = store or DecisionStore("/root")
    return store.add(decision.plan_id, decision, store.history(decision.plan_id).version) is AddOutcome.ADDED


def change_stored(statement: str, *values: object) -> None:
    """Change the store behind the back of mdplan."""
    change_store(Path("/root"), statement, *values)


def test_decision_is_found_by_another_store_of_the_same_root_alone() -> None:
    assert record(DECISION)

    assert DecisionStore("/root").of(A) == DECISION
    assert DecisionStore("/root").of(B) is None
    assert DecisionStore("/other").of(A) is None


def test_latest_decision_on_a_plan_counts() -> None:
    store = DecisionStore("/root")
    later = replace(DECISION, verdict=Verdict.REJECTED, decided_at=2000.0, approved_plan_id=None)
    record(DECISION, store)
    record(later, store)
    record(replace(DECISION, plan_id=B, approved_plan_id=B), store)

    assert store.of(A) == later
    assert [decision.plan_id for decision in store.all()] == [A, B]


def test_modified_event_damages_the_log() -> None:
    store = DecisionStore("/root")
    record(DECISION, store)
    record(replace(DECISION, approved_plan_id=A, rejected=()), store)
    assert store.history(A).is_approved

    change_stored("UPDATE decisions SET facts = replace(facts, '\"ann\"', '\"bob\"') WHERE number = 1")

    assert store.history(A).is_damaged
    assert not store.history(A).is_approved
    assert [event.decided_by for event in store.history(A).events if isinstance(event, Decision)] == ["ann"]


def test_decision_on_one_plan_does_not_count_for_another() -> None:
    record(DECISION)
    columns = "version, kind, facts, stored_at"
    change_stored(f"INSERT INTO decisions SELECT ?, number, {columns} FROM decisions", B)

    assert DecisionStore("/root").of(B) is None


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_decisions_in_a_folder_writable_by_others_are_ignored(mode: int) -> None:
    record(DECISION)
    Path(Store("/root").folder.path).chmod(mode)

    assert DecisionStore("/root").of(A) is None
    assert DecisionStore("/root").all() == ()
    assert not record(DECISION)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"plan_id": 1}', b"\xff", "[" * 99999])
def test_malformed_decision_is_ignored(content: str | bytes) -> None:
    record(DECISION)
    change_stored("UPDATE decisions SET facts = ?", content)

    assert DecisionStore("/root").of(A) is None


def test_approval_expires() -> None:
    store = DecisionStore("/root")
    approval = replace(DECISION, approved_plan_id=A, rejected=())
    record(approval, store)
    change_stored("UPDATE decisions SET stored_at = 5000")

    store.forget_older(4999.0)
    assert store.of(A) == approval
    store.forget_older(5001.0)
    assert store.of(A) is None


@pytest.mark.parametrize(
    "refusal",
    [
        replace(DECISION, approved_plan_id=B, rejected=(1,)),
        replace(DECISION, verdict=Verdict.REJECTED, approved_plan_id=None, rejected=()),
    ],
    ids=["of a part", "of the whole"],
)
def test_rejection_never_expires(refusal: Decision) -> None:
    store = DecisionStore("/root")
    record(refusal, store)

    store.forget_older(time.time() + 1)

    assert store.of(A) == refusal


@pytest.mark.parametrize("plan_id", ["", "a" * 64, "sha256-" + "a" * 63, "sha256-../" + "a" * 61, A + "\n"])
def test_malformed_id_has_no_decision(plan_id: str) -> None:
    assert DecisionStore("/root").of(plan_id) is None
    assert not record(replace(DECISION, plan_id=plan_id))


def test_decision_based_on_an_older_version_is_refused() -> None:
    store = DecisionStore("/root")
    seen = store.history(A).version

    assert store.add(A, DECISION, seen) is AddOutcome.ADDED
    assert store.add(A, replace(DECISION, decided_by="bob"), seen) is AddOutcome.STALE
    assert store.of(A) == DECISION


def test_used_approval_no_longer_approves() -> None:
    store = DecisionStore("/root")
    whole = replace(DECISION, approved_plan_id=A, rejected=())
    record(whole, store)
    assert store.history(A).is_approved

    used = PlanUsed(transaction="0123456789abcdef", at=2000.0)
    assert store.add(A, used, store.history(A).version) is AddOutcome.ADDED
    assert not store.history(A).is_approved
    assert store.history(A).used_by == "0123456789abcdef"
