"""A module of more than 400 lines has two subjects."""

import pytest

from tests.conftest import REPOSITORY

LIMIT = 400


@pytest.mark.requirement("project-2")
def test_no_module_is_too_long() -> None:
    modules = sorted((REPOSITORY / "mdplan").rglob("*.py"))
    lengths = {
        str(path.relative_to(REPOSITORY)): path.read_text(encoding="utf-8").count("\n") for path in modules
    }

    assert len(modules) > 100
    assert {name: lines for name, lines in lengths.items() if lines > LIMIT} == {}, "split them by subject"
