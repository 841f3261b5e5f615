"""A manifest on many repositories: each ends with one right branch, whatever happens on the way."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from mdplan.bot.bot import RunOptions
from mdplan.bot.fleet import (
    Fleet,
    FleetMember,
    FleetRepository,
    FleetState,
    FleetStates,
    Shard,
    Visit,
    read_repositories,
    run_fleet,
)
from mdplan.bot.forge import Governor
from mdplan.git import repository
from mdplan.values import replace
from tests.bot.fake_forge import FakeForge
from tests.bot.fleet_simulation import Simulation
from tests.bot.repository import BRANCH, MANIFEST, Repository
from tests.conftest import REPOSITORY
from tests.docs.pages import blocks_of
from tests.support.case_tables import CaseTables
from tests.support.patches import needs_git
from tests.surfaces.command_line import mdplan

CASE_TABLES = CaseTables(__file__)


pytestmark = [needs_git, pytest.mark.usefixtures("identity")]
PAGE = REPOSITORY / "docs" / "how-to" / "run-a-fleet.md"


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


def make_empty(remote: Repository) -> None:
    shutil.rmtree(remote.path)
    Repository.make(remote.path, "--bare")


def make_broken(remote: Repository) -> None:
    for each in (remote.path / "objects").rglob("*"):
        if each.is_file():
            each.chmod(0o600)
            each.write_bytes(b"torn")


def add_hook(remote: Repository, message: str) -> None:
    hook = remote.path / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho '{message}' >&2\nexit 1\n")
    hook.chmod(0o755)


@CASE_TABLES.parametrize("change", "expected")
def test_each_kind_of_repository_has_an_outcome(
    forge: FakeForge,
    tmp_path: Path,
    many: list[Repository],
    monkeypatch: pytest.MonkeyPatch,
    change: str,
    expected: list[Any],
) -> None:
    first, (facts, state, code, said) = many[0], expected
    changes = {
        "empty": lambda: make_empty(first),
        "broken": lambda: make_broken(first),
        "no base": lambda: first.git("branch", "-m", "main", "trunk"),
        "hanging": lambda: write_lists(tmp_path, [Repository(Path("ssh://host/x")), *many[1:]]),
    }
    write_lists(tmp_path, many)
    forge.facts["acme/r0"] = facts
    changes.get(change, lambda: change and add_hook(first, change))()
    monkeypatch.setattr(repository, "_REMOTE_SECONDS", 2)
    monkeypatch.setenv("GIT_SSH_COMMAND", "sleep 9; true")
    done = run(tmp_path, "open")

    assert (states(done), done.code) == ([state, "nothing to do", "open"], code)
    assert said in json.dumps(done.json.get("error", "")) + json.dumps(forge.pulls)


def killed_by_its_repository(fleet: Fleet, visit: Visit) -> FleetRepository:
    if visit[0].name in {"r2", "r7"}:
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(visit[1], state=FleetState.NOTHING)


def test_repository_that_kills_its_process_fails_alone(tmp_path: Path) -> None:
    members = [FleetMember(name=f"r{number}", address="", base="main") for number in range(12)]
    known = FleetStates(tmp_path / "states.jsonl", BRANCH, Shard())
    known.begin(members)
    fleet: Any = SimpleNamespace(work=str(tmp_path))
    report = run_fleet(killed_by_its_repository, fleet, members, known, RunOptions(jobs=2))

    assert [each.name for each in report.repositories] == [each.name for each in members]
    assert [each.name for each in report.repositories if each.error is not None] == ["r2", "r7"]
    assert FleetStates.read(known.path) == known


@pytest.mark.parametrize("verb", ["merge", "close"])
def test_lost_branches_are_read_back_from_the_repository(
    forge: FakeForge, tmp_path: Path, many: list[Repository], verb: str
) -> None:
    write_lists(tmp_path, many)
    run(tmp_path, "open")
    shutil.rmtree(tmp_path / "work")
    done = run(tmp_path, verb)
    ended = {"merge": "merged", "close": "closed"}[verb]

    assert (done.code, states(done)) == (0, [ended, "nothing to do", ended])
    assert [pull["state"] for pull in forge.pulls] == [ended, ended]
    assert [BRANCH in each.git("branch") for each in many] == [False] * 3


def test_shards_of_any_list_are_disjoint_and_stay(tmp_path: Path) -> None:
    names = [f"acme/r{number}" for number in range(400)]
    parts = [[name for name in names if Shard.of(name, 16) == Shard(number, 16)] for number in range(1, 17)]

    assert sorted(name for part in parts for name in part) == sorted(names)
    assert all(10 < len(part) < 45 for part in parts)
    assert Shard.of("acme/handbook", 16) == Shard(15, 16)


def test_status_joins_shards_and_names_what_is_missing(tmp_path: Path, many: list[Repository]) -> None:
    write_lists(tmp_path, many)
    shards = sorted({Shard.of(f"r{number}", 3).number for number in range(3)})
    for number in shards:
        own = ("--shard", f"{number}/3", "--state", str(tmp_path / str(number)))
        run(tmp_path, "open", "--forge", "none", *own)
    files = [str(tmp_path / str(number)) for number in shards]
    joined, part = (mdplan("fleet", "status", *names, "--json") for names in (files, files[1:]))
    other = run(tmp_path, "open", "--forge", "none", "--state", files[0])

    assert sorted(states(joined)) == ["nothing to do", "open", "open"]
    missing = [f"shards without state: {number}/3" for number in (1, 2, 3) if number not in shards]
    assert [each["message"] for each in joined.json["diagnostics"]] == missing
    assert (part.code, part.json["error"]["code"]) == (6, "IO_ERROR")
    assert f"{shards[0]}/3" in part.json["error"]["message"]
    assert (other.code, other.json["error"]["message"][-9:]) == (2, f"shard {shards[0]}/3")


def test_one_repository_is_a_unit_of_work(tmp_path: Path, many: list[Repository]) -> None:
    shutil.rmtree(many[0].path)
    write_lists(tmp_path, many)
    codes = [run(tmp_path, "open", "--forge", "none", "--only", f"r{number}").code for number in range(4)]

    assert codes == [6, 0, 0, 2]


@CASE_TABLES.parametrize("count", "options", "printed")
def test_matrix_has_a_job_for_each_shard(
    tmp_path: Path, count: int, options: list[str], printed: Any
) -> None:
    listed = {"repositories": [f"acme/r{number}" for number in range(count)]}
    (tmp_path / "repos.yml").write_text(yaml.safe_dump(listed))
    done = mdplan("fleet", "matrix", str(tmp_path / "repos.yml"), *options)

    assert json.loads(done.out) == printed


@pytest.mark.parametrize("share", [1, 0.3, 1 / 16])
def test_governor_stays_within_every_limit(tmp_path: Path, share: float) -> None:
    clock, draw, sent = [0.0], random.Random(46), list[tuple[float, bool]]()

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    governor = Governor(path=str(tmp_path / "log"), share=share, now=lambda: clock[0], sleep=sleep)
    for _ in range(700):
        sent.append((0, draw.random() < 0.7))
        governor.wait(writes=sent[-1][1])
        sent[-1] = clock[0], sent[-1][1]
    limits = [(60, 900, (1, 5)), (60, 80, (0, 1)), (3600, 500, (0, 1)), (3600, 5000, (1, 1))]
    for seconds, most, costs in limits:
        used = [sum(costs[wrote] for each, wrote in sent if at - seconds < each <= at) for at, _ in sent]
        assert max(used) <= most * share
    assert clock[0] < 700 / (500 * share) * 3600


def test_fleet_in_shards_opens_every_pull_request_once(tmp_path: Path) -> None:
    numbers = {"repositories": 30, "shards": 3, "kills": 3, "lost": 1, "seed": 46, "pages": 1}
    simulation = Simulation(tmp_path, Namespace(**numbers, per_hour=None))
    simulation.run()
    result = simulation.result()

    assert (result["faults"], result["status"]) == ([], {"ok": True, "open": 24, "nothing to do": 6})
    assert (result["killed"], result["requests"]["POST pulls"]) == (3, 24)
    assert "refused" not in result["requests"]


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


def test_jobs_on_the_page_and_in_packaging_run_a_fleet(tmp_path: Path, many: list[Repository]) -> None:
    """The scripts of both CI systems and of Kubernetes, with a remote on this machine."""
    write_lists(tmp_path, many)
    (tmp_path / "bot.yml").rename(tmp_path / "mdplan.yml")
    files = {block.info[-1]: yaml.safe_load(block.text) for block in blocks_of(PAGE) if len(block.info) > 1}
    jobs = files[".github/workflows/fleet.yml"]["jobs"]
    job = yaml.safe_load((REPOSITORY / "packaging" / "kubernetes-fleet.yaml").read_text())["spec"]
    (container,) = job["template"]["spec"]["containers"]
    command = container["args"][0].replace("/fleet/", "").replace("/fleet", ".").replace("/state", "state")
    scripts = {
        "plan": jobs["plan"]["steps"][-1]["run"],
        "github": f"{jobs['open']['steps'][3]['run']} --forge none; mv states fleet-1",
        "status": jobs["status"]["steps"][-1]["run"],
        "gitlab": files[".gitlab-ci.yml"]["fleet"]["script"][-1],
        "kubernetes": f"JOB_COMPLETION_INDEX={Shard.of('r0', 16).number - 1}; {command} --forge none",
    }
    program = tmp_path / "mdplan"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mdplan "$@"\n')
    program.chmod(0o755)
    variables = {"GITHUB_OUTPUT": "output", "SHARD": "1/1", "CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "1"}
    variables |= {"PATH": f"{tmp_path}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for name, script in scripts.items():
        shell = ["bash", "-e", "-c", script]
        done = subprocess.run(
            shell, cwd=tmp_path, env=os.environ | variables, check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, (name, done.stderr)
    assert (tmp_path / "output").read_text() == 'matrix={"shard": ["1/1"]}\n'
    assert job["completions"] == 16
    assert [BRANCH.replace("bot", "mdplan") in each.git("branch") for each in many] == [True, False, True]
