"""Long calls tell how far they are, to a client that asks."""

from pathlib import Path

import pytest

from mdplan.mcp import adapter
from tests.surfaces.mcp_calls import GENERATIONS, calls_to, process
from tests.surfaces.tool_case import served

FILES = [f"{number}.md" for number in range(5)]
EDIT = {"op": "replace_match", "pattern": "old", "replacement": "new"}
BATCH = {"files": [{"file": name, "edits": [EDIT]} for name in FILES]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).write_text("# A\n\nold\n")
    return tmp_path


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step is told, as if each took long."""
    monkeypatch.setattr(adapter, "PROGRESS_SECONDS", 0.0)


@pytest.mark.requirement("toolsets-6")
@pytest.mark.usefixtures("impatient")
def test_search_reports_progress_for_each_file(root: Path) -> None:
    with served(root, "md") as calls:
        result, told = calls.call_with_progress("md_search", {"pattern": "old"})

    assert result.data["totalMatches"] == 5
    assert told == [(1, None), (2, None), (3, None), (4, None), (5, None)]


@pytest.mark.requirement("toolsets-6")
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("tool", ["md_validate", "md_apply"])
def test_plan_reports_progress_for_each_file_read_and_planned(root: Path, tool: str) -> None:
    with served(root, "md") as calls:
        result, told = calls.call_with_progress(tool, BATCH)

    assert result.data["ok"]
    assert told == sorted(set(told)), "numbers grow"
    assert {total for _, total in told} == {10}
    assert told[-1][0] >= 9


def test_short_call_reports_no_progress(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "PROGRESS_SECONDS", 3600.0)
    with served(root, "md") as calls:
        result, told = calls.call_with_progress("md_apply", BATCH)

    assert result.data["applied"]
    assert told == []


@pytest.mark.usefixtures("impatient")
def test_client_without_progress_token_gets_its_answer(root: Path) -> None:
    with served(root, "md") as calls:
        assert calls.call("md_search", {"pattern": "old"}).data["totalMatches"] == 5


@pytest.mark.parametrize("mode", GENERATIONS)
def test_stdio_client_with_progress_token_gets_its_answer(root: Path, mode: str) -> None:
    with calls_to(process("--root", str(root)), mode) as calls:
        result, _ = calls.call_with_progress("md_apply", BATCH)

    assert result.data["applied"]
