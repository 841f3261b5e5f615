"""Rendered before and after, only what changed is marked."""

import re

import pytest
from hypothesis import given

from mdplan.markdown.html import safe_html
from mdplan.web.diff import marked_html
from tests.properties.hostile_markdown import hostile_documents


@pytest.mark.parametrize(
    ("before", "after", "gone", "come"),
    [
        ("Use the nightly build.", "Use the stable build.", ["nightly"], ["stable"]),
        ("- one\n- two", "- one\n- two\n- three", [], ["three"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n|---|---|\n| 1 | 3 |", ["2"], ["3"]),
        ("A *word* here", "A **word** here", [], []),
        ("a < b", "a > b", ["&lt;"], ["&gt;"]),
        ("same", "same", [], []),
    ],
)
def test_only_the_words_that_changed_are_marked(
    before: str, after: str, gone: list[str], come: list[str]
) -> None:
    old, new = marked_html(safe_html(before) or "", safe_html(after) or "")
    assert re.findall(r"<del>(.*?)</del>", old) == gone
    assert re.findall(r"<ins>(.*?)</ins>", new) == come


@given(hostile_documents(), hostile_documents())
def test_marks_do_not_change_the_rendered_text(before: str, after: str) -> None:
    old = safe_html(before.encode("utf-8", "replace").decode()) or ""
    new = safe_html(after.encode("utf-8", "replace").decode()) or ""
    marked_old, marked_new = marked_html(old, new)
    assert re.sub(r"</?del>", "", marked_old) == old
    assert re.sub(r"</?ins>", "", marked_new) == new
    for html, tag in ((marked_old, "del"), (marked_new, "ins")):
        assert all("<" not in each for each in re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL))
