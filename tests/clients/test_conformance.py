"""The official conformance suite against our HTTP server."""

import re
import socket
from pathlib import Path

import pytest
import yaml

from tests.clients.node_tools import node_tools
from tests.clients.token_proxy import token_proxy
from tests.surfaces.http_calls import http_server

EXPECTED = Path(__file__).parent / "conformance-expected.yaml"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_conformance_scenarios_pass_except_listed_ones(tmp_path: Path) -> None:
    """The suite cannot send a token, so a proxy adds it; names and origins pass through."""
    tools = node_tools()
    (tmp_path / "guide.md").write_text("# Guide\n\ntext\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    names = [f"{name}:{port}" for name in ("127.0.0.1", "localhost")]
    options = [
        *(option for name in names for option in ("--allow-host", name)),
        *(option for name in names for option in ("--allow-origin", f"http://{name}")),
    ]
    with (
        http_server("--root", str(tmp_path), *options) as server,
        token_proxy(port, server.port, server.token),
    ):
        url = f"http://127.0.0.1:{port}/mcp"
        arguments = ["server", "--url", url, "--suite", "all", "--expected-failures", str(EXPECTED)]
        run = tools.run("@modelcontextprotocol/conformance", "conformance", arguments, cwd=tmp_path)
        assert server.ask("ping")["result"] == {}

    passed = set(re.findall(r"✓ ([\w-]+): [1-9]\d* passed, 0 failed", run.stdout))
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    assert {"server-initialize", "ping", "tools-list", "dns-rebinding-protection"} <= passed
    assert passed.isdisjoint(yaml.safe_load(EXPECTED.read_text())["server"])
