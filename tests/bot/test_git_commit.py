"""A commit of the bot is what git would have made of the same files, and touches nothing else."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mdplan import __version__
from mdplan.bot.bot import BotReport, RunOptions, propose
from mdplan.bot.commits import GitCommit, apply_to_branch, commit_message, propose_on_commit, signatures
from mdplan.bot.manifest import LoadedManifest, ManifestInputs, load_manifest
from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.git.repository import RepositoryLocation, find_base
from mdplan.storage.filesystem import StorageRefused
from mdplan.values import replace
from tests.bot.golden import CASES, HERE, WHOLE, BotCase, applied, load
from tests.bot.repository import MANIFEST, Repository, codes
from tests.support.case_tables import CaseTables
from tests.support.golden_cases import read_tree
from tests.support.patches import needs_git

CASE_TABLES = CaseTables(__file__)


pytestmark = [needs_git, pytest.mark.usefixtures("identity")]

FILES = {
    "docs/one.md": b"# One\n\nThe nightly build.\n",
    "docs/deep/er/two.md": b"# Two\r\n\r\nThe nightly build.\r\n\xff\xfe bytes\r\n",
    "docs/deep/er/other.md": b"# Other\n",
    "docs/run.sh": b"#!/bin/sh\necho nightly",
    "src/nightly.md": b"nightly\n",
}

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00 nightly\nsize 3\n"


@pytest.fixture
def work(tmp_path: Path) -> Repository:
    """A repository whose work tree has the branch `main`."""
    made = Repository.make(tmp_path / "work")
    made.write(FILES)
    (made.path / "docs/run.sh").chmod(0o755)
    (made.path / "docs/link.md").symlink_to("one.md")
    made.commit({})
    return made


@pytest.fixture
def bare(work: Repository, tmp_path: Path) -> Repository:
    return work.bare(tmp_path / "bare.git")


def write(folder: Path, manifest: str) -> Path:
    path = folder / "bot.yml"
    path.write_text(manifest, encoding="utf-8")
    return path


@pytest.mark.requirement("bot-git-3")
def test_commit_equals_git_apply_of_the_diff(bare: Repository, manifest: Path) -> None:
    before = bare.modes("main")
    planned, diff = bare.planned(manifest, "main")
    report = bare.applied(manifest, "main")

    assert report.ok
    assert report.applied
    assert report.commit == bare.at("main")
    assert (report.branch, report.base_commit, report.receipt) == ("refs/heads/main", bare.at("main~1"), None)
    assert report.plan_id == planned.plan_id
    options = ("--no-color", "--no-renames", "--full-index", "-U3")
    git_diff = bare.raw("diff", *options, "main~1", "main", "--", "docs").split(b"\n")
    assert [line for line in git_diff if not line.startswith(b"index ")] == [
        line for line in diff.split(b"\n") if not line.startswith(b"index ")
    ]
    after = bare.modes("main")
    assert {name for name in after if after[name] != before[name]} == {
        "docs/one.md",
        "docs/deep/er/two.md",
        "docs/run.sh",
    }
    assert {name: facts[:6] for name, facts in after.items()} == {
        name: facts[:6] for name, facts in before.items()
    }
    assert bare.files("main") == {
        name: data if name.startswith("src") else data.replace(b"nightly", b"stable")
        for name, data in {**FILES, "docs/link.md": b"one.md"}.items()
    }
    bare.git("read-tree", "main~1")
    bare.git("apply", "--cached", given=diff)
    assert bare.git("write-tree") == bare.git("rev-parse", "main^{tree}")
    bare.must_be_sound()


def test_commit_names_its_author_and_plan(bare: Repository, manifest: Path) -> None:
    report = bare.applied(manifest, "main")

    shown = bare.git("log", "-1", "--format=%an|%ae|%cn|%ce|%s|%(trailers:key=Mdplan-Plan,valueonly)", "main")
    assert shown.rstrip("\n") == (f"Ada|ada@example.org|Bo|bo@example.org|Apply bot.yml|{report.plan_id}")


def test_links_are_repaired_as_the_commit_and_its_history_say(work: Repository, tmp_path: Path) -> None:
    work.write({"docs/links.md": b"[one](one.md#one)\n"})
    work.commit({})
    (work.path / "docs/moved").mkdir()
    work.git("mv", "docs/one.md", "docs/moved/1.md")
    work.commit({})
    work.git("mv", "docs/moved/1.md", "docs/one.md")
    manifest = write(tmp_path, 'files: [{glob: "docs/**/*.md", links: fix}]')

    assert work.applied(manifest, "main", GitCommit(branch="healed")).applied
    assert work.files("healed")["docs/links.md"] == b"[one](moved/1.md#one)\n"
    assert work.applied(manifest, "healed", GitCommit(branch="again")).no_op


def test_work_tree_and_index_are_neither_read_nor_changed(work: Repository, manifest: Path) -> None:
    work.git("branch", "docs")
    work.write({"docs/one.md": b"something else\n", "new.md": b"new\n"})
    before = (
        work.git("status", "--porcelain"),
        (work.path / ".git/index").read_bytes(),
        read_tree(work.path),
    )
    report = work.applied(manifest, "docs")

    assert report.applied
    assert work.git("log", "-1", "--format=%s", "docs", "--") == "Apply bot.yml"
    index, after = (work.path / ".git/index").read_bytes(), read_tree(work.path)
    assert index == before[1]
    assert {name: data for name, data in after.items() if not name.startswith(".git/")} == {
        name: data for name, data in before[2].items() if not name.startswith(".git/")
    }
    assert work.git("status", "--porcelain") == before[0]
    assert work.git("reflog", "show", "--format=%gs", "docs", "--").split("\n")[0] == (
        "commit: Apply bot.yml"
    )
    work.must_be_sound()


def test_satisfied_manifest_makes_no_commit(bare: Repository, manifest: Path) -> None:
    first = bare.applied(manifest, "main")
    again = bare.applied(manifest, "main")

    assert (again.ok, again.applied, again.no_op, again.commit) == (True, False, True, None)
    assert bare.at("main") == first.commit
    assert bare.planned(manifest, "main")[0].no_op


def test_problems_make_no_commit(bare: Repository, tmp_path: Path) -> None:
    manifest = write(
        tmp_path,
        "files:\n  - file: docs/one.md\n    edits: [{op: replace_section, heading: Missing, markdown: x}]\n",
    )
    before = bare.at("main")
    report = bare.applied(manifest, "main")

    assert codes(report) == ["SECTION_NOT_FOUND"]
    assert (report.applied, bare.at("main")) == (False, before)


def test_files_are_created_deleted_and_renamed(bare: Repository, tmp_path: Path) -> None:
    manifest = write(
        tmp_path,
        """\
files:
  - {file: docs/new/page.md, edits: [{op: create_file, markdown: "# New"}]}
  - {file: docs/deep/er/two.md, edits: [{op: delete_file}]}
  - {file: docs/deep/er/other.md, edits: [{op: delete_file}]}
  - {file: docs/run.sh, edits: [{op: rename_file, newFile: bin/run.sh}]}
""",
    )
    report = bare.applied(manifest, "main")

    assert report.ok, report.diagnostics
    assert bare.git("diff", "--name-status", "-M", "main~1", "main").split("\n") == [
        "R100\tdocs/run.sh\tbin/run.sh",
        "D\tdocs/deep/er/other.md",
        "D\tdocs/deep/er/two.md",
        "A\tdocs/new/page.md",
    ]
    assert bare.modes("main")["bin/run.sh"].startswith("100755")
    # No tree stays empty.
    assert [
        name for name in bare.git("ls-tree", "-r", "-d", "--name-only", "main").split("\n") if "deep" in name
    ] == []
    bare.must_be_sound()


def test_last_file_can_be_deleted(tmp_path: Path) -> None:
    work = Repository.make(tmp_path / "work")
    work.commit({"a.md": b"# A\n"})
    bare = work.bare(tmp_path / "bare.git")
    report = bare.applied(write(tmp_path, "files: [{file: a.md, edits: [{op: delete_file}]}]\n"), "main")

    assert report.applied
    assert bare.files("main") == {}
    bare.must_be_sound()


@pytest.mark.parametrize("golden", CASES, ids=str)
def test_commit_has_the_files_of_the_golden_case(golden: BotCase, tmp_path: Path) -> None:
    made = Repository.make(tmp_path / "work")
    golden.lay_out(made.path)
    (made.path / "unchanged.bin").write_bytes(b"\0")
    made.git("add", "-A", "--force")
    made.git("commit", "-q", "-m", "before")
    made.git("branch", "bot")
    loaded = load_manifest(golden.write_manifest(tmp_path / "manifest"), ManifestInputs())
    if not isinstance(loaded, LoadedManifest):
        pytest.skip("refused before any file is looked at")
    with propose_on_commit(made.engine(), loaded, HERE, "bot") as proposal:
        diff = b"".join(proposal.diff())
    report = apply_to_branch(made.engine(), loaded, WHOLE, "bot", GitCommit())

    if golden.after is None:
        assert codes(report) == [problem["code"] for problem in golden.expected_problems()]
        assert made.at("bot") == made.at("main")
    else:
        expected = {**golden.after, "unchanged.bin": b"\0"}
        found = made.files("bot")
        assert found == {name: expected[name] for name in sorted(expected)}
        made.must_be_sound()
        if diff:
            made.git("apply", "--cached", given=diff)
        assert made.git("write-tree") == made.git("rev-parse", "bot^{tree}")


def test_worker_processes_open_the_repository_themselves(
    bare: Repository, manifest: Path, work: Repository
) -> None:
    work.commit({f"docs/many/{number}.md": f"# {number}\n\nnightly\n".encode() for number in range(80)})
    bare.git("fetch", "-q", str(work.path), "main:main")
    report = apply_to_branch(bare.engine(), load(str(manifest)), RunOptions(jobs=2), "main", GitCommit())

    assert report.files_changed == 83
    assert bare.git("diff", "--name-only", "main~1", "main").count("\n") == 82
    bare.must_be_sound()


def test_symbolic_links_in_a_commit_are_rejected_or_skipped_as_on_disk(
    bare: Repository, tmp_path: Path
) -> None:
    manifest = write(
        tmp_path,
        "files: [{file: docs/link.md, edits: [{op: replace_match, pattern: one, replacement: two}]}]\n",
    )
    report = bare.applied(manifest, "main")

    assert codes(report) == ["SYMLINK_REFUSED"]
    assert report.error is not None
    assert report.error.hint == "name `docs/one.md` instead"


def test_submodules_are_never_entered(work: Repository, tmp_path: Path, manifest: Path) -> None:
    inner = Repository.make(tmp_path / "inner")
    inner.commit({"a.md": b"nightly\n"})
    work.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.path), "docs/inner")
    work.commit({})
    bare = work.bare(tmp_path / "with.git")
    whole = bare.applied(manifest, "main")
    into = bare.applied(
        write(tmp_path, "files: [{file: docs/inner/b.md, edits: [{op: create_file, markdown: x}]}]\n"), "main"
    )

    assert whole.applied
    assert bare.modes("main")["docs/inner"] == work.modes("main")["docs/inner"]
    assert codes(into) == ["TARGET_BUSY"]


def test_pointers_of_lfs_are_never_written(work: Repository, tmp_path: Path, manifest: Path) -> None:
    work.commit({"docs/big.md": POINTER})
    bare = work.bare(tmp_path / "with.git")
    report = bare.applied(manifest, "main")

    assert codes(report) == ["READ_ONLY"]
    assert bare.files("main")["docs/big.md"] == POINTER


def test_hostile_names_in_a_tree_are_ignored(tmp_path: Path, bare: Repository, manifest: Path) -> None:
    blob = bare.git("hash-object", "-w", "--stdin", given=b"nightly\n")
    entries = "".join(f"100644 blob {blob}\t{name}\0" for name in ("a\\b.md", "bad\u202e.md", "ok.md"))
    inner = bare.git("mktree", "-z", given=entries.encode())
    tree = bare.git("mktree", "-z", given=f"040000 tree {inner}\tdocs\0".encode())
    bare.git("update-ref", "refs/heads/main", bare.git("commit-tree", "-m", "x", tree))
    report = bare.applied(manifest, "main")

    assert [file.file for file in report.files] == ["docs/ok.md"]
    assert bare.modes("main")["docs/a\\b.md"].split()[2] == blob
    bare.must_be_sound()


def test_root_can_be_a_folder_of_the_work_tree(work: Repository, tmp_path: Path) -> None:
    work.git("branch", "bot")
    manifest = load(str(write(tmp_path, MANIFEST.replace("docs/**", "**"))))
    report = apply_to_branch(work.engine("docs/deep"), manifest, HERE, "bot", GitCommit())

    assert [file.file for file in report.files] == ["er/two.md"]
    assert work.git("diff", "--name-only", "main", "bot") == "docs/deep/er/two.md"


def test_scope_applies_to_commits_too(bare: Repository, manifest: Path) -> None:
    from mdplan.engine.engine import Engine

    engine = Engine.open([bare.path], deny=["docs/deep"])
    report = apply_to_branch(engine, load(str(manifest)), HERE, "main", GitCommit())

    assert [file.file for file in report.files] == ["docs/one.md", "docs/run.sh"]


def test_missing_objects_of_files_that_stay_do_not_matter(bare: Repository, tmp_path: Path) -> None:
    edit = "{op: replace_match, pattern: nightly, replacement: stable}"
    manifest = write(tmp_path, f"files: [{{file: docs/one.md, edits: [{edit}]}}]\n")
    blob = bare.git("rev-parse", "main:docs/run.sh").strip()
    (bare.path / "objects" / blob[:2] / blob[2:]).unlink()

    assert bare.applied(manifest, "main").applied


def test_shallow_clone_gets_a_commit_that_can_be_pushed(
    work: Repository, tmp_path: Path, manifest: Path
) -> None:
    work.commit({"later.md": b"later\n"})
    shallow = tmp_path / "shallow"
    work.git("clone", "-q", "--bare", "--depth", "1", f"file://{work.path}", str(shallow))
    clone = Repository(shallow)
    report = clone.applied(manifest, "main")
    clone.git("push", "-q", str(work.path), "main:bot")

    assert work.at("bot") == report.commit
    work.must_be_sound()


def test_damaged_repository_is_an_environment_error(work: Repository, manifest: Path) -> None:
    blob = work.git("rev-parse", "main:docs/one.md")
    work.git("branch", "bot")
    (work.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    report = work.applied(manifest, "bot")

    assert codes(report) == ["IO_ERROR"]


@pytest.mark.parametrize("options", [("--object-format=sha256",)])
def test_unsupported_repository_format_is_rejected(
    tmp_path: Path, manifest: Path, options: tuple[str, ...]
) -> None:
    made = Repository.make(tmp_path / "other", *options)
    made.commit(FILES)

    assert codes(made.applied(manifest, "main")) == ["INVALID_ARGUMENT"]
    with pytest.raises(StorageRefused) as refused:
        made.planned(manifest, "main")
    assert [problem.code for problem in refused.value.problems] == [Code.INVALID_ARGUMENT]


def test_folder_without_a_repository_is_refused(tmp_path: Path, manifest: Path) -> None:
    (tmp_path / "plain").mkdir()

    assert codes(Repository(tmp_path / "plain").applied(manifest, "main")) == ["INVALID_ARGUMENT"]


def test_file_that_cannot_be_edited_is_not_in_the_commit_of_others(bare: Repository, tmp_path: Path) -> None:
    manifest = write(
        tmp_path,
        MANIFEST
        + "  - file: src/nightly.md\n    edits: [{op: replace_section, heading: Missing, markdown: x}]\n",
    )
    report = bare.applied(manifest, "main")

    assert (report.ok, report.applied, codes(report)) == (False, True, ["SECTION_NOT_FOUND"])
    assert bare.at("main") == report.commit


@pytest.mark.parametrize("signing", ["ssh_signing", "gpg_signing"])
def test_commit_is_signed_if_git_is_configured_to(
    bare: Repository,
    manifest: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    signing: str,
) -> None:
    (tmp_path / "gitconfig").write_text(request.getfixturevalue(signing))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))

    assert bare.applied(manifest, "main").applied
    bare.git("verify-commit", "main")


def test_commit_that_cannot_be_signed_is_not_made(bare: Repository, manifest: Path) -> None:
    before = bare.at("main")
    for name, value in {"commit.gpgSign": "true", "gpg.format": "ssh", "user.signingKey": "/missing"}.items():
        bare.git("config", name, value)

    report = bare.applied(manifest, "main")
    assert codes(report) == ["IO_ERROR"]
    assert "user.signingKey" in report.error.hint
    assert bare.at("main") == before


def test_missing_git_is_reported(bare: Repository, manifest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = bare.at("main")
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "/missing")
        report = bare.applied(manifest, "main")

    assert report.error.message == "git is not installed"
    assert bare.at("main") == before


NIGHTLY = GitCommit(branch="bot/nightly", rebuilds=True)


def test_bot_branch_is_rebuilt_on_the_newest_base(work: Repository, manifest: Path) -> None:
    first = work.applied(manifest, "main", NIGHTLY)
    base = work.commit({"docs/later.md": b"nightly\n"})
    without = work.applied(manifest, "main", GitCommit(branch="bot/nightly"))
    second = work.applied(manifest, "main", NIGHTLY)

    assert first.applied
    assert codes(without) == ["STALE_BASE"]
    assert "--rebuild" in (without.error.hint if without.error is not None else "")
    assert work.git("rev-list", "main..bot/nightly").split() == [second.commit]
    assert work.at("bot/nightly^") == base
    assert work.files("bot/nightly")["docs/later.md"] == b"stable\n"


def test_rebuild_without_changes_keeps_the_branch(work: Repository, manifest: Path) -> None:
    first = work.applied(manifest, "main", NIGHTLY)
    second = work.applied(manifest, "main", replace(NIGHTLY, message="another text"))

    assert second.commit == first.commit == work.at("bot/nightly")


@pytest.mark.parametrize("amended", [False, True])
def test_branch_with_a_foreign_commit_is_not_rebuilt(
    work: Repository, manifest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, amended: bool
) -> None:
    work.applied(manifest, "main", NIGHTLY)
    work.git("worktree", "add", "-q", str(tmp_path / "by-hand"), "bot/nightly")
    by_hand = Repository(tmp_path / "by-hand")
    by_hand.write({"docs/one.md": b"by hand\n"})
    how = ["--amend", "--no-edit"] if amended else ["-m", "by hand"]
    by_hand.git("add", "-A")
    with monkeypatch.context() as somebody:
        somebody.setenv("GIT_COMMITTER_NAME", "Eve")
        by_hand.git("commit", "-q", *how)
    tip = work.at("bot/nightly")
    work.git("worktree", "remove", "--force", str(by_hand.path))
    work.commit({"docs/later.md": b"nightly\n"})

    report = work.applied(manifest, "main", NIGHTLY)

    assert codes(report) == ["STALE_BASE"]
    assert work.at("bot/nightly") == tip


@pytest.fixture
def named_work(tmp_path: Path) -> Repository:
    """A work tree on `main`, with a branch, tags and a remote branch at its first commit."""
    made = Repository.make(tmp_path / "work")
    made.commit({"docs/a.md": b"nightly\n"})
    made.git("branch", "topic")
    made.git("tag", "light")
    made.git("tag", "-a", "-m", "x", "heavy")
    made.git("update-ref", "refs/remotes/origin/far", "HEAD")
    made.commit({"docs/b.md": b"nightly\n"})
    return made


@CASE_TABLES.parametrize("ref", "at", "branch")
def test_ref_resolves_to_a_commit_and_possibly_a_branch(
    named_work: Repository, ref: str, at: str, branch: str | None
) -> None:
    base = find_base(RepositoryLocation(str(named_work.path), ""), ref)

    assert (base.commit, base.branch) == (named_work.at(at), branch)


@pytest.mark.parametrize(
    "ref", ["missing", "", "../../etc", "refs/heads/main.lock", "ffffffff", "main:docs", "--all"]
)
def test_unknown_revision_is_rejected(named_work: Repository, manifest: Path, ref: str) -> None:
    assert codes(named_work.applied(manifest, ref)) == ["INVALID_ARGUMENT"]
    with pytest.raises(StorageRefused) as refused:
        named_work.planned(manifest, ref)
    assert [problem.code for problem in refused.value.problems] == [Code.INVALID_ARGUMENT]


def test_tag_of_a_tree_is_not_a_commit(named_work: Repository, manifest: Path) -> None:
    named_work.git("tag", "tree", "main^{tree}")

    assert codes(named_work.applied(manifest, "tree")) == ["INVALID_ARGUMENT"]


def test_name_shared_by_a_tag_and_a_branch_is_ambiguous(named_work: Repository, manifest: Path) -> None:
    named_work.git("tag", "topic", "main")
    report = named_work.applied(manifest, "topic")

    assert codes(report) == ["INVALID_ARGUMENT"]
    assert named_work.applied(manifest, "refs/heads/topic").applied


def test_tag_needs_a_branch_to_commit_to(named_work: Repository, manifest: Path) -> None:
    report = named_work.applied(manifest, "light")

    assert codes(report) == ["INVALID_ARGUMENT"]
    assert "--branch" in (report.error.hint if report.error else "")
    assert named_work.applied(manifest, "light", GitCommit(branch="new/one")).branch == "refs/heads/new/one"
    assert named_work.at("new/one~1") == named_work.at("light")
    named_work.must_be_sound()


def test_new_branch_starts_at_the_planned_commit(named_work: Repository, manifest: Path) -> None:
    before = named_work.at("main")
    report = named_work.applied(manifest, "main", GitCommit(branch="bot/docs"))

    assert report.applied
    assert (named_work.at("main"), named_work.at("bot/docs~1")) == (before, before)


def test_branch_at_another_commit_is_stale(named_work: Repository, manifest: Path) -> None:
    before = named_work.at("topic")
    report = named_work.applied(manifest, "main", GitCommit(branch="topic"))

    assert codes(report) == ["STALE_BASE"]
    assert named_work.at("topic") == before


@pytest.mark.parametrize("branch", ["-x", "a..b", "a b", "HEAD", "", "x.lock", "a/../b", "x\n"])
def test_invalid_branch_name_is_rejected(named_work: Repository, manifest: Path, branch: str) -> None:
    assert codes(named_work.applied(manifest, "main", GitCommit(branch=branch))) == ["INVALID_ARGUMENT"]


def test_branch_below_a_branch_is_refused(named_work: Repository, manifest: Path) -> None:
    report = named_work.applied(manifest, "light", GitCommit(branch="topic/below"))

    assert not report.ok
    assert not report.applied
    named_work.must_be_sound()


@pytest.mark.requirement("bot-git-4")
def test_checked_out_branch_is_refused(named_work: Repository, manifest: Path) -> None:
    before = named_work.at("main")
    for ref in ("main", "HEAD"):
        report = named_work.applied(manifest, ref)
        assert codes(report) == ["TARGET_BUSY"]
    assert named_work.at("main") == before
    assert named_work.planned(manifest, "main")[0].ok


@pytest.mark.requirement("bot-git-4")
def test_branch_of_a_linked_work_tree_is_refused(
    named_work: Repository, manifest: Path, tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    named_work.git("worktree", "add", "-q", str(linked), "topic")
    from_main = named_work.applied(manifest, "topic")
    from_linked = Repository(linked).applied(manifest, "main")

    assert codes(from_main) == codes(from_linked) == ["TARGET_BUSY"]
    assert str(linked) in (from_main.error.message if from_main.error else "")
    assert f"`{named_work.path}`" in (from_linked.error.message if from_linked.error else "")
    named_work.git("worktree", "remove", str(linked))
    assert named_work.applied(manifest, "topic").applied


def test_branch_of_a_work_tree_of_a_bare_repository_is_refused(
    named_work: Repository, manifest: Path, tmp_path: Path
) -> None:
    bare = named_work.bare(tmp_path / "bare.git")
    bare.git("worktree", "add", "-q", str(tmp_path / "linked"), "topic")

    assert codes(bare.applied(manifest, "topic")) == ["TARGET_BUSY"]
    assert bare.applied(manifest, "main").applied


def test_branch_of_a_running_rebase_is_refused(named_work: Repository, manifest: Path) -> None:
    named_work.commit({"docs/c.md": b"c\n"})
    named_work.git("checkout", "-q", "--detach")
    (named_work.path / ".git/rebase-merge").mkdir()
    (named_work.path / ".git/rebase-merge/head-name").write_text("refs/heads/main\n")

    assert codes(named_work.applied(manifest, "main")) == ["TARGET_BUSY"]


def test_detached_head_leaves_its_branch_free(named_work: Repository, manifest: Path) -> None:
    named_work.git("checkout", "-q", "--detach")

    assert named_work.applied(manifest, "main").applied
    assert codes(named_work.applied(manifest, "HEAD")) == ["INVALID_ARGUMENT"]


def test_symbolic_ref_moves_the_branch_it_points_to(named_work: Repository, manifest: Path) -> None:
    named_work.git("symbolic-ref", "refs/heads/alias", "refs/heads/topic")
    report = named_work.applied(manifest, "alias")

    assert report.branch == "refs/heads/topic"
    assert named_work.git("symbolic-ref", "refs/heads/alias") == "refs/heads/topic"
    named_work.git("symbolic-ref", "refs/heads/other", "refs/heads/main")
    assert codes(named_work.applied(manifest, "other")) == ["TARGET_BUSY"]


def test_locked_branch_is_refused_after_a_wait(named_work: Repository, manifest: Path) -> None:
    lock = named_work.path / ".git/refs/heads/topic.lock"
    lock.touch()
    report = named_work.applied(manifest, "topic")

    assert codes(report) == ["LOCK_TIMEOUT"]
    assert "topic.lock" in (report.error.hint if report.error else "")
    lock.unlink()
    assert named_work.applied(manifest, "topic").applied


def test_empty_repository_is_rejected(tmp_path: Path, manifest: Path) -> None:
    assert codes(Repository.make(tmp_path / "empty").applied(manifest, "main")) == ["INVALID_ARGUMENT"]


CONFIG = b"[user]\n\tname = Config User\n\temail = config@example.org\n"


@pytest.fixture
def author_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., bytes]:
    """The author in a repository with a configuration."""
    for name in [each for each in os.environ if each.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_COMMITTER_NAME", "Bo")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "bo@x")

    def author(config: bytes, given: str | None, environment: Mapping[str, str]) -> bytes:
        made = Repository.make(tmp_path / "made")
        with (made.path / ".git/config").open("ab") as file:
            file.write(config)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return signatures(RepositoryLocation(str(made.path), ""), given)[0]

    return author


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
    author_of: Callable[..., bytes], config: bytes, given: str | None, environment: dict[str, str], who: bytes
) -> None:
    assert author_of(config, given, environment) == who


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
def test_author_is_never_guessed(author_of: Callable[..., bytes], config: bytes, given: str | None) -> None:
    with pytest.raises(StorageRefused) as refused:
        author_of(config, given, {})
    assert [problem.code for problem in refused.value.problems] == [Code.INVALID_ARGUMENT]


@pytest.mark.parametrize("date", ["yesterday-ish", "9" * 40, "2023-13-41"])
def test_invalid_commit_time_is_rejected(
    named_work: Repository, manifest: Path, monkeypatch: pytest.MonkeyPatch, date: str
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", date)

    assert codes(named_work.applied(manifest, "topic")) == ["INVALID_ARGUMENT"]


@CASE_TABLES.parametrize("given", "expected")
def test_plan_is_the_last_trailer(given: str | None, expected: str) -> None:
    assert commit_message(given, "some/m.yml", "sha256-1").decode() == expected


def test_given_author_and_message_are_in_the_commit(named_work: Repository, manifest: Path) -> None:
    wanted = GitCommit(author="Élan <e@x>", message="docs: stable\n\nRefs: 1")
    report = named_work.applied(manifest, "topic", wanted)

    assert named_work.git("log", "-1", "--format=%an <%ae>|%cn|%B", "topic", "--").strip() == (
        "Élan <e@x>|Bo|docs: stable\n\nRefs: 1\n"
        f"Mdplan-Client: mdplan library {__version__}\nMdplan-Plan: {report.plan_id}"
    )


def test_missing_author_is_rejected_before_planning(
    named_work: Repository, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
        monkeypatch.delenv(name)
    report = named_work.applied(manifest, "topic")

    assert codes(report) == ["INVALID_ARGUMENT"]
    assert report.files_named == 0


PAGES = {f"docs/{name}.md": f"# {name}\n\nDate: 1\n".encode() for name in ("one", "two", "three")}
CHANGED_SINCE = CASE_TABLES.value("CHANGED_SINCE")


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
    manifest.write_text(CHANGED_SINCE, "utf-8")
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
    manifest.write_text(CHANGED_SINCE.replace("v1", f'"{name}"'), "utf-8")

    with propose(Engine.open([str(repository.path)]), load(str(manifest)), HERE, keeps=False) as proposal:
        problem = proposal.report.error

    assert problem is not None
    assert (problem.code.value, problem.place.line) == ("INVALID_ARGUMENT", 4)
    assert "names no commit" in problem.message


PAGE = b"---\nupdated: never\n---\n\n# Tea\n\n## Brew\n"
HISTORY_MANIFEST = CASE_TABLES.value("HISTORY_MANIFEST")


@pytest.fixture
def dated_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
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
    path.write_text(HISTORY_MANIFEST, "utf-8")
    return str(path)


def committed(dated_repository: Repository, folder: Path, ref: str) -> BotReport:
    engine = Engine.open(dated_repository.path)
    wanted = GitCommit(branch="bot")
    return apply_to_branch(engine, load(manifest(folder)), HERE, ref, wanted)


def test_page_gets_dates_authors_and_tag(dated_repository: Repository, tmp_path: Path) -> None:
    report = committed(dated_repository, tmp_path, "main")

    assert report.ok, report.error
    assert dated_repository.git("show", "bot:docs/tea.md").split("---")[1] == (
        '\nupdated: "2026-02-28"\ncreated: 31 January 2026\nauthors:\n  - Grace\n  - Ada\nrelease: v1.0\n'
    )


def test_commit_of_the_bot_does_not_count_as_a_change(dated_repository: Repository, tmp_path: Path) -> None:
    assert committed(dated_repository, tmp_path, "main").applied

    again = committed(dated_repository, tmp_path, "bot")

    assert (again.ok, again.no_op) == (True, True)


def test_untracked_file_has_no_history(dated_repository: Repository, tmp_path: Path) -> None:
    dated_repository.write({"docs/new.md": PAGE})
    engine = Engine.open(dated_repository.path / "docs")

    assert applied(engine, manifest(tmp_path)).ok
    assert b'updated: "2000-01-01"\n' in (dated_repository.path / "docs/new.md").read_bytes()
    assert b'updated: "2026-02-28"\n' in (dated_repository.path / "docs/tea.md").read_bytes()
