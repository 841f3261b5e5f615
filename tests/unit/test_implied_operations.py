"""Edits without `op`: their fields imply it, and none that only deletes is implied."""

from typing import Any

import pytest

from mdplan.requests.batch import Batch, read_batch

DIFF = "@@ -1 +1 @@\n-a\n+b\n"


@pytest.mark.parametrize(
    ("edit", "op"),
    [
        ({"pattern": "a", "replacement": ""}, "replace_match"),
        ({"pattern": "a", "replacement": "b", "matchType": "regex", "heading": "A"}, "replace_match"),
        ({"lines": "1:abc", "markdown": "b"}, "replace_lines"),
        ({"lines": "1:abc", "text": "b"}, "replace_lines"),
        ({"line": 1, "position": "after", "markdown": "b"}, "insert_lines"),
        ({"diff": DIFF}, "apply_diff"),
    ],
)
def test_fields_imply_the_operation(edit: dict[str, Any], op: str) -> None:
    for batch in ({"file": "a.md", "edits": [edit]}, {"file": "a.md", **edit}):
        read = read_batch(batch)

        assert isinstance(read, Batch)
        assert [each.op for each in read.files[0].edits] == [op]


@pytest.mark.parametrize(
    "edit",
    [{"lines": "1-3"}, {"heading": "A"}, {"heading": "A", "markdown": "b"}, {"op": None, "diff": DIFF}],
)
def test_edit_that_implies_no_operation_is_refused(edit: dict[str, Any]) -> None:
    [problem] = read_batch({"file": "a.md", "edits": [edit]})

    assert problem.message == "the edit has no op"
