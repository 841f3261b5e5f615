"""A stale plan is merged on the review page: three columns for each conflict, then a new plan."""

import re
from pathlib import Path

import pytest

from mdplan.engine.engine import Engine
from mdplan.engine.open_merge import OpenMerge, open_merge, plan_merge
from mdplan.merge.documents import Choice, marker_style, merge_texts, places, resolved
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.text.source import DocumentFormat
from tests.surfaces.review_calls import ReviewCalls

SETTINGS = Settings(durability=Durability.PROCESS, lock_timeout=0.2)
GUIDE = "# Guide\n\n## Done\n\n- a task\n\n## Open\n\nText of today.\n"
EDITS = [
    {"op": "add_list_item", "heading": "Done", "item": "of the plan"},
    {"op": "replace_match", "pattern": "Text of today", "replacement": "Text of the <b>plan"},
]
NOW = GUIDE.replace("- a task\n", "- a task\n- of a person\n").replace("today", "a person")


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "guide.md").write_text(GUIDE)
    return Engine.open(tmp_path / "root", settings=SETTINGS)


def _file(engine: Engine) -> Path:
    return Path(engine.workspace.roots[0].path) / "guide.md"


def _stale_plan(engine: Engine, now: str) -> str:
    plan = engine.plan({"file": "guide.md", "edits": EDITS})
    assert plan.plan_id is not None
    _file(engine).write_text(now)
    return plan.plan_id


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        ("ours", "Text of a person.\n"),
        ("theirs", "Text of the <b>plan.\n"),
        ("both", "Text of a person.\nText of the <b>plan.\n"),
    ],
)
def test_chosen_text_becomes_a_new_plan(engine: Engine, choice: str, text: str) -> None:
    plan_id = _stale_plan(engine, NOW)
    calls = ReviewCalls(engine).visit()
    path = calls.plan_path(plan_id)
    assert f"{path}/merge" in calls.get(path).text
    shown = calls.get(f"{path}/merge").text
    columns = re.findall(r"<pre[^>]*>([^<]*)</pre>", shown)
    assert columns == ["Text of today.\n", "Text of a person.\n", "Text of the &lt;b&gt;plan.\n"]
    assert "Guide / Open" in shown
    answer = calls.submit(f"{path}/merge", "/merge", **{"choice-0-0": choice})
    assert answer.status == 303
    merged = answer.headers["location"].rpartition("/")[2]
    assert merged != plan_id
    assert engine.apply({"planId": merged}).ok
    wanted = GUIDE.replace("- a task\n", "- a task\n- of the plan\n- of a person\n")
    assert _file(engine).read_text() == wanted.replace("Text of today.\n", text)
    assert engine.undo().ok
    assert _file(engine).read_text() == NOW


def test_conflict_without_a_choice_makes_no_plan(engine: Engine) -> None:
    plan_id = _stale_plan(engine, NOW)
    calls = ReviewCalls(engine).visit()
    path = calls.plan_path(plan_id) + "/merge"
    assert calls.submit(path, "/merge").headers["location"] == path
    assert "Choose a text for each conflict" in calls.get(path).text


def test_merge_without_conflicts_makes_a_new_plan(engine: Engine) -> None:
    now = GUIDE.replace("# Guide", "# The guide")
    plan_id = _stale_plan(engine, now)
    calls = ReviewCalls(engine).visit()
    path = calls.plan_path(plan_id) + "/merge"
    assert "do not conflict" in calls.get(path).text
    merged = calls.submit(path, "/merge").headers["location"].rpartition("/")[2]
    assert engine.apply({"planId": merged}).ok
    assert _file(engine).read_text().startswith("# The guide\n\n## Done\n\n- a task\n- of the plan\n")


def test_choices_for_another_state_of_the_file_are_refused(engine: Engine) -> None:
    plan_id = _stale_plan(engine, NOW)
    opened = open_merge(engine, plan_id)
    assert isinstance(opened, OpenMerge)
    _file(engine).write_text(NOW.replace("a person", "somebody else"))
    refused = plan_merge(engine, plan_id, {"guide.md": [Choice.THEIRS]}, opened.version)
    assert not isinstance(refused, str)
    assert "changed again" in refused[0].message


def test_markers_are_longer_than_any_line_that_looks_like_one() -> None:
    base, ours, theirs = (f"Title\n=======\n\n{line}\n==========\n" for line in ("a", "b", "c"))
    style = marker_style([base, ours, theirs])
    found = merge_texts(DocumentFormat.TEXT, [base, ours, theirs], style)
    assert found is not None
    assert [(each.ours, each.theirs) for each in places(found, style)] == [("b\n", "c\n")]
    assert resolved(found, style, [Choice.THEIRS]) == theirs
