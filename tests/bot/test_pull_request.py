"""The pull request of a manifest lives as long as there is something to do, and loses nobody's work."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mdplan.bot.bot_report import BotReport
from mdplan.bot.pulls.github import GitHub
from mdplan.bot.pulls.lifecycle import PullOptions, run_pull_request
from tests.bot.golden import HERE, load
from tests.bot.repository import Repository, codes
from tests.patch_tools import needs_git

pytestmark = [needs_git, pytest.mark.usefixtures("identity")]
BRANCH = "mdplan/bot"
PAGE = {"docs/one.md": b"# One\n\nThe nightly build.\n"}


@dataclass
class FakeForge:
    """The part of GitHub's API that the bot calls, with its state."""

    pulls: list[dict[str, Any]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    def answer(self, method: str, path: str, given: dict[str, Any]) -> tuple[int, Any]:
        self.calls.append(f"{method} {path.partition('?')[0]}")
        path, _, query = path.removeprefix("/repos/acme/docs/").partition("?")
        if (method, path) == ("GET", "pulls"):
            head = query.rpartition("head=")[2].replace("%3A", ":").replace("%2F", "/")
            is_open = [each for each in self.pulls if each["state"] == "open"]
            return 200, [each for each in is_open if f"acme:{each['head']}" == head]
        if (method, path) == ("POST", "pulls"):
            number = len(self.pulls) + 1
            url = f"https://forge.example/pull/{number}"
            self.pulls.append({**given, "number": number, "state": "open", "html_url": url, "labels": []})
            return 201, self.pulls[-1]
        kind, number_, *rest = path.split("/")
        pull = self.pulls[int(number_) - 1]
        if method == "PATCH" and kind == "pulls":
            pull.update(given)
        elif rest == ["labels"]:
            pull["labels"] = sorted({*pull["labels"], *given["labels"]})
        else:
            pull.setdefault("comments", []).append(given["body"])
        return 200, pull


@pytest.fixture
def forge(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeForge]:
    """A forge that listens on this machine, as the environment names it."""
    fake = FakeForge()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            known = self.headers["Authorization"] == "Bearer secret"
            status, body = fake.answer(self.command, self.path, given) if known else (401, {"message": "no"})
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_PATCH = do_GET  # noqa: N815 (names that the base class looks up)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("GITHUB_API_URL", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("GITHUB_REPOSITORY", "acme/docs")
    monkeypatch.setenv("GH_TOKEN", "secret")
    yield fake
    server.shutdown()
    server.server_close()


@pytest.fixture
def people(tmp_path: Path) -> Repository:
    """The work tree of people, who push to the bare repository `remote.git`."""
    made = Repository.make(tmp_path / "people")
    made.commit(PAGE)
    made.bare(tmp_path / "remote.git")
    made.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    return made


@pytest.fixture
def remote(people: Repository, tmp_path: Path) -> Repository:
    return Repository(tmp_path / "remote.git")


def run_bot(remote: Repository, manifest: Path, folder: Path, **options: Any) -> BotReport:
    """One run of the bot in a new clone, as a workflow makes it."""
    remote.git("clone", "-q", ".", str(folder))
    wanted = PullOptions(base="main", branch=BRANCH, forge=GitHub.of_environment, **options)
    return run_pull_request(Repository(folder).engine(), load(str(manifest)), HERE, wanted)


def push(people: Repository, files: dict[str, bytes], branch: str = "main") -> None:
    people.commit(files)
    people.git("push", "-q", "origin", f"HEAD:{branch}")


def test_pull_request_is_opened_renewed_and_closed(
    forge: FakeForge, people: Repository, remote: Repository, manifest: Path, tmp_path: Path
) -> None:
    first = run_bot(remote, manifest, tmp_path / "1", labels=["docs"])
    again = run_bot(remote, manifest, tmp_path / "2", labels=["docs"])
    push(people, {"docs/two.md": b"nightly\n"})
    renewed = run_bot(remote, manifest, tmp_path / "3", title="Stable", labels=["chore"])
    merged = remote.files(BRANCH)
    one_commit = remote.git("rev-list", f"main..{BRANCH}").split()
    push(people, {"docs/one.md": b"stable\n", "docs/two.md": b"stable\n"})
    done = run_bot(remote, manifest, tmp_path / "4")

    (pull,) = forge.pulls
    assert [report.pull_request for report in (first, again, renewed, done)] == [pull["html_url"]] * 4
    assert first.commit == again.commit
    assert (one_commit, merged["docs/two.md"]) == ([renewed.commit], b"stable\n")
    assert (pull["head"], pull["base"], pull["title"]) == (BRANCH, "main", "Stable")
    assert "`docs/two.md`" in pull["body"]
    assert (pull["labels"], pull["state"], len(pull["comments"])) == (["chore", "docs"], "closed", 1)
    assert BRANCH not in remote.git("branch")


def test_nothing_to_do_opens_nothing(
    forge: FakeForge, people: Repository, remote: Repository, manifest: Path, tmp_path: Path
) -> None:
    push(people, {"docs/one.md": b"stable\n"})
    report = run_bot(remote, manifest, tmp_path / "1")

    assert (report.ok, report.commit, report.pull_request, forge.pulls) == (True, None, None, [])


def test_commit_of_a_person_on_the_branch_is_never_lost(
    forge: FakeForge,
    people: Repository,
    remote: Repository,
    manifest: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_bot(remote, manifest, tmp_path / "1")
    people.git("fetch", "-q", "origin")
    people.git("checkout", "-q", "-b", "by-hand", f"origin/{BRANCH}")
    with monkeypatch.context() as somebody:
        somebody.setenv("GIT_COMMITTER_NAME", "Eve")
        push(people, {"docs/one.md": b"by hand\n"}, BRANCH)
    tip = remote.at(BRANCH)
    report = run_bot(remote, manifest, tmp_path / "2")

    assert codes(report) == ["STALE_BASE"]
    assert remote.at(BRANCH) == tip
    assert [pull["state"] for pull in forge.pulls] == ["open"]


def test_commit_that_only_this_clone_has_is_never_lost(
    forge: FakeForge, remote: Repository, manifest: Path, tmp_path: Path
) -> None:
    run_bot(remote, manifest, tmp_path / "1")
    remote.git("clone", "-q", ".", str(tmp_path / "2"))
    clone = Repository(tmp_path / "2")
    clone.git("checkout", "-q", BRANCH)
    tip = clone.commit({"docs/one.md": b"by hand\n"})
    wanted = PullOptions(base="main", branch=BRANCH, forge=GitHub.of_environment)
    busy = run_pull_request(clone.engine(), load(str(manifest)), HERE, wanted)
    clone.git("checkout", "-q", "main")
    report = run_pull_request(clone.engine(), load(str(manifest)), HERE, wanted)

    assert (codes(busy), codes(report)) == (["TARGET_BUSY"], ["STALE_BASE"])
    assert clone.at(BRANCH) == tip


def test_push_of_another_bot_is_never_overwritten(
    forge: FakeForge, remote: Repository, manifest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mdplan.bot.pulls import lifecycle

    plan = lifecycle.apply_to_branch
    other: list[BotReport] = []

    def while_the_other_pushes(*arguments: Any) -> BotReport:
        monkeypatch.setattr(lifecycle, "apply_to_branch", plan)
        report = plan(*arguments)
        other.append(run_bot(remote, manifest, tmp_path / "other", title="Another title"))
        return report

    monkeypatch.setattr(lifecycle, "apply_to_branch", while_the_other_pushes)
    report = run_bot(remote, manifest, tmp_path / "1")

    assert codes(report) == ["STALE_BASE"]
    assert remote.at(BRANCH) == other[0].commit
    assert len(forge.pulls) == 1


def test_refusal_of_the_forge_names_the_reason(
    forge: FakeForge, remote: Repository, manifest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", "wrong")
    report = run_bot(remote, manifest, tmp_path / "1")
    monkeypatch.setenv("GH_TOKEN", "secret")
    again = run_bot(remote, manifest, tmp_path / "2")

    assert codes(report) == ["IO_ERROR"]
    assert "401 no" in (report.error.message if report.error is not None else "")
    assert again.pull_request == forge.pulls[0]["html_url"]


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://github.com/acme/docs.git", "acme/docs"),
        ("git@github.com:acme/docs.git", "acme/docs"),
        ("ssh://git@github.com:22/acme/docs", "acme/docs"),
    ],
)
def test_repository_is_read_from_the_remote(address: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    monkeypatch.setenv("GH_TOKEN", "secret")

    assert GitHub.of_environment(address).name == name
