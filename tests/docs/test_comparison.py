"""The table of `docs/explanation/comparison.md` is what its script makes; our own columns are made again."""

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import REPOSITORY

PAGE = (REPOSITORY / "docs" / "explanation" / "comparison.md").read_text(encoding="utf-8")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(REPOSITORY / "tests" / "benchmarks"))
    return importlib.import_module("same_edits")


def shown() -> dict[str, list[str]]:
    """The columns of the table by their heads."""
    (table,) = re.findall(r"<!-- same-edits:start -->\n(.*?)<!-- same-edits:end -->", PAGE, re.DOTALL)
    head, _, *rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in table.splitlines()]
    return {name: [row[at] for row in rows] for at, name in enumerate(head)}


def test_table_has_every_edit_and_every_server(script: ModuleType) -> None:
    columns = shown()

    assert columns.pop("Edit") == [trial.name for trial in script.TRIALS]
    assert list(columns) == list(script.ASKED)


@pytest.mark.requirement("docs-5")
def test_columns_of_mdplan_match_its_behaviour(script: ModuleType, tmp_path: Path) -> None:
    ours = [name for name in script.ASKED if name.startswith(script.OURS)]

    assert len(ours) == 2
    for name in ours:
        assert script.outcomes(name, script.own_command(tmp_path), tmp_path) == shown()[name]


def test_no_weakness_of_mdplan_is_hidden() -> None:
    assert [
        cell for name, column in shown().items() if "mdplan" in name for cell in column if "**" in cell
    ] == []
