"""People read in CHANGELOG.md what changed, so each change is entered there."""

import re
from pathlib import Path

import pytest

from mdplan import __version__

CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"


@pytest.mark.requirement("project-3")
def test_changelog_has_an_entry_for_the_next_version() -> None:
    """Right after a release there is none, and the notes of that release have this version."""
    text = CHANGELOG.read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## \[([^\]]+)\][^\n]*\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))

    assert "Unreleased" in sections, "CHANGELOG.md has no heading `## [Unreleased]`"
    newest = sections["Unreleased"].strip() or sections.get(__version__, "")
    assert re.search(r"^- \S", newest, re.MULTILINE), "nothing is entered for the next version"
