"""Commands and programs on the pages run in order and give the shown output."""

import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.docs.pages import DOCS, name_of, pages, prose_of
from tests.docs.shown import COMMITTER, masked, remade

# These have tests of their own: test_architecture.py and test_semantics.py.
_OTHERWISE = {DOCS / "explanation" / "architecture.md", DOCS / "explanation" / "semantics.md"}
SHOWN = [
    page
    for folder in ("how-to", "explanation")
    for page in sorted((DOCS / folder).glob("*.md"))
    if page not in _OTHERWISE
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which is empty."""
    folder = tmp_path / "samples"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name, value in COMMITTER.items():
        monkeypatch.setenv(name, value)
    return folder


@pytest.mark.requirement("bot-3")
@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.stem)
def test_examples_of_the_page_give_the_shown_output(page: Path, folder: Path, *, update_cases: bool) -> None:
    """Pages begin with the samples; --update-cases writes a page anew."""
    text = page.read_text(encoding="utf-8")
    if "\n$ git " in text and shutil.which("git") is None:
        pytest.skip("git is not installed")
    ignored = shutil.ignore_patterns("batches", "*.sh")
    shutil.copytree(DOCS / "samples", folder, ignore=ignored, dirs_exist_ok=True)
    (folder / ".git").mkdir()
    now = remade(text, folder)
    if update_cases and masked(now) != masked(text):
        page.write_text(now, encoding="utf-8")
        text = now

    assert masked(now) == masked(text)


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_page_has_one_title_and_no_broken_links(page: Path) -> None:
    prose = prose_of(page)
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", prose)

    assert len(re.findall(r"^# ", prose, re.MULTILINE)) == 1
    assert [target for target in targets if not (page.parent / target).exists()] == []
    assert str(REPOSITORY) not in prose
