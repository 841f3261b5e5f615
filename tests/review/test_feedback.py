"""Review comments reach the author of a plan, and a revised plan shows the difference."""

from pathlib import Path
from typing import Any

import pytest

from mdplan.client import Client
from mdplan.decisions import Decision, LineComment, Remarks, Side, Verdict
from mdplan.diagnostics import Code
from mdplan.documents.workspace import Workspace
from mdplan.engine.engine import Engine
from mdplan.engine.history import CallerIdentity
from mdplan.engine.reviews import OpenPlan, ReviewService
from mdplan.reports.plan import ReviewReport
from mdplan.settings import Settings
from tests.support.three_edits import EDITS, GUIDE, change

FILES = {"a.md": GUIDE, "b.md": "# Other\n\none\n"}


def engine_of(root: Path, name: str) -> Engine:
    return Engine(Workspace.open([root]), Settings(), caller=CallerIdentity(client=lambda: Client(name, "1")))


@pytest.fixture
def agent(root: Path) -> Engine:
    return engine_of(root, "robo")


@pytest.fixture
def reviewing(root: Path) -> ReviewService:
    return ReviewService(engine_of(root, "mdplan CLI"), clock=lambda: 1_000_000_000.0)


def plan(engine: Engine, *edits: object, file: str = "a.md", **more: object) -> Any:
    report = engine.plan({"file": file, "edits": list(edits), **more})
    assert report.ok, report.error
    return report


def commented(reviewing: ReviewService, plan_id: str) -> None:
    lines = (
        LineComment(file="a.md", side=Side.AFTER, start=7, end=7, text="as a word"),
        LineComment(file="a.md", side=Side.BEFORE, start=3, end=3, text="keep"),
    )
    said = reviewing.decide(
        plan_id,
        "ann",
        Verdict.CHANGES_REQUESTED,
        Remarks(comment="nearly", edit_comments={2: "good"}, line_comments=lines),
    )
    assert isinstance(said, Decision), said


def test_revised_plan_lists_the_comments_by_edit(agent: Engine, reviewing: ReviewService) -> None:
    first = plan(agent, *EDITS)
    assert first.review is None
    commented(reviewing, first.plan_id)
    review = plan(agent, *EDITS).review

    assert review == agent.reviews(first.plan_id).reviews[0]
    assert (review.verdict, review.decided_by, review.channel) == ("changes requested", "ann", "app")
    assert review.comment == "nearly"
    assert review.comparison is None
    assert [(each.edit, each.file, each.start_line, each.quote, each.text) for each in review.comments] == [
        ("edit 1 of a.md", "a.md", 3, "one", "keep"),
        ("edit 2 of a.md", "a.md", 7, "2", "as a word"),
        ("edit 3 of a.md", None, None, None, "good"),
    ]


@pytest.mark.parametrize("says_so", [True, False])
def test_revised_plan_shows_what_differs(agent: Engine, reviewing: ReviewService, *, says_so: bool) -> None:
    first = plan(agent, *EDITS)
    commented(reviewing, first.plan_id)
    more = {"revises": first.plan_id[:20]} if says_so else {}
    second = plan(agent, change("two", "a pair"), change("three", "3"), **more)
    review = second.review

    assert review is not None
    assert review.plan_id == first.plan_id
    assert review.comparison.plan_id == second.plan_id
    assert "-1\n+one\n" in review.comparison.diff
    assert "-2\n+a pair\n" in review.comparison.diff
    assert "three" not in "".join(
        line for line in review.comparison.diff.splitlines() if line.startswith(("+", "-"))
    )
    assert [
        (each.file, each.state, each.lines_added, each.lines_removed) for each in review.comparison.files
    ] == [("a.md", "changed", 2, 2)]
    assert [each.outdated for each in review.comments] == [None, True, None]


def test_revision_is_found_for_the_same_client_and_files_alone(
    root: Path, agent: Engine, reviewing: ReviewService
) -> None:
    commented(reviewing, plan(agent, *EDITS).plan_id)

    assert plan(engine_of(root, "other"), change("two", "x")).review is None
    assert plan(agent, change("one", "x"), file="b.md").review is None
    assert plan(agent, change("two", "x")).review is not None


def test_revision_of_an_undecided_plan_is_compared(agent: Engine) -> None:
    first = plan(agent, *EDITS)
    review = plan(agent, *EDITS[:2], revises=first.plan_id).review

    assert review.verdict is None
    assert review.comparison.files[0].lines_added == 1


def test_plan_made_after_the_commit_revises_nothing(agent: Engine, reviewing: ReviewService) -> None:
    commented(reviewing, plan(agent, *EDITS).plan_id)
    second = plan(agent, change("two", "a pair"))
    assert agent.apply({"planId": second.plan_id}).applied

    assert plan(agent, change("three", "x")).review is None
    assert agent.reviews().reviews == ()


def test_own_decision_takes_precedence_over_that_of_the_earlier_plan(
    agent: Engine, reviewing: ReviewService
) -> None:
    commented(reviewing, plan(agent, *EDITS).plan_id)
    second = plan(agent, change("two", "a pair"))
    reviewing.decide(second.plan_id, "ann", Verdict.APPROVED, Remarks(comment="now it is"))
    review = agent.reviews(second.plan_id).reviews[0]

    assert (review.plan_id, review.verdict, review.comment) == (second.plan_id, "approved", "now it is")


def test_author_sees_unanswered_comments(root: Path, agent: Engine, reviewing: ReviewService) -> None:
    first = plan(agent, *EDITS).plan_id
    commented(reviewing, first)

    assert [each.plan_id for each in agent.reviews().reviews] == [first]
    assert engine_of(root, "other").reviews().reviews == ()
    plan(agent, change("two", "a pair"))
    assert agent.reviews().reviews == ()


def test_batch_that_is_applied_at_once_is_linked_too(root: Path, reviewing: ReviewService) -> None:
    strict = Engine(
        Workspace.open([root]),
        Settings(require_approval=True),
        caller=CallerIdentity(client=lambda: Client("robo", "1")),
    )
    commented(reviewing, plan(strict, *EDITS).plan_id)
    refused = strict.apply({"file": "a.md", "edits": [change("two", "a pair") | {"expectedMatchCount": 1}]})

    assert refused.error.code is Code.APPROVAL_REQUIRED
    assert isinstance(strict.reviews(refused.plan_id).reviews[0].comparison.diff, str)


def test_unknown_plan_to_revise_is_refused(agent: Engine) -> None:
    report = agent.plan({"file": "a.md", "edits": EDITS, "revises": "sha256-" + "0" * 64})

    assert report.error.code is Code.PLAN_NOT_FOUND


def test_revises_is_not_in_the_plan_id(agent: Engine) -> None:
    first = plan(agent, EDITS[0]).plan_id

    assert plan(agent, *EDITS, revises=first).plan_id == plan(agent, *EDITS).plan_id


@pytest.mark.parametrize(
    ("old", "new", "states", "has"),
    [
        (
            {"file": "a.md", "edits": [EDITS[0]]},
            {"file": "b.md", "edits": [change("one", "1")]},
            {"a.md": "only in the old plan", "b.md": "only in the new plan"},
            ["-1\n+one\n", "-one\n+1\n"],
        ),
        (
            {"file": "new.md", "edits": [{"op": "create_file", "markdown": "# New\n"}]},
            {"file": "new.md", "edits": [{"op": "create_file", "markdown": "# Newer\n"}]},
            {"new.md": "changed"},
            ["-# New\n+# Newer\n"],
        ),
        (
            {"file": "b.md", "edits": [{"op": "delete_file"}]},
            {"file": "b.md", "edits": [change("one", "1")]},
            {"b.md": "changed"},
            ["new file mode", "+1\n"],
        ),
        (
            {"file": "b.md", "edits": [{"op": "rename_file", "newFile": "c.md"}]},
            {"file": "b.md", "edits": [{"op": "rename_file", "newFile": "d.md"}]},
            {"b.md": "changed"},
            ["rename from c.md\nrename to d.md\n"],
        ),
    ],
)
def test_plans_are_compared_by_their_results(
    agent: Engine, old: dict[str, Any], new: dict[str, Any], states: dict[str, str], has: list[str]
) -> None:
    first, second = agent.plan(old).plan_id, agent.plan(new).plan_id
    compared = agent.compare(second, first).comparison

    assert {each.file: each.state for each in compared.files} == states
    for part in has:
        assert part in compared.diff


def test_plans_are_compared_after_their_files_changed(root: Path, agent: Engine) -> None:
    first = plan(agent, *EDITS).plan_id
    (root / "a.md").write_text(GUIDE.replace("## C", "## D"))
    second = plan(agent, *EDITS).plan_id
    compared = agent.compare(second, first).comparison

    assert "-## C\n+## D\n" in compared.diff


def test_same_plan_differs_in_nothing(agent: Engine) -> None:
    first = plan(agent, *EDITS).plan_id

    assert agent.compare(first, first).comparison.files == ()


def test_review_of_an_unknown_plan_is_refused(agent: Engine) -> None:
    assert agent.reviews("sha256-" + "0" * 64).error.code is Code.PLAN_NOT_FOUND
    assert agent.compare("sha256-" + "0" * 64, "sha256-" + "1" * 64).error.code is Code.PLAN_NOT_FOUND


def test_review_of_an_undecided_plan_says_so(agent: Engine) -> None:
    first = plan(agent, *EDITS).plan_id

    assert agent.reviews(first).reviews == (ReviewReport(plan_id=first),)


def test_comments_on_excluded_files_are_hidden_from_others(
    root: Path, agent: Engine, reviewing: ReviewService
) -> None:
    batch = {"files": [{"file": name, "edits": [change("one", "1")]} for name in ("a.md", "b.md")]}
    whole = agent.plan(batch).plan_id
    part = agent.apply({"planId": whole, "accept": [0], "dryRun": True}).plan_id
    lines = (LineComment(file="b.md", side=Side.BEFORE, start=3, end=3, text="a secret"),)
    said = reviewing.decide(
        whole,
        "ann",
        Verdict.CHANGES_REQUESTED,
        Remarks(edit_comments={0: "open", 1: "another secret"}, line_comments=lines),
    )
    assert isinstance(said, Decision), said
    limited = Engine(Workspace.open([root], deny=["b.md"]), Settings())
    report = limited.reviews(part)
    refused = limited.apply({"planId": part}).error

    assert [each.text for each in report.reviews[0].comments] == ["open"]
    assert '"open"' in refused.message
    for text in (repr(report), refused.message):
        assert "secret" not in text
        assert "b.md" not in text


# --- Lines of a file outside its hunks: moved lines, gaps between hunks, and search results.

SECTIONS = {
    name: f"## {name}\n\nThe text of {name.lower()} is about many things.\n\nIt goes on.\n" for name in "ABCD"
}

TEXT = "# Guide\n\n" + "\n".join(SECTIONS.values())
MOVE = {"op": "move_section", "heading": "A", "toHeadingPath": ["Guide", "C"], "position": "after"}


def opened(root: Path, *edits: dict[str, object], text: str = TEXT) -> OpenPlan:
    (root / "a.md").write_text(text)
    engine = Engine.open([root])
    report = engine.plan({"file": "a.md", "edits": list(edits)})
    assert report.plan_id is not None, report.diagnostics
    plan = ReviewService(engine).open(report.plan_id)
    assert isinstance(plan, OpenPlan)
    return plan


def test_lines_of_a_moved_section_name_their_place_on_the_other_side(tmp_path: Path) -> None:
    lines = [line for hunk in opened(tmp_path, MOVE).file(0).hunks for line in hunk.lines]
    moved = {line.old_line: line.moved for line in lines if line.sign == "-" and line.text}
    origin = {line.new_line: line.moved for line in lines if line.sign == "+" and line.text}
    assert moved == {3: 15, 5: 17, 7: 19}
    assert origin == {new: old for old, new in moved.items()}


def test_reworded_text_does_not_count_as_moved(tmp_path: Path) -> None:
    edits = [
        {"op": "delete_section", "heading": "A"},
        {"op": "append_to_section", "heading": "D", "markdown": "It goes on."},
    ]
    lines = [line for hunk in opened(tmp_path, *edits).file(0).hunks for line in hunk.lines]
    assert [line.moved for line in lines if line.sign != " "] == [None] * sum(
        line.sign != " " for line in lines
    )


@pytest.mark.parametrize("end", ["", "\n"])
def test_hunks_and_gaps_cover_the_whole_file(tmp_path: Path, end: str) -> None:
    text = "# A\n\n" + "\n".join(f"line {number}" for number in range(40)) + end
    edits = [
        {"op": "insert_lines", "line": 10, "position": "after", "markdown": "more\nand more"},
        {"op": "delete_lines", "lines": {"start": 25, "end": 27}},
    ]
    plan = opened(tmp_path, *edits, text=text)
    file = plan.file(0)
    shown = [line for hunk in file.hunks for line in hunk.lines]
    shown += plan.context(0, 1, 1000)
    assert len(file.gaps) == len(file.hunks) + 1 == 3
    new = sorted((line.new_line, line.text + line.line_end) for line in shown if line.new_line)
    old = sorted((line.old_line, line.text + line.line_end) for line in shown if line.old_line)
    assert "".join(each for _, each in old) == text
    result = "".join(each for _, each in new)
    assert [number for number, _ in new] == list(range(1, result.count("\n") + (not end) + 1))
    assert "more\nand more\n" in result
    assert "line 23" not in result
    assert [line.new_line for line in plan.context(0, 2, 3)] == [2, 3]


def test_search_finds_lines_of_both_sides_whatever_their_case(tmp_path: Path) -> None:
    plan = opened(tmp_path, {"op": "replace_match", "pattern": "text of b", "replacement": "WORDS about B"})
    found = plan.found(0, "b IS", 10)
    assert [(each.sign, each.number, each.text[each.at :][: each.length]) for each in found] == [
        ("-", 11, "b is"),
        ("+", 11, "B is"),
    ]
    assert len(plan.found(0, "e", 1)) == 1
