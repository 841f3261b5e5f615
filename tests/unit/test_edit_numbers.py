"""Edits are counted in each file from 1, where reports count through the whole batch from 0."""

import pytest

from mdplan.cli.batches import numbers_of
from mdplan.plan import EditNumbers

EDIT = {"op": "append_to_file", "markdown": "x"}


@pytest.mark.parametrize(
    ("batch", "indexes", "told"),
    [
        ({"file": "a.md", "edits": [EDIT, EDIT]}, [1], "edit 2 of a.md"),
        ({"file": "a.md", **EDIT}, [0], "edit 1 of a.md"),
        (
            {"files": [{"file": "a.md", "edits": [EDIT]}, {"file": "b.md", "edits": [EDIT, EDIT]}]},
            [2, 0, 1],
            "edit 1 of a.md and edits 1 and 2 of b.md",
        ),
        ({"glob": "*.md", "edits": [EDIT, EDIT]}, [0, 1], "edits 1 and 2"),
        ("no batch", [4], "edit 5"),
    ],
)
def test_edits_are_counted_by_file(batch: object, indexes: list[int], told: str) -> None:
    assert numbers_of(batch).listed(indexes) == told


def test_own_file_is_not_named() -> None:
    numbers = EditNumbers((("a.md", 1), ("b.md", 2)))

    assert numbers.named(2, within="b.md") == "edit 2"
    assert numbers.named(0, within="b.md") == "edit 1 of a.md"
    assert numbers.listed([0, 2], within="b.md") == "edit 1 of a.md and edit 2"
    assert numbers.number(2) == "2 of b.md"
