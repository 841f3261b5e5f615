"""Names that requirement 05 uses for fields of a batch."""

from typing import Any

import pytest

from mdplan.diagnostics import Code
from mdplan.requests.batch import Batch, read_batch

RENAME = {"op": "rename_heading", "heading": "A", "newTitle": "B"}


def batch(edit: dict[str, Any], **fields: object) -> object:
    return read_batch({"file": "a.md", "edits": [edit], **fields})


@pytest.mark.parametrize("name", ["sequential", "allowOverlappingEdits", "allow_overlapping_edits"])
def test_allow_overlapping_edits_means_sequential(name: str) -> None:
    read = batch(RENAME, **{name: True})

    assert isinstance(read, Batch)
    assert read.sequential


def test_both_names_at_once_are_refused() -> None:
    read = batch(RENAME, sequential=True, allowOverlappingEdits=False)

    assert isinstance(read, tuple)
    assert [problem.code for problem in read] == [Code.INVALID_ARGUMENT]


@pytest.mark.parametrize("wish", [False, "none"])
def test_false_for_update_references_means_none(wish: object) -> None:
    assert batch({**RENAME, "updateReferences": wish}, update_references=wish) == batch(RENAME)


@pytest.mark.parametrize(("wish", "scope"), [(True, "file"), ("file", "file"), ("workspace", "workspace")])
def test_update_references_is_accepted_on_batch_and_edit(wish: object, scope: str) -> None:
    for read in (batch({**RENAME, "updateReferences": wish}), batch(RENAME, update_references=wish)):
        assert isinstance(read, Batch)
        assert read.update_references == scope
        assert read.options == {"updateReferences": scope}


@pytest.mark.parametrize("wish", ["files", None, 0, ["file"]])
def test_unknown_update_references_value_is_refused(wish: object) -> None:
    for read in (batch({**RENAME, "updateReferences": wish}), batch(RENAME, updateReferences=wish)):
        assert isinstance(read, tuple)
        assert [problem.code for problem in read] == [Code.INVALID_ARGUMENT]


@pytest.mark.parametrize(("first", "second"), [(True, "workspace"), (False, "file"), ("none", True)])
def test_different_update_references_values_are_refused(first: object, second: object) -> None:
    read = batch({**RENAME, "updateReferences": first}, updateReferences=second)

    assert isinstance(read, tuple)
    assert [(problem.code, problem.edit_index) for problem in read] == [(Code.INVALID_ARGUMENT, 0)]
