"""Requested changes, with comments on edits and lines, block the plan on every surface."""

from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Diagnostic
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import DecisionTerms, OpenPlan, ReviewService, ReviewState
from mdplan.storage.decisions import Channel, Decision, DecisionStore, LineComment, Side, Verdict
from tests.three_edits import EDITS, GUIDE, plan

FILES = {"a.md": GUIDE}


@pytest.fixture
def free(root: Path) -> Engine:
    """An engine that needs no approval."""
    return Engine.open([root])


def on_line(line: int, text: str, side: Side = Side.AFTER, end: int = 0) -> LineComment:
    return LineComment(file="a.md", side=side, start=line, end=end or line, text=text)


def requested(reviewing: ReviewService, plan_id: str, **more: object) -> Decision:
    decision = reviewing.request_changes(plan_id, "ann", **({"comment": "not yet"} | more))
    assert isinstance(decision, Decision), decision
    return decision


def code(engine: Engine, request: dict[str, object]) -> str:
    report = engine.apply(request)
    return report.error.code.value if report.error else "applied"


def test_decision_stores_comments_with_the_edits_of_their_lines(
    reviewing: ReviewService, strict: Engine, plan_id: str
) -> None:
    terms = DecisionTerms(channel=Channel.CHAT_APP)
    lines = [on_line(7, "say it"), on_line(10, "why?", Side.BEFORE, end=11)]
    requested(reviewing, plan_id, edit_comments={0: "no"}, line_comments=lines, terms=terms)
    stored = DecisionStore(strict.workspace.roots[0].path).of(plan_id)

    assert stored is not None
    assert (stored.verdict, stored.channel, stored.comment) == (
        Verdict.CHANGES_REQUESTED,
        Channel.CHAT_APP,
        "not yet",
    )
    assert dict(stored.edit_comments) == {0: "no"}
    assert [(each.quote, each.edit_index) for each in stored.line_comments] == [("2", 1), ("\nthree", 2)]
    assert reviewing.open(plan_id).state is ReviewState.CHANGES_REQUESTED


def test_plan_with_requested_changes_is_committed_on_no_surface(
    reviewing: ReviewService, strict: Engine, free: Engine, plan_id: str
) -> None:
    requested(reviewing, plan_id, line_comments=[on_line(3, "spell it")])
    refused = free.apply({"planId": plan_id}).error

    assert refused is not None
    assert (refused.code, refused.code.exit) == (Code.CHANGES_REQUESTED, 5)
    assert "requested changes to the plan" in refused.message
    assert '"not yet" on a.md line 3: "spell it"' in refused.message
    assert f'"revises": "{plan_id[:23]}"' in refused.hint
    assert code(strict, {"planId": plan_id}) == "CHANGES_REQUESTED"
    # The same batch, and a part of it.
    assert code(free, {"file": "a.md", "edits": EDITS}) == "CHANGES_REQUESTED"
    assert code(free, {"planId": plan_id, "accept": [0]}) == "CHANGES_REQUESTED"


@pytest.mark.parametrize(
    ("first", "second"), [({}, {"title": "x"}), ({"title": "x"}, {}), ({"title": "x"}, {"description": "y"})]
)
def test_new_title_for_the_same_edits_keeps_the_request(
    reviewing: ReviewService, free: Engine, first: dict[str, str], second: dict[str, str]
) -> None:
    requested(reviewing, plan(free, **first))
    again = plan(free, **second)

    assert code(free, {"planId": again}) == "CHANGES_REQUESTED"
    # A person may find the new words enough.
    approved = reviewing.approve(again, "ann")
    assert isinstance(approved, Decision)
    assert code(free, {"planId": again}) == "applied"


def test_changed_edits_make_another_plan(reviewing: ReviewService, free: Engine) -> None:
    requested(reviewing, plan(free))

    assert code(free, {"planId": plan(free, *EDITS[:2])}) == "applied"


def test_approval_must_override_the_request(reviewing: ReviewService, strict: Engine, plan_id: str) -> None:
    requested(reviewing, plan_id)
    saw = reviewing.open(plan_id).decisions.version
    (refused,) = reviewing.approve(plan_id, "bob", terms=DecisionTerms(saw=saw))

    assert refused.code is Code.CHANGES_REQUESTED
    assert isinstance(
        reviewing.approve(plan_id, "bob", terms=DecisionTerms(saw=saw, overrides=True)), Decision
    )
    report = strict.apply({"planId": plan_id})
    assert report.applied
    assert report.approved.overrides


def test_request_revokes_the_approval_of_a_part(
    reviewing: ReviewService, strict: Engine, plan_id: str
) -> None:
    part = reviewing.approve(plan_id, "ann", rejected=[2]).approved_plan_id
    saw = reviewing.open(plan_id).decisions.version
    requested(reviewing, plan_id, terms=DecisionTerms(saw=saw))

    assert code(strict, {"planId": part}) == "CHANGES_REQUESTED"


def test_second_window_never_requests_over_the_first(reviewing: ReviewService, plan_id: str) -> None:
    assert isinstance(reviewing.approve(plan_id, "ann"), Decision)

    (refused,) = reviewing.request_changes(plan_id, "bob", comment="no")
    assert refused.code is Code.STALE_DECISION


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({}, "says what to change"),
        ({"edit_comments": {0: ""}}, "says what to change"),
        ({"line_comments": [on_line(12, "x")]}, "has no lines 12-12 after"),
        ({"line_comments": [on_line(0, "x")]}, "has no lines 0-0"),
        ({"line_comments": [on_line(3, "x", end=2)]}, "has no lines 3-2"),
        ({"line_comments": [on_line(3, " ")]}, "is empty"),
        ({"line_comments": [on_line(3, "x" * 2001)]}, "longer than 2000"),
        ({"line_comments": [on_line(3, "x")] * 501}, "more than 500"),
        (
            {"line_comments": [LineComment(file="b.md", side=Side.AFTER, start=1, end=1, text="x")]},
            "has no file `b.md`",
        ),
    ],
)
def test_comment_that_names_nothing_is_refused(
    reviewing: ReviewService, said: dict[str, object], reason: str, plan_id: str
) -> None:
    (refused,) = reviewing.request_changes(plan_id, "ann", **said)

    assert isinstance(refused, Diagnostic)
    assert refused.code is Code.INVALID_ARGUMENT
    assert reason in refused.message
    assert reviewing.open(plan_id).decision is None


def test_comment_lines_stay_without_text_after_the_file_changed(
    root: Path, reviewing: ReviewService, plan_id: str
) -> None:
    (root / "a.md").write_text("# Other\n")
    decision = requested(reviewing, plan_id, line_comments=[on_line(7, "say it")])

    assert decision.line_comments[0].quote == ""
    assert decision.line_comments[0].edit_index is None


def test_other_plans_keep_their_state(reviewing: ReviewService, strict: Engine) -> None:
    other = plan(strict, EDITS[0])
    requested(reviewing, plan(strict))
    opened = reviewing.open(other)

    assert isinstance(opened, OpenPlan)
    assert opened.state is ReviewState.PENDING
