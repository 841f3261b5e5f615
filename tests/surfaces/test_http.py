"""`mdplan serve --http` as a process: the SDK's client, several at once, what is refused, and the end."""

import json
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdplan.storage.names import NOTE
from tests.support.case_tables import CaseTables
from tests.surfaces.command_line import mdplan
from tests.surfaces.http_calls import PING, SECONDS, TOKEN, HttpServer, http_server, http_server_on_a_terminal
from tests.surfaces.mcp_calls import GENERATIONS

CASE_TABLES = CaseTables(__file__)


GUIDE = "# Guide\r\n\r\nVersion\u2028 1.0.\r\n"
EDIT = {"op": "replace_match", "pattern": "1.0", "replacement": "2.0\x85"}


def make(root: Path) -> Path:
    root.mkdir()
    (root / "guide.md").write_bytes(GUIDE.encode())
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make(tmp_path / "root")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server that nothing is written through."""
    folder = make(tmp_path_factory.mktemp("http") / "root")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MDPLAN_STATE_DIR", str(folder.parent / "state"))
        page = ("--allow-origin", "https://Docs.example.org")
        with http_server("--root", str(folder), "--max-body", "2000", *page) as server:
            yield server


@pytest.mark.parametrize("mode", GENERATIONS)
def test_read_preview_apply_and_stale_apply_work_over_http(root: Path, mode: str) -> None:
    with http_server("--root", str(root)) as server, server.calls(mode) as calls:
        stat = calls.call("md_stat", {"file": "guide.md"}).data
        pinned = {"file": "guide.md", "baseSha256": stat["baseSha256"], "edits": [EDIT]}
        preview = calls.call("md_apply", {**pinned, "dryRun": True}).data
        applied = calls.call("md_apply", {"planId": preview["planId"]})
        stale = calls.call("md_apply", {**pinned, "edits": [{**EDIT, "replacement": "3.0"}]})

    assert applied.data["applied"]
    assert (root / "guide.md").read_bytes().decode() == GUIDE.replace("1.0", "2.0\x85")
    assert stale.is_error
    assert stale.text.startswith("STALE_BASE (guide.md)")


def test_two_clients_at_once_edit_two_sections_of_one_file(root: Path) -> None:
    (root / "log.md").write_text("# A\n\na\n\n# B\n\nb\n")
    refused: list[str] = []

    def work(server: HttpServer, heading: str) -> None:
        with server.calls("legacy" if heading == "A" else "auto") as calls:
            for number in range(10):
                (read,) = calls.call("md_read", {"file": "log.md", "heading": heading}).data["results"]
                edit = {"op": "append_to_section", "heading": heading, "markdown": f"{heading}{number}"}
                edit["sectionSha256"] = read["sectionSha256"]
                answer = calls.call("md_apply", {"file": "log.md", "edits": [edit]})
                refused.extend([answer.text] if answer.is_error else [])

    with http_server("--root", str(root)) as server:
        threads = [threading.Thread(target=work, args=(server, heading)) for heading in "AB"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert refused == []
    assert re.findall(r"\w\d", (root / "log.md").read_text()) == [f"{h}{n}" for h in "AB" for n in range(10)]


def test_generated_token_is_shown_and_changes_each_start(root: Path) -> None:
    tokens = []
    for _ in range(2):
        with http_server("--root", str(root), token=None) as server:
            assert server.said[2] == f"Authorization: Bearer {server.token}\n"
            assert server.ask("ping")["result"] == {}
            tokens.append(server.token)

    assert tokens[0] != tokens[1]
    assert min(map(len, tokens)) >= 43, "256 bits"


def test_token_from_a_file_is_used_and_not_shown(root: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("0123456789abcdef-file\n")
    (tmp_path / "token").chmod(0o600)
    with http_server("--root", str(root), "--token-file", str(tmp_path / "token")) as server:
        server.token = "0123456789abcdef-file"
        assert server.ask("ping")["result"] == {}
        assert server.send(b"{}", {"Authorization": f"Bearer {TOKEN}"}).status == 401
        server.process.terminate()
        _, told = server.process.communicate(timeout=SECONDS)

    assert len(server.said) == 1
    assert told == ""


def test_printed_review_link_works_once(root: Path) -> None:
    with http_server_on_a_terminal("--root", str(root)) as (server, link):
        path = link.partition(f":{server.port}")[2]
        assert server.send(method="GET", path=path.partition("open?")[0]).status == 401
        opened = server.send(None, {"Authorization": None}, method="GET", path=path)
        visit = {"Authorization": None, "Cookie": opened.headers["set-cookie"].partition(";")[0]}

        page = server.send(None, visit, method="GET", path=path.partition("open?")[0])

        assert page.status == 200
        assert b"No pending plans." in page.body
        assert server.send(json.dumps(PING).encode(), visit).status == 401
        assert server.send(None, {"Authorization": None}, method="GET", path=path).status == 401


def test_get_opens_a_stream_and_delete_ends_the_session(shared: HttpServer) -> None:
    client = {"name": "test", "version": "1"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    opened = shared.send(json.dumps(request).encode())
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}

    assert shared.send(None, method="GET").status == 400, "no session"
    assert shared.send(None, method="PUT").status in {400, 405}
    assert shared.send(json.dumps(PING).encode(), session).status == 200
    assert shared.send(None, session, method="DELETE").status == 200
    assert shared.send(json.dumps(PING).encode(), session).status == 404


@pytest.mark.requirement("http-1")
def test_guard_covers_every_path(shared: HttpServer) -> None:
    assert shared.send(None, method="GET", path="/").status == 404
    assert shared.send(None, {"Authorization": None}, method="GET", path="/").status == 401
    assert shared.send(None, {"Host": "evil.example"}, method="GET", path="/").status == 421


def test_allowed_origin_gets_cors_headers(shared: HttpServer) -> None:
    page = {"Origin": "https://docs.example.org"}
    asked = shared.send(
        None,
        {
            **page,
            "Authorization": None,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type",
        },
        method="OPTIONS",
    )
    answered = shared.send(json.dumps(PING).encode(), page)

    assert asked.status == 200
    assert asked.headers["access-control-allow-origin"] == "https://docs.example.org"
    assert "authorization" in asked.headers["access-control-allow-headers"]
    assert answered.status == 400, "it went past the guard, and has no session"
    assert answered.headers["access-control-allow-origin"] == "https://docs.example.org"
    assert shared.send(b"{}", {**page, "Authorization": None}).status == 401


@CASE_TABLES.parametrize("options", "told", tuples=True)
def test_contradicting_options_are_refused(root: Path, options: tuple[str, ...], told: str) -> None:
    refused = mdplan("serve", "--root", str(root), *options, environment={"MDPLAN_TOKEN": None})

    assert refused.code == 2
    assert told in refused.err


def test_bearer_of_the_token_is_offered_no_approval(root: Path) -> None:
    refused = mdplan("serve", "--root", str(root), "--http", "127.0.0.1:0", "--approve-in-chat")

    assert refused.code == 2
    assert "approve on the page" in refused.err


@pytest.mark.parametrize("token", ["", "short", "with blanks in it, but long", "long enough but ünicode"])
def test_weak_token_is_refused_and_not_repeated(root: Path, token: str) -> None:
    given = {"MDPLAN_TOKEN": token}
    refused = mdplan("serve", "--root", str(root), "--http", "127.0.0.1:0", environment=given)

    assert refused.code == 2
    assert "16 or more" in refused.err
    assert not token or token not in refused.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_stops_the_server_with_open_streams(root: Path, number: signal.Signals) -> None:
    with http_server("--root", str(root)) as server:
        assert server.ask("ping")["result"] == {}
        with (
            socket.create_connection(("127.0.0.1", server.port)) as stream,
            socket.create_connection(("127.0.0.1", server.port)) as silent,
        ):
            silent.send(b"POST /mcp HTTP/1.1\r\n")
            head = {
                "Host": f"127.0.0.1:{server.port}",
                "Authorization": f"Bearer {TOKEN}",
                "Accept": "text/event-stream",
                **server.session,
            }
            lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
            stream.send(f"GET /mcp HTTP/1.1\r\n{lines}\r\n".encode())
            assert stream.recv(12) == b"HTTP/1.1 200"
            server.process.send_signal(number)
            _, told = server.process.communicate(timeout=SECONDS)

    assert server.process.returncode == 130
    assert told == ""


@pytest.mark.requirement("http-3")
def test_running_call_is_answered_after_a_signal(root: Path) -> None:
    """500 files: the commit takes longer than the signal."""
    files = [f"{number}.md" for number in range(500)]
    for name in files:
        (root / name).write_text("# A\n\nold\n")
    edit = {"op": "replace_match", "pattern": "old", "replacement": "new"}
    batch = {"files": [{"file": name, "edits": [edit]} for name in files]}
    with http_server("--root", str(root)) as server:
        server.ask("ping")
        answers: list[dict[str, object]] = []
        caller = threading.Thread(target=lambda: answers.append(server.call("md_apply", batch)))
        caller.start()
        while not (root / NOTE).exists():
            assert caller.is_alive()
            time.sleep(0.001)
        server.process.terminate()
        caller.join(SECONDS)
        _, told = server.process.communicate(timeout=SECONDS)

    assert server.process.returncode == 130
    assert told == ""
    assert answers[0]["structuredContent"]["applied"]
    assert {(root / name).read_text() for name in files} == {"# A\n\nnew\n"}
