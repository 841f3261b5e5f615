"""Git history fills placeholders, and a page that shows it is stable after one run."""

from pathlib import Path

import pytest

from mdplan.bot.bot import BotReport
from mdplan.bot.commits import GitCommit, apply_to_branch
from mdplan.engine.engine import Engine
from tests.bot.golden import HERE, applied, load
from tests.bot.repository import Repository
from tests.patch_tools import needs_git

pytestmark = [needs_git, pytest.mark.usefixtures("identity")]
PAGE = b"---\nupdated: never\n---\n\n# Tea\n\n## Brew\n"
MANIFEST = """\
files:
  - glob: "**/*.md"
    edits:
      - op: set_front_matter
        values:
          updated: "{{git.changed | default: 2000-01-01 | date}}"
          created: "{{git.created | default: 2000-01-01 | date: %d %B %Y}}"
          authors: "{{git.authors | default: nobody}}"
          release: "{{git.tag | default: none}}"
        createIfMissing: true
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = Repository.make(tmp_path / "work")
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2026-01-31T12:00:00+01:00")
    made.commit({"docs/tea.md": PAGE})
    made.git("tag", "v1.0")
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2026-02-28T12:00:00+01:00")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Grace")
    made.commit({"docs/tea.md": PAGE + b"\nBoil.\n"})
    return made


def manifest(folder: Path) -> str:
    path = folder / "manifest.yaml"
    path.write_text(MANIFEST, "utf-8")
    return str(path)


def committed(repository: Repository, folder: Path, ref: str) -> BotReport:
    engine = Engine.open(repository.path)
    wanted = GitCommit(branch="bot")
    return apply_to_branch(engine, load(manifest(folder)), HERE, ref, wanted)


def test_page_gets_dates_authors_and_tag(repository: Repository, tmp_path: Path) -> None:
    report = committed(repository, tmp_path, "main")

    assert report.ok, report.error
    assert repository.git("show", "bot:docs/tea.md").split("---")[1] == (
        '\nupdated: "2026-02-28"\ncreated: 31 January 2026\nauthors:\n  - Grace\n  - Ada\nrelease: v1.0\n'
    )


def test_commit_of_the_bot_does_not_count_as_a_change(repository: Repository, tmp_path: Path) -> None:
    assert committed(repository, tmp_path, "main").applied

    again = committed(repository, tmp_path, "bot")

    assert (again.ok, again.no_op) == (True, True)


def test_untracked_file_has_no_history(repository: Repository, tmp_path: Path) -> None:
    repository.write({"docs/new.md": PAGE})
    engine = Engine.open(repository.path / "docs")

    assert applied(engine, manifest(tmp_path)).ok
    assert b'updated: "2000-01-01"\n' in (repository.path / "docs/new.md").read_bytes()
    assert b'updated: "2026-02-28"\n' in (repository.path / "docs/tea.md").read_bytes()
