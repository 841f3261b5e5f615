"""A manifest on many repositories: each ends with one right branch, whatever happens on the way."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from mdplan.bot.fleet import read_repositories
from tests.bot.fake_forge import FakeForge
from tests.bot.repository import BRANCH, MANIFEST, Repository
from tests.conftest import REPOSITORY
from tests.docs.pages import blocks_of
from tests.support.case_tables import CaseTables
from tests.support.patches import needs_git
from tests.surfaces.command_line import mdplan

CASE_TABLES = CaseTables(__file__)


pytestmark = [needs_git, pytest.mark.usefixtures("identity")]
PAGE = REPOSITORY / "docs" / "how-to" / "run-a-fleet.md"
COUNT = 200
KILLS = 5


@pytest.fixture
def many(tmp_path: Path) -> list[Repository]:
    """Bare repositories; the second has nothing to do."""
    return [make(tmp_path, number) for number in range(3)]


def make(folder: Path, number: int) -> Repository:
    people = Repository.make(folder / f"people-{number}")
    text = "stable" if number % 5 == 1 else "nightly"
    people.commit({"docs/one.md": f"# {number}\n\nThe {text} build.\n".encode(), "other.md": b"nightly\n"})
    return people.bare(folder / f"remote-{number}.git")


def run(folder: Path, verb: str, *more: str) -> Any:
    if verb == "status":
        return mdplan("fleet", "status", "--work", str(folder / "work"), "--json")
    words = ["bot.yml", "repos.yml", "--work", str(folder / "work"), "--jobs", "1", *more]
    paths = [str(folder / word) if word.endswith(".yml") else word for word in words]
    return mdplan("fleet", verb, *paths, "--json", "--root", str(folder))


def write_lists(folder: Path, many: list[Repository]) -> None:
    (folder / "bot.yml").write_text(MANIFEST)
    listed = [
        {"name": f"r{number}", "address": str(each.path), "github": f"acme/r{number}"}
        for number, each in enumerate(many)
    ]
    (folder / "repos.yml").write_text(yaml.safe_dump({"repositories": listed}))


def states(done: Any) -> list[str]:
    return [each["state"] for each in done.json["repositories"]]


def test_pull_requests_of_a_fleet_are_opened_updated_merged_and_closed(
    forge: FakeForge, tmp_path: Path, many: list[Repository]
) -> None:
    write_lists(tmp_path, many)
    opened = run(tmp_path, "open")
    calls = len(forge.calls)
    again = run(tmp_path, "open")
    calls_again = len(forge.calls) - calls

    people = Repository(tmp_path / "people-0")
    people.commit({"docs/two.md": b"nightly\n"})
    people.git("push", "-q", str(many[0].path), "HEAD:main")
    renewed = run(tmp_path, "open")
    merged = run(tmp_path, "merge")
    status = run(tmp_path, "status")

    assert [states(each) for each in (opened, again, renewed)] == [["open", "nothing to do", "open"]] * 3
    assert calls_again == 0
    assert states(merged) == states(status) == ["merged", "nothing to do", "merged"]
    assert [(pull["repository"], pull["state"]) for pull in forge.pulls] == [
        ("acme/r0", "merged"),
        ("acme/r2", "merged"),
    ]
    commit = renewed.json["repositories"][0]["branches"][0]["commit"]
    assert forge.pulls[0]["merged"] == commit
    assert renewed.json["repositories"][0]["files"] == 2
    assert [BRANCH in each.git("branch") for each in many] == [False] * 3


def test_commits_of_a_fleet_are_made_by_the_forge(
    forge: FakeForge, tmp_path: Path, many: list[Repository], monkeypatch: pytest.MonkeyPatch
) -> None:
    forge.repositories = {f"acme/r{number}": each for number, each in enumerate(many)}
    write_lists(tmp_path, many)
    with monkeypatch.context() as yesterday:
        yesterday.setenv("GIT_COMMITTER_DATE", "2026-01-31T12:00:00+01:00")
        by_git = run(tmp_path, "open")
    opened, again = (run(tmp_path, "open", "--commits", "forge") for _ in range(2))
    made = [repository["branches"] for repository in opened.json["repositories"]]

    assert [states(each) for each in (by_git, opened, again)] == [["open", "nothing to do", "open"]] * 3
    assert [each[0]["commit"] if each else None for each in made] == [
        many[0].at(BRANCH),
        None,
        many[2].at(BRANCH),
    ]
    assert {many[number].git("log", "-1", "--format=%cn", BRANCH) for number in (0, 2)} == {"GitHub"}
    assert many[0].files(BRANCH)["docs/one.md"] == b"# 0\n\nThe stable build.\n"
    assert [each.git("branch", "--format=%(refname:short)").split() for each in many] == [
        ["main", BRANCH],
        ["main"],
        ["main", BRANCH],
    ]
    assert forge.calls.count("POST /graphql") == 2


def test_failure_in_one_repository_does_not_stop_the_others(tmp_path: Path, many: list[Repository]) -> None:
    shutil.rmtree(many[0].path)
    write_lists(tmp_path, many)
    opened = run(tmp_path, "open", "--forge", "none")
    tip = many[2].at(BRANCH)
    closed = run(tmp_path, "close", "--forge", "none")

    assert (opened.code, states(opened)) == (6, ["failed", "nothing to do", "open"])
    said = opened.json["error"]["message"].removeprefix("r0: ")
    assert said.startswith("`git ls-remote` failed: fatal: ")
    assert "\\n" not in said
    assert tip == opened.json["repositories"][2]["branches"][0]["commit"]
    assert states(closed) == ["failed", "nothing to do", "closed"]
    assert BRANCH not in many[2].git("branch")


def test_commit_of_a_person_is_kept_where_that_is_asked(tmp_path: Path, many: list[Repository]) -> None:
    write_lists(tmp_path, many)
    run(tmp_path, "open", "--forge", "none")
    people = Repository(tmp_path / "people-0")
    people.git("remote", "add", "origin", str(many[0].path))
    by_hand = people.push_by_hand(BRANCH, {"docs/hand.md": b"nightly by hand\n"})
    people.push({"docs/two.md": b"nightly\n"})
    refused = run(tmp_path, "open", "--forge", "none")
    merged = run(tmp_path, "open", "--forge", "none", "--merge")

    assert (refused.code, states(refused)) == (4, ["failed", "nothing to do", "open"])
    assert refused.json["error"]["message"].endswith(f"has the commit {by_hand[:12]} by Eve <bo@example.org>")
    assert refused.json["error"]["hint"].endswith("keep its commits: `--merge`")
    assert (merged.code, states(merged)) == (0, ["open", "nothing to do", "open"])
    assert by_hand in many[0].git("rev-list", BRANCH).split()
    assert many[0].files(BRANCH)["docs/two.md"] == b"stable\n"


@CASE_TABLES.parametrize("text", "message")
def test_invalid_list_of_repositories_is_rejected(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bot.yml").write_text(MANIFEST)
    (tmp_path / "repos.yml").write_text(text)
    done = run(tmp_path, "open")

    assert (done.code, done.json["error"]["message"]) == (2, message)


def test_documented_list_of_repositories_is_read(tmp_path: Path) -> None:
    (block,) = [each for each in blocks_of(PAGE) if each.info[-1] == "repos.yml"]
    (tmp_path / "repos.yml").write_text(block.text)
    members = read_repositories(str(tmp_path / "repos.yml"), "main")

    assert [(each.name, each.base, each.github) for each in members] == [
        ("acme/handbook", "main", None),
        ("acme/api-docs", "develop", None),
        ("site", "main", "acme/site"),
    ]


def kill_after(command: list[str], visits: int, seconds: float) -> None:
    """Kill a run `seconds` after it has visited this many repositories."""
    process = subprocess.Popen(
        [*command, "--progress", "jsonl"],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    seen = 0
    while seen < visits:
        seen += json.loads(process.stderr.readline())["event"] == "visited"
    time.sleep(seconds)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("signing", ["ssh_signing", "gpg_signing"])
def test_repeatedly_killed_fleet_run_ends_with_the_same_pull_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, signing: str
) -> None:
    many = [make(tmp_path, number) for number in range(COUNT)]
    write_lists(tmp_path, many)
    config = tmp_path / "gitconfig"
    config.write_text(request.getfixturevalue(signing))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    command = [sys.executable, "-m", "mdplan", "fleet", "open", "--forge", "none", "--jobs", "2"]
    command += [str(tmp_path / "bot.yml"), str(tmp_path / "repos.yml"), "--work", str(tmp_path / "work")]
    draw = random.Random(26)
    for number in range(1, KILLS + 1):
        kill_after(command, number * COUNT // (KILLS + 1), draw.uniform(0, 0.3))
        left = [each for each in states(run(tmp_path, "status")) if each == "pending"]
        assert left
    done = subprocess.run(command, check=False, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert run(tmp_path, "status").json["ok"]
    for number, each in enumerate(many):
        branches = each.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split()
        assert branches == (["main"] if number % 5 == 1 else ["main", BRANCH])
        if BRANCH in branches:
            assert each.files(BRANCH)["docs/one.md"] == f"# {number}\n\nThe stable build.\n".encode()
            assert each.files(BRANCH)["other.md"] == b"nightly\n"
            assert each.git("rev-list", "--count", f"main..{BRANCH}") == "1"
            each.git("verify-commit", BRANCH)
        each.must_be_sound()
