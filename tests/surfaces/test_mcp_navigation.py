"""An agent adds a page with its entry in the navigation: the calls that it needs, over MCP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mdplan.engine.engine import Engine
from mdplan.mcp.server import build_server
from tests.surfaces.mcp_calls import Calls, calls_to

SITE = "site_name: Kettle  # title\nnav:\n  - Home: index.md\n  - Guide:\n      - Install: guide/install.md\n"
AFTER = SITE + "      - Descaling: guide/descaling.md\n"
PAGE = "# Descaling\n\nUse vinegar.\n"


@pytest.fixture
def calls(tmp_path: Path) -> Iterator[Calls]:
    (tmp_path / "docs/guide").mkdir(parents=True)
    (tmp_path / "mkdocs.yml").write_text(SITE)
    (tmp_path / "docs/guide/install.md").write_text("# Install\n")
    with Engine.open([tmp_path]) as engine, calls_to(build_server(engine), "auto") as made:
        yield made


def test_page_with_its_entry_takes_two_calls(calls: Calls, tmp_path: Path) -> None:
    edit = {"op": "create_page", "markdown": PAGE, "navigation": "mkdocs.yml"}
    plan = calls.call("md_validate", {"file": "docs/guide/descaling.md", "edits": [edit]})
    assert plan.data is not None
    assert not plan.is_error, plan.text
    assert not calls.call("md_apply", {"planId": plan.data["planId"]}).is_error
    assert (tmp_path / "mkdocs.yml").read_text() == AFTER
    assert (tmp_path / "docs/guide/descaling.md").read_text() == PAGE


def test_outline_then_both_files_take_three_calls(calls: Calls, tmp_path: Path) -> None:
    outline = calls.call("md_stat", {"file": "mkdocs.yml"})
    assert "nav[1].Guide" in outline.text
    entry = {"op": "add_to_list", "key": "nav[1].Guide", "value": {"Descaling": "guide/descaling.md"}}
    files = [
        {"file": "docs/guide/descaling.md", "edits": [{"op": "create_file", "markdown": PAGE}]},
        {"file": "mkdocs.yml", "edits": [entry]},
    ]
    plan = calls.call("md_validate", {"files": files})
    assert plan.data is not None
    assert not calls.call("md_apply", {"planId": plan.data["planId"]}).is_error
    assert (tmp_path / "mkdocs.yml").read_text() == AFTER


def test_rename_takes_the_entry_along(calls: Calls, tmp_path: Path) -> None:
    edit = {"op": "rename_file", "newFile": "docs/setup.md"}
    asked = {"file": "docs/guide/install.md", "edits": [edit], "updateReferences": "workspace"}
    plan = calls.call("md_validate", asked)
    assert plan.data is not None
    assert not calls.call("md_apply", {"planId": plan.data["planId"]}).is_error
    assert (tmp_path / "mkdocs.yml").read_text() == SITE.replace("guide/install.md", "setup.md")
