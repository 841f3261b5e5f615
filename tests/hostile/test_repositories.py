"""Repositories whose configuration names programs: none of them runs, and other users' repositories are
refused.
"""

import subprocess
from pathlib import Path

import pytest

from mdplan.bot.commits import GitCommit
from mdplan.bot.forge import Remote
from mdplan.git.repository import RepositoryLocation
from mdplan.git.tree import CommitFileSystem, Objects
from tests.bot.repository import IDENTITY, Repository, codes
from tests.support.case_tables import CaseTables
from tests.support.patches import needs_git
from tests.surfaces.command_line import mdplan

CASE_TABLES = CaseTables(__file__)


pytestmark = [needs_git, pytest.mark.usefixtures("identity")]
MANIFEST = CASE_TABLES.value("MANIFEST")
STABLE = CASE_TABLES.value("STABLE")


@pytest.fixture
def identity(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """The file that a planted program makes."""
    return tmp_path / "ran"


@pytest.fixture
def planted(tmp_path: Path, ran: Path) -> Repository:
    """A work tree with changes, whose configuration and attributes name a program wherever they can."""
    made = Repository.make(tmp_path / "work")
    made.commit({"a.md": b"# A\n\nnightly\n", "docs/b.md": b"nightly\n"})
    made.git("tag", "v1")
    attributes = b"*.md filter=planted diff=planted merge=planted\n"
    made.commit({"a.md": b"# A\n\nnightly, too\n", ".gitattributes": attributes})
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $0 $* >> {ran}\ncat\n")
    program.chmod(0o755)
    hooks = made.path / ".git/hooks"
    for name in ("post-index-change", "reference-transaction", "post-commit", "fsmonitor-watchman"):
        (hooks / name).write_bytes(program.read_bytes())
        (hooks / name).chmod(0o755)
    made.write({"docs/b.md": b"nightly 2\n", "docs/new.md": b"nightly\n"})
    for name in (
        *("core.fsmonitor", "core.pager", "core.editor", "pager.log", "pager.diff", "diff.external"),
        *("filter.planted.clean", "filter.planted.smudge", "filter.planted.process"),
        *("diff.planted.command", "diff.planted.textconv", "gpg.program", "remote.origin.uploadpack"),
    ):
        made.git("config", name, str(program))
    switches = {
        "core.fsmonitorHookVersion": "2",
        "core.hooksPath": str(hooks),
        "filter.planted.required": "true",
        "log.showSignature": "true",
        "color.ui": "always",
        "diff.relative": "true",
        "remote.origin.url": str(tmp_path / "work"),
        "remote.origin.promisor": "true",
        "extensions.partialClone": "origin",
        "core.repositoryFormatVersion": "1",
    }
    for name, value in switches.items():
        made.git("config", name, value)
    # Git must look at the content of this one.
    (made.path / "a.md").touch()
    ran.unlink(missing_ok=True)
    return made


def test_programs_of_a_configuration_never_run(planted: Repository, tmp_path: Path, ran: Path) -> None:
    manifest = tmp_path / "bot.yml"
    manifest.write_text(MANIFEST)
    root = ("--root", str(planted.path), "--json")

    checked = mdplan("check", "--since", "HEAD", *root)
    on_disk = mdplan("bot", "check", str(manifest), *root)
    committed = planted.applied(manifest, "main", GitCommit(branch="bot"))

    assert checked.code == 0, checked.err
    assert [file["file"] for file in on_disk.json["files"] if file["changed"]] == [
        "a.md",
        "docs/b.md",
        "docs/new.md",
    ]
    assert (codes(committed), [file.file for file in committed.files]) == ([], ["a.md"])
    assert not ran.exists(), ran.read_text()


@pytest.mark.requirement("bot-git-4")
def test_missing_objects_are_never_fetched(planted: Repository, ran: Path) -> None:
    blob = planted.git("rev-parse", "HEAD:docs/b.md")
    (planted.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    objects = Objects(RepositoryLocation(str(planted.path), ""))
    for name in (blob, "0" * 40):
        with pytest.raises(OSError, match="Input/output error"):
            objects.read(name, "blob")
    assert objects.tree_of(planted.at("HEAD")) == planted.git("rev-parse", "HEAD^{tree}")
    objects.close()

    assert not ran.exists(), ran.read_text()


@pytest.mark.parametrize("bare", [False, True])
def test_repository_of_another_user_is_refused(
    planted: Repository, tmp_path: Path, ran: Path, monkeypatch: pytest.MonkeyPatch, *, bare: bool
) -> None:
    place = planted.bare(tmp_path / "bare.git") if bare else planted
    manifest = tmp_path / "bot.yml"
    manifest.write_text(MANIFEST)
    # Git has no other way to learn this without another user.
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    root = ("--root", str(place.path), "--json")
    runs = [
        mdplan("check", "--since", "HEAD", *root),
        mdplan("bot", "check", str(manifest), *root),
        mdplan("bot", "apply", str(manifest), "--git", "main", *root),
    ]

    assert [run.json["error"]["code"] for run in runs] == ["PERMISSION_DENIED"] * 3
    assert "safe.directory" in runs[0].json["error"]["hint"]
    assert not ran.exists(), ran.read_text()


@pytest.mark.parametrize("root", ["docs", "docs/objects"])
def test_bare_repository_in_the_files_of_another_is_refused(tmp_path: Path, ran: Path, root: str) -> None:
    outer = Repository.make(tmp_path / "outer")
    outer.commit({"a.md": b"nightly\n"})
    inner = outer.bare(outer.path / "docs")
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    inner.git("config", "core.fsmonitor", str(program))
    manifest = tmp_path / "bot.yml"
    manifest.write_text(STABLE)
    at = ("--root", str(outer.path / root), "--json")
    untracked = mdplan("bot", "plan", str(manifest), "--git", "main", *at)
    outer.git("add", "-A")
    tracked = [
        mdplan("check", "--since", "HEAD", *at),
        mdplan("bot", "plan", str(manifest), "--git", "main", *at),
    ]

    assert untracked.code == 0, untracked.err
    assert [run.json["error"]["code"] for run in tracked] == ["INVALID_ARGUMENT"] * 2
    assert not ran.exists()


@CASE_TABLES.parametrize("root", "config")
def test_planted_repository_is_refused_before_it_is_read(
    tmp_path: Path, ran: Path, root: str, config: str
) -> None:
    outer = Repository.make(tmp_path / "outer")
    outer.commit({"a.md": b"nightly\n"})
    for folder in ("docs", "docs/inner"):
        inner = outer.bare(outer.path / folder)
        (inner.path / "config").write_text(config.replace("RAN", str(ran)))
    outer.git("add", "-A")
    (tmp_path / "bot.yml").write_text(STABLE)
    words = ("bot", "apply", str(tmp_path / "bot.yml"), "--git", "main", "--branch", "bot", "--json")
    run = mdplan(*words, "--root", str(outer.path / root))

    assert run.json["error"]["code"] == "INVALID_ARGUMENT"
    assert "is a bare repository in the files of another one" in run.json["error"]["message"]
    assert not ran.exists()


def test_variables_of_a_hook_name_no_other_repository(
    planted: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Repository.make(tmp_path / "other")
    other.commit({"a.md": b"other\n"})
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.path / ".git/index"))
    run = mdplan("check", "--since", "v1", "--root", str(planted.path), "--json")

    assert run.code == 0, run.err


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "--output=x", "-", "a b\nHEAD", "HEAD:a.md"])
def test_hostile_names_of_commits_are_refused(planted: Repository, tmp_path: Path, name: str) -> None:
    manifest = tmp_path / "bot.yml"
    manifest.write_text(STABLE)

    assert codes(planted.applied(manifest, name)) == ["INVALID_ARGUMENT"]
    assert codes(planted.applied(manifest, "v1", GitCommit(branch=name))) == ["INVALID_ARGUMENT"]


@pytest.mark.parametrize("damage", [b"", b"damaged", None])
def test_damaged_tree_is_an_error(planted: Repository, tmp_path: Path, damage: bytes | None) -> None:
    tree = planted.git("rev-parse", "HEAD:docs")
    target = planted.path / ".git/objects" / tree[:2] / tree[2:]
    target.unlink()
    if damage is not None:
        target.write_bytes(damage)
    manifest = tmp_path / "bot.yml"
    manifest.write_text(STABLE)

    assert codes(planted.applied(manifest, "main", GitCommit(branch="bot"))) == ["IO_ERROR"]
    assert planted.git("for-each-ref", "refs/heads/bot") == ""


@CASE_TABLES.parametrize("missing", "glob")
def test_missing_object_is_no_missing_file(
    planted: Repository, tmp_path: Path, missing: str, glob: str
) -> None:
    name = planted.git("rev-parse", f"HEAD:{missing}")
    (planted.path / ".git/objects" / name[:2] / name[2:]).unlink()
    manifest = tmp_path / "bot.yml"
    manifest.write_text(STABLE.replace("**/*.md", glob))

    assert codes(planted.applied(manifest, "main", GitCommit(branch="bot"))) == ["IO_ERROR"]


@CASE_TABLES.parametrize("event")
def test_event_of_a_hook_that_is_none_is_refused(planted: Repository, event: str) -> None:
    run = mdplan(
        "check", "--hook", "--root", str(planted.path), stdin=event.replace("…", "[" * 100_000).encode()
    )

    assert (run.code, run.err.startswith("error: INVALID_ARGUMENT: ")) == (2, True), run.err


def test_trees_in_each_other_have_a_limit(
    planted: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CommitFileSystem, "most_listed", 20_000)
    tree = planted.git("rev-parse", "HEAD:docs")
    for _ in range(9):
        listed = "".join(f"040000 tree {tree}\td{number}\n" for number in range(10))
        tree = planted.git("mktree", given=listed.encode())
    planted.git("branch", "bomb", planted.git("commit-tree", tree, "-m", "bomb"))
    manifest = tmp_path / "bot.yml"
    manifest.write_text(STABLE)

    assert codes(planted.applied(manifest, "bomb", GitCommit(branch="bot"))) == ["BATCH_TOO_LARGE"]


@CASE_TABLES.parametrize("text")
def test_file_of_submodules_never_stops_a_fetch(tmp_path: Path, text: str) -> None:
    upstream = Repository.make(tmp_path / "upstream")
    upstream.commit({"a.md": b"# A\n"})
    upstream.git("clone", "-q", str(upstream.path), str(tmp_path / "work"))
    Repository(tmp_path / "work").write({".gitmodules": text.encode(), "s/.git": b"gitdir: /\n"})
    tip = upstream.commit({"a.md": b"# A\n\nnew\n"})

    Remote(RepositoryLocation(str(tmp_path / "work"), ""), "origin").fetch("main")
    assert Repository(tmp_path / "work").git("rev-parse", "refs/remotes/origin/main") == tip


def test_answers_of_git_are_in_english(planted: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    done = RepositoryLocation(str(planted.path), "").git("rev-parse", "--verify", "missing")

    assert isinstance(done, subprocess.CompletedProcess)
    assert done.stderr == b"fatal: Needed a single revision\n"
