"""A rule with `changedSince` names the files that differ from a commit, and no others."""

from pathlib import Path

import pytest

from mdplan.bot.bot import propose
from mdplan.bot.commits import propose_on_commit
from mdplan.engine.engine import Engine
from tests.bot.golden import HERE, load
from tests.bot.repository import Repository
from tests.patch_tools import needs_git

pytestmark = [needs_git, pytest.mark.usefixtures("identity")]
PAGES = {f"docs/{name}.md": f"# {name}\n\nDate: 1\n".encode() for name in ("one", "two", "three")}
MANIFEST = """\
vars: {release: v1}
files:
  - glob: "**/*.md"
    changedSince: "{{vars.release}}"
    edits: [{op: replace_match, pattern: "Date: 1", replacement: "Date: 2"}]
"""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository.make(tmp_path / "work")
    made.commit(PAGES)
    made.git("tag", "v1")
    made.commit({"docs/one.md": PAGES["docs/one.md"] + b"More.\n"})
    return made


def changed(repository: Repository, tmp_path: Path, *, below: str = "", ref: str | None = None) -> list[str]:
    """The files that the manifest changes."""
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(MANIFEST, "utf-8")
    engine = Engine.open([str(repository.path / below)])
    loaded = load(str(manifest))
    planned = (
        propose(engine, loaded, HERE, keeps=False)
        if ref is None
        else propose_on_commit(engine, loaded, HERE, ref)
    )
    with planned as proposal:
        assert (proposal.report.ok, proposal.report.warnings) == (True, ()), proposal.report.error
        return [file.file for file in proposal.report.files]


def test_only_committed_changes_count_on_a_commit(repository: Repository, tmp_path: Path) -> None:
    repository.write({"docs/two.md": PAGES["docs/two.md"] + b"Not committed.\n"})

    assert changed(repository, tmp_path, ref="main") == ["docs/one.md"]


def test_edited_and_untracked_files_count_in_the_work_tree(repository: Repository, tmp_path: Path) -> None:
    repository.write({"docs/two.md": PAGES["docs/two.md"] + b"Not committed.\n"})
    repository.write({"new.md": b"Date: 1\n"})

    assert changed(repository, tmp_path) == ["docs/one.md", "docs/two.md", "new.md"]


def test_paths_are_relative_to_a_root_below_the_repository(repository: Repository, tmp_path: Path) -> None:
    assert changed(repository, tmp_path, below="docs") == ["one.md"]
    assert changed(repository, tmp_path, below="docs", ref="main") == ["one.md"]


def test_no_changed_files_give_no_warning(repository: Repository, tmp_path: Path) -> None:
    repository.git("tag", "-f", "v1")

    assert changed(repository, tmp_path, ref="main") == []


@pytest.mark.parametrize("name", ["v9", "--output=x", "HEAD:docs"])
def test_unknown_commit_is_rejected_with_its_position(
    repository: Repository, tmp_path: Path, name: str
) -> None:
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(MANIFEST.replace("v1", f'"{name}"'), "utf-8")

    with propose(Engine.open([str(repository.path)]), load(str(manifest)), HERE, keeps=False) as proposal:
        problem = proposal.report.error

    assert problem is not None
    assert (problem.code.value, problem.place.line) == ("INVALID_ARGUMENT", 4)
    assert "names no commit" in problem.message
