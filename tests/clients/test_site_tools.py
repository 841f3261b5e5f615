"""A site's program builds it after pages were made, renamed, moved and deleted by plans."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mdplan.engine.engine import Engine
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SITE = CASE_TABLES.value("SITE")
PAGES = CASE_TABLES.value("PAGES")
RECIPES: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "added": (
        [
            {
                "file": "docs/guide/descaling.md",
                "edits": [{"op": "create_page", "markdown": "# Descaling\n", "navigation": "mkdocs.yml"}],
            }
        ],
        "      - guide/brew.md\n",
        "      - guide/brew.md\n      - Descaling: guide/descaling.md\n",
    ),
    "renamed": (
        [
            {
                "file": "docs/guide/install.md",
                "edits": [{"op": "rename_file", "newFile": "docs/guide/setup.md"}],
            }
        ],
        "guide/install.md",
        "guide/setup.md",
    ),
    "moved": (
        [{"file": "docs/guide/brew.md", "edits": [{"op": "rename_file", "newFile": "docs/tea/brew.md"}]}],
        "guide/brew.md",
        "tea/brew.md",
    ),
    "deleted": ([{"file": "docs/about.md", "edits": [{"op": "delete_file"}]}], "  - About: about.md\n", ""),
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    for name, text in PAGES.items():
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "mkdocs.yml").write_text(SITE)
    return tmp_path


@pytest.mark.parametrize("recipe", RECIPES)
def test_mkdocs_builds_the_site_without_a_warning(site: Path, recipe: str) -> None:
    program = shutil.which("mkdocs")
    if program is None:
        pytest.skip("no mkdocs on this machine: pip install mkdocs")
    files, old, new = RECIPES[recipe]
    with Engine.open([site]) as engine:
        plan = engine.plan({"files": files, "updateReferences": "workspace"})
        assert plan.ok, plan.diagnostics
        assert engine.apply({"planId": plan.plan_id}).ok
    assert (site / "mkdocs.yml").read_text() == SITE.replace(old, new)
    built = subprocess.run(
        [program, "build", "--strict", "--quiet"], cwd=site, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
