"""The review in a terminal, answered by lists of keys: edits, comments on lines, the decision."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mdplan.cli.review import ReviewEnd, TerminalDialog, review_plan_in_terminal
from mdplan.cli.terminal import NO_STYLE
from mdplan.decisions import LineComment, Remarks, Side, Verdict
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import OpenPlan, ReviewService
from tests.support.case_tables import CaseTables
from tests.support.tmux import BASH, Terminal, terminal
from tests.surfaces.command_line import BATCH, GUIDE, RESULT, mdplan, plan_id_of
from tests.surfaces.dialog import Dialog

CASE_TABLES = CaseTables(__file__)


EDITS = CASE_TABLES.value("EDITS")
OTHER = [{"op": "append_to_section", "heading": "Other", "markdown": word} for word in ("One.", "Two.")]


@pytest.fixture
def reviewing(project: Path) -> ReviewService:
    (project / "other.md").write_text("# Other\n\nText.\n")
    return ReviewService(Engine.open([project]))


def opened(reviewing: ReviewService, **options: object) -> OpenPlan:
    plan_id = reviewing.engine.plan({"file": "guide.md", "edits": EDITS, **options}).plan_id
    found = reviewing.open(plan_id)
    assert isinstance(found, OpenPlan)
    return found


def of_two_files(reviewing: ReviewService) -> OpenPlan:
    files = [{"file": "guide.md", "edits": EDITS}, {"file": "other.md", "edits": OTHER[:1]}]
    found = reviewing.open(reviewing.engine.plan({"files": files}).plan_id)
    assert isinstance(found, OpenPlan)
    return found


@dataclass
class Person:
    """Types `lines`, one after the other; `writes` changes what an editor opens with."""

    lines: Sequence[str]
    writes: Callable[[str], str | None] | Iterator[Callable[[str], str | None]] = lambda text: text
    shown: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)

    def review(self, plan: OpenPlan) -> ReviewEnd | None:
        return review_plan_in_terminal(plan, self.talk(), NO_STYLE)

    def talk(self) -> TerminalDialog:
        typed: Iterator[str] = iter(self.lines)

        def ask(question: str) -> str | None:
            self.shown.append(question)
            return next(typed, None)

        def edit(text: str) -> str | None:
            self.edited.append(text)
            return self.writes(text) if callable(self.writes) else next(self.writes)(text)

        return TerminalDialog(ask=ask, show_text=self.shown.append, page=self.shown.append, edit=edit)

    @property
    def text(self) -> str:
        return "".join(self.shown)


def below(line: str, comment: str) -> Callable[[str], str]:
    """Return an editor that writes `comment` below the line that contains `line`."""

    def write(text: str) -> str:
        rows = text.split("\n")
        at = next(number for number, row in enumerate(rows) if line in row)
        return "\n".join([*rows[: at + 1], comment, *rows[at + 1 :]])

    return write


@pytest.mark.parametrize(
    ("typed", "rejected"),
    [
        ("yyy", set()),
        ("yny", {1}),
        (["Y", " n ", "no"], {1, 2}),
        ("na", {0}),
        ("yd", {1, 2}),
        ("nkyyy", set()),
        ("kynkyny", {2}),
        ("jnyy", {1}),
        (["z", "", "?", "y", "a"], set()),
        ("nspya", {0}),
        ("xyy", {0}),
        ("cny", {1}),
    ],
)
def test_keys_accept_and_reject_edits(
    reviewing: ReviewService, typed: Sequence[str], rejected: set[int]
) -> None:
    outcome = Person([*typed, "a"]).review(opened(reviewing))

    assert outcome is not None
    assert outcome.verdict is Verdict.APPROVED
    assert outcome.choices.rejected == rejected
    assert not outcome.choices.open_edits(range(3))


@pytest.mark.parametrize("typed", ["", "q", "y", "yy", "yq", "yqq", "yyyq", "yqbq", "ddq"])
def test_quitting_decides_nothing(reviewing: ReviewService, typed: str) -> None:
    assert Person(typed).review(opened(reviewing)) is None


def test_rest_key_answers_the_remaining_edits_of_the_file(reviewing: ReviewService) -> None:
    outcome = Person(["n", "a", "n", "a"]).review(of_two_files(reviewing))

    assert outcome.choices.answers == {0: False, 1: True, 2: True, 3: False}


def test_edit_is_shown_with_its_own_lines(reviewing: ReviewService) -> None:
    person = Person("yyya")
    person.review(opened(reviewing))

    first, second, third = person.text.split(") Accept this edit")[:3]
    assert 'edit 1 of guide.md replace_match: "nightly", 1 of 1 matches' in first
    assert "-The nightly build.\n+The stable build." in first
    assert "edit 2 of guide.md append_to_section: Install" in second
    assert "+Restart." in second
    assert 'edit 3 of guide.md rename_heading: Use, to "Usage"' in third
    assert "Restart." not in third.partition("edit 3 of guide.md")[2].partition("## Usage")[2]


def test_file_is_found_by_number_and_by_path(reviewing: ReviewService) -> None:
    for wanted in ("2", "OTHER"):
        person = Person(["f", wanted, "n", "q", "q"])
        person.review(of_two_files(reviewing))

        assert "2  ○  other.md  +2 -0" in person.text
        assert "(4/4) Accept this edit" in person.text
        assert "(file 2 of 2)" in person.text


def test_edit_is_found_by_its_text(reviewing: ReviewService) -> None:
    person = Person(["/USAGE", "/ restart.", "/", "one.", "/nowhere", "q"])
    person.review(of_two_files(reviewing))

    asked = [text[:5] for text in person.shown if "Accept this edit" in text]
    assert asked == ["(1/4)", "(3/4)", "(2/4)", "(4/4)", "(4/4)"]
    assert "No edit shows `nowhere`." in person.text


def test_comments_keep_their_lines(reviewing: ReviewService) -> None:
    writes = iter(
        [
            below("edit 1 of guide.md", "  why?\n\n> not mine\nplease say "),
            below("-The nightly build.", "it is weekly"),
            below("+The stable build.", "# Which?"),
            below("> @@", "all of it"),
        ]
    )
    person = Person("eeeeyyyc", writes=writes)
    outcome = person.review(opened(reviewing))

    assert outcome.verdict is Verdict.CHANGES_REQUESTED
    assert outcome.choices.comments == {0: "why?\n\nplease say"}
    old, new = (LineComment(file="guide.md", side=side, start=3, end=3, text="") for side in Side)
    hunk = next(place for place in outcome.choices.line_comments if place.start != place.end)
    assert outcome.choices.line_comments == {old: "it is weekly", new: "# Which?", hunk: "all of it"}
    assert "guide.md, line 3 before the plan: it is weekly" in person.text
    # The earlier comment is shown again.
    assert "\nit is weekly\n" in person.edited[-1]
    assert "why?" in person.edited[-1]


def test_comment_that_is_deleted_is_gone(reviewing: ReviewService) -> None:
    writes = iter([below("+The stable", "mine"), lambda text: text.replace("mine\n", "")])
    outcome = Person("eeyyya", writes=writes).review(opened(reviewing))

    assert not outcome.choices.n_comments


def test_editor_that_saves_nothing_changes_nothing(reviewing: ReviewService) -> None:
    writes = iter([below("+The stable", "mine"), lambda _: None])
    outcome = Person("eeyyya", writes=writes).review(opened(reviewing))

    assert list(outcome.choices.line_comments.values()) == ["mine"]


def test_quoted_lines_survive_an_editor_that_trims_them(reviewing: ReviewService) -> None:
    def write(text: str) -> str:
        return "\n".join(row.rstrip() for row in below("+The stable", "mine")(text).split("\n"))

    outcome = Person("eyyya", writes=write).review(opened(reviewing))

    assert list(outcome.choices.line_comments.values()) == ["mine"]
    assert not outcome.choices.comments


def test_comment_file_has_no_editor_modelines(reviewing: ReviewService, project: Path) -> None:
    (project / "guide.md").write_text("vim: set shell=x:\n")
    edit = {"op": "replace_match", "pattern": "vim: set shell=x:", "replacement": "vim: set shell=y:"}
    plan = reviewing.open(reviewing.engine.plan({"file": "guide.md", "edits": [edit]}).plan_id)
    person = Person("eq")
    person.review(plan)

    rows = person.edited[0].rstrip("\n").split("\n")
    assert any("vim:" in row for row in rows)
    assert not any("vim:" in row for row in (*rows[:5], *rows[-5:]))


def test_approval_lists_unanswered_edits_and_unviewed_files(reviewing: ReviewService) -> None:
    person = Person(["y", "q", "a", "n", "a", "y"])
    outcome = person.review(of_two_files(reviewing))

    assert "1 of 4 edits accepted, 3 open; 1 of 2 files viewed." in person.text
    assert person.text.count("3 edits without an answer, in guide.md, other.md.") == 2
    assert "1 file not viewed: other.md." in person.text
    assert outcome.verdict is Verdict.APPROVED
    assert not outcome.choices.rejected


def test_plan_without_an_accepted_edit_is_not_approved(reviewing: ReviewService) -> None:
    person = Person("daq")

    assert person.review(opened(reviewing)) is None
    assert "You rejected every edit: request changes, or reject the plan." in person.text


def test_changes_are_requested_with_a_comment(reviewing: ReviewService) -> None:
    person = Person("acmc", writes=lambda text: "Say more.\n" + text)
    outcome = person.review(opened(reviewing))

    assert "Say what to change:" in person.text
    assert (outcome.verdict, outcome.choices.message) == (Verdict.CHANGES_REQUESTED, "Say more.")


def test_derived_link_edits_are_shown_without_a_prompt(reviewing: ReviewService, project: Path) -> None:
    (project / "other.md").write_text("[use](guide.md#use)\n")
    person = Person("yyya")
    outcome = person.review(opened(reviewing, updateReferences="workspace"))

    assert not outcome.choices.rejected
    assert "Links updated because of these edits:\nother.md  +1 -1" in person.text
    assert "+[use](guide.md#usage)" in person.text
    assert "2 of 2 files viewed" in person.text


def test_undo_is_reviewed_as_a_whole(reviewing: ReviewService) -> None:
    engine = reviewing.engine
    engine.apply({"planId": of_two_files(reviewing).plan.plan_id})
    plan = reviewing.open(engine.undo(dry_run=True).plan_id)

    person = Person("nr")
    outcome = person.review(plan)
    assert person.text.count("Accept this edit") == 1
    assert outcome.verdict is Verdict.REJECTED
    assert outcome.choices.rejected == {edit.index for edit in plan.review.edits}


def test_warnings_are_counted_first_and_listed_on_request(reviewing: ReviewService, project: Path) -> None:
    (project / "links.md").write_text("[a](#a) [b](#b)\n\n## A\n\n## B\n")
    edits = [{"op": "rename_heading", "heading": title, "newTitle": title * 2} for title in "AB"]
    batch = {"file": "links.md", "edits": edits, "updateReferences": "none"}
    plan = reviewing.open(reviewing.engine.plan(batch).plan_id)
    person = Person("wq")
    person.review(plan)

    before, _, listed = person.text.partition("(1/2) Accept this edit")
    count = len(plan.review.warnings)
    assert f"{count} warnings: " in before.partition("edit 1 of links.md")[0]
    assert before.count("warning: ") < count
    assert listed.count("warning: ") == count


def test_revised_plan_shows_the_comments_and_what_differs(reviewing: ReviewService) -> None:
    first = opened(reviewing)
    on_line = LineComment(file="guide.md", side=Side.AFTER, start=3, end=3, text="say which")
    reviewing.decide(
        first.plan.plan_id,
        "ann",
        Verdict.CHANGES_REQUESTED,
        Remarks(edit_comments={1: "no restart"}, line_comments=(on_line,)),
    )
    better = EDITS[0] | {"replacement": "stable 1.2"}
    report = reviewing.engine.plan({"file": "guide.md", "edits": [better], "revises": first.plan.plan_id})
    plan = reviewing.open(report.plan_id)
    person = Person("rq")
    earlier = reviewing.earlier(plan)
    review_plan_in_terminal(plan, person.talk(), NO_STYLE, earlier)

    short = first.plan.plan_id[7:19]
    note = f"This plan revises plan {short} (changes requested by ann, 2 comments)"
    assert note in person.text.partition("(1/1) Accept this edit")[0]
    listed = person.text.partition("(1/1) Accept this edit")[2]
    assert "- edit 2 of guide.md: no restart" in listed
    assert "- edit 1 of guide.md, guide.md, line 3: say which" in listed
    assert "  on: The stable build., these lines differ now" in listed
    assert "-The stable build.\n+The stable 1.2 build." in listed


def test_hostile_text_is_escaped(reviewing: ReviewService, project: Path) -> None:
    (project / "guide.md").write_text("old \x1b[2J\u202e\n")
    edit = {"op": "replace_match", "pattern": "old", "replacement": "\x1b]0;x\x07"}
    plan = reviewing.open(reviewing.engine.plan({"file": "guide.md", "edits": [edit]}).plan_id)
    person = Person("efq")
    person.review(plan)

    assert not set("\x1b\x07\u202e") & set(person.text + "".join(person.edited))


# --- The review in a real terminal of 80 by 24: what is longer than the screen comes in a pager.

MDPLAN = f"{sys.executable} -m mdplan"
FILES = 40


@pytest.fixture
def on_screen(project: Path) -> ReviewService:
    """A plan of many files, the edits of the first in a hunk of more than 24 lines."""
    files = []
    for number in range(FILES):
        parts = "".join(f"Line {line} is nightly.\n\n" for line in range(20 if number == 0 else 1))
        (project / f"part-{number:02}.md").write_text(f"# Part {number}\n\n{parts}")
        replace = {"pattern": "nightly", "replacement": "stable", "matchSelection": "all"}
        files.append({"file": f"part-{number:02}.md", "edits": [{"op": "replace_match", **replace}]})
    on_screen = ReviewService(Engine.open([project]))
    assert on_screen.engine.plan({"files": files}).ok
    return on_screen


@pytest.fixture
def screen(project: Path, on_screen: ReviewService, tmp_path: Path) -> Iterator[Terminal]:
    if shutil.which("less") is None:
        pytest.skip("less is missing")
    editor = tmp_path / "editor.py"
    editor.write_text(PROMPT_EDITOR)
    environment = {
        "EDITOR": f"{sys.executable} {editor}",
        "WRITES_BELOW": "+Line 0 is stable.",
        "WRITES": "Which stable?",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PAGER": "less",
    }
    with terminal(BASH, project, environment) as opened:
        opened.wait_for_prompt()
        yield opened


def test_large_plan_does_not_scroll_away(screen: Terminal, on_screen: ReviewService) -> None:
    screen.type(f"{MDPLAN} review --terminal\n")
    # The pager shows the beginning, and waits.
    screen.expect("40 files, 40 edits")
    screen.expect("edit 1 of part-00.md")
    screen.settle()
    assert screen.screen().rstrip().endswith(":")
    screen.type("q")
    screen.expect("(1/40) Accept this edit")
    screen.type("f\n")
    screen.expect("part-20.md")
    screen.settle()
    assert "part-39.md" not in screen.screen()
    screen.type("q")
    screen.expect("File [1-40")
    screen.type("part-33\n")
    screen.expect("(34/40) Accept this edit")
    assert "edit 1 of part-33.md" in screen.screen()
    screen.type("e\n")
    screen.expect("This edit has 1 comment of yours.")
    screen.type("n\n")
    screen.expect("(35/40) Accept this edit")
    screen.type("q\n")
    screen.expect("0 of 40 edits accepted, 1 rejected, 39 open; 3 of 40 files viewed; 1 comment.")
    screen.type("a\n")
    screen.expect("37 files not viewed: part-01.md, part-02.md")
    screen.type("n\n")
    screen.expect("Your decision")
    screen.type("c\n")
    screen.expect("Changes requested.")
    screen.wait_for_prompt()
    (entry,) = on_screen.entries()
    (comment,) = entry.decision.remarks.line_comments
    assert (comment.file, comment.start, comment.text) == ("part-33.md", 3, "Which stable?")
    assert entry.decision.channel == "terminal"


# --- `mdplan review` as a command: the list, and the dialogue in a terminal to its decision.


@pytest.fixture
def at_prompt(project: Path) -> ReviewService:
    return ReviewService(Engine.open([project]))


# The command.
def test_review_does_not_prompt_without_a_terminal(project: Path) -> None:
    run = mdplan("review", "--terminal", plan_id_of())

    assert run.code == 2
    assert "needs a terminal" in run.err


def test_list_shows_the_state_of_each_plan(project: Path, at_prompt: ReviewService) -> None:
    assert mdplan("review", "--list").out == b"There are no saved plans here.\n"
    plan_id = plan_id_of()
    assert f"{plan_id[7:19]}  pending " in mdplan("review", "--list").out.decode()
    at_prompt.decide(plan_id, "ann", Verdict.REJECTED, Remarks(comment="no"))

    assert f"{plan_id[7:19]}  rejected" in mdplan("review", "--list").out.decode()
    (entry,) = mdplan("review", "--list", "--json").json["plans"]
    assert (entry["planId"], entry["state"], entry["files"]) == (plan_id, "rejected", ["guide.md"])
    assert (entry["decision"]["decidedBy"], entry["decision"]["comment"]) == ("ann", "no")


@pytest.mark.parametrize("environment", [None, {"MDPLAN_REQUIRE_APPROVAL": "1"}])
def test_apply_option_requires_approval(
    project: Path, at_prompt: ReviewService, environment: dict[str, str | None] | None
) -> None:
    option = ["--require-approval"] if environment is None else []
    plan_id = plan_id_of()

    refused = mdplan("apply", *option, plan_id, environment=environment)
    assert refused.code == 5
    assert "APPROVAL_REQUIRED" in refused.err
    assert (project / "guide.md").read_text() == GUIDE

    at_prompt.decide(plan_id, "ann", Verdict.APPROVED, Remarks(comment="fine"))
    applied = mdplan("apply", *option, plan_id, environment=environment)
    assert applied.code == 0
    assert 'Approved by ann: "fine"' in applied.err
    assert (project / "guide.md").read_text() == RESULT


def test_rejected_plan_is_refused_with_the_reason(project: Path, at_prompt: ReviewService) -> None:
    plan_id = plan_id_of()
    at_prompt.decide(plan_id, "ann", Verdict.REJECTED, Remarks(comment="not \x1b[31mnow"))

    for options in ([], ["--require-approval"]):
        run = mdplan("apply", *options, plan_id)
        assert run.code == 5
        assert "PLAN_REJECTED" in run.err
        assert "\x1b" not in run.err


# Writes, for a person, below the line with the text in WRITES_BELOW.
PROMPT_EDITOR = CASE_TABLES.value("PROMPT_EDITOR")


@pytest.fixture
def editor(tmp_path: Path) -> str:
    program = tmp_path / "editor.py"
    program.write_text(PROMPT_EDITOR)
    return f"{sys.executable} {program}"


def test_part_is_approved_and_applied_in_a_terminal(
    project: Path, at_prompt: ReviewService, editor: str
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

    decision = at_prompt.open(plan_id).decision
    assert (decision.verdict, decision.rejected) == (Verdict.APPROVED, (1,))
    assert decision.remarks.edit_comments == {1: "no restart"}
    assert f"plan {decision.approved_plan_id[7:19]}" in dialog.seen
    assert (project / "guide.md").read_text() == GUIDE.replace("nightly", "stable")


def test_stale_plan_can_be_replanned_in_a_terminal(project: Path, at_prompt: ReviewService) -> None:
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

    assert at_prompt.open(plan_id).decision is None
    assert [entry.state for entry in at_prompt.entries()] == ["approved", "stale"]


def test_one_of_several_is_chosen_and_rejected(project: Path, at_prompt: ReviewService, editor: str) -> None:
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
    assert (at_prompt.open(older).state, at_prompt.open(older).decision.remarks.comment) == (
        "rejected",
        "never",
    )
