"""Racing and killed bots on one branch: every plan lands exactly once, none in part."""

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from mdplan.bot.bot import RunOptions
from mdplan.bot.commits import MOST_ATTEMPTS, GitCommit, apply_to_branch
from mdplan.git.tree import Objects
from mdplan.words import ShellWords
from tests.bot.golden import load
from tests.bot.repository import Repository, codes
from tests.conftest import FULL, REPOSITORY
from tests.support.patches import needs_git

pytestmark = [needs_git, pytest.mark.usefixtures("identity")]
BOTS = ("left", "right")
PLANS = 25 if FULL else 6
# The steps at which a bot is killed are that far apart.
STRIDE = 1 if FULL else 4


@pytest.fixture(autouse=True)
def code_for_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))


@pytest.fixture
def bare(tmp_path: Path) -> Repository:
    work = Repository.make(tmp_path / "work")
    work.commit({"shared.md": b"# Shared\n\nbegin\n", "docs/a.md": b"nightly\n"})
    return work.bare(tmp_path / "bare.git")


def line_of(bot: "subprocess.Popen[str]") -> str:
    assert bot.stdout is not None
    return bot.stdout.readline().rstrip("\n")


def script(name: str, *arguments: str) -> list[str]:
    return [sys.executable, str(REPOSITORY / "tests" / "bot" / name), *arguments]


def start_bots(bare: Repository, left_to_close: ExitStack) -> "list[subprocess.Popen[str]]":
    """Bots that wait for a line before each commit; they are killed when the test ends before them."""
    started = [
        left_to_close.enter_context(
            subprocess.Popen(
                script("racing_bot.py", str(bare.path), name, str(PLANS)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
        for name in BOTS
    ]
    for bot in started:
        left_to_close.callback(bot.kill)
    return started


def told_by(bot: "subprocess.Popen[str]", line: str) -> str:
    """The next line of `bot`, which begins with `line`; otherwise the test fails with all that it says."""
    told = line_of(bot)
    if not told.startswith(line):
        pytest.fail(f"{told}\n{bot.communicate()[0]}")
    return told


@pytest.mark.requirement("bot-git-1")
def test_every_plan_of_racing_bots_lands_exactly_once(bare: Repository) -> None:
    told: list[list[Any]] = []
    with ExitStack() as left_to_close:
        started = start_bots(bare, left_to_close)
        for _ in range(PLANS):
            for bot in started:
                told_by(bot, "planned")
            for bot in started:
                assert bot.stdin is not None
                bot.stdin.write("\n")
                bot.stdin.flush()
            # Refs are packed and objects repacked under them.
            bare.git("pack-refs", "--all")
            bare.git("repack", "-q", "-a", "-d")
            told += [json.loads(told_by(bot, "[")) for bot in started]
        assert [bot.communicate()[0] for bot in started] == ["", ""]

    assert [bot.returncode for bot in started] == [0, 0]
    assert all(applied for _, applied, _, _, _ in told)
    # At least one plan per round lands; a bot that meets the lock of `pack-refs` may also plan again.
    assert sum(rebased for *_, rebased in told) >= PLANS
    log = bare.git(
        "log", "--reverse", "--format=%H %s %(trailers:key=Mdplan-Plan,valueonly,separator=)", "main"
    )
    landed = [tuple(line.split()) for line in log.split("\n")[1:]]
    assert sorted(landed) == sorted((commit, line, plan) for line, _, plan, commit, _ in told)
    shared = bare.files("main")["shared.md"].decode().split()[2:]
    assert shared == ["begin", *(line for _, line, _ in landed)]
    assert {name for name in bare.files("main") if "-" in name} == {f"{line}.md" for line, *_ in told}
    bare.must_be_sound()


@pytest.mark.requirement("bot-git-9")
def test_commit_that_is_packed_during_lookup_is_found(
    bare: Repository, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process of git that began before lists packs that are gone, and objects that are not loose now."""
    read = Objects.read

    def repack_before(objects: Objects, name: str, kind: str) -> bytes:
        bare.git("repack", "-q", "-a", "-d", "-f")
        return read(objects, name, kind)

    monkeypatch.setattr(Objects, "read", repack_before)

    assert bare.applied(manifest, "main").applied


def test_missing_git_object_is_reported(bare: Repository, manifest: Path) -> None:
    def lose(event: str, _facts: object) -> None:
        if event == "committing":
            commit = bare.at("main")
            loose = bare.path / "objects" / commit[:2] / commit[2:]
            loose.unlink()

    report = apply_to_branch(
        bare.engine(), load(str(manifest)), RunOptions(jobs=1, on_event=lose), "main", GitCommit()
    )

    assert codes(report) == ["IO_ERROR"]
    assert not report.applied


def test_branch_moved_by_another_process_is_stale(bare: Repository, manifest: Path) -> None:
    def move(event: str, _facts: object) -> None:
        if event == "committing":
            advance(bare)

    before = bare.at("main")
    report = apply_to_branch(
        bare.engine(), load(str(manifest)), RunOptions(jobs=1, on_event=move), "main", GitCommit()
    )

    assert codes(report) == ["STALE_BASE"]
    assert "`--rebase`" in ShellWords().tell(report.error).hint
    assert not report.applied
    assert bare.at("main~1") == before
    bare.must_be_sound()


def test_rebase_replans_on_the_commits_of_others(bare: Repository, manifest: Path) -> None:
    events: list[str] = []

    def move_twice(event: str, _facts: object) -> None:
        events.append(event)
        if event == "committing" and events.count(event) <= 2:
            advance(bare, f"docs/new{events.count(event)}.md")

    how = RunOptions(jobs=1, on_event=move_twice)
    report = apply_to_branch(bare.engine(), load(str(manifest)), how, "main", GitCommit(on_stale="rebase"))

    assert (report.applied, report.rebased) == (True, True)
    assert events.count("rebasing") == 2
    assert {name for name, data in bare.files("main").items() if data == b"stable\n"} == {
        "docs/a.md",
        "docs/new1.md",
        "docs/new2.md",
    }
    assert bare.git("rev-list", "--count", "main") == "4"


def test_rebase_gives_up_after_a_limited_number_of_attempts(bare: Repository, manifest: Path) -> None:
    moved: list[str] = []

    def always_move(event: str, _facts: object) -> None:
        if event == "committing":
            moved.append(event)
            advance(bare, f"docs/new{len(moved)}.md")

    how = RunOptions(jobs=1, on_event=always_move)
    report = apply_to_branch(bare.engine(), load(str(manifest)), how, "main", GitCommit(on_stale="rebase"))

    assert codes(report) == ["STALE_BASE"]
    assert len(moved) == MOST_ATTEMPTS


def test_branch_created_by_another_process_is_stale(bare: Repository, manifest: Path) -> None:
    def make(event: str, _facts: object) -> None:
        if event == "committing":
            bare.git("branch", "bot", "main")

    wanted = GitCommit(branch="bot")
    report = apply_to_branch(
        bare.engine(), load(str(manifest)), RunOptions(jobs=1, on_event=make), "main", wanted
    )

    assert codes(report) == ["STALE_BASE"]
    assert bare.at("bot") == bare.at("main")


def test_branch_checked_out_by_another_process_is_refused(
    bare: Repository, manifest: Path, tmp_path: Path
) -> None:
    def check_out(event: str, _facts: object) -> None:
        if event == "committing":
            bare.git("worktree", "add", "-q", str(tmp_path / "linked"), "main")

    before = bare.at("main")
    how = RunOptions(jobs=1, on_event=check_out)
    report = apply_to_branch(bare.engine(), load(str(manifest)), how, "main", GitCommit())

    assert codes(report) == ["TARGET_BUSY"]
    assert bare.at("main") == before


@pytest.mark.requirement("bot-git-2")
def test_killed_bot_leaves_the_branch_old_or_new(bare: Repository, manifest: Path, tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    folder.mkdir()
    before = bare.at("main")
    done = subprocess.run(
        script("killed_bot.py", str(bare.path), str(folder), str(manifest), str(STRIDE)),
        check=True,
        capture_output=True,
        text=True,
    )
    killed = range(1, int(done.stdout), STRIDE)
    old: list[int] = []
    for step in killed:
        copy = Repository(folder / str(step))
        copy.must_be_sound()
        is_old = copy.at("main") == before
        old += [step] if is_old else []
        assert copy.files("main")["docs/a.md"] == (b"nightly\n" if is_old else b"stable\n")
        # The next run reports git's own stale lock in the same way.
        again = copy.applied(manifest, "main")
        if codes(again) == ["LOCK_TIMEOUT"]:
            (copy.path / "refs/heads/main.lock").unlink()
            again = copy.applied(manifest, "main")
        assert again.ok, again.diagnostics
        assert again.applied is is_old
        assert copy.files("main")["docs/a.md"] == b"stable\n"
        copy.must_be_sound()

    assert len(killed) > 5
    assert old == list(killed[: len(old)])


def advance(repository: Repository, name: str = "other.md") -> None:
    """Commit one more file to `main`, as another program would."""
    blob = repository.git("hash-object", "-w", "--stdin", given=b"nightly\n")
    entry = f"100644 blob {blob}\t{name.rpartition('/')[2]}\n"
    if "/" in name:
        listed = repository.git("ls-tree", "main:docs")
        inner = repository.git("mktree", given=f"{listed}\n{entry}".encode())
        entry = f"040000 tree {inner}\tdocs\n"
    others = [line for line in repository.git("ls-tree", "main").split("\n") if not line.endswith("\tdocs")]
    kept = [] if "/" in name else [repository.git("ls-tree", "main", "docs")]
    tree = repository.git("mktree", given="\n".join([*others, *kept, entry]).encode())
    commit = repository.git("commit-tree", "-p", "main", "-m", "by another", tree)
    repository.git("update-ref", "refs/heads/main", commit)
