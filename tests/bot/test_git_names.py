"""How REF and `--branch` are resolved, which branches are refused, and where the author comes from."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from mdplan import __version__
from mdplan.bot.commits import GitCommit, Signature, commit_message, signature
from mdplan.diagnostics import Code, Diagnostic
from mdplan.git.repository import RepositoryLocation, find_base
from mdplan.storage.filesystem import StorageRefused
from tests.bot.repository import Repository, codes
from tests.patch_tools import needs_git

pytestmark = [needs_git, pytest.mark.usefixtures("identity")]

NOW = 1_800_000_000.0


@pytest.fixture
def work(tmp_path: Path) -> Repository:
    """A work tree on `main`, with a branch, tags and a remote branch at its first commit."""
    made = Repository.make(tmp_path / "work")
    made.commit({"docs/a.md": b"nightly\n"})
    made.git("branch", "topic")
    made.git("tag", "light")
    made.git("tag", "-a", "-m", "x", "heavy")
    made.git("update-ref", "refs/remotes/origin/far", "HEAD")
    made.commit({"docs/b.md": b"nightly\n"})
    return made


@pytest.mark.parametrize(
    ("ref", "at", "branch"),
    [
        ("main", "main", "refs/heads/main"),
        ("refs/heads/topic", "topic", "refs/heads/topic"),
        ("HEAD", "main", "refs/heads/main"),
        ("light", "topic", None),
        ("heavy", "topic", None),
        ("refs/tags/heavy", "topic", None),
        ("origin/far", "topic", None),
    ],
)
def test_ref_resolves_to_a_commit_and_possibly_a_branch(
    work: Repository, ref: str, at: str, branch: str | None
) -> None:
    base = find_base(RepositoryLocation(str(work.path), ""), ref)

    assert (base.commit, base.branch) == (work.at(at), branch)


def test_commit_is_found_by_its_id_or_a_prefix(work: Repository, manifest: Path) -> None:
    commit = work.at("topic")
    for given in (commit, commit[:10], commit[:10].upper()):
        assert work.planned(manifest, given)[0].base_commit == commit


@pytest.mark.parametrize(
    "ref",
    ["missing", "main~1", "main^", "", "../../etc", "refs/heads/main.lock", "ffffffff", "main:docs", "@"],
)
def test_unknown_revision_is_rejected(work: Repository, manifest: Path, ref: str) -> None:
    assert codes(work.applied(manifest, ref)) == ["INVALID_ARGUMENT"]
    with pytest.raises(StorageRefused) as refused:
        work.planned(manifest, ref)
    assert [problem.code for problem in refused.value.problems] == [Code.INVALID_ARGUMENT]


def test_tag_of_a_tree_is_not_a_commit(work: Repository, manifest: Path) -> None:
    work.git("tag", "tree", "main^{tree}")

    assert codes(work.applied(manifest, "tree")) == ["INVALID_ARGUMENT"]


def test_name_shared_by_a_tag_and_a_branch_is_ambiguous(work: Repository, manifest: Path) -> None:
    work.git("tag", "topic", "main")
    report = work.applied(manifest, "topic")

    assert codes(report) == ["INVALID_ARGUMENT"]
    assert work.applied(manifest, "refs/heads/topic").applied


def test_tag_needs_a_branch_to_commit_to(work: Repository, manifest: Path) -> None:
    report = work.applied(manifest, "light")

    assert codes(report) == ["INVALID_ARGUMENT"]
    assert "--branch" in (report.error.hint if report.error else "")
    assert work.applied(manifest, "light", GitCommit(branch="new/one")).branch == "refs/heads/new/one"
    assert work.at("new/one~1") == work.at("light")
    work.must_be_sound()


def test_new_branch_starts_at_the_planned_commit(work: Repository, manifest: Path) -> None:
    before = work.at("main")
    report = work.applied(manifest, "main", GitCommit(branch="bot/docs"))

    assert report.applied
    assert (work.at("main"), work.at("bot/docs~1")) == (before, before)


def test_branch_at_another_commit_is_stale(work: Repository, manifest: Path) -> None:
    before = work.at("topic")
    report = work.applied(manifest, "main", GitCommit(branch="topic"))

    assert codes(report) == ["STALE_BASE"]
    assert work.at("topic") == before


@pytest.mark.parametrize("branch", ["-x", "a..b", "a b", "HEAD", "", "x.lock", "a/../b", "x\n"])
def test_invalid_branch_name_is_rejected(work: Repository, manifest: Path, branch: str) -> None:
    assert codes(work.applied(manifest, "main", GitCommit(branch=branch))) == ["INVALID_ARGUMENT"]


def test_branch_below_a_branch_is_refused(work: Repository, manifest: Path) -> None:
    report = work.applied(manifest, "light", GitCommit(branch="topic/below"))

    assert not report.ok
    assert not report.applied
    work.must_be_sound()


@pytest.mark.requirement("bot-git-4")
def test_checked_out_branch_is_refused(work: Repository, manifest: Path) -> None:
    before = work.at("main")
    for ref in ("main", "HEAD"):
        report = work.applied(manifest, ref)
        assert codes(report) == ["TARGET_BUSY"]
    assert work.at("main") == before
    assert work.planned(manifest, "main")[0].ok


@pytest.mark.requirement("bot-git-4")
def test_branch_of_a_linked_work_tree_is_refused(work: Repository, manifest: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    work.git("worktree", "add", "-q", str(linked), "topic")
    from_main = work.applied(manifest, "topic")
    from_linked = Repository(linked).applied(manifest, "main")

    assert codes(from_main) == codes(from_linked) == ["TARGET_BUSY"]
    assert str(linked) in (from_main.error.message if from_main.error else "")
    assert f"`{work.path}`" in (from_linked.error.message if from_linked.error else "")
    work.git("worktree", "remove", str(linked))
    assert work.applied(manifest, "topic").applied


def test_branch_of_a_work_tree_of_a_bare_repository_is_refused(
    work: Repository, manifest: Path, tmp_path: Path
) -> None:
    bare = work.bare(tmp_path / "bare.git")
    bare.git("worktree", "add", "-q", str(tmp_path / "linked"), "topic")

    assert codes(bare.applied(manifest, "topic")) == ["TARGET_BUSY"]
    assert bare.applied(manifest, "main").applied


def test_branch_of_a_running_rebase_is_refused(work: Repository, manifest: Path) -> None:
    work.commit({"docs/c.md": b"c\n"})
    work.git("checkout", "-q", "--detach")
    (work.path / ".git/rebase-merge").mkdir()
    (work.path / ".git/rebase-merge/head-name").write_text("refs/heads/main\n")

    assert codes(work.applied(manifest, "main")) == ["TARGET_BUSY"]


def test_detached_head_leaves_its_branch_free(work: Repository, manifest: Path) -> None:
    work.git("checkout", "-q", "--detach")

    assert work.applied(manifest, "main").applied
    assert codes(work.applied(manifest, "HEAD")) == ["INVALID_ARGUMENT"]


def test_symbolic_ref_moves_the_branch_it_points_to(work: Repository, manifest: Path) -> None:
    work.git("symbolic-ref", "refs/heads/alias", "refs/heads/topic")
    report = work.applied(manifest, "alias")

    assert report.branch == "refs/heads/topic"
    assert work.git("symbolic-ref", "refs/heads/alias") == "refs/heads/topic"
    work.git("symbolic-ref", "refs/heads/other", "refs/heads/main")
    assert codes(work.applied(manifest, "other")) == ["TARGET_BUSY"]


def test_locked_branch_is_refused_after_a_wait(work: Repository, manifest: Path) -> None:
    lock = work.path / ".git/refs/heads/topic.lock"
    lock.touch()
    report = work.applied(manifest, "topic")

    assert codes(report) == ["LOCK_TIMEOUT"]
    assert "topic.lock" in (report.error.hint if report.error else "")
    lock.unlink()
    assert work.applied(manifest, "topic").applied


def test_empty_repository_is_rejected(tmp_path: Path, manifest: Path) -> None:
    assert codes(Repository.make(tmp_path / "empty").applied(manifest, "main")) == ["INVALID_ARGUMENT"]


CONFIG = b"[user]\n\tname = Config User\n\temail = config@example.org\n"


def signed(
    config: bytes = CONFIG, given: str | None = None, environment: Mapping[str, str] | None = None
) -> Signature | Diagnostic:
    listed = subprocess.run(
        ["git", "config", "--file", "-", "--list", "-z"], check=True, capture_output=True, input=config
    )
    known = dict(line.split("\n", 1) for line in listed.stdout.decode().split("\0")[:-1])
    return signature("author", known, NOW, given, environment or {})


@pytest.mark.parametrize(
    ("config", "given", "environment", "who"),
    [
        (CONFIG, None, {}, b"Config User <config@example.org>"),
        (CONFIG + b"[author]\n\tname = Own\n", None, {}, b"Own <config@example.org>"),
        (CONFIG, None, {"GIT_AUTHOR_NAME": "Env"}, b"Env <config@example.org>"),
        (CONFIG, None, {"GIT_AUTHOR_EMAIL": "env@x"}, b"Config User <env@x>"),
        (CONFIG, "Given <g@x>", {"GIT_AUTHOR_NAME": "Env"}, b"Given <g@x>"),
        (b"[user]\n\tname = A\n", None, {"EMAIL": "mail@x"}, b"A <mail@x>"),
        (CONFIG, None, {"GIT_AUTHOR_NAME": " .Odd <name>\n, "}, b"Odd name <config@example.org>"),
    ],
)
def test_author_comes_from_git_configuration(
    config: bytes, given: str | None, environment: dict[str, str], who: bytes
) -> None:
    found = signed(config, given, environment)

    assert isinstance(found, Signature)
    assert (found.who, found.seconds) == (who, int(NOW))


@pytest.mark.parametrize(
    ("config", "given"),
    [
        (b"", None),
        (b"[user]\n\tname = A\n", None),
        (CONFIG, "nobody"),
        (CONFIG, "A <a@x> <b@x>"),
        (CONFIG, "A\nparent 0 <a@x>"),
        (CONFIG, "<a@x>"),
        (CONFIG, "A <>"),
        (CONFIG, "... <a@x>"),
    ],
)
def test_author_is_never_guessed(config: bytes, given: str | None) -> None:
    found = signed(config, given)

    assert isinstance(found, Diagnostic)
    assert found.code is Code.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("date", "seconds", "offset"),
    [
        ("1700000000 +0130", 1700000000, 5400),
        ("@1700000000 -0800", 1700000000, -28800),
        ("2023-11-14T22:13:20+00:00", 1700000000, 0),
        ("Tue, 14 Nov 2023 23:13:20 +0100", 1700000000, 3600),
    ],
)
def test_time_is_read_as_git_writes_it(date: str, seconds: int, offset: int) -> None:
    found = signed(environment={"GIT_AUTHOR_DATE": date})

    assert isinstance(found, Signature)
    assert (found.seconds, found.offset) == (seconds, offset)


@pytest.mark.parametrize("date", ["yesterday-ish", "9" * 40, "2023-13-41"])
def test_invalid_commit_time_is_rejected(date: str) -> None:
    assert isinstance(signed(environment={"GIT_AUTHOR_DATE": date}), Diagnostic)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, "Apply m.yml\n\nMdplan-Plan: sha256-1\n"),
        ("Bump", "Bump\n\nMdplan-Plan: sha256-1\n"),
        ("Bump\r\n\r\nWhy. \n\n", "Bump\n\nWhy.\n\nMdplan-Plan: sha256-1\n"),
        ("Bump\n\nSigned-off-by: A <a@x>", "Bump\n\nSigned-off-by: A <a@x>\nMdplan-Plan: sha256-1\n"),
        ("docs: bump", "docs: bump\n\nMdplan-Plan: sha256-1\n"),
        ("  \n", "Apply m.yml\n\nMdplan-Plan: sha256-1\n"),
    ],
)
def test_plan_is_the_last_trailer(given: str | None, expected: str) -> None:
    assert commit_message(given, "some/m.yml", "sha256-1").decode() == expected


def test_given_author_and_message_are_in_the_commit(work: Repository, manifest: Path) -> None:
    wanted = GitCommit(author="Élan <e@x>", message="docs: stable\n\nRefs: 1")
    report = work.applied(manifest, "topic", wanted)

    assert work.git("log", "-1", "--format=%an <%ae>|%cn|%B", "topic", "--").strip() == (
        "Élan <e@x>|Bo|docs: stable\n\nRefs: 1\n"
        f"Mdplan-Client: mdplan library {__version__}\nMdplan-Plan: {report.plan_id}"
    )


def test_missing_author_is_rejected_before_planning(
    work: Repository, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
        monkeypatch.delenv(name)
    report = work.applied(manifest, "topic")

    assert codes(report) == ["INVALID_ARGUMENT", "INVALID_ARGUMENT"]
    assert report.files_named == 0
