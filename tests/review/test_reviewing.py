"""Exactly the approved edits are applied."""

from pathlib import Path
from typing import Any

import pytest

from mdplan.decisions import (
    Channel,
    DecidedClass,
    DecidedPlace,
    Decision,
    LineComment,
    Remarks,
    Side,
    Verdict,
)
from mdplan.diagnostics import Code, Diagnostic
from mdplan.engine import plans as plan_library
from mdplan.engine.engine import Engine
from mdplan.engine.plans import PlanCache, PlanLibrary
from mdplan.engine.reviews import DecisionTerms, OpenPlan, ReviewService, ReviewState
from mdplan.reports.plan import ApplyReport
from mdplan.storage.plans import DecisionStore
from mdplan.text.source import Source
from mdplan.values import replace
from mdplan.web.pages import notes_of
from mdplan.web.sessions import ReviewSession
from tests.support.commits import change_store
from tests.support.three_edits import EDITS, GUIDE, plan

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
    reviewing.decide(plan_id, "ann", Verdict.APPROVED, Remarks(comment="fine,\n but slow"))

    report = apply(strict, plan_id)

    assert report.ok
    assert report.applied
    assert (report.approved.decided_by, report.approved.comment) == ("ann", '"fine, but slow"')
    assert (root / "a.md").read_bytes() == b"# Guide\n\n1\n\n## B\n\n2\n\n## C\n\n3\n"


def test_rejection_reaches_the_next_call_with_its_comment(
    strict: Engine, reviewing: ReviewService, plan_id: str
) -> None:
    reviewing.decide(plan_id, "ann", Verdict.REJECTED, Remarks(comment="not now", edit_comments={1: "why?"}))

    problem = only_problem(apply(strict, plan_id))

    assert (problem.code, problem.code.exit) == (Code.PLAN_REJECTED, 5)
    assert problem.message == f'ann rejected the plan {plan_id}: "not now" on edit 2 of a.md: "why?"'


@pytest.mark.requirement("review-2")
def test_refusal_of_the_whole_plan_names_the_approved_part(
    strict: Engine, reviewing: ReviewService, root: Path, plan_id: str
) -> None:
    decision = reviewing.decide(
        plan_id,
        "ann",
        Verdict.APPROVED,
        Remarks(comment="nearly", edit_comments={1: "leave two alone"}),
        rejected=[1],
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

    problems = reviewing.decide(plan_id, "ann", Verdict.APPROVED, rejected=[0])

    assert [problem.code for problem in problems] == [Code.CONFLICTING_EDITS]
    assert reviewing.open(plan_id).state is ReviewState.PENDING


def test_all_edits_rejected_is_a_rejection(strict: Engine, reviewing: ReviewService) -> None:
    decision = reviewing.decide(
        plan(strict), "ann", Verdict.APPROVED, Remarks(comment="no"), rejected=[0, 1, 2]
    )

    assert (decision.verdict, decision.approved_plan_id) == (Verdict.REJECTED, None)


def test_approval_covers_exactly_one_plan(strict: Engine, reviewing: ReviewService) -> None:
    reviewing.decide(plan(strict), "ann", Verdict.APPROVED)

    assert only_problem(apply(strict, plan(strict, EDITS[0]))).code is Code.APPROVAL_REQUIRED


MADE = GUIDE.replace("one", "1").replace("two", "2").replace("three", "3")


@pytest.mark.requirement("review-2")
def test_places_of_an_edit_are_left_out_and_changed_and_the_author_is_told(
    strict: Engine, reviewing: ReviewService, root: Path
) -> None:
    (root / "a.md").write_text("old one\n\nold two\n\nold three\n")
    plan_id = plan(strict, {**EDITS[0], "pattern": "old", "replacement": "new", "matchSelection": "all"})
    places = (DecidedPlace(file=0, number=1), DecidedPlace(file=0, number=2, text="newest"))
    decision = reviewing.decide(plan_id, "ann", Verdict.APPROVED, terms=DecisionTerms(places=places))

    problem = only_problem(apply(strict, plan_id))
    assert problem.message == (
        f"ann approved the plan {plan_id} without 1 place and with 1 changed text: "
        'on a.md line 3: "Left out." on a.md line 5: "Changed to: newest"'
    )
    assert apply(strict, decision.approved_plan_id).applied
    assert (root / "a.md").read_text() == "new one\n\nold two\n\nnewest three\n"
    assert reviewing.engine.feedback.of(*strict.library.load(plan_id)).comments[0].quote == "new two"


@pytest.mark.parametrize("is_same", [True, False])
def test_decided_class_counts_for_a_new_version_with_the_same_places(
    strict: Engine, reviewing: ReviewService, root: Path, *, is_same: bool
) -> None:
    (root / "a.md").write_text("old one\n\nold two\n\nold three\n")
    every = {**EDITS[0], "pattern": "old", "replacement": "new", "matchSelection": "all"}
    first = plan(strict, every)
    (one,) = reviewing.open(first).classes
    classes = (DecidedClass(key=one.key, members=one.members, accepted=True),)
    remarks = Remarks(comment="and a title")
    reviewing.decide(first, "ann", Verdict.CHANGES_REQUESTED, remarks, terms=DecisionTerms(classes=classes))
    again = plan(
        strict, every if is_same else {**every, "matchSelection": "1-2"}, title="Ages", revises=first
    )

    opened = reviewing.open(again)
    notes = notes_of(opened, ReviewSession())
    assert notes.choices == ({f"class {one.key}": True} if is_same else {})
    assert bool(opened.chosen(notes.choices).accepted) is is_same


def test_edited_file_makes_an_approved_plan_stale(
    strict: Engine, reviewing: ReviewService, root: Path, plan_id: str
) -> None:
    reviewing.decide(plan_id, "ann", Verdict.APPROVED)
    (root / "a.md").write_text(GUIDE + "\nmore\n")

    assert only_problem(apply(strict, plan_id)).code is Code.STALE_BASE
    opened = reviewing.open(plan_id)
    assert (opened.state, [problem.code for problem in opened.stale]) == (
        ReviewState.STALE,
        [Code.STALE_BASE],
    )
    # It is shown as it was made, with what changed since.
    assert opened.texts(0) == (GUIDE.splitlines(), MADE.splitlines())
    assert [(path, diff.splitlines()[-2:]) for path, diff in opened.since] == [("a.md", ["+", "+more"])]


def test_rebased_plan_needs_an_approval_of_its_own(
    strict: Engine, reviewing: ReviewService, root: Path, plan_id: str
) -> None:
    reviewing.decide(plan_id, "ann", Verdict.APPROVED)
    (root / "a.md").write_text(GUIDE + "\nmore\n")

    report = apply(strict, plan_id, onStale="rebase")
    assert only_problem(report).code is Code.APPROVAL_REQUIRED
    replanned = strict.replan(plan_id)
    assert replanned.plan_id == report.plan_id
    reviewing.decide(replanned.plan_id, "ann", Verdict.APPROVED)

    assert apply(strict, replanned.plan_id).applied


def test_stale_plan_is_not_approved(reviewing: ReviewService, root: Path, plan_id: str) -> None:
    (root / "a.md").write_bytes(b"other\n")

    assert [problem.code for problem in reviewing.decide(plan_id, "ann", Verdict.APPROVED)] == [
        Code.STALE_BASE
    ]
    assert DecisionStore(str(root)).all() == ()


def test_undo_needs_approval_and_can_be_reviewed(
    strict: Engine, reviewing: ReviewService, root: Path, plan_id: str
) -> None:
    reviewing.decide(plan_id, "ann", Verdict.APPROVED)
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
    reviewing.decide(refused.plan_id, "ann", Verdict.APPROVED)
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
    reviewing.decide(approved, "ann", Verdict.APPROVED)
    reviewing.decide(rejected, "ann", Verdict.REJECTED)
    for entry in reviewing.entries():
        states[entry.review.plan_id] = entry.state
    assert states == {
        waiting: ReviewState.PENDING,
        approved: ReviewState.APPROVED,
        rejected: ReviewState.REJECTED,
        applied: ReviewState.PENDING,
        stale: ReviewState.STALE,
    }
    reviewing.decide(applied, "ann", Verdict.APPROVED)
    apply(strict, applied)
    states = {entry.review.plan_id: entry.state for entry in reviewing.entries()}
    assert states[applied] is ReviewState.APPLIED
    assert states[waiting] is states[approved] is ReviewState.STALE
    assert states[rejected] is ReviewState.REJECTED


def test_applied_plan_shows_its_diff(
    strict: Engine, reviewing: ReviewService, root: Path, plan_id: str
) -> None:
    reviewing.decide(plan_id, "ann", Verdict.APPROVED)
    before = reviewing.open(plan_id).file(0)
    apply(strict, plan_id)
    (root / "a.md").write_bytes(b"moved on\n")

    opened = reviewing.open(plan_id)

    assert (opened.state, opened.stale) == (ReviewState.APPLIED, ())
    assert opened.file(0) == before


def test_plan_whose_part_was_applied_counts_as_applied(
    strict: Engine, reviewing: ReviewService, plan_id: str
) -> None:
    decision = reviewing.decide(plan_id, "ann", Verdict.APPROVED, rejected=[0])
    apply(strict, decision.approved_plan_id)

    assert reviewing.open(plan_id).state is ReviewState.APPLIED


@pytest.mark.parametrize("comment", ["x" * 2001])
def test_too_long_comment_is_refused(reviewing: ReviewService, comment: str, plan_id: str) -> None:
    for problems in (
        reviewing.decide(plan_id, "ann", Verdict.REJECTED, Remarks(comment=comment)),
        reviewing.decide(plan_id, "ann", Verdict.APPROVED, Remarks(edit_comments={0: comment})),
    ):
        assert [problem.code for problem in problems] == [Code.INVALID_ARGUMENT]
    assert reviewing.open(plan_id).decision is None


def test_unsaved_decision_does_not_count(strict: Engine, reviewing: ReviewService, root: Path) -> None:
    plan_id = plan(strict)
    full = "SELECT RAISE(ABORT, 'full')"
    change_store(root, f"CREATE TRIGGER full BEFORE INSERT ON decisions BEGIN {full}; END")

    assert [problem.code for problem in reviewing.decide(plan_id, "ann", Verdict.APPROVED)] == [Code.IO_ERROR]
    assert only_problem(apply(strict, plan_id)).code is Code.APPROVAL_REQUIRED


def test_unknown_plan_is_reported(reviewing: ReviewService) -> None:
    for outcome in (
        reviewing.open("0" * 64),
        reviewing.decide("0" * 64, "x", Verdict.APPROVED),
        reviewing.decide("0" * 64, "x", Verdict.REJECTED),
    ):
        assert not isinstance(outcome, OpenPlan | Decision)
        assert [problem.code for problem in outcome] == [Code.PLAN_NOT_FOUND]


def test_file_changed_during_review_is_stale(strict: Engine, reviewing: ReviewService, root: Path) -> None:
    """Files of large plans are read on demand, and may have changed by then."""
    opened = reviewing.open(plan(strict))
    changed = replace(opened, bases=[Source.from_text("other\n")])

    assert [problem.code for problem in changed.file(0)] == [Code.STALE_BASE]


@pytest.fixture
def free(root: Path) -> Engine:
    """An engine that needs no approval."""
    return Engine.open([root])


def on_line(line: int, text: str, side: Side = Side.AFTER, end: int = 0) -> LineComment:
    return LineComment(file="a.md", side=side, start=line, end=end or line, text=text)


NO_TERMS = DecisionTerms()


def requested(
    reviewing: ReviewService, plan_id: str, terms: DecisionTerms = NO_TERMS, **said: Any
) -> Decision:
    remarks = Remarks(**{"comment": "not yet"} | said)
    decision = reviewing.decide(plan_id, "ann", Verdict.CHANGES_REQUESTED, remarks, terms=terms)
    assert isinstance(decision, Decision), decision
    return decision


def code(engine: Engine, request: dict[str, object]) -> str:
    report = engine.apply(request)
    return report.error.code.value if report.error else "applied"


def test_decision_stores_comments_with_the_edits_of_their_lines(
    reviewing: ReviewService, strict: Engine, plan_id: str
) -> None:
    terms = DecisionTerms(channel=Channel.CHAT_APP)
    lines = (on_line(7, "say it"), on_line(10, "why?", Side.BEFORE, end=11))
    requested(reviewing, plan_id, edit_comments={0: "no"}, line_comments=lines, terms=terms)
    stored = DecisionStore(strict.workspace.roots[0].path).of(plan_id)

    assert stored is not None
    assert (stored.verdict, stored.channel, stored.remarks.comment) == (
        Verdict.CHANGES_REQUESTED,
        Channel.CHAT_APP,
        "not yet",
    )
    assert dict(stored.remarks.edit_comments) == {0: "no"}
    assert [(each.quote, each.edit_index) for each in stored.remarks.line_comments] == [
        ("2", 1),
        ("\nthree", 2),
    ]
    assert reviewing.open(plan_id).state is ReviewState.CHANGES_REQUESTED


def test_plan_with_requested_changes_is_committed_on_no_surface(
    reviewing: ReviewService, strict: Engine, free: Engine, plan_id: str
) -> None:
    requested(reviewing, plan_id, line_comments=(on_line(3, "spell it"),))
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
    approved = reviewing.decide(again, "ann", Verdict.APPROVED)
    assert isinstance(approved, Decision)
    assert code(free, {"planId": again}) == "applied"


def test_changed_edits_make_another_plan(reviewing: ReviewService, free: Engine) -> None:
    requested(reviewing, plan(free))

    assert code(free, {"planId": plan(free, *EDITS[:2])}) == "applied"


def test_approval_must_override_the_request(reviewing: ReviewService, strict: Engine, plan_id: str) -> None:
    requested(reviewing, plan_id)
    saw = reviewing.open(plan_id).decisions.version
    (refused,) = reviewing.decide(plan_id, "bob", Verdict.APPROVED, terms=DecisionTerms(saw=saw))

    assert refused.code is Code.CHANGES_REQUESTED
    assert isinstance(
        reviewing.decide(plan_id, "bob", Verdict.APPROVED, terms=DecisionTerms(saw=saw, overrides=True)),
        Decision,
    )
    report = strict.apply({"planId": plan_id})
    assert report.applied
    assert report.approved.overrides


def test_request_revokes_the_approval_of_a_part(
    reviewing: ReviewService, strict: Engine, plan_id: str
) -> None:
    part = reviewing.decide(plan_id, "ann", Verdict.APPROVED, rejected=[2]).approved_plan_id
    saw = reviewing.open(plan_id).decisions.version
    requested(reviewing, plan_id, terms=DecisionTerms(saw=saw))

    assert code(strict, {"planId": part}) == "CHANGES_REQUESTED"


def test_second_window_never_requests_over_the_first(reviewing: ReviewService, plan_id: str) -> None:
    assert isinstance(reviewing.decide(plan_id, "ann", Verdict.APPROVED), Decision)

    (refused,) = reviewing.decide(plan_id, "bob", Verdict.CHANGES_REQUESTED, Remarks(comment="no"))
    assert refused.code is Code.STALE_DECISION


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({}, "says what to change"),
        ({"edit_comments": {0: ""}}, "says what to change"),
        ({"line_comments": (on_line(12, "x"),)}, "has no lines 12-12 after"),
        ({"line_comments": (on_line(0, "x"),)}, "has no lines 0-0"),
        ({"line_comments": (on_line(3, "x", end=2),)}, "has no lines 3-2"),
        ({"line_comments": (on_line(3, " "),)}, "is empty"),
        ({"line_comments": (on_line(3, "x" * 2001),)}, "longer than 2000"),
        ({"line_comments": (on_line(3, "x"),) * 501}, "more than 500"),
        (
            {"line_comments": (LineComment(file="b.md", side=Side.AFTER, start=1, end=1, text="x"),)},
            "has no file `b.md`",
        ),
    ],
)
def test_comment_that_names_nothing_is_refused(
    reviewing: ReviewService, said: dict[str, object], reason: str, plan_id: str
) -> None:
    (refused,) = reviewing.decide(plan_id, "ann", Verdict.CHANGES_REQUESTED, Remarks(**said))

    assert isinstance(refused, Diagnostic)
    assert refused.code is Code.INVALID_ARGUMENT
    assert reason in refused.message
    assert reviewing.open(plan_id).decision is None


def test_comment_lines_keep_their_text_after_the_file_changed(
    root: Path, reviewing: ReviewService, plan_id: str
) -> None:
    (root / "a.md").write_text("# Other\n")
    decision = requested(reviewing, plan_id, line_comments=(on_line(7, "say it"),))

    assert decision.remarks.line_comments[0].quote == "2"
    assert decision.remarks.line_comments[0].edit_index == 1


def test_other_plans_keep_their_state(reviewing: ReviewService, strict: Engine) -> None:
    other = plan(strict, EDITS[0])
    requested(reviewing, plan(strict))
    opened = reviewing.open(other)

    assert isinstance(opened, OpenPlan)
    assert opened.state is ReviewState.PENDING


# --- Cached plans are not read again, and the cache is bounded.


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    (tmp_path / "a.md").write_text("one two\n")
    return Engine.open([tmp_path])


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The IDs by which plans are read from the store."""
    asked: list[str] = []
    load = PlanLibrary.load

    def noted(library: PlanLibrary, plan_id: str) -> object:
        asked.append(plan_id)
        return load(library, plan_id)

    monkeypatch.setattr(PlanLibrary, "load", noted)
    return asked


def cached_plan(engine: Engine, replacement: str) -> str:
    edit = {"op": "replace_match", "pattern": "one", "replacement": replacement}
    return engine.plan({"file": "a.md", "edits": [edit]}).plan_id


def test_plan_is_read_once(engine: Engine, read: list[str]) -> None:
    plan_id = cached_plan(engine, "1")
    cache = PlanCache(engine.library)

    by_prefix, first, second = cache.load(plan_id[:23]), cache.load(plan_id), cache.load(plan_id)

    assert by_prefix == first
    assert first is second
    assert read == [plan_id[:23]]


def test_least_recent_plans_are_evicted(
    engine: Engine, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = [cached_plan(engine, str(number)) for number in range(3)]
    cache = PlanCache(engine.library)
    size = plan_library._size(cache.load(plans[0])[0])  # noqa: SLF001
    monkeypatch.setattr(plan_library, "_MOST_CACHED", 2 * size)
    read.clear()

    for plan_id in (plans[1], plans[0], plans[2], plans[0], plans[1]):
        cache.load(plan_id)

    assert read == [plans[1], plans[2], plans[1]]


def test_plan_larger_than_the_cache_is_not_cached(
    engine: Engine, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_library, "_MOST_CACHED", 1)
    plan_id = cached_plan(engine, "1")
    cache = PlanCache(engine.library)

    assert cache.load(plan_id) == cache.load(plan_id)
    assert read == [plan_id, plan_id]


def test_unknown_plan_is_looked_up_again(engine: Engine, read: list[str]) -> None:
    cache = PlanCache(engine.library)

    assert [cache.load("0" * 64).code for _ in range(2)] == [Code.PLAN_NOT_FOUND] * 2
    assert len(read) == 2
