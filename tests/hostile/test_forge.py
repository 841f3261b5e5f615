"""Forges that break off, lie or send elsewhere, and the clones and texts that meet them."""

import threading
from collections.abc import Iterator
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

import pytest

from mdplan.bot.fleet import read_repositories
from mdplan.bot.forge import GitHub, Governor, PullRequest, PullText
from mdplan.storage.filesystem import StorageRefused
from tests.bot.repository import IDENTITY, MANIFEST, Repository
from tests.support.case_tables import CaseTables
from tests.support.patches import needs_git
from tests.surfaces.command_line import mdplan

CASE_TABLES = CaseTables(__file__)
PULL = PullRequest(1, "")


class Forge(ThreadingTCPServer):
    """Answers every request with `answer`, with its port in place of PORT, and records the requests."""

    daemon_threads = True

    def __init__(self) -> None:
        self.answer, self.asked = "", list[bytes]()
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(StreamRequestHandler):
    server: Forge

    def handle(self) -> None:
        self.server.asked.append(self.connection.recv(65536))
        head, _, body = self.server.answer.partition("\n\n")
        text = f"{head}\n\n".replace("\n", "\r\n") + body
        self.wfile.write(text.replace("PORT", str(self.server.server_address[1])).encode())


@pytest.fixture
def forge(monkeypatch: pytest.MonkeyPatch) -> Iterator[Forge]:
    with Forge() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        for name, value in IDENTITY.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("GITHUB_API_URL", f"http://127.0.0.1:{server.server_address[1]}")
        monkeypatch.setenv("GH_TOKEN", "secret")
        yield server
        server.shutdown()


@CASE_TABLES.parametrize("answer", "repeat", "said")
def test_broken_answer_is_an_error_of_the_forge(forge: Forge, answer: str, repeat: int, said: str) -> None:
    forge.answer = answer.replace("…", "[" * repeat)
    github = GitHub.of_repository("https://127.0.0.1/acme/docs")
    calls = (
        lambda: github.find("bot"),
        lambda: github.open("bot", "main", PullText(title="", body="")),
        lambda: github.comment(PULL, "<!-- -->", ""),
        lambda: github.commit("bot", "0" * 40, "", {}),
    )
    for number, call in enumerate(calls, 1):
        with pytest.raises(StorageRefused) as refused:
            call()
        (problem,) = refused.value.problems
        assert (problem.code, len(forge.asked)) == ("IO_ERROR", number)
        assert said in problem.message


@CASE_TABLES.parametrize("answer", "slept")
def test_forge_that_asks_to_wait_is_asked_again_some_times(
    forge: Forge, answer: str, slept: list[float]
) -> None:
    forge.answer, waited = answer, list[float]()
    governor = Governor(now=lambda: 1000.0, sleep=waited.append)
    with pytest.raises(StorageRefused, match="GitHub refused GET pulls: "):
        GitHub.of_repository("https://127.0.0.1/acme/docs", governor=governor).find("bot")

    assert (waited, len(forge.asked)) == (slept, len(slept) + 1)


def test_comment_of_a_deleted_account_is_of_somebody_else(forge: Forge) -> None:
    forge.answer = CASE_TABLES.value("DELETED")
    GitHub.of_repository("https://127.0.0.1/acme/docs").comment(PULL, "<!-- -->", "")

    assert [asked.split()[0] for asked in forge.asked] == [b"GET", b"POST"]


@needs_git
def test_fleet_survives_its_forge_and_runs_nothing_of_a_planted_clone(forge: Forge, tmp_path: Path) -> None:
    remote = Repository.make(tmp_path / "remote")
    remote.commit({"docs/a.md": b"nightly\n"})
    (tmp_path / "bot.yml").write_text(MANIFEST)
    (tmp_path / "repos.yml").write_text(f"repositories: [{{address: {remote.path}, github: acme/docs}}]")
    words = ("fleet", "open", str(tmp_path / "bot.yml"), str(tmp_path / "repos.yml"), "--jobs", "1", "--json")
    own = ("--root", str(tmp_path), "--work", str(tmp_path / "work"))
    forge.answer = CASE_TABLES.value("CUT")
    broken = mdplan(*words, *own)
    (clone,) = (tmp_path / "work").glob("*/clone.git")
    Repository(clone).git("config", "remote.origin.uploadpack", f"touch {tmp_path}/ran; git-upload-pack")
    again = mdplan(*words, *own)
    remote.git("checkout", "-q", "--detach")
    remote.write({"work/x.md": b""})
    remote.git("add", "-A")
    foreign = mdplan(*words, "--root", str(tmp_path), "--work", str(remote.path / "work"))

    for run, code in ((broken, "IO_ERROR"), (again, "IO_ERROR"), (foreign, "PERMISSION_DENIED")):
        assert (run.code, run.json["error"]["code"]) == (6, code), run.err
    assert not (tmp_path / "ran").exists()


def test_passwords_of_addresses_are_never_shown(forge: Forge, tmp_path: Path) -> None:
    listed = tmp_path / "repos.yml"
    listed.write_text("repositories: ['https://ada:secret@127.0.0.1:1/docs.git']\n")
    members = read_repositories(str(listed), "main")

    assert [member.name for member in members] == ["1/docs"]
    with pytest.raises(StorageRefused) as refused:
        GitHub.of_repository("https://ada:secret@127.0.0.1/docs")
    assert "secret" not in refused.value.problems[0].message
