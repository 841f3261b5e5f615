"""`mdplan review`: a person decides in a terminal, edit by edit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mdplan.cli.console import Style
from mdplan.cli.terminal_review import Choices, choose_edits
from mdplan.engine.engine import Engine
from mdplan.engine.open_plan import OpenPlan
from mdplan.engine.reviews import ReviewService
from mdplan.storage.user.decisions import Verdict
from tests.surfaces.command_line import BATCH, GUIDE, RESULT, mdplan, plan_id_of
from tests.surfaces.dialog import Dialog

EDITS = [
    {"op": "replace_match", "pattern": "nightly", "replacement": "stable"},
    {"op": "append_to_section", "headingPath": ["Install"], "markdown": "Restart."},
    {"op": "rename_heading", "headingPath": ["Use"], "newTitle": "Usage"},
]


@pytest.fixture
def reviewing(project: Path) -> ReviewService:
    return ReviewService(Engine.open([project]))


def opened(reviewing: ReviewService, **options: object) -> OpenPlan:
    plan_id = reviewing.engine.plan({"file": "guide.md", "edits": EDITS, **options}).plan_id
    found = reviewing.open(plan_id)
    assert isinstance(found, OpenPlan)
    return found


def chosen(plan: OpenPlan, *typed: str) -> tuple[Choices | None, str]:
    """What comes of `typed` lines, and all that was shown."""
    lines: Iterator[str] = iter(typed)
    shown: list[str] = []

    def ask(question: str) -> str | None:
        shown.append(question)
        return next(lines, None)

    return choose_edits(plan, ask, shown.append, Style(on=False)), "".join(shown)


@pytest.mark.parametrize(
    ("typed", "rejected"),
    [
        (("y", "y", "y"), set()),
        (("y", "n", "y"), {1}),
        (("Y", " n ", "no"), {1, 2}),
        (("n", "a"), {0}),
        (("y", "d"), {1, 2}),
        (("a",), set()),
        (("d",), {0, 1, 2}),
        (("n", "k", "y", "y", "y"), set()),
        (("k", "y", "n", "k", "y", "n"), {2}),
        (("d", "ignored"), {0, 1, 2}),
        (("x", "", "?", "y", "a"), set()),
    ],
)
def test_keys_choose_edits(reviewing: ReviewService, typed: tuple[str, ...], rejected: set[int]) -> None:
    choices, _ = chosen(opened(reviewing), *typed)

    assert choices.rejected == rejected


@pytest.mark.parametrize("typed", [(), ("q",), ("y", "q"), ("y", "y"), ("n", "e")])
def test_who_quits_decides_nothing(reviewing: ReviewService, typed: tuple[str, ...]) -> None:
    assert chosen(opened(reviewing), *typed)[0] is None


def test_comments_are_of_their_edit(reviewing: ReviewService) -> None:
    choices, _ = chosen(opened(reviewing), "e", " why? ", "n", "e", "", "y", "e", "a", "e", "b", "y")

    assert choices.comments == {0: "why?", 1: "", 2: "b"}
    assert choices.rejected == {0}


def test_each_edit_is_shown_with_its_hunks(reviewing: ReviewService) -> None:
    _, shown = chosen(opened(reviewing), "y", "y", "y")

    first, second, third = shown.split("Accept this edit")[:3]
    assert 'edit 1 of guide.md replace_match: "nightly", 1 of 1 matches' in first
    assert "-The nightly build.\n+The stable build." in first
    assert "edit 2 of guide.md append_to_section: Install" in second
    assert "+Restart." in second
    assert "   with edit 1 replace_match" in second
    assert 'edit 3 of guide.md rename_heading: Use, to "Usage"' in third


def test_help_is_told(reviewing: ReviewService) -> None:
    assert "q - quit without a decision" in chosen(opened(reviewing), "?", "q")[1]


def test_links_that_follow_are_shown_and_not_asked_about(reviewing: ReviewService, project: Path) -> None:
    (project / "other.md").write_text("[use](guide.md#use)\n")
    choices, shown = chosen(opened(reviewing, updateReferences="workspace"), "y", "y", "y")

    assert choices.rejected == set()
    assert "Links updated because of these edits:\nother.md  +1 -1" in shown
    assert "+[use](guide.md#usage)" in shown


def test_undo_is_asked_about_whole(reviewing: ReviewService, project: Path) -> None:
    engine = reviewing.engine
    (project / "b.md").write_text("one\n")
    create = {"op": "replace_match", "pattern": "one", "replacement": "two"}
    batch = {"files": [{"file": "guide.md", "edits": EDITS}, {"file": "b.md", "edits": [create]}]}
    engine.apply({"planId": engine.plan(batch).plan_id})
    plan = reviewing.open(engine.undo(dry_run=True).plan_id)

    choices, shown = chosen(plan, "n")
    assert shown.count("Accept this edit") == 1
    assert choices.rejected == {edit.index for edit in plan.review.edits}


def test_hostile_text_is_escaped(reviewing: ReviewService, project: Path) -> None:
    (project / "guide.md").write_text("old \x1b[2J\u202e\n")
    edit = {"op": "replace_match", "pattern": "old", "replacement": "\x1b]0;x\x07"}
    plan_id = reviewing.engine.plan({"file": "guide.md", "edits": [edit]}).plan_id

    _, shown = chosen(reviewing.open(plan_id), "y")
    assert not set("\x1b\x07\u202e") & set(shown)


# The command.


def test_without_a_terminal_nobody_is_asked(project: Path) -> None:
    run = mdplan("review", "--terminal", plan_id_of())

    assert run.code == 2
    assert "needs a terminal" in run.err


def test_list_says_where_each_plan_stands(project: Path, reviewing: ReviewService) -> None:
    assert mdplan("review", "--list").out == b"There are no saved plans here.\n"
    plan_id = plan_id_of()
    assert f"{plan_id[7:19]}  pending " in mdplan("review", "--list").out.decode()
    reviewing.reject(plan_id, "ann", comment="no")

    assert f"{plan_id[7:19]}  rejected" in mdplan("review", "--list").out.decode()
    (entry,) = mdplan("review", "--list", "--json").json["plans"]
    assert (entry["planId"], entry["state"], entry["files"]) == (plan_id, "rejected", ["guide.md"])
    assert (entry["decision"]["decidedBy"], entry["decision"]["comment"]) == ("ann", "no")


@pytest.mark.parametrize("environment", [None, {"MDPLAN_REQUIRE_APPROVAL": "1"}])
def test_apply_can_require_approval(
    project: Path, reviewing: ReviewService, environment: dict[str, str | None] | None
) -> None:
    option = ["--require-approval"] if environment is None else []
    plan_id = plan_id_of()

    refused = mdplan("apply", *option, plan_id, environment=environment)
    assert refused.code == 5
    assert "APPROVAL_REQUIRED" in refused.err
    assert (project / "guide.md").read_text() == GUIDE

    reviewing.approve(plan_id, "ann", comment="fine")
    applied = mdplan("apply", *option, plan_id, environment=environment)
    assert applied.code == 0
    assert 'Approved by ann: "fine"' in applied.err
    assert (project / "guide.md").read_text() == RESULT


def test_rejected_plan_is_refused_with_the_reason(project: Path, reviewing: ReviewService) -> None:
    plan_id = plan_id_of()
    reviewing.reject(plan_id, "ann", comment="not \x1b[31mnow")

    for options in ([], ["--require-approval"]):
        run = mdplan("apply", *options, plan_id)
        assert run.code == 5
        assert "PLAN_REJECTED" in run.err
        assert "\x1b" not in run.err


def test_part_is_approved_and_applied_in_a_terminal(project: Path, reviewing: ReviewService) -> None:
    plan_id = plan_id_of()
    dialog = Dialog("review", "--terminal")

    dialog.expect("Accept this edit (1/2)")
    dialog.type("y")
    dialog.expect("Accept this edit (2/2)")
    dialog.type("e")
    dialog.expect("Comment on edit 2 of guide.md: ")
    dialog.type("no restart")
    dialog.expect("Accept this edit (2/2)")
    dialog.type("n")
    dialog.expect("Comment on the plan")
    dialog.type("nearly")
    dialog.expect("Apply it now? [y/N]")
    dialog.type("y")
    assert dialog.end() == 0

    decision = reviewing.open(plan_id).decision
    assert (decision.verdict, decision.rejected, decision.comment) == (Verdict.APPROVED, (1,), "nearly")
    assert decision.edit_comments == {1: "no restart"}
    assert f"plan {decision.approved_plan_id[7:19]}" in dialog.seen
    assert (project / "guide.md").read_text() == GUIDE.replace("nightly", "stable")


def test_stale_plan_can_be_planned_again_in_a_terminal(project: Path, reviewing: ReviewService) -> None:
    plan_id = plan_id_of()
    (project / "guide.md").write_text(GUIDE + "\nMore.\n")
    dialog = Dialog("review", "--terminal", plan_id)

    dialog.expect("Plan the same edits on them as they are now? [y/N]")
    dialog.type("y")
    dialog.expect("Accept this edit (1/2)")
    dialog.type("a")
    dialog.expect("Comment on the plan")
    dialog.type("")
    dialog.expect("Apply it now?")
    dialog.type("n")
    assert dialog.end() == 0

    assert reviewing.open(plan_id).decision is None
    assert [entry.state for entry in reviewing.entries()] == ["approved", "stale"]


def test_one_of_several_is_chosen_and_rejected(project: Path, reviewing: ReviewService) -> None:
    older = plan_id_of()
    plan_id_of({**BATCH, "edits": BATCH["edits"][:1]})
    dialog = Dialog("review", "--terminal")

    dialog.expect("Which plan [1-2, q]? ")
    dialog.type("9")
    dialog.expect("Which plan [1-2, q]? ")
    dialog.type("2")
    dialog.expect("Accept this edit (1/2)")
    dialog.type("d")
    dialog.expect("Comment on the plan")
    dialog.type("never")
    assert dialog.end() == 0
    assert "Rejected" in dialog.seen
    assert (reviewing.open(older).state, reviewing.open(older).decision.comment) == ("rejected", "never")


def test_who_quits_leaves_no_decision(project: Path, reviewing: ReviewService) -> None:
    plan_id = plan_id_of()
    dialog = Dialog("review", "--terminal", plan_id)

    dialog.expect("Accept this edit (1/2)")
    dialog.type("q")
    assert dialog.end() == 5
    assert reviewing.open(plan_id).decision is None
