"""A file past 400 lines is two subjects."""

from pathlib import Path

import pytest

LIMIT = 400
PACKAGE = Path(__file__).parents[2] / "mdplan"
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_module_is_one_subject(module: Path) -> None:
    lines = (PACKAGE / module).read_text(encoding="utf-8").count("\n")

    assert lines <= LIMIT, f"mdplan/{module} has {lines} lines: split it by subject"
