"""Our own documents are as `.ci/documents.yaml` describes them, and the check names one that is not."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mdplan.diagnostics import Exit
from tests.conftest import REPOSITORY
from tests.surfaces.command_line import Run, mdplan

MANIFEST = REPOSITORY / ".ci" / "documents.yaml"
# File, what is replaced there, and by what: each makes another line of the manifest untrue.
WRONG = {
    "blank at a line end": ("CHANGELOG.md", r"(?m)^## \[Unreleased\]$", "## [Unreleased] "),
    "another spelling": ("docs/how-to/review-plans.md", r"\Z", "\nMDPlan does it.\n"),
    "stale table of contents": ("docs/contributing/first-use.md", r"(?m)^## Tick a task$", "## Tick it"),
    "how-to without its title": ("docs/how-to/review-plans.md", r"\A# How to ", "# "),
    "page without a heading": ("docs/explanation/architecture.md", r"\A# ", ""),
    "decision without reasons": ("docs/adr/0002-layers.md", r"\*\*Why\.\*\*", "Why."),
    "changelog without its next version": ("CHANGELOG.md", r"(?m)^## \[Unreleased\]$", "## Later"),
}


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of all that the manifest is about."""
    folder = tmp_path_factory.mktemp("documents")
    for name in ("README.md", "CHANGELOG.md"):
        shutil.copy(REPOSITORY / name, folder)
    ignored = shutil.ignore_patterns("reference", "samples", "__pycache__")
    shutil.copytree(REPOSITORY / "docs", folder / "docs", ignore=ignored)
    return folder


def check(folder: Path) -> Run:
    return mdplan("bot", "check", str(MANIFEST), "--root", str(folder), "--jobs", "1", "--json")


@pytest.mark.requirement("docs-6")
def test_documents_pass_their_manifest(documents: Path) -> None:
    run = check(documents)

    assert run.code == Exit.DONE, run.out.decode() + run.err


@pytest.mark.requirement("docs-6")
@pytest.mark.parametrize("fault", WRONG)
def test_changed_document_is_reported(fault: str, documents: Path) -> None:
    name, pattern, replacement = WRONG[fault]
    text = (documents / name).read_text(encoding="utf-8")
    wrong = re.sub(pattern, replacement, text, count=1)
    assert wrong != text
    (documents / name).write_text(wrong, encoding="utf-8")
    run = check(documents)
    (documents / name).write_text(text, encoding="utf-8")

    assert run.code == Exit.WOULD_CHANGE
    assert [file["file"] for file in run.json["files"] if file["changed"]] == [name]


def test_lint_checks_the_documents() -> None:
    shown = subprocess.run(
        ["make", "--dry-run", "lint"], capture_output=True, check=True, cwd=REPOSITORY, encoding="utf-8"
    )

    assert "mdplan bot check .ci/documents.yaml" in shown.stdout
