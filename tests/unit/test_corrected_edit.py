"""Hints for edits in the words of other tools: the whole edit in the words of mdplan."""

import json
from typing import Any

import pytest

from mdplan.requests.batch import Batch, read_batch

CORRECTED = {"op": "replace_match", "pattern": "a", "replacement": "b"}


@pytest.mark.parametrize(
    "edit",
    [
        {"operation": "replace", "old": "a", "new": "b"},
        {"type": "replace_match", "find": "a", "replacement": "b"},
        {"action": "str_replace", "old_str": "a", "new_str": "b"},
        {"op": "replace", "old": "a", "new": "b"},
        {"op": "find_replace", "find": "a", "replace": "b"},
        {"old_string": "a", "new_string": "b"},
        {"find": "a", "replace": "b"},
        {"oldText": "a", "newText": "b"},
    ],
)
def test_hint_contains_the_complete_corrected_edit(edit: dict[str, Any]) -> None:
    problems = read_batch({"file": "a.md", "edits": [edit]})
    assert not isinstance(problems, Batch)
    [problem] = problems
    shown = problem.hint.removeprefix("send `").removesuffix("`")

    assert json.loads(shown) == CORRECTED
    assert isinstance(read_batch({"file": "a.md", "edits": [json.loads(shown)]}), Batch)


@pytest.mark.parametrize(
    "edit",
    [
        {"operation": "replace", "old": "a", "oldText": "b", "new": "c"},
        {"operation": "replace", "old": "a"},
        {"operation": "teleport", "old": "a", "new": "b"},
        {"old": "a" * 400, "new": "b"},
        {"heading": "A", "new": "b"},
    ],
)
def test_uncertain_edit_gets_no_correction(edit: dict[str, Any]) -> None:
    problems = read_batch({"file": "a.md", "edits": [edit]})
    assert not isinstance(problems, Batch)
    [problem] = problems

    assert "send" not in problem.hint
