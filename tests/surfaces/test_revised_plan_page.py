"""The page of a revised plan: comments on the earlier one, and the difference."""

from pathlib import Path

import pytest

from mdplan.engine.engine import Engine
from mdplan.engine.reviews import ReviewService
from mdplan.storage.decisions import LineComment, Side
from tests.surfaces.review_calls import ReviewCalls
from tests.three_edits import change


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\none\n\ntwo\n")
    (folder / "b.md").write_text("# B\n\none\n")
    return Engine.open([folder])


def page_of(engine: Engine, plan_id: str) -> str:
    calls = ReviewCalls(engine)
    calls.visit()
    answer = calls.get(f"{calls.base}plan/{plan_id}")
    assert answer.status == 200
    return answer.text


def test_page_shows_earlier_comments_and_differences(engine: Engine) -> None:
    first = engine.plan({"file": "a.md", "edits": [change("one", "1"), change("two", "2")]}).plan_id
    lines = [LineComment(file="a.md", side=Side.AFTER, start=3, end=3, text="as a <word>")]
    ReviewService(engine).request_changes(first, "ann", comment="nearly", line_comments=lines)
    second = engine.plan({"file": "a.md", "edits": [change("one", "<one>"), change("two", "2")]}).plan_id
    shown = page_of(engine, second)

    assert "Replaces plan" in shown
    assert 'requested changes to that plan: <q dir="auto">nearly</q>' in shown
    assert "as a &lt;word&gt;" in shown
    assert "changed since" in shown
    assert '<span class="gone">-1</span>\n<span class="added">+&lt;one&gt;</span>' in shown
    assert "Replaces plan" not in page_of(engine, first)


def test_comment_on_a_removed_file_does_not_break_the_page(engine: Engine) -> None:
    batch = {"files": [{"file": name, "edits": [change("one", "1")]} for name in ("a.md", "b.md")]}
    whole = engine.plan(batch).plan_id
    part = engine.apply({"planId": whole, "accept": [0], "dryRun": True}).plan_id
    lines = [LineComment(file="b.md", side=Side.AFTER, start=3, end=3, text="on the other file")]
    ReviewService(engine).request_changes(whole, "ann", line_comments=lines)

    assert "on the other file" not in page_of(engine, part)
    assert "on the other file" in page_of(engine, whole)
