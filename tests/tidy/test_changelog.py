"""People read in CHANGELOG.md what changed, so each change is entered there."""

import re
from pathlib import Path

import pytest

CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"


@pytest.mark.requirement("project-3")
def test_unreleased_has_an_entry() -> None:
    text = CHANGELOG.read_text(encoding="utf-8")
    section = re.search(r"^## \[Unreleased\]\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)

    assert section, "CHANGELOG.md has no heading `## [Unreleased]`"
    assert re.search(r"^- \S", section[1], re.MULTILINE), "nothing is entered under `## [Unreleased]`"
