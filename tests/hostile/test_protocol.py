"""Protocol, cases 65 to 69: what is sent is refused, nothing changes, and the next ping is answered."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.mcp.tool import INTRODUCTIONS, ToolDefinition, ToolResult, tool_names
from mdplan.mcp.toolsets import chosen_tools
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from tests.hostile.arguments import FILES, arguments_of
from tests.hostile.servers import TRANSPORTS, OverHttp, Server, call_of, check_said, server_over
from tests.hostile.trial import HERE, everything
from tests.support.case_tables import CaseTables
from tests.surfaces.command_line import mdplan
from tests.surfaces.http_calls import PING, HttpServer, http_server

CASE_TABLES = CaseTables(__file__)


# Python's form of a name that is not UTF-8.
ODD_NAME = os.fsdecode(b"caf\xe9.md")
EDIT = {"op": "append_to_file", "markdown": "Owned."}
LIMIT = 1_000_000


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("protocol") / "root"
    folder.mkdir()
    (folder / "here.md").write_bytes(HERE)
    (folder / ODD_NAME).write_bytes(b"# \xff\xfe odd\n\nsecret \xe9\n")
    return folder


@pytest.fixture(scope="module", params=TRANSPORTS)
def server(request: pytest.FixtureRequest, root: Path) -> Iterator[Server]:
    """Share a server among all requests: one that breaks it breaks all later ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MDPLAN_STATE_DIR", str(root.parent / f"state {request.param}"))
        limits = ("--max-payload", str(LIMIT))
        with server_over(request.param, "--root", str(root), "--toolsets", "md,files", *limits) as started:
            yield started


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


STAT = {"file": "here.md"}
APPLY = {"file": "here.md", "edits": [EDIT]}
ARGUMENT = {"INVALID_ARGUMENT"}
UNREADABLE = {"INVALID_ARGUMENT", "error", "silence", "HTTP 400"}

HOSTILE = {
    "unknown field": ("md_stat", {**STAT, "colour": "red"}, {"UNKNOWN_FIELD"}),
    "unknown field of an edit": ("md_apply", {**APPLY, "edits": [{**EDIT, "mark": 1}]}, {"UNKNOWN_FIELD"}),
    "unknown operation": ("md_apply", {**APPLY, "edits": [{**EDIT, "op": "erase"}]}, ARGUMENT),
    "int for a string": ("md_stat", {"file": 1}, ARGUMENT),
    "list for a string": ("md_stat", {"file": ["here.md"]}, ARGUMENT),
    "string for an int": ("md_stat", {**STAT, "limit": "many"}, ARGUMENT),
    "object for a list": ("md_apply", {**APPLY, "edits": {"a": 1}}, ARGUMENT),
    "number for an edit": ("md_apply", {**APPLY, "edits": [1]}, ARGUMENT),
    "bool for an int": ("md_stat", {**STAT, "limit": True}, ARGUMENT),
    "no arguments": ("md_stat", {}, ARGUMENT),
    "arguments that are a list": ("md_stat", [], {"error", "HTTP 400"}),
    "arguments that are a string": ("md_stat", "here.md", {"error", "HTTP 400"}),
    "NaN": ("md_stat", {**STAT, "limit": float("nan")}, UNREADABLE),
    "infinity": ("md_stat", {**STAT, "limit": float("-inf")}, UNREADABLE),
    "10 to the 400": (
        "md_read",
        {**STAT, "lines": {"start": 10**400, "end": 10**400}},
        {"RANGE_OUT_OF_BOUNDS", *UNREADABLE},
    ),
    "text beyond its limit": (
        "md_apply",
        {**APPLY, "edits": [{**EDIT, "markdown": "x" * (LIMIT + 1)}]},
        {"BATCH_TOO_LARGE"},
    ),
    "20 MB of path": (
        "md_stat",
        {"file": "x" * 20_000_000},
        {"INVALID_ARGUMENT", "PATH_INVALID", "HTTP 413"},
    ),
    "20 MB of text": (
        "md_apply",
        {**APPLY, "edits": [{**EDIT, "markdown": "x" * 20_000_000}]},
        {"BATCH_TOO_LARGE", "HTTP 413"},
    ),
    "tool that is not there": ("md_erase", {}, {"isError", "error"}),
}

RAW = {
    "1e400": (call_of("md_stat", '{"file": "here.md", "limit": 1e400}'), UNREADABLE),
    "100,000 digits": (call_of("md_stat", '{"file": "here.md", "limit": ' + "9" * 100_000 + "}"), UNREADABLE),
    "JSON 1,000 deep": (call_of("md_apply", f'{{"edits": {nested(1_000)}}}'), UNREADABLE),
    "JSON 100,000 deep": (call_of("md_apply", f'{{"edits": {nested(100_000)}}}'), UNREADABLE),
    "JSON text 1,000 deep in a string": (
        call_of("md_apply", json.dumps({"file": "here.md", "edits": nested(1_000)})),
        UNREADABLE,
    ),
    "a field twice": (call_of("md_stat", '{"file": "here.md", "file": 1}'), ARGUMENT),
    "lone surrogate": (call_of("md_stat", '{"file": "\\ud800"}'), UNREADABLE),
    "lone surrogate in a name": (call_of("md_stat", '{"\\udfff": 1}'), UNREADABLE),
    "surrogate as bytes": (call_of("md_stat", '{"file": "\ud800"}'), {"FILE_NOT_FOUND", *UNREADABLE}),
    "no UTF-8": (b'{"jsonrpc":"2.0","id":7,"method":"\xff"}', UNREADABLE),
    "no JSON": (b"{", UNREADABLE),
    "a batch": (b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', UNREADABLE),
    "unknown method": (b'{"jsonrpc":"2.0","id":7,"method":"erase"}', {"error"}),
    "params that are a list": (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]}', UNREADABLE),
    "no version": (b'{"id":7,"method":"ping"}', UNREADABLE),
    "answer that nobody waits for": (b'{"jsonrpc":"2.0","id":7,"result":{}}', {"silence", "HTTP 400"}),
    "cancellation of nothing": (
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}',
        {"silence"},
    ),
}


@pytest.mark.hostile_case(65)
@pytest.mark.requirement("protocol-1")
@pytest.mark.parametrize("case", HOSTILE)
def test_invalid_tool_arguments_are_refused(server: Server, root: Path, case: str) -> None:
    tool, arguments, allowed = HOSTILE[case]
    before = everything(root)
    check_said(f"65 {case}", server, call_of(tool, json.dumps(arguments)), allowed)

    assert everything(root) == before


@pytest.mark.hostile_case(65)
@pytest.mark.requirement("protocol-1")
@pytest.mark.parametrize("case", RAW)
def test_server_survives_malformed_messages(server: Server, root: Path, case: str) -> None:
    request, allowed = RAW[case]
    before = everything(root)
    check_said(f"65 {case}", server, request, allowed)

    assert everything(root) == before


@pytest.mark.hostile_case(66)
@CASE_TABLES.parametrize("tool", "arguments")
def test_invalid_unicode_is_escaped_in_output(server: Server, tool: str, arguments: dict[str, Any]) -> None:
    """They would end the server: its answers are written as UTF-8."""
    answer = server.call(tool, arguments)
    lives = server.is_alive()
    is_clean = json.dumps(answer, ensure_ascii=False).isprintable()

    assert lives
    assert is_clean


EVIL = {
    "host of another": ({"Host": "evil.example"}, 421),
    "host that begins well": ({"Host": "127.0.0.1:evil"}, 421),
    "host that ends well": ({"Host": "localhost.evil.example:{port}"}, 421),
    "host without port": ({"Host": "localhost"}, 421),
    "host with another port": ({"Host": "localhost:1"}, 421),
    "no host": ({"Host": None}, 400),
    "origin of another": ({"Origin": "http://evil.example"}, 403),
    "origin null": ({"Origin": "null"}, 403),
    "origin of this machine": ({"Origin": "http://localhost:{port}"}, 403),
    "origin with TLS": ({"Origin": "https://localhost"}, 403),
    "no token": ({"Authorization": None}, 401),
    "wrong token": ({"Authorization": "Bearer wrong"}, 401),
    "token of another scheme": ({"Authorization": "Basic {token}"}, 401),
    "token with more behind it": ({"Authorization": "Bearer {token}x"}, 401),
    "token in the address": ({"Authorization": None, ":path": "/mcp?token={token}"}, 401),
    "plain text": ({"Content-Type": "text/plain"}, 400),
    "form": ({"Content-Type": "application/x-www-form-urlencoded"}, 400),
    "no content type": ({"Content-Type": None}, 400),
    "GET with a call in the address": ({":method": "GET", ":path": "/mcp?method=tools/call"}, 400),
    "DELETE without a session": ({":method": "DELETE"}, 400),
    "session of nobody": ({"Mcp-Session-Id": "0" * 32}, 404),
}


def check_http(server: HttpServer, case: str) -> None:
    headers, status = EVIL[case]
    given = {
        name: value and value.replace("{port}", str(server.port)).replace("{token}", server.token)
        for name, value in headers.items()
    }
    method, path = given.pop(":method", "POST"), given.pop(":path", "/mcp")
    body = call_of("md_apply", json.dumps(APPLY)) if method == "POST" else None
    answer = server.send(body, given, method=method, path=path)
    lives = server.ask("ping")["result"] == {}

    assert lives
    assert (answer.status, answer.headers.get("www-authenticate")) == (
        status,
        "Bearer" if status == 401 else None,
    )


@pytest.fixture(scope="module")
def over_http(root: Path) -> Iterator[HttpServer]:
    with server_over("http", "--root", str(root)) as started:
        assert isinstance(started, OverHttp)
        yield started.server


@pytest.mark.hostile_case(67)
@pytest.mark.parametrize("case", [case for case in EVIL if "host" in case or "origin" in case])
def test_other_hosts_and_origins_are_refused(over_http: HttpServer, case: str) -> None:
    check_http(over_http, case)


@pytest.mark.hostile_case(68)
@pytest.mark.parametrize("case", [case for case in EVIL if "token" in case])
def test_without_the_token_nothing_is_served(over_http: HttpServer, case: str) -> None:
    check_http(over_http, case)


@pytest.mark.hostile_case(69)
@pytest.mark.parametrize(
    "case", [case for case in EVIL if not any(word in case for word in ("host", "origin", "token"))]
)
def test_simple_cross_site_requests_have_no_effect(over_http: HttpServer, root: Path, case: str) -> None:
    before = everything(root)
    check_http(over_http, case)

    assert everything(root) == before


@pytest.mark.hostile_case(67)
@pytest.mark.requirement("http-2")
@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0"])
@pytest.mark.parametrize("given", ["nothing", "token", "host"])
def test_public_bind_needs_a_token_and_allowed_hosts(root: Path, address: str, given: str) -> None:
    options = ("--allow-host", "docs.example.org") if given == "host" else ()
    variables = {"MDPLAN_TOKEN": "0123456789abcdef" if given == "token" else None}
    refused = mdplan("serve", "--root", str(root), "--http", address, *options, environment=variables)

    assert refused.code == 2
    assert "can be reached from other machines" in refused.err


@pytest.mark.hostile_case(67)
def test_public_bind_serves_only_allowed_hosts(root: Path) -> None:
    options = ("--root", str(root), "--allow-host", "docs.example.org")
    with http_server(*options, address="0.0.0.0:0") as server:
        body = json.dumps(PING).encode()
        own = server.send(body)
        evil = server.send(body, {"Host": "evil.example", "Origin": "http://evil.example"})
        listed = server.send(body, {"Host": "docs.example.org"})
    statuses = [own.status, evil.status, listed.status]

    assert statuses == [421, 421, 400], "the last has no session, and came past the guard"


# --- Whatever the arguments, a tool answers with a result or a clear error, and a refusal writes
# nothing.

MOST = 200_000


class Tools:
    """All tools over one root, which is laid out anew after each call that wrote."""

    def __init__(self, root: Path) -> None:
        self.root = root
        fast = Settings(
            durability=Durability.PROCESS, history_transactions=3, pattern_seconds=0.2, lock_timeout=5.0
        )
        self.engine = Engine.open([root], settings=fast)
        tools = chosen_tools(self.engine, list(INTRODUCTIONS), (), read_only=False)
        self.by_name: dict[str, ToolDefinition] = {tool.name: tool for tool in tools}
        self.lay_out()

    def found(self) -> dict[str, bytes]:
        paths = (path for path in self.root.rglob("*") if path.is_file())
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in paths
            if ".mdplan" not in path.parts
        }

    def lay_out(self) -> None:
        for name in self.found():
            (self.root / name).unlink()
        for name, text in FILES.items():
            (self.root / name).write_bytes(text.encode())

    def is_as_laid_out(self) -> bool:
        return self.found() == {name: text.encode() for name, text in FILES.items()}


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    folder = tmp_path_factory.mktemp("arguments")
    (folder / "root").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MDPLAN_STATE_DIR", str(folder / "state"))
        made = Tools(folder / "root")
        yield made
        made.engine.workspace.close()


def check_answer(tool: ToolDefinition, answer: ToolResult) -> None:
    """It can leave as UTF-8, is of the published shape, is not huge, and a refusal says what is wrong."""
    wire = json.dumps(answer.structured, ensure_ascii=False, allow_nan=False)
    wire.encode("utf-8")
    answer.text.encode("utf-8")
    Draft202012Validator(tool.output_schema).validate(answer.structured)
    assert len(wire) < MOST
    if answer.is_refusal:
        assert answer.text.strip()
        if "ok" in answer.structured:
            assert not answer.structured["ok"]
            assert answer.structured["error"]["code"] in set(Code)
            assert answer.structured["error"]["message"]


# Calls that ended in an exception once.
FOUND: list[tuple[str, dict[str, Any]]] = [
    ("md_search", {"pattern": "old", "format": "old"}),
    ("md_read", {"file": "guide.md", "format": "old"}),
]


@pytest.mark.hostile_case(65)
@pytest.mark.parametrize(("name", "arguments"), FOUND)
def test_checker_detects_an_unanswered_call(tools: Tools, name: str, arguments: dict[str, Any]) -> None:
    answer = tools.by_name[name].call(arguments)

    assert answer.is_refusal
    check_answer(tools.by_name[name], answer)


@pytest.mark.hostile_case(65)
@pytest.mark.requirement("protocol-1")
@pytest.mark.parametrize("name", tool_names(list(INTRODUCTIONS)))
@given(data=st.data())
@settings(suppress_health_check=list(HealthCheck))
def test_every_call_is_answered(tools: Tools, name: str, data: st.DataObject) -> None:
    tool = tools.by_name[name]
    edits = tools.by_name["md_apply"].input_schema["properties"]["edits"]
    arguments: dict[str, Any] = data.draw(arguments_of(tool.input_schema, edits), label="arguments")
    answer = tool.call(arguments)
    is_unchanged = tools.is_as_laid_out()
    if not is_unchanged:
        tools.lay_out()
    wrote_though_refused = answer.is_refusal and not is_unchanged

    assert not wrote_though_refused
    assert is_unchanged or tool.writes
    check_answer(tool, answer)
