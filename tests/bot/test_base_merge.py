"""The base of a pull request is merged into its branch, and a comment says what needs a person."""

from pathlib import Path

import pytest

from mdplan.bot.forge import GitHub
from mdplan.bot.pulls import BranchMerge, BranchMerged, merge_base_into
from mdplan.diagnostics import Code
from tests.bot.fake_forge import FakeForge
from tests.bot.repository import Repository
from tests.patch_tools import needs_git

pytestmark = [needs_git, pytest.mark.usefixtures("identity")]
LOG = "docs/log.md"
BASE = b"# Log\n\n- a\n"


def _merged(remote: Repository, folder: Path) -> BranchMerged:
    """One run in a new clone, as a workflow makes it."""
    wanted = BranchMerge(branch="topic", base="main", forge=GitHub.of_environment)
    return merge_base_into(remote.clone(folder).engine(), wanted)


@pytest.fixture
def pull(forge: FakeForge, people: Repository) -> FakeForge:
    """A pull request of the branch `topic`, which adds an item."""
    people.push({LOG: BASE})
    people.git("checkout", "-q", "-b", "topic")
    people.push({LOG: BASE + b"- of the branch\n"}, "topic")
    people.git("checkout", "-q", "main")
    forge.answer("POST", "/repos/acme/docs/pulls", {"head": "topic", "base": "main"})
    return forge


def test_items_of_both_branches_are_merged_pushed_and_reported(
    pull: FakeForge, people: Repository, remote: Repository, tmp_path: Path
) -> None:
    people.push({LOG: BASE + b"- of the base here\n"})
    made = _merged(remote, tmp_path / "1")
    assert (made.report.ok, made.files) == (True, (LOG,))
    assert remote.at("topic") == made.report.commit
    assert remote.git("rev-list", "--parents", "-1", "topic").count(" ") == 2
    assert sorted(remote.git("show", f"topic:{LOG}").splitlines()[2:]) == [
        "- a",
        "- of the base here",
        "- of the branch",
    ]
    assert f"- `{LOG}`" in pull.pulls[0]["comments"][0]["body"]
    assert _merged(remote, tmp_path / "2").report.no_op


def test_conflict_is_named_by_section_and_nothing_is_pushed(
    pull: FakeForge, people: Repository, remote: Repository, tmp_path: Path
) -> None:
    before = remote.at("topic")
    people.push({LOG: BASE.replace(b"- a", b"- another first item")})
    people.git("checkout", "-q", "topic")
    people.push({LOG: BASE.replace(b"- a", b"- the item is new")}, "topic")
    before = remote.at("topic")
    for run in ("1", "2"):
        made = _merged(remote, tmp_path / run)
        assert made.report.error is not None
        assert made.report.error.code is Code.MERGE_CONFLICT
        assert "at Log" in made.report.error.message
    assert remote.at("topic") == before
    assert len(pull.pulls[0]["comments"]) == 1
    assert "A person must decide" in pull.pulls[0]["comments"][0]["body"]
