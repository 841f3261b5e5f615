"""A field that an operation does not have leads to the call that was meant, in one step."""

from typing import Any

import pytest

from mdplan.operations.base import Operation
from mdplan.requests.batch import read_edit

MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "move_section after": (
        {"op": "move_section", "heading": "A", "after": "B"},
        'send `"toHeadingPath": ["B"], "position": "after"`',
    ),
    "move_section toHeading": (
        {"op": "move_section", "heading": "A", "toHeading": "B", "position": "after"},
        'send `"toHeadingPath": ["B"]`',
    ),
    "insert_section after": (
        {"op": "insert_section", "after": "B", "markdown": "## C"},
        'send `"heading": "B", "position": "after"`',
    ),
    "insert_section title": (
        {"op": "insert_section", "heading": "A", "position": "after", "title": "C", "markdown": "x"},
        "send `markdown` that begins with the heading",
    ),
    "insert_lines after": (
        {"op": "insert_lines", "after": 3, "markdown": "x"},
        'send `"line": 3, "position": "after"`',
    ),
    "rename_heading title": (
        {"op": "rename_heading", "heading": "A", "title": "B"},
        'send `"newTitle": "B"`',
    ),
    "rename_file newName": ({"op": "rename_file", "newName": "b.md"}, "did you mean `newFile`?"),
    "replace_match replaceAll": (
        {"op": "replace_match", "pattern": "a", "replacement": "b", "replaceAll": True},
        'send `"matchSelection": "all"`',
    ),
    "replace_match ignoreCase": (
        {"op": "replace_match", "pattern": "a", "replacement": "b", "ignoreCase": True},
        'send `"caseSensitive": false`',
    ),
    "replace_code_block language": (
        {"op": "replace_code_block", "language": "sh", "markdown": "ls"},
        'send `"codeBlock": {"language": "sh"}`, with `index` for one of several',
    ),
    "add_to_list position": (
        {"op": "add_to_list", "key": "tags", "value": "x", "position": "start"},
        'send `"before": 0` for the start, or `before` and `after` with a neighbour',
    ),
    "option of the batch": (
        {"op": "delete_section", "heading": "A", "dryRun": True},
        "`dryRun` goes next to `edits`, not into an edit",
    ),
    "file in an edit": (
        {"op": "delete_section", "heading": "A", "file": "a.md"},
        (
            "`file` goes next to `edits`, not into an edit; "
            'several files: {"files": [{"file": …, "edits": […]}]}'
        ),
    ),
    "operation as the name of its fields": (
        {"delete_section": {"heading": "A"}},
        'send `{"op": "delete_section", …}` with the fields of `delete_section` next to op',
    ),
    "two numbers for lines": (
        {"op": "delete_lines", "lines": [3, 5]},
        'send an object: {"start": 3, "end": 5}',
    ),
    "number for a code block": (
        {"op": "replace_code_block", "codeBlock": 1, "markdown": "ls"},
        'send an object: {"index": 1}',
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_misplaced_field_is_reported_with_its_right_place(name: str) -> None:
    edit, hint = MISTAKES[name]

    problems = read_edit(edit)

    assert not isinstance(problems, Operation)
    assert [problem.hint for problem in problems] == [hint]
