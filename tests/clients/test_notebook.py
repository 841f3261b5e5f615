"""The notebook of the how-to, executed; it skips where Jupyter's packages are missing."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

SAMPLES = REPOSITORY / "docs" / "samples"


@pytest.mark.slow
def test_notebook_shows_the_diff_of_a_plan(tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    shutil.copytree(SAMPLES, tmp_path, dirs_exist_ok=True)
    notebook = nbformat.read(tmp_path / "plan.ipynb", as_version=4)

    nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()

    (shown,) = notebook.cells[1].outputs
    assert "+## Brewing" in shown["data"]["text/html"]
    assert "guide.md +1 -1" in shown["data"]["text/plain"]
