"""`mdplan bot --git` as people and CI run it: exit codes, streams, messages."""

from pathlib import Path

import pytest

from tests.bot.repository import IDENTITY, MANIFEST, Repository
from tests.support.case_tables import CaseTables
from tests.support.patches import needs_git
from tests.surfaces.command_line import mdplan

CASE_TABLES = CaseTables(__file__)


pytestmark = needs_git


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """The current folder has a manifest, a work tree `work` and the bare `docs.git`."""
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    Path("bot.yml").write_text(MANIFEST, encoding="utf-8")
    work = Repository.make(tmp_path / "work")
    work.commit({"docs/a.md": b"nightly\n"})
    return work.bare(tmp_path / "docs.git")


def bot(verb: str, *options: str) -> tuple[str, ...]:
    return ("bot", verb, "bot.yml", "--git", "main", "--root", "docs.git", *options)


def test_plan_prints_the_diff_and_the_next_step(bare: Repository) -> None:
    run = mdplan(*bot("plan"))

    assert run.code == 0
    assert run.out.startswith(b"diff --git a/docs/a.md b/docs/a.md\n")
    assert f" for main ({bare.at('main')[:12]}).\n" in run.err
    assert "To commit: mdplan bot apply bot.yml --git main --root docs.git\n" in run.err


def test_plan_file_applies_to_a_work_tree_of_that_commit() -> None:
    written = mdplan(*bot("plan", "--output", "plan.json"))
    applied = mdplan("apply", "plan.json", "--root", "work")

    assert (written.code, applied.code) == (0, 0)
    assert " written to plan.json.\n" in written.err
    assert Path("work/docs/a.md").read_bytes() == b"stable\n"


def test_report_names_the_commits(bare: Repository) -> None:
    base = bare.at("main")
    planned, applied = (mdplan(*bot(verb, "--json")).json for verb in ("plan", "apply"))

    assert (planned["baseCommit"], planned.get("commit")) == (base, None)
    assert {name: applied[name] for name in ("applied", "baseCommit", "commit", "branch")} == {
        "applied": True,
        "baseCommit": base,
        "commit": bare.at("main"),
        "branch": "refs/heads/main",
    }


def test_commit_options_set_author_message_and_branch(bare: Repository) -> None:
    author = "Cy <cy@example.org>"
    run = mdplan(*bot("apply", "--branch", "next", "-m", "Go stable", "--author", author))

    assert run.code == 0
    assert bare.git("log", "-1", "--format=%an <%ae> %s", "next") == f"{author} Go stable"
    assert bare.files("main") == {"docs/a.md": b"nightly\n"}


@pytest.mark.parametrize("option", [("--branch", "x"), ("-m", "x"), ("--author", "A <a@x>"), ("--rebase",)])
def test_commit_options_require_git(option: tuple[str, str]) -> None:
    run = mdplan("bot", "apply", "bot.yml", "--root", "work", *option)

    assert run.code == 2
    assert "needs `--git`" in run.err
    assert Path("work/docs/a.md").read_bytes() == b"nightly\n"


@CASE_TABLES.parametrize("options", "code", "told", tuples=True)
def test_git_refusals_have_exit_codes(options: tuple[str, ...], code: int, told: str) -> None:
    run = mdplan("bot", "apply", "bot.yml", *options)

    assert (run.code, told in run.err) == (code, True)


def test_moved_branch_exits_with_4(bare: Repository) -> None:
    mdplan(*bot("apply", "--branch", "next"))
    run = mdplan(*bot("apply", "--branch", "next"))

    assert run.code == 4
    assert "STALE_BASE" in run.err


def test_pull_request_branch_is_pushed_and_then_deleted(bare: Repository) -> None:
    bare.git("clone", "-q", ".", str(Path("clone").absolute()))
    pr = ("bot", "pr", "bot.yml", "--root", "clone", "--forge", "none")
    first = mdplan(*pr)
    pushed = bare.at("mdplan/bot")
    bare.git("update-ref", "refs/heads/main", pushed)
    last = mdplan(*pr)

    assert (first.code, last.code) == (0, 0)
    assert f"Pushed {pushed[:12]} to mdplan/bot on origin.\n" in first.err
    assert "Nothing to change" in last.err
    assert bare.git("branch", "--list", "mdplan/bot") == ""


def test_pull_request_needs_a_token(bare: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GH_TOKEN", "GITHUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    bare.git("clone", "-q", ".", str(Path("clone").absolute()))
    run = mdplan("bot", "pr", "bot.yml", "--root", "clone")

    assert run.code == 2
    assert "set GH_TOKEN, or use `--forge none`" in run.err
