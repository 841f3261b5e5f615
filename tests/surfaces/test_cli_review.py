"""`mdplan review` as a command: the list, and the dialogue in a terminal to its decision."""

import sys
from pathlib import Path

import pytest

from mdplan.engine.engine import Engine
from mdplan.engine.reviews import ReviewService
from mdplan.storage.decisions import Verdict
from tests.surfaces.command_line import BATCH, GUIDE, RESULT, mdplan, plan_id_of
from tests.surfaces.dialog import Dialog


@pytest.fixture
def reviewing(project: Path) -> ReviewService:
    return ReviewService(Engine.open([project]))


# The command.


def test_review_does_not_prompt_without_a_terminal(project: Path) -> None:
    run = mdplan("review", "--terminal", plan_id_of())

    assert run.code == 2
    assert "needs a terminal" in run.err


def test_list_shows_the_state_of_each_plan(project: Path, reviewing: ReviewService) -> None:
    assert mdplan("review", "--list").out == b"There are no saved plans here.\n"
    plan_id = plan_id_of()
    assert f"{plan_id[7:19]}  pending " in mdplan("review", "--list").out.decode()
    reviewing.reject(plan_id, "ann", comment="no")

    assert f"{plan_id[7:19]}  rejected" in mdplan("review", "--list").out.decode()
    (entry,) = mdplan("review", "--list", "--json").json["plans"]
    assert (entry["planId"], entry["state"], entry["files"]) == (plan_id, "rejected", ["guide.md"])
    assert (entry["decision"]["decidedBy"], entry["decision"]["comment"]) == ("ann", "no")


@pytest.mark.parametrize("environment", [None, {"MDPLAN_REQUIRE_APPROVAL": "1"}])
def test_apply_option_requires_approval(
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


# Writes, for a person, below the line with the text in WRITES_BELOW.
EDITOR = """
import os, pathlib, sys
path = pathlib.Path(sys.argv[1])
rows = path.read_text().splitlines()
at = next(n for n, row in enumerate(rows) if os.environ["WRITES_BELOW"] in row)
path.write_text("\\n".join([*rows[: at + 1], os.environ["WRITES"], *rows[at + 1 :]]))
os.utime(path, (1, 1))
"""


@pytest.fixture
def editor(tmp_path: Path) -> str:
    program = tmp_path / "editor.py"
    program.write_text(EDITOR)
    return f"{sys.executable} {program}"


def test_part_is_approved_and_applied_in_a_terminal(
    project: Path, reviewing: ReviewService, editor: str
) -> None:
    plan_id = plan_id_of()
    writes = {"EDITOR": editor, "WRITES_BELOW": "edit 2 of guide.md", "WRITES": "no restart"}
    dialog = Dialog("review", "--terminal", **writes)

    dialog.expect("(1/2) Accept this edit")
    dialog.type("y")
    dialog.expect("(2/2) Accept this edit")
    dialog.type("e")
    dialog.expect("This edit has 1 comment of yours.")
    dialog.type("n")
    dialog.expect("1 of 2 edits accepted, 1 rejected; 1 of 1 file viewed; 1 comment.")
    dialog.type("a")
    dialog.expect("Apply it now? [y/N]")
    dialog.type("y")
    assert dialog.end() == 0

    decision = reviewing.open(plan_id).decision
    assert (decision.verdict, decision.rejected) == (Verdict.APPROVED, (1,))
    assert decision.edit_comments == {1: "no restart"}
    assert f"plan {decision.approved_plan_id[7:19]}" in dialog.seen
    assert (project / "guide.md").read_text() == GUIDE.replace("nightly", "stable")


def test_stale_plan_can_be_replanned_in_a_terminal(project: Path, reviewing: ReviewService) -> None:
    plan_id = plan_id_of()
    (project / "guide.md").write_text(GUIDE + "\nMore.\n")
    dialog = Dialog("review", "--terminal", plan_id)

    dialog.expect("Plan the same edits on them as they are now? [y/N]")
    dialog.type("y")
    dialog.expect("(1/2) Accept this edit")
    dialog.type("a")
    dialog.expect("Your decision")
    dialog.type("a")
    dialog.expect("Apply it now?")
    dialog.type("n")
    assert dialog.end() == 0

    assert reviewing.open(plan_id).decision is None
    assert [entry.state for entry in reviewing.entries()] == ["approved", "stale"]


def test_one_of_several_is_chosen_and_rejected(project: Path, reviewing: ReviewService, editor: str) -> None:
    older = plan_id_of()
    plan_id_of({**BATCH, "edits": BATCH["edits"][:1]})
    dialog = Dialog("review", "--terminal", EDITOR=editor, WRITES_BELOW="", WRITES="never")

    dialog.expect("Which plan [1-2, q]? ")
    dialog.type("9")
    dialog.expect("Which plan [1-2, q]? ")
    dialog.type("2")
    dialog.expect("(1/2) Accept this edit")
    dialog.type("d")
    dialog.expect("0 of 2 edits accepted, 2 rejected")
    dialog.type("m")
    dialog.expect("1 comment")
    dialog.type("r")
    assert dialog.end() == 0
    assert "Rejected" in dialog.seen
    assert (reviewing.open(older).state, reviewing.open(older).decision.comment) == ("rejected", "never")


def test_quitting_records_no_decision(project: Path, reviewing: ReviewService) -> None:
    plan_id = plan_id_of()
    dialog = Dialog("review", "--terminal", plan_id)

    dialog.expect("(1/2) Accept this edit")
    dialog.type("q")
    assert dialog.end() == 5
    assert reviewing.open(plan_id).decision is None
