"""The pull request of a manifest is opened, updated and closed, and never loses work of others."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mdplan.bot import commits
from mdplan.bot.bot import BotReport
from mdplan.bot.forge import GitHub
from mdplan.bot.pulls import (
    BranchMerged,
    PullBranch,
    PullOptions,
    Split,
    merge_base_into,
    run_pull_request,
    run_pull_requests,
)
from mdplan.diagnostics import Code
from tests.bot.fake_forge import NAME, FakeForge
from tests.bot.golden import HERE, load
from tests.bot.repository import BRANCH, MANIFEST, Repository, codes
from tests.support.case_tables import CaseTables
from tests.support.patches import needs_git
from tests.surfaces.command_line import mdplan

CASE_TABLES = CaseTables(__file__)


pytestmark = [needs_git, pytest.mark.usefixtures("identity")]


@dataclass(frozen=True)
class Bot:
    """Runs of the bot, each in a clone of `remote` as a workflow makes it."""

    remote: Repository
    manifest: Path

    def clone(self, name: str) -> Repository:
        """The clone of that name, made by the first run in it."""
        folder = self.manifest.parent / name
        return Repository(folder) if folder.exists() else self.remote.clone(folder)

    def run(self, name: str, **options: Any) -> BotReport:
        """One run for one pull request."""
        wanted = PullOptions(base="main", branch=BRANCH, forge=GitHub.of_environment, **options)
        return run_pull_request(self.clone(name).engine(), load(str(self.manifest)), HERE, wanted)

    def split(self, name: str, by: str) -> BotReport:
        """Run once for each part of a change to all pages, with a pull request for each."""
        manifest = self.manifest.parent / "split.yaml"
        manifest.write_text(MANIFEST.replace("docs/**", "**/*.md"), "utf-8")
        split = Split.read(by)
        assert isinstance(split, Split), split.message
        wanted = PullOptions(base="main", branch=BRANCH, forge=GitHub.of_environment, title="Stable")
        return run_pull_requests(self.clone(name).engine(), load(str(manifest)), HERE, wanted, split)


@pytest.fixture
def bot(forge: FakeForge, remote: Repository, manifest: Path) -> Bot:
    """The bot on `remote`, with the pull requests of `forge`."""
    return Bot(remote, manifest)


def test_pull_request_is_opened_updated_and_closed(
    bot: Bot, forge: FakeForge, people: Repository, remote: Repository
) -> None:
    first = bot.run("1", labels=["docs"])
    again = bot.run("2", labels=["docs"])
    people.push({"docs/two.md": b"nightly\n", "docs/`fixes #1`.md": b"nightly\n"})
    renewed = bot.run("3", title="Stable", labels=["chore"])
    merged = remote.files(BRANCH)
    one_commit = remote.git("rev-list", f"main..{BRANCH}").split()
    people.push({f"docs/{name}.md": b"stable\n" for name in ("one", "two", "`fixes #1`")})
    done = bot.run("4")

    (pull,) = forge.pulls
    assert [report.pull_request for report in (first, again, renewed, done)] == [pull["html_url"]] * 4
    assert first.commit == again.commit
    assert (one_commit, merged["docs/two.md"]) == ([renewed.commit], b"stable\n")
    assert (pull["head"], pull["base"], pull["title"]) == (BRANCH, "main", "Stable")
    assert "- ``docs/`fixes #1`.md``\n- `docs/one.md`\n" in pull["body"]
    assert (pull["labels"], pull["state"], len(pull["comments"])) == (["chore", "docs"], "closed", 1)
    assert BRANCH not in remote.git("branch")


def test_text_counts_equal_edits_in_few_lines(bot: Bot, forge: FakeForge, people: Repository) -> None:
    people.push(
        {f"docs/{number}.md": b"nightly, and the nightly\n\n" + b"x\n" * number for number in range(150)}
    )
    report = bot.run("1")

    assert report.ok, report.error
    (pull,) = forge.pulls
    head = [
        "`mdplan bot` applied `bot.yml` to 151 files:",
        "",
        "- `nightly` → `stable`: 301 places in 151 files",
    ]
    assert pull["body"].split("\n")[:5] == [*head, "", "<details><summary>Files</summary>"]


def test_command_says_that_it_closed_the_pull_request(
    forge: FakeForge, people: Repository, remote: Repository, manifest: Path, tmp_path: Path
) -> None:
    command = ["bot", "pr", str(manifest), "--root", str(remote.clone(tmp_path / "1").path)]
    opened = mdplan(*command)
    people.push({"docs/one.md": b"stable\n"})
    closed = mdplan(*command)

    assert f"\nPull request: {forge.pulls[0]['html_url']}\n" in opened.err
    assert f"\nClosed pull request: {forge.pulls[0]['html_url']}\n" in closed.err


RENAMED = (
    MANIFEST
    + """\
  - {file: docs/old.md, edits: [{op: delete_file}]}
"""
)


def test_commits_made_by_the_forge_have_the_files_and_message_of_the_bot(
    bot: Bot, forge: FakeForge, people: Repository, remote: Repository, manifest: Path
) -> None:
    manifest.write_text(RENAMED)
    forge.repositories[NAME] = remote
    people.push({"docs/old.md": b"Old.\n", "docs/b.md": b"caf\xe9 nightly\n", "other.md": b"nightly\n"})
    first = bot.run("1", signed_by_forge=True)
    committer, message = remote.git("log", "-1", "--format=%cn%n%B", BRANCH).split("\n", 1)
    again = bot.run("2", signed_by_forge=True)
    people.push({"docs/two.md": b"nightly\n"})
    renewed = bot.run("1", signed_by_forge=True)
    files = remote.files(BRANCH)

    assert (committer, f"Mdplan-Plan: {first.plan_id}" in message) == ("GitHub", True)
    assert first.commit == again.commit
    assert forge.calls.count("POST /graphql") == 2
    assert remote.git("rev-list", f"main..{BRANCH}").split() == [renewed.commit]
    assert files == {
        "docs/one.md": b"# One\n\nThe stable build.\n",
        "docs/two.md": b"stable\n",
        "docs/b.md": b"caf\xe9 stable\n",
        "other.md": b"nightly\n",
    }
    assert remote.git("branch", "--format=%(refname:short)").split() == ["main", BRANCH]


def test_forge_commit_with_other_files_is_not_pushed(bot: Bot, forge: FakeForge, remote: Repository) -> None:
    forge.repositories[NAME], forge.changed = remote, {"docs/one.md": b"something else\n"}
    report = bot.run("1", signed_by_forge=True)

    assert codes(report) == ["IO_ERROR"]
    assert remote.git("branch", "--format=%(refname:short)").split() == ["main"]
    assert forge.pulls == []


def test_commit_made_in_the_web_interface_is_never_lost(
    bot: Bot, forge: FakeForge, remote: Repository
) -> None:
    forge.repositories[NAME] = remote
    bot.run("1", signed_by_forge=True)
    by_hand = remote.commit_on(BRANCH, {"docs/one.md": b"By hand.\n"}, [], "Update one.md")
    report = bot.run("2", signed_by_forge=True)

    assert codes(report) == ["STALE_BASE"]
    assert remote.at(BRANCH) == by_hand


def test_satisfied_manifest_opens_no_pull_request(bot: Bot, forge: FakeForge, people: Repository) -> None:
    people.push({"docs/one.md": b"stable\n"})
    report = bot.run("1")

    assert (report.ok, report.commit, report.pull_request, forge.pulls) == (True, None, None, [])


def test_commit_of_a_person_on_the_branch_is_never_lost(
    bot: Bot, forge: FakeForge, people: Repository, remote: Repository
) -> None:
    bot.run("1")
    tip = people.push_by_hand(BRANCH, {"docs/one.md": b"by hand\n"})
    report = bot.run("2")

    assert codes(report) == ["STALE_BASE"]
    assert remote.at(BRANCH) == tip
    assert [pull["state"] for pull in forge.pulls] == ["open"]


def test_commit_of_a_person_on_the_branch_is_merged_on_request(
    bot: Bot, people: Repository, remote: Repository
) -> None:
    bot.run("1")
    text = remote.files(BRANCH)["docs/one.md"]
    by_hand = people.push_by_hand(BRANCH, {"docs/one.md": text + b"\nBy hand.\n"})
    people.push({"docs/two.md": b"nightly\n"})
    report = bot.run("2", on_stale="merge")
    again = bot.run("3", on_stale="merge")

    assert codes(report) == codes(again) == []
    assert remote.at(BRANCH) == report.commit == again.commit
    files = remote.files(BRANCH)
    assert files["docs/one.md"] == text + b"\nBy hand.\n"
    assert files["docs/two.md"] == b"stable\n"
    assert by_hand in remote.git("rev-list", BRANCH).split()
    # The bot takes back what it wrote, and keeps the commit by hand, until the base has that, too.
    people.push({"docs/one.md": text, "docs/two.md": b"stable\n"})
    assert codes(bot.run("4", on_stale="merge")) == []
    assert remote.files(BRANCH) == remote.files("main") | {"docs/one.md": text + b"\nBy hand.\n"}
    people.push({"docs/one.md": text + b"\nBy hand.\n"})
    assert (bot.run("5", on_stale="merge").commit, remote.git("branch", "--list", BRANCH)) == (None, "")


def test_conflict_with_a_commit_of_a_person_leaves_the_branch(
    bot: Bot, people: Repository, remote: Repository
) -> None:
    bot.run("1")
    by_hand = people.push_by_hand(BRANCH, {"docs/one.md": b"# One\n\nAnother build by hand.\n"})
    people.push({"docs/one.md": b"# One\n\nThe nightly build is new.\n"})
    report = bot.run("2", on_stale="merge")

    assert codes(report) == ["MERGE_CONFLICT"]
    assert remote.at(BRANCH) == by_hand


def test_commit_that_only_this_clone_has_is_never_lost(bot: Bot) -> None:
    bot.run("1")
    clone = bot.clone("2")
    clone.git("checkout", "-q", BRANCH)
    tip = clone.commit({"docs/one.md": b"by hand\n"})
    busy = bot.run("2")
    clone.git("checkout", "-q", "main")
    report = bot.run("2")

    assert (codes(busy), codes(report)) == (["TARGET_BUSY"], ["STALE_BASE"])
    assert clone.at(BRANCH) == tip


def test_push_of_another_bot_is_never_overwritten(
    bot: Bot, forge: FakeForge, remote: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = commits.apply_to_branch
    other: list[BotReport] = []

    def while_the_other_pushes(*arguments: Any) -> BotReport:
        monkeypatch.setattr(commits, "apply_to_branch", plan)
        report = plan(*arguments)
        other.append(bot.run("other", title="Another title"))
        return report

    monkeypatch.setattr(commits, "apply_to_branch", while_the_other_pushes)
    report = bot.run("1")

    assert codes(report) == ["STALE_BASE"]
    assert remote.at(BRANCH) == other[0].commit
    assert len(forge.pulls) == 1


def test_error_of_the_forge_is_reported_with_its_reason(
    bot: Bot, forge: FakeForge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", "wrong")
    report = bot.run("1")
    monkeypatch.setenv("GH_TOKEN", "secret")
    again = bot.run("2")

    assert codes(report) == ["IO_ERROR"]
    assert "401 no" in (report.error.message if report.error is not None else "")
    assert again.pull_request == forge.pulls[0]["html_url"]


@pytest.mark.parametrize("api", ["forge.example", "http://127.0.0.1:1"])
def test_wrong_address_of_the_api_is_refused(bot: Bot, monkeypatch: pytest.MonkeyPatch, api: str) -> None:
    monkeypatch.setenv("GITHUB_API_URL", api)
    report = bot.run("1")

    assert codes(report) == ["IO_ERROR"]
    assert report.error is not None
    assert "GITHUB_API_URL" in report.error.hint


def test_empty_address_of_the_api_is_that_of_github(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", "")
    monkeypatch.setenv("GH_TOKEN", "secret")

    assert GitHub.of_environment("https://github.com/acme/docs").api == "https://api.github.com"


@CASE_TABLES.parametrize("address", "name")
def test_repository_name_comes_from_the_remote(
    address: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    monkeypatch.setenv("GH_TOKEN", "secret")

    assert GitHub.of_environment(address).name == name


PAGES = {
    "CODEOWNERS": b"* @acme/all # everybody\n/docs/ @acme/docs @ada\ndocs/api/**\n",
    "docs/one.md": b"---\nteam: tea\n---\n\nThe nightly build.\n",
    "docs/api/two.md": b"The nightly build.\n",
    "docs/api/deep/three.md": b"---\nteam: Water & Co\n---\n\nThe nightly build.\n",
    "src/four.md": b"The nightly build.\n",
}


@CASE_TABLES.parametrize("by", "parts")
def test_each_part_has_a_branch_and_a_pull_request(
    bot: Bot, forge: FakeForge, people: Repository, remote: Repository, by: str, parts: dict[str, int]
) -> None:
    people.push(PAGES)
    report = bot.split("1", by)

    assert report.ok, report.error
    assert {part.name: part.files for part in report.pull_requests} == parts
    assert {pull["title"] for pull in forge.pulls} == {f"Stable ({name})" for name in parts}
    changed = [remote.git("diff", "--name-only", "main", f"{BRANCH}/{name}").split() for name in parts]
    assert [len(files) for files in changed] == list(parts.values())
    assert len({file for files in changed for file in files}) == 4


@CASE_TABLES.parametrize("rules", "owner")
def test_owners_are_those_that_the_forge_asks(bot: Bot, people: Repository, rules: str, owner: str) -> None:
    people.push({"CODEOWNERS": rules.encode(), "docs/deep/My Page.md": b"nightly\n", "docs/one.md": b""})
    report = bot.split("1", "codeowners")

    assert report.ok, report.error
    assert [part.name for part in report.pull_requests] == [owner]


def test_pull_request_of_an_empty_part_is_closed(
    bot: Bot, forge: FakeForge, people: Repository, remote: Repository
) -> None:
    people.push(PAGES)
    bot.split("1", "folder")
    people.push({"src/four.md": b"stable\n"})
    for name in ("new", "main"):
        remote.git("branch", f"{BRANCH}/of-ada-{name}", "main" if name == "main" else "main~")
    report = bot.split("2", "folder")

    assert report.ok, report.error
    assert [(part.name, part.commit is None) for part in report.pull_requests] == [
        ("src", True),
        ("docs", False),
    ]
    assert {pull["title"]: pull["state"] for pull in forge.pulls} == {
        "Stable (docs)": "open",
        "Stable (src)": "closed",
    }
    branches = remote.git("branch", "--format=%(refname:short)").split()
    assert [name for name in branches if "/" in name] == [
        f"{BRANCH}/{name}" for name in ("docs", "of-ada-main", "of-ada-new")
    ]

    remote.git("update-ref", "refs/heads/main", f"refs/heads/{BRANCH}/docs")
    remote.git("branch", f"{BRANCH}/of-ada-later", "main")
    merged = bot.split("3", "folder")
    left = remote.git("branch", "--list", "--format=%(refname:lstrip=-1)", f"{BRANCH}/*").split()

    assert [(part.name, part.error) for part in merged.pull_requests] == [("docs", None)]
    assert left == ["of-ada-later", "of-ada-main", "of-ada-new"]


def test_split_pull_requests_replace_the_single_one(bot: Bot, forge: FakeForge, people: Repository) -> None:
    people.push(PAGES)
    bot.run("1", title="Stable")
    report = bot.split("2", "folder")
    people.git("push", "-q", "origin", "--delete", f"{BRANCH}/docs", f"{BRANCH}/src")
    again = [bot.run("2"), bot.run("1")]
    people.git("push", "-q", "origin", "--delete", BRANCH)

    assert [each.error for each in (report, *again, bot.split("1", "folder"))] == [None] * 4
    assert [pull["state"] for pull in forge.pulls][:3] == ["closed", "open", "open"]


def test_part_with_a_commit_of_a_person_does_not_block_other_parts(
    bot: Bot, people: Repository, remote: Repository
) -> None:
    people.push(PAGES)
    bot.split("1", "folder")
    tip = people.push_by_hand(f"{BRANCH}/src", {"src/four.md": b"by hand\n"})
    people.push({"docs/five.md": b"nightly\n"})
    report = bot.split("2", "folder")

    assert codes(report) == ["STALE_BASE"]
    assert remote.at(f"{BRANCH}/src") == tip
    assert [(part.name, part.files, part.error is None) for part in report.pull_requests] == [
        ("docs", 4, True),
        ("src", 1, False),
    ]


@pytest.mark.parametrize("text", ["owners", "files", "files:0", "folder:x", "front-matter", "codeowners:x"])
def test_unknown_split_option_is_rejected(text: str) -> None:
    assert not isinstance(Split.read(text), Split)


LOG = "docs/log.md"
BASE = b"# Log\n\n- a\n"


def _merged(remote: Repository, folder: Path) -> BranchMerged:
    """One run in a new clone, as a workflow makes it."""
    wanted = PullBranch(branch="topic", base="main", forge=GitHub.of_environment)
    return merge_base_into(remote.clone(folder).engine(), wanted)


@pytest.fixture
def pull(forge: FakeForge, people: Repository) -> FakeForge:
    """A pull request of the branch `topic`, which adds an item."""
    people.push({LOG: BASE})
    people.git("checkout", "-q", "-b", "topic")
    people.push({LOG: BASE + b"- of the branch\n"}, "topic")
    people.git("checkout", "-q", "main")
    forge.answer("POST", "/repos/acme/docs/pulls", {"title": "", "head": "topic", "base": "main"})
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
    own_driver = {".gitattributes": b"*.md merge=union\n"}
    people.push({LOG: BASE.replace(b"- a", b"- another first item"), **own_driver})
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
