"""Exactly the approved edits are applied."""

from dataclasses import replace
from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Diagnostic
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import OpenPlan, ReviewService, ReviewState
from mdplan.reports.plan import ApplyReport
from mdplan.storage.decisions import Decision, DecisionStore, Verdict
from mdplan.text.source import Source
from tests.three_edits import EDITS, GUIDE, plan

FILES = {"a.md": GUIDE}


def apply(strict: Engine, plan_id: str, **more: object) -> ApplyReport:
    return strict.apply({"planId": plan_id, **more})


def only_problem(report: ApplyReport) -> Diagnostic:
    assert not report.ok
    (problem,) = report.diagnostics
    return problem


def test_undecided_plan_is_pending_and_names_the_next_step(strict: Engine, root: Path, plan_id: str) -> None:
    problem = only_problem(apply(strict, plan_id))

    assert (problem.code, problem.code.exit) == (Code.APPROVAL_REQUIRED, 5)
    assert plan_id in problem.message
    assert f"`mdplan review --terminal {plan_id[:23]}`" in problem.hint
    assert "`mdplan review`" in problem.hint
    assert (root / "a.md").read_text() == GUIDE


def test_approved_plan_is_applied_with_the_comment(
    strict: Engine, reviewing: ReviewService, root: Path, plan_id: str
) -> None:
    reviewing.approve(plan_id, "ann", comment="fine,\n but slow")

    report = apply(strict, plan_id)

    assert report.ok
    assert report.applied
    assert (report.approved.decided_by, report.approved.comment) == ("ann", '"fine, but slow"')
    assert (root / "a.md").read_bytes() == b"# Guide\n\n1\n\n## B\n\n2\n\n## C\n\n3\n"


def test_rejection_reaches_the_next_call_with_its_comment(
    strict: Engine, reviewing: ReviewService, plan_id: str
) -> None:
    reviewing.reject(plan_id, "ann", comment="not now", edit_comments={1: "why?"})

    problem = only_problem(apply(strict, plan_id))

    assert (problem.code, problem.code.exit) == (Code.PLAN_REJECTED, 5)
    assert problem.message == f'ann rejected the plan {plan_id}: "not now" on edit 2 of a.md: "why?"'


@pytest.mark.requirement("review-2")
def test_refusal_of_the_whole_plan_names_the_approved_part(
    strict: Engine, reviewing: ReviewService, root: Path, plan_id: str
) -> None:
    decision = reviewing.approve(
        plan_id, "ann", rejected=[1], comment="nearly", edit_comments={1: "leave two alone"}
    )
    part = decision.approved_plan_id

    problem = only_problem(apply(strict, plan_id))
    assert problem.code is Code.PLAN_REJECTED
    assert problem.message == (
        f"ann approved the plan {plan_id} without edit 2 of a.md: "
        '"nearly" on edit 2 of a.md: "leave two alone"'
    )
    assert f'{{"planId": "{part}"}}' in problem.hint
    assert part != plan_id
    assert (root / "a.md").read_text() == GUIDE

    report = apply(strict, part)
    assert report.applied
    assert (
        report.approved.comment == f'"nearly" on edit 2 of a.md in the plan {plan_id[:23]}: "leave two alone"'
    )
    assert (root / "a.md").read_bytes() == b"# Guide\n\n1\n\n## B\n\ntwo\n\n## C\n\n3\n"


def test_part_that_needs_a_rejected_edit_is_refused(strict: Engine, reviewing: ReviewService) -> None:
    plan_id = plan(
        strict,
        {"op": "replace_match", "pattern": "one", "replacement": "four"},
        {"op": "replace_match", "pattern": "four", "replacement": "five"},
        sequential=True,
    )

    problems = reviewing.approve(plan_id, "ann", rejected=[0])

    assert [problem.code for problem in problems] == [Code.CONFLICTING_EDITS]
    assert reviewing.open(plan_id).state is ReviewState.PENDING


def test_all_edits_rejected_is_a_rejection(strict: Engine, reviewing: ReviewService) -> None:
    decision = reviewing.approve(plan(strict), "ann", rejected=[0, 1, 2], comment="no")

    assert (decision.verdict, decision.approved_plan_id) == (Verdict.REJECTED, None)


def test_approval_covers_exactly_one_plan(strict: Engine, reviewing: ReviewService) -> None:
    reviewing.approve(plan(strict), "ann")

    assert only_problem(apply(strict, plan(strict, EDITS[0]))).code is Code.APPROVAL_REQUIRED


def test_edited_file_makes_an_approved_plan_stale(
    strict: Engine, reviewing: ReviewService, root: Path, plan_id: str
) -> None:
    reviewing.approve(plan_id, "ann")
    (root / "a.md").write_text(GUIDE + "\nmore\n")

    assert only_problem(apply(strict, plan_id)).code is Code.STALE_BASE
    opened = reviewing.open(plan_id)
    assert (opened.state, [problem.code for problem in opened.stale]) == (
        ReviewState.STALE,
        [Code.STALE_BASE],
    )
    assert opened.file(0) == opened.stale


def test_rebased_plan_needs_an_approval_of_its_own(
    strict: Engine, reviewing: ReviewService, root: Path, plan_id: str
) -> None:
    reviewing.approve(plan_id, "ann")
    (root / "a.md").write_text(GUIDE + "\nmore\n")

    report = apply(strict, plan_id, onStale="rebase")
    assert only_problem(report).code is Code.APPROVAL_REQUIRED
    replanned = strict.replan(plan_id)
    assert replanned.plan_id == report.plan_id
    reviewing.approve(replanned.plan_id, "ann")

    assert apply(strict, replanned.plan_id).applied


def test_stale_plan_is_not_approved(reviewing: ReviewService, root: Path, plan_id: str) -> None:
    (root / "a.md").write_bytes(b"other\n")

    assert [problem.code for problem in reviewing.approve(plan_id, "ann")] == [Code.STALE_BASE]
    assert DecisionStore(str(root)).all() == ()


def test_undo_needs_approval_and_can_be_reviewed(
    strict: Engine, reviewing: ReviewService, root: Path, plan_id: str
) -> None:
    reviewing.approve(plan_id, "ann")
    apply(strict, plan_id)

    refused = strict.undo()
    assert only_problem(refused).code is Code.APPROVAL_REQUIRED
    opened = reviewing.open(refused.plan_id)
    assert opened.review.undoes is not None
    assert [edit.op for edit in opened.review.edits] == ["undo"]
    assert [line.text for hunk in opened.file(0).hunks for line in hunk.lines if line.sign == "+"] == [
        "one",
        "two",
        "three",
    ]
    reviewing.approve(refused.plan_id, "ann")
    assert strict.undo().applied
    assert (root / "a.md").read_text() == GUIDE


def test_list_shows_the_state_of_each_plan(strict: Engine, reviewing: ReviewService, root: Path) -> None:
    states = {}
    waiting, approved, rejected, applied = (
        plan(strict, EDITS[0] | {"replacement": f"{n}"}) for n in range(4)
    )
    (root / "b.md").write_bytes(b"b\n")
    stale = strict.plan({"file": "b.md", "edits": [{"op": "append_to_file", "markdown": "c"}]}).plan_id
    strict.plan({"file": "a.md", "edits": [EDITS[0] | {"replacement": "one"}]})
    (root / "b.md").write_bytes(b"d\n")
    reviewing.approve(approved, "ann")
    reviewing.reject(rejected, "ann")
    for entry in reviewing.entries():
        states[entry.review.plan_id] = entry.state
    assert states == {
        waiting: ReviewState.PENDING,
        approved: ReviewState.APPROVED,
        rejected: ReviewState.REJECTED,
        applied: ReviewState.PENDING,
        stale: ReviewState.STALE,
    }
    reviewing.approve(applied, "ann")
    apply(strict, applied)
    states = {entry.review.plan_id: entry.state for entry in reviewing.entries()}
    assert states[applied] is ReviewState.APPLIED
    assert states[waiting] is states[approved] is ReviewState.STALE
    assert states[rejected] is ReviewState.REJECTED


def test_applied_plan_shows_its_diff(
    strict: Engine, reviewing: ReviewService, root: Path, plan_id: str
) -> None:
    reviewing.approve(plan_id, "ann")
    before = reviewing.open(plan_id).file(0)
    apply(strict, plan_id)
    (root / "a.md").write_bytes(b"moved on\n")

    opened = reviewing.open(plan_id)

    assert (opened.state, opened.stale) == (ReviewState.APPLIED, ())
    assert opened.file(0) == before


def test_plan_whose_part_was_applied_counts_as_applied(
    strict: Engine, reviewing: ReviewService, plan_id: str
) -> None:
    decision = reviewing.approve(plan_id, "ann", rejected=[0])
    apply(strict, decision.approved_plan_id)

    assert reviewing.open(plan_id).state is ReviewState.APPLIED


@pytest.mark.parametrize("comment", ["x" * 2001])
def test_too_long_comment_is_refused(reviewing: ReviewService, comment: str, plan_id: str) -> None:
    for problems in (
        reviewing.reject(plan_id, "ann", comment=comment),
        reviewing.approve(plan_id, "ann", edit_comments={0: comment}),
    ):
        assert [problem.code for problem in problems] == [Code.INVALID_ARGUMENT]
    assert reviewing.open(plan_id).decision is None


def test_unsaved_decision_does_not_count(strict: Engine, reviewing: ReviewService, state_dir: Path) -> None:
    plan_id = plan(strict)
    (plans,) = state_dir.rglob("plans")
    (plans.parent / "decisions").mkdir()
    (plans.parent / "decisions").chmod(0o777)

    assert [problem.code for problem in reviewing.approve(plan_id, "ann")] == [Code.IO_ERROR]
    assert only_problem(apply(strict, plan_id)).code is Code.APPROVAL_REQUIRED


def test_unknown_plan_is_reported(reviewing: ReviewService) -> None:
    for outcome in (
        reviewing.open("0" * 64),
        reviewing.approve("0" * 64, "x"),
        reviewing.reject("0" * 64, "x"),
    ):
        assert not isinstance(outcome, OpenPlan | Decision)
        assert [problem.code for problem in outcome] == [Code.PLAN_NOT_FOUND]


def test_file_changed_during_review_is_stale(strict: Engine, reviewing: ReviewService, root: Path) -> None:
    """Files of large plans are read when they are looked at, and may be others by then."""
    opened = reviewing.open(plan(strict))
    changed = replace(opened, bases=[Source.from_text("other\n")])

    assert [problem.code for problem in changed.file(0)] == [Code.STALE_BASE]
