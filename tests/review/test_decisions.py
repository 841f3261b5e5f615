"""Decisions outlive the process, are the user's alone, and are believed only in files of theirs alone."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mdplan.decisions import Decision, PlanUsed, Verdict
from mdplan.storage.plans import AddOutcome, DecisionStore
from tests.support.files import FailingDisk

A, B = "sha256-" + "a" * 64, "sha256-" + "b" * 64
DECISION = Decision(
    plan_id=A,
    verdict=Verdict.APPROVED,
    decided_by="ann",
    decided_at=1000.5,
    approved_plan_id=B,
    comment="good\nbut \udcff",
    rejected=(1, 3),
    edit_comments={1: "not this"},
    part_of=None,
)


def record(decision: Decision, store: DecisionStore | None = None) -> bool:
    """Add `decision` to the log of its plan, as somebody who saw the latest version."""
    store = store or DecisionStore("/root")
    return store.add(decision.plan_id, decision, store.history(decision.plan_id).version) is AddOutcome.ADDED


def stored_file(state_dir: Path) -> Path:
    """The one file in which a decision lies."""
    (path,) = (path for path in state_dir.rglob("decisions/*") if path.is_file())
    return path


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


def test_stored_decisions_are_private(state_dir: Path) -> None:
    record(DECISION)

    assert stored_file(state_dir).stat().st_mode & 0o777 == 0o600
    assert stored_file(state_dir).parent.stat().st_mode & 0o777 == 0o700


def test_modified_event_damages_the_log_after_it(state_dir: Path) -> None:
    store = DecisionStore("/root")
    record(DECISION, store)
    path = stored_file(state_dir)
    record(replace(DECISION, approved_plan_id=A, rejected=()), store)
    assert store.history(A).is_approved

    path.write_text(path.read_text().replace('"ann"', '"bob"'))

    assert store.history(A).is_damaged
    assert not store.history(A).is_approved
    assert [event.decided_by for event in store.history(A).events if isinstance(event, Decision)] == ["bob"]


def test_decision_on_one_plan_does_not_count_for_another(state_dir: Path) -> None:
    record(DECISION)
    path = stored_file(state_dir)
    copy = path.with_name("b" * 64 + ".1.json")
    copy.write_bytes(path.read_bytes())
    copy.chmod(0o600)

    assert DecisionStore("/root").of(B) is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_decision_file_accessible_to_others_is_ignored(state_dir: Path, mode: int) -> None:
    record(DECISION)
    stored_file(state_dir).chmod(mode)

    assert DecisionStore("/root").of(A) is None


def test_decisions_in_a_folder_writable_by_others_are_ignored(state_dir: Path) -> None:
    record(DECISION)
    stored_file(state_dir).parent.chmod(0o777)

    assert DecisionStore("/root").of(A) is None
    assert DecisionStore("/root").all() == ()
    assert not record(DECISION)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"event": "{}", "seal": ""}', b"\xff", b"[" * 99999]
)
def test_malformed_decision_is_ignored(state_dir: Path, content: bytes) -> None:
    record(DECISION)
    stored_file(state_dir).write_bytes(content)

    assert DecisionStore("/root").of(A) is None


def test_approval_expires(state_dir: Path) -> None:
    store = DecisionStore("/root")
    approval = replace(DECISION, approved_plan_id=A, rejected=())
    record(approval, store)
    written = stored_file(state_dir).stat().st_mtime

    store.forget_older(written - 1)
    assert store.of(A) == approval
    store.forget_older(written + 1)
    assert store.of(A) is None


@pytest.mark.parametrize(
    "refusal",
    [
        replace(DECISION, approved_plan_id=B, rejected=(1,)),
        replace(DECISION, verdict=Verdict.REJECTED, approved_plan_id=None, rejected=()),
    ],
    ids=["of a part", "of the whole"],
)
def test_rejection_never_expires(state_dir: Path, refusal: Decision) -> None:
    store = DecisionStore("/root")
    record(refusal, store)

    store.forget_older(stored_file(state_dir).stat().st_mtime + 1)

    assert store.of(A) == refusal


@pytest.mark.parametrize("plan_id", ["", "a" * 64, "sha256-" + "a" * 63, "sha256-../" + "a" * 61, A + "\n"])
def test_malformed_id_touches_no_file(state_dir: Path, plan_id: str) -> None:
    disk = FailingDisk()
    store = DecisionStore("/root", filesystem=disk)

    assert store.of(plan_id) is None
    assert not record(replace(DECISION, plan_id=plan_id), store)
    assert not disk.reached


def test_stored_decision_is_readable_json(state_dir: Path) -> None:
    record(DECISION)

    decision = json.loads(stored_file(state_dir).read_bytes())["facts"]
    assert (decision["decided_by"], decision["rejected"]) == ("ann", [1, 3])


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
